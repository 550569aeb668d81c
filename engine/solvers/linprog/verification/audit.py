"""Answers checked on the host against the program as given, by compensated products and exact sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..problem import LinearProgram, Matrix, sp
from .sums import exact_sum, greatest, product, term_sizes, transposed

Vector = NDArray[np.float64]

_LENIENT = 100.0  # rows whose entries are smaller than 1 / 100 of the unit have a smaller unit of their own
CANCELLED = 1e-5  # an objective smaller than this part of its terms is judged relative to them
ZERO_OBJECTIVE = 1e-6  # and one smaller than this part of the unit, relative to the unit
_TINY = float(np.finfo(float).tiny)
CLEAR = 1e-10  # violations below this part of a row's side, or of a column's cost, are not looked at again


@dataclass(frozen=True)
class Audit:
    """What a point and its row duals are worth for the original program, in the sense of minimization."""

    primal: float  # objectives of the point and of the duals
    dual: float
    # the sum of all products of a dual and the distance to what it prices, relative to the objective: at least the gap
    objective_error: float
    primal_infeasibility: float  # largest violation of a row or a bound, and of a dual's sign; see audit
    dual_infeasibility: float
    activities: Vector  # (m,)
    reduced_costs: Vector  # (n,)
    size: float  # what errors of the objective are relative to

    @property
    def gap(self) -> float:
        """Distance of the objectives relative to :attr:`size`."""
        return abs(self.primal - self.dual) / self.size

    @property
    def error(self) -> float:
        """The greatest of the objective's error and the infeasibilities; inf for NaN."""
        return greatest(self.objective_error, self.primal_infeasibility, self.dual_infeasibility)


@np.errstate(over="ignore", invalid="ignore")  # what overflows fails the audit
def audit(problem: LinearProgram, x: Vector, y: Vector) -> Audit:
    """Check a point and row duals, both in the sense of minimization.

    A violation is judged twice, and the larger figure counts. First relative to a unit (1, or less for smaller data:
    :attr:`LinearProgram.units`) plus the size of what is added up in the row or column. Then without any unit: relative
    to the side and what is added up there, or, if that is less, by what its repair may change the objective. The second
    figure does not change if the program is scaled; it finds violations of rows whose numbers are all tiny.
    """
    matrix = problem.handy_matrix
    costs = -problem.c if problem.maximize else problem.c
    offset = -problem.offset if problem.maximize else problem.offset
    activities = product(matrix, x)
    by_column = transposed(matrix)
    reduced = costs + product(by_column, -y)
    row_side = priced_sides(y, problem.row_lower, problem.row_upper)
    column_side = priced_sides(reduced, problem.lower, problem.upper)
    row_terms, row_wrong = priced(y, problem.row_lower, problem.row_upper)
    column_terms, column_wrong = priced(reduced, problem.lower, problem.upper)
    primal = exact_sum(costs * x) + offset
    dual = exact_sum(np.concatenate([row_terms, column_terms])) + offset
    value_unit, cost_unit = problem.units
    terms = float(np.abs(costs * x).sum())
    size = max(
        min(max(abs(primal), abs(dual)), max(abs(primal - offset), abs(dual - offset))),
        CANCELLED * (terms + abs(offset)),
        ZERO_OBJECTIVE * value_unit * cost_unit,
        _TINY,
    )
    mismatch = float((np.abs(y) * np.abs(activities - row_side)).sum())
    mismatch += float((np.abs(reduced) * np.abs(x - column_side)).sum())
    below, sides = violated(activities, problem.row_lower, problem.row_upper)
    outside = np.maximum(problem.lower - x, x - problem.upper)
    largest_sides = np.maximum(
        *(np.where(np.isfinite(side), np.abs(side), 0.0) for side in (problem.row_lower, problem.row_upper))
    )
    lines, values = _Lines(matrix, by_column, x, y, largest_sides, np.abs(costs)), value_unit + np.abs(x)
    clear = np.where(problem.row_sizes > 0.0, CLEAR * sides, problem.empty_row_slack)
    primal_error = greatest(
        _worst(below, row_units(value_unit, problem.row_sizes) + sides, lambda: term_sizes(matrix, x)),
        _worst(outside, values, None),
        _worst_of_row(below, sides, clear, lines, size),
    )
    dual_error = greatest(
        _worst(column_wrong, cost_unit + np.abs(costs), lambda: term_sizes(by_column, y)),
        _worst(row_wrong, np.full(y.size, cost_unit + np.abs(costs).max(initial=0.0)), None),
        _worst_of_column(column_wrong, np.abs(costs), lines, size),
    )
    return Audit(primal, dual, mismatch / size, primal_error, dual_error, activities, reduced, size)


