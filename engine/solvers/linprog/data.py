"""The arrays of a linear program: checked, kept, made from named arrays and back; and the sizes of their numbers."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.problem import Problem, frozen, require_arrays, sparse_rows
from ...errors import ProblemError
from .arguments import Matrix, infinite_from, require_finite, sp

Vector = NDArray[np.float64]
_HANDY = 1 << 14  # entries, zeros counted, of a sparse matrix that is audited as a dense one


class ProgramData(Problem):
    """The arrays of a linear program."""

    c: Vector
    A: Matrix
    row_lower: Vector
    row_upper: Vector
    lower: Vector
    upper: Vector
    offset: float = 0.0
    maximize: bool = False
    integrality: NDArray[np.uint8] | None = None
    relaxed: int = 0
    names: tuple[str, ...] | None = None
    row_names: tuple[str, ...] | None = None
    m_ub: int = 0
    sense: ClassVar[str] = "minimize"

    @property
    def n(self) -> int:
        """Variables."""
        return int(self.c.size)

    @property
    def m(self) -> int:
        """Rows."""
        return int(self.row_lower.size)

    @property
    def is_sparse(self) -> bool:
        """Whether ``A`` is sparse."""
        return bool(sp.issparse(self.A))

    @functools.cached_property
    def nonzeros(self) -> int:
        """Entries of ``A`` that are not zero."""
        return int(self.A.nnz) if isinstance(self.A, sp.csr_array) else int(np.count_nonzero(self.A))

    @functools.cached_property
    def handy_matrix(self) -> Matrix:
        """The matrix, dense where that is small: a call on a sparse array takes longer than all of its arithmetic."""
        return self.A.toarray() if isinstance(self.A, sp.csr_array) and self.m * self.n <= _HANDY else self.A

    @functools.cached_property
    def row_sizes(self) -> Vector:
        """The largest entry of each row by size (m,)."""
        return largest_entries(self.handy_matrix, -1)

    @functools.cached_property
    def column_sizes(self) -> Vector:
        """The largest entry of each column by size (n,)."""
        return largest_entries(self.handy_matrix, -2)

    @functools.cached_property
    def units(self) -> tuple[float, float]:
        """The sizes of values and of costs that errors are relative to: 1, or less if all of the data is smaller.

        The first is the largest bound, or side of a row divided by the row's largest entry, the second the largest
        cost; numbers that are zero or infinite do not count.
        """
        sizes = np.where(self.row_sizes > 0.0, self.row_sizes, 1.0)
        values = np.concatenate([self.lower, self.upper, self.row_lower / sizes, self.row_upper / sizes])
        return unit_of(values).item(), unit_of(self.c).item()

    @functools.cached_property
    def side_unit(self) -> float:
        """The size of sides of rows: 1, or the largest one if all are smaller."""
        return unit_of(np.concatenate([self.row_lower, self.row_upper])).item()

    @functools.cached_property
    def is_extreme(self) -> bool:
        """Whether its numbers are so large or so small that products of them may overflow."""
        sizes = np.concatenate([np.abs(self.c), self.row_sizes])
        sizes = sizes[sizes > 0.0]
        return bool(sizes.size) and not 1e-100 < sizes.min() <= sizes.max() < 1e100

    @property
    def float_errors(self) -> np.errstate:
        """How NumPy is to take overflows while the program is solved: where they must be, the audit is enough."""
        return np.errstate(all="ignore") if self.is_extreme else np.errstate()

    @property
    def empty_row_slack(self) -> float:
        """How far the sides of a row without entries may be from zero, as errors of rounding: nothing can mend it."""
        return 1e-9 * self.side_unit

    # --- made of arrays -----------------------------------------------------------------------------------------------

    def _fill(
        self,
        c: Vector,
        matrix: Matrix,
        row_lower: Vector,
        row_upper: Vector,
        lower: Vector,
        upper: Vector,
        names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
    ) -> None:
        """Check what is common to all ways of making one, then keep it."""
        if sp.issparse(matrix):
            matrix = sp.csr_array(matrix, copy=matrix.format == "csr")
        require_finite(matrix, "the matrix")
        self._set_vectors(c, row_lower, row_upper, lower, upper, names, row_names)
        if sp.issparse(matrix):
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
            for part in (matrix.data, matrix.indices, matrix.indptr):
                part.setflags(write=False)
            self.A = matrix
        else:
            self.A = frozen(matrix)

    def _set_vectors(
        self,
        c: Vector,
        row_lower: Vector,
        row_upper: Vector,
        lower: Vector,
        upper: Vector,
        names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
    ) -> None:
        if not np.isfinite(c).all():
            j = int(np.argmin(np.isfinite(c)))
            raise ProblemError(f"entry {j} of c must be finite; got {c[j]}")
        lower, upper, row_lower, row_upper = (infinite_from(part) for part in (lower, upper, row_lower, row_upper))
        for low, high, noun, called in ((lower, upper, "variable", names), (row_lower, row_upper, "row", row_names)):
            crossed = ~(low <= high) | np.isposinf(low) | np.isneginf(high)
            if crossed.any():
                at = int(np.argmax(crossed))
                which = f"{at} ('{called[at]}')" if called is not None else str(at)
                raise ProblemError(
                    f"the lower bound of {noun} {which} must be at most its upper bound; got {low[at]} and {high[at]}"
                )
        self.c, self.lower, self.upper = frozen(c), frozen(lower), frozen(upper)
        self.row_lower, self.row_upper = frozen(row_lower), frozen(row_upper)

    def _set_integrality(self, kinds: ArrayLike | None, relax: bool = False) -> None:
        """Keep what each variable is, or how many are relaxed."""
        if kinds is None:
            return
        try:
            given = np.broadcast_to(np.asarray(kinds, np.float64), (self.n,))
        except (TypeError, ValueError) as error:
            raise ProblemError(f"integrality must be one number, or one for each of {self.n} variables") from error
        wrong = ~np.isin(given, (0.0, 1.0, 2.0, 3.0))
        if wrong.any():
            j = int(np.argmax(wrong))
            raise ProblemError(f"entry {j} of integrality must be 0, 1, 2 or 3; got {given[j]:g}")
        if relax:
            self.relaxed = int(np.count_nonzero(given))
        elif given.any():
            self.integrality = frozen(given.astype(np.uint8))

    def _set_sense(self, maximize: bool) -> None:
        self.maximize = maximize
        if maximize:
            setattr(self, "sense", "maximize")  # noqa: B010  (the class's own is what most instances have)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything, as named arrays; a sparse matrix as ``data``, ``indices`` and ``indptr``."""
        arrays: dict[str, NDArray[Any]] = {
            "c": self.c,
            "lower": self.lower,
            "upper": self.upper,
            "row_lower": self.row_lower,
            "row_upper": self.row_upper,
            "offset": np.array(self.offset),
            "maximize": np.array(self.maximize),
            "relaxed": np.array(self.relaxed),
            "m_ub": np.array(self.m_ub),
        }
        if isinstance(self.A, sp.csr_array):
            arrays |= {"data": self.A.data, "indices": self.A.indices, "indptr": self.A.indptr}
        else:
            arrays["A"] = self.A
        if self.integrality is not None:
            arrays["integrality"] = self.integrality
        if self.names is not None:
            arrays["names"] = np.array(self.names)
        if self.row_names is not None:
            arrays["row_names"] = np.array(self.row_names)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`; everything is checked again.

        Parameters
        ----------
        arrays : mapping of str to ndarray
        name : str

        Raises
        ------
        ProblemError
            If an array is missing or breaks a rule of the problem.
        """
        for needed in ("c", "lower", "upper", "row_lower", "row_upper"):
            if needed not in arrays:
                raise ProblemError(f"the arrays of a linear program lack '{needed}'; got {', '.join(arrays) or 'none'}")
        shape = (arrays["row_lower"].size, arrays["c"].size)
        for key, size in {"c": 1, "lower": 1, "upper": 1, "row_lower": 0, "row_upper": 0}.items():
            if arrays[key].shape != (shape[size],):
                raise ProblemError(f"the array '{key}' must have shape ({shape[size]},); got {arrays[key].shape}")
        matrix: Matrix
        if "A" in arrays:
            matrix = np.asarray(arrays["A"], np.float64)
        elif "data" in arrays:
            require_arrays(arrays, ("indices", "indptr"), "a sparse linear program")
            matrix = sparse_rows(arrays["data"], arrays["indices"], arrays["indptr"], shape, "the matrix")
        else:
            raise ProblemError("the arrays of a linear program lack its matrix, 'A' or 'data'")
        if matrix.shape != shape:
            raise ProblemError(f"the matrix must have shape {shape}; got {matrix.shape}")
        low, high, lower, upper = (arrays[key] for key in ("row_lower", "row_upper", "lower", "upper"))
        problem = cls.of_rows(arrays["c"], matrix, low, high, lower, upper, name)
        problem.offset = float(arrays.get("offset", np.array(0.0)))
        problem._set_sense(bool(arrays.get("maximize", np.array(False))))
        problem._set_integrality(arrays.get("integrality"))
        problem.relaxed = int(arrays.get("relaxed", np.array(0)))
        problem.m_ub = int(arrays.get("m_ub", np.array(0)))
        problem.names = tuple(arrays["names"].tolist()) if "names" in arrays else None
        problem.row_names = tuple(arrays["row_names"].tolist()) if "row_names" in arrays else None
        return problem

    @classmethod
    def of_rows(
        cls,
        c: ArrayLike,
        matrix: Matrix,
        row_lower: ArrayLike,
        row_upper: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
        name: str,
        integrality: ArrayLike | None = None,
    ) -> Self:
        """A minimization of ``c x`` with ``row_lower <= A x <= row_upper`` and ``lower <= x <= upper``.

        Parameters
        ----------
        c, lower, upper : array-like, shape (n,)
        matrix : ndarray or sparse array, shape (m, n)
        row_lower, row_upper : array-like, shape (m,)
        name : str
        integrality : array-like, shape (n,), optional

        Raises
        ------
        ProblemError
            If a cost or an entry is not finite, or a pair of bounds or sides has no number in between.
        """
        problem = cls.__new__(cls)
        low, high, left, right = (np.asarray(part, np.float64) for part in (row_lower, row_upper, lower, upper))
        problem._fill(np.asarray(c, np.float64), matrix, low, high, left, right)
        problem._set_integrality(integrality)
        problem.name = name
        return problem

    def to_dense(self) -> Self:
        """The same program with a dense matrix."""
        if not self.is_sparse:
            return self
        arrays = self.to_arrays()
        for part in ("data", "indices", "indptr"):
            del arrays[part]
        return type(self).from_arrays({**arrays, "A": self.A.toarray()}, self.name)


def largest_entries(matrix: Any, axis: int) -> Vector:
    """The largest entry by size of each row (axis -1) or column (-2) of a matrix, or of each of several dense ones."""
    if isinstance(matrix, sp.csr_array):
        found = abs(matrix).max(axis=axis).todense() if matrix.nnz else np.zeros(matrix.shape[-1 if axis == -2 else 0])
        return np.asarray(found, np.float64).ravel()
    return np.asarray(np.maximum(matrix.max(axis=axis, initial=0.0), -matrix.min(axis=axis, initial=0.0)))


def unit_of(values: Vector) -> Vector:
    """1, or the largest size of the finite numbers if that is less and not zero: (1,), or (k, 1) for (k, n)."""
    sizes = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=-1, keepdims=True, initial=0.0)
    return np.where(sizes > 0.0, np.minimum(sizes, 1.0), 1.0)


class KeptBasis:
    """What HiGHS's simplex method begins with; shared by programs, and by threads. A copy elsewhere begins empty."""

    def __init__(self) -> None:
        self.basis: Any = None
        self._failures = 0

    def __reduce__(self) -> tuple[type[KeptBasis], tuple[()]]:
        return KeptBasis, ()

    @property
    def is_of_use(self) -> bool:
        """Whether the simplex method is in time: with a basis it may fail once."""
        return self._failures <= (self.basis is not None)

    def keep(self, basis: Any) -> None:
        """Keep the basis of an optimum; None says that there was none in time."""
        self._failures = self._failures + 1 if basis is None else 0
        self.basis = self.basis if basis is None else basis
