"""Problems given by arrays: how these are checked and stored, and how one of a file's instances is read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....base.problem import require_arrays
from ....errors import OptionError, ProblemError
from ....formats.instances import instance_name, located
from ....util.text import array_fault, counted
from ..tree import LARGEST_TREE, PermutationProblem

Order = NDArray[np.int64]

_EXACT_FLOAT = 2**53
_REMOVED = 4


class ArrayProblem(PermutationProblem):
    """A problem whose constructor takes arrays, which are kept as attributes, and a name."""

    arrays: ClassVar[tuple[str, ...]]
    """Names of the arrays, as the constructor takes them."""
    title: ClassVar[str]
    """What the problem is called, in descriptions."""
    sizes: ClassVar[tuple[tuple[str, str, str], ...]] = (("jobs", "job", "jobs"),)
    """Attributes that say how many of something there are, and the words for one and for several of it."""
    has_diagonal: ClassVar[bool] = True
    """Whether the arrays' diagonals mean anything."""

    @abstractmethod
    def __init__(self, *arrays_and_name: Any) -> None:
        """Check the arrays, and keep them."""

    @property
    def _default_name(self) -> str:
        return f"{self.title} of {self._counted[0]}"

    @property
    def _counted(self) -> list[str]:
        return [counted(getattr(self, size), one, several) for size, one, several in self.sizes]

    def describe(self) -> str:
        """One line: the sizes and the ranges of the arrays."""
        shown = {name: self._shown(getattr(self, name)) for name in self.arrays}
        ranges = [f"{name} {values.min():,} to {values.max():,}" for name, values in shown.items() if values.size]
        return f"{self._title(self.title)}: {', '.join([*self._counted, *ranges])}"

    def _shown(self, array: NDArray[np.int64]) -> NDArray[np.int64]:
        """The entries whose range is described: all, or those off the diagonal where that has no meaning."""
        return array if self.has_diagonal else array[~np.eye(len(array), dtype=np.bool_)]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that the constructor takes, by name."""
        return {name: getattr(self, name) for name in self.arrays}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`."""
        require_arrays(arrays, cls.arrays, f"a problem of the kind {cls.kind}")
        return cls(*(arrays[array] for array in cls.arrays), name)

    @classmethod
    def _one_of(
        cls, path: str | Path, instance: int, found: Sequence[Sequence[ArrayLike]], lines: Sequence[int | None] = ()
    ) -> Self:
        """One instance of a file, from the arrays of all; ``lines`` are those where they begin."""
        name = instance_name(path, instance, len(found))
        with located(path, lines[instance - 1] if lines else None):
            problem = cls(*found[instance - 1], name)
        problem.instances_in_file = len(found)
        return problem


class OrderProblem(ArrayProblem):
    """A problem of orders of jobs, with a local search for the first one."""

    jobs: int
    restarts: ClassVar[int] = 30

    @abstractmethod
    def objectives(self, orders: NDArray[np.int64]) -> NDArray[np.int64]:
        """The objectives, shape (orders,), of several orders of some or all jobs, shape (orders, length)."""

    @abstractmethod
    def _urgency(self) -> NDArray[np.int64]:
        """Shape (jobs,): jobs are inserted in this order, ascending."""

    def evaluate(self, jobs: ArrayLike) -> int:
        """The objective of an order of all jobs; :class:`ProblemError` if it is no permutation of 0 ... jobs - 1."""
        return int(self.objectives(order_of_jobs(jobs, self.jobs)[None, :])[0])

    def first_solution(self, method: str, seed: int, expired: Callable[[], bool] = lambda: False) -> Order:
        """Jobs inserted one after another, the most urgent first, then local search and restarts."""
        random = np.random.Generator(np.random.PCG64(seed))
        order = np.zeros(0, np.int64)
        jobs = np.argsort(self._urgency(), kind="stable")
        for place, job in enumerate(jobs.tolist()):
            if expired():
                return np.concatenate([order, jobs[place:]])
            order, _ = self._inserted(order, job)
        best = self._improved(order, random, expired)
        for _ in range(self.restarts):
            if expired():
                break
            removed = random.permutation(self.jobs)[: min(_REMOVED, self.jobs)]
            order = best[~np.isin(best, removed)]
            for job in removed.tolist():
                order, _ = self._inserted(order, job)
            best = min(best, self._improved(order, random, expired), key=self.evaluate)
        return best

    def _inserted(self, order: Order, job: int) -> tuple[Order, int]:
        """An order with one more job at its best place, and the objective."""
        orders = np.array([np.insert(order, place, job) for place in range(len(order) + 1)], np.int64)
        values = self.objectives(orders)
        return orders[int(values.argmin())], int(values.min())

    def _improved(self, order: Order, random: np.random.Generator, expired: Callable[[], bool]) -> Order:
        """Every job moved to its best place, again and again, until that improves none."""
        value, better = self.evaluate(order), True
        while better:
            better = False
            for job in random.permutation(self.jobs).tolist():
                if expired():
                    return order
                moved, found = self._inserted(order[order != job], job)
                if found < value:
                    order, value, better = moved, found, True
        return order


