"""The permutation flowshop problem with makespan: in which order jobs pass all machines to be done soonest."""

import operator
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

from ....base.problem import InstanceOption, frozen
from ....errors import OptionError, ProblemError
from ....formats import taillard
from ..tree import LARGEST_FLOWSHOP, require_permutation
from .arrays import ArrayProblem, order_of_jobs, require_size, whole_matrix
from .flowshop_best_known import SIZES, TIME_SEEDS, published_flowshops
from .flowshop_heuristics import iterated_greedy, makespan, neh
from .flowshop_tree import BRANCHINGS, FlowshopTree

_SUM_LIMIT = 2**30
_FEW_JOBS, _BRIEF_STEPS = 25, 13
_BOUNDS = ("one_machine", "two_machine", "mixed")


class Flowshop(ArrayProblem):
    """Find the order of jobs with the smallest makespan. A solution lists the jobs, counted from 0, in order.

    Parameters
    ----------
    times : array-like of int, shape (machines, jobs)
        Processing times, at least 0. All times together must be below 2^30.
    name : str, optional

    Attributes
    ----------
    times : ndarray of int64, shape (machines, jobs)
        As given; read-only.
    jobs, machines : int
    optimum : int or None
        Optimal makespan, where the instance is one of Taillard's by name and its optimum is stated in the file as both
        its bounds.

    Raises
    ------
    ProblemError
        If the times are not a matrix of whole numbers or break these rules.

    Examples
    --------
    >>> import engine
    >>> problem = engine.Flowshop([[3, 2, 4], [1, 2, 1]])
    >>> result = engine.solve(problem)
    >>> result.objective
    10
    >>> problem.evaluate(result.solution)
    10
    >>> engine.Flowshop.taillard(21)  # one of Taillard's instances, by its number
    <permutation flowshop ta021: 20 jobs, 20 machines, times 1 to 99>
    """

    kind: ClassVar[str] = "flowshop"
    title: ClassVar[str] = "permutation flowshop"
    sizes = (("jobs", "job", "jobs"), ("machines", "machine", "machines"))
    arrays: ClassVar[tuple[str, ...]] = ("times",)
    read_options = InstanceOption

    def __init__(self, times: ArrayLike, name: str | None = None) -> None:
        matrix = whole_matrix(times, "processing times", ("machine", "job"))
        total = sum(int(value) for value in matrix.ravel())
        if total >= _SUM_LIMIT:
            raise ProblemError(f"the processing times add up to {total}; they must stay below 2^30 ({_SUM_LIMIT})")
        self.times = frozen(matrix)
        self.machines, self.jobs = matrix.shape
        self.name = name if name is not None else self._default_name
        self.optimum = None
        if self.jobs <= _FEW_JOBS:
            self.brief_steps = _BRIEF_STEPS * self.jobs

    @classmethod
    def read(cls, path: str | Path, instance: int = 1) -> Self:
        """Read a file of either layout of :mod:`engine.formats.taillard`.

        :class:`ProblemError` if the file breaks its layout or a rule of the problem, or holds fewer instances.

        Parameters
        ----------
        path : str or Path
            The file.
        instance : int
            Which one, counted from 1, of a file that holds several.
        """
        found = taillard.read(path)
        problem = cls._one_of(path, instance, [(one.times,) for one in found], [one.line for one in found])
        parsed = found[instance - 1]
        if parsed.upper_bound is not None and parsed.upper_bound == parsed.lower_bound:
            problem.optimum = parsed.upper_bound
        return problem

    @classmethod
    def taillard(cls, number: int) -> Self:
        """One of Taillard's 120 instances, generated from its time seed: 20 x 5 (1 to 10) ... 500 x 20 (111 to 120)."""
        index = cls._index_of(number)
        jobs, machines = SIZES[index // 10]
        return cls(taillard.generate_times(jobs, machines, TIME_SEEDS[index]), f"ta{index + 1:03d}")

    @staticmethod
    def _index_of(number: int) -> int:
        try:
            index = operator.index(number) - 1
        except TypeError as error:
            raise ProblemError(f"the number of an instance must be an integer; got {number!r}") from error
        if not 0 <= index < len(TIME_SEEDS):
            raise ProblemError(f"Taillard's instances are numbered 1 to {len(TIME_SEEDS)}; got {number}")
        return index

    @classmethod
    def taillard_best_known(cls, number: int) -> int:
        """The best makespan known of one of Taillard's instances; sources: ``flowshop_best_known.csv``."""
        return published_flowshops()[f"ta{cls._index_of(number) + 1:03d}"].upper

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether a file is laid out like Taillard's or Vallada, Ruiz and Framinan's instances."""
        return taillard.recognize(head)

    @property
    def has_tree(self) -> bool:
        """Whether the exact search takes so many jobs."""
        return bool(self.jobs <= LARGEST_FLOWSHOP)

    @override
    def given_solution(self, values: Sequence[int]) -> NDArray[np.int64]:
        """A schedule that the user gives, checked: jobs from 0, each once."""
        return require_permutation(values, self.jobs)

    def describe(self) -> str:
        """One line: the sizes, the range of times, and the optimum where it is known."""
        text = super().describe()
        return text if self.optimum is None else f"{text}, known optimum {self.optimum:,}"

    def evaluate(self, jobs: ArrayLike) -> int:
        """Makespan of an order of all jobs; :class:`ProblemError` if it is no permutation of 0 ... jobs - 1."""
        return makespan(self.times, order_of_jobs(jobs, self.jobs))

    @override
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """``times``: shape (machines, jobs); ``optimum``: shape (), where known."""
        optimum = {} if self.optimum is None else {"optimum": np.array(self.optimum)}
        return super().to_arrays() | optimum

    @classmethod
    @override
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`."""
        problem = super().from_arrays(arrays, name)
        problem.optimum = int(arrays["optimum"]) if "optimum" in arrays else None
        return problem

    def tree(self, bound: str = "auto", branching: str = "auto") -> FlowshopTree:
        """Orders built from both ends, or from the front; see :class:`FlowshopTree`.

        A single machine makes no pair: there the one-machine bound, which is exact, takes the place of the others.
        """
        chosen = "one_machine" if bound == "auto" else bound
        if chosen not in _BOUNDS:
            raise OptionError(f"bound must be one_machine, two_machine or mixed for a flowshop; got '{bound}'")
        rule = "min_branch" if branching == "auto" else branching
        if rule not in BRANCHINGS:
            raise OptionError(f"branching must be {', '.join(BRANCHINGS)} for a flowshop; got '{branching}'")
        require_size(self.jobs, "jobs", self.name, LARGEST_FLOWSHOP)
        return FlowshopTree(self.times, chosen if len(self.times) > 1 else "one_machine", rule)

    def first_solution(self, method: str, seed: int, expired: Callable[[], bool] = lambda: False) -> NDArray[np.int64]:
        """A schedule by NEH, or by iterated greedy from there."""
        order = neh(self.times, expired)
        return order if method == "neh" else iterated_greedy(self.times, order, seed, expired)
