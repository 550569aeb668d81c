"""The methods that work on a program at the same time: each a racer, which is polled and ended by the solver's loop."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import DevicePool, Member
from engine.devices.group import WorkerGroup
from engine.devices.slices import SLICE_SECONDS
from engine.run import Run
from engine.solvers.linprog.child_process import ChildError, ChildProcess
from engine.solvers.linprog.highs import Scaling, model_of
from engine.solvers.linprog.interior.driver import Counters, add_counters, iterate, new_method, open_system
from engine.solvers.linprog.interior.method import InteriorPoint, Measures
from engine.solvers.linprog.interior.system import PoolSystem
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.pdhg import PdhgMeasures, PdhgWorker
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.schema import CheckpointState
from engine.solvers.linprog.standard import Prepared, Standard, big_m, shard_data

__all__ = ["LEAST_GOAL", "HighsRacer", "InteriorRacer", "News", "PdhgRacer", "Racer", "host_cores"]

Vector = NDArray[np.float64]
LEAST_GOAL = 1e-13


def host_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class News:
    """What a racer has found since it was last asked.

    Attributes
    ----------
    point : tuple of ndarray, optional
        x and y: of the program that the racer works on, or, with ``original``, of the program as given.
    original : bool
    final : bool
        Whether the racer cannot improve the point.
    farkas, ray : ndarray, optional
        Unchecked certificates of the program as given.
    ended : bool
        Whether the racer has ended.
    """

    point: tuple[Vector, Vector] | None = None
    original: bool = False
    final: bool = False
    farkas: Vector | None = None
    ray: Vector | None = None
    ended: bool = False


class Racer(ABC):
    """One method at work.

    Attributes
    ----------
    name : str
        For people.
    future : Future
        Done when :meth:`collect` has news.
    error : float
        Error of the latest point, as the method measures it; nan if there is none.
    refusals : int
        Points that reached the method's goal, but failed the audit of the program as given.
    """

    name: str
    future: Future[Any]
    error: float = float("nan")
    refusals: int = 0

    @abstractmethod
    def collect(self) -> News:
        """What was found; called when ``future`` is done. Work goes on unless the racer has ended."""

    @abstractmethod
    def refine(self) -> None:
        """The point that was collected is not good enough: aim at a smaller error."""

    @abstractmethod
    def report(self, run: Run) -> None:
        """Emit the metrics of the latest point."""

    @abstractmethod
    def count(self, counters: Counters) -> None:
        """Add the work done to the counters."""

    @abstractmethod
    def close(self) -> None:
        """End now."""


class InteriorRacer(Racer):
    """An interior-point method on devices.

    Parameters
    ----------
    prepared : Prepared
        The program in standard form; it must have rows and variables.
    constant : float
        Added to the standard form's objective, in the sense of minimization.
    sign : float
        -1 if the user's program is a maximization.
    members : list of Member
        Devices that share the matrix.
    """

    def __init__(
        self,
        prepared: Prepared,
        constant: float,
        sign: float,
        options: Options,
        pool: DevicePool,
        members: list[Member],
        run: Run,
        counters: Counters,
        restored: tuple[dict[str, NDArray[Any]], CheckpointState] | None,
    ) -> None:
        self.name = "interior point"
        self.prepared, self.options = prepared, options
        self.history: list[list[float]] = []
        self.limited = False  # whether the iterations have run out
        self._constant, self._sign = constant, sign
        standard, first_point = prepared.standard, None
        if options.method == "pdas" and options.start == "big_m":
            standard, first_point = big_m(standard)
        self.standard: Standard = standard
        self._system: PoolSystem = open_system(shard_data([standard]), options, pool, members, counters, run.notice)
        try:
            self.method: InteriorPoint = new_method(self._system, standard.b[None], options)
            if options.linear_solver == "sherman_morrison":
                self._system.use_updates(options.block, options.refinements, options.constant_memory)
            begin: Callable[[], None] | None = None
            self._first_iteration = 0
            if restored is not None:
                arrays, state = restored
                self._first_iteration = state.iteration
                self._system.run(lambda: self.method.restore(arrays, {"iteration": state.iteration}))
            elif first_point is not None:
                start = first_point
                self._system.run(lambda: self._system.set_point(*start[:4]))
                self.method.state.y = start[4]
            else:
                begin = self._start
            self.measures: Measures | None = None
            self._latest: dict[str, float] = {}
            self.future = self._system.submit(lambda: self._slice(begin))
        except BaseException:
            self._system.__exit__(None, None, None)
            raise

    def _start(self) -> None:
        updating, self._system.updating = self._system.updating, False  # the start needs A A^T alone
        self.method.start()
        self._system.updating = updating

    def _slice(self, begin: Callable[[], None] | None = None) -> tuple[Measures, Vector | None]:
        """Iterations for a while; the last measures, and x if the method has reached its goal."""
        if begin is not None:
            begin()
        measures = iterate(self.method, self.options.max_iterations, self._note, SLICE_SECONDS)
        return measures, self._system.get_point()[0] if self.method.done[0] else None

    def _note(self, measures: Measures) -> None:
        self._latest = self.series(measures)  # with the iteration of these measures: the state goes on
        self.history.append(list(self._latest.values()))

    def series(self, measures: Measures) -> dict[str, float]:
        """The columns of the history for a point; objectives in the user's sense."""
        state = self.method.state
        steps = bool(state.iteration and state.spread.size)
        return {
            "iteration": float(state.iteration),
            "primal_objective": self._sign * (float(measures.primal_objective[0]) + self._constant),
            "dual_objective": self._sign * (float(measures.dual_objective[0]) + self._constant),
            "duality_gap": float(measures.gap[0]),
            "primal_infeasibility": float(measures.primal_infeasibility[0]),
            "dual_infeasibility": float(measures.dual_infeasibility[0]),
            "mu": float(measures.mu[0]),
            "primal_step": float(state.primal_step[0]) if steps else np.nan,
            "dual_step": float(state.dual_step[0]) if steps else np.nan,
            "spread_of_d": float(state.spread[0]) if steps else np.nan,
        }

    def collect(self) -> News:
        """See :class:`Racer`."""
        self.measures, x = self.future.result()
        self.error = float(self.measures.error[0])
        method = self.method
        if method.done[0] and x is not None:
            return News(point=self._point(x), final=bool(method.goal[0] <= LEAST_GOAL))
        if method.stuck[0] or method.state.iteration >= self.options.max_iterations:
            self.limited = not method.stuck[0]
            return News(point=self.best_point(), final=True, ended=True)
        self.future = self._system.submit(self._slice)
        return News()

    def _point(self, x: Vector) -> tuple[Vector, Vector]:
        standard = self.prepared.standard
        return self.prepared.back(x[0, : standard.n], self.method.state.y[0, : standard.m])

    def best_point(self) -> tuple[Vector, Vector]:
        """The best point that the method has kept; it must not be at work."""

        def read() -> Vector:
            self.method.return_to_best()
            return self._system.get_point()[0]

        return self._point(self._system.run(read))

    def present_point(self) -> tuple[Vector, Vector]:
        """The present point; waits for the end of the slice."""
        return self._point(self._system.run(self._system.get_point)[0])

    def refine(self) -> None:
        """See :class:`Racer`."""
        self.method.goal *= 0.1
        self.future = self._system.submit(self._slice)

    def save(self) -> tuple[dict[str, NDArray[Any]], int]:
        """The iterate for a checkpoint, and its iteration; waits for the end of the slice."""
        arrays, state = self._system.run(self.method.save)
        return arrays, int(state["iteration"])

    def report(self, run: Run) -> None:
        """See :class:`Racer`."""
        while self._system.warnings:
            run.notice(self._system.warnings.pop(0), level="warning")
        if self.measures is None:
            return
        latest = self._latest
        for name, value in latest.items():
            if name != "iteration" and np.isfinite(value):
                run.metric(name, value)
        for name, seconds in self._system.seconds.items():
            run.metric(f"seconds_{name}", seconds)
        run.progress("iterations", latest["iteration"], self.options.max_iterations, "iterations", limit=True)

    def count(self, counters: Counters) -> None:
        """See :class:`Racer`."""
        add_counters(counters, self._system, self.method, self._first_iteration)

    def close(self) -> None:
        """See :class:`Racer`."""
        self._system.__exit__(None, None, None)


