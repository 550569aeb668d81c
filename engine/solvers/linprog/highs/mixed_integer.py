"""HiGHS's branch and bound in this process."""

from __future__ import annotations

import math
from typing import Any

import highspy
import numpy as np

from .child import Model, Point, outcome, quiet, to_highs

__all__ = ["MixedInteger"]


class MixedInteger:
    """A mixed-integer program, solved by HiGHS's branch and bound.

    :meth:`stop` may be called from another thread, which may also read ``latest`` meanwhile.

    Parameters
    ----------
    model : dict
        With ``integrality`` (n,): 0 for continuous variables, 1 integer, 2 semi-continuous, 3 semi-integer.
    options : dict
        HiGHS's.
    start : ndarray, shape (n,), optional
        A point that may be feasible.

    Attributes
    ----------
    latest : tuple
        The best point that has been found, or None, and the best bound, as of a minimization.
    """

    def __init__(self, model: Model, options: dict[str, Any], start: Any = None) -> None:
        self._highs = quiet(**options)
        self._model, self._start = model, start
        self._stopped = False
        self.latest: tuple[Any, float] = (None, -math.inf)
        self._highs.cbMipImprovingSolution += self._take_point
        self._highs.cbMipInterrupt += self._look

    def _take_point(self, event: Any) -> None:
        x = np.array(event.data_out.mip_solution)[: len(self._model["c"])]  # semi-continuous ones have columns more
        self.latest = x, max(self.latest[1], float(event.data_out.mip_dual_bound))

    def _look(self, event: Any) -> None:
        self.latest = self.latest[0], max(self.latest[1], float(event.data_out.mip_dual_bound))
        if self._stopped:
            event.interrupt()

    def stop(self) -> None:
        """Let the work end soon; it returns what it has."""
        self._stopped = True
        self._highs.setOptionValue("time_limit", 0.0)

    def run(self) -> Point:
        """Solve the program.

        Returns
        -------
        dict
            ``status`` (see :func:`solve`), ``iterations``, ``nodes``, ``bound``, and ``x`` where there is a point.
        """
        highs, model = self._highs, self._model
        lp = to_highs(model)
        lp.integrality_ = [highspy.HighsVarType(int(kind)) for kind in model["integrality"]]
        if highs.passModel(lp) == highspy.HighsStatus.kError:
            return {"status": "failed", "iterations": 0, "nodes": 0, "bound": -math.inf}
        if self._start is not None:
            solution = highspy.HighsSolution()
            solution.col_value, solution.value_valid = self._start.tolist(), True
            highs.setSolution(solution)
        if self._stopped:
            highs.setOptionValue("time_limit", 0.0)
        highs.run()
        info = highs.getInfo()
        found = outcome(highs) | {"nodes": int(max(0, info.mip_node_count)), "bound": float(info.mip_dual_bound)}
        highs.clearCallbacks()
        return found
