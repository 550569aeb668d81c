"""Total weighted tardiness on one machine: in which order jobs are done so that they are late as little as possible."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

from ....base.problem import InstanceOption, frozen
from ....errors import ProblemError
from ....formats import tardiness
from ....util.text import array_fault
from ..tree import DeviceTree, Kept, Tree
from .arrays import OrderProblem, require_no_choice, require_size, whole_matrix
from .linear_assignment import LARGEST_SUM, assignment, costs_of_columns

if TYPE_CHECKING:
    from ....devices import Capabilities

_THREADS = 256
_LARGEST = 64  # for the assignment problem that a work-item solves in its own memory


class Tardiness(OrderProblem):
    """Find the order of jobs with the least total weighted tardiness. A solution lists the jobs, counted from 0.

    A job that is done at time C costs its weight times ``max(0, C - due)``. The machine does one job at a time, without
    pause.

    Parameters
    ----------
    times, weights, due : array-like of int, shape (jobs,)
        At least 0; the sum of the weights times the sum of the times must be below 2^28.
    name : str, optional

    Attributes
    ----------
    times, weights, due : ndarray of int64, shape (jobs,)
        Read-only.
    jobs : int
        At least 2.

    Raises
    ------
    ProblemError
        If these are not vectors of whole numbers of one length, or break these rules.

    Examples
    --------
    >>> import engine
    >>> problem = engine.Tardiness(times=[3, 2, 4], weights=[1, 2, 1], due=[4, 3, 8])
    >>> result = engine.solve(problem)
    >>> result.objective, result.solution
    (2, array([1, 0, 2]))
    """

    kind: ClassVar[str] = "tardiness"
    title: ClassVar[str] = "total weighted tardiness"
    arrays: ClassVar[tuple[str, ...]] = ("times", "weights", "due")
    restarts: ClassVar[int] = 60
    read_options = InstanceOption

    def __init__(self, times: ArrayLike, weights: ArrayLike, due: ArrayLike, name: str | None = None) -> None:
        vectors: list[NDArray[Any]] = []
        try:
            for given in (times, weights, due):
                vectors.append(np.asarray(given))
            stacked = np.stack(vectors)
        except TypeError as error:  # dates, say, which have no type in common with numbers
            kinds = ", ".join(str(vector.dtype) for vector in vectors)
            raise ProblemError(f"times, weights and due dates must be integers; got arrays of {kinds}") from error
        except ValueError as error:
            raise ProblemError(
                f"times, weights and due dates must be vectors of one length: {array_fault(given, error)}"
            ) from error
        matrix = whole_matrix(stacked, "times, weights and due dates", ("row", "job"), least=None)
        if (matrix < 0).any():
            row, job = np.argwhere(matrix < 0)[0]
            raise ProblemError(f"{self.arrays[row]} must be at least 0; got {matrix[row, job]} of job {job}")
        total, weight = (sum(row) for row in matrix[:2].tolist())
        if total * weight >= LARGEST_SUM:
            raise ProblemError(
                f"all weights times all processing times are {total * weight}; they must stay below 2^28 "
                f"({LARGEST_SUM})"
            )
        self.times, self.weights, self.due = (frozen(np.ascontiguousarray(row)) for row in matrix)
        self.jobs = matrix.shape[1]
        self.name = name if name is not None else self._default_name

    @classmethod
    def read(cls, path: str | Path, instance: int = 1) -> Self:
        """Read a file of either layout of :mod:`engine.formats.tardiness`.

        :class:`ProblemError` if the file breaks its layout or a rule of the problem, or holds fewer instances.

        Parameters
        ----------
        path : str or Path
            The file.
        instance : int
            Which one, counted from 1, of a file that holds several.
        """
        return cls._one_of(path, instance, tardiness.read(path))

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether the file begins with the word ``tardiness``, or is one of OR-Library's by its name."""
        return tardiness.recognize(path, head)

    def tree(self, bound: str = "auto", branching: str = "auto") -> TardinessTree:
        """The last position first; the bound of an assignment of jobs to positions."""
        require_no_choice("total weighted tardiness", bound, branching)
        require_size(self.jobs, "jobs", self.name, _LARGEST)
        return TardinessTree(self)

    @override
    def objectives(self, orders: NDArray[np.int64]) -> NDArray[np.int64]:
        """Total weighted tardiness."""
        done = np.cumsum(self.times[orders], axis=1)
        return np.asarray((self.weights[orders] * np.maximum(0, done - self.due[orders])).sum(axis=1))

    @override
    def _urgency(self) -> NDArray[np.int64]:
        return self.due


