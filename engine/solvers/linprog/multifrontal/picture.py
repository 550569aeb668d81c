"""What a factor of fronts looks like: its entries counted in blocks of rows and columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..sparse.factors import PICTURED, Picture
from .symbolic import Fronts

__all__ = ["picture_of_fronts"]

Index = NDArray[np.int64]


def picture_of_fronts(fronts: Fronts) -> Picture:
    """The picture of a factor by fronts, zeros of merged fronts included.

    Returns
    -------
    counts : ndarray of int32, shape (k, k)
        Entries in each block of rows and columns, in the order of elimination.
    fronts : ndarray of int64, shape (count, 3)
        First pivot, pivots, and rows of each front.
    """
    m, count = fronts.order.size, fronts.count
    k = min(PICTURED, m)
    cuts = -(-np.arange(k + 1) * m // max(1, k))  # where blocks begin: place p is in block p k // m
    table = np.column_stack([fronts.first, fronts.widths, fronts.sizes])
    if not m:
        return np.zeros((0, 0), np.int32), table
    # the rows below pivots, those of a front in one block of rows together; each has the front's pivots as columns
    front = np.repeat(np.arange(count), np.diff(fronts.starts))
    keys, rows = np.unique(front * k + fronts.below * k // m, return_counts=True)
    front, block = np.divmod(keys, k)
    # and the rows of pivots, each with the columns up to its own
    place = np.arange(m)
    own = np.repeat(fronts.first, fronts.widths)
    begins = np.concatenate([fronts.first[front], own])
    ends = np.concatenate([fronts.first[front] + fronts.widths[front], place + 1])
    blocks = np.concatenate([block, place * k // m])
    return _counted(begins, ends, blocks, np.concatenate([rows, np.ones(m, np.int64)]), cuts), table


def _counted(begins: Index, ends: Index, blocks: Index, rows: Index, cuts: Index) -> NDArray[np.int32]:
    """Entries in each block, from intervals of columns of so many rows in a block of rows."""
    k, m = cuts.size - 1, int(cuts[-1])
    counts = np.zeros(k * k)
    first, last = begins * k // m, (ends - 1) * k // m
    while first.size:
        columns = np.minimum(ends, cuts[first + 1]) - np.maximum(begins, cuts[first])
        counts += np.bincount(blocks * k + first, weights=columns * rows, minlength=k * k)
        first = first + 1
        going = first <= last
        first, last, begins, ends, blocks, rows = (a[going] for a in (first, last, begins, ends, blocks, rows))
    return counts.reshape(k, k).astype(np.int32)
