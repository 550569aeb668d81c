"""Cutting a sequence into runs that are as long as a limit allows."""

from __future__ import annotations

import bisect

import numpy as np
from numpy.typing import NDArray

__all__ = ["cut_into_runs"]


def cut_into_runs(sizes: NDArray[np.int64], most: int, most_count: int | None = None) -> NDArray[np.int64]:
    """Where runs of entries begin, and the end of the last: their sum is at most ``most``, unless they are single."""
    sums = np.cumsum(sizes).tolist()
    cuts = [0]
    while cuts[-1] < len(sizes):
        begin = cuts[-1]
        last = len(sizes) if most_count is None else min(len(sizes), begin + most_count)
        before = sums[begin - 1] if begin else 0
        cuts.append(max(bisect.bisect_right(sums, before + most, begin, last), begin + 1))
    return np.array(cuts, np.int64)
