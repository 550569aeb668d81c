"""What happens to a linear program before the interior-point method sees it.

After :mod:`engine.solvers.linprog.presolve` every variable gets a lower bound of zero if it has a bound at all, every
inequality a slack, and the matrix is equilibrated (Ruiz, *A scaling algorithm to equilibrate both rows and columns
norms in matrices*, RAL-TR-2001-034) by powers of two, so that it loses no digit.

A point of the prepared program goes back to values and row duals of the original one
(:class:`~engine.solvers.linprog.standard.Prepared`); reduced costs follow from these
(:mod:`engine.solvers.linprog.audit`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.solvers.linprog.presolve import Shrinking
from engine.solvers.linprog.problem import LinearProgram, Matrix
from engine.solvers.linprog.sparse import sp
from engine.solvers.linprog.standard import Prepared, Settled, Standard

__all__ = ["Prepared", "Settled", "Standard", "prepare"]

Vector = NDArray[np.float64]


def prepare(problem: LinearProgram, *, presolve: bool = True, scale: bool = True) -> Prepared | Settled:
    """Reduce a program to standard form, or find that it has no optimum.

    Parameters
    ----------
    problem : LinearProgram
    presolve, scale : bool
        Whether to remove what can be, and to equilibrate.
    """
    work = Shrinking(problem)
    found = work.reduce(presolve)
    if found is not None:
        return found
    return _finished(work, scale)


def _finished(work: Shrinking, scale: bool) -> Prepared:
    """Shift, add slacks, equilibrate."""
    rows, columns = np.flatnonzero(work.rows), np.flatnonzero(work.columns)
    activity = work.activity_of_fixed()[rows]
    matrix = work.left(rows, columns)
    lower, upper, c = work.lower[columns], work.upper[columns], work.c[columns]
    turned = np.isneginf(lower) & np.isfinite(upper)
    free = np.isneginf(lower) & np.isposinf(upper)
    shift = np.where(free, 0.0, np.where(turned, upper, lower))
    size = np.where(turned, -1.0, 1.0)
    row_scale, column_scale = np.ones(rows.size), np.ones(columns.size)
    if scale and rows.size and columns.size:
        row_scale, column_scale = _equilibrate(matrix)
    column_scale = column_scale * size
    moved = np.asarray(matrix @ shift) if shift.any() else np.zeros(rows.size)
    low, high = work.row_lower[rows] - activity - moved, work.row_upper[rows] - activity - moved
    from_above = np.isfinite(high)
    b = np.where(from_above, high, low) * row_scale
    equal = low == high
    sign = np.where(equal, 0.0, np.where(from_above, 1.0, -1.0))
    with np.errstate(invalid="ignore"):
        slack_upper = np.where(equal, np.inf, np.where(from_above, high - low, np.inf)) * row_scale
        top = np.where(free | turned, np.inf, upper - lower) / np.abs(column_scale)
    if np.any(row_scale != 1.0) or np.any(column_scale != 1.0):
        if isinstance(matrix, sp.csr_array):
            matrix = sp.csr_array(sp.diags_array(row_scale) @ matrix @ sp.diags_array(column_scale))
        else:
            matrix = matrix * row_scale[:, None]
            matrix *= column_scale
    standard = Standard(matrix, b, c * column_scale, top, free, sign, slack_upper)
    return Prepared(
        work.problem,
        standard,
        rows.astype(np.int64),
        columns.astype(np.int64),
        work.values,
        column_scale,
        shift,
        row_scale,
        work.bound_rows,
        work.removed,
    )


def _equilibrate(matrix: Matrix, passes: int = 12) -> tuple[Vector, Vector]:
    """Powers of two that bring the largest entry of every row and column near one."""
    m, n = matrix.shape
    rows, columns = np.ones(m), np.ones(n)
    if isinstance(matrix, sp.csr_array):
        size = abs(matrix)
        by_column = sp.csc_array(size)
        for _ in range(passes):
            in_rows = _segment_max(size.data * columns[size.indices], size.indptr, m) * rows
            in_columns = _segment_max(by_column.data * rows[by_column.indices], by_column.indptr, n) * columns
            rows /= np.sqrt(np.where(in_rows > 0, in_rows, 1.0))
            columns /= np.sqrt(np.where(in_columns > 0, in_columns, 1.0))
    else:
        for _ in range(passes):
            scaled = np.abs(matrix) * rows[:, None] * columns
            in_rows, in_columns = scaled.max(axis=1), scaled.max(axis=0)
            if in_rows.min() > 0.25 and in_columns.min() > 0.25 and in_rows.max() < 64 and in_columns.max() < 64:
                break
            rows /= np.sqrt(np.where(in_rows > 0, in_rows, 1.0))
            columns /= np.sqrt(np.where(in_columns > 0, in_columns, 1.0))
    return np.exp2(np.round(np.log2(rows))), np.exp2(np.round(np.log2(columns)))


def _segment_max(values: Vector, starts: NDArray[np.integer], count: int) -> Vector:
    """The greatest value of each segment, 0 for an empty one."""
    out = np.zeros(count)
    filled = np.flatnonzero(np.diff(starts) > 0)
    if filled.size:
        out[filled] = np.maximum.reduceat(values, starts[:-1][filled])
    return out
