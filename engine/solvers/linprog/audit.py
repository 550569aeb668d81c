"""Answers checked on the host against the program as it was given.

Activities and reduced costs are added up with error-free transformations (Ogita, Rump, Oishi, *Accurate sum and dot
product*, SIAM J. Sci. Comput. 26, 2005); those of large dense matrices in blocks of 32 columns, whose sums are added
so. Objectives are exact sums of rounded terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.solvers.linprog.problem import LinearProgram, Matrix, sp

__all__ = ["Audit", "audit", "polished", "polished_ray", "proves_infeasible", "proves_unbounded", "reach_is_enough"]

_MOST_POLISHING = 1_000_000_000
"""Products of the sizes of a least-squares problem beyond which a ray is not polished: a second or so on one core."""

Vector = NDArray[np.float64]

_LARGE = 1 << 16
_BLOCK = 32
_SPLIT = 134217729.0  # 2^27 + 1
_SPLITS = 1e150  # the largest number that is split
_REACH = 1e8
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
    activities = _product(problem.A, x)
    reduced = costs + _product(_turned(problem.A), -y)
    below = np.maximum(problem.row_lower - activities, activities - problem.row_upper)
    sides = np.where(np.isfinite(problem.row_upper), problem.row_upper, problem.row_lower)
    value_unit, cost_unit = problem.units
    row_units = np.clip(_LENIENT * value_unit * problem.row_sizes, 1e-300, 1.0)
    sizes = row_units + np.abs(np.where(np.isfinite(sides), sides, 0.0))
    primal_error = _worst(below, sizes, lambda: _sizes(problem.A, x))
    outside = np.maximum(problem.lower - x, x - problem.upper)
    primal_error = max(primal_error, _worst(outside, value_unit + np.abs(x), None))
    row_terms, row_wrong = _priced(y, problem.row_lower, problem.row_upper)
    column_terms, column_wrong = _priced(reduced, problem.lower, problem.upper)
    dual_error = _worst(column_wrong, cost_unit + np.abs(costs), lambda: _sizes(_turned(problem.A), y))
    dual_error = max(dual_error, _worst(row_wrong, np.full(y.size, cost_unit + np.abs(costs).max()), None))
    primal = _sum(costs * x) + offset
    dual = _sum(np.concatenate([row_terms, column_terms])) + offset
    return Audit(primal, dual, primal_error, dual_error, activities, reduced, value_unit * cost_unit)


def proves_infeasible(problem: LinearProgram, y: Vector) -> float:
    """How far a Farkas ray (m,) reaches: no x with ``sum |x| <= reach`` is feasible; 0 if it proves nothing.

    Rows times y, and bounds times ``-A^T y``, add up to something that every feasible x would have to make at least
    positive though it is at most zero. A violation v of a sign costs ``v |x_j|`` of that.
    """
    if not np.isfinite(y).all() or not y.any():
        return 0.0
    y = y / np.abs(y).max()
    y = np.where((y > 0) & np.isneginf(problem.row_lower) | (y < 0) & np.isposinf(problem.row_upper), 0.0, y)
    reduced = _product(_turned(problem.A), -y)
    noise = 4e-16 * _sizes(_turned(problem.A), y)
    reduced = np.where(np.abs(reduced) <= noise, 0.0, reduced)
    row_terms, _ = _priced(y, problem.row_lower, problem.row_upper)
    column_terms, wrong = _priced(reduced, problem.lower, problem.upper)
    terms = np.concatenate([row_terms, column_terms])
    value = _sum(terms)
    if not value > 1e-9 * np.abs(terms).max():
        return 0.0
    return value / max(float(wrong.max(initial=0.0)), 1e-300)


def polished(problem: LinearProgram, y: Vector) -> Vector:
    """A Farkas ray near ``y`` (m,) that violates fewer signs, by least squares on the columns at fault.

    Entries move in proportion to their size, so that none changes its sign.
    """
    if not np.isfinite(y).all() or not y.any() or problem.m > 20_000:
        return y
    y = np.where((y > 0) & np.isneginf(problem.row_lower) | (y < 0) & np.isposinf(problem.row_upper), 0.0, y)
    y = y / np.abs(y).max()
    turned = _turned(problem.A)
    at_fault = np.zeros(problem.n, bool)
    for _ in range(6):
        reduced = _product(turned, -y)
        wrong = _priced(reduced, problem.lower, problem.upper)[1]
        at_fault |= wrong > 0.0
        count = int(at_fault.sum())
        if not (wrong > 0.0).any() or count * problem.m * min(count, problem.m) > _MOST_POLISHING:
            break
        weights = np.abs(y)
        block = turned[np.flatnonzero(at_fault)]
        dense = block.toarray() if sp.issparse(block) else np.asarray(block)
        change = np.linalg.lstsq(dense * weights, reduced[at_fault], rcond=1e-12)[0]
        moved = y + weights * change
        if not np.isfinite(moved).all():
            break
        y = moved
    return y


def proves_unbounded(problem: LinearProgram, direction: Vector) -> bool:
    """Whether a direction (n,) leads to no bound and no row's side, and improves the objective.

    What a row's side loses along it, for a largest entry of 1, may be 1e-8 of the row's largest entry and of the size
    of what is added up there, less by as much as the improvement is smaller than the largest cost. That a point is
    feasible is not looked at.
    """
    if not np.isfinite(direction).all() or not direction.any():
        return False
    d = _open_direction(problem, direction)
    costs = -problem.c if problem.maximize else problem.c
    slope = -_sum(costs * d)
    if not slope > 1e-9 * np.abs(costs * d).max(initial=0.0) or slope <= 0.0:
        return False
    wrong = _ended(problem, _product(problem.A, d))
    room = 1e-8 * min(1.0, slope / float(np.abs(costs).max()))
    return bool((wrong <= room * (problem.row_sizes + _sizes(problem.A, d))).all())


def polished_ray(problem: LinearProgram, direction: Vector) -> Vector:
    """A direction near ``direction`` (n,) that leads to fewer rows' sides, by least squares on the rows at fault.

    Entries move in proportion to their size, so that those at zero stay there.
    """
    if not np.isfinite(direction).all() or not direction.any():
        return direction
    d = _open_direction(problem, direction)
    at_fault = np.zeros(problem.m, bool)
    for _ in range(6):
        moves = _product(problem.A, d)
        wrong = _ended(problem, moves)
        at_fault |= wrong > 0.0
        support = np.flatnonzero(d)
        count = int(at_fault.sum())
        if not (wrong > 0.0).any() or not support.size:
            break
        if count * support.size * min(count, support.size) > _MOST_POLISHING:
            break
        block = problem.A[np.flatnonzero(at_fault)][:, support]
        dense = block.toarray() if sp.issparse(block) else np.asarray(block)
        sizes = np.maximum(np.abs(dense).max(axis=1), 1e-300)
        weights = np.abs(d[support])
        change = np.linalg.lstsq(dense / sizes[:, None] * weights, -moves[at_fault] / sizes, rcond=1e-12)[0]
        moved = d.copy()
        moved[support] += weights * change
        if not np.isfinite(moved).all() or not moved.any():
            break
        d = _open_direction(problem, moved)
        if not d.any():
            return direction
    return d


def _open_direction(problem: LinearProgram, direction: Vector) -> Vector:
    """A direction with a largest entry of 1, without what leads to a bound."""
    d = direction / max(float(np.abs(direction).max(initial=0.0)), 1e-300)
    return np.where((d > 0) & np.isfinite(problem.upper) | (d < 0) & np.isfinite(problem.lower), 0.0, d)


def _ended(problem: LinearProgram, moves: Vector) -> Vector:
    """How fast each row nears a side it has."""
    wrong = np.where(np.isfinite(problem.row_upper), moves, 0.0)
    return np.maximum(wrong, np.where(np.isfinite(problem.row_lower), -moves, 0.0))


def reach_is_enough(problem: LinearProgram, reach: float) -> bool:
    """Whether a proof of infeasibility that holds for ``sum |x| <= reach`` is worth the name for this program."""
    finite = [values[np.isfinite(values)] for values in (problem.row_lower, problem.row_upper)]
    size = max((float(np.abs(values).max()) for values in finite if values.size), default=0.0)
    return reach >= _REACH * (1.0 + size)


def _turned(matrix: Matrix) -> Matrix:
    return sp.csr_array(matrix.T) if isinstance(matrix, sp.csr_array) else matrix.T


def _priced(values: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
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


def _sizes(matrix: Matrix, vector: Vector) -> Vector:
    """``sqrt(sum_j (a_ij v_j)^2)``: the size of what is added up in each row."""
    squares = vector * vector
    if isinstance(matrix, sp.csr_array):
        return np.asarray(np.sqrt(matrix.power(2) @ squares))
    return np.asarray(np.sqrt(np.einsum("ij,ij,j->i", matrix, matrix, squares)))


def _sum(terms: Vector) -> float:
    return math.fsum(terms.tolist()) if np.isfinite(terms).all() else math.nan


def _product(matrix: Matrix, vector: Vector) -> Vector:
    """``A v`` by compensated sums, rounded once."""
    rows, columns = matrix.shape
    if not rows or not columns:
        return np.zeros(rows)
    if isinstance(matrix, sp.csr_array):
        high, low = _two_products(matrix.data, vector[matrix.indices])
        return _segment_sums(high, low, matrix.indptr)
    if matrix.size > _LARGE:
        total, error = np.zeros(rows), np.zeros(rows)
        for first in range(0, columns, _BLOCK):
            part = matrix[:, first : first + _BLOCK] @ vector[first : first + _BLOCK]
            total, more = _two_sums(total, part)
            error += more
        return np.asarray(total + error)
    high, low = _two_products(np.ascontiguousarray(matrix.T), vector[:, None])
    while len(high) > 1:
        half = len(high) // 2
        total, error = _two_sums(high[:half], high[half : 2 * half])
        error += low[:half]
        error += low[half : 2 * half]
        if len(high) > 2 * half:
            total[0], more = _two_sums(total[0], high[-1])
            error[0] += low[-1] + more
        high, low = total, error
    return np.asarray(high[0] + low[0])


def _segment_sums(high: Vector, low: Vector, starts: NDArray[np.integer]) -> Vector:
    """Compensated sums of the segments ``starts[i] .. starts[i + 1] - 1``, by trees."""
    counts = np.diff(starts).astype(np.int64)
    out = np.zeros(counts.size)
    while high.size and counts.max() > 1:
        begin = np.concatenate([[0], np.cumsum(counts)])[:-1]
        place = np.arange(high.size) - np.repeat(begin, counts)
        first = place % 2 == 0
        paired = first & (place + 1 < np.repeat(counts, counts))
        index = np.flatnonzero(paired)
        total, error = _two_sums(high[index], high[index + 1])
        low = low.copy()
        high = high.copy()
        high[index] = total
        low[index] += low[index + 1] + error
        high, low = high[first], low[first]
        counts = (counts + 1) // 2
    out[counts > 0] = high + low
    return out


def _two_sums(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _two_products(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """Rounded products and their errors; the error is left out where splitting would overflow."""
    product = a * b
    with np.errstate(over="ignore", invalid="ignore"):
        (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
        error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    if max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0))) > _SPLITS:
        error = np.where(np.maximum(np.abs(a), np.abs(b)) > _SPLITS, 0.0, error)
    return product, error


def _halves(a: Vector) -> tuple[Vector, Vector]:
    """Each number as the sum of two with half its digits (Dekker's splitting)."""
    part = _SPLIT * a
    high = part - (part - a)
    return high, a - high
