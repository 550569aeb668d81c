"""The options ``initial`` and ``initial_duals``: a point to begin with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError
from .options import Options
from .problem import LinearProgram

__all__ = ["Point", "initial_point"]

Point = tuple[NDArray[np.float64], NDArray[np.float64] | None]
"""Values (n,), and row duals (m,) if they are known."""


def initial_point(problem: LinearProgram, options: Options) -> Point | None:
    """Values and row duals, as of a minimization; None if the options give no point.

    Raises
    ------
    engine.errors.OptionError
        If there are not as many as variables and rows, a number is not finite, or there are duals alone.
    """
    if options.initial is None:
        if options.initial_duals is not None:
            raise OptionError("initial_duals are given without initial")
        return None
    values = np.array(options.initial)
    _require(values, "initial", problem.n, "variable")
    if options.initial_duals is None:
        return np.clip(values, problem.lower, problem.upper), None
    duals = (-1.0 if problem.maximize else 1.0) * np.array(options.initial_duals)
    _require(duals, "initial_duals", problem.m, "row")
    return np.clip(values, problem.lower, problem.upper), duals


def _require(found: NDArray[np.float64], name: str, count: int, what: str) -> None:
    if found.size != count or not np.isfinite(found).all():
        raise OptionError(f"{name} must be {count} finite numbers, one for each {what}; got {found.size} values")
