"""Lower bounds on all schedules of a flowshop, for instances of any size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..problems.flowshop_tree import FlowshopTree

__all__ = ["flowshop_bound"]

_CHUNK = 64


def flowshop_bound(times: NDArray[np.int64], expired: Callable[[], bool] = lambda: False) -> int:
    """The largest of three bounds: one machine, two machines, and one machine between a first and a last job.

    The last is min over a, b of max over i of h_ia + P_i + t_ib: a before machine i, all jobs on it, b behind it.
    """
    machines, jobs = times.shape
    tree = FlowshopTree(times, "one_machine", "forward")
    found = tree.lower_bound()
    if jobs > 1:
        done = np.cumsum(times, axis=0)
        heads, tails = (done - times).T, (done[-1] - done).T
        least = np.iinfo(np.int64).max
        for begin in range(0, jobs, _CHUNK):
            if expired():
                return found
            rows = np.arange(begin, min(begin + _CHUNK, jobs))
            bounds = np.zeros((len(rows), jobs), np.int64)
            for machine in range(machines):
                ends = heads[rows, machine, None] + (tree.totals[machine] + tails[None, :, machine])
                np.maximum(bounds, ends, out=bounds)
            bounds[np.arange(len(rows)), rows] = least
            least = min(least, int(bounds.min()))
        found = max(found, least)
    if machines > 1 and not expired():
        none = np.zeros((1, 0), np.int64)
        found = max(found, int(FlowshopTree(times, "two_machine", "forward").bounds(none, none)[0]))
    return found
