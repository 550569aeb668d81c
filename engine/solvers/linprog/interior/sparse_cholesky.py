"""Normal equations of sparse programs on the host: formed by a fixed pattern, factorised by a sparse library.

``rslab`` (extra ``sparse``) analyses the pattern once and factorises by supernodes on several threads; without it,
SciPy's SuperLU is used, which is slower on large patterns. Large patterns are factorised in a child process, which can
be ended at any time. Columns with many entries are left out of the matrix and taken into account by the
Sherman-Morrison-Woodbury formula.
"""

from __future__ import annotations

import contextlib
import importlib.util
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Capabilities
from engine.devices.host import host_cores
from engine.errors import OutOfDeviceMemory
from engine.solvers.linprog.highs.process import ChildError, new_child
from engine.solvers.linprog.interior import factors
from engine.solvers.linprog.interior.dense_columns import DenseColumns
from engine.solvers.linprog.interior.factors import Factors, Picture
from engine.solvers.linprog.interior.shard import ShardData, with_slacks
from engine.solvers.linprog.problem import sp

__all__ = ["SparseNormalEquations", "dense_is_faster", "has_rslab", "is_nearly_dense", "lower_pattern"]

Vector = NDArray[np.float64]

_DENSE_ROWS = 200  # up to so many rows a dense factor is always faster
_IN_PROCESS = 20_000  # entries of a pattern that is factorised here, by SuperLU
_MAPPED_PRODUCTS = 8_000_000  # products of two entries up to which they are kept
_MOST_PRODUCTS = 1_000_000_000
_HOST_RATE, _SPARSE_RATE, _DEVICE_RATE = 1.5e10, 4e9, 1.2e11  # operations a second, of a core or a multiprocessor


def has_rslab() -> bool:
    """Whether rslab is installed."""
    return importlib.util.find_spec("rslab") is not None


class _ChildFactors:
    """:class:`Factors` in a child process, which :meth:`close` ends from any thread."""

    def __init__(self) -> None:
        self.nonzeros = 0
        self._process = new_child()

    def analyse(self, indices: NDArray[np.integer], starts: NDArray[np.integer]) -> None:
        """Analyse the pattern of the lower triangle."""
        kind = "Supernodal" if has_rslab() else "SuperLU"
        self._process.request("analyse", factors.__file__, kind, indices, starts).result()

    def factor(self, values: Vector) -> bool:
        """See :class:`Factors`; False also if the process has ended."""
        with contextlib.suppress(ChildError):
            positive, self.nonzeros = self._process.request("factor", values).result()
            return bool(positive)
        return False

    def solve(self, rhs: Vector) -> Vector:
        """See :class:`Factors`; NaN if the process has ended."""
        with contextlib.suppress(ChildError):
            return np.asarray(self._process.request("solve_factor", rhs).result())
        return np.full_like(rhs, np.nan)

    def picture(self) -> Picture:
        """See :class:`Factors`."""
        counts, fronts = self._process.request("picture_of_factor").result()
        return np.asarray(counts), np.asarray(fronts)

    def close(self) -> None:
        """End the process."""
        self._process.close()


