"""Search trees of flowshops with total flow time, with blocking, and without waiting; branched from the front."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ..tree import DeviceTree, Kept, Tree
from .atsp import ATSPTree
from .atsp_assignment import LARGEST_COST, AssignmentTree
from .flowshop_heuristics import advanced
from .subtours import SubtourRelaxation

if TYPE_CHECKING:
    from ....devices import Capabilities

Vector = NDArray[np.int64]

_THREADS = 512


class _ForwardTree(Tree):
    """Items are jobs, the first of the order first."""

    def __init__(self, times: NDArray[np.int64]) -> None:
        self.times = times
        self.machines, self.items = times.shape
        self.leaf_depth = self.items - 1
        done = np.cumsum(times, axis=0)
        self.heads = (done - times).min(axis=1)
        self.tails = done[-1] - done
        """Time of each job after each machine, shape (machines, jobs)."""

    @abstractmethod
    def child_bound(self, state: Any, item: int, others: Sequence[int]) -> int:
        """The bound of the child with a job, of which the ``others``, at least one, stay open."""

    @abstractmethod
    def value(self, state: Any) -> int:
        """The objective of a state with all jobs."""

    @override
    def bound(self, state: Any, depth: int, open_items: Sequence[int], upper: int, initial: int) -> Kept:
        jobs = list(open_items)
        return 0, [job for job in jobs if self.child_bound(state, job, [one for one in jobs if one != job]) < upper]

    @override
    def leaf(self, state: Any, open_items: Sequence[int]) -> int:
        """With the last job at the end."""
        return self.value(self.place(state, self.leaf_depth, open_items[0], 0))

    @override
    def bound_of(self, path: Sequence[int]) -> int:
        if not path:
            return self.lower_bound()
        state = self.root()
        for depth, item in enumerate(path[:-1]):
            state = self.place(state, depth, item, 0)
        others = [job for job in range(self.items) if job not in path]
        if others:
            return max(self.lower_bound(), self.child_bound(state, path[-1], others))
        return self.value(self.place(state, len(path) - 1, path[-1], 0))

    def evaluate(self, solution: NDArray[np.int64]) -> int:
        """The objective, from the times alone."""
        state = self.root()
        for depth, job in enumerate(solution.tolist()):
            state = self.place(state, depth, job, 0)
        return self.value(state)

    def _device_tree(self, template: str, table: NDArray[np.int64], words: int) -> DeviceTree:
        constants = {"machines": self.machines}
        return DeviceTree(
            *(f"branch_and_bound/{template}", "", constants, table.astype(np.int32), False),
            saved_words=words,
            threads_per_unit=_THREADS,
        )


class FlowTimeTree(_ForwardTree):
    """State: when each machine is done, and the flow time. Bound: by machine, the open jobs in order of their times."""

    @override
    def device(self, capabilities: Capabilities) -> DeviceTree:
        """Table: by machine, times, times after it, and the jobs by time."""
        by_time = np.argsort(self.times, axis=1, kind="stable")
        table = np.concatenate([part.ravel() for part in (self.times, self.tails, by_time)])
        return self._device_tree("flow_time", table, self.machines + 1)

    @override
    def root(self) -> tuple[Vector, int]:
        return np.zeros(self.machines, np.int64), 0

    @override
    def place(self, state: Any, depth: int, item: int, side: int) -> tuple[Vector, int]:
        done = advanced(state[0], self.times[:, item])
        return done, state[1] + int(done[-1])

    @override
    def child_bound(self, state: Any, item: int, others: Sequence[int]) -> int:
        done, total = self.place(state, 0, item, 0)
        return total + self._of_open(done, list(others))

    def _of_open(self, done: Vector, jobs: list[int]) -> int:
        """The least total flow time of the open jobs, given when each machine is free."""
        completions = np.cumsum(np.sort(self.times[:, jobs], axis=1), axis=1).sum(axis=1)
        return int((len(jobs) * done + completions + self.tails[:, jobs].sum(axis=1)).max())

    @override
    def value(self, state: Any) -> int:
        return int(state[1])

    @override
    def lower_bound(self) -> int:
        return self._of_open(self.heads, list(range(self.items)))


class BlockingTree(_ForwardTree):
    """State: when the last job leaves each machine. Bound: by machine, that, the open jobs, the least time behind."""

    @override
    def device(self, capabilities: Capabilities) -> DeviceTree:
        """Table: times by job, then the least times after each machine."""
        table = np.concatenate([self.times.T.ravel(), self.tails.min(axis=1)])
        return self._device_tree("blocking", table, 2 * self.machines)

    @override
    def root(self) -> tuple[int, ...]:
        return (0,) * len(self.times)

    @override
    def place(self, state: Any, depth: int, item: int, side: int) -> tuple[int, ...]:
        at, left = int(state[0]), list[int]()
        for machine in range(self.machines):
            free = int(state[machine + 1]) if machine + 1 < self.machines else 0
            at = max(at + int(self.times[machine, item]), free)
            left.append(at)
        return tuple(left)

    @override
    def child_bound(self, state: Any, item: int, others: Sequence[int]) -> int:
        return self._of_open(np.array(self.place(state, 0, item, 0)), list(others))

    def _of_open(self, left: Vector, jobs: list[int]) -> int:
        return int((left + self.times[:, jobs].sum(axis=1) + self.tails.min(axis=1)).max())

    @override
    def value(self, state: Any) -> int:
        return int(state[-1])

    @override
    def lower_bound(self) -> int:
        one = self._of_open(self.heads, list(range(self.items)))
        return max(one, int(self.times.sum(axis=0).max()))


class _ArcsOfOrders(ATSPTree):
    """An asymmetric TSP whose tours stand for orders of jobs: city j + 1 is job j, and city 0 beginning and end."""

    solution = Tree.solution

    @override
    def evaluate(self, solution: NDArray[np.int64]) -> int:
        return super().evaluate(np.append(0, solution + 1))


class _AssignmentOfOrders(_ArcsOfOrders, AssignmentTree):
    pass


def no_wait_tree(delays: NDArray[np.int64], relaxation: SubtourRelaxation) -> Tree:
    """The tree of a no-wait flowshop: that of its delays as costs of an asymmetric TSP, shape (jobs + 1, jobs + 1)."""
    if len(delays) > 3 and int(delays.max()) <= LARGEST_COST:
        return _AssignmentOfOrders(delays, relaxation)
    return _ArcsOfOrders(delays, cheapest=True)
