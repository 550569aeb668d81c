"""The standard form that interior-point methods solve, and the way back to the program as given.

Equilibrated as by Ruiz, *A scaling algorithm to equilibrate both rows and columns norms in matrices*,
RAL-TR-2001-034, by powers of two, so that no digit is lost.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem import LinearProgram, Matrix, sp

Vector = NDArray[np.float64]
_EVEN = 0.1  # rows and columns whose sizes differ from one by less are not scaled further


@dataclass(frozen=True)
class Standard:
    """minimize c x subject to A x + diag(sign) t = b, x >= 0 or free, x <= upper, 0 <= t <= slack_upper.

    ``sign`` (m,) is 1 or -1 where a row has a slack, which then enters that row alone, and 0 where it has none.
    """

    A: Matrix
    b: Vector
    c: Vector
    upper: Vector
    free: NDArray[np.bool_]
    sign: Vector
    slack_upper: Vector

    @property
    def m(self) -> int:
        """Rows."""
        return int(self.b.size)

    @property
    def n(self) -> int:
        """Variables without slacks."""
        return int(self.c.size)


@dataclass(frozen=True)
class NoOptimum:
    """A program that empty rows or columns decide: ``status`` is "infeasible" or "unbounded", with a certificate."""

    status: str
    reason: str
    farkas: Vector | None = None
    ray: Vector | None = None


@dataclass
class Prepared:
    """The standard form of a program, and what leads back from its points."""

    problem: LinearProgram
    standard: Standard
    rows: NDArray[np.int64]  # what is left of the program's rows and variables
    columns: NDArray[np.int64]
    values: Vector  # (problem.n,): values of the variables that were removed
    column_scale: Vector  # (standard.n,): A variable is `column_shift + column_scale * x`
    column_shift: Vector
    row_scale: Vector  # (standard.m,): A row's dual is `row_scale * y`
    removed: dict[str, int] = field(default_factory=dict)  # what was removed, and how many of it

    def from_standard(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """Values (n,) and row duals (m,) of the program."""
        values = self.values.copy()
        values[self.columns] = self.column_shift + self.column_scale * x
        values = np.clip(values, self.problem.lower, self.problem.upper)
        return values, self.duals(y)

    def to_standard(self, x: Vector, y: Vector | None) -> tuple[Vector, Vector | None]:
        """The inverse of :meth:`from_standard`: values of the variables, then of the slacks, and duals of the rows."""
        standard = self.standard
        values = (x[self.columns] - self.column_shift) / self.column_scale
        slacks = (standard.sign * (standard.b - np.asarray(standard.A @ values)))[standard.sign != 0.0]
        return np.concatenate([values, slacks]), None if y is None else y[self.rows] / self.row_scale

    def duals(self, y: Vector) -> Vector:
        """Row duals of the program (m,), for minimization; or a Farkas ray."""
        duals = np.zeros(self.problem.m)
        duals[self.rows] = self.row_scale * y
        missing = (duals > 0) & np.isneginf(self.problem.row_lower) | (duals < 0) & np.isposinf(self.problem.row_upper)
        duals[missing] = 0.0  # a side that does not exist has no price: rounding errors go to the reduced costs
        return duals

    def ray(self, x: Vector) -> Vector:
        """A direction of the program (n,)."""
        direction = np.zeros(self.problem.n)
        direction[self.columns] = self.column_scale * x
        return direction


def prepare(problem: LinearProgram, *, scale: bool = True) -> Prepared | NoOptimum:
    """Bring a program into standard form, or find that it has no optimum."""
    c = -problem.c if problem.maximize else problem.c.copy()
    rows = ~(np.isneginf(problem.row_lower) & np.isposinf(problem.row_upper))
    removed = {"rows without sides": int((~rows).sum())}
    fixed = problem.lower >= problem.upper
    values = np.where(fixed, 0.5 * (np.where(fixed, problem.lower, 0.0) + np.where(fixed, problem.upper, 0.0)), 0.0)
    columns = ~fixed
    removed["fixed variables"] = int(fixed.sum())
    activity = np.asarray(problem.A @ values) if values.any() else np.zeros(problem.m)
    found = _empty_rows(problem, rows & ~_used(problem.A, columns), activity)
    if isinstance(found, NoOptimum):
        return found
    rows &= ~found
    removed["empty rows"] = int(found.sum())
    empty = columns & ~_used(problem.A.T, rows)
    target = np.where(c > 0, problem.lower, np.where(c < 0, problem.upper, np.clip(0.0, problem.lower, problem.upper)))
    unbounded = empty & ~np.isfinite(target)
    if unbounded.any() and not rows.any():  # otherwise the rows have to be feasible, too
        j = int(np.argmax(unbounded))
        ray = np.zeros(problem.n)
        ray[j] = -np.sign(c[j])
        return NoOptimum("unbounded", f"variable {j} is in no row and its cost decreases without bound", ray=ray)
    gone = empty & np.isfinite(target)
    values[gone] = target[gone]
    columns &= ~gone
    removed["empty columns"] = int(gone.sum())
    kept = np.flatnonzero(rows), np.flatnonzero(columns)
    return _standardized(problem, c, *kept, values, scale, {what: count for what, count in removed.items() if count})


def _used(matrix: Matrix, lines: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which rows of a matrix have an entry in some of its columns."""
    if sp.issparse(matrix):
        pattern = sp.csr_array(matrix != 0.0).astype(np.int64)
        return np.asarray(pattern @ lines.astype(np.int64) > 0)
    found = np.zeros(matrix.shape[0], bool)
    columns = np.flatnonzero(lines)
    for begin in range(0, columns.size, 64):  # of most matrices the first columns are enough
        missing = np.flatnonzero(~found)
        if not missing.size:
            break
        chosen = columns[begin : begin + 64]
        block = matrix[:, chosen] if missing.size == found.size else matrix[np.ix_(missing, chosen)]
        found[missing] = (block != 0.0).any(axis=1)
    return found