class TardinessTree(Tree):
    """Items are jobs; the last position is filled first. State: cost so far, and the time of all open jobs."""

    def __init__(self, problem: Tardiness) -> None:
        self._problem = problem
        self._times = problem.times
        self.items = problem.jobs
        self.leaf_depth = self.items - 1
        self._by_time = np.argsort(problem.times, kind="stable")

    @override
    def device(self, capabilities: Capabilities) -> DeviceTree:
        problem = self._problem
        due = np.minimum(problem.due, problem.times.sum())  # later ones are never missed, and may need 64 bits
        parts = [problem.times, problem.weights, due, self._by_time]
        table = np.concatenate(parts).astype(np.int32)
        return DeviceTree("branch_and_bound/tardiness", "", {}, table, False, retract=True, threads_per_unit=_THREADS)

    def _cost(self, job: int, done: int) -> int:
        return int(self._problem.weights[job]) * max(0, done - int(self._problem.due[job]))

    def _costs(self, jobs: Sequence[int]) -> NDArray[np.int64]:
        """What each open job costs, at least, at each of their positions, the last one first; shape (open, open)."""
        costs = np.zeros((len(jobs), len(jobs)), np.int64)
        for column, job in enumerate(jobs):
            others = [int(self._times[other]) for other in self._by_time.tolist() if other in jobs and other != job]
            done = int(self._times[job]) + np.concatenate([[0], np.cumsum(others, dtype=np.int64)])
            costs[::-1, column] = [self._cost(job, at) for at in done.tolist()]
        return costs

    @override
    def root(self) -> tuple[int, int]:
        return 0, int(self._times.sum())

    @override
    def place(self, state: Any, depth: int, item: int, side: int) -> tuple[int, int]:
        cost, left = state
        return cost + self._cost(item, left), left - int(self._times[item])

    @override
    def bound(self, state: Any, depth: int, open_items: Sequence[int], upper: int, initial: int) -> Kept:
        """The assignment of jobs to positions in which each job takes the last one."""
        values = state[0] + costs_of_columns(self._costs(open_items))
        return 0, [item for item, value in zip(open_items, values.tolist(), strict=True) if value < upper]

    @override
    def leaf(self, state: Any, open_items: Sequence[int]) -> int:
        """The last open job is the first of all."""
        return int(state[0]) + self._cost(open_items[0], int(self._times[open_items[0]]))

    @override
    def lower_bound(self) -> int:
        return assignment(self._costs(range(self.items)))

    @override
    def bound_of(self, path: Sequence[int]) -> int:
        state: Any = self.root()
        for depth, item in enumerate(path):
            state = self.place(state, depth, item, 0)
        left = [job for job in range(self.items) if job not in path]
        return int(state[0]) + (assignment(self._costs(left)) if left else 0)

    @override
    def solution(self, path: Sequence[int], sides: Sequence[int]) -> NDArray[np.int64]:
        first = set(range(self.items)) - set(path)
        return np.array([*first, *reversed(path)], np.int64)

    def evaluate(self, solution: NDArray[np.int64]) -> int:
        """Total weighted tardiness, from the instance alone."""
        return int(self._problem.objectives(solution[None, :])[0])
