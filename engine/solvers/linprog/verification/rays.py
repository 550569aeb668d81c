"""Certificates that a linear program has no optimum: checks of rays, and rays improved by least squares."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ....util.text import counted
from ..problem import LinearProgram, Matrix, sp
from .audit import priced
from .sums import exact_sum, product, smallest_terms, term_sizes, transposed

Vector = NDArray[np.float64]

_MOST_POLISHING = 1_000_000_000
"""Products of the sizes of a least-squares problem beyond which a ray is not polished: a second or so on one core."""
_REACH = 1e8
_ZERO = (1e-12, 1e-9, 1e-7, 1e-5)  # entries of a ray below this part of the largest may be rounding errors
_ROUNDING = 1e-15  # of the terms of a sum: what it may be wrong by because a ray's entries are rounded
_UNSEEN = 1e-3  # an error of a sum above this part of its smallest term may be that term: the sum may not be zero
_OVERFLOWS = np.errstate(over="ignore", invalid="ignore")  # what overflows proves nothing


@_OVERFLOWS
def proves_infeasible(problem: LinearProgram, y: Vector) -> float:
    """How far a Farkas ray reaches: no x with ``sum |x| <= reach`` is feasible; 0 if it proves nothing.

    Rows times y, and bounds times ``-A^T y``, add up to something that every feasible x would have to make at least
    positive though it is at most zero. A violation v of a sign costs ``v |x_j|`` of that; it may be 1e-9 of what is
    added up in its column, and must be much less than each term there, or it is no rounding error.
    """
    if not np.isfinite(y).all() or not y.any():
        return 0.0
    y = y / np.abs(y).max()
    y = np.where((y > 0) & np.isneginf(problem.row_lower) | (y < 0) & np.isposinf(problem.row_upper), 0.0, y)
    turned = transposed(problem.A)
    reduced = product(turned, -y)
    rounded = np.flatnonzero((reduced != 0.0) & (np.abs(reduced) <= 4e-16 * term_sizes(turned, y)))
    rounded = rounded[np.abs(reduced[rounded]) <= _UNSEEN * smallest_terms(turned[rounded], y)]
    reduced[rounded] = 0.0
    row_terms, _ = priced(y, problem.row_lower, problem.row_upper)
    column_terms, wrong = priced(reduced, problem.lower, problem.upper)
    terms = np.concatenate([row_terms, column_terms])
    value = exact_sum(terms)
    if not value > 1e-9 * np.abs(terms).max() or not _negligible(turned, y, wrong, 1e-9):
        return 0.0
    return value / max(float(wrong.max(initial=0.0)), 1e-300)


@_OVERFLOWS
def polished(problem: LinearProgram, y: Vector) -> Vector:
    """A Farkas ray that violates fewer signs, by least squares; zeros stay."""
    if not np.isfinite(y).all() or not y.any() or problem.m > 20_000:
        return y
    y = np.where((y > 0) & np.isneginf(problem.row_lower) | (y < 0) & np.isposinf(problem.row_upper), 0.0, y)
    return _mended(
        transposed(problem.A),
        y / np.abs(y).max(),
        lambda sums: priced(-sums, problem.lower, problem.upper)[1],
        lambda moved: moved,
    )


def _mended(
    matrix: Matrix, vector: Vector, wrong_of: Callable[[Vector], Vector], allowed: Callable[[Vector], Vector]
) -> Vector:
    """A vector v of whose sums ``A v`` fewer are wrong, by least squares on those; zeros stay."""
    at_fault = np.zeros(matrix.shape[0], bool)
    for _ in range(6):
        sums = product(matrix, vector)
        wrong = wrong_of(sums)
        at_fault |= wrong > 0.0
        places, count = np.flatnonzero(vector), int(at_fault.sum())
        if not (wrong > 0.0).any() or not places.size:
            break
        if count * places.size * min(count, places.size) > _MOST_POLISHING:
            break
        block = matrix[np.flatnonzero(at_fault)][:, places]
        dense = block.toarray() if sp.issparse(block) else np.asarray(block)
        sizes, weights = np.maximum(np.abs(dense).max(axis=1), 1e-300), np.abs(vector[places])
        change = np.linalg.lstsq(dense / sizes[:, None] * weights, -sums[at_fault] / sizes, rcond=1e-12)[0]
        moved = vector.copy()
        moved[places] += weights * change
        if not np.isfinite(moved).all() or not moved.any():
            break
        vector = allowed(moved)
    return vector


@_OVERFLOWS
def proves_unbounded(problem: LinearProgram, direction: Vector) -> bool:
    """Whether a direction leads to no bound and no row's side, and improves the objective.

    What a row's side loses along it may be 1e-8 of the size of what is added up there, less by as much as the
    improvement, for a largest entry of 1, is smaller than the largest cost; and it must be much less than each term
    that is added up, or it is no rounding error. That a point is feasible is not looked at.
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
    return _negligible(problem.A, d, wrong, room)


