"""Answers checked on the host against the program as it was given.

Activities and reduced costs are compensated sums, objectives exact sums of rounded terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.verification.sums import exact_sum, product, term_sizes, transposed

__all__ = ["Audit", "audit", "priced"]

Vector = NDArray[np.float64]

_LENIENT = 100.0  # rows whose entries are smaller than 1 / 100 of the unit have a smaller unit of their own


@dataclass(frozen=True)
class Audit:
    """What a point and its row duals are worth for the original program, in the sense of minimization.

    ``gap`` is relative to ``unit + |primal|``; an infeasibility is the largest violation of a row, a bound, or a dual's
    sign, each relative to a unit plus the size of what was added up there. ``error`` is the largest of the three. The
    units are 1, or smaller for data that is smaller (:attr:`LinearProgram.units`).
    """

    primal: float
    dual: float
    primal_infeasibility: float
    dual_infeasibility: float
    activities: Vector
    reduced_costs: Vector
    unit: float = 1.0

    @property
    def gap(self) -> float:
        """``|primal - dual| / (unit + |primal|)``."""
        return abs(self.primal - self.dual) / (self.unit + abs(self.primal))

    @property
    def error(self) -> float:
        """The greatest of gap and infeasibilities; inf for NaN."""
        worst = max(self.gap, self.primal_infeasibility, self.dual_infeasibility)
        return worst if worst == worst else math.inf


def audit(problem: LinearProgram, x: Vector, y: Vector) -> Audit:
    """Check a point (n,) and row duals (m,), both in the sense of minimization."""
    costs = -problem.c if problem.maximize else problem.c
    offset = -problem.offset if problem.maximize else problem.offset
    activities = product(problem.A, x)
    reduced = costs + product(transposed(problem.A), -y)
    below = np.maximum(problem.row_lower - activities, activities - problem.row_upper)
    sides = np.where(np.isfinite(problem.row_upper), problem.row_upper, problem.row_lower)
    value_unit, cost_unit = problem.units
    row_units = np.clip(_LENIENT * value_unit * problem.row_sizes, 1e-300, 1.0)
    sizes = row_units + np.abs(np.where(np.isfinite(sides), sides, 0.0))
    primal_error = _worst(below, sizes, lambda: term_sizes(problem.A, x))
    outside = np.maximum(problem.lower - x, x - problem.upper)
    primal_error = max(primal_error, _worst(outside, value_unit + np.abs(x), None))
    row_terms, row_wrong = priced(y, problem.row_lower, problem.row_upper)
    column_terms, column_wrong = priced(reduced, problem.lower, problem.upper)
    dual_error = _worst(column_wrong, cost_unit + np.abs(costs), lambda: term_sizes(transposed(problem.A), y))
    dual_error = max(dual_error, _worst(row_wrong, np.full(y.size, cost_unit + np.abs(costs).max()), None))
    primal = exact_sum(costs * x) + offset
    dual = exact_sum(np.concatenate([row_terms, column_terms])) + offset
    return Audit(primal, dual, primal_error, dual_error, activities, reduced, value_unit * cost_unit)


def priced(values: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Each dual times the side it prices, and how much of it prices a side there is not."""
    side = np.where(values > 0, low, high)
    there = np.isfinite(side) | (values == 0)
    return np.where(there, values, 0.0) * np.where(np.isfinite(side), side, 0.0), np.where(there, 0.0, np.abs(values))


def _worst(violations: Vector, sizes: Vector, more: object) -> float:
    """The greatest violation relative to its size; with a closer look at the sizes if it is not small."""
    if not violations.size:
        return 0.0
    relative = np.maximum(violations, 0.0) / sizes
    worst = float(relative.max())
    if worst > 1e-9 and callable(more):
        worst = float((np.maximum(violations, 0.0) / np.maximum(sizes, 1.0 + more())).max())
    return worst if not np.isnan(violations).any() else math.inf
