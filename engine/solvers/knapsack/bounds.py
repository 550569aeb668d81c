"""Upper bounds, feasible solutions and fixing items before the dynamic program: on the host, in exact integers.

After Martello and Toth, *Knapsack Problems* (1990), chapter 2: Dantzig's bound (2.2.1) in its Lagrangian form (2.2.2),
and the reduction of Ingargiola and Korsh with bounds in O(n) as of Dembo and Hammer (2.7). The bound with a constraint
on the number of items is after Martello and Toth, *Upper bounds and algorithms for hard 0-1 knapsack problems*,
Operations Research 45 (1997) 768-778.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_CUTS = 40  # evaluations of the relaxation in the search for the multiplier of the number of items
_DENOMINATORS = (1, 10, 100, 10_000, 1_000_000)


def greedy(
    profits: NDArray[np.int64], weights: NDArray[np.int64], capacity: int, order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Indices of a good feasible solution: in ``order`` of efficiency, whatever still fits; or the best single item."""
    sums = np.cumsum(weights[order])
    whole = int(np.searchsorted(sums, capacity, side="right"))
    chosen: list[int] = []
    residual = capacity - (int(sums[whole - 1]) if whole else 0)
    rest = order[whole:]
    while len(fitting := np.flatnonzero(weights[rest] <= residual)):
        item = int(rest[fitting[0]])
        chosen.append(item)
        residual -= int(weights[item])
        rest = rest[fitting[0] + 1 :]
    taken = np.zeros(len(weights), bool)
    taken[order[:whole]] = taken[chosen] = True
    solution = np.flatnonzero(taken)
    alone = np.flatnonzero(weights <= capacity)
    if len(alone):
        best = int(alone[np.argmax(profits[alone])])
        if int(profits[best]) > int(profits[solution].sum()):
            solution = np.array([best], dtype=np.int64)
    return solution


