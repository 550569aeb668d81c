"""The flowshop's search tree: orders built from the front, or from both ends, under one- and two-machine bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ..tree import DeviceTree, Kept, Tree
from .flowshop_heuristics import advanced, makespan

if TYPE_CHECKING:
    from ....devices import Capabilities, Device
    from ..heuristics.chains import ScheduleSearch

Vector = NDArray[np.int64]

BRANCHINGS = ("forward", "backward", "alternating", "max_sum", "max_sum_back", "min_branch")
"""How a node chooses the end that its children extend."""

_SHORT = 2**15 - 1
_MOST_CHAINS = 1 << 16  # of a device: each begins with random numbers of its own


@dataclass(frozen=True)
class _State:
    """Times, shape (machines,): front (heads if empty), back (tails), of the open jobs; and the jobs at both ends."""

    front: Vector
    back: Vector
    rest: Vector
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()


@dataclass(frozen=True)
class MachinePairs:
    """All pairs of machines u < v, with Johnson's order of the jobs between them."""

    first: Vector
    second: Vector
    lag: NDArray[np.int64]  # shape (pairs, jobs): time of each job on the machines between the two
    order: NDArray[np.int64]  # shape (pairs, jobs): by Johnson's rule for times p_u + lag and lag + p_v

    @classmethod
    def of(cls, times: NDArray[np.int64]) -> MachinePairs:
        """The pairs of an instance, ``times`` of shape (machines, jobs)."""
        done = np.pad(np.cumsum(times, axis=0), ((1, 0), (0, 0)))
        first, second = np.triu_indices(len(times), 1)
        lag = done[second] - done[first + 1]
        a, b = times[first] + lag, lag + times[second]
        # The jobs that are shorter on the first machine come first, by their times there; of the others the longest.
        order = np.lexsort((np.where(a <= b, a, -b), a > b))
        return cls(first, second, lag, order)