def _empty_rows(problem: LinearProgram, empty: NDArray[np.bool_], activity: Vector) -> NDArray[np.bool_] | NoOptimum:
    slack = problem.empty_row_slack + 1e-9 * np.abs(activity)
    broken = empty & ((activity < problem.row_lower - slack) | (activity > problem.row_upper + slack))
    if not broken.any():
        return empty
    row = int(np.argmax(broken))
    farkas = np.zeros(problem.m)
    farkas[row] = 1.0 if activity[row] < problem.row_lower[row] else -1.0
    return NoOptimum("infeasible", f"row {row} cannot be satisfied within the bounds", farkas=farkas)


def _standardized(
    problem: LinearProgram,
    c: Vector,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: Vector,
    scale: bool,
    removed: dict[str, int],
) -> Prepared:
    """Shift, add slacks, equilibrate what is left."""
    activity = (np.asarray(problem.A @ values) if values.any() else np.zeros(problem.m))[rows]
    matrix = _submatrix(problem.A, rows, columns)
    lower, upper, c = problem.lower[columns], problem.upper[columns], c[columns]
    mirrored = np.isneginf(lower) & np.isfinite(upper)
    free = np.isneginf(lower) & np.isposinf(upper)
    shift = np.where(free, 0.0, np.where(mirrored, upper, lower))
    row_scale, column_scale = np.ones(rows.size), np.ones(columns.size)
    if scale and rows.size and columns.size:
        row_scale, column_scale = equilibrate(matrix)
    column_scale = column_scale * np.where(mirrored, -1.0, 1.0)
    shifted = np.asarray(matrix @ shift) if shift.any() else np.zeros(rows.size)
    low, high = problem.row_lower[rows] - activity - shifted, problem.row_upper[rows] - activity - shifted
    from_above = np.isfinite(high)
    b = np.where(from_above, high, low) * row_scale
    equal = low == high
    sign = np.where(equal, 0.0, np.where(from_above, 1.0, -1.0))
    with np.errstate(invalid="ignore"):
        slack_upper = np.where(equal, np.inf, np.where(from_above, high - low, np.inf)) * row_scale
        top = np.where(free | mirrored, np.inf, upper - lower) / np.abs(column_scale)
    if np.any(row_scale != 1.0) or np.any(column_scale != 1.0):
        if isinstance(matrix, sp.csr_array):
            matrix = sp.csr_array(sp.diags_array(row_scale) @ matrix @ sp.diags_array(column_scale))
        else:
            matrix = matrix * row_scale[:, None]
            matrix *= column_scale
    standard = Standard(matrix, b, c * column_scale, top, free, sign, slack_upper)
    return Prepared(problem, standard, rows, columns, values, column_scale, shift, row_scale, removed)


