"""Audits of the points of many programs at once, as :mod:`engine.solvers.linprog.verification.audit` defines them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..verification.audit import CANCELLED, CLEAR, ZERO_OBJECTIVE, priced, priced_sides, row_units, violated
from .family import Family, by_chunks, places

Vector = NDArray[np.float64]
_BLOCK = 32  # columns whose products are added without compensation
_CLOSER_LOOK, _EMPTY = 1e-9, 1e-9  # as of the audit of one program


@dataclass(frozen=True)
class Audits:
    """Points of k programs, inside their bounds, with their row duals and what they are worth, as of minimizations."""

    x: Vector  # (k, n)
    y: Vector  # (k, m)
    activities: Vector
    reduced_costs: Vector
    primal: Vector
    dual: Vector
    objective_error: Vector
    primal_infeasibility: Vector
    dual_infeasibility: Vector
    size: Vector

    @property
    def error(self) -> Vector:
        """The greatest of the objective's error and the infeasibilities of each program; inf for NaN."""
        worst = np.maximum(self.objective_error, np.maximum(self.primal_infeasibility, self.dual_infeasibility))
        return np.where(np.isnan(worst), np.inf, worst)


def audit_family(family: Family, chosen: NDArray[np.int64], x: Vector, y: Vector) -> Audits:
    """Audit points of some programs of a family."""
    m, n = family.A.shape[1:]
    parts = by_chunks(
        lambda here: _audit(family, places(chosen[here]), x[here], y[here]),
        chosen.size,
        m + n if family.shared else m * n,
    )
    return Audits(*(np.concatenate([getattr(part, name) for part in parts]) for name in Audits.__dataclass_fields__))


@np.errstate(over="ignore", invalid="ignore")  # what overflows fails the audit
def _audit(family: Family, chosen: slice | NDArray[np.int64], x: Vector, y: Vector) -> Audits:
    lower, upper, costs = family.lower[chosen], family.upper[chosen], family.c[chosen]
    low, high, offset = family.row_lower[chosen], family.row_upper[chosen], family.offset[chosen]
    matrices = family.A if family.A.shape[0] == 1 else family.A[chosen]
    x = np.clip(x, lower, upper)
    y = np.where((y > 0) & np.isneginf(low) | (y < 0) & np.isposinf(high), 0.0, y)
    activities, reduced = products(matrices, x), costs - products(matrices.transpose(0, 2, 1), y)
    row_side, column_side = priced_sides(y, low, high), priced_sides(reduced, lower, upper)
    mismatch = np.einsum("kr,kr->k", np.abs(y), np.abs(activities - row_side))
    mismatch += np.einsum("kr,kr->k", np.abs(reduced), np.abs(x - column_side))
    worth = costs * x
    primal = _total(worth) + offset
    dual = _total(y * row_side) + _total(reduced * column_side) + offset
    size = np.maximum(np.abs(primal), np.abs(dual))
    size = np.minimum(size, np.maximum(np.abs(primal - offset), np.abs(dual - offset)))
    size = np.maximum(size, CANCELLED * (np.abs(worth).sum(axis=1) + np.abs(offset)))
    if not (size >= ZERO_OBJECTIVE).all():  # units are at most 1
        units = _units(matrices, [lower, upper], [low, high]) * _unit(costs)
        size = np.maximum(size, ZERO_OBJECTIVE * units)
    return Audits(
        x=x,
        y=y,
        activities=activities,
        reduced_costs=reduced,
        primal=primal,
        dual=dual,
        objective_error=mismatch / size,
        primal_infeasibility=_of_rows(matrices, x, activities, low, high, [lower, upper]),
        dual_infeasibility=_of_columns(matrices, y, reduced, lower, upper, costs),
        size=size,
    )


def _of_rows(matrices: Any, x: Vector, activities: Vector, low: Vector, high: Vector, bounds: list[Vector]) -> Vector:
    """The primal infeasibility of each program."""
    below, sides = violated(activities, low, high)
    found = _largest_quotient(below, sides)
    unclear = np.flatnonzero(found > CLEAR)
    if unclear.size:
        own = matrices if matrices.shape[0] == 1 else matrices[unclear]
        sizes, sides_of_rows = _row_sizes(own), [low[unclear], high[unclear]]
        unit = _units(own, [bound[unclear] for bound in bounds], sides_of_rows)[:, None]
        empty = _EMPTY * _unit(np.concatenate(sides_of_rows, axis=1))[:, None]
        clear, units = np.where(sizes > 0.0, CLEAR * sides[unclear], empty), row_units(unit, sizes)
        found[unclear] = _judged(below[unclear], sides[unclear], units, _term_sizes(own, x[unclear]), clear)
    return found


