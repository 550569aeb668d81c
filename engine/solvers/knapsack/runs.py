"""Cutting a sequence into runs that are as long as a limit allows."""

from __future__ import annotations

import bisect

import numpy as np
from numpy.typing import NDArray

__all__ = ["cut_into_runs"]


def cut_into_runs(sizes: NDArray[np.int64], most: int, most_count: int | None = None) -> NDArray[np.int64]:
    """Where runs of consecutive entries begin, and the end of the last: each takes entries while its limits allow.

    ``sizes`` of shape (n,): positive; ``most``: the most that the sizes of a run may add up to; a single entry may be
    larger; ``most_count``: the most entries of a run.

    Returns
    -------
    ndarray of int64, shape (runs + 1,)
    """
    sums = np.cumsum(sizes).tolist()
    cuts = [0]
    while cuts[-1] < len(sizes):
        begin = cuts[-1]
        last = len(sizes) if most_count is None else min(len(sizes), begin + most_count)
        before = sums[begin - 1] if begin else 0
        cuts.append(max(bisect.bisect_right(sums, before + most, begin, last), begin + 1))
    return np.array(cuts, np.int64)