def _submatrix(matrix: Matrix, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Matrix:
    """Some rows and columns; the whole matrix is not copied."""
    if (rows.size, columns.size) == matrix.shape:
        return matrix
    return sp.csr_array(matrix)[rows][:, columns] if sp.issparse(matrix) else np.asarray(matrix)[np.ix_(rows, columns)]


def equilibrate(matrix: Matrix, passes: int = 12) -> tuple[Vector, Vector]:
    """Powers of two that bring the largest entry of every row and column near one."""
    if isinstance(matrix, sp.csr_array):
        rows, columns = even_out(matrix, sp.csr_array(matrix.T), passes)
        return np.exp2(np.round(np.log2(rows))), np.exp2(np.round(np.log2(columns)))
    m, n = matrix.shape
    rows, columns = np.ones(m), np.ones(n)
    in_rows, in_columns = _largest(matrix, axis=1), _largest(matrix, axis=0)
    for turn in range(passes):
        if turn:
            scaled = np.abs(matrix) * rows[:, None] * columns
            in_rows, in_columns = scaled.max(axis=1), scaled.max(axis=0)
        if in_rows.min() > 0.25 and in_columns.min() > 0.25 and in_rows.max() < 64 and in_columns.max() < 64:
            break
        rows /= np.sqrt(np.where(in_rows > 0, in_rows, 1.0))
        columns /= np.sqrt(np.where(in_columns > 0, in_columns, 1.0))
    return np.exp2(np.round(np.log2(rows))), np.exp2(np.round(np.log2(columns)))


def even_out(
    matrix: Any, transposed: Any, passes: int, poll: Callable[[], None] = lambda: None
) -> tuple[Vector, Vector]:
    """Factors that bring the largest entry of every row and column of a sparse matrix near one (Ruiz)."""
    m, n = matrix.shape
    rows, columns = np.ones(m), np.ones(n)
    by_row, by_column = np.abs(matrix.data), np.abs(transposed.data)
    for _ in range(passes):
        poll()
        in_rows = _segment_max(by_row * columns[matrix.indices], matrix.indptr, rows)
        in_columns = _segment_max(by_column * rows[transposed.indices], transposed.indptr, columns)
        if max(np.abs(values - 1.0).max(initial=0.0) for values in (in_rows, in_columns)) < _EVEN:
            break
        rows /= np.sqrt(in_rows)
        columns /= np.sqrt(in_columns)
    return rows, columns


def _largest(matrix: Vector, axis: int) -> Vector:
    """The largest size of an entry along an axis, without a copy of the matrix."""
    return np.asarray(np.maximum(matrix.max(axis=axis), -matrix.min(axis=axis)))


def _segment_max(values: Vector, starts: NDArray[np.integer], factors: Vector) -> Vector:
    """The largest value of each segment times its factor, 1 for an empty one."""
    out = np.ones(factors.size)
    filled = np.flatnonzero(np.diff(starts) > 0)
    if filled.size:
        out[filled] = np.maximum.reduceat(values, starts[:-1][filled]) * factors[filled]
    return np.where(out > 0.0, out, 1.0)


@dataclass(frozen=True)
class ShardData:
    """Columns, then slacks (N,), of a standard form of m rows: slack i has ``slack_signs[i]`` in ``slack_rows[i]``."""

    A: Matrix
    c: Vector
    upper: Vector
    free: NDArray[np.bool_]
    slack_rows: NDArray[np.int64]
    slack_signs: Vector
    m: int

    @property
    def n(self) -> int:
        """Columns of A."""
        return int(self.A.shape[1])

    @property
    def N(self) -> int:
        """Columns and slacks."""
        return int(self.c.size)


def shard_data(program: Standard, elastic: bool = False) -> ShardData:
    """A program for the devices, slacks ordered by rows; with ``elastic`` every row may lack something, at a cost."""
    slack_rows = np.flatnonzero(program.sign)
    signs, tops, costs = program.sign[slack_rows], program.slack_upper[slack_rows], np.zeros(slack_rows.size)
    if elastic:
        m, rows = program.m, np.arange(program.m)
        slack_rows = np.concatenate([slack_rows, rows, rows])
        order = np.argsort(slack_rows, kind="stable")
        slack_rows, signs = slack_rows[order], np.concatenate([signs, np.ones(m), -np.ones(m)])[order]
        tops, costs = (
            np.concatenate(pair)[order] for pair in ((tops, np.full(2 * m, np.inf)), (costs, np.ones(2 * m)))
        )
    return ShardData(
        A=program.A,
        c=np.concatenate([program.c, costs]),
        upper=np.concatenate([program.upper, tops]),
        free=np.concatenate([program.free, np.zeros(costs.size, bool)]),
        slack_rows=slack_rows.astype(np.int64),
        slack_signs=signs,
        m=program.m,
    )


def cut(data: ShardData, ends: list[int]) -> list[ShardData]:
    """The columns of A cut at ``ends``; the slacks stay with the first part."""
    parts = []
    for begin, end in itertools.pairwise([0, *ends]):
        columns, keep = np.arange(begin, end), slice(0, 0)
        if begin == 0:
            columns, keep = np.concatenate([columns, np.arange(data.n, data.N)]), slice(None)
        vectors = {name: getattr(data, name)[columns] for name in ("c", "upper", "free")}
        slacks = {name: getattr(data, name)[keep] for name in ("slack_rows", "slack_signs")}
        parts.append(ShardData(A=data.A[:, begin:end], m=data.m, **vectors, **slacks))
    return parts


def with_slacks(data: ShardData) -> Any:
    """The sparse A with the columns of its slacks."""
    matrix, slacks = sp.csr_array(data.A), data.N - data.n
    if not slacks:
        return matrix
    places = data.slack_rows, np.arange(slacks)
    return sp.hstack([matrix, sp.csr_array((data.slack_signs, places), shape=(data.m, slacks))])
