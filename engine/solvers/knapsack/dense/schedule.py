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

from engine.solvers.knapsack.ordering import by_weight
from engine.solvers.knapsack.runs import cut_into_runs

__all__ = ["MOST_FUSED", "Goal", "Group", "GroupRules", "Schedule"]

MOST_FUSED = 64
"""The most items one launch processes."""


class Group(NamedTuple):
    """Items ``first`` .. ``first + items - 1`` of the schedule's order, processed by one launch.

    ``weight`` is the sum of their weights: how far below a cell the launch looks.
    """

    kind: Literal["row", "tile", "class"]
    first: int
    items: int
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

    Parameters
    ----------
    indices : ndarray of int64, shape (n,)
        Of the items in processing order, in the problem that was given.
    weights, profits : ndarray of int64, shape (n,)
    groups : list of Group

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
        self._counts = np.array([group.items for group in groups], dtype=np.int64)

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
        order = by_weight(profits, weights)
        mask = np.zeros(len(weights), dtype=bool) if done is None else done[order]
        parts = [_Grouping.of(members, weights, rules) for members in (order[mask], order[~mask])]
        order = np.concatenate([part.order for part in parts])
        kinds, counts = (np.concatenate(columns) for columns in zip(*((p.kinds, p.counts) for p in parts), strict=True))
        firsts = np.cumsum(counts) - counts
        sums = np.concatenate([[0], np.cumsum(weights[order])])
        columns = ([_KINDS[kind] for kind in kinds.tolist()], firsts, counts, sums[firsts + counts] - sums[firsts])
        groups = list(map(Group._make, zip(columns[0], *(values.tolist() for values in columns[1:]), strict=True)))
        return cls(indices[order], weights[order], profits[order], groups), len(parts[0].counts)

    def range(self, stage: int, goal: Goal) -> tuple[int, int]:
        """Cells (lo, hi) of the row before group ``stage`` that matter for the goal.

        Parameters
        ----------
        stage : int
        goal : Goal
        """
        later = self.weight_before[goal.end] - self.weight_before[stage]
        return max(0, goal.low - later), min(goal.high, self.weight(goal.origin, stage))

    def weight(self, begin: int, end: int) -> int:
        """Weight of all items from group ``begin`` to before group ``end``.

        Parameters
        ----------
        begin, end : int
        """
        return self.weight_before[end] - self.weight_before[begin]

    def full(self, stage: int, goal: Goal) -> int:
        """Profit of all the goal's items before group ``stage``.

        Parameters
        ----------
        stage : int
        goal : Goal
        """
        return self.profit_before[stage] - self.profit_before[goal.origin]

    def ranges(self, begin: int, end: int, goal: Goal) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """:meth:`range` before each group from ``begin`` to ``end``, both included.

        Parameters
        ----------
        begin, end : int
            Groups; ``end`` may be the number of groups.
        goal : Goal

        Returns
        -------
        lows, highs : ndarray of int64, shape (end - begin + 1,)
        """
        before = self._weight_array[begin : end + 1]
        lows: NDArray[np.int64] = np.maximum(0, goal.low - (self.weight_before[goal.end] - before))
        highs: NDArray[np.int64] = np.minimum(goal.high, before - self.weight_before[goal.origin])
        return lows, highs

    def widths(self, begin: int, end: int, goal: Goal) -> NDArray[np.int64]:
        """How many cells matter before each group from ``begin`` to ``end``, both included.

        Parameters
        ----------
        begin, end : int
            Groups; ``end`` may be the number of groups.
        goal : Goal

        Returns
        -------
        ndarray of int64, shape (end - begin + 1,)
        """
        lows, highs = self.ranges(begin, end, goal)
        return highs - lows + 1

    def work(self, begin: int, end: int, goal: Goal) -> NDArray[np.int64]:
        """Cell updates of each group from ``begin`` to before ``end``: its items times the row it makes.

        Parameters
        ----------
        begin, end : int
            Groups; ``end`` may be the number of groups.
        goal : Goal

        Returns
        -------
        ndarray of int64, shape (end - begin,)
        """
        work: NDArray[np.int64] = self._counts[begin:end] * self.widths(begin, end, goal)[1:]
        return work


_KINDS: tuple[Literal["row", "tile", "class"], ...] = ("row", "tile", "class")
_ROW, _TILE, _CLASS = range(3)


@dataclass(frozen=True)
class _Grouping:
    """Items in processing order, and the kind and the number of items of each group."""

    order: NDArray[np.intp]
    kinds: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, members: NDArray[np.intp], weights: NDArray[np.int64], rules: GroupRules) -> _Grouping:
        """Group items that are given by descending weight.

        Of each weight, first as many items as possible form groups of the greatest depths; the others are rows, or are
        collected for tiles. A tile stands where the first item that does not fit it is met.
        """
        own = weights[members]
        starts = np.flatnonzero(np.diff(own, prepend=-1)) if len(own) else np.zeros(0, np.int64)
        sizes = np.diff(np.append(starts, len(own)))
        weight = own[starts]
        left = sizes.copy()
        at: list[NDArray[np.int64]] = []  # place of each group's first item
        counts: list[NDArray[np.int64]] = []
        may_fuse = (weight < 2**31) & bool(rules.depths)  # such launches take the weight in 32 bits
        if rules.tiles_first:
            may_fuse &= 4 * weight > rules.halo
        for depth in rules.depths:
            groups = np.where(may_fuse, left // depth, 0)
            first = np.repeat(starts + sizes - left, groups)
            number = np.arange(len(first)) - np.repeat(np.cumsum(groups) - groups, groups)
            at.append(first + number * depth)
            counts.append(np.full(len(first), depth))
            left = left - groups * depth
        single = np.arange(len(own)) >= np.repeat(starts + sizes - left, sizes)
        places = np.flatnonzero(single)
        rows = places[2 * own[places] > rules.halo]
        tiled = places[2 * own[places] <= rules.halo]
        cuts = cut_into_runs(own[tiled], rules.halo, MOST_FUSED)
        at += [rows, np.append(tiled[cuts[1:-1]], len(own))[: len(cuts) - 1]]  # a tile: where the next one begins
        counts += [np.ones(len(rows), np.int64), np.diff(cuts)]
        fused = sum(map(len, at[:-2]))
        kinds = np.repeat([_CLASS, _ROW, _TILE], [fused, len(rows), len(cuts) - 1])
        begin = np.concatenate([*at[:-2], rows, np.arange(len(cuts) - 1)])  # of a tile: its number
        where, count = np.concatenate(at), np.concatenate(counts)
        kinds[(kinds == _TILE) & (count == 1)] = _ROW
        is_tile = np.arange(len(where)) >= fused + len(rows)
        sequence = np.lexsort((~is_tile, where))
        lengths = count[sequence]
        pool = np.concatenate([np.arange(len(own)), tiled])  # places of items; those of tiles once more, in their order
        offset = np.where(is_tile, len(own) + cuts[np.where(is_tile, begin, 0)], begin)[sequence]
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return cls(members[pool[np.repeat(offset, lengths) + within]], kinds[sequence], lengths)