def whole_matrix(
    values: ArrayLike, what: str, axes: tuple[str, str] = ("row", "column"), least: int | None = 0, square: bool = False
) -> NDArray[np.int64]:
    """A matrix as 64-bit integers, or :class:`ProblemError`; ``what`` it is and its ``axes`` are for messages."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise ProblemError(f"{what} must be a matrix of integers: {array_fault(values, error)}") from error
    if array.ndim != 2 or array.size == 0:
        raise ProblemError(f"{what} must be a matrix with at least one entry; got an array of shape {array.shape}")
    if array.dtype.kind == "f":
        sound = (np.abs(array) <= _EXACT_FLOAT) & (np.floor(array) == array)
    elif array.dtype.kind == "u":
        sound = array < np.uint64(2**63)
    elif array.dtype.kind == "i":
        sound = np.ones(array.shape, bool)
    else:
        raise ProblemError(f"{what} must be integers; got an array of {array.dtype}")
    if square and array.shape[0] != array.shape[1]:
        raise ProblemError(f"{what} must be a square matrix; got the shape {array.shape}")
    for rule, right in (("integers", sound), (f"at least {least}", sound if least is None else array >= least)):
        if not right.all():
            row, column = np.argwhere(~right)[0]
            where = f"{axes[0]} {row}, {axes[1]} {column}"
            raise ProblemError(f"{what} must be {rule}; got {array[row, column]} at {where}")
    return array.astype(np.int64)


def permutation(values: ArrayLike, size: int, rule: str) -> NDArray[np.int64]:
    """A permutation of 0 ... size - 1, shape (size,); otherwise a :class:`ProblemError` that begins with ``rule``."""
    try:
        found = np.asarray(values)
        sound = found.ndim == 1 and found.dtype.kind in "iuf" and sorted(found.tolist()) == list(range(size))
    except (TypeError, ValueError, OverflowError) as error:
        raise ProblemError(f"{rule}: {error}") from error
    if not sound:
        raise ProblemError(f"{rule}; got {found.tolist()}")
    return found.astype(np.int64)


def order_of_jobs(values: ArrayLike, jobs: int) -> NDArray[np.int64]:
    """An order of all jobs, shape (jobs,); :class:`ProblemError` if it is none."""
    return permutation(values, jobs, f"an order must list each of the jobs 0 to {jobs - 1} once")


def require_no_choice(what: str, bound: str, branching: str) -> None:
    """Refuse a bound or a branching rule (:class:`OptionError`) where a problem has one of each."""
    if bound != "auto" or branching not in ("auto", "forward"):
        raise OptionError(f"{what} has no choice of bounds or branching rules")


def require_size(size: int, what: str, name: str, most: int = LARGEST_TREE) -> None:
    """Refuse a problem with more than ``most`` items (:class:`ProblemError`), which are called ``what``."""
    if size > most:
        raise ProblemError(f"branch and bound takes at most {most} {what} here; {name} has {size}")
