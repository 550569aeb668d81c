"""Certificates that a linear program has no optimum: checks of rays, and rays improved by least squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.solvers.linprog.problem import LinearProgram, sp
from engine.solvers.linprog.verification.audit import priced
from engine.solvers.linprog.verification.sums import exact_sum, product, term_sizes, transposed

__all__ = ["polished", "polished_ray", "proves_infeasible", "proves_unbounded", "reach_is_enough"]

Vector = NDArray[np.float64]

_MOST_POLISHING = 1_000_000_000
"""Products of the sizes of a least-squares problem beyond which a ray is not polished: a second or so on one core."""
_REACH = 1e8
_OVERFLOWS = np.errstate(over="ignore", invalid="ignore")  # what overflows proves nothing


@_OVERFLOWS
def proves_infeasible(problem: LinearProgram, y: Vector) -> float:
    """How far a Farkas ray reaches: no x with ``sum |x| <= reach`` is feasible; 0 if it proves nothing.

    Rows times y, and bounds times ``-A^T y``, add up to something that every feasible x would have to make at least
    positive though it is at most zero. A violation v of a sign costs ``v |x_j|`` of that.

    Parameters
    ----------
    problem : LinearProgram
    y : ndarray, shape (m,)
    """
    if not np.isfinite(y).all() or not y.any():
        return 0.0
    y = y / np.abs(y).max()
    y = np.where((y > 0) & np.isneginf(problem.row_lower) | (y < 0) & np.isposinf(problem.row_upper), 0.0, y)
    reduced = product(transposed(problem.A), -y)
    noise = 4e-16 * term_sizes(transposed(problem.A), y)
    reduced = np.where(np.abs(reduced) <= noise, 0.0, reduced)
    row_terms, _ = priced(y, problem.row_lower, problem.row_upper)
    column_terms, wrong = priced(reduced, problem.lower, problem.upper)
    terms = np.concatenate([row_terms, column_terms])
    value = exact_sum(terms)
    if not value > 1e-9 * np.abs(terms).max():
        return 0.0
    return value / max(float(wrong.max(initial=0.0)), 1e-300)


@_OVERFLOWS
def polished(problem: LinearProgram, y: Vector) -> Vector:
    """A Farkas ray near a given one that violates fewer signs, by least squares on the columns at fault.

    Entries move in proportion to their size, so that none changes its sign.

    Parameters
    ----------
    problem : LinearProgram
    y : ndarray, shape (m,)
    """
    if not np.isfinite(y).all() or not y.any() or problem.m > 20_000:
        return y
    y = np.where((y > 0) & np.isneginf(problem.row_lower) | (y < 0) & np.isposinf(problem.row_upper), 0.0, y)
    y = y / np.abs(y).max()
    turned = transposed(problem.A)
    at_fault = np.zeros(problem.n, bool)
    for _ in range(6):
        reduced = product(turned, -y)
        wrong = priced(reduced, problem.lower, problem.upper)[1]
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


@_OVERFLOWS
def proves_unbounded(problem: LinearProgram, direction: Vector) -> bool:
    """Whether a direction leads to no bound and no row's side, and improves the objective.

    What a row's side loses along it, for a largest entry of 1, may be 1e-8 of the row's largest entry and of the size
    of what is added up there, less by as much as the improvement is smaller than the largest cost. That a point is
    feasible is not looked at.

    Parameters
    ----------
    problem : LinearProgram
    direction : ndarray, shape (n,)
    """
    if not np.isfinite(direction).all() or not direction.any():
        return False
    d = _open_direction(problem, direction)
    costs = -problem.c if problem.maximize else problem.c
    slope = -exact_sum(costs * d)
    if not slope > 1e-9 * np.abs(costs * d).max(initial=0.0) or slope <= 0.0:
        return False
    wrong = _ended(problem, product(problem.A, d))
    room = 1e-8 * min(1.0, slope / float(np.abs(costs).max()))
    return bool((wrong <= room * (problem.row_sizes + term_sizes(problem.A, d))).all())


@_OVERFLOWS
def polished_ray(problem: LinearProgram, direction: Vector) -> Vector:
    """A direction near a given one that leads to fewer rows' sides, by least squares on the rows at fault.

    Entries move in proportion to their size, so that those at zero stay there.

    Parameters
    ----------
    problem : LinearProgram
    direction : ndarray, shape (n,)
    """
    if not np.isfinite(direction).all() or not direction.any():
        return direction
    d = _open_direction(problem, direction)
    at_fault = np.zeros(problem.m, bool)
    for _ in range(6):
        moves = product(problem.A, d)
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
    """Whether a proof of infeasibility that holds for ``sum |x| <= reach`` is worth the name for this program.

    Parameters
    ----------
    problem : LinearProgram
    reach : float
    """
    finite = [values[np.isfinite(values)] for values in (problem.row_lower, problem.row_upper)]
    size = max((float(np.abs(values).max()) for values in finite if values.size), default=0.0)
    return reach >= _REACH * (1.0 + size)
