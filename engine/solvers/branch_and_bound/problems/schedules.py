"""Permutation flowshops with other rules than the makespan: total flow time, blocking, and no waiting."""

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

from ....base.problem import InstanceOption
from ....errors import ProblemError
from ....formats import taillard
from ....formats.source import read_text
from ..tree import Tree
from .arrays import OrderProblem, require_no_choice, require_size
from .atsp import ATSP
from .flowshop import Flowshop

_SUM_LIMIT = 2**30


class FlowshopVariant(OrderProblem):
    """What these problems share: the times, and the file.

    Parameters
    ----------
    times : array-like of int, shape (machines, jobs)
        Processing times, at least 0. All times together must be below 2^30.
    name : str, optional

    Attributes
    ----------
    times : ndarray of int64, shape (machines, jobs)
        Read-only.
    jobs, machines : int

    Raises
    ------
    ProblemError
        If the times are not a matrix of whole numbers or break these rules.
    """

    arrays: ClassVar[tuple[str, ...]] = ("times",)
    sizes = Flowshop.sizes
    read_options = InstanceOption

    def __init__(self, times: ArrayLike, name: str | None = None) -> None:
        checked = Flowshop(times)
        self.times = checked.times
        self.machines, self.jobs = self.times.shape
        self.name = name if name is not None else self._default_name

    @classmethod
    def read(cls, path: str | Path, instance: int = 1) -> Self:
        """Read a file: the word of its ``kind`` on a line of its own, then a layout of :mod:`engine.formats.taillard`.

        ``instance``, counted from 1, says which one of a file that holds several; :class:`ProblemError` if there are
        fewer, or the file breaks its layout or a rule of the problem.
        """
        first, _, rest = read_text(path, f"the file of a {cls.title}").partition("\n")
        if first.strip().lower() != cls.kind:
            raise ProblemError(f"a file of a {cls.title} begins with the line '{cls.kind}'", path, 1)
        found = taillard.parse("\n" + rest, path)
        return cls._one_of(path, instance, [(one.times,) for one in found], [one.line for one in found])

    @classmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether the first line of the file is the problem's word."""
        return head.partition("\n")[0].strip().lower() == cls.kind

    def tree(self, bound: str = "auto", branching: str = "auto") -> Tree:
        """Orders built from the front; there is no choice of bounds or branching rules."""
        require_no_choice(f"a {self.title}", bound, branching)
        require_size(self.jobs, "jobs", self.name)
        return self._tree()

    @abstractmethod
    def _tree(self) -> Tree: ...

    @override
    def _urgency(self) -> NDArray[np.int64]:
        return np.asarray(-self.times.sum(axis=0))


