"""Bounds, a greedy solution, and fixing items before the dynamic program: all on the host, in exact integers.

After Martello and Toth, *Knapsack Problems* (1990), chapter 2: Dantzig's bound (2.2.1) in its Lagrangian form (2.2.2),
and the reduction of Ingargiola and Korsh with bounds in O(n) as of Dembo and Hammer (2.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Relaxation", "by_efficiency", "greedy"]


def by_efficiency(profits: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices by descending profit per weight, as floating point sees it; equal efficiencies by ascending weight."""
    order: NDArray[np.int64] = np.lexsort((weights, -profits / weights)).astype(np.int64)
    return order


def greedy(
    profits: NDArray[np.int64], weights: NDArray[np.int64], capacity: int, order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Indices of a good feasible solution: in ``order`` of efficiency, whatever still fits; or the best single item."""
    sums = np.cumsum(weights[order])
    whole = int(np.searchsorted(sums, capacity, side="right"))
    chosen: list[int] = []
    room = capacity - (int(sums[whole - 1]) if whole else 0)
    rest = order[whole:]
    while len(fitting := np.flatnonzero(weights[rest] <= room)):
        item = int(rest[fitting[0]])
        chosen.append(item)
        room -= int(weights[item])
        rest = rest[fitting[0] + 1 :]
    solution = np.sort(np.concatenate([order[:whole], np.array(chosen, dtype=np.int64)]))
    alone = np.flatnonzero(weights <= capacity)
    if len(alone):
        best = int(alone[np.argmax(profits[alone])])
        if int(profits[best]) > int(profits[solution].sum()):
            solution = np.array([best], dtype=np.int64)
    return solution


@dataclass(frozen=True)
class Relaxation:
    """The Lagrangian relaxation at the break item's efficiency p / w, scaled by w to stay in integers.

    For any p / w, ``(p C + sum_j max(0, p_j w - w_j p)) / w`` bounds the optimum; at the break item's it is Dantzig's
    bound. Taking an item against the sign of its ``gains`` costs the bound that gain.

    Attributes
    ----------
    scaled_bound, scale : int
        The bound is ``scaled_bound / scale``, rounded down.
    gains : ndarray of int64 (or of Python integers where they would overflow), shape (n,)
        ``p_j w - w_j p``.
    """

    scaled_bound: int
    scale: int
    gains: NDArray[Any]

    @classmethod
    def at_break_item(
        cls, profits: NDArray[np.int64], weights: NDArray[np.int64], capacity: int, order: NDArray[np.int64]
    ) -> Relaxation:
        """Relax a problem whose items weigh more than the capacity together.

        Parameters
        ----------
        profits, weights : ndarray of int64, shape (n,)
        capacity : int
        order : ndarray of int64, shape (n,)
            From :func:`by_efficiency`. The bound is right in any order, and Dantzig's in this.
        """
        break_item = int(order[np.searchsorted(np.cumsum(weights[order]), capacity, side="right")])
        p, w = int(profits[break_item]), int(weights[break_item])
        overflows = int(profits.max()) * int(weights.max()) * len(weights) >= 2**62
        gains: NDArray[Any] = (
            profits.astype(object) * w - weights.astype(object) * p if overflows else profits * w - weights * p
        )
        return cls(p * capacity + int(np.maximum(gains, 0).sum()), w, gains)

    @property
    def bound(self) -> int:
        """Upper bound on the optimum."""
        return self.scaled_bound // self.scale

    def fixed(self, objective: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Items that every solution better than ``objective`` takes, and those that it leaves."""
        least = self.scale * (objective + 1)
        settled = np.asarray(self.scaled_bound - abs(self.gains) < least, dtype=bool)
        return settled & np.asarray(self.gains > 0), settled & np.asarray(self.gains < 0)
