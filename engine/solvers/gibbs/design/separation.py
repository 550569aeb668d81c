"""Whether a combination of the columns separates the classes, so that only the prior bounds its length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .lines import chunks
from .matrix import Design

__all__ = ["separating_columns", "separating_with_intercept"]

Floats = NDArray[np.float64]

_NAMED = 5
_MOST_WRONG = 0.1  # share of the rows that are on the wrong side at the mode
_MOST_ENTRIES, _MOST_ITERATIONS = 200_000, 2000  # of the linear program
_MOST_WORK = 4_000_000_000  # multiplications for the inner products of the rows


def separating_columns(design: Design, beta: Floats, margins: Floats) -> tuple[int, ...]:
    """The largest coefficients, by column of the design, of a beta that separates the classes without the intercept.

    A multiple of such a beta has a larger likelihood, without end. Where there are at least as many columns as rows,
    rows that are linearly independent are separated whatever their classes are. Elsewhere none is looked for if the
    mode is far from it, or the design is large. The margins are multiplied by y = +-1.
    """
    if design.family.targeted or design.pinned is not None:
        return ()
    without = margins - beta[0] * design.signs(0, len(margins)) if design.intercept else margins
    coefficients, wrong = beta[design.leading :], float((without <= 0.0).mean())
    if wrong > 0.0:
        rows, columns = len(margins), len(coefficients)
        likely = wrong < _MOST_WRONG or columns >= rows
        if likely and rows * columns <= _MOST_ENTRIES:
            coefficients = _separating_direction(design)
        elif columns >= rows and rows * rows * columns <= _MOST_WORK:
            coefficients = _interpolating_direction(design)
        else:
            coefficients = np.zeros(1)
    return _largest(design, coefficients)


def separating_with_intercept(design: Design, beta: Floats, margins: Floats) -> tuple[int, ...]:
    """The largest coefficients, by column of the design, of a mode that separates the classes; empty if it does not."""
    if design.family.targeted or not (margins > 0.0).all():
        return ()
    return _largest(design, beta[design.leading :])


def _largest(design: Design, coefficients: Floats) -> tuple[int, ...]:
    size = np.abs(coefficients)
    order = np.argsort(-size, kind="stable")[:_NAMED]
    return tuple(int(j) + design.leading for j in order[size[order] > 0.1 * size.max()])


def _separating_direction(design: Design) -> Floats:
    """The coefficients of smallest sum of sizes with which every margin is at least 1; zeros if there are none."""
    from scipy.optimize import linprog

    count = len(design.active)
    x = _signed_rows(design)
    options = {"maxiter": _MOST_ITERATIONS}
    found = linprog(np.ones(2 * count), A_ub=np.hstack([-x, x]), b_ub=-np.ones(len(x)), options=options)
    return np.asarray(found.x[:count] - found.x[count:] if found.status == 0 else np.zeros(count))


def _interpolating_direction(design: Design) -> Floats:
    """The shortest coefficients with the margins 1 - s m, s a row's sign of mean m; zeros if these are not reached."""
    x = _signed_rows(design)
    signs = design.signs(0, len(x)).astype(np.float64)
    wanted = 1.0 - signs * signs.mean() if design.intercept else np.ones(len(x))
    coefficients = x.T @ np.linalg.lstsq(x @ x.T, wanted, rcond=1e-10)[0]
    reached = bool((x @ coefficients > 0.5 * wanted.min()).all())
    return np.asarray(coefficients if reached and wanted.min() > 0.0 else np.zeros(len(coefficients)))


def _signed_rows(design: Design) -> Floats:
    return np.concatenate([part * sign[:, None] for _, part, sign in chunks(design)]).astype(np.float64)
