"""In which order items are processed, and which of them share a launch. Pure planning: no device here.

Items go by descending weight. Capacities that matter after a prefix of the items are cut at both ends: below, a state
from which even all later items cannot reach the optimum's capacity is dropped (Toth's elimination; a state within
capacity c is as good as one that fills it, so only c >= capacity - later weights is needed); above, nothing lies past
the weight of the items so far. Descending weights make that range smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_FUSED", "Goal", "Group", "GroupRules", "Schedule"]

MOST_FUSED = 64
"""The most items one launch processes."""


@dataclass(frozen=True, slots=True)
class Group:
    """Items ``first`` .. ``first + count - 1`` of the schedule's order, processed by one launch.

    ``weight`` is the sum of their weights: how far below a cell the launch looks.
    """

    kind: Literal["row", "tile", "class"]
    first: int
    count: int
    weight: int


@dataclass(frozen=True)
class GroupRules:
    """What may share a launch.

    ``halo`` is the most that the weights fused in a tile may add up to (0: no tiles); ``depths`` are the numbers of
    equal-weight items a launch may take, descending (empty: no such launches); ``tiles_first`` prefers tiles to equal
    weights where at least four items fit one.
    """

    halo: int
    depths: tuple[int, ...]
    tiles_first: bool = False


class Goal(NamedTuple):
    """What a sweep is for: cells [low, high] of the row before group ``end``, of the items from group ``origin`` on."""

    end: int
    low: int
    high: int
    origin: int = 0


class Schedule:
    """Items in processing order, grouped.

    Attributes
    ----------
    order : ndarray of int64, shape (n,)
        Index of each processed item in the problem that was given.
    weights, profits : ndarray of int64, shape (n,)
        In that order.
    groups : list of Group
    weight_before, profit_before : list of int, length len(groups) + 1
        Sums over all items before each group; the last entry is over all.
    """

    def __init__(
        self, indices: NDArray[np.int64], weights: NDArray[np.int64], profits: NDArray[np.int64], groups: list[Group]
    ) -> None:
        self.order = indices
        self.weights = weights
        self.profits = profits
        self.groups = groups
        starts = [group.first for group in groups]
        weight_sums = np.concatenate([[0], np.cumsum(weights)])
        profit_sums = np.concatenate([[0], np.cumsum(profits)])
        self.weight_before: list[int] = [*weight_sums[starts].tolist(), int(weight_sums[-1])]
        self.profit_before: list[int] = [*profit_sums[starts].tolist(), int(profit_sums[-1])]
        self._weight_array = np.array(self.weight_before, dtype=np.int64)
        self._counts = np.array([group.count for group in groups], dtype=np.int64)

    @classmethod
    def build(
        cls,
        indices: NDArray[np.int64],
        weights: NDArray[np.int64],
        profits: NDArray[np.int64],
        rules: GroupRules,
        done: NDArray[np.bool_] | None = None,
    ) -> tuple[Schedule, int]:
        """Order and group items.

        Parameters
        ----------
        indices, weights, profits : ndarray of int64, shape (n,)
            The items, in any order.
        rules : GroupRules
        done : ndarray of bool, shape (n,), optional
            Items that come first because a checkpoint has already processed them.

        Returns
        -------
        schedule : Schedule
        done_groups : int
            How many groups hold the items of ``done``.
        """
        by_weight = np.lexsort((-profits, -weights))
        chosen: list[NDArray[np.intp]] = []
        groups: list[Group] = []
        done_groups = 0
        for part in (True, False):
            mask = np.zeros(len(weights), dtype=bool) if done is None else done
            members = by_weight[mask[by_weight] == part]
            chosen += _group(members, weights, rules, groups)
            if part:
                done_groups = len(groups)
        order = np.concatenate(chosen)
        return cls(indices[order], weights[order], profits[order], groups), done_groups

    def range(self, stage: int, goal: Goal) -> tuple[int, int]:
        """Cells (lo, hi) of the row before group ``stage`` that matter for the goal."""
        later = self.weight_before[goal.end] - self.weight_before[stage]
        return max(0, goal.low - later), min(goal.high, self.weight(goal.origin, stage))

    def weight(self, begin: int, end: int) -> int:
        """Weight of all items from group ``begin`` to before group ``end``."""
        return self.weight_before[end] - self.weight_before[begin]

    def full(self, stage: int, goal: Goal) -> int:
        """Profit of all the goal's items before group ``stage``."""
        return self.profit_before[stage] - self.profit_before[goal.origin]

    def ranges(self, begin: int, end: int, goal: Goal) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """:meth:`range` before each group from ``begin`` to ``end``, both included."""
        before = self._weight_array[begin : end + 1]
        lows: NDArray[np.int64] = np.maximum(0, goal.low - (self.weight_before[goal.end] - before))
        highs: NDArray[np.int64] = np.minimum(goal.high, before - self.weight_before[goal.origin])
        return lows, highs

    def widths(self, begin: int, end: int, goal: Goal) -> NDArray[np.int64]:
        """How many cells matter before each group from ``begin`` to ``end``, both included."""
        lows, highs = self.ranges(begin, end, goal)
        return highs - lows + 1

    def work(self, begin: int, end: int, goal: Goal) -> NDArray[np.int64]:
        """Cell updates of each group from ``begin`` to before ``end``: its items times the row it makes."""
        work: NDArray[np.int64] = self._counts[begin:end] * self.widths(begin, end, goal)[1:]
        return work


def _group(
    members: NDArray[np.intp], weights: NDArray[np.int64], rules: GroupRules, groups: list[Group]
) -> list[NDArray[np.intp]]:
    """Append the groups of these items (by descending weight), and return each one's items."""
    chosen: list[NDArray[np.intp]] = []
    pending: list[NDArray[np.intp]] = []
    pending_weight = 0
    first = groups[-1].first + groups[-1].count if groups else 0

    def emit(kind: Literal["row", "tile", "class"], items: NDArray[np.intp], weight: int) -> None:
        nonlocal first
        groups.append(Group(kind, first, len(items), weight))
        chosen.append(items)
        first += len(items)

    def flush() -> None:
        nonlocal pending_weight
        if pending:
            emit("tile" if len(pending) > 1 else "row", np.concatenate(pending), pending_weight)
            pending.clear()
            pending_weight = 0

    cuts = np.flatnonzero(np.diff(weights[members])) + 1
    for items in np.split(members, cuts) if len(members) else []:
        weight = int(weights[items[0]])
        at = 0
        if rules.depths and not (rules.tiles_first and 4 * weight <= rules.halo):
            for depth in rules.depths:
                while len(items) - at >= depth:
                    emit("class", items[at : at + depth], depth * weight)
                    at += depth
        for index in range(at, len(items)):
            item = items[index : index + 1]
            if 2 * weight > rules.halo:
                emit("row", item, weight)
                continue
            if pending_weight + weight > rules.halo or len(pending) == MOST_FUSED:
                flush()
            pending_weight += weight
            pending.append(item)
    flush()
    return chosen
