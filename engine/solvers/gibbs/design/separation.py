"""Whether a combination of the columns separates the classes, so that only the prior bounds its length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.solvers.gibbs.design.lines import chunks
from engine.solvers.gibbs.design.matrix import Design

__all__ = ["separating_columns"]

Floats = NDArray[np.float64]

_NAMED = 5
_MOST_WRONG = 0.1  # share of the rows that are on the wrong side at the mode
_MOST_ENTRIES, _MOST_ITERATIONS = 200_000, 2000  # of the linear program


def separating_columns(design: Design, beta: Floats, margins: Floats) -> tuple[int, ...]:
    """The largest coefficients, by column of the design, of a beta that separates the classes without the intercept.

    A multiple of such a beta has a larger likelihood, without end. None is looked for if the mode is far from it, or
    the design is large.

    Parameters
    ----------
    design : Design
    beta : ndarray, shape (q,)
        A mode of the posterior.
    margins : ndarray, shape (rows,)
        Those at the mode, multiplied by y = +-1.
    """
    if design.family.targeted:
        return ()
    without = margins - beta[0] * design.signs(0, len(margins)) if design.first else margins
    coefficients, wrong = beta[design.first :], float((without <= 0.0).mean())
    if wrong > 0.0:
        few = wrong < _MOST_WRONG and len(margins) * len(coefficients) <= _MOST_ENTRIES
        coefficients = _separating_direction(design) if few else np.zeros(1)
    size = np.abs(coefficients)
    order = np.argsort(-size, kind="stable")[:_NAMED]
    return tuple(int(j) + design.first for j in order[size[order] > 0.1 * size.max()])


def _separating_direction(design: Design) -> Floats:
    """The coefficients of smallest sum of sizes with which every margin is at least 1; zeros if there are none."""
    from scipy.optimize import linprog

    count = len(design.active)
    x = np.concatenate([part * sign[:, None] for _, part, sign in chunks(design)]).astype(np.float64)
    options = {"maxiter": _MOST_ITERATIONS}
    found = linprog(np.ones(2 * count), A_ub=np.hstack([-x, x]), b_ub=-np.ones(len(x)), options=options)
    return np.asarray(found.x[:count] - found.x[count:] if found.status == 0 else np.zeros(count))
