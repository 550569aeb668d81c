"""Problems with equal items as 0/1 problems of fewer items: copies in packs of 1, 2, 4, ... and a rest.

After Martello and Toth, *Knapsack Problems* (1990), section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .checks import INT64_MAX, require_host_memory
from .problem import Knapsack

__all__ = ["ZeroOne"]

_MOST_CODES = 1 << 22  # pairs of profit and weight that are counted instead of sorted


@dataclass(frozen=True)
class ZeroOne:
    """A 0/1 problem that stands for another one.

    Attributes
    ----------
    problem : Knapsack
        Each of its items is a pack of copies of one item, taken or not.
    item, copies : ndarray of int64, shape (problem.n,)
        Of which item of the original problem, and how many. Of equal items that were merged, the first.
    kind : ndarray of int64, shape (n,), or None
        The first item that equals each item of the original problem, if equal items were merged.
    """

    problem: Knapsack
    item: NDArray[np.int64]
    copies: NDArray[np.int64]
    kind: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, problem: Knapsack, merge: bool = False) -> ZeroOne:
        """The packs of every item; the problem itself if each item can be taken once.

        Parameters
        ----------
        problem : Knapsack
        merge : bool
            Whether equal items of a 0/1 problem are packed together, where at most half as many packs are left.
        """
        everything = np.arange(problem.n, dtype=np.int64)
        if problem.counts is not None:
            return cls._packed(problem, everything, problem.counts)
        single = cls(problem, everything, np.ones(problem.n, np.int64))
        if not merge or problem.n < 2:
            return single
        first, kind, counts = _kinds(problem.profits, problem.weights)
        if 2 * len(first) > problem.n:
            return single
        packed = cls._packed(problem, first, counts, first[kind])
        return packed if 2 * packed.problem.n <= problem.n else single

    @classmethod
    def _packed(
        cls,
        problem: Knapsack,
        items: NDArray[np.int64],
        counts: NDArray[np.int64],
        kind: NDArray[np.int64] | None = None,
    ) -> ZeroOne:
        """The packs of some items, each of which can be taken so often."""
        left = np.minimum(counts, problem.capacity // problem.weights[items])
        places, copies = [np.zeros(0, np.int64)], [left[:0]]
        pack = 1
        while (left > 0).any():
            taken = np.minimum(pack, left)
            places.append(np.flatnonzero(taken).astype(np.int64))
            copies.append(taken[places[-1]])
            left = left - taken
            pack *= 2
        item, count = items[np.concatenate(places)], np.concatenate(copies)
        packs = Knapsack(problem.profits[item] * count, problem.weights[item] * count, problem.capacity, problem.name)
        packs.scale = problem.scale
        return cls(packs, item, count, kind)

    def require_listable(self, packs: NDArray[np.int64]) -> None:
        """Refuse a solution of more items than a list can have; items of large counts may be taken that often.

        Raises
        ------
        engine.errors.OptionError
            If the host's memory does not hold the list.
        """
        count = sum(self.copies[packs].tolist())
        require_host_memory(24 * count, f"a list of the {count:,} items of a solution", "set items = false")

    @cached_property
    def _members(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The items of the original problem, equal ones together and ascending, and their sorted kinds."""
        assert self.kind is not None
        order = np.argsort(self.kind, kind="stable").astype(np.int64)
        return order, self.kind[order]

    def packs(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """Packs that make up a feasible solution of the original problem; the inverse of :meth:`original`."""
        copies = np.bincount(
            items if self.kind is None else self.kind[items], minlength=int(self.item.max(initial=-1)) + 1
        )
        taken = []
        for pack in range(len(self.item) - 1, -1, -1):  # of an item the rest comes first, then powers of two descending
            item = self.item[pack]
            if self.copies[pack] <= copies[item]:
                copies[item] -= self.copies[pack]
                taken.append(pack)
        return np.sort(np.array(taken, np.int64))

    def original(self, packs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The items of the original problem in some packs: ascending, each as often as it is taken.

        Of equal items that were merged, those of the lowest numbers are taken.
        """
        self.require_listable(packs)
        if self.kind is None:
            repeated: NDArray[np.int64] = np.sort(np.repeat(self.item[packs], self.copies[packs]))
            return repeated
        taken = np.bincount(self.item[packs], weights=self.copies[packs], minlength=len(self.kind)).astype(np.int64)
        order, kinds = self._members
        rank = np.arange(len(order)) - np.searchsorted(kinds, kinds)
        return np.sort(order[rank < taken[kinds]])


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
