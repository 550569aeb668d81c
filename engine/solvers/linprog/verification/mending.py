"""Duals that the way back from a presolved program has lost, found again from the values.

HiGHS's postsolve is made for vertices. Of an inner point it sets some duals of removed rows to zero; columns between
their bounds, whose reduced costs are not zero then, show which.
"""

import heapq

import numpy as np
from numpy.typing import NDArray

from ..problem import LinearProgram, sp
from .outcome import AuditedPoint

Vector = NDArray[np.float64]
_NOISE = 1e-7  # part of what is added up in a reduced cost that says nothing
_WORTH = 1e-10  # part of the objective that a reduced cost, times the distance to its bound, may be worth
_MOST_WRONG = 0.1  # part of all columns: more are no lost duals
_STEPS, _MOST_STEPS = 10, 100_000  # for each wrong column, and in all: 35 microseconds each


def mended(problem: LinearProgram, point: AuditedPoint, enough: float) -> AuditedPoint:
    """The point, with other row duals where its error is larger than what is enough and they make it smaller."""
    for lost_first in (True, False):
        if point.audit.error > enough and problem.is_sparse:
            duals = _mended_duals(problem, point, lost_first)
            found = point if duals is None else AuditedPoint.of(problem, point.x, duals)
            point = min(point, found, key=lambda one: one.audit.error)
    return point


@np.errstate(invalid="ignore", over="ignore")  # an infinite distance to a bound, times zero
def _mended_duals(problem: LinearProgram, point: AuditedPoint, lost_first: bool) -> Vector | None:
    """Give the column farthest from its bounds a dual that explains it, and go on with those that this contradicts.

    The row is that for which the columns are worth least then; with ``lost_first`` one whose dual is zero, if any is.
    """
    rows, columns, y = problem.A, sp.csc_array(problem.A), point.y.copy()
    reduced, activities, worth = point.audit.reduced_costs.copy(), point.audit.activities, _WORTH * point.audit.size
    below, above = point.x - problem.lower, problem.upper - point.x
    noise = _NOISE * (np.abs(problem.c) + abs(columns).T @ np.abs(y))

    def wrong(chosen: NDArray[np.int64], costs: Vector) -> tuple[NDArray[np.bool_], float]:
        """Which columns these reduced costs contradict, and what they are worth in all."""
        sizes, room = np.abs(costs), np.where(costs > 0, below[chosen], above[chosen])
        bad = (sizes > noise[chosen]) & (sizes * room > worth)
        return bad, float((sizes * np.minimum(room, 1.0 + np.abs(point.x[chosen])))[bad].sum())

    first = np.flatnonzero(wrong(np.arange(problem.n), reduced)[0])
    if first.size > _MOST_WRONG * problem.n:
        return None
    room = np.minimum(below, above)
    queue = [(-room[j], j) for j in first]
    heapq.heapify(queue)
    rank = np.where((y == 0.0) & lost_first, 2, 1)  # 0 of those that have been changed
    for _ in range(min(_STEPS * first.size, _MOST_STEPS)):
        if not queue:
            break
        j = heapq.heappop(queue)[1]
        if not wrong(np.array([j]), reduced[[j]])[0][0]:
            continue
        best: tuple[tuple[int, float], int, float] | None = None
        part = slice(columns.indptr[j], columns.indptr[j + 1])
        for row, entry in zip(columns.indices[part], columns.data[part], strict=True):
            change = reduced[j] / entry if entry else np.inf
            side = problem.row_lower[row] if y[row] + change > 0 else problem.row_upper[row]
            if rank[row] and abs((y[row] + change) * (activities[row] - side)) <= worth:
                chosen, entries = _line(rows, row)
                before, after = reduced[chosen], reduced[chosen] - change * entries
                score = int(rank[row]), wrong(chosen, before)[1] - wrong(chosen, after)[1]
                if best is None or score > best[0]:
                    best = score, row, change
        if best is not None:
            _, row, change = best
            chosen, entries = _line(rows, row)
            reduced[chosen] -= change * entries
            y[row], rank[row] = y[row] + change, 0
            for k in chosen[wrong(chosen, reduced[chosen])[0]]:
                heapq.heappush(queue, (-room[k], k))
    return y


def _line(matrix: sp.csr_array, row: int) -> tuple[NDArray[np.int64], Vector]:
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[part], matrix.data[part]
