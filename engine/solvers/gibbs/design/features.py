"""Features as a problem holds them: a NumPy array, or a SciPy sparse array of rows whose entries are in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SMALL_SCALE = 1e-140
"""Squares of smaller numbers lose digits or are 0."""

_LARGER = 2.0**600
_ROWS_AT_ONCE = 1 << 18  # values; those of float64 stay in a cache
_SAMPLED = 1 << 22  # values that are looked at for the share of zeros


def is_sparse(X: Any) -> bool:
    """Whether these are a SciPy sparse matrix or array."""
    return hasattr(X, "toarray")


def dense_rows(X: Any, begin: int, end: int, step: int = 1) -> NDArray[Any]:
    """Rows begin, begin + step, ... before ``end``, with their zeros; shape (rows, p)."""
    part = X[begin:end:step]
    return np.asarray(part.toarray() if is_sparse(part) else part)


def density(X: Any) -> float:
    """The share of values that are not 0, of an evenly spaced sample of rows where X is dense and large."""
    rows, columns = X.shape
    if is_sparse(X):
        return float(X.nnz / (rows * columns))
    some = X[:: max(1, X.size // _SAMPLED)]
    return float(np.count_nonzero(some) / some.size)


def sparse_rows(X: Any, begin: int, end: int) -> Any:
    """Rows [begin, end) as a SciPy array of rows; entries that are 0 are left out."""
    from scipy import sparse

    if is_sparse(X):
        return sparse.csr_array(X[begin:end])
    chunk = max(1, _ROWS_AT_ONCE // X.shape[1])
    parts = [sparse.csr_array(X[at : min(end, at + chunk)]) for at in range(begin, end, chunk)]
    if not parts:
        return sparse.csr_array((0, X.shape[1]), dtype=X.dtype)
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def column_moments(
    X: Any, between: Callable[[], None] = lambda: None, weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """Mean and deviation of every column, in float64 and two passes, so that a large mean does no harm."""
    mean, scale = _sparse_moments(X, weights) if is_sparse(X) else _dense_moments(X, between, weights)
    # squares of tiny numbers are 0
    tiny = np.flatnonzero((scale < SMALL_SCALE) & (np.abs(mean) < SMALL_SCALE))
    if tiny.size:
        larger = X[:, tiny].astype(np.float64) * _LARGER
        found = _sparse_moments(larger, weights) if is_sparse(X) else _dense_moments(larger, between, weights)
        mean[tiny], scale[tiny] = (moment / _LARGER for moment in found)
    return mean, scale


def _dense_moments(X: Any, between: Callable[[], None], weights: Floats | None) -> tuple[Floats, Floats]:
    from ....numerics.threads import in_order  # brings the devices, which reading a problem does not need

    total = len(X) if weights is None else float(weights.sum())
    rows = max(1, _ROWS_AT_ONCE // X.shape[1])
    parts = [slice(begin, begin + rows) for begin in range(0, len(X), rows)]
    mean, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])

    def summed(part: slice) -> Floats:
        return np.asarray(X[part].sum(axis=0, dtype=np.float64) if weights is None else weights[part] @ X[part])

    def squared(part: slice) -> Floats:
        apart = X[part] - mean
        heavy = apart if weights is None else apart * weights[part, None]
        return np.asarray(np.einsum("ij,ij->j", heavy, apart))

    for found in in_order(summed, parts):
        between()
        mean += found
    mean /= total
    for found in in_order(squared, parts):
        between()
        squares += found
    return mean, np.sqrt(squares / total)


def _sparse_moments(X: Any, weights: Floats | None) -> tuple[Floats, Floats]:
    """The same of a sparse array: the zeros of a column are all at the same distance from its mean."""
    rows, columns = X.shape
    values, each = X.data.astype(np.float64), np.ones(X.nnz)
    if weights is not None:
        rows, each = float(weights.sum()), np.repeat(weights, np.diff(X.indptr))
    counts = np.bincount(X.indices, each, minlength=columns)
    mean = np.bincount(X.indices, each * values, minlength=columns) / rows
    squares = np.bincount(X.indices, each * (values - mean[X.indices]) ** 2, minlength=columns)
    return mean, np.sqrt((squares + (rows - counts) * mean**2) / rows)


@dataclass(frozen=True)
class EntrySummary:
    """The entries of a design that are not 0."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # of each column
    low: Floats = field(default_factory=lambda: np.zeros(0))  # the least of them; 0 where there is none
    high: Floats = field(default_factory=lambda: np.zeros(0))
    longest_row: int = 0  # entries

    @property
    def total(self) -> int:
        """Entries of all columns."""
        return int(self.counts.sum())

    @property
    def one_value(self) -> bool:
        """Whether every column has one value beside 0, as one-hot columns do."""
        return bool((self.low == self.high).all())

    def of(self, columns: NDArray[np.int64]) -> EntrySummary:
        """Of some columns; the longest row is that of all."""
        return EntrySummary(self.counts[columns], self.low[columns], self.high[columns], self.longest_row)


def entry_summary(X: Any, between: Callable[[], None] = lambda: None) -> EntrySummary:
    """Counts and sizes of the entries; ``between`` is called now and then."""
    rows, columns = X.shape
    counts, longest = np.zeros(columns, np.int64), 0
    low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
    chunk = rows if is_sparse(X) else max(1, _ROWS_AT_ONCE // columns)
    for begin in range(0, rows, chunk):
        between()
        part = sparse_rows(X, begin, min(rows, begin + chunk))
        counts += np.bincount(part.indices, minlength=columns)
        longest = max(longest, int(np.diff(part.indptr).max(initial=0)))
        np.minimum.at(low, part.indices, part.data)
        np.maximum.at(high, part.indices, part.data)
    return EntrySummary(counts, np.where(counts > 0, low, 0.0), np.where(counts > 0, high, 0.0), longest)
