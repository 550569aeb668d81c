"""Answers checked on the host against the programs as given, one or many at once, by compensated products and sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import largest_entries, unit_of
from ..problem import LinearProgram, sp
from .sums import exact_sums, product, products, term_sizes, transposed

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]

_LENIENT = 100.0  # rows whose entries are smaller than 1 / 100 of the unit have a smaller unit of their own
_CANCELLED = 1e-5  # an objective smaller than this part of its terms is judged relative to them
_ZERO_OBJECTIVE = 1e-6  # and one smaller than this part of the unit, relative to the unit
_TINY = float(np.finfo(float).tiny)
_CLEAR = 1e-10  # violations below this part of a row's side, or of a column's cost, are not looked at again
_FAR = 1e-9  # what is further off, relative to the unit, is judged by what is added up too
_REACH = 1e2  # times what the data suggest: what is added up beyond that excuses nothing, as it comes of cancellation
_NEAR = 1e-3  # part of a value by which it may miss a bound, or side, that explains its size
_EMPTY = 1e-9  # how far the sides of an empty row may be from zero, relative to their unit


@dataclass(frozen=True)
class Audit:
    """What a point and its row duals are worth for the original program, in the sense of minimization.

    Numbers and vectors for one program; of k programs they have an axis more, the first.
    """

    primal: Any  # objectives of the point and of the duals
    dual: Any
    # the sum of all products of a dual and the distance to what it prices, relative to the objective: at least the gap
    objective_error: Any
    primal_infeasibility: Any  # largest violation of a row or a bound, and of a dual's sign; see audit
    dual_infeasibility: Any
    activities: Vector  # (m,)
    reduced_costs: Vector  # (n,)
    size: Any  # what errors of the objective are relative to

    @property
    def gap(self) -> Any:
        """Distance of the objectives relative to :attr:`size`."""
        return abs(self.primal - self.dual) / self.size

    @property
    def error(self) -> Any:
        """The greatest of the objective's error and the infeasibilities; inf for NaN."""
        worst = np.maximum(self.objective_error, np.maximum(self.primal_infeasibility, self.dual_infeasibility))
        return np.where(np.isnan(worst), np.inf, worst)[()]

    def __getitem__(self, place: int) -> Audit:
        """That of one of k programs."""
        return Audit(*(part[place] if part.ndim > 1 else part[place].item() for part in vars(self).values()))


@dataclass(frozen=True)
class Programs:
    """What an audit reads of k programs of one shape, as minimizations."""

    A: Any  # (k, m, n); or (m, n) if all have one, perhaps sparse where k is 1
    c: Vector  # (k, n)
    lower: Vector
    upper: Vector
    row_lower: Vector  # (k, m)
    row_upper: Vector
    offset: Vector  # (k,)
    known: tuple[Vector, ...] | None = None  # what `sizes` returns

    @classmethod
    def one(cls, problem: LinearProgram) -> Programs:
        """One program, whose sizes it has kept."""
        sign = -1.0 if problem.maximize else 1.0
        vectors = sign * problem.c, problem.lower, problem.upper, problem.row_lower, problem.row_upper
        known = problem.row_sizes[None], np.array([[problem.units[0]]]), np.array([[problem.side_unit]])
        c, lower, upper, low, high = (part[None] for part in vectors)
        return cls(problem.handy_matrix, c, lower, upper, low, high, np.array([sign * problem.offset]), known)

    def sizes(self, chosen: Any = slice(None)) -> tuple[Vector, ...]:
        """Of some programs: the largest entries of rows (., m), and the units of values and of sides (., 1)."""
        if self.known is not None:
            return self.known
        rows, sides = largest_entries(_of(self.A, chosen), -1), [self.row_lower[chosen], self.row_upper[chosen]]
        divided = (side / np.where(rows > 0.0, rows, 1.0) for side in sides)
        values = np.hstack([self.lower[chosen], self.upper[chosen], *divided])
        return np.atleast_2d(rows), unit_of(values), unit_of(np.hstack(sides))


def _of(matrices: Any, chosen: Any) -> Any:
    """The matrices of some programs; the one of all."""
    return matrices if matrices.ndim == 2 else matrices[chosen]