@dataclass(frozen=True)
class Relaxation:
    """A Lagrangian relaxation, scaled to stay in integers.

    With a multiplier lambda = a / s of the capacity and mu = m / s of a bound K on the number of items (K times mu is
    zero for Dantzig's bound), ``(a C + m K + sum_j max(0, s p_j - a w_j - m)) / s`` bounds the optimum. Deciding an
    item against the sign of its reduced profit costs the bound that much.
    """

    scaled_bound: int
    scale: int
    gains: NDArray[Any]  # reduced profits ``s p_j - a w_j - m``; of Python integers where they would overflow

    @classmethod
    def at(
        cls,
        profits: NDArray[np.int64],
        weights: NDArray[np.int64],
        capacity: int,
        multipliers: tuple[int, int, int],
        count: int = 0,
        copies: NDArray[np.int64] | None = None,
    ) -> Relaxation:
        """Relax with multipliers (s, a, m) of the profits, the capacity and the number of items ``count``."""
        s, a, m = multipliers
        number = np.ones(1, np.int64) if copies is None else copies
        largest = s * int(profits.max()) + abs(a) * int(weights.max()) + abs(m) * int(number.max())
        if largest * len(weights) >= 2**62:
            gains: NDArray[Any] = profits.astype(object) * s - weights.astype(object) * a - number.astype(object) * m
        else:
            gains = profits * s - weights * a - number * m
        return cls(a * capacity + m * count + int(np.maximum(gains, 0).sum()), s, gains)

    @classmethod
    def at_break_item(
        cls, profits: NDArray[np.int64], weights: NDArray[np.int64], capacity: int, order: NDArray[np.int64]
    ) -> Relaxation:
        """Dantzig's bound of items that weigh more than the capacity together, ordered by efficiency."""
        break_item = int(order[np.searchsorted(np.cumsum(weights[order]), capacity, side="right")])
        return cls.at(profits, weights, capacity, (int(weights[break_item]), int(profits[break_item]), 0))

    @classmethod
    def with_cardinality(
        cls,
        profits: NDArray[np.int64],
        weights: NDArray[np.int64],
        capacity: int,
        objective: int,
        every: int = 1,
        is_over: Callable[[], bool] = lambda: False,
        copies: NDArray[np.int64] | None = None,
    ) -> Relaxation | None:
        """The best bound found with a constraint on the number of items; None where no such constraint helps.

        No more than K items fit: the K lightest. And a solution better than ``objective`` has at least K' items, or
        the K' largest profits would not exceed it; so bounds from the second hold for better solutions alone.
        Multipliers are searched for on one of ``every`` so many items; ``copies``: as how many items each counts.
        """
        copies = np.ones(len(weights), np.int64) if copies is None else copies
        sample = (profits[::every], weights[::every], copies[::every], capacity // every)
        best: Relaxation | None = None
        for sign in (1, -1):  # the most items that fit, and the fewest that solutions better than `objective` have
            sizes, limit, more = (weights, capacity, 0) if sign > 0 else (profits, objective, 1)
            count = _within(sizes, copies, limit, sign) + more
            if not 0 < count < int(copies.sum()):
                continue
            sample_count = count if every == 1 else _within(sizes[::every], sample[2], limit // every, sign) + more
            for multipliers in _multipliers(*sample, sample_count, sign, is_over):
                found = cls.at(profits, weights, capacity, multipliers, count, copies)
                if best is None or found.scaled_bound * best.scale < best.scaled_bound * found.scale:
                    best = found
        return best

    @property
    def bound(self) -> int:
        """Upper bound on the optimum."""
        return self.scaled_bound // self.scale

    def fixed(self, objective: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Items that every solution better than ``objective`` takes, and those that it leaves."""
        least = self.scale * (objective + 1)
        settled = np.asarray(self.scaled_bound - abs(self.gains) < least, dtype=bool)
        return settled & np.asarray(self.gains > 0), settled & np.asarray(self.gains < 0)


def _within(sizes: NDArray[np.int64], copies: NDArray[np.int64], limit: int, sign: int) -> int:
    """How many single items fit the limit, by ascending size (or descending, with -1) of each."""
    single = sizes // copies  # exact: packs consist of equal items
    order = np.argsort(sign * single)
    sums = np.cumsum(sizes[order])
    whole = int(np.searchsorted(sums, limit, side="right"))
    count = int(copies[order[:whole]].sum())
    if whole == len(order):
        return count
    return count + (limit - (int(sums[whole - 1]) if whole else 0)) // int(single[order[whole]])


class _Point(NamedTuple):
    """The relaxation at a multiplier of the number of items: its value, subgradient, and the capacity's multiplier."""

    mu: float
    value: float
    slope: float
    capacity_multiplier: float


def _multipliers(
    profits: NDArray[np.int64],
    weights: NDArray[np.int64],
    copies: NDArray[np.int64],
    capacity: int,
    count: int,
    sign: int,
    is_over: Callable[[], bool],
) -> Iterator[tuple[int, int, int]]:
    """Integer multipliers (s, a, m) near the best real ones, for the bound ``count`` on the number of items.

    The relaxation is convex and piecewise linear in mu; Kelley's cutting planes between a point of negative and one of
    positive slope find its minimum. ``sign`` is that of mu: 1 for at most, -1 for at least ``count`` items.
    """
    real_profits, real_weights = profits.astype(np.float64), weights.astype(np.float64)

    def at(mu: float) -> _Point:
        reduced = real_profits - mu * copies
        open_ = np.flatnonzero(reduced > 0)
        order = open_[np.argsort(-reduced[open_] / real_weights[open_])]
        sums = np.cumsum(real_weights[order])
        whole = int(np.searchsorted(sums, capacity, side="right"))
        if whole == len(order):
            return _Point(mu, float(reduced[open_].sum()) + mu * count, float(count - copies[order].sum()), 0.0)
        before = float(sums[whole - 1]) if whole else 0.0
        multiplier = float(reduced[order[whole]] / real_weights[order[whole]])
        value = float(reduced[order[:whole]].sum()) + multiplier * (capacity - before) + mu * count
        taken = float(copies[order[:whole]].sum())
        taken += float(copies[order[whole]]) * (capacity - before) / real_weights[order[whole]]
        return _Point(mu, value, count - taken, multiplier)

    low, high = at(0.0), at(sign * float((profits // copies).max() + 1))
    if sign < 0:
        low, high = high, low
    if not low.slope < 0 < high.slope:
        return
    for _ in range(_CUTS):
        if is_over():
            return
        mu = (high.value - high.slope * high.mu - low.value + low.slope * low.mu) / (low.slope - high.slope)
        cut = low.value + low.slope * (mu - low.mu)
        middle = at(mu)
        if middle.value - cut < 1e-3 or not low.mu < mu < high.mu:
            break
        low, high = (middle, high) if middle.slope < 0 else (low, middle)
    largest = int(weights.max())
    for denominator in (*_DENOMINATORS, largest):
        a, m = (Fraction(x).limit_denominator(denominator) for x in (middle.capacity_multiplier, middle.mu))
        scale = math.lcm(a.denominator, m.denominator)
        if scale <= 2 * max(largest, 1000) and sign * m >= 0:
            yield scale, int(a * scale), int(m * scale)


def exchange(
    profits: NDArray[np.int64],
    weights: NDArray[np.int64],
    capacity: int,
    solution: NDArray[np.int64],
    gains: NDArray[Any],
    candidates: int = 160,
) -> NDArray[np.int64]:
    """The best solution that differs in up to two items taken out and up to two put in, as sorted indices.

    Only the ``candidates`` items inside, and as many outside, whose reduced profits are nearest to zero are looked at;
    ties are broken at random, always in the same way, so that equal reduced profits give different weights.
    """
    inside = np.zeros(len(weights), bool)
    inside[solution] = True
    shuffled = np.random.Generator(np.random.PCG64(len(weights))).permutation(len(weights))
    distance = np.abs(gains.astype(np.float64))
    chosen = inside[shuffled]
    sides = []
    for items in (shuffled[chosen], shuffled[~chosen]):
        if len(items) > candidates:
            items = items[np.argpartition(distance[items], candidates - 1)[:candidates]]
        sides.append(_Moves.up_to_two(items, profits, weights))
    out, into = sides
    residual = capacity - int(weights[solution].sum())
    order = np.argsort(into.weights)
    best_so_far = np.maximum.accumulate(into.profits[order])
    better = np.flatnonzero(np.diff(best_so_far, prepend=-1))  # moves of less weight bring less
    weight, profit = into.weights[order[better]], best_so_far[better]
    last = np.searchsorted(weight, out.weights + residual, side="right") - 1
    total = profit[last] - out.profits  # nothing in for nothing out is among the moves, so last >= 0
    leaving = int(np.argmax(total))
    if total[leaving] <= 0:
        return np.sort(solution)
    found = last[leaving]
    entering = int(np.argmax((into.weights == weight[found]) & (into.profits == profit[found])))
    inside[out.items(leaving)] = False
    inside[into.items(entering)] = True
    return np.flatnonzero(inside).astype(np.int64)


@functools.lru_cache(maxsize=8)
def _pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The places of both items of each pair among so many."""
    first, second = np.triu_indices(count, 1)
    return first, second


@dataclass(frozen=True)
class _Moves:
    """Sets of no, one or two items: ``first`` and ``second`` are indices, or -1; weights and profits are sums."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    weights: NDArray[np.int64]
    profits: NDArray[np.int64]

    @classmethod
    def up_to_two(cls, items: NDArray[np.int64], profits: NDArray[np.int64], weights: NDArray[np.int64]) -> _Moves:
        a, b = _pairs(len(items))
        none = np.full(1 + len(items), -1, np.int64)
        first = np.concatenate([none[:1], items, items[a]])
        second = np.concatenate([none, items[b]])
        own = (values[items] for values in (weights, profits))
        return cls(first, second, *(np.concatenate([none[:1] + 1, values, values[a] + values[b]]) for values in own))

    def items(self, index: int) -> list[int]:
        """The items of one set."""
        return [int(item) for item in (self.first[index], self.second[index]) if item >= 0]
