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

from ..ordering import by_weight, cut_into_runs

MOST_FUSED = 64  # the most items one launch processes


_WINDOW_COST = 8
"""A cell of a window takes as long as about so many updates of other launches, however many items there are."""


_WINDOW_WEIGHTS = 2**24  # the launches of windows take distances of several weights in 32 bits


class Group(NamedTuple):
    """Items ``first`` .. ``first + items - 1`` of the schedule's order, processed by one launch."""

    kind: Literal["row", "tile", "class", "window"]
    first: int
    items: int
    weight: int  # the sum of their weights: how far below a cell the launch looks


@dataclass(frozen=True)
class GroupRules:
    """What may share a launch."""

    halo: int  # the most that the weights fused in a tile may add up to; 0: no tiles
    depths: tuple[int, ...]  # numbers of equal-weight items that a launch may take, descending; empty: no such launches
    tiles_first: bool = False  # prefer tiles to equal weights where at least four items fit one
    # Runs of at least windows[0] items of one weight and one profit, which weigh at least window_weight together, are
    # processed by launches of at most windows[1] (0: no such launches), which reach back at most window_reach.
    windows: tuple[int, int] = (0, 0)
    window_weight: int = 0
    window_reach: int = 2**62


class Goal(NamedTuple):
    """What a sweep is for: cells [low, high] of the row before group ``end``, of the items from group ``origin`` on."""

    end: int
    low: int
    high: int
    origin: int = 0


class Schedule:
    """Items in processing order, grouped."""

    def __init__(
        self, indices: NDArray[np.int64], weights: NDArray[np.int64], profits: NDArray[np.int64], groups: list[Group]
    ) -> None:
        self.order, self.weights, self.profits, self.groups = indices, weights, profits, groups
        starts = [group.first for group in groups]
        weight_sums = np.concatenate([[0], np.cumsum(weights)])
        profit_sums = np.concatenate([[0], np.cumsum(profits)])
        self.weight_before: list[int] = [*weight_sums[starts].tolist(), int(weight_sums[-1])]
        self.profit_before: list[int] = [*profit_sums[starts].tolist(), int(profit_sums[-1])]
        self._weight_array = np.array(self.weight_before, dtype=np.int64)
        self._counts = np.array([group.items for group in groups], dtype=np.int64)
        windowed = np.array([group.kind == "window" for group in groups], dtype=bool)
        # How long each group takes on a cell, in cell updates of the launches that are no windows.
        self.costs = np.where(windowed, np.minimum(self._counts, _WINDOW_COST), self._counts)

    @classmethod
    def build(
        cls,
        indices: NDArray[np.int64],
        weights: NDArray[np.int64],
        profits: NDArray[np.int64],
        rules: GroupRules,
        done: NDArray[np.bool_] | None = None,
    ) -> tuple[Schedule, int]:
        """Order and group items, first those ``done``, which a checkpoint has; and how many groups hold these."""
        order = by_weight(profits, weights)
        mask = np.zeros(len(weights), dtype=bool) if done is None else done[order]
        parts = [_grouped(members, weights, profits, rules) for members in (order[mask], order[~mask])]
        order, kinds, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        firsts = np.cumsum(counts) - counts
        sums = np.concatenate([[0], np.cumsum(weights[order])])
        columns = ([_KINDS[kind] for kind in kinds.tolist()], firsts, counts, sums[firsts + counts] - sums[firsts])
        groups = list(map(Group._make, zip(columns[0], *(values.tolist() for values in columns[1:]), strict=True)))
        return cls(indices[order], weights[order], profits[order], groups), len(parts[0][2])

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
        return np.asarray(self._counts[begin:end] * self.widths(begin, end, goal)[1:])

    def cost(self, begin: int, end: int, goal: Goal) -> NDArray[np.int64]:
        """How long each group from ``begin`` to before ``end`` takes: its cost on a cell times the row it makes."""
        return np.asarray(self.costs[begin:end] * self.widths(begin, end, goal)[1:])


_KINDS: tuple[Literal["row", "tile", "class", "window"], ...] = ("row", "tile", "class", "window")
_ROW, _TILE, _CLASS, _WINDOW = range(4)


