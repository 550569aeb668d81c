"""The arguments of a linear program, converted to arrays and checked."""

import importlib
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ProblemError
from ...formats.linear_program import INFINITY
from ...util.text import array_fault


class _Sparse:
    """The module ``scipy.sparse``, imported when one of its names is first used."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(importlib.import_module("scipy.sparse"), name)
        setattr(self, name, found)
        return found


sp: Any = _Sparse()
"""SciPy's sparse arrays, untyped: type stubs for SciPy may be missing."""

Matrix = Any
"""A dense float64 array, or a ``scipy.sparse.csr_array``."""
Vector = NDArray[np.float64]


class _SparseLike(Protocol):
    """What ``scipy.sparse`` has."""

    def tocsr(self) -> Any: ...


MatrixLike = ArrayLike | _SparseLike
"""A dense or sparse matrix, as an argument."""
BoundsLike = ArrayLike | Sequence[float | None] | Sequence[Sequence[float | None]]
"""A pair of bounds, or one for each variable; None is no bound."""


def vector(values: ArrayLike, noun: str) -> Vector:
    """A one-dimensional array of numbers, none of them NaN."""
    if values is None or sp.issparse(values):
        raise ProblemError(f"{noun} must be a dense array of numbers; got {_kind(values)}")
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError) as error:
        raise ProblemError(f"{noun} must be an array of numbers: {array_fault(values, error)}") from error
    if array.ndim == 2 and 1 in array.shape:  # SciPy takes these too
        array = array.reshape(-1)
    if array.ndim > 1:
        raise ProblemError(f"{noun} must be one-dimensional; got an array of shape {array.shape}")
    array = np.atleast_1d(array)
    if np.isnan(array).any():
        raise ProblemError(f"entry {int(np.argmax(np.isnan(array)))} of {noun} is NaN")
    return array


def infinite_from(values: Vector) -> Vector:
    """Bounds or sides, with infinity in place of what is 1e20 or more by size, as in files."""
    huge = np.abs(values) >= INFINITY
    return np.where(huge, np.copysign(np.inf, values), values) if huge.any() else values


def side(matrix: Any, sides: ArrayLike | None, n: int, suffix: str) -> tuple[Matrix, Vector]:
    """A matrix and its right-hand sides, checked; none of them is no rows."""
    if matrix is None and sides is None:
        return np.zeros((0, n)), np.zeros(0)
    if matrix is None or sides is None:
        given, absent = (f"b_{suffix}", f"A_{suffix}") if matrix is None else (f"A_{suffix}", f"b_{suffix}")
        other = np.size(sides) if matrix is None else int(np.prod(np.shape(matrix)))  # type: ignore[arg-type]
        if other == 0:
            return np.zeros((0, n)), np.zeros(0)
        raise ProblemError(f"{given} is given without {absent}")
    kept: Matrix
    if sp.issparse(matrix):
        if not (np.issubdtype(matrix.dtype, np.number) or matrix.dtype == bool) or matrix.dtype.kind == "c":
            raise ProblemError(f"A_{suffix} must be a matrix of real numbers; got one of {matrix.dtype}")
        kept = sp.csr_array(matrix, dtype=np.float64)
    else:
        try:
            kept = np.array(matrix, np.float64)
        except (TypeError, ValueError) as error:
            raise ProblemError(f"A_{suffix} must be a matrix of numbers: {array_fault(matrix, error)}") from error
        if kept.size == 0 and kept.ndim < 2:
            kept = kept.reshape(0, n)
        elif kept.ndim == 1:
            kept = kept.reshape(1, -1)
    if kept.ndim != 2 or kept.shape[1] != n:
        raise ProblemError(f"A_{suffix} must have {n} columns, as many as c has costs; got shape {kept.shape}")
    require_finite(kept, f"A_{suffix}")
    values = vector(sides, f"b_{suffix}")
    if values.size != kept.shape[0]:
        raise ProblemError(
            f"b_{suffix} must have one entry for each of the {kept.shape[0]} rows of A_{suffix}; got {values.size}"
        )
    return kept, values


def _kind(value: Any) -> str:
    return "None" if value is None else f"a sparse array of shape {value.shape}"


def require_finite(matrix: Matrix, noun: str) -> None:
    """Refuse the first entry, by rows, that is NaN or infinite."""
    values = matrix.data if sp.issparse(matrix) else matrix
    if np.isfinite(values).all():
        return
    if sp.issparse(matrix):
        place = int(np.argmin(np.isfinite(values)))
        row, column = int(np.searchsorted(matrix.indptr, place, side="right")) - 1, int(matrix.indices[place])
        value = values[place]
    else:
        row, column = (int(index) for index in np.argwhere(~np.isfinite(values))[0])
        value = values[row, column]
    raise ProblemError(f"{noun} must be finite; got {value} in row {row}, column {column}")


def stacked(upper: Matrix, equal: Matrix) -> Matrix:
    """Two matrices, one above the other: sparse if one is."""
    if sp.issparse(upper) or sp.issparse(equal):
        return sp.csr_array(sp.vstack([sp.csr_array(upper), sp.csr_array(equal)], format="csr"))
    return np.concatenate([np.asarray(upper), np.asarray(equal)])


def bounds_of(bounds: Any, n: int) -> tuple[Vector, Vector]:
    """Lower and upper bounds from one pair or one a variable."""
    if bounds is None or (isinstance(bounds, (list, tuple)) and len(bounds) == 0):
        bounds = (0, None)
    if isinstance(bounds, str):
        raise ProblemError(f"bounds must be pairs of numbers or None; got the text '{bounds}'")
    if isinstance(bounds, np.ndarray) and bounds.dtype.kind in "fiu" and bounds.shape == (n, 2):
        if np.isnan(bounds).any():
            raise ProblemError(f"a bound of variable {int(np.argmax(np.isnan(bounds).any(axis=1)))} is NaN")
        return bounds[:, 0].astype(np.float64), bounds[:, 1].astype(np.float64)
    pairs = bounds if np.ndim(np.array(bounds, object)) == 2 else [bounds]
    try:
        rows = [[np.nan if entry is None else entry for entry in np.ravel(np.array(pair, object))] for pair in pairs]
        array = np.array(rows, np.float64)
    except (TypeError, ValueError) as error:
        raise ProblemError(f"bounds must be pairs of numbers or None: {array_fault(bounds, error)}") from error
    if array.shape == (2, n) and n != 2:
        raise ProblemError(f"bounds must be a pair, or {n} pairs (shape ({n}, 2)); got shape {array.shape}")
    if array.shape not in ((n, 2), (1, 2)):
        raise ProblemError(
            f"bounds must be a pair (low, high), or one for each of {n} variables; got an array of shape {array.shape}"
        )
    absent = np.array([[entry is None for entry in pair] for pair in pairs])
    array, absent = (np.broadcast_to(part, (n, 2)) for part in (array, absent))
    wrong = ~absent & np.isnan(array)
    if wrong.any():
        raise ProblemError(f"a bound of variable {int(np.argmax(wrong.any(axis=1)))} is NaN")
    lower = np.where(np.isnan(array[:, 0]), -np.inf, array[:, 0])
    upper = np.where(np.isnan(array[:, 1]), np.inf, array[:, 1])
    return lower, upper