def _of_columns(matrices: Any, y: Vector, reduced: Vector, lower: Vector, upper: Vector, costs: Vector) -> Vector:
    """The dual infeasibility of each program."""
    wrong, sizes = priced(reduced, lower, upper)[1], np.abs(costs)
    found = _largest_quotient(wrong, sizes)
    unclear = np.flatnonzero(found > CLEAR)
    if unclear.size:
        own = (matrices if matrices.shape[0] == 1 else matrices[unclear]).transpose(0, 2, 1)
        unit, sizes = _unit(costs[unclear])[:, None], sizes[unclear]
        found[unclear] = _judged(wrong[unclear], sizes, unit, _term_sizes(own, y[unclear]), CLEAR * sizes)
    return found


def _judged(violations: Vector, sizes: Vector, units: Vector, terms: Vector, clear: Vector) -> Vector:
    """The largest violation of each program: relative to a unit, and to what its line adds up, the greater of both."""
    by_unit = violations / (units + sizes)
    by_unit = np.where(by_unit > _CLOSER_LOOK, violations / np.maximum(units + sizes, 1.0 + terms), by_unit)
    by_line = np.where(violations > clear, violations / (sizes + terms + 1e-300), 0.0)
    return np.asarray(np.maximum(by_unit, by_line).max(axis=1, initial=0.0))


def _term_sizes(matrices: Any, vectors: Vector) -> Vector:
    """``sqrt(sum_j (a_ij v_j)^2)`` of each program and row; 0, which excuses nothing, where that overflows."""
    squares = matrices**2
    if matrices.shape[0] == 1:
        found = np.sqrt(vectors**2 @ squares[0].T)
    else:
        found = np.sqrt(np.matmul(squares, vectors[:, :, None] ** 2)[:, :, 0])
    return np.where(np.isfinite(found), found, 0.0)


def _total(terms: Vector) -> Vector:
    """The sum of each row, in more digits where the machine has them."""
    return np.asarray(terms.sum(axis=1, dtype=np.longdouble), np.float64)


def _largest_quotient(violations: Vector, sizes: Vector) -> Vector:
    """The largest violation of each program relative to its size."""
    there = violations > 0.0
    if not there.any():
        return np.zeros(len(violations))
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(there, violations / np.where(there, sizes, 1.0), 0.0).max(axis=1, initial=0.0))


def _unit(values: Vector) -> Vector:
    """The units of a list of programs, as `LinearProgram.units` has them for one."""
    sizes = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=1, initial=0.0)
    return np.where(sizes > 0.0, np.minimum(sizes, 1.0), 1.0)


def _units(matrices: Vector, bounds: list[Vector], sides: list[Vector]) -> Vector:
    """The unit of values of each program."""
    largest = _row_sizes(matrices)
    largest = np.where(largest > 0.0, largest, 1.0)
    return _unit(np.concatenate([*bounds, *(side / largest for side in sides)], axis=1))


def _row_sizes(matrices: Any) -> Vector:
    """The largest entry of each row by size."""
    return np.asarray(np.maximum(matrices.max(axis=2, initial=0.0), -matrices.min(axis=2, initial=0.0)))


def products(matrices: Any, vectors: Vector) -> Vector:
    """``A v`` of each program: blocks of columns, whose sums are added with their rounding errors."""
    shared = matrices.shape[0] == 1
    total = np.zeros((vectors.shape[0], matrices.shape[1]))
    error = np.zeros_like(total)
    for begin in range(0, matrices.shape[2], _BLOCK):
        block, values = matrices[:, :, begin : begin + _BLOCK], vectors[:, begin : begin + _BLOCK]
        part = values @ block[0].T if shared else np.matmul(block, values[:, :, None])[:, :, 0]
        before, total = total, total + part
        virtual = total - before
        error += (before - (total - virtual)) + (part - virtual)
    return np.asarray(total + error)
