"""The items of a sparse table: their order, gains, value type, and the linear relaxations of what is left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..ordering import by_efficiency, by_weight
from ..programs import TILE, ValueType

_TABLE_ENTRIES = 1 << 22  # of all relaxations together


@dataclass(frozen=True)
class Relaxations:
    """Linear relaxations of the items still to come, as prefix sums by descending efficiency, one after another.

    That of step k (with the items from k on) has entries ``first[k] .. first[k] + count[k]``; where memory is short,
    several steps share that of the first of them, which is an upper bound for the others.
    """

    weights: NDArray[np.int64]
    gains: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]


@dataclass(frozen=True)
class SparseItems:
    """Items by descending weight, with gains ``profit - multiplier * weight`` instead of profits."""

    indices: NDArray[np.int64]
    weights: NDArray[np.int64]
    profits: NDArray[np.int64]
    capacity: int
    multiplier: int  # near the profit per weight of the break item, so that gains are small

    @classmethod
    def of(
        cls, indices: NDArray[np.int64], weights: NDArray[np.int64], profits: NDArray[np.int64], capacity: int
    ) -> SparseItems:
        """Order the items, and choose the multiplier."""
        order = by_weight(profits, weights)
        efficient = by_efficiency(profits, weights)
        sums = np.cumsum(weights[efficient])
        item = efficient[min(int(np.searchsorted(sums, capacity, side="right")), len(efficient) - 1)]
        low = int(profits[item]) // int(weights[item])
        totals = [_sum_of_gains(profits, weights, multiplier) for multiplier in (low, low + 1)]
        return cls(indices[order], weights[order], profits[order], capacity, low if totals[0] <= totals[1] else low + 1)

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def fits(self) -> bool:
        """Whether the kernels' 64-bit arithmetic is exact for these items."""
        most_weight = int(self.weights.max())
        most = max(int(self.profits.max()), self.multiplier * most_weight)
        total = int(self.weights.sum()) * max(1, self.multiplier)
        if total >= 2**61 or most >= 2**61 or self.multiplier * TILE >= 2**61:
            return False
        largest = int(np.abs(self.gains).max())
        return largest * max(most_weight, TILE) < 2**62 and largest * len(self) < 2**58

    @cached_property
    def gains(self) -> NDArray[np.int64]:
        """``profit - multiplier * weight`` of each item."""
        return np.asarray(self.profits - self.multiplier * self.weights)

    @property
    def value(self) -> ValueType:
        """The type of the table's values."""
        return "i32" if int(np.abs(self.gains).sum()) < 2**28 and self.multiplier < 2**31 else "i64"

    @cached_property
    def left(self) -> NDArray[np.int64]:
        """Weight and profit of the items from each on; shape (2, n + 1)."""
        both = np.stack([self.weights, self.profits])
        return np.concatenate([np.cumsum(both[:, ::-1], axis=1)[:, ::-1], np.zeros((2, 1), np.int64)], axis=1)

    @cached_property
    def relaxations(self) -> Relaxations:
        """The relaxation of every step from 1 to n: of the items after it."""
        n = len(self)
        order = _exactly_by_efficiency(self.gains, self.weights)
        shared = max(1, -(-n * n // (2 * _TABLE_ENTRIES)))
        if shared == 1:
            return self._relaxations_of_each_step(order)
        weights, gains = [], []
        first, count = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
        at = 0
        for step in range(0, n + 1, shared):
            order = order[order >= step]
            weights += [np.zeros(1, np.int64), np.cumsum(self.weights[order])]
            gains += [np.zeros(1, np.int64), np.cumsum(self.gains[order])]
            first[step : step + shared] = at
            count[step : step + shared] = len(order)
            at += len(order) + 1
        return Relaxations(np.concatenate(weights), np.concatenate(gains), first, count)

    def _relaxations_of_each_step(self, order: NDArray[np.int64]) -> Relaxations:
        """Those of a step are those before without one item: it leaves one sum out, and lowers those after it."""
        n = len(self)
        place = np.empty(n, np.int64)
        place[order] = np.arange(n)
        before = [int(np.count_nonzero(place[step + 1 :] < place[step])) for step in range(n)]
        count = n - np.arange(n + 1)
        first = np.cumsum(count + 1) - (count + 1)
        sums = []
        for values in (self.weights, self.gains):
            found = np.zeros(int(first[-1]) + 1, np.int64)
            np.cumsum(values[order], out=found[1 : n + 1])
            starts = first.tolist()
            for at, to, item, value in zip(starts, starts[1:], before, values.tolist(), strict=False):
                found[to : to + item + 1] = found[at : at + item + 1]
                end = 2 * to - at - 1
                np.subtract(found[at + item + 2 : to], value, out=found[to + item + 1 : end])
            sums.append(found)
        return Relaxations(sums[0], sums[1], first, count)


def _sum_of_gains(profits: NDArray[np.int64], weights: NDArray[np.int64], multiplier: int) -> int:
    """Sum of the absolute gains, exactly."""
    if (int(profits.max()) + multiplier * int(weights.max())) * len(profits) < 2**62:
        return int(np.abs(profits - multiplier * weights).sum())
    return sum(abs(p - multiplier * w) for p, w in zip(profits.tolist(), weights.tolist(), strict=True))


def _exactly_by_efficiency(gains: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices by descending gain per weight, in exact integers."""
    order = np.argsort(-gains / weights, kind="stable").astype(np.int64)
    while True:  # rounding can only have exchanged neighbours
        a, b = order[:-1], order[1:]
        wrong = np.flatnonzero(gains[a] * weights[b] < gains[b] * weights[a])
        if not len(wrong):
            return order
        wrong = wrong[np.concatenate([[True], np.diff(wrong) > 1])]
        order[wrong], order[wrong + 1] = order[wrong + 1], order[wrong]