@np.errstate(over="ignore", invalid="ignore")  # what overflows is not feasible
def infeasibility_of_sides(problem: LinearProgram, x: Vector) -> float:
    """Largest violation of a row or a bound, relative to the unit and the side or bound, however large the terms are.

    A proof that a program is unbounded needs a feasible point; one whose terms are so huge that any side is less than
    their rounding errors says nothing.
    """
    if not np.isfinite(x).all():
        return math.inf
    value_unit = problem.units[0]
    units = np.where(problem.row_sizes > 0.0, row_units(value_unit, problem.row_sizes), problem.side_unit)
    return greatest(
        _worst_side(product(problem.handy_matrix, x), problem.row_lower, problem.row_upper, units),
        _worst_side(x, problem.lower, problem.upper, np.full(problem.n, value_unit)),
    )


def _worst_side(values: Vector, low: Vector, high: Vector, units: Vector) -> float:
    violations, sides = violated(values, low, high)
    return _worst(violations, units + sides, None)


def row_units(value_units: float | Vector, row_sizes: Vector) -> Vector:
    """What violations of rows are relative to, for the units of values and the rows' largest entries; at most 1."""
    return np.clip(_LENIENT * value_units * row_sizes, 1e-300, 1.0)


def violated(values: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """How far each value is outside its sides, and the size of the side it breaks, else of the lower one."""
    sides = np.where(values > high, high, low)
    violations = np.maximum(np.maximum(low - values, values - high), 0.0)
    return violations, np.abs(np.where(np.isfinite(sides), sides, 0.0))


@dataclass(frozen=True)
class _Lines:
    """What the scale-free test of rows and columns is made from; its figures are computed where asked for."""

    rows: Matrix
    columns: Matrix
    x: Vector
    y: Vector
    sides: Vector
    costs: Vector

    def price(self, chosen: NDArray[np.int64]) -> Vector:
        """The largest price that these rows may have: what a change by one may cost if one variable makes it."""
        costs = self.costs + term_sizes(self.columns, self.y)
        return _largest_quotient(self.rows, chosen, costs)

    def value(self, chosen: NDArray[np.int64]) -> Vector:
        """The largest value that these variables may have: what makes one of their rows as large as its sides are."""
        return _largest_quotient(self.columns, chosen, self.sides + term_sizes(self.rows, self.x))


def _largest_quotient(matrix: Matrix, chosen: NDArray[np.int64], sizes: Vector) -> Vector:
    """The largest ``sizes[j] / |a_ij|`` over the entries of each chosen row; inf if it has none."""
    block = matrix[chosen]
    if isinstance(block, sp.csr_array):
        found = np.zeros(chosen.size)
        line = np.repeat(np.arange(chosen.size), np.diff(block.indptr))
        there = block.data != 0.0
        np.maximum.at(found, line[there], sizes[block.indices[there]] / np.abs(block.data[there]))
        return np.where(np.bincount(line[there], minlength=chosen.size) > 0, found, np.inf)
    entries = np.abs(np.asarray(block))
    found = (sizes / np.where(entries > 0.0, entries, np.inf)).max(axis=1, initial=0.0)
    return np.where((entries > 0.0).any(axis=1), found, np.inf)


def _worst_of_row(below: Vector, sides: Vector, clear: Vector, lines: _Lines, size: float) -> float:
    """The largest violation of a row relative to the row itself, or by what it may change the objective, if less."""
    chosen = np.flatnonzero(below > clear)
    if not chosen.size:
        return 0.0
    relative = below[chosen] / (sides[chosen] + term_sizes(lines.rows[chosen], lines.x) + 1e-300)
    return _least_of_both(relative, below[chosen], lambda: lines.price(chosen), size)


def _worst_of_column(wrong: Vector, costs: Vector, lines: _Lines, size: float) -> float:
    """The same for reduced costs of a wrong sign."""
    chosen = np.flatnonzero(wrong > CLEAR * costs)
    if not chosen.size:
        return 0.0
    relative = wrong[chosen] / (costs[chosen] + term_sizes(lines.columns[chosen], lines.y) + 1e-300)
    return _least_of_both(relative, wrong[chosen], lambda: lines.value(chosen), size)


def _least_of_both(relative: Vector, violations: Vector, worth: Callable[[], Vector], size: float) -> float:
    if float(relative.max()) <= CLEAR:
        return float(relative.max())
    change = violations * worth() / size
    return float(np.minimum(relative, change).max())


def priced_sides(duals: Vector, low: Vector, high: Vector) -> Vector:
    """The side or bound that each dual prices; 0 where it prices one that is not there."""
    side = np.where(duals > 0, low, high)
    return np.where(np.isfinite(side), side, 0.0)


def priced(values: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """What duals add to the dual objective, and how much of each has a sign that is not allowed."""
    there = np.isfinite(np.where(values > 0, low, high)) | (values == 0)
    return np.where(there, values, 0.0) * priced_sides(values, low, high), np.where(there, 0.0, np.abs(values))


def _worst(violations: Vector, sizes: Vector, more: object) -> float:
    """The greatest violation relative to its size; with a closer look at the sizes if it is not small."""
    if not violations.size:
        return 0.0
    relative = np.maximum(violations, 0.0) / sizes
    worst = float(relative.max())
    if worst > 1e-9 and callable(more):
        worst = float((np.maximum(violations, 0.0) / np.maximum(sizes, 1.0 + more())).max())
    return worst if not np.isnan(violations).any() else math.inf