class SparseNormalEquations:
    """``A diag(theta) A^T`` of a sparse program, factorised on the host.

    See :class:`~engine.solvers.linprog.interior.normal_equations.NormalEquations`.

    Parameters
    ----------
    data : ShardData
        One program with a sparse matrix.

    Attributes
    ----------
    picture : tuple of ndarray or None
        See :meth:`~engine.solvers.linprog.interior.factors.Factors.picture`; known after the first :meth:`factor`.
    """

    reads_shard = leaves_to_shard = is_undecided = False
    fronts = device_bytes = 0

    def __init__(self, data: ShardData) -> None:
        self._data: ShardData | None = data
        self._closed = False
        self._lock = threading.Lock()
        self._child: _ChildFactors | None = None
        self._factors: Factors | None = None
        self.picture: Picture | None = None

    def _analyse(self, data: ShardData) -> Factors:
        """Find the pattern of the matrix and of its factor; it takes as long as a factorisation or more."""
        columns = sp.csc_array(with_slacks(data))
        columns.sort_indices()
        self._dense = DenseColumns(columns)
        kept = self._dense.kept
        few = int((np.diff(kept.indptr).astype(np.int64) ** 2).sum()) <= _MAPPED_PRODUCTS
        self._products: _ProductMap | _Multiplication = _ProductMap(kept) if few else _Multiplication(kept)
        pattern = self._products.pattern
        self._diagonal = pattern.indptr[:-1].astype(np.int64)  # the first entry of a column of the lower triangle
        self._values = np.zeros(pattern.nnz)
        self._theta = np.zeros(columns.shape[1])
        return self._started(pattern)

    def _started(self, pattern: Any) -> Factors:
        if pattern.nnz <= _IN_PROCESS:
            return factors.SuperLU(pattern.indices, pattern.indptr)
        with self._lock:
            if self._closed:
                raise ChildError("the run has ended")
            self._child = _ChildFactors()
        self._child.analyse(pattern.indices, pattern.indptr)
        return self._child

    @property
    def factor_nonzeros(self) -> int:
        """Entries of the last factor."""
        return 0 if self._factors is None else self._factors.nonzeros

    def form(self, theta: Vector | None) -> None:
        """Compute the matrix for theta (N,); the first call analyses the pattern.

        If the child process ends meanwhile, :meth:`factor` reports a failure.
        """
        assert theta is not None
        if self._data is not None:
            data, self._data = self._data, None
            with contextlib.suppress(ChildError):
                self._factors = self._analyse(data)
        self._values = self._products.values(theta)
        self._theta = theta

    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        """Factorise the matrix of the last :meth:`form`.

        Parameters
        ----------
        relative, absolute : ndarray, shape (1,)
            What is added to the diagonal: this part of each entry, and this amount.

        Returns
        -------
        ndarray of int32, shape (1,)
            1 if the matrix is not positive definite, or the child process has ended; else 0.
        """
        if self._factors is None:
            return np.ones(1, np.int32)
        values = self._values.copy()
        values[self._diagonal] += relative[0] * values[self._diagonal] + absolute[0]
        if not np.isfinite(values).all() or not self._factors.factor(values):
            return np.ones(1, np.int32)
        if self.picture is None:
            with contextlib.suppress(ChildError):
                self.picture = self._factors.picture()
        self._dense.prepare(self._theta, self._factors.solve)
        return np.zeros(1, np.int32)

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor for a right-hand side (1, m); NaN if the child process ended before it had a factor."""
        if self._factors is None:
            return np.full_like(rhs, np.nan)
        return self._dense.correct(self._factors.solve(np.ascontiguousarray(rhs[0])))[None]

    def close(self) -> None:
        """End the child process, whatever it is doing; called from any thread."""
        with self._lock:
            self._closed = True
            child, self._child = self._child, None
        if child is not None:
            child.close()


def lower_pattern(columns: Any) -> Any:
    """The lower triangle of the pattern of ``A A^T`` for A in compressed columns: sorted, with all diagonal entries."""
    ones = sp.csc_array((np.ones(columns.nnz), columns.indices, columns.indptr), shape=columns.shape)
    pattern = sp.csc_array(sp.tril(ones @ ones.T + sp.eye_array(columns.shape[0]), format="csc"))
    pattern.sort_indices()
    return pattern


class _ProductMap:
    """``A diag(theta) A^T`` with all products of two entries of A kept: the values are P theta.

    Attributes
    ----------
    pattern : scipy.sparse.csc_array
        The lower triangle that :meth:`values` belong to, with all diagonal entries.
    """

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
    """``A diag(theta) A^T`` by a sparse product each time, for programs with many products of two entries.

    Attributes
    ----------
    pattern : scipy.sparse.csc_array
        The lower triangle that :meth:`values` belong to, with all diagonal entries.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If the program has too many products for this, too.
    """

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


def is_nearly_dense(data: ShardData) -> bool:
    """Whether A has so few rows, or so many entries in its columns, that only a dense factor is worth while."""
    entries = np.diff(sp.csc_array(data.A).indptr).astype(np.float64)
    return data.m <= _DENSE_ROWS or float((entries**2).sum()) > 12.5 * data.m**2


def dense_is_faster(data: ShardData, device: Capabilities) -> bool:
    """Whether a dense factor on the device is predicted to take less time than a sparse one on the host.

    The sparse factor's operations are estimated from the entries of ``A A^T`` with an allowance for fill.

    Parameters
    ----------
    data : ShardData
        One program with a sparse matrix.
    device : Capabilities
    """
    m = data.m
    if m <= _DENSE_ROWS:
        return True
    if not device.simt and has_rslab():  # forming a dense matrix from a sparse A is slow on CPUs
        return False
    rate = (_DEVICE_RATE if device.simt else _HOST_RATE) * device.compute_units
    dense = m**3 / 3 / rate + 2e-4
    if is_nearly_dense(data):
        return True
    columns = sp.csc_array(data.A)
    entries = np.diff(columns.indptr).astype(np.float64)
    ones = sp.csc_array((np.ones(columns.nnz), columns.indices, columns.indptr), shape=columns.shape)
    lower = 0.5 * ((ones @ ones.T).nnz + m)
    filled = min(0.5 * m * m, 12.0 * lower)
    sparse = filled**2 / m / (_SPARSE_RATE * min(4, host_cores())) + 2e-8 * float((entries**2).sum()) + 1e-3
    return bool(dense <= sparse)
