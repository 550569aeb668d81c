"""The limited-memory BFGS method (Nocedal and Wright, *Numerical Optimization*, 2nd ed., algorithm 7.5).

SciPy's has bounds, and takes 0.3 s to import.
"""

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MEMORY = 12
_DECREASE = 1e-4  # of what the slope promises, at least
_SHORTEST = 1e-12


def minimize(
    objective: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    iterations: int,
    close: float,
    rounding: float,
    stops: Callable[[], bool] = lambda: False,
) -> Floats:
    """Where an objective, given with its gradient, is least.

    The search ends where no entry of the gradient exceeds ``close``, where an iteration gains less than the relative
    ``rounding`` of the objective, and when ``stops`` says so, at the best point so far.
    """
    point, pairs = start, deque[tuple[Floats, Floats]](maxlen=_MEMORY)
    value, gradient = objective(point)
    for _ in range(iterations):
        if np.abs(gradient).max(initial=0.0) <= close:
            break
        direction = _direction(gradient, pairs)
        slope, step, noise = float(gradient @ direction), 1.0, rounding * max(1.0, abs(value))
        while step > _SHORTEST and not stops():
            following = point + step * direction
            new, turned = objective(following)
            if new <= value + _DECREASE * step * slope + noise:
                break
            step *= min(0.5, max(0.1, -0.5 * step * slope / (new - value - step * slope))) if np.isfinite(new) else 0.1
        else:
            break
        change, difference = following - point, turned - gradient
        if change @ difference > np.finfo(float).eps * (difference @ difference):
            pairs.append((change, difference))
        gained, point, value, gradient = value - new, following, new, turned
        if gained <= noise:
            break
    return point


def _direction(gradient: Floats, pairs: deque[tuple[Floats, Floats]]) -> Floats:
    """Minus the gradient, times the inverse of the curvature that was met: the two loops of algorithm 7.4."""
    direction, shares = -gradient, []
    for change, difference in reversed(pairs):
        shares.append((change @ direction) / (change @ difference))
        direction = direction - shares[-1] * difference
    if pairs:
        change, difference = pairs[-1]
        direction = direction * ((change @ difference) / (difference @ difference))
    for (change, difference), share in zip(pairs, reversed(shares), strict=True):
        direction = direction + (share - (difference @ direction) / (change @ difference)) * change
    return direction
