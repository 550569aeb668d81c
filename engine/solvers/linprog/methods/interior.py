"""The interior-point method in a race."""

import time
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ....base.context import RunContext
from ....devices.pool.slices import SLICE_SECONDS
from ..forms.standard import Prepared
from ..interior.driver import Counters, add_counters, iterate, new_method
from ..interior.method import LEAST_GOAL, InteriorPoint, Measures
from ..interior.system import PoolSystem
from ..options import Options
from ..schema import CheckpointState
from ..validate import Point
from .base import Method, MethodUpdate

Vector = NDArray[np.float64]
_PATIENCE = 0.2  # seconds that a stop waits for an iteration


class InteriorMethod(Method):
    """An interior-point method on devices."""

    def __init__(
        self,
        prepared: Prepared,
        system: PoolSystem,
        options: Options,
        objective: Callable[[float], float],
        restored: tuple[dict[str, NDArray[Any]], CheckpointState] | None,
        initial: Point | None,
        wait: Callable[[], None] | None = None,
    ) -> None:
        """``objective`` is the user's; ``wait`` is called first; the system is closed with the method."""
        self.name = "interior point"
        self.prepared, self.options = prepared, options
        self.history: list[list[float]] = []
        self.limited = False  # whether the iterations have run out
        self._system, self._objective = system, objective
        try:
            if wait is not None:
                system.linear_system.wait_for_host()
                wait()
            self.method: InteriorPoint = new_method(system, prepared.standard.b, options)
            self._kept: tuple[dict[str, NDArray[Any]], dict[str, Any]] | None = None
            begin: Callable[[], None] | None = None
            self._first_iteration = 0
            if restored is not None:
                arrays, state = restored
                self._first_iteration = state.iteration
                self._kept = self._system.run(lambda: self._restored(arrays, state))
            elif initial is not None and options.method != "pdas":
                point = prepared.to_standard(*initial)
                begin = lambda: self.method.start_near(*point)  # noqa: E731
            else:
                begin = self.method.start
            self.measures: Measures | None = None
            self._latest: dict[str, float] = {}
            self.future = self._system.submit(lambda: self._slice(begin))
        except BaseException:
            self._system.__exit__(None, None, None)
            raise

    def _restored(
        self, arrays: dict[str, NDArray[Any]], state: CheckpointState
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Go on from a checkpoint, and keep it until there is a later iterate."""
        self.method.restore(arrays, {"iteration": state.iteration, "last_step": state.last_step})
        return self._at_present()

    def _at_present(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The iterate and its scalars, with the factorizations that have led to it."""
        arrays, scalars = self.method.save()
        return arrays, scalars | {"factorizations": self._system.factorizations}

    def _slice(self, begin: Callable[[], None] | None = None) -> tuple[Measures, Vector | None]:
        """Iterations for a while; the last measures, and x if the method has reached its goal."""
        if begin is not None:
            begin()
        started = time.perf_counter()
        measures = iterate(self.method, self.options.max_iterations, self._note, SLICE_SECONDS)
        if time.perf_counter() - started > _PATIENCE:
            self._kept = self._at_present()
        return measures, self._system.get_point()[0] if self.method.done else None

    def _note(self, measures: Measures) -> None:
        self._latest = self.series(measures)  # with the iteration of these measures: the state goes on
        self.history.append(list(self._latest.values()))

    def series(self, measures: Measures) -> dict[str, float]:
        """The columns of the history for a point; objectives in the user's sense."""
        state = self.method.state
        primal_step, dual_step, spread = state.last_step or (np.nan,) * 3  # none before the first step
        return {
            "iteration": float(state.iteration),
            "primal_objective": self._objective(measures.primal_objective),
            "dual_objective": self._objective(measures.dual_objective),
            "duality_gap": measures.gap,
            "primal_infeasibility": measures.primal_infeasibility,
            "dual_infeasibility": measures.dual_infeasibility,
            "mu": measures.mu,
            "primal_step": primal_step,
            "dual_step": dual_step,
            "spread_of_d": spread,
        }

    @override
    def collect(self) -> MethodUpdate:
        self.measures, x = self.future.result()
        self.error = self.measures.error
        method = self.method
        if method.done and x is not None:
            return MethodUpdate(point=self._point(x), final=method.goal <= LEAST_GOAL)
        if method.stuck or method.state.iteration >= self.options.max_iterations:
            self.limited = not method.stuck
            return MethodUpdate(point=self.best_point(), final=True, ended=True)
        self.future = self._system.submit(self._slice)
        return MethodUpdate()

    def _point(self, x: Vector, y: Vector | None = None) -> tuple[Vector, Vector]:
        standard = self.prepared.standard
        duals = self.method.state.y if y is None else y
        return self.prepared.from_standard(x[: standard.n], duals)

    def best_point(self) -> tuple[Vector, Vector]:
        """The best point that the method has kept; it must not be at work."""

        def read() -> Vector:
            self.method.return_to_best()
            return self._system.get_point()[0]

        return self._point(self._system.run(read))

    def present_point(self) -> tuple[Vector, Vector] | None:
        """The present point, or the last one kept if a long iteration is in progress or one failed; None if none."""
        if self._is_idle():
            return self._point(self._system.run(self._system.get_point)[0])
        if self._kept is None:
            return None
        arrays, _ = self._kept
        return self._point(arrays["x"][0], arrays["y"][0])

    def _is_idle(self) -> bool:
        """Whether no iteration is in progress, or one that ends soon; one that has failed leaves no iterate."""
        return bool(wait([self.future], timeout=_PATIENCE).done) and self.future.exception() is None

    @override
    def refine(self) -> None:
        reached = self.method.goal if self.measures is None else self.measures.error
        goal = 0.1 * min(self.method.goal, reached)  # another point, not the same again
        self.method.goal = max(goal, 0.1 * LEAST_GOAL)
        self.future = self._system.submit(self._slice)

    def save(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        """The iterate for a checkpoint, and its scalars; as :meth:`present_point`."""
        return self._system.run(self._at_present) if self._is_idle() else self._kept

    def iterations_until(self, iteration: int) -> int:
        """How many iterations this start has made to get there."""
        return iteration - self._first_iteration

    @override
    def report(self, run: RunContext) -> None:
        while self._system.warnings:
            run.notice(self._system.warnings.pop(0), level="warning")
        if self.measures is None:
            return
        latest = self._latest
        for name, value in latest.items():
            if name != "iteration" and np.isfinite(value):
                run.metric(name, value)
        if np.isfinite(self.error):
            run.metric("interior_error", self.error)
        for name, seconds in self._system.seconds.items():
            run.metric(f"seconds_{name}", seconds)
        run.progress("iterations", latest["iteration"], self.options.max_iterations, "iterations", limit=True)

    @override
    def count(self, counters: Counters) -> None:
        add_counters(counters, self._system, self.method, self._first_iteration)

    def factor_arrays(self) -> dict[str, NDArray[Any]]:
        """What a sparse factor looks like, as arrays of a result."""
        picture = self._system.linear_system.statistics().picture
        return {} if picture is None else {"factor_entries": picture[0], "factor_fronts": picture[1]}

    @override
    def close(self) -> None:
        self._system.__exit__(None, None, None)