def admissible(programs: Programs | LinearProgram, x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """Values clipped to their bounds, and duals without those that price a side that is not there."""
    missing = (y > 0) & np.isneginf(programs.row_lower) | (y < 0) & np.isposinf(programs.row_upper)
    return np.clip(x, programs.lower, programs.upper), np.where(missing, 0.0, y)


def audit(problem: LinearProgram, x: Vector, y: Vector) -> Audit:
    """Check a point and row duals, both in the sense of minimization; see :func:`audit_programs`."""
    return audit_programs(Programs.one(problem), x[None], y[None])[0]


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what overflows fails the audit
def audit_programs(programs: Programs, x: Vector, y: Vector) -> Audit:
    """Check points (k, n) and row duals (k, m), both in the sense of minimization.

    A violation is judged twice, and the larger figure counts. First relative to a unit (1, or less for smaller data:
    :attr:`LinearProgram.units`) plus the size of what is added up in the row or column. Then without any unit: relative
    to the side and what is added up there, or, if that is less, by what its repair may change the objective. The second
    figure does not change if the program is scaled; it finds violations of rows whose numbers are all tiny. What is
    added up, in the objective too, counts as far as values like the active or broken sides, or duals like the costs,
    may explain it: values so huge that any violation is less than their rounding errors are no solution.
    """
    low, high, lower, upper = programs.row_lower, programs.row_upper, programs.lower, programs.upper
    offset, costs = programs.offset, np.abs(programs.c)
    rows = _Lines(programs.A, x, np.maximum(*(np.where(np.isfinite(side), np.abs(side), 0.0) for side in (low, high))))
    columns = _Lines(transposed(programs.A), y, costs)
    activities, reduced = products(rows.matrix, x), programs.c - products(columns.matrix, y)
    row_side, column_side = priced_sides(y, low, high), priced_sides(reduced, lower, upper)
    (row_terms, row_wrong), (column_terms, column_wrong) = priced(y, low, high), priced(reduced, lower, upper)
    terms = programs.c * x
    primal = exact_sums(terms) + offset
    dual = exact_sums(np.concatenate([row_terms, column_terms], axis=1)) + offset
    size = np.maximum(np.abs(primal), np.abs(dual))
    size = np.minimum(size, np.maximum(np.abs(primal - offset), np.abs(dual - offset)))
    below, sides = _violated(activities, low, high)
    bounds = np.where(_is_near(x, lower) | _is_near(x, upper), np.abs(x), 0.0)
    active = np.where(_is_near(activities, low) | _is_near(activities, high), np.abs(activities), 0.0)
    reached = np.where(below > 0.0, sides, active), bounds
    added = np.abs(terms).sum(axis=1)
    chosen = np.flatnonzero(_CANCELLED * added > size)
    if chosen.size:
        added[chosen] = (costs[chosen] * np.minimum(np.abs(x[chosen]), rows.explained(chosen, reached))).sum(axis=1)
    size = np.maximum(size, _CANCELLED * (added + np.abs(offset)))
    if (size < _ZERO_OBJECTIVE).any():  # units are at most 1
        units = programs.sizes()[1] * unit_of(programs.c)
        size = np.maximum(size, np.maximum(_ZERO_OBJECTIVE * units, _TINY)[:, 0])
    mismatch = (np.abs(y) * np.abs(activities - row_side)).sum(axis=1)
    mismatch += (np.abs(reduced) * np.abs(x - column_side)).sum(axis=1)
    mismatch = np.maximum(mismatch, np.abs(primal - dual))  # which is more where the products' rounding errors are

    def scales_of_rows(chosen: Indices) -> tuple[Vector, Vector]:
        largest, values, units = programs.sizes(chosen)
        return _row_units(values, largest), np.where(largest > 0.0, _CLEAR * sides[chosen], _EMPTY * units)

    def scales_of_columns(chosen: Indices) -> tuple[Vector, Vector]:
        return unit_of(programs.c[chosen]), _CLEAR * costs[chosen]

    primal_errors = rows.worst(below, sides, scales_of_rows, columns, size, reached)
    dual_errors = columns.worst(column_wrong, costs, scales_of_columns, rows, size, (costs, 0.0 * size[:, None]))
    outside = np.maximum(np.maximum(lower - x, x - upper), 0.0)
    if outside.any():
        primal_errors = np.maximum(primal_errors, _greatest(outside / (programs.sizes()[1] + np.abs(x))))
    if row_wrong.any():
        largest_costs = costs.max(axis=1, keepdims=True, initial=0.0)
        dual_errors = np.maximum(dual_errors, _greatest(row_wrong / (unit_of(programs.c) + largest_costs)))
    return Audit(primal, dual, mismatch / size, primal_errors, dual_errors, activities, reduced, size)


@dataclass(frozen=True)
class _Lines:
    """The rows of some matrices, with points; or their columns, with duals."""

    matrix: Any
    vectors: Vector
    sizes: Vector  # of what the lines are compared with: sides, or costs

    def added(self, chosen: Indices) -> Vector:
        """The size of what is added up in the lines of some programs."""
        return term_sizes(_of(self.matrix, chosen), self.vectors[chosen])

    def largest(self, chosen: Indices) -> Vector:
        """The largest entries of the lines of some programs."""
        return np.atleast_2d(largest_entries(_of(self.matrix, chosen), -1))

    def explained(self, chosen: Indices, reached: tuple[Vector, Vector]) -> Vector:
        """How large values (., 1) may be that are like those reached in lines, or, if these are 0, otherwise."""
        in_lines, otherwise = (part[chosen] for part in reached)
        largest = self.largest(chosen)
        values = _greatest(in_lines / np.where(largest > 0.0, largest, np.inf))
        values = np.where(values > 0.0, values, _greatest(otherwise))[:, None]
        return _REACH * np.where(values > 0.0, values, 1.0)

    def worst(
        self,
        violations: Vector,
        sizes: Vector,
        scales: Callable[[Indices], tuple[Vector, Vector]],
        others: _Lines,
        objectives: Vector,
        reached: tuple[Vector, Vector],
    ) -> Vector:
        """The largest violation of each program; ``scales`` are the units, and violations that are clear."""
        found = _greatest(np.where(violations == 0.0, 0.0, violations / sizes))
        chosen = np.flatnonzero(found > _CLEAR) if len(found) > 1 else np.arange(1)
        if not chosen.size:
            return found
        violations, sizes, (units, clear) = violations[chosen], sizes[chosen], scales(chosen)
        by_unit = violations / (units + sizes)
        far, unclear = _greatest(by_unit)[:, None] > _FAR, violations > clear
        if far.any() or unclear.any():
            added = np.minimum(self.added(chosen), self.largest(chosen) * self.explained(chosen, reached))
            by_unit = np.where(far, violations / np.maximum(units + sizes, 1.0 + added), by_unit)
            by_line = np.where(unclear, violations / (sizes + added + 1e-300), 0.0)
            programs, lines = np.nonzero(unclear & (_greatest(by_line)[:, None] > _CLEAR))
            if lines.size:  # one entry alone may change: by what makes the other lines as large as what they are
                matrix, all_sizes = _of(self.matrix, chosen), others.sizes[chosen] + others.added(chosen)
                block = matrix[lines] if matrix.ndim == 2 else matrix[programs, lines]
                worth = _largest_quotient(block, all_sizes[programs] if len(chosen) > 1 else all_sizes)
                change = violations[programs, lines] * worth / objectives[chosen[programs]]
                by_line[programs, lines] = np.minimum(by_line[programs, lines], change)
            by_unit = np.maximum(by_unit, by_line)
        found[chosen] = _greatest(by_unit)
        return found


def _is_near(values: Vector, sides: Vector) -> NDArray[np.bool_]:
    return np.abs(values - sides) <= _NEAR * np.abs(values)


def _greatest(errors: Vector) -> Vector:
    """The greatest of each row; inf for NaN."""
    found = errors.max(axis=1, initial=0.0)
    return np.where(np.isnan(found), np.inf, found)


def _largest_quotient(block: Any, sizes: Vector) -> Vector:
    """The largest ``sizes[., j] / |a_ij|`` over the entries of each row; inf if it has none."""
    if isinstance(block, sp.csr_array):
        found = np.zeros(block.shape[0])
        line = np.repeat(np.arange(found.size), np.diff(block.indptr))
        there = block.data != 0.0
        np.maximum.at(found, line[there], sizes[0, block.indices[there]] / np.abs(block.data[there]))
        return np.where(np.bincount(line[there], minlength=found.size) > 0, found, np.inf)
    entries = np.abs(np.asarray(block))
    found = (sizes / np.where(entries > 0.0, entries, np.inf)).max(axis=1, initial=0.0)
    return np.where((entries > 0.0).any(axis=1), found, np.inf)


@np.errstate(over="ignore", invalid="ignore")  # what overflows is not feasible
def infeasibility_of_sides(problem: LinearProgram, x: Vector) -> float:
    """Largest violation of a row or a bound, relative to the unit and the side or bound, however large the terms are.

    A proof that a program is unbounded needs a feasible point; one whose terms are so huge that any side is less than
    their rounding errors says nothing.
    """
    if not np.isfinite(x).all():
        return math.inf
    value_unit = problem.units[0]
    units = np.where(problem.row_sizes > 0.0, _row_units(value_unit, problem.row_sizes), problem.side_unit)
    by_row, sides = _violated(product(problem.handy_matrix, x), problem.row_lower, problem.row_upper)
    by_column, bounds = _violated(x, problem.lower, problem.upper)
    return float(_greatest(np.concatenate([by_row / (units + sides), by_column / (value_unit + bounds)])[None])[0])


def _row_units(value_units: float | Vector, row_sizes: Vector) -> Vector:
    """What violations of rows are relative to, for the units of values and the rows' largest entries; at most 1."""
    return np.clip(_LENIENT * value_units * row_sizes, 1e-300, 1.0)


def _violated(values: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """How far each value is outside its sides, and the size of the side it breaks, else of the lower one."""
    sides = np.where(values > high, high, low)
    violations = np.maximum(np.maximum(low - values, values - high), 0.0)
    return violations, np.abs(np.where(np.isfinite(sides), sides, 0.0))


def priced_sides(duals: Vector, low: Vector, high: Vector) -> Vector:
    """The side or bound that each dual prices; 0 where it prices one that is not there."""
    side = np.where(duals > 0, low, high)
    return np.where(np.isfinite(side), side, 0.0)


def priced(values: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """What duals add to the dual objective, and how much of each has a sign that is not allowed."""
    there = np.isfinite(np.where(values > 0, low, high)) | (values == 0)
    return np.where(there, values, 0.0) * priced_sides(values, low, high), np.where(there, 0.0, np.abs(values))
