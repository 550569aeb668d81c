"""HiGHS in a race: in a thread of this process, or in a child process."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ....base.context import RunContext
from ..highs.model import scaled_model
from ..highs.presolve import HighsHere
from ..highs.process import ChildError, new_child
from ..highs.threads import start_thread
from ..interior.driver import Counters
from ..problem import LinearProgram
from ..verification.verdict import Verdict, judge
from .base import Method, MethodUpdate

Vector = NDArray[np.float64]
_NO_STATUS = "not set", "unknown"
_LAST_POINT = 0.3  # seconds that a run which is stopped waits for the simplex method's point
_BEFORE_LIMIT, _PART_BEFORE_LIMIT = 0.3, 0.1  # seconds, at most a part of them, by which HiGHS ends before the run


def _options(solver: str, tolerance: float) -> dict[str, Any]:
    asked = min(1e-7, max(1e-10, tolerance))
    options: dict[str, Any] = {
        "solver": solver,
        "threads": 1,
        "parallel": "off",
        "primal_feasibility_tolerance": asked,
        "dual_feasibility_tolerance": asked,
    }
    return options | {"ipm_optimality_tolerance": asked} if solver == "ipm" else options


def _update_of(found: dict[str, Any], final: bool) -> MethodUpdate:
    """What HiGHS has returned for the program as given."""
    point = None
    if "x" in found and np.isfinite(found["x"]).all():
        point = found["x"], found["row_duals"]
    ended = final or point is None  # there is nothing to refine
    return MethodUpdate(
        point=point, original=True, final=final, farkas=found.get("farkas"), ray=found.get("ray"), ended=ended
    )


class _Highs(Method):
    """What HiGHS's methods share: they report nothing while they work."""

    iterations: int = 0

    @override
    def report(self, run: RunContext) -> None: ...

    @override
    def refine(self) -> None:
        """Its point is final."""

    @override
    def count(self, counters: Counters) -> None:
        counters["highs_iterations"] = counters.get("highs_iterations", 0) + self.iterations


class HighsThread(_Highs):
    """HiGHS's simplex method in a thread of this process, which starts sooner than a process."""

    shows_last = is_final = True
    gave_up = False

    def __init__(self, problem: LinearProgram, tolerance: float) -> None:
        self.name = "HiGHS simplex"
        self.here = HighsHere()
        options = _options("simplex", tolerance)
        del options["threads"]  # HiGHS refuses another number than this process has used before
        self.future = start_thread(lambda: self.here.run(problem, options))

    @override
    def collect(self) -> MethodUpdate:
        try:
            found = self.future.result()
        except ChildError:
            return MethodUpdate(ended=True)
        self.iterations = int(found["iterations"])
        self.gave_up = found["status"] in _NO_STATUS
        return _update_of(found, final=self.is_final)

    def judge(self, verdict: Verdict) -> None:
        """Audit what it has found, once it has ended."""
        with contextlib.suppress(ChildError):
            found = self.future.result()
            self.iterations = int(found["iterations"])
            judge(found, verdict)

    @override
    def present_point(self) -> tuple[Vector, Vector] | None:
        """Where the method is, which ends it; None if it has no point yet, as in presolve."""
        self.close()
        return self.collect().point if wait([self.future], timeout=_LAST_POINT).done else None

    @override
    def close(self) -> None:
        self.here.stop()


class HighsInteriorThread(HighsThread):
    """HiGHS's interior-point method on its presolved program; a point not exact enough is left to a child process."""

    is_final = False

    def __init__(
        self, simplex: HighsThread, child: Callable[[], HighsMethod], tolerance: float, solver: str = "ipm"
    ) -> None:
        self.name = f"HiGHS {solver}"
        self.here, self._new_child = simplex.here, child
        self._child: HighsMethod | None = None
        options = _options("ipm", tolerance) | {"solver": solver}
        del options["threads"]
        self._stopped = threading.Event()
        self.future = start_thread(lambda: self.here.solve_interior(options, self._stopped))

    @property
    def seconds_left(self) -> float:
        """That the method is expected to take still; 0 if its point is being moved to a vertex."""
        return self.here.interior_left if self._child is None else 0.0

    @override
    def collect(self) -> MethodUpdate:
        return super().collect() if self._child is None else self._child.collect()

    @override
    def present_point(self) -> tuple[Vector, Vector] | None:
        return super().present_point() if self._child is None else None

    @override
    def refine(self) -> None:
        """An interior point that is not exact enough is moved to a vertex."""
        self._child = self._new_child()
        self.future = self._child.future

    @override
    def count(self, counters: Counters) -> None:
        super().count(counters)
        if self._child is not None:
            self._child.count(counters)

    @override
    def close(self) -> None:
        """The simplex method goes on."""
        self.is_final = True  # no child begins for the point that it has then
        self._stopped.set()
        if self._child is not None:
            self._child.close()


@dataclass(eq=False)
class HighsMethod(_Highs):
    """HiGHS in a child process, on the program as given."""

    problem: LinearProgram
    solver: str
    tolerance: float
    crossover: Literal["after", "yes", "no"] = "after"
    time_left: Callable[[], float] = lambda: math.inf

    def __post_init__(self) -> None:
        self.name = f"HiGHS {self.solver}{' with crossover' if self.crossover == 'yes' else ''}"
        self._scaling, self._model = scaled_model(self.problem)
        self._process = new_child()
        self._crossover = self.crossover == "yes"
        self._request()

    def _request(self) -> None:
        options = _options(self.solver, self.tolerance)
        if self.solver == "ipm":
            options["run_crossover"] = "on" if self._crossover else "off"
        left = self.time_left()
        if np.isfinite(left):
            options["time_limit"] = max(0.0, left - min(_BEFORE_LIMIT, _PART_BEFORE_LIMIT * left))
        self.future = self._process.request("solve", self._model, options)

    @override
    def collect(self) -> MethodUpdate:
        try:
            found = self._scaling.back(self.future.result())
        except ChildError:
            return MethodUpdate(ended=True)
        self.iterations += int(found["iterations"])
        final = self.solver != "ipm" or self._crossover or self.crossover == "no"
        return _update_of(found, final=final or found["status"] == "time limit reached")

    @override
    def refine(self) -> None:
        """An interior point that is not exact enough is moved to a vertex."""
        self._crossover = True
        self._request()

    @override
    def close(self) -> None:
        self._process.close()
