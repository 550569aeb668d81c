"""HiGHS in a race, in a child process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.run import Run
from engine.solvers.linprog.highs.model import Scaling, model_of
from engine.solvers.linprog.highs.process import ChildError, ChildProcess
from engine.solvers.linprog.interior.driver import Counters
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.racers.base import News, Racer

__all__ = ["HighsRacer"]

Vector = NDArray[np.float64]


@dataclass(eq=False)
class HighsRacer(Racer):
    """HiGHS in a child process, on the program as given.

    Raises
    ------
    ChildError
        If the process cannot be started.
    """

    problem: LinearProgram
    solver: str
    tolerance: float
    iterations: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.name = f"HiGHS {self.solver}"
        model = model_of(self.problem)
        self._scaling = Scaling(model)
        self._model = self._scaling.scaled(model)
        self._process = ChildProcess()
        self._crossover = False
        self._request()

    def _request(self) -> None:
        tolerance = min(1e-7, max(1e-10, self.tolerance))
        options: dict[str, Any] = {
            "solver": self.solver,
            "threads": 1,
            "parallel": "off",
            "primal_feasibility_tolerance": tolerance,
            "dual_feasibility_tolerance": tolerance,
        }
        if self.solver == "ipm":
            options |= {"run_crossover": "on" if self._crossover else "off", "ipm_optimality_tolerance": tolerance}
        self.future = self._process.request("solve", self._model, options)

    def collect(self) -> News:
        """See :class:`Racer`."""
        try:
            found = self._scaling.back(self.future.result())
        except ChildError:
            return News(ended=True)
        self.iterations += int(found["iterations"])
        point = None
        if "x" in found and np.isfinite(found["x"]).all():
            point = found["x"], found["row_duals"]
        final = self.solver != "ipm" or self._crossover
        return News(
            point=point,
            original=True,
            final=final,
            farkas=found.get("farkas"),
            ray=found.get("ray"),
            ended=final,
        )

    def report(self, run: Run) -> None:
        """HiGHS reports nothing while it works."""

    def refine(self) -> None:
        """See :class:`Racer`: an interior point that is not exact enough is moved to a vertex."""
        self._crossover = True
        self._request()

    def count(self, counters: Counters) -> None:
        """See :class:`Racer`."""
        counters["highs_iterations"] = counters.get("highs_iterations", 0) + self.iterations

    def close(self) -> None:
        """See :class:`Racer`."""
        self._process.close()
