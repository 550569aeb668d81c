"""Normal equations of sparse programs on the host: formed by a fixed pattern, factorised by a sparse library.

``rslab`` (extra ``sparse``) analyses the pattern once and factorises by supernodes on several threads; without it,
SciPy's SuperLU is used, which is slower on large patterns. Large patterns are factorised in a child process, which can
be ended at any time. Columns with many entries are left out of the matrix and taken into account by the
Sherman-Morrison-Woodbury formula.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Capabilities
from engine.errors import OutOfDeviceMemory
from engine.solvers.linprog.child_process import ChildError, ChildProcess
from engine.solvers.linprog.interior import factors
from engine.solvers.linprog.interior.factors import Factors
from engine.solvers.linprog.interior.shard import ShardData
from engine.solvers.linprog.interior.worker import with_slacks
from engine.solvers.linprog.problem import sp

__all__ = ["SparseNormalEquations", "dense_is_faster"]

Vector = NDArray[np.float64]

_DENSE_ROWS = 200  # up to so many rows a dense factor is always faster
_DENSE_COLUMN = 40  # a column of more than so many times the mean number of entries, and
_DENSE_ENTRIES = 200  # of more entries than this, is dense
_IN_PROCESS = 20_000  # entries of a pattern that is factorised here, by SuperLU
_MOST_PRODUCTS = 100_000_000
_HOST_RATE, _SPARSE_RATE, _DEVICE_RATE = 1.5e10, 4e9, 1.2e11  # operations a second, of a core or a multiprocessor


def has_rslab() -> bool:
    """Whether rslab is installed."""
    return importlib.util.find_spec("rslab") is not None


class _ChildFactors:
    """:class:`Factors` in a child process, which :meth:`close` ends from any thread."""

    def __init__(self) -> None:
        self.nonzeros = 0
        self._process = ChildProcess()

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

    def close(self) -> None:
        """End the process."""
        self._process.close()


class SparseNormalEquations:
    """``A diag(theta) A^T`` of a sparse program; see :class:`~engine.solvers.linprog.interior.system.NormalEquations`.

    Parameters
    ----------
    data : ShardData
        One program with a sparse matrix.
    """

    def __init__(self, data: ShardData) -> None:
        self._data: ShardData | None = data
        self._closed = False
        self._lock = threading.Lock()
        self._child: _ChildFactors | None = None
        self._factors: Factors | None = None

    def _analyse(self, data: ShardData) -> Factors:
        """Find the pattern of the matrix and of its factor; it takes as long as a factorisation or more."""
        columns = sp.csc_array(with_slacks(data))
        columns.sort_indices()
        m, count = columns.shape
        entries = np.diff(columns.indptr)
        mean = max(1.0, float(entries.mean())) if count else 1.0
        dense = (entries > _DENSE_COLUMN * mean) & (entries > _DENSE_ENTRIES)
        self._dense = np.flatnonzero(dense)
        self._dense_columns = np.asarray(columns[:, self._dense].todense(), np.float64)
        kept = columns.copy()
        kept.data[np.repeat(dense, entries)] = 0.0
        kept.eliminate_zeros()
        self._products, pattern = _product_map(kept)
        self._diagonal = pattern.indptr[:-1].astype(np.int64)  # the first entry of a column of the lower triangle
        self._values = np.zeros(pattern.nnz)
        self._theta_dense = np.zeros(self._dense.size)
        self._dense_solved = np.zeros((m, 0))
        self._small: Vector = np.zeros((0, 0))
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

    def form(self, theta: Vector) -> None:
        """Compute the matrix for theta (N,); the first call analyses the pattern.

        If the child process ends meanwhile, :meth:`factor` reports a failure.
        """
        if self._data is not None:
            data, self._data = self._data, None
            with contextlib.suppress(ChildError):
                self._factors = self._analyse(data)
        self._values = np.asarray(self._products @ theta)
        self._theta_dense = theta[self._dense]

    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        """Factorise with ``relative`` and ``absolute`` regularisation of the diagonal; 0 or 1, (1,)."""
        if self._factors is None:
            return np.ones(1, np.int32)
        values = self._values.copy()
        values[self._diagonal] += relative[0] * values[self._diagonal] + absolute[0]
        if not np.isfinite(values).all() or not self._factors.factor(values):
            return np.ones(1, np.int32)
        if self._dense.size:
            self._dense_solved = self._factors.solve(self._dense_columns)
            self._small = np.diag(1.0 / self._theta_dense) + self._dense_columns.T @ self._dense_solved
        return np.zeros(1, np.int32)

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor for a right-hand side (1, m)."""
        assert self._factors is not None
        found = self._factors.solve(np.ascontiguousarray(rhs[0]))
        if self._dense.size:
            found = found - self._dense_solved @ np.linalg.solve(self._small, self._dense_columns.T @ found)
        return found[None]

    def close(self) -> None:
        """End the child process, whatever it is doing; called from any thread."""
        with self._lock:
            self._closed = True
            child, self._child = self._child, None
        if child is not None:
            child.close()