class PdhgRacer(Racer):
    """The primal-dual hybrid gradient method on one device."""

    def __init__(
        self,
        program: LinearProgram,
        sign: float,
        options: Options,
        member: Member,
        certificates: bool,
        restored: tuple[dict[str, NDArray[Any]], CheckpointState] | None,
    ) -> None:
        self.name = "pdhg"
        self._sign, self._options, self._certificates = sign, options, certificates
        self.history: list[list[float]] = []
        self.measures: PdhgMeasures | None = None
        self._goal = options.tolerance
        self._slices = 0
        x = y = None
        weight = 1.0
        self._before = 0
        if restored is not None and restored[1].pdhg:
            x, y, weight = restored[0]["pdhg_x"], restored[0]["pdhg_y"], restored[1].pdhg_weight
            self._before = restored[1].pdhg_iteration
        self._group: WorkerGroup[PdhgWorker] = WorkerGroup([member], PdhgWorker, [(program, x, y, weight)])
        self._submit()

    def _submit(self) -> None:
        most = max(0, self._options.pdhg_iterations - self._before)
        self.future = self._group.submit(0, PdhgWorker.advance, most, self._goal)

    def collect(self) -> News:
        """See :class:`Racer`."""
        self.measures = found = self.future.result()
        self.error = found.error
        nothing = float("nan")
        self.history.append(
            [
                float(self._before + found.iteration),
                self._sign * found.primal_objective,
                self._sign * found.dual_objective,
                found.gap,
                found.primal_infeasibility,
                found.dual_infeasibility,
                *(nothing,) * 4,
            ]
        )
        if found.error <= self._goal:
            return News(point=self._group.first(PdhgWorker.point), final=self._goal <= LEAST_GOAL)
        if self._before + found.iteration >= self._options.pdhg_iterations or not np.isfinite(found.error):
            return News(point=self._group.first(PdhgWorker.point), final=True, ended=True)
        self._slices += 1
        farkas = ray = None
        if self._certificates and self._slices & (self._slices - 1) == 0:  # at slices 1, 2, 4, 8, ...
            ray, farkas = self._group.first(PdhgWorker.differences)
        self._submit()
        return News(farkas=farkas, ray=ray)

    def refine(self) -> None:
        """See :class:`Racer`."""
        self._goal *= 0.1
        self._submit()

    def save(self) -> tuple[Vector, Vector, int, float]:
        """The last measured point, its iteration and primal weight; waits for the end of the slice."""
        x, y = self._group.first(PdhgWorker.point)
        iteration = self._before + (self.measures.iteration if self.measures is not None else 0)
        return x, y, iteration, self.measures.primal_weight if self.measures is not None else 1.0

    def report(self, run: Run) -> None:
        """See :class:`Racer`."""
        found = self.measures
        if found is None:
            return
        run.metric("pdhg_error", found.error)
        run.metric("pdhg_primal_weight", found.primal_weight)
        if self._options.method == "pdhg":
            run.metric("primal_objective", self._sign * found.primal_objective)
            run.metric("dual_objective", self._sign * found.dual_objective)
            run.metric("duality_gap", found.gap)
            run.metric("primal_infeasibility", found.primal_infeasibility)
            run.metric("dual_infeasibility", found.dual_infeasibility)
            iteration, most = self._before + found.iteration, self._options.pdhg_iterations
            run.progress("iterations", iteration, most, "iterations", limit=True)

    def count(self, counters: Counters) -> None:
        """See :class:`Racer`."""
        if self.measures is not None:
            counters["pdhg_iterations"] = counters.get("pdhg_iterations", 0) + self.measures.iteration
            counters["pdhg_restarts"] = counters.get("pdhg_restarts", 0) + self.measures.restarts

    def close(self) -> None:
        """See :class:`Racer`."""
        self._group.__exit__(None, None, None)


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
