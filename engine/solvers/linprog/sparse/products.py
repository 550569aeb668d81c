"""``A diag(theta) A^T`` of a sparse A by a fixed pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import OutOfDeviceMemory
from ..problem import sp

Vector = NDArray[np.float64]

MAPPED_PRODUCTS = 8_000_000
"""Products of two entries of a column up to which they are kept."""
_MOST_PRODUCTS = 1_000_000_000


def lower_pattern(columns: Any) -> Any:
    """The lower triangle of the pattern of ``A A^T`` for A in compressed columns: sorted, with all diagonal entries."""
    ones = sp.csc_array((np.ones(columns.nnz), columns.indices, columns.indptr), shape=columns.shape)
    pattern = sp.csc_array(sp.tril(ones @ ones.T + sp.eye_array(columns.shape[0]), format="csc"))
    pattern.sort_indices()
    return pattern


def products_of(columns: Any) -> Products:
    """What computes ``A diag(theta) A^T`` for A in compressed columns."""
    few = int((np.diff(columns.indptr).astype(np.int64) ** 2).sum()) <= MAPPED_PRODUCTS
    return _ProductMap(columns) if few else _Multiplication(columns)


class _ProductMap:
    """``A diag(theta) A^T`` with all products of two entries of A kept: the values are P theta."""

    def __init__(self, columns: Any) -> None:
        count = columns.shape[1]
        entries = np.diff(columns.indptr).astype(np.int64)
        self.pattern = lower_pattern(columns)
        parts = []
        for size in np.unique(entries[entries > 0]).tolist():
            chosen = np.flatnonzero(entries == size)
            places = columns.indptr[chosen][:, None] + np.arange(size)
            above, below = np.triu_indices(size)
            rows, values = columns.indices[places], columns.data[places]
            parts.append((rows[:, below], rows[:, above], values[:, below] * values[:, above], chosen, below.size))
        if not parts:
            self._map = sp.csr_array((self.pattern.nnz, count))
            return
        row = np.concatenate([part[0].ravel() for part in parts])
        column = np.concatenate([part[1].ravel() for part in parts])
        values = np.concatenate([part[2].ravel() for part in parts])
        source = np.concatenate([np.repeat(part[3], part[4]) for part in parts])
        places = _places(self.pattern, row, column)
        self._map = sp.csr_array(sp.coo_array((values, (places, source)), shape=(self.pattern.nnz, count)))

    def values(self, theta: Vector) -> Vector:
        """The values of the lower triangle for theta (N,)."""
        return np.asarray(self._map @ theta)


class _Multiplication:
    """``A diag(theta) A^T`` by a sparse product each time, for programs with many products of two entries."""

    def __init__(self, columns: Any) -> None:
        total = int((np.diff(columns.indptr).astype(np.int64) ** 2).sum())
        if total > _MOST_PRODUCTS:
            raise OutOfDeviceMemory(
                f"the sparse normal equations of this program have {total:,} products of entries, more than "
                f'{_MOST_PRODUCTS:,}; use method = "race" or "pdhg"'
            )
        self._columns = columns
        self._rows = sp.csc_array(columns.T)
        self.pattern = self._lower(np.ones(columns.shape[1]))

    def _lower(self, theta: Vector) -> Any:
        scaled = self._columns.copy()
        scaled.data = scaled.data * np.repeat(theta, np.diff(scaled.indptr))
        found = sp.csc_array(sp.tril(scaled @ self._rows, format="csc"))
        found.sort_indices()
        return _with_diagonal(found)

    def values(self, theta: Vector) -> Vector:
        """The values of the lower triangle for theta (N,)."""
        return np.asarray(self._lower(theta).data)


def _with_diagonal(lower: Any) -> Any:
    """A sorted lower triangle with all diagonal entries, zeros among them."""
    m = lower.shape[0]
    filled = np.diff(lower.indptr) > 0
    first = np.minimum(lower.indptr[:-1], max(0, lower.nnz - 1))
    missing = np.flatnonzero(~(filled & (lower.indices[first] == np.arange(m)))) if lower.nnz else np.arange(m)
    if not missing.size:
        return lower
    data = np.insert(lower.data, lower.indptr[missing], 0.0)
    indices = np.insert(lower.indices, lower.indptr[missing], missing)
    starts = lower.indptr + np.concatenate([[0], np.cumsum(np.isin(np.arange(m), missing))])
    return sp.csc_array((data, indices, starts.astype(lower.indptr.dtype)), shape=lower.shape)


def _places(pattern: Any, row: NDArray[np.integer], column: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where entries are in the data of a sorted matrix in compressed columns."""
    m = pattern.shape[0]
    keys = np.repeat(np.arange(m, dtype=np.int64), np.diff(pattern.indptr)) * m + pattern.indices
    found: NDArray[np.int64] = np.searchsorted(keys, column.astype(np.int64) * m + row)
    return found


Products = _ProductMap | _Multiplication


_TIMES_MEAN = 40  # a line of more than so many times the mean number of entries, and
_ENTRIES = 200  # of more entries than this, is dense


def are_dense(entries: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Which lines of a matrix are dense, by the entries of each."""
    mean = max(1.0, float(entries.mean())) if entries.size else 1.0
    return np.asarray((entries > _TIMES_MEAN * mean) & (entries > _ENTRIES))


class DenseColumns:
    """The dense columns of A, taken into account by the Sherman-Morrison-Woodbury formula."""

    def __init__(self, columns: Any) -> None:
        entries = np.diff(columns.indptr)
        dense = are_dense(entries)
        self._which = np.flatnonzero(dense)
        self.count = self._which.size
        self._columns = np.asarray(columns[:, self._which].todense(), np.float64)
        self.kept = columns.copy()
        self.kept.data[np.repeat(dense, entries)] = 0.0
        self.kept.eliminate_zeros()
        self._solved = np.zeros((columns.shape[0], 0))
        self._small: Vector = np.zeros((0, 0))

    def prepare(self, theta: Vector, solve: Callable[[Vector], Vector]) -> None:
        """Take theta, and solve for every dense column."""
        if self._which.size:
            self._solved = solve(self._columns)
            self._small = np.diag(1.0 / theta[self._which]) + self._columns.T @ self._solved

    def correct(self, found: Vector) -> Vector:
        """The solution (m,) with all columns, from that without the dense ones."""
        if self._which.size:
            found = found - self._solved @ np.linalg.solve(self._small, self._columns.T @ found)
        return found
