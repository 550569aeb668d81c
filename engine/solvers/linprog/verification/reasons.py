"""Why a linear program has no optimum, in a sentence that names the rows or variables of the certificate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....util.text import counted
from ..problem import LinearProgram
from .rays import proves_infeasible, reach_is_enough
from .sums import product, term_sizes, transposed

__all__ = ["reason_of_infeasibility", "reason_of_unboundedness"]

Vector = NDArray[np.float64]

_NAMED = 8  # rows, or variables, that are named; of more, those of the largest entries
_NEGLIGIBLE = 1e-9  # part of the terms that a reduced cost, or of the largest entry that one of a ray, is a rounding of
_PARTS = (1e-2, 1e-4, 1e-6, 1e-9)  # of the largest multiplier, below which rows may be dispensable


def reason_of_infeasibility(problem: LinearProgram, farkas: Vector) -> str:
    """The rows that a Farkas ray combines, and the variables whose bounds it needs.

    Rows with small multipliers are left out if the ray proves as much without them.

    Parameters
    ----------
    problem : LinearProgram
    farkas : ndarray, shape (m,)
        A ray that proves that the program is infeasible.

    Returns
    -------
    str
        A sentence without a final full stop, such as ``these rows cannot hold together: c1, c2, c3``.
    """
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
    """The variables that a ray changes, and in which sense.

    Parameters
    ----------
    problem : LinearProgram
    ray : ndarray, shape (n,)
        A direction that improves the objective and that nothing ends.

    Returns
    -------
    str
        A sentence without a final full stop, such as ``the objective has no bound: x and y can grow together without
        limit``.
    """
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
