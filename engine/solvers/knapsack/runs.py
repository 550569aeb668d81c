"""Cutting a sequence into runs that are as long as a limit allows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["cut_into_runs"]


def cut_into_runs(sizes: NDArray[np.int64], most: int, most_count: int | None = None) -> NDArray[np.int64]:
    """Where runs of consecutive entries begin, and the end of the last: each takes entries while its limits allow.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n,)
        Positive.
    most : int
        The most that the sizes of a run may add up to; a single entry may be larger.
    most_count : int, optional
        The most entries of a run.

    Returns
    -------
    ndarray of int64, shape (runs + 1,)
    """
    sums = np.cumsum(sizes)
    cuts = [0]
    while cuts[-1] < len(sizes):
        before = int(sums[cuts[-1] - 1]) if cuts[-1] else 0
        end = max(int(np.searchsorted(sums, before + most, side="right")), cuts[-1] + 1)
        cuts.append(min(end, len(sizes) if most_count is None else cuts[-1] + most_count))
    return np.array(cuts, np.int64)
