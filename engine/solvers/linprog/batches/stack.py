"""Dense linear programs of equal shape as stacked arrays: standard forms and audits of all of them at once.

A batch of thousands of small programs takes less time on a device than one NumPy call after another for each of them.
What is computed here is that of :mod:`engine.solvers.linprog.forms.standard` and
:mod:`engine.solvers.linprog.verification.audit`; programs with anything unusual are left to them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.solvers.linprog.forms.standard import Prepared, Standard
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.verification.audit import Audit, objective_size
from engine.solvers.linprog.verification.outcome import AuditedPoint

__all__ = ["Stack"]

Vector = NDArray[np.float64]
_CHUNK = 1 << 22  # elements of the matrices that are worked on at a time
_CLEAR = 1e-8  # relative violations up to which a program need not be audited alone
_BLOCK = 32  # columns whose products are added without compensation


@dataclass
class Stack:
    """k programs of m rows and n variables, as minimizations.

    Attributes
    ----------
    problems : sequence of LinearProgram
    A : ndarray, shape (k, m, n)
    c, lower, upper : ndarray, shape (k, n)
    row_lower, row_upper : ndarray, shape (k, m)
    column_scale, column_shift : ndarray, shape (k, n)
        Of the standard forms; see :class:`~engine.solvers.linprog.forms.standard.Prepared`.
    row_scale : ndarray, shape (k, m)
    """

    problems: Sequence[LinearProgram]

    def __post_init__(self) -> None:
        problems = self.problems
        self.A = np.stack([problem.A for problem in problems])
        self.c = np.stack([-problem.c if problem.maximize else problem.c for problem in problems])
        self.lower, self.upper = (np.stack([getattr(p, name) for p in problems]) for name in ("lower", "upper"))
        self.row_lower = np.stack([problem.row_lower for problem in problems])
        self.row_upper = np.stack([problem.row_upper for problem in problems])
        self.row_scale, self.column_scale = np.ones(self.row_lower.shape), np.ones(self.c.shape)
        self.column_shift = np.zeros(self.c.shape)

    def _chunks(self, count: int) -> Iterator[slice]:
        step = max(1, _CHUNK // max(1, self.A[0].size))
        for begin in range(0, count, step):
            yield slice(begin, min(begin + step, count))

    # --- standard forms -----------------------------------------------------------------------------------------

    def prepared(self, scale: bool) -> list[Prepared | None]:
        """The standard form of each program; None for one of which rows or variables have to be removed."""
        found: list[Prepared | None] = []
        for chunk in self._chunks(len(self.problems)):
            found += self._prepared(chunk, scale)
        return found

    def _prepared(self, chunk: slice, scale: bool) -> list[Prepared | None]:
        a, lower, upper = self.A[chunk], self.lower[chunk], self.upper[chunk]
        low, high = self.row_lower[chunk], self.row_upper[chunk]
        sizes = np.abs(a)
        in_rows, in_columns = sizes.max(axis=2), sizes.max(axis=1)
        usual = (in_rows > 0.0).all(axis=1) & (in_columns > 0.0).all(axis=1) & (lower < upper).all(axis=1)
        usual &= ~(np.isneginf(low) & np.isposinf(high)).any(axis=1)
        if scale:
            near = (in_rows.min(axis=1) > 0.25) & (in_columns.min(axis=1) > 0.25)
            usual &= near & (in_rows.max(axis=1) < 64.0) & (in_columns.max(axis=1) < 64.0)
        mirrored = np.isneginf(lower) & np.isfinite(upper)
        free = np.isneginf(lower) & np.isposinf(upper)
        shift = self.column_shift[chunk] = np.where(free, 0.0, np.where(mirrored, upper, lower))
        signs = self.column_scale[chunk] = np.where(mirrored, -1.0, 1.0)
        shifted = np.matmul(a, shift[:, :, None])[:, :, 0]
        low, high = low - shifted, high - shifted
        from_above, equal = np.isfinite(high), low == high
        b = np.where(from_above, high, low)
        sign = np.where(equal, 0.0, np.where(from_above, 1.0, -1.0))
        with np.errstate(invalid="ignore"):
            slack_upper = np.where(equal, np.inf, np.where(from_above, high - low, np.inf))
            top = np.where(free | mirrored, np.inf, upper - lower)
        matrices = a * signs[:, None, :] if mirrored.any() else a
        costs = self.c[chunk] * signs
        rows, columns = np.arange(a.shape[1]), np.arange(a.shape[2])
        nothing = np.zeros(a.shape[2])
        return [
            Prepared(
                problem=self.problems[chunk.start + k],
                standard=Standard(matrices[k], b[k], costs[k], top[k], free[k], sign[k], slack_upper[k]),
                rows=rows,
                columns=columns,
                values=nothing,
                column_scale=signs[k],
                column_shift=shift[k],
                row_scale=self.row_scale[chunk.start + k],
            )
            if usual[k]
            else None
            for k in range(a.shape[0])
        ]

    # --- audits -------------------------------------------------------------------------------------------------

    def audited(self, chosen: NDArray[np.int64], x: Vector, y: Vector) -> list[AuditedPoint]:
        """Audits of points of the standard forms of some programs: x (count, n), y (count, m)."""
        found: list[AuditedPoint] = []
        for chunk in self._chunks(chosen.size):
            found += self._audited(chosen[chunk], x[chunk], y[chunk])
        return found

    def _audited(self, chosen: NDArray[np.int64], x: Vector, y: Vector) -> list[AuditedPoint]:
        lower, upper, costs = self.lower[chosen], self.upper[chosen], self.c[chosen]
        low, high, a = self.row_lower[chosen], self.row_upper[chosen], self.A[chosen]
        x = np.clip(self.column_shift[chosen] + self.column_scale[chosen] * x, lower, upper)
        y = self.row_scale[chosen] * y
        y = np.where((y > 0) & np.isneginf(low) | (y < 0) & np.isposinf(high), 0.0, y)
        with np.errstate(over="ignore", invalid="ignore"):
            activities, reduced = _products(a, x), costs - _products(a.transpose(0, 2, 1), y)
            row_side, column_side = _sides(y, low, high), _sides(reduced, lower, upper)
            below = np.maximum(np.maximum(low - activities, activities - high), 0.0)
            crossed = np.where(activities > high, high, low)
            crossed = np.abs(np.where(np.isfinite(crossed), crossed, 0.0))
            priceless = ~np.isfinite(np.where(reduced > 0, lower, upper)) & (reduced != 0.0)
            wrong = np.where(priceless, np.abs(reduced), 0.0)
            mismatch = (np.abs(y) * np.abs(activities - row_side)).sum(axis=1)
            mismatch += (np.abs(reduced) * np.abs(x - column_side)).sum(axis=1)
            terms = np.abs(costs * x).sum(axis=1)
            # relative to sides and costs alone: never less than what the single audit finds
            primal_error, dual_error = _largest_quotient(below, crossed), _largest_quotient(wrong, np.abs(costs))
            clear = (np.maximum(primal_error, dual_error) <= _CLEAR) & np.isfinite(mismatch)
        points = []
        for k, position in enumerate(chosen.tolist()):
            problem = self.problems[position]
            if not clear[k]:
                points.append(AuditedPoint.of(problem, x[k], y[k]))
                continue
            offset = -problem.offset if problem.maximize else problem.offset
            primal = math.fsum((costs[k] * x[k]).tolist()) + offset
            dual = math.fsum([*(y[k] * row_side[k]).tolist(), *(reduced[k] * column_side[k]).tolist()]) + offset
            size = objective_size(primal, dual, offset, float(terms[k]), problem)
            errors = float(mismatch[k]) / size, float(primal_error[k]), float(dual_error[k])
            points.append(AuditedPoint(x[k], y[k], Audit(primal, dual, *errors, activities[k], reduced[k], size)))
        return points


def _sides(duals: Vector, low: Vector, high: Vector) -> Vector:
    """The side that each dual prices; 0 where there is none."""
    side = np.where(duals > 0, low, high)
    return np.where(np.isfinite(side), side, 0.0)


def _largest_quotient(violations: Vector, sizes: Vector) -> Vector:
    """The largest violation of each program relative to its size."""
    there = violations > 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(there, violations / np.where(there, sizes, 1.0), 0.0).max(axis=1, initial=0.0))


def _products(matrices: Vector, vectors: Vector) -> Vector:
    """``A v`` of each program: blocks of columns, whose sums are added with their rounding errors."""
    total = np.zeros(matrices.shape[:2])
    error = np.zeros(matrices.shape[:2])
    for begin in range(0, matrices.shape[2], _BLOCK):
        part = np.matmul(matrices[:, :, begin : begin + _BLOCK], vectors[:, begin : begin + _BLOCK, None])[:, :, 0]
        before, total = total, total + part
        virtual = total - before
        error += (before - (total - virtual)) + (part - virtual)
    return np.asarray(total + error)
