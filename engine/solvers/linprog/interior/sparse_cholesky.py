"""Normal equations of sparse programs on the host: formed by a fixed pattern, factorised by a sparse library.

``rslab`` (extra ``sparse``) analyses the pattern once and factorises by supernodes on several threads; without it,
SciPy's SuperLU is used, which is slower on large patterns. Large patterns are factorised in a child process, which can
be ended at any time. Columns with many entries are left out of the matrix and taken into account by the
Sherman-Morrison-Woodbury formula, or, where there are many of them, kept as unknowns of the augmented system.
"""

from __future__ import annotations

import contextlib
import importlib.util
import threading
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ....devices import Capabilities
from ....devices.host import host_cores
from ..highs.process import ChildError, new_child
from ..multifrontal.dissection import Dissection
from ..multifrontal.form import (
    MOST_PRODUCTS,
    AugmentedTree,
    augmented_tree,
    cheaper_form,
    products_in,
)
from ..problem import sp
from . import factors
from .augmented import Augmented, augmented_entries, fills_in
from .dense_columns import DenseColumns
from .factors import Factors, Picture
from .products import Products, products_of
from .shard import ShardData, with_slacks

__all__ = ["SparseNormalEquations", "dense_is_faster", "has_rslab", "is_nearly_dense"]

Vector = NDArray[np.float64]

_DENSE_ROWS = 200  # up to so many rows a dense factor is always faster
_IN_PROCESS = 20_000  # entries of a pattern that is factorised here, by SuperLU
_SIMPLICIAL = 1e8  # multiplications of an augmented system's factor up to which qdldl is the fastest,
_SIMPLICIAL_HERE = 200_000  # and entries of a pattern that it factorises here
_STATIC = 1e-9  # what is added to the diagonal of rows before an augmented system is factorised, not to the matrix
_FAILURES = 6  # factors of an augmented system that fail until normal equations are factorised
_LOST = 0.5  # residual of a refined solution, as a part of the right-hand side, from which on it is of no use
_REFINEMENTS, _EXACT = 4, 1e-12  # solutions with the factor of an augmented system, and the residual that ends them
_FILL, _AUGMENTED_FILL = 12.0, 4.0  # times the entries of a matrix that its factor is expected to have
_HOST_RATE, _SPARSE_RATE, _DEVICE_RATE = 1.5e10, 4e9, 1.2e11  # operations a second, of a core or a multiprocessor,
_SUPERLU_RATE = 1e9  # and of SuperLU


def has_rslab() -> bool:
    """Whether rslab is installed."""
    return importlib.util.find_spec("rslab") is not None


def has_qdldl() -> bool:
    """Whether qdldl is installed."""
    return importlib.util.find_spec("qdldl") is not None


