"""Columns that are nearly copies of each other, whose difference explains the target better than what was sampled.

Where x_k = x_j + e d with a small e, an effect of d needs two coefficients of opposite sign and of size 1 / e. The
posterior has a mode there beside the one of small coefficients, and chains may not find the way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .features import dense_rows
from .lines import Lines
from .matrix import Design

__all__ = ["missed_differences"]

Floats = NDArray[np.float64]

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
    margins, columns = np.empty(design.layout.rows), np.empty((design.layout.rows, len(used)))
    for begin in range(0, len(margins), design.chunk_rows):
        rows = dense_rows(X, begin, min(len(margins), begin + design.chunk_rows)).astype(np.float64)
        here = slice(begin, begin + len(rows))
        offset = 0.0 if problem.offset is None else problem.offset[here]
        margins[here] = (rows @ coefficients[1:] + coefficients[0] + offset - design.target_mean) / design.target_scale
        columns[here] = (rows[:, design.active[used]] - design.mean[used]) / design.scale[used]
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
    for first, second in pairs:
        one, other = columns[:, place[first]], columns[:, place[second]]
        difference = one - np.copysign(1.0, one @ other) * other
        difference -= difference.mean() * design.intercept
        size = float(np.sqrt(np.mean(difference**2)))
        information = float(curvature @ difference**2)
        if not 1e-12 < size < _NEAR or information <= 0.0:
            continue
        score = float(slope @ difference)
        gain = 0.5 * score**2 / information
        if gain > _PRICE * np.log1p(abs(score) / information) + _LEAST_GAIN:
            found.append((design.name(first), design.name(second)))
    return found