def _product_map(columns: Any) -> tuple[Any, Any]:
    """The matrix P with ``values = P theta``, and the pattern of the lower triangle of ``A A^T`` that they belong to.

    All diagonal entries are in the pattern.
    """
    m, count = columns.shape
    entries = np.diff(columns.indptr).astype(np.int64)
    products = entries * (entries + 1) // 2
    total = int(products.sum())
    if total > _MOST_PRODUCTS:
        raise OutOfDeviceMemory(
            f"the sparse normal equations of this program have {total:,} products of entries, more than "
            f"{_MOST_PRODUCTS:,}; "
            'use method = "race" or "pdhg"'
        )
    ones = sp.csc_array((np.ones(columns.nnz), columns.indices, columns.indptr), shape=columns.shape)
    pattern = sp.csc_matrix(sp.tril(ones @ ones.T + sp.eye_array(m), format="csc"))
    pattern.sort_indices()
    parts = []
    for size in np.unique(entries[entries > 0]).tolist():
        chosen = np.flatnonzero(entries == size)
        places = columns.indptr[chosen][:, None] + np.arange(size)
        above, below = np.triu_indices(size)
        rows, values = columns.indices[places], columns.data[places]
        parts.append((rows[:, below], rows[:, above], values[:, below] * values[:, above], chosen, below.size))
    if not parts:
        return sp.csr_array((pattern.nnz, count)), pattern
    row = np.concatenate([part[0].ravel() for part in parts])
    column = np.concatenate([part[1].ravel() for part in parts])
    values = np.concatenate([part[2].ravel() for part in parts])
    source = np.concatenate([np.repeat(part[3], part[4]) for part in parts])
    places = _places(pattern, row, column)
    return sp.csr_array(sp.coo_array((values, (places, source)), shape=(pattern.nnz, count))), pattern


def _places(pattern: Any, row: NDArray[np.integer], column: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where entries are in the data of a sorted matrix in compressed columns."""
    m = pattern.shape[0]
    keys = np.repeat(np.arange(m, dtype=np.int64), np.diff(pattern.indptr)) * m + pattern.indices
    found: NDArray[np.int64] = np.searchsorted(keys, column.astype(np.int64) * m + row)
    return found


def dense_is_faster(data: ShardData, device: Capabilities) -> bool:
    """Whether a dense factor on the device is predicted to take less time than a sparse one on the host.

    The sparse factor's operations are estimated from the entries of ``A A^T`` with an allowance for fill.
    """
    m = data.m
    if m <= _DENSE_ROWS:
        return True
    if not device.simt and has_rslab():  # forming a dense matrix from a sparse A is slow on CPUs
        return False
    rate = (_DEVICE_RATE if device.simt else _HOST_RATE) * device.compute_units
    dense = m**3 / 3 / rate + 2e-4
    columns = sp.csc_array(data.A)
    entries = np.diff(columns.indptr).astype(np.float64)
    ones = sp.csc_array((np.ones(columns.nnz), columns.indices, columns.indptr), shape=columns.shape)
    if float((entries**2).sum()) > 0.25 * m * m * 50:
        return True
    lower = 0.5 * ((ones @ ones.T).nnz + m)
    filled = min(0.5 * m * m, 12.0 * lower)
    sparse = filled**2 / m / (_SPARSE_RATE * min(4, os.cpu_count() or 1)) + 2e-8 * float((entries**2).sum()) + 1e-3
    return bool(dense <= sparse)