class _ChildFactors(Factors):
    """:class:`Factors` in a child process, which :meth:`close` ends from any thread."""

    def __init__(self) -> None:
        self.nonzeros = 0
        self._process = new_child()

    def analyse(self, kind: str, indices: NDArray[np.integer], starts: NDArray[np.integer], negative: int) -> None:
        """Analyse the pattern of the lower triangle, for a class of :mod:`.factors`."""
        self._process.request("analyse", factors.__file__, kind, indices, starts, negative).result()

    @override
    def factor(self, values: Vector) -> bool:
        """False also if the process has ended."""
        with contextlib.suppress(ChildError):
            right, self.nonzeros = self._process.request("factor", values).result()
            return bool(right)
        return False

    @override
    def solve(self, rhs: Vector) -> Vector:
        """NaN if the process has ended."""
        with contextlib.suppress(ChildError):
            return np.asarray(self._process.request("solve_factor", rhs).result())
        return np.full_like(rhs, np.nan)

    @override
    def picture(self) -> Picture:
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
    form : {"normal", "augmented", "auto"}
        Whether the matrix itself is factorised, or the augmented system; or whichever has the cheaper factor.
    augmented : AugmentedTree, optional
        The augmented system, if it has been analysed.

    Attributes
    ----------
    picture : tuple of ndarray or None
        See :meth:`~engine.solvers.linprog.interior.factors.Factors.picture`; known after the first :meth:`factor`.
    """

    reads_shard = leaves_to_shard = is_undecided = False
    fronts = device_bytes = 0

    def __init__(
        self,
        data: ShardData,
        form: Literal["normal", "augmented", "auto"] = "normal",
        augmented: AugmentedTree | None = None,
    ) -> None:
        self._data: ShardData | None = data
        self._form, self._tree = form, augmented
        self._dissection = Dissection()
        self._closed = False
        self._lock = threading.Lock()
        self._child: _ChildFactors | None = None
        self._factors: Factors | None = None
        self.picture: Picture | None = None
        self._augmented: Augmented | None = None
        self._dense: DenseColumns | None = None
        self._failures = 0

    def _analyse(self, data: ShardData) -> Factors:
        """Find the pattern of the matrix and of its factor; it takes as long as a factorisation or more."""
        columns = sp.csc_array(with_slacks(data))
        columns.sort_indices()
        self._columns, self._m = columns, columns.shape[0]
        self._theta = np.zeros(columns.shape[1])
        dense, found = DenseColumns(columns), self._tree
        if found is None and self._form == "augmented":
            found = augmented_tree(columns, self._dissection)
        elif found is None and self._form == "auto":
            found = cheaper_form(columns, dense, self._dissection)
        return self._prepared(dense, found)

    def _prepared(self, dense: DenseColumns, found: AugmentedTree | None) -> Factors:
        """Factors of the augmented system, or of the normal equations without their dense columns."""
        self._products: Products | Augmented
        if found is not None:
            self._products = self._augmented = Augmented(self._columns, found.long)
        else:
            self._products, self._dense, self._augmented = products_of(dense.kept), dense, None
        pattern = self._products.pattern
        self._diagonal = pattern.indptr[: self._m].astype(np.int64)  # the first entry of a column
        self._values = np.zeros(pattern.nnz)
        return self._started(pattern, None if found is None else found.tree.multiplications)

    def _started(self, pattern: Any, multiplications: float | None) -> Factors:
        """Factors of a pattern; with the multiplications of an augmented system."""
        negative = 0 if self._augmented is None else self._augmented.count
        kind = "Supernodal" if has_rslab() else "SuperLU"
        if multiplications is not None and has_qdldl() and multiplications <= _SIMPLICIAL:
            kind = "Simplicial"
        if kind == "Simplicial" and pattern.nnz <= _SIMPLICIAL_HERE:
            return factors.Simplicial(pattern.indices, pattern.indptr, negative)
        if pattern.nnz <= _IN_PROCESS:
            return factors.SuperLU(pattern.indices, pattern.indptr, negative)
        with self._lock:
            if self._closed:
                raise ChildError("the run has ended")
            self._child = _ChildFactors()
        self._child.analyse(kind, pattern.indices, pattern.indptr, negative)
        return self._child

    @property
    def is_augmented(self) -> bool:
        """Whether the augmented system is factorised; not before the first :meth:`form`."""
        return self._augmented is not None

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
        if self._factors is None:
            return
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
        self._regularisation = relative, absolute
        values = self._values.copy()
        values[self._diagonal] += relative[0] * values[self._diagonal] + absolute[0]
        factorised = values
        if self._augmented is not None:
            factorised = values.copy()
            factorised[self._diagonal] += _STATIC
        if not np.isfinite(values).all() or not self._factors.factor(factorised):
            self._failures += 1
            if self._failures >= _FAILURES and self._augmented is not None:
                with contextlib.suppress(ChildError):
                    self._use_normal_equations()
            return np.ones(1, np.int32)
        if self.picture is None:
            with contextlib.suppress(ChildError):
                self.picture = self._factors.picture()
        if self._dense is not None:
            self._dense.prepare(self._theta, self._factors.solve)
        else:
            self._take_matrix(values)
        return np.zeros(1, np.int32)

    def _use_normal_equations(self) -> None:
        """Leave the augmented system, whose factors have failed, if the run goes on and it can."""
        dense = DenseColumns(self._columns)
        if self._closed or products_in(dense.kept) > MOST_PRODUCTS:
            return
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.close()
        self._factors = self._prepared(dense, None)
        self._values = self._products.values(self._theta)

    def _take_matrix(self, values: Vector) -> None:
        """Keep the augmented matrix, for the residuals of solutions."""
        pattern = self._products.pattern
        self._lower = sp.csc_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)
        self._upper = self._lower.T
        self._ends = values[pattern.indptr[:-1]]
        self._weights = np.concatenate([np.ones(self._m), -1.0 / self._ends[self._m :]])

    def _refined(self, rhs: Vector) -> Vector | None:
        """The part of the augmented system's solution that belongs to rows, for a right-hand side (m,); None if lost.

        Residuals are those of the normal equations: what is wrong in an unknown's own row counts theta times.
        """
        assert self._factors is not None
        whole = np.concatenate([rhs, np.zeros(self._ends.size - self._m)])
        found, residual, error = np.zeros_like(whole), whole, np.inf
        given = float(np.abs(rhs).max(initial=0.0))
        for _ in range(_REFINEMENTS):
            new = found + self._factors.solve(residual)
            residual = whole - (self._lower @ new + self._upper @ new - self._ends * new)
            size = float(np.abs(self._weights * residual).max(initial=0.0))
            if not size < 0.5 * error:
                break
            found, error = new, size
            if size <= _EXACT * given:
                break
        return found[: self._m] if error <= _LOST * given else None

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor for a right-hand side (1, m); NaN if the child process ended before it had a factor."""
        if self._factors is None:
            return np.full_like(rhs, np.nan)
        one = np.ascontiguousarray(rhs[0])
        if self._dense is not None:
            return self._dense.correct(self._factors.solve(one))[None]
        found = self._refined(one)
        if found is not None:
            return found[None]
        with contextlib.suppress(ChildError):
            self._use_normal_equations()
        if self._augmented is None and not self.factor(*self._regularisation).any():
            return self.solve(rhs)
        return np.full_like(rhs, np.nan)

    def close(self) -> None:
        """End the child process, whatever it is doing; called from any thread."""
        with self._lock:
            self._closed = True
            child, self._child = self._child, None
        self._dissection.close()
        if child is not None:
            child.close()


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
    columns = sp.csc_array(data.A)
    if fills_in(columns):
        filled = min(0.5 * m * m, _AUGMENTED_FILL * augmented_entries(columns))
        return bool(dense <= filled**2 / m / _SUPERLU_RATE + 1e-3)
    if is_nearly_dense(data):
        return True
    entries = np.diff(columns.indptr).astype(np.float64)
    ones = sp.csc_array((np.ones(columns.nnz), columns.indices, columns.indptr), shape=columns.shape)
    lower = 0.5 * ((ones @ ones.T).nnz + m)
    filled = min(0.5 * m * m, _FILL * lower)
    sparse = filled**2 / m / (_SPARSE_RATE * min(4, host_cores())) + 2e-8 * float((entries**2).sum()) + 1e-3
    return bool(dense <= sparse)
