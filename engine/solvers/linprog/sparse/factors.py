"""Sparse factors by installed libraries; imports nothing of this package, since a child process loads it."""

import functools
import importlib
from abc import ABC, abstractmethod
from typing import Any, cast

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from typing_extensions import override

PICTURED = 256
"""Blocks of rows, and of columns, that the entries of a factor are counted in."""
Vector = NDArray[np.float64]
Picture = tuple[NDArray[np.int32], NDArray[np.int64]]
sp: Any = sparse


class Factors(ABC):
    """A symmetric factorisation for a fixed pattern."""

    def __init__(self, indices: NDArray[np.integer], starts: NDArray[np.integer], negative: int = 0) -> None:
        self._negative, self._numeric, self.nonzeros = negative, cast(Any, None), 0
        m, numbers = starts.size - 1, np.arange(1, indices.size + 1, dtype=np.float64)
        self._analyse(sp.csc_array((numbers, indices, starts), shape=(m, m)))

    def _analyse(self, lower: Any) -> None:
        """Prepare for the pattern; the entries of the triangle are numbered from 1 on."""
        raise NotImplementedError  # not abstract: factors in a child process analyse there

    @abstractmethod
    def factor(self, values: Vector) -> bool:
        """Factorise the matrix with these values of its lower triangle; whether so many pivots are negative."""

    def solve(self, rhs: Vector) -> Vector:
        """Solve for one right-hand side (m,) or several (m, k)."""
        return np.asarray(self._numeric.solve(rhs))

    @abstractmethod
    def picture(self) -> Picture:
        """The last factor's entries in blocks (k, k), or first pivot, pivots, rows of each front (count, 3)."""


@functools.cache
def rslab() -> Any:
    """The library, or None if it is not installed."""
    try:
        return importlib.import_module("rslab")
    except ImportError:
        return None


def _are_right(pivots: Vector, negative: int) -> bool:
    """Whether so many pivots are negative, and the others positive."""
    return bool((pivots < 0.0).sum() == negative and (pivots > 0.0).sum() == pivots.size - negative)


class Supernodal(Factors):
    """Factors by rslab, on all cores."""

    @override
    def _analyse(self, lower: Any) -> None:
        lower.data[:] = 1.0
        self._symbolic = rslab().analyze(lower, path="ldlt")

    @override
    def factor(self, values: Vector) -> bool:
        try:
            self._numeric = self._symbolic.factor(values)
        except (ValueError, ArithmeticError, RuntimeError):
            return False
        self.nonzeros = int(self._numeric.factor_nnz)
        return int(self._numeric.inertia[1]) == self._negative

    @override
    def solve(self, rhs: Vector) -> Vector:
        if rhs.ndim == 1:
            return super().solve(rhs)
        return np.asarray(self._numeric.solve_many(np.asfortranarray(rhs)))

    @override
    def picture(self) -> Picture:
        """Rslab reports the sizes of its fronts."""
        sizes = np.array(self._symbolic.front_dims, np.int64).reshape(-1, 2)
        first = np.cumsum(sizes[:, 0]) - sizes[:, 0]
        return np.zeros((0, 0), np.int32), np.column_stack([first, sizes])


class SuperLU(Factors):
    """Factors by SciPy's SuperLU, in symmetric mode with diagonal pivots."""

    @override
    def _analyse(self, lower: Any) -> None:
        self._full = sp.csc_array(lower + sp.tril(lower, -1).T)
        self._full.sort_indices()
        self._source = self._full.data.astype(np.int64) - 1

    @override
    def factor(self, values: Vector) -> bool:
        full = self._full
        matrix = sp.csc_array((values[self._source], full.indices, full.indptr), shape=full.shape)
        splu = importlib.import_module("scipy.sparse.linalg").splu
        options: dict[str, Any] = {"permc_spec": "MMD_AT_PLUS_A", "options": {"SymmetricMode": True}}
        try:
            self._numeric = splu(matrix, diag_pivot_thresh=0.0, **options)
        except RuntimeError:
            return False
        self.nonzeros = int(self._numeric.L.nnz)
        return _are_right(self._numeric.U.diagonal(), self._negative)

    @override
    def picture(self) -> Picture:
        """SuperLU has no fronts."""
        return _picture(self._numeric.L)


def _picture(lower: Any) -> Picture:
    """Of a factor in compressed columns, its diagonal included."""
    m = lower.shape[0]
    k = min(PICTURED, m)
    block = np.arange(m) * k // max(1, m)
    places = block[lower.indices] * k + np.repeat(block, np.diff(lower.indptr))
    counts = np.bincount(places, minlength=k * k).reshape(k, k).astype(np.int32)
    return counts, np.zeros((0, 3), np.int64)


class Simplicial(Factors):
    """Factors by qdldl, one column after another in the order of AMD: the fastest where few entries are filled in."""

    @override
    def _analyse(self, lower: Any) -> None:
        self._upper = sp.csc_matrix(lower.T)
        self._upper.sort_indices()
        self._source = self._upper.data.astype(np.int64) - 1

    @override
    def factor(self, values: Vector) -> bool:
        upper = self._upper
        upper.data = values[self._source]
        try:
            if self._numeric is None:
                self._numeric = importlib.import_module("qdldl").Solver(upper, upper=True)
            else:
                self._numeric.update(upper, upper=True)
        except (ValueError, ArithmeticError, RuntimeError):
            return False
        lower, pivots, _ = self._numeric.factors()
        self.nonzeros = int(lower.nnz) + pivots.size
        return _are_right(pivots, self._negative)

    @override
    def picture(self) -> Picture:
        """Qdldl has no fronts."""
        lower = self._numeric.factors()[0]
        return _picture(sp.csc_array(lower) + sp.eye_array(lower.shape[0], format="csc"))
