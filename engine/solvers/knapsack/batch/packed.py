"""Many small knapsack problems as a few arrays, and back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....errors import AuditError
from ..problem import Knapsack
from ..programs import MOST_BATCH_ITEMS

__all__ = ["MOST_CAPACITY", "MOST_ITEMS", "Packed"]

MOST_ITEMS = MOST_BATCH_ITEMS
"""The most items (packs of copies, in a bounded problem) of a problem that is solved in a batch."""

MOST_CAPACITY = 1 << 18
"""The greatest capacity of such a problem, after it was lowered to the weight of all its items."""

_MOST_PROFIT = 1 << 30


@dataclass(frozen=True)
class Packed:
    """Problems without the items that no solution needs: those without profit, and those that do not fit."""

    indices: NDArray[np.int64]  # (m,): where each problem stands among those given; the others do not suit a batch
    starts: NDArray[np.int32]  # (m + 1,): its first item in the arrays of items
    items: NDArray[np.int32]  # (k,): the number of each item in its problem
    weights: NDArray[np.int32]
    profits: NDArray[np.int32]
    capacities: NDArray[np.int32]  # (m,): at most the weight of all items

    def __len__(self) -> int:
        return len(self.capacities)

    @classmethod
    def of(cls, problems: Sequence[Knapsack]) -> Packed:
        """Pack those of the problems that are small enough; each item of a problem can be taken once."""
        profits = np.concatenate([problem.profits for problem in problems])
        weights = np.concatenate([problem.weights for problem in problems])
        sizes = np.array([problem.n for problem in problems], np.int64)
        capacities = np.array([problem.capacity for problem in problems], np.int64)
        kept = np.flatnonzero((profits > 0) & (weights <= np.repeat(capacities, sizes)))
        owner = np.repeat(np.arange(len(problems)), sizes)[kept]
        items, weights, profits = kept - (np.cumsum(sizes) - sizes)[owner], weights[kept], profits[kept]
        counts = np.bincount(owner, minlength=len(problems))
        total_weight, total_profit = (
            np.bincount(owner, weights=values, minlength=len(problems)) for values in (weights, profits)
        )
        capacities = np.minimum(capacities, np.minimum(total_weight, 2.0**62).astype(np.int64))
        suited = (counts <= MOST_ITEMS) & (capacities <= MOST_CAPACITY) & (total_profit < _MOST_PROFIT)
        if not suited.all():
            items, weights, profits = (values[suited[owner]] for values in (items, weights, profits))
        starts = np.concatenate([[0], np.cumsum(counts[suited])])
        return cls(
            np.flatnonzero(suited).astype(np.int64),
            starts.astype(np.int32),
            items.astype(np.int32),
            weights.astype(np.int32),
            profits.astype(np.int32),
            capacities[suited].astype(np.int32),
        )

    def part(self, first: int, end: int) -> Packed:
        """The problems ``first`` .. ``end - 1``."""
        a, b = int(self.starts[first]), int(self.starts[end])
        return Packed(
            self.indices[first:end],
            self.starts[first : end + 1] - self.starts[first],
            self.items[a:b],
            self.weights[a:b],
            self.profits[a:b],
            self.capacities[first:end],
        )

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Items of each problem, shape (m,)."""
        return np.diff(self.starts).astype(np.int64)

    @property
    def work(self) -> NDArray[np.int64]:
        """Cells of each problem's whole table, shape (m,): more than are computed."""
        return (self.sizes + 1) * (self.capacities.astype(np.int64) + 64)

    def chosen_items(self, chosen: NDArray[np.bool_], profits: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The items of each problem's solution, after their sums were checked."""
        places = np.flatnonzero(chosen)
        ends = np.searchsorted(places, self.starts)
        sums = [
            np.concatenate([[0], np.cumsum(values[places], dtype=np.int64)]) for values in (self.profits, self.weights)
        ]
        found, weight = (values[ends[1:]] - values[ends[:-1]] for values in sums)
        wrong = np.flatnonzero((found != profits) | (weight > self.capacities))
        if len(wrong):
            at = int(wrong[0])
            raise AuditError(
                f"problem {self.indices[at]}: the items found have profit {found[at]} and weight {weight[at]}, but "
                f"profit {profits[at]} within {self.capacities[at]} was computed"
            )
        items = self.items[places].astype(np.int64)
        cuts = ends.tolist()
        return [items[a:b] for a, b in itertools.pairwise(cuts)]
