"""Audits of the points of many programs at once.

What is computed is that of :mod:`engine.solvers.linprog.verification.audit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.solvers.linprog.batches.family import Family

__all__ = ["Audits", "audit_family", "products"]

Vector = NDArray[np.float64]
_CHUNK = 1 << 22  # elements of the matrices that are worked on at a time
_BLOCK = 32  # columns whose products are added without compensation
_CANCELLED, _ZERO_OBJECTIVE = 1e-5, 1e-6  # see the audit of one program


@dataclass(frozen=True)
class Audits:
    """Points of k programs, inside their bounds, with their row duals and what they are worth, as of minimizations.

    Attributes
    ----------
    x, reduced_costs : ndarray, shape (k, n)
    y, activities : ndarray, shape (k, m)
    primal, dual, objective_error, primal_infeasibility, dual_infeasibility, size : ndarray, shape (k,)
        As of :class:`engine.solvers.linprog.verification.audit.Audit`; the infeasibilities are relative to sides and
        costs alone, and so never less than those of the audit of one program.
    """

    x: Vector
    y: Vector
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
    """Audit points of some programs of a family.

    Parameters
    ----------
    family : Family
    chosen : ndarray of int, shape (count,)
        The programs that the points are of.
    x : ndarray, shape (count, n)
    y : ndarray, shape (count, m)
        Row duals, as of minimizations.
    """
    m, n = family.A.shape[1:]
    step = max(1, _CHUNK // (m + n if family.shared else m * n))
    parts = [
        _audit(family, chosen[begin : begin + step], x[begin : begin + step], y[begin : begin + step])
        for begin in range(0, chosen.size, step)
    ]
    names = Audits.__dataclass_fields__
    return Audits(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


@np.errstate(over="ignore", invalid="ignore")  # what overflows fails the audit
def _audit(family: Family, chosen: NDArray[np.int64], x: Vector, y: Vector) -> Audits:
    lower, upper, costs = family.lower[chosen], family.upper[chosen], family.c[chosen]
    low, high, offset = family.row_lower[chosen], family.row_upper[chosen], family.offset[chosen]
    matrices = family.A if family.A.shape[0] == 1 else family.A[chosen]
    x = np.clip(x, lower, upper)
    y = np.where((y > 0) & np.isneginf(low) | (y < 0) & np.isposinf(high), 0.0, y)
    activities, reduced = products(matrices, x), costs - products(matrices.transpose(0, 2, 1), y)
    row_side, column_side = _sides(y, low, high), _sides(reduced, lower, upper)
    below = np.maximum(np.maximum(low - activities, activities - high), 0.0)
    crossed = np.where(activities > high, high, low)
    crossed = np.abs(np.where(np.isfinite(crossed), crossed, 0.0))
    priceless = ~np.isfinite(np.where(reduced > 0, lower, upper)) & (reduced != 0.0)
    wrong = np.where(priceless, np.abs(reduced), 0.0)
    mismatch = (np.abs(y) * np.abs(activities - row_side)).sum(axis=1)
    mismatch += (np.abs(reduced) * np.abs(x - column_side)).sum(axis=1)
    primal = _total(costs * x) + offset
    dual = _total(y * row_side) + _total(reduced * column_side) + offset
    terms = np.abs(costs * x).sum(axis=1)
    size = np.maximum(np.abs(primal), np.abs(dual))
    size = np.minimum(size, np.maximum(np.abs(primal - offset), np.abs(dual - offset)))
    size = np.maximum(size, _CANCELLED * (terms + np.abs(offset)))
    size = np.maximum(size, _ZERO_OBJECTIVE * _units(matrices, [lower, upper], [low, high]) * _unit(costs))
    return Audits(
        x=x,
        y=y,
        activities=activities,
        reduced_costs=reduced,
        primal=primal,
        dual=dual,
        objective_error=mismatch / size,
        primal_infeasibility=_largest_quotient(below, crossed),
        dual_infeasibility=_largest_quotient(wrong, np.abs(costs)),
        size=size,
    )


def _total(terms: Vector) -> Vector:
    """The sum of each row, in more digits where the machine has them."""
    return np.asarray(terms.sum(axis=1, dtype=np.longdouble), np.float64)


def _sides(duals: Vector, low: Vector, high: Vector) -> Vector:
    """The side that each dual prices; 0 where there is none."""
    side = np.where(duals > 0, low, high)
    return np.where(np.isfinite(side), side, 0.0)


def _largest_quotient(violations: Vector, sizes: Vector) -> Vector:
    """The largest violation of each program relative to its size."""
    there = violations > 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(there, violations / np.where(there, sizes, 1.0), 0.0).max(axis=1, initial=0.0))


def _unit(values: Vector) -> Vector:
    """See :attr:`engine.solvers.linprog.problem.LinearProgram.units`."""
    sizes = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=1, initial=0.0)
    return np.where(sizes > 0.0, np.minimum(sizes, 1.0), 1.0)


def _units(matrices: Vector, bounds: list[Vector], sides: list[Vector]) -> Vector:
    """The unit of values of each program."""
    largest = np.maximum(matrices.max(axis=2), -matrices.min(axis=2))
    largest = np.where(largest > 0.0, largest, 1.0)
    return _unit(np.concatenate([*bounds, *(side / largest for side in sides)], axis=1))


def products(matrices: Any, vectors: Vector) -> Vector:
    """``A v`` of each program: blocks of columns, whose sums are added with their rounding errors.

    Parameters
    ----------
    matrices : ndarray, shape (count, m, n) or (1, m, n)
        One for each vector, or one that all vectors are multiplied by.
    vectors : ndarray, shape (count, n)

    Returns
    -------
    ndarray, shape (count, m)
    """
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
