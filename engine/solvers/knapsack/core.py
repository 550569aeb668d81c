"""Dynamic programming over a growing core, on the host: proves easy instances in milliseconds.

After Pisinger, *A minimal algorithm for the 0-1 knapsack problem*, Operations Research 45 (1997) 758-767. The search
starts from the break solution (all items before the break item) and decides items from the middle of the order of
efficiency outwards: those after the break item may be put in, those before it taken out. States (weight, profit) that
are dominated, or whose linear bound does not exceed the incumbent, are dropped. When none is left, the incumbent is
optimal, and only the items of the core were looked at.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .ordering import by_efficiency
from .presolve import Reduced
from .problem import Knapsack

MOST_STATES = 1 << 15  # where a core is solved at all, it has rarely more; where it is not, soon


def search_core(
    problem: Knapsack, reduced: Reduced, seconds: float, poll: Callable[[], None], states: int = MOST_STATES
) -> None:
    """Search a growing core among the open items; what is found is taken over, also when ``poll`` ends the search."""
    weights, profits = problem.weights[reduced.open], problem.profits[reduced.open]
    fixed = int(problem.profits[reduced.taken].sum())
    order = by_efficiency(profits, weights)
    core = Core(profits, weights, reduced.capacity, order, reduced.objective - fixed, reduced.bound - fixed)
    try:
        core.run(seconds, poll, states)
    finally:
        if core.solution is not None:
            items = np.concatenate([reduced.taken, reduced.open[core.solution]])
            reduced.improve(items, int(problem.profits[items].sum()))
        if core.proved:
            reduced.close()


class _Decision(NamedTuple):
    """How the states after one item came about: the state before each, and whether the item was changed."""

    item: int
    parent: NDArray[np.int32]
    changed: NDArray[np.bool_]


class Core:
    """One search of items by descending efficiency that weigh more than the capacity; read it after :meth:`run`."""

    def __init__(
        self,
        profits: NDArray[np.int64],
        weights: NDArray[np.int64],
        capacity: int,
        order: NDArray[np.int64],
        objective: int,
        bound: int,
    ) -> None:
        # Items are numbered by their place in the order of efficiency.
        self._profits, self._weights, self._capacity = profits[order], weights[order], capacity
        self._order = order
        self.solution: NDArray[np.int64] | None = None
        self.objective, self._upper_bound = objective, bound
        self.proved = False
        sums = np.cumsum(self._weights)
        self._break = int(np.searchsorted(sums, capacity, side="right"))
        before = int(sums[self._break - 1]) if self._break else 0
        self._state_weights = np.array([before], np.int64)
        self._state_profits = np.array([int(self._profits[: self._break].sum())], np.int64)
        self._low, self._high = self._break, self._break  # items low .. high - 1 are decided
        self._decisions: list[_Decision] = []

    def run(self, seconds: float, poll: Callable[[], None] = lambda: None, states: int = MOST_STATES) -> None:
        """Decide items alternately on both sides until no state is left, or there are too many, or too little time."""
        deadline = time.monotonic() + seconds
        self._improve()
        while True:
            self._drop_bounded()
            everything = self._low == 0 and self._high == len(self._weights)
            if self.objective >= self._upper_bound or everything or not len(self._state_weights):
                self.proved = True
                return
            if len(self._state_weights) > states or time.monotonic() > deadline:
                return
            poll()
            right = self._high < len(self._weights)
            if right and (self._low == 0 or self._high - self._break <= self._break - self._low):
                self._decide(self._high, 1)
                self._high += 1
            else:
                self._low -= 1
                self._decide(self._low, -1)
            self._improve()

    def _decide(self, item: int, sign: int) -> None:
        """Every state with the item as it is, and changed (put in or taken out); dominated ones are dropped."""
        count = len(self._state_weights)
        weights = np.concatenate([self._state_weights, self._state_weights + sign * self._weights[item]])
        profits = np.concatenate([self._state_profits, self._state_profits + sign * self._profits[item]])
        order = np.argsort(weights, kind="stable")  # two sorted runs: the stable sort merges them
        weights, profits = weights[order], profits[order]
        best_before = np.concatenate([[np.iinfo(np.int64).min], np.maximum.accumulate(profits)[:-1]])
        keep = profits > best_before
        keep[:-1] &= (weights[1:] != weights[:-1]) | (profits[1:] <= profits[:-1])
        order = order[keep]
        self._state_weights, self._state_profits = weights[keep], profits[keep]
        changed = order >= count
        self._decisions.append(_Decision(item, (order - np.where(changed, count, 0)).astype(np.int32), changed))

    def _drop_bounded(self) -> None:
        """Drop states that cannot lead to more than the incumbent by the items still undecided."""
        weights, profits = self._state_weights, self._state_profits
        slack = (self._capacity - weights).astype(np.float64)
        after = self._profits[self._high] / self._weights[self._high] if self._high < len(self._weights) else 0.0
        before = self._profits[self._low - 1] / self._weights[self._low - 1] if self._low else 0.0
        gain = np.where(slack >= 0, slack * after, slack * before if self._low else -np.inf)
        needed = (self.objective + 1 - profits).astype(np.float64)
        keep = gain >= needed - 1e-12 * np.abs(gain) - 1e-6  # what rounding could decide is kept
        if not keep.all():
            kept = np.flatnonzero(keep)
            self._state_weights, self._state_profits = weights[kept], profits[kept]
            if self._decisions:
                item, parent, changed = self._decisions[-1]
                self._decisions[-1] = _Decision(item, parent[kept], changed[kept])

    def _improve(self) -> None:
        """Take the best feasible state if it beats the incumbent; profits ascend with the weights."""
        feasible = int(np.searchsorted(self._state_weights, self._capacity, side="right"))
        if not feasible or int(self._state_profits[feasible - 1]) <= self.objective:
            return
        self.objective = int(self._state_profits[feasible - 1])
        inside = np.zeros(len(self._weights), bool)
        inside[: self._break] = True
        state = feasible - 1
        for item, parent, changed in reversed(self._decisions):
            inside[item] ^= changed[state]
            state = int(parent[state])
        self.solution = np.sort(self._order[inside])