def _negligible(matrix: Matrix, vector: Vector, wrong: Vector, room: float) -> bool:
    """Whether what the rows of ``A v`` are wrong by is at most this part of their terms, and none of them: an error."""
    if not (wrong <= max(room, _ROUNDING) * term_sizes(matrix, vector)).all():
        return False
    chosen = np.flatnonzero(wrong)
    return bool((wrong[chosen] <= _UNSEEN * smallest_terms(matrix[chosen], vector)).all())


@_OVERFLOWS
def cleaned(vector: Vector, sizes: Vector | None = None) -> list[Vector]:
    """A ray, and the same without its entries below 1e-12, 1e-9, 1e-7 and 1e-5 of the largest; all are different."""
    weighed = np.abs(vector if sizes is None else vector * sizes)
    largest = float(weighed.max(initial=0.0))
    found = [vector]
    for zero in _ZERO:
        left = np.where(weighed < zero * largest, 0.0, vector)
        if np.count_nonzero(left) < np.count_nonzero(found[-1]):
            found.append(left)
    return found


@_OVERFLOWS
def polished_ray(problem: LinearProgram, direction: Vector) -> Vector:
    """A direction that leads to fewer rows' sides, by least squares on the rows at fault; zeros stay."""
    if not np.isfinite(direction).all() or not direction.any():
        return direction
    found = _mended(
        problem.A,
        _open_direction(problem, direction),
        lambda moves: _ended(problem, moves),
        lambda moved: _open_direction(problem, moved),
    )
    return found if found.any() else direction


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


_NAMED = 8  # rows, or variables, that are named; of more, those of the largest entries
_NEGLIGIBLE = 1e-9  # part of the terms that a reduced cost, or of the largest entry that one of a ray, is a rounding of
_PARTS = (1e-2, 1e-4, 1e-6, 1e-9)  # of the largest multiplier, below which rows may be dispensable


def reason_of_infeasibility(problem: LinearProgram, farkas: Vector) -> str:
    """The rows that a Farkas ray combines, without needless ones, and the variables whose bounds it needs."""
    ray = _without_small_entries(problem, farkas)
    rows = _named(problem.row_names, "r", ray)
    turned = transposed(problem.A)
    reduced = product(turned, -ray)
    needed = np.where(np.abs(reduced) > _NEGLIGIBLE * term_sizes(turned, ray), reduced, 0.0)
    bounds = f" with the bounds of {_listed(_named(problem.names, 'x', needed), 'variable')}" if needed.any() else ""
    if len(rows) == 1:
        return f"row {rows[0]} cannot hold{bounds}"
    return f"these rows cannot hold together{bounds}: {_listed(rows, 'row')}"


def reason_of_unboundedness(problem: LinearProgram, ray: Vector) -> str:
    """The variables that a ray changes, and in which sense."""
    entries = np.where(np.abs(ray) > _NEGLIGIBLE * np.abs(ray).max(), ray, 0.0)
    moves = [
        f"{_listed(_named(problem.names, 'x', part), 'variable', ' and ')} can {verb}"
        for part, verb in ((np.maximum(entries, 0.0), "grow"), (np.minimum(entries, 0.0), "fall"))
        if part.any()
    ]
    together = " together" if np.count_nonzero(entries) > 1 else ""
    return f"the objective has no bound: {' and '.join(moves)}{together} without limit"


def _without_small_entries(problem: LinearProgram, farkas: Vector) -> Vector:
    """The ray without the entries that the proof can do without, as far as their size shows it."""
    sizes = np.abs(farkas) / np.abs(farkas).max()
    for part in _PARTS:
        ray = np.where(sizes >= part, farkas, 0.0)
        if np.count_nonzero(ray) < np.count_nonzero(farkas) and reach_is_enough(
            problem, proves_infeasible(problem, ray)
        ):
            return ray
    return farkas


def _named(names: Sequence[str] | None, letter: str, entries: Vector) -> list[str]:
    """Names of the entries that are not zero: in their order, of many the largest first."""
    places = np.flatnonzero(entries)
    if places.size > _NAMED:
        places = places[np.argsort(-np.abs(entries[places]), kind="stable")]
    return [names[place] if names else f"{letter}{place}" for place in places.tolist()]


def _listed(names: Sequence[str], noun: str, last: str = ", ") -> str:
    """``a, b, c``, or ``a, b and 12 more rows``."""
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {counted(len(names) - _NAMED, f'more {noun}')}"
    return ", ".join(names[:-1]) + (last if len(names) > 1 else "") + names[-1]