def _grouped(
    members: NDArray[np.intp], weights: NDArray[np.int64], profits: NDArray[np.int64], rules: GroupRules
) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]]:
    """Items in processing order, the kind of each group, and how many items it has.

    They are given by descending weight, those of one weight by descending profit. Of each weight, first the long runs
    of equal profits form windows; of the others, as many items as possible form groups of the greatest depths; the rest
    are rows, or are collected for tiles. A tile stands where the first item that does not fit it is met.
    """
    all_weights = weights[members]
    windows, sizes, others = _windows(all_weights, profits[members], rules)
    own = all_weights[others]
    at, depths = _chains(own, rules), rules.depths
    single = np.ones(len(own), bool)
    for first, depth in zip(at, depths, strict=True):
        single[(first[:, None] + np.arange(depth)).ravel()] = False
    places = np.flatnonzero(single)
    rows = places[2 * own[places] > rules.halo]
    tiled = places[2 * own[places] <= rules.halo]
    cuts = cut_into_runs(own[tiled], rules.halo, MOST_FUSED)
    tiles = np.arange(len(cuts) - 1)
    next_tile = np.append(tiled[cuts[1:-1]], len(own))[: len(tiles)]  # a tile stands where the next one begins
    begins = [windows, *(len(members) + first for first in (*at, rows)), len(members) + len(own) + cuts[tiles]]
    standing = np.append(others, len(members))
    where = np.concatenate([windows, *(standing[first] for first in (*at, rows, next_tile))])
    lengths = [sizes, *(np.full(len(first), depth) for first, depth in zip(at, depths, strict=True))]
    lengths += [np.ones(len(rows), np.int64), np.diff(cuts)]
    kinds = np.repeat([_WINDOW, _CLASS, _ROW, _TILE], [len(windows), sum(map(len, at)), len(rows), len(tiles)])
    sequence = np.lexsort((kinds != _TILE, where))
    counts = np.concatenate(lengths)
    kinds[(kinds == _TILE) & (counts == 1)] = _ROW
    ordered = counts[sequence]
    pool = np.concatenate([np.arange(len(members)), others, others[tiled]])  # places; each kind's in its order
    within = np.arange(int(ordered.sum())) - np.repeat(np.cumsum(ordered) - ordered, ordered)
    offset = np.concatenate(begins)[sequence]
    return members[pool[np.repeat(offset, ordered) + within]], kinds[sequence], ordered


def _windows(
    weights: NDArray[np.int64], profits: NDArray[np.int64], rules: GroupRules
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Places of the first items of groups of equal items, their sizes, about even, and the places of others."""
    least, most = rules.windows
    if not most or not len(weights):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.arange(len(weights))
    is_first = np.ones(len(weights), bool)
    is_first[1:] = (weights[1:] != weights[:-1]) | (profits[1:] != profits[:-1])
    starts = np.flatnonzero(is_first)
    sizes = np.diff(np.append(starts, len(weights)))
    fits = np.minimum(most, rules.window_reach // weights[starts])
    heavy = sizes * weights[starts] >= rules.window_weight
    chosen = heavy & (sizes >= least) & (fits >= least) & (weights[starts] < _WINDOW_WEIGHTS)
    groups = np.where(chosen, -(-sizes // np.maximum(fits, 1)), 0)
    number = np.arange(int(groups.sum())) - np.repeat(np.cumsum(groups) - groups, groups)
    each, more = np.divmod(np.repeat(sizes, groups), np.repeat(groups, groups))
    firsts = np.repeat(starts, groups) + number * each + np.minimum(number, more)
    return firsts, each + (number < more), np.flatnonzero(np.repeat(~chosen, sizes))


def _chains(weights: NDArray[np.int64], rules: GroupRules) -> list[NDArray[np.int64]]:
    """Places of the first items of groups of equal weight, for each depth."""
    starts = np.flatnonzero(np.diff(weights, prepend=-1)) if len(weights) else np.zeros(0, np.int64)
    ends = np.append(starts[1:], len(weights))[: len(starts)]
    may_fuse = weights[starts] < 2**31  # such launches take the weight in 32 bits
    if rules.tiles_first:
        may_fuse &= 4 * weights[starts] > rules.halo
    starts, ends = starts[may_fuse], ends[may_fuse]
    at: list[NDArray[np.int64]] = []
    for depth in rules.depths:
        groups = (ends - starts) // depth
        number = np.arange(int(groups.sum())) - np.repeat(np.cumsum(groups) - groups, groups)
        at.append(np.repeat(starts, groups) + number * depth)
        starts = starts + groups * depth
    return at
