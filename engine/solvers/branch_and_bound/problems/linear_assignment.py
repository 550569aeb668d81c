"""Linear assignment problems as bounds: the reference of ``kernels/branch_and_bound/linear_assignment.mako``."""

import numpy as np
from numpy.typing import NDArray

LARGEST_SUM = 2**28
"""Costs of whole solutions below this leave the kernels' 32-bit duals room for paths."""


def assignment(costs: NDArray[np.int64]) -> int:
    """The least cost of an assignment of rows to columns, shape (n, n)."""
    from scipy.optimize import linear_sum_assignment  # slow to import, and needed by searches alone

    return int(costs[linear_sum_assignment(costs)].sum())


def costs_of_columns(costs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The least cost of an assignment in which row 0 takes each column, shape (n,)."""
    rest = [assignment(np.delete(costs[1:], column, axis=1)) for column in range(len(costs))]
    return np.asarray(costs[0] + np.array(rest, np.int64))
