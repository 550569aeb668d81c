"""Normal equations of sparse programs on the host, by ``rslab`` or SuperLU; large ones in a child process.

Columns with many entries come in by the Sherman-Morrison-Woodbury formula, or as unknowns of the augmented system.
"""

import contextlib
import threading
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ..forms.standard import ShardData, with_slacks
from ..highs.process import ChildError, new_child
from ..multifrontal.dissection import Dissection
from ..multifrontal.form import MOST_PRODUCTS, Augmented, AugmentedTree, augmented_tree, cheaper_form, products_in
from ..problem import sp
from ..sparse import factors
from ..sparse.factors import Factors, Picture
from ..sparse.products import DenseColumns, Products, products_of
from .base import FactorStatistics, LinearSystem
from .costs import IN_PROCESS, SIMPLICIAL_IN_PROCESS, SIMPLICIAL_WORK, has_qdldl, has_rslab

Vector = NDArray[np.float64]

_STATIC = 1e-9  # what is added to the diagonal of rows before an augmented system is factorised, not to the matrix
_FAILURES = 6  # factors of an augmented system that fail until normal equations are factorised
_LOST = 0.5  # residual of a refined solution, as a part of the right-hand side, from which on it is of no use
_REFINEMENTS, _EXACT = 4, 1e-12  # solutions with the factor of an augmented system, and the residual that ends them


class _ChildFactors(Factors):
    """:class:`Factors` in a child process, which :meth:`close` ends from any thread."""

    def __init__(self) -> None:
        self.nonzeros = 0
        self._process = new_child()

    def analyse(self, kind: str, indices: NDArray[np.integer], starts: NDArray[np.integer], negative: int) -> None:
        """Analyse the pattern of the lower triangle, for a class of ``sparse/factors``."""
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


class HostSystem(LinearSystem):
    """``A diag(theta) A^T`` of a sparse program, factorised on the host."""

    def __init__(
        self,
        data: ShardData,
        form: Literal["normal", "augmented", "auto"],
        get_theta: Callable[[], Vector],
        augmented: AugmentedTree | None = None,
    ) -> None:
        self._data: ShardData | None = data
        self._form, self._tree, self._get_theta = form, augmented, get_theta
        self._dissection = Dissection()
        self._closed = False
        self._lock = threading.Lock()
        self._child: _ChildFactors | None = None
        self._factors: Factors | None = None
        self._picture: Picture | None = None
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
        if multiplications is not None and has_qdldl() and multiplications <= SIMPLICIAL_WORK:
            kind = "Simplicial"
        if kind == "Simplicial" and pattern.nnz <= SIMPLICIAL_IN_PROCESS:
            return factors.Simplicial(pattern.indices, pattern.indptr, negative)
        if pattern.nnz <= IN_PROCESS:
            return factors.SuperLU(pattern.indices, pattern.indptr, negative)
        with self._lock:
            if self._closed:
                raise ChildError("the run has ended")
            self._child = _ChildFactors()
        self._child.analyse(kind, pattern.indices, pattern.indptr, negative)
        return self._child

    @override
    def form(self) -> None:
        """The first call analyses the pattern; if the child process ends meanwhile, :meth:`factor` fails."""
        theta = self._get_theta()
        if self._data is not None:
            data, self._data = self._data, None
            with contextlib.suppress(ChildError):
                self._factors = self._analyse(data)
        if self._factors is None:
            return
        self._values = self._products.values(theta)
        self._theta = theta

    @override
    def factor(self, relative: float, absolute: float) -> int:
        """Fails also if the child process has ended."""
        if self._factors is None:
            return 1
        self._regularisation = relative, absolute
        values = self._values.copy()
        values[self._diagonal] += relative * values[self._diagonal] + absolute
        factorised = values
        if self._augmented is not None:
            factorised = values.copy()
            factorised[self._diagonal] += _STATIC
        if not np.isfinite(values).all() or not self._factors.factor(factorised):
            self._failures += 1
            if self._failures >= _FAILURES and self._augmented is not None:
                with contextlib.suppress(ChildError):
                    self._use_normal_equations()
            return 1
        if self._picture is None:
            with contextlib.suppress(ChildError):
                self._picture = self._factors.picture()
        if self._dense is not None:
            self._dense.prepare(self._theta, self._factors.solve)
        else:
            self._take_matrix(values)
        return 0

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
        """The rows' part of the augmented solution, refined by the normal equations' residuals; None if lost."""
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

    @override
    def solve(self, rhs: Vector) -> Vector:
        """NaN if the child process ended before it had a factor."""
        if self._factors is None:
            return np.full_like(rhs, np.nan)
        one = np.ascontiguousarray(rhs)
        if self._dense is not None:
            return self._dense.correct(self._factors.solve(one))
        found = self._refined(one)
        if found is not None:
            return found
        with contextlib.suppress(ChildError):
            self._use_normal_equations()
        if self._augmented is None and not self.factor(*self._regularisation):
            return self.solve(rhs)
        return np.full_like(rhs, np.nan)

    @override
    def statistics(self) -> FactorStatistics:
        return FactorStatistics(0 if self._factors is None else self._factors.nonzeros, picture=self._picture)

    @override
    def close(self) -> None:
        """End the child process, whatever it is doing."""
        with self._lock:
            self._closed = True
            child, self._child = self._child, None
        self._dissection.close()
        if child is not None:
            child.close()
