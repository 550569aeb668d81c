"""Columns of a sparse matrix with many entries, left out of its normal equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DenseColumns"]

Vector = NDArray[np.float64]

_TIMES_MEAN = 40  # a column of more than so many times the mean number of entries, and
_ENTRIES = 200  # of more entries than this, is dense


class DenseColumns:
    """The dense columns of A, taken into account by the Sherman-Morrison-Woodbury formula.

    Parameters
    ----------
    columns : sparse array, shape (m, N)
        A in compressed columns.

    Attributes
    ----------
    kept : sparse array, shape (m, N)
        A with its dense columns empty.
    count : int
        Dense columns.
    """

    def __init__(self, columns: Any) -> None:
        count = columns.shape[1]
        entries = np.diff(columns.indptr)
        mean = max(1.0, float(entries.mean())) if count else 1.0
        dense = (entries > _TIMES_MEAN * mean) & (entries > _ENTRIES)
        self._which = np.flatnonzero(dense)
        self.count = self._which.size
        self._columns = np.asarray(columns[:, self._which].todense(), np.float64)
        self.kept = columns.copy()
        self.kept.data[np.repeat(dense, entries)] = 0.0
        self.kept.eliminate_zeros()
        self._solved = np.zeros((columns.shape[0], 0))
        self._small: Vector = np.zeros((0, 0))

    def prepare(self, theta: Vector, solve: Callable[[Vector], Vector]) -> None:
        """Take theta, and solve for every dense column.

        Parameters
        ----------
        theta : ndarray, shape (N,)
        solve : callable
            Solves for (m, k) with the factor of the other columns.
        """
        if self._which.size:
            self._solved = solve(self._columns)
            self._small = np.diag(1.0 / theta[self._which]) + self._columns.T @ self._solved

    def correct(self, found: Vector) -> Vector:
        """The solution (m,) with all columns, from that without the dense ones."""
        if self._which.size:
            found = found - self._solved @ np.linalg.solve(self._small, self._columns.T @ found)
        return found
