"""Any problem as a 0/1 problem: copies in packs of 1, 2, 4, ... and a rest (Martello and Toth 1990, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .checks import INT64_MAX, require_host_memory
from .problem import Knapsack

_MOST_CODES = 1 << 22  # pairs of profit and weight that are counted instead of sorted


@dataclass(frozen=True)
class ZeroOne:
    """A 0/1 problem that stands for another one."""

    problem: Knapsack  # each of its items is a pack of copies of one item, taken or not
    item: NDArray[np.int64]  # of which item of the original problem; of equal items that were merged, the first
    copies: NDArray[np.int64]
    kind: NDArray[np.int64] | None  # if equal items were merged: the first that equals each original item
    divisor: int  # the greatest common divisor of all weights that fit, by which the problem's are divided
    free: NDArray[np.int64]  # items without weight, as often as they can be taken: they are in every solution
    free_profit: int

    @classmethod
    def of(cls, problem: Knapsack, merge: bool = False) -> ZeroOne:
        """The packs of every item; with ``merge``, of equal items together if at most half as many packs are left."""
        items = np.flatnonzero(problem.weights > 0).astype(np.int64)
        if problem.counts is not None:
            return cls._packed(problem, items, problem.counts[items])
        if merge and len(items) > 1:
            first, kind, counts = _kinds(problem.profits[items], problem.weights[items])
            if 2 * len(first) <= len(items):
                kinds = np.arange(problem.n, dtype=np.int64)
                kinds[items] = items[first][kind]
                packed = cls._packed(problem, items[first], counts, kinds)
                if 2 * packed.problem.n <= len(items):
                    return packed
        return cls._packed(problem, items, None)

    @classmethod
    def _packed(
        cls,
        problem: Knapsack,
        items: NDArray[np.int64],
        counts: NDArray[np.int64] | None,
        kind: NDArray[np.int64] | None = None,
    ) -> ZeroOne:
        """The packs of some items, each of which can be taken so often (None: once)."""
        light = np.flatnonzero((problem.weights == 0) & (problem.profits > 0)).astype(np.int64)
        free, free_profit = light, int(problem.profits[light].sum())
        if problem.counts is not None and len(light):
            taken = problem.counts[light]
            require_host_memory(8 * int(taken.sum()), "a list of the items without weight", "lower their counts")
            free, free_profit = np.repeat(light, taken), int((problem.profits[light] * taken).sum())
        divisor = max(1, int(np.gcd.reduce(problem.weights[items[problem.weights[items] <= problem.capacity]])))
        if counts is None:
            if divisor > 1:  # the others need not be multiples of it
                items = items[problem.weights[items] <= problem.capacity]
            item, copies = items, np.ones(len(items), np.int64)
            if divisor == 1 and len(items) == problem.n:
                return cls(problem, item, copies, kind, 1, free, free_profit)
        else:
            places, copies = _split(np.minimum(counts, problem.capacity // problem.weights[items]))
            item = items[places]
        weights = problem.weights[item] // divisor * copies
        packs = Knapsack(problem.profits[item] * copies, weights, problem.capacity // divisor, problem.name)
        packs.scale = problem.scale
        return cls(packs, item, copies, kind, divisor, free, free_profit)

    def require_listable(self, packs: NDArray[np.int64]) -> None:
        """Refuse a solution of more items than a list can have; items of large counts may be taken that often."""
        count = sum(self.copies[packs].tolist())
        require_host_memory(24 * count, f"a list of the {count:,} items of a solution", "set items = false")

    @cached_property
    def _members(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The items of the original problem, equal ones together and ascending, and their sorted kinds."""
        assert self.kind is not None
        order = np.argsort(self.kind, kind="stable").astype(np.int64)
        return order, self.kind[order]

    def decided(self, n: int, packs: NDArray[np.int64]) -> int:
        """How many of the n items of the original problem have none among some packs."""
        undecided = np.zeros(n, bool)
        undecided[self.item[packs]] = True
        return n - int(np.count_nonzero(undecided if self.kind is None else undecided[self.kind]))

    def copies_of(self, packs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Copies of each item (or kind of equal items) in some packs, shape (greatest item + 1,)."""
        size = int(self.item.max(initial=-1)) + 1
        return np.bincount(self.item[packs], weights=self.copies[packs], minlength=size).astype(np.int64)

    def packs(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """Packs that make up a feasible solution of the original problem; the inverse of :meth:`original`."""
        kinds = items if self.kind is None else self.kind[items]
        return self.packs_of(np.bincount(kinds, minlength=int(self.item.max(initial=-1)) + 1))

    def packs_of(self, copies: NDArray[np.int64]) -> NDArray[np.int64]:
        """Packs with so many copies of each item (or kind of equal items), shape (n,)."""
        left, taken = copies.copy(), []
        for pack in range(len(self.item) - 1, -1, -1):  # of an item the rest comes first, then powers of two descending
            item = self.item[pack]
            if self.copies[pack] <= left[item]:
                left[item] -= self.copies[pack]
                taken.append(pack)
        return np.sort(np.array(taken, np.int64))

    def original(self, packs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The items in some packs, ascending, each as often as it is taken; of merged items those of least number."""
        self.require_listable(packs)
        if self.kind is None:
            repeated = np.repeat(self.item[packs], self.copies[packs])
            return np.asarray(np.sort(np.concatenate([repeated, self.free])))
        taken = np.zeros(len(self.kind), np.int64)
        taken[: int(self.item.max(initial=-1)) + 1] = self.copies_of(packs)
        order, kinds = self._members
        rank = np.arange(len(order)) - np.searchsorted(kinds, kinds)
        return np.sort(np.concatenate([order[rank < taken[kinds]], self.free]))


def _split(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Packs of which any number of copies up to each count can be made: whose copies, and how many."""
    left = counts.copy()
    places, copies = [np.zeros(0, np.int64)], [left[:0]]
    pack = 1
    while (left > 0).any():
        taken = np.minimum(pack, left)
        places.append(np.flatnonzero(taken).astype(np.int64))
        copies.append(taken[places[-1]])
        left = left - taken
        pack *= 2
    return np.concatenate(places), np.concatenate(copies)


def _kinds(
    profits: NDArray[np.int64], weights: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The first item of each pair of profit and weight, the number of each item's pair, and how many items have it."""
    base = int(profits.max()) + 1
    codes = base * (int(weights.max()) + 1)
    if codes > INT64_MAX:
        pairs = np.stack([profits, weights], axis=1)
        _, first, kind, counts = np.unique(pairs, axis=0, return_index=True, return_inverse=True, return_counts=True)
        return first.astype(np.int64), kind.reshape(-1), counts.astype(np.int64)
    code = weights * base + profits
    if codes > _MOST_CODES:
        _, first, kind, counts = np.unique(code, return_index=True, return_inverse=True, return_counts=True)
        return first.astype(np.int64), kind, counts.astype(np.int64)
    count = np.bincount(code)
    pairs = np.flatnonzero(count)
    place = np.zeros(len(count), np.int64)
    place[pairs] = np.arange(len(pairs))
    kind = place[code]
    first = np.zeros(len(pairs), np.int64)
    first[kind[::-1]] = np.arange(len(code))[::-1]  # the last assignment is that of the first item
    return first, kind, count[pairs].astype(np.int64)