class FlowTime(FlowshopVariant):
    """Find the order of jobs with the least total flow time in a permutation flowshop.

    The total flow time is the sum of the times at which the jobs are done on the last machine. A solution lists the
    jobs, counted from 0. For arguments and attributes see :class:`FlowshopVariant`; here all times together, times the
    number of jobs, must be below 2^30.

    Examples
    --------
    >>> import engine
    >>> problem = engine.FlowTime([[3, 2, 4], [1, 2, 1]])
    >>> result = engine.solve(problem)
    >>> result.objective
    20
    >>> problem.evaluate(result.solution)
    20
    """

    kind: ClassVar[str] = "flowtime"
    title: ClassVar[str] = "total flow time flowshop"

    def __init__(self, times: ArrayLike, name: str | None = None) -> None:
        super().__init__(times, name)
        total = self.jobs * int(self.times.sum())
        if total >= _SUM_LIMIT:
            raise ProblemError(
                f"the processing times add up to {total} over all {self.jobs} jobs' flow times; that must stay below "
                f"2^30 ({_SUM_LIMIT})"
            )

    def objectives(self, orders: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sums of the completion times on the last machine."""
        done = np.zeros((self.machines, len(orders)), np.int64)
        total = np.zeros(len(orders), np.int64)
        for jobs in orders.T:
            at = np.zeros(len(orders), np.int64)
            for machine in range(self.machines):
                at = np.maximum(at, done[machine]) + self.times[machine, jobs]
                done[machine] = at
            total += at
        return total

    def _tree(self) -> Tree:
        from .schedule_trees import FlowTimeTree

        return FlowTimeTree(self.times)


class BlockingFlowshop(FlowshopVariant):
    """Find the order of jobs with the smallest makespan in a flowshop without buffers between the machines.

    A job that is done on a machine stays there, and blocks it, until the next machine is free. A solution lists the
    jobs, counted from 0. For arguments and attributes see :class:`FlowshopVariant`.

    Examples
    --------
    >>> import engine
    >>> problem = engine.BlockingFlowshop([[3, 2, 4], [1, 2, 1]])
    >>> result = engine.solve(problem)
    >>> result.objective
    10
    >>> problem.evaluate(result.solution)
    10
    """

    kind: ClassVar[str] = "blocking"
    title: ClassVar[str] = "blocking flowshop"

    def objectives(self, orders: NDArray[np.int64]) -> NDArray[np.int64]:
        """When the last job of each order is done."""
        left = np.zeros((self.machines + 1, len(orders)), np.int64)
        for jobs in orders.T:
            at = left[0]
            for machine in range(self.machines):
                at = np.maximum(at + self.times[machine, jobs], left[machine + 1])
                left[machine] = at
        return np.asarray(left[self.machines - 1])

    def _tree(self) -> Tree:
        from .schedule_trees import BlockingTree

        return BlockingTree(self.times)


class NoWaitFlowshop(FlowshopVariant):
    """Find the order of jobs with the smallest makespan in a flowshop whose jobs never wait between machines.

    The delay between the starts of two jobs depends on these two alone, which makes it an asymmetric TSP with one city
    for each job, and one for the beginning and the end; it is searched as such. A solution lists the jobs, counted
    from 0. For arguments see :class:`FlowshopVariant`.

    Attributes
    ----------
    delays : ndarray of int64, shape (jobs + 1, jobs + 1)
        The costs of the asymmetric TSP; job j is city j + 1. The others are as in :class:`FlowshopVariant`.

    References
    ----------
    D. A. Wismer, "Solution of the flowshop-scheduling problem with no intermediate queues", Operations Research 20
    (1972) 689-697.

    Examples
    --------
    >>> import engine
    >>> problem = engine.NoWaitFlowshop([[3, 2, 4], [1, 2, 1]])
    >>> result = engine.solve(problem)
    >>> result.objective
    10
    >>> problem.evaluate(result.solution)
    10
    """

    kind: ClassVar[str] = "nowait"
    title: ClassVar[str] = "no-wait flowshop"

    def __init__(self, times: ArrayLike, name: str | None = None) -> None:
        super().__init__(times, name)
        done = np.cumsum(self.times, axis=0)
        self.delays = np.zeros((self.jobs + 1, self.jobs + 1), np.int64)
        self.delays[1:, 1:] = (done[:, :, None] - (done - self.times)[:, None, :]).max(axis=0)
        self.delays[1:, 0] = done[-1]
        np.fill_diagonal(self.delays, 0)
        self.delays.setflags(write=False)
        self._tours = ATSP(self.delays)

    def objectives(self, orders: NDArray[np.int64]) -> NDArray[np.int64]:
        """When the last job of each order is done."""
        cities = np.pad(orders + 1, ((0, 0), (1, 1)))
        return np.asarray(self.delays[cities[:, :-1], cities[:, 1:]].sum(axis=1))

    def _tree(self) -> Tree:
        from .schedule_trees import no_wait_tree

        return no_wait_tree(self.delays, self._tours.relaxation)

    def first_solution(self, method: str, seed: int, expired: Callable[[], bool] = lambda: False) -> NDArray[np.int64]:
        """The order of a tour by the local search of :class:`ATSP`."""
        return self._tours.first_solution(method, seed, expired)[1:] - 1