class FlowshopTree(Tree):
    """The tree of one instance; for the branching rules see ``docs/internals/branch-and-bound.md``."""

    def __init__(self, times: NDArray[np.int64], bound: str, branching: str) -> None:
        self.times = times
        self.machines, self.items = times.shape
        self.leaf_depth = self.items - 1
        self.bound_name = bound
        self.branching = branching
        done = np.cumsum(times, axis=0)
        self.heads = (done - times).min(axis=1)
        self.tails = (done[-1] - done).min(axis=1)
        self.totals = times.sum(axis=1)
        self.pairs = MachinePairs.of(times) if bound != "one_machine" else None

    @override
    def improver(self, device: Device, seed: int, rank: int) -> ScheduleSearch | None:
        if not self.improved:
            return None
        from ..heuristics.chains import Improvement, ScheduleSearch

        search = ScheduleSearch(device, self.times, seed + 1, rank + 1, (rank + 1) * _MOST_CHAINS)
        search.begin(None if self.known is None else Improvement(self.evaluate(self.known), self.known))
        return search

    @property
    def short(self) -> bool:
        """Whether every bound fits 16 bits with room for one more job."""
        return bool(int(self.times.max()) * (self.items + self.machines) < _SHORT)

    @override
    def device(self, capabilities: Capabilities) -> DeviceTree:
        from .flowshop_tables import scalar_functions, vector_functions

        return scalar_functions(self, capabilities) if capabilities.simt else vector_functions(self)

    @override
    def child_functions(self, capabilities: Capabilities) -> DeviceTree:
        """Scalar code, one child a work-item, on CPUs too."""
        from .flowshop_tables import scalar_functions

        return scalar_functions(self, capabilities)

    # --- the reference ------------------------------------------------------------------------------------------

    @override
    def root(self) -> _State:
        return _State(self.heads, self.tails, self.totals)

    @override
    def place(self, state: Any, depth: int, item: int, side: int) -> _State:
        column = self.times[:, item]
        rest = state.rest - column
        if side == 0:
            return _State(advanced(state.front, column), state.back, rest, (*state.first, item), state.last)
        back = advanced(state.back[::-1], column[::-1])[::-1]
        return _State(state.front, back, rest, state.first, (item, *state.last))

    def one_machine(self, state: _State, jobs: Sequence[int]) -> tuple[Vector, Vector]:
        """The one-machine bounds of a node's children with each job in front, and at the back; shape (jobs,) each."""
        times = self.times[:, list(jobs)]
        front = _one_machine(times, state.front, state.rest + state.back)
        return front, _one_machine(times[::-1], state.back[::-1], (state.rest + state.front)[::-1])

    def two_machine(self, state: _State, jobs: Sequence[int], side: int) -> Vector:
        """The two-machine bounds, over all pairs, of children with each job in front (side 0) or at the back (1)."""
        children = [self.place(state, 0, job, side) for job in jobs]
        placed = np.ones((len(jobs), self.items), np.bool_)
        placed[:, list(jobs)] = np.eye(len(jobs), dtype=np.bool_)
        front, back = (np.column_stack([getattr(child, end) for child in children]) for end in ("front", "back"))
        return self._johnson(front, back, placed)

    def _johnson(self, front: NDArray[np.int64], back: NDArray[np.int64], placed: NDArray[np.bool_]) -> Vector:
        """The two-machine bound of many nodes; ``front`` and ``back`` of shape (machines, nodes)."""
        assert self.pairs is not None
        first, second, lag, order = (self.pairs.first, self.pairs.second, self.pairs.lag, self.pairs.order)
        at_u, at_v = front[first], front[second]
        pairs = np.arange(len(first))
        for place in range(self.items):
            jobs = order[:, place]
            still_open = ~placed[:, jobs].T
            at_u = at_u + still_open * self.times[first, jobs][:, None]
            later = np.maximum(at_v, at_u + lag[pairs, jobs][:, None]) + self.times[second, jobs][:, None]
            at_v = np.where(still_open, later, at_v)
        return np.asarray(np.maximum(at_v + back[second], at_u + back[first]).max(axis=0))

    @override
    def bound(self, state: Any, depth: int, open_items: Sequence[int], upper: int, initial: int) -> Kept:
        jobs = list(open_items)
        if self.bound_name == "two_machine":
            front = self.two_machine(state, jobs, 0)
            back = self.two_machine(state, jobs, 1) if self.branching != "forward" else front
        else:
            front, back = self.one_machine(state, jobs)
        side = self.side(front, back, initial)
        bounds = back if side else front
        if self.bound_name == "mixed":
            bounds = np.maximum(bounds, self.two_machine(state, jobs, side))
        return side, [job for job, value in zip(jobs, bounds.tolist(), strict=True) if value < upper]

    def side(self, front: Vector, back: Vector, initial: int) -> int:
        """The branching rule on the bounds of all children at each end: 0 for the front, 1 for the back."""
        if self.branching in ("forward", "backward"):
            return int(self.branching == "backward")
        if self.branching == "alternating":
            return (self.items - len(front)) % 2
        difference = int((front - back).sum())
        if self.branching == "max_sum_back":
            return int(difference <= 0)
        by_sum = difference < 0
        if self.branching == "max_sum":
            return int(by_sum)
        pruned = int((front >= initial).sum()) - int((back >= initial).sum())
        return int(by_sum) if pruned == 0 else int(pruned < 0)

    @override
    def leaf(self, state: Any, open_items: Sequence[int]) -> int:
        """The last job between front and back."""
        front = advanced(state.front if state.first else np.zeros_like(state.front), self.times[:, open_items[0]])
        return int((front + (state.back if state.last else 0)).max())

    @override
    def lower_bound(self) -> int:
        one = int((self.heads + self.totals + self.tails).max())
        return max(one, int(self.times.sum(axis=0).max()))

    @override
    def bounds(self, paths: NDArray[np.int64], sides: NDArray[np.int64]) -> NDArray[np.int64]:
        """The one-machine bound, and the two-machine bound where the tree prunes by it."""
        nodes = len(paths)
        front, back, rest = (
            np.repeat(vector[:, None], nodes, axis=1) for vector in (self.heads, self.tails, self.totals)
        )
        placed = np.zeros((nodes, self.items), np.bool_)
        for level in range(paths.shape[1]):
            columns = self.times[:, paths[:, level]]
            rest -= columns
            placed[np.arange(nodes), paths[:, level]] = True
            ahead = sides[:, level] == 0
            front = np.where(ahead, advanced(front, columns), front)
            back = np.where(ahead, back, advanced(back[::-1], columns[::-1])[::-1])
        found: Vector = (front + rest + back).max(axis=0)
        if self.pairs is not None:
            found = np.maximum(found, self._johnson(front, back, placed))
        return np.maximum(found, self.lower_bound())

    def evaluate(self, solution: NDArray[np.int64]) -> int:
        """Makespan, from the times alone."""
        return makespan(self.times, solution)


def _one_machine(times: NDArray[np.int64], front: Vector, after: Vector) -> Vector:
    before = np.cumsum(times, axis=0) - times
    reach = np.maximum.accumulate(front[:, None] - before, axis=0) + before
    return np.asarray((reach + after[:, None]).max(axis=0))
