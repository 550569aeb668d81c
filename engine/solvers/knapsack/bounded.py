"""Problems whose items may be taken several times, as 0/1 problems: copies in packs of 1, 2, 4, ... and a rest.

After Martello and Toth, *Knapsack Problems* (1990), section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .checks import require_host_memory
from .problem import Knapsack

__all__ = ["ZeroOne"]


@dataclass(frozen=True)
class ZeroOne:
    """A 0/1 problem that stands for another one.

    Attributes
    ----------
    problem : Knapsack
        Each of its items is a pack of copies of one item, taken or not.
    item, copies : ndarray of int64, shape (problem.n,)
        Of which item of the original problem, and how many.
    """

    problem: Knapsack
    item: NDArray[np.int64]
    copies: NDArray[np.int64]

    @classmethod
    def of(cls, problem: Knapsack) -> ZeroOne:
        """The packs of every item; the problem itself if each item can be taken once."""
        everything = np.arange(problem.n, dtype=np.int64)
        if problem.counts is None:
            return cls(problem, everything, np.ones(problem.n, np.int64))
        left = np.minimum(problem.counts, problem.capacity // problem.weights)
        items, copies = [everything[:0]], [left[:0]]
        pack = 1
        while (left > 0).any():
            taken = np.minimum(pack, left)
            items.append(np.flatnonzero(taken).astype(np.int64))
            copies.append(taken[items[-1]])
            left = left - taken
            pack *= 2
        item, count = np.concatenate(items), np.concatenate(copies)
        packs = Knapsack(problem.profits[item] * count, problem.weights[item] * count, problem.capacity, problem.name)
        packs.scale = problem.scale
        return cls(packs, item, count)

    def require_listable(self, packs: NDArray[np.int64]) -> None:
        """Refuse a solution of more items than a list can have; items of large counts may be taken that often.

        Raises
        ------
        engine.errors.OptionError
            If the host's memory does not hold the list.
        """
        count = sum(self.copies[packs].tolist())
        require_host_memory(24 * count, f"a list of the {count:,} items of a solution", "set items = false")

    def packs(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """Packs that make up a feasible solution of the original problem; the inverse of :meth:`original`."""
        copies = np.bincount(items, minlength=int(self.item.max(initial=-1)) + 1)
        taken = []
        for pack in range(len(self.item) - 1, -1, -1):  # of an item the rest comes first, then powers of two descending
            item = self.item[pack]
            if self.copies[pack] <= copies[item]:
                copies[item] -= self.copies[pack]
                taken.append(pack)
        return np.sort(np.array(taken, np.int64))

    def original(self, packs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The items of the original problem in some packs: ascending, each as often as it is taken."""
        self.require_listable(packs)
        repeated: NDArray[np.int64] = np.sort(np.repeat(self.item[packs], self.copies[packs]))
        return repeated
