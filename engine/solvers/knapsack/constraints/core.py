"""What bounds leave of a problem with several constraints, in exact integers.

With multipliers y >= 0, ``y b + sum over items of max(0, p - y w)`` bounds the optimum, and an item is decided if the
bound less the size of its reduced profit does not exceed the best known profit. Multipliers are real numbers of any
origin, rounded to fractions with one denominator.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..bounds import Relaxation
from .problem import MultidimensionalKnapsack

_MOST_SUM = 2.0**61


@dataclass(frozen=True)
class Core:
    """The items that are not decided."""

    items: NDArray[np.int64]  # indices in the problem
    profits: NDArray[np.int64]  # at least 1
    weights: NDArray[np.int64]  # (m, n); each item fits alone
    capacities: NDArray[np.int64]  # what the items taken leave
    taken: NDArray[np.int64]  # items that every better solution takes
    base: int  # their profit

    @classmethod
    def of(cls, problem: MultidimensionalKnapsack) -> Core:
        """All items that fit and bring profit."""
        everything = np.arange(problem.n, dtype=np.int64)
        capacities = np.array(problem.capacities, np.int64)
        core = cls(everything, problem.profits, problem.weights, capacities, everything[:0], 0)
        return core.decide(np.zeros(problem.n, bool), problem.profits == 0)

    def __len__(self) -> int:
        return len(self.items)

    def decide(self, take: NDArray[np.bool_], leave: NDArray[np.bool_]) -> Core:
        """Take and leave items, and leave those that then do not fit; capacities below zero leave no item."""
        capacities = self.capacities - self.weights[:, take].sum(axis=1)
        kept = ~(take | leave) & (self.weights <= capacities[:, None]).all(axis=0)
        return Core(
            self.items[kept],
            self.profits[kept],
            self.weights[:, kept],
            capacities,
            np.concatenate([self.taken, self.items[take]]),
            self.base + int(self.profits[take].sum()),
        )

    @property
    def all_fit(self) -> bool:
        """Whether the items fit together."""
        return bool((self.weights.sum(axis=1) <= self.capacities).all())

    def chosen(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The items taken and some of the others: sorted indices in the problem."""
        return np.sort(np.concatenate([self.taken, self.items[mask]]))

    def greedy(self) -> NDArray[np.bool_]:
        """What fits, in the order of profit for the share of the capacities that an item takes."""
        shares = (self.weights / np.maximum(self.capacities, 1)[:, None]).sum(axis=0)
        left, mask = self.capacities.copy(), np.zeros(len(self), bool)
        for item in np.argsort(-self.profits / np.maximum(shares, 1e-100), kind="stable").tolist():
            if (self.weights[:, item] <= left).all():
                left -= self.weights[:, item]
                mask[item] = True
        return mask

    def relax(self, multipliers: NDArray[np.float64]) -> Relaxation:
        """The bound with multipliers, shape (m,); negative ones count as 0."""
        y = np.maximum(multipliers, 0.0)
        largest = float(self.profits.sum()) + float(y @ (self.capacities + self.weights.sum(axis=1)))
        scale = int(min(2.0**20, max(1.0, _MOST_SUM / max(largest, 1.0))))
        if largest >= _MOST_SUM:
            y = np.zeros(len(y))
        exact = np.rint(y * scale).astype(np.int64)
        gains = scale * self.profits - exact @ self.weights
        return Relaxation(int(exact @ self.capacities) + int(np.maximum(gains, 0).sum()), scale, gains)

    def bound(self, relaxation: Relaxation) -> int:
        """The bound on solutions of the problem that take what is taken and leave what is left."""
        return self.base + relaxation.bound

    def shrink(self, relaxation: Relaxation, objective: int) -> Core:
        """Without the items that no better solution takes, or leaves."""
        least = relaxation.scale * (objective - self.base + 1)
        settled = relaxation.scaled_bound - np.abs(relaxation.gains) < least
        return self.decide(settled & (relaxation.gains > 0), settled & (relaxation.gains <= 0))

    def numbers(self, relaxation: Relaxation, objective: int) -> list[tuple[int, int]]:
        """How many of the items a better solution may take: bounds and numbers, the greatest bound first."""
        ordered = np.sort(relaxation.gains)[::-1]
        constant = relaxation.scaled_bound - int(np.maximum(relaxation.gains, 0).sum())
        bounds = self.base + (constant + np.concatenate([[0], np.cumsum(ordered)])) // relaxation.scale
        able = np.flatnonzero(bounds > objective)
        middle = len(able) / 2  # neighbours of the relaxation's own number have equal bounds
        order = sorted(range(len(able)), key=lambda place: (-int(bounds[able[place]]), abs(place - middle)))
        return [(int(bounds[able[place]]), int(able[place])) for place in order]

    @cached_property
    def divisors(self) -> tuple[int, NDArray[np.int64]]:
        """Common divisors of the profits, and of each row of weights."""
        rows = np.maximum(1, np.gcd.reduce(self.weights, axis=1))
        return max(1, int(np.gcd.reduce(self.profits))), rows
