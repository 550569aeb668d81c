"""The scaling of the primal-dual hybrid gradient method, and the way back."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices.host import host_cores
from ....numerics.blas_threads import one_thread
from ..problem import LinearProgram, sp
from .standard import even_out

Vector = NDArray[np.float64]
_RUIZ_PASSES = 10
_NORM_STEPS, _NORM_MARGIN = 20, 0.02  # 14 programs of all kinds: 0.6 % at most were lacking
_NO_LENGTH = 1e-12
_THREADS = 8
_STRIP_NONZEROS = 250_000  # least of a strip of rows that a thread of its own multiplies


@dataclass(frozen=True)
class ScaledProgram:
    """A scaled program: ``x = column_scale * x_scaled / bound_scale``, ``y = row_scale * y_scaled / cost_scale``."""

    rows: Any
    columns: Any
    c: Vector
    lower: Vector
    upper: Vector
    row_lower: Vector
    row_upper: Vector
    row_scale: Vector
    column_scale: Vector
    bound_scale: float
    cost_scale: float
    norm: float
    cost_norm: float
    side_norm: float
    offset: float

    def scale_point(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """A point of the program as given in scaled units."""
        return x / self.column_scale * self.bound_scale, y / self.row_scale * self.cost_scale

    def unscale_point(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """The inverse of :meth:`scale_point`."""
        return x * self.column_scale / self.bound_scale, y * self.row_scale / self.cost_scale


def scaled(problem: LinearProgram, poll: Callable[[], None] = lambda: None) -> ScaledProgram:
    """Scale a program, as a minimization, by Ruiz's and Pock and Chambolle's scaling (alpha = 1), then by its sizes."""
    sign = -1.0 if problem.maximize else 1.0
    rows = sp.csr_array(problem.A, dtype=np.float64)
    columns = sp.csr_array(rows.T)
    row_scale, column_scale = even_out(rows, columns, _RUIZ_PASSES, poll)
    row_sums = (abs(rows) @ column_scale) * row_scale
    column_sums = (abs(columns) @ row_scale) * column_scale
    row_scale, column_scale = row_scale / np.sqrt(_or_one(row_sums)), column_scale / np.sqrt(_or_one(column_sums))
    rows, columns = _times(rows, row_scale, column_scale), _times(columns, column_scale, row_scale)
    c = sign * problem.c * column_scale
    lower, upper = problem.lower / column_scale, problem.upper / column_scale
    row_lower, row_upper = problem.row_lower * row_scale, problem.row_upper * row_scale
    bound_scale = 1.0 / (1.0 + _side_norm(row_lower, row_upper))
    cost_scale = 1.0 / (1.0 + _norm(c))
    return ScaledProgram(
        rows=rows,
        columns=columns,
        c=c * cost_scale,
        lower=lower * bound_scale,
        upper=upper * bound_scale,
        row_lower=row_lower * bound_scale,
        row_upper=row_upper * bound_scale,
        row_scale=row_scale,
        column_scale=column_scale,
        bound_scale=bound_scale,
        cost_scale=cost_scale,
        norm=_norm_bound(rows, columns),
        cost_norm=_norm(problem.c),
        side_norm=_side_norm(problem.row_lower, problem.row_upper),
        offset=sign * problem.offset,
    )


def _times(matrix: Any, rows: Vector, columns: Vector) -> Any:
    values = matrix.data * np.repeat(rows, np.diff(matrix.indptr)) * columns[matrix.indices]
    return sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _or_one(values: Vector) -> Vector:
    return np.where(values > 0.0, values, 1.0)


def _side_norm(lower: Vector, upper: Vector) -> float:
    """Euclidean norm of the larger finite side of each row."""
    sides = np.maximum(
        np.where(np.isfinite(lower), np.abs(lower), 0.0), np.where(np.isfinite(upper), np.abs(upper), 0.0)
    )
    return _norm(sides)


def _norm(values: Vector) -> float:
    """Euclidean norm; of huge numbers, whose squares overflow, the largest size times their number, at most 1e300."""
    largest = float(np.abs(values).max(initial=0.0))
    return float(np.linalg.norm(values)) if largest < 1e150 else min(largest * values.size, 1e300)


def _norm_bound(rows: Any, columns: Any) -> float:
    """A bound of the largest singular value, at most 1 after Pock and Chambolle's scaling, by Golub and Kahan's steps.

    A step size beyond the inverse of the norm makes the method cycle, so that what the steps may lack is added.
    """
    m, n = rows.shape
    v, u, beta, diagonal, beside = np.random.default_rng(0).standard_normal(n), np.zeros(m), 0.0, [], []
    v /= max(_norm(v), 1.0)
    with one_thread(), ThreadPoolExecutor(_THREADS, "quintet-norm") as threads:  # for the products alone
        by_rows, by_columns = (_strips(some, threads) for some in (rows, columns))
        for _ in range(_NORM_STEPS):
            u = by_rows(v) - beta * u
            alpha = _norm(u)
            diagonal.append(alpha)
            if alpha < _NO_LENGTH:
                break
            u /= alpha
            v = by_columns(u) - alpha * v
            beta = _norm(v)
            beside.append(beta)
            if beta < _NO_LENGTH:
                break
            v /= beta
    found = float(np.linalg.norm(np.diag(diagonal) + np.diag(beside[: len(diagonal) - 1], 1), 2))
    return min(1.0, (1.0 + _NORM_MARGIN) * found) if found > 0.0 else 1.0


def _strips(matrix: Any, threads: ThreadPoolExecutor) -> Callable[[Vector], Vector]:
    """The product with a matrix, strips of its rows on threads if it is large; the same numbers as by one thread."""
    count = min(_THREADS, host_cores(), matrix.nnz // _STRIP_NONZEROS)
    if count < 2:
        return lambda v: np.asarray(matrix @ v)
    ends = np.searchsorted(matrix.indptr, np.linspace(0, matrix.nnz, count + 1)[1:-1]).tolist()
    strips = [matrix[begin:end] for begin, end in itertools.pairwise([0, *ends, matrix.shape[0]])]
    return lambda v: np.concatenate(list(threads.map(lambda strip: strip @ v, strips)))
