"""Combinations of columns that separate the classes, so that only the prior bounds them; modes that chains missed."""

import numpy as np
from numpy.typing import NDArray

from ....numerics.blas_threads import one_thread
from .features import dense_rows
from .lines import Lines, chunks
from .matrix import Design

Floats = NDArray[np.float64]

_NAMED = 5
_MOST_WRONG = 0.1  # share of the rows that are on the wrong side at the mode
_MOST_ENTRIES, _MOST_ITERATIONS = 200_000, 2000  # of the linear program
_MOST_STEPS = 30
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
    count = len(design.active)
    x = _signed_rows(design)
    with one_thread():  # others take longer to wake
        mixed = _are_mixed(x)
    if mixed:
        return np.zeros(count)
    from scipy.optimize import linprog  # slow to import, and most data need no linear program

    options = {"maxiter": _MOST_ITERATIONS}
    found = linprog(np.ones(2 * count), A_ub=np.hstack([-x, x]), b_ub=-np.ones(len(x)), options=options)
    return np.asarray(found.x[:count] - found.x[count:] if found.status == 0 else np.zeros(count))


def _are_mixed(x: Floats) -> bool:
    """Whether rows are found to have positive multiples whose sum is 0: then no x b is positive (Gordan, 1873).

    Such are w (1 - x step), where Newton's method for the minimum of the sum of w = exp(-x b) changes no x b by 1.
    """
    margins = np.zeros(len(x))
    for _ in range(_MOST_STEPS):
        roots = np.exp(-0.5 * (margins - margins.min()))
        change = x @ np.linalg.lstsq(x * roots[:, None], roots)[0]
        if change.max() < 0.9:
            return True
        margins += change / max(1.0, float(np.abs(change).max()))
    return False


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


# --- columns that are nearly copies -----------------------------------------------------------------------------------
# Where x_k = x_j + e d with a small e, an effect of d needs two coefficients of opposite sign and of size 1 / e. The
# posterior has a mode there beside the one of small coefficients, and chains may not find the way.

_MOST_PAIRS = 20
_NEAR = 1e-2  # largest deviation of a difference of standardised columns
_STEP = 1e-3  # of a margin, for derivatives by differences
_PRICE, _LEAST_GAIN = 3.0, 10.0  # of the log posterior for the logarithm of a coefficient, and what is worth a word


def missed_differences(
    design: Design, lines: Lines, coefficients: Floats, auxiliary: Floats, degrees: float
) -> list[tuple[str, str]]:
    """Names of pairs of columns with a mode of higher density than at these means, by a step along their difference."""
    several = [lines.members(line) for line in range(min(lines.nulls + _MOST_PAIRS, lines.nulls + lines.pairs))]
    pairs = sorted({tuple(sorted(members)) for members in several if len(members) == 2})
    if not pairs:
        return []
    X, problem = design.problem.X, design.problem
    used = np.unique([column - design.leading for members in pairs for column in members])
    place = {int(column) + design.leading: number for number, column in enumerate(used)}
    parts = [
        slice(at, min(len(problem.y), at + design.chunk_rows)) for at in range(0, len(problem.y), design.chunk_rows)
    ]
    columns = np.concatenate([dense_rows(X, part.start, part.stop)[:, design.active[used]] for part in parts])
    columns = (columns - design.mean[used]) / design.scale[used]
    near = []
    for first, second in pairs:
        one, other = columns[:, place[first]], columns[:, place[second]]
        difference = one - np.copysign(1.0, one @ other) * other
        difference -= difference.mean() * design.intercept
        if 1e-12 < float(np.sqrt(np.mean(difference**2))) < _NEAR:
            near.append((first, second, difference))
    if not near:
        return []
    margins = np.empty(design.layout.rows)
    for part in parts:
        rows = dense_rows(X, part.start, part.stop).astype(np.float64)
        offset = 0.0 if problem.offset is None else problem.offset[part]
        margins[part] = (rows @ coefficients[1:] + coefficients[0] + offset - design.target_mean) / design.target_scale
    sign = design.signs(0, len(margins)).astype(np.float64)
    target = (problem.y - design.target_mean) / design.target_scale if design.family.targeted else None
    below, at, above = (
        design.family.log_likelihood(sign * margins + step, target, auxiliary, degrees) for step in (-_STEP, 0.0, _STEP)
    )
    slope = (above - below) / (2.0 * _STEP) * sign
    curvature = np.maximum(0.0, (2.0 * at - above - below) / _STEP**2)
    if problem.weights is not None:
        slope, curvature = slope * problem.weights, curvature * problem.weights
    found = []
    for first, second, difference in near:
        information = float(curvature @ difference**2)
        if information <= 0.0:
            continue
        score = float(slope @ difference)
        gain = 0.5 * score**2 / information
        if gain > _PRICE * np.log1p(abs(score) / information) + _LEAST_GAIN:
            found.append((design.name(first), design.name(second)))
    return found
