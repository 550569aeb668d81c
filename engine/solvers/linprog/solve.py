"""Solving one linear program: preparation, the method on the devices, certificates, the audit."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.devices import DevicePool
from engine.errors import DeviceError, OptionError
from engine.results import Result, Status
from engine.run import Run, StopRequested
from engine.solvers.linprog.answer import Answer, proven
from engine.solvers.linprog.audit import Audit
from engine.solvers.linprog.certificates import LEAST_GOAL, Certificates, settled
from engine.solvers.linprog.forms import big_m, shard_data
from engine.solvers.linprog.interior import InteriorPoint, Measures
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.prepare import prepare
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.session import Systems, count, iterate, method_of
from engine.solvers.linprog.standard import Prepared, Settled
from engine.solvers.linprog.system import PoolSystem

__all__ = ["HISTORY_COLUMNS", "solve"]

HISTORY_COLUMNS = (
    *("iteration", "primal_objective", "dual_objective", "duality_gap", "primal_infeasibility", "dual_infeasibility"),
    *("mu", "primal_step", "dual_step", "spread_of_d"),
)
"""Columns of ``result.arrays["history"]``, a row an iteration of this sitting; objectives in the user's sense."""

Vector = NDArray[np.float64]
_Begin = Callable[[PoolSystem, InteriorPoint], None]


def solve(problem: LinearProgram, options: Options, pool: DevicePool, run: Run) -> Result:
    """Solve a linear program by an interior-point method.

    Parameters
    ----------
    problem : LinearProgram
    options : Options
    pool : DevicePool
        The columns of the matrix are shared out evenly; the first device factorises.
    run : Run

    Returns
    -------
    Result
        ``solution`` is x; ``arrays`` are those of :class:`LinearProgram`; counters: ``"iterations"``,
        ``"factorizations"``, ``"refinements"``, ``"rows"`` and ``"variables"`` after preparation, ``"device_bytes"``,
        the
        audited ``"primal_infeasibility"`` and ``"dual_infeasibility"``, and seconds of each phase. *Optimal* is said
        when
        gap and infeasibilities of the program as given are at most ``options.acceptable``; *infeasible* and *unbounded*
        when a certificate has been checked on the host; *unbounded* takes a feasible point besides the ray (of
        largest entry 1). Anything else ends with its iteration limit, and a notice.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If the matrix and the factor do not fit.
    engine.errors.DeviceError
        If a device has no float64.
    """
    if options.linear_solver == "sherman_morrison" and (options.method != "pdas" or len(pool) > 1):
        raise OptionError(
            'linear_solver = "sherman_morrison" goes with method = "pdas" on one device; '
            f'got method = "{options.method}" on {len(pool)}'
        )
    for member in pool.members:
        if not member.info.capabilities.fp64:
            raise DeviceError(f"{member.info.id} ({member.info.name}) has no float64, which linear programs need")
    if problem.integers:
        run.notice(f"{problem.integers} variables are declared integer and are taken as continuous", level="warning")
    return _Solving(problem, options, pool, run).result()


class _Solving:
    """One solving, from preparation to result."""

    def __init__(self, problem: LinearProgram, options: Options, pool: DevicePool, run: Run) -> None:
        self.problem = problem
        self.options = options
        self.pool = pool
        self.run = run
        self.sign = -1.0 if problem.maximize else 1.0
        self.best: Answer | None = None
        self.history: list[list[float]] = []
        self.counters: dict[str, int | float] = {
            "iterations": 0,
            "factorizations": 0,
            "refinements": 0,
            "rows": problem.m,
            "variables": problem.n,
            "device_bytes": 0,
        }

    # --- the course of it ---------------------------------------------------------------------------------------

    def result(self) -> Result:
        """Prepare, solve, and say what was found."""
        began = time.perf_counter()
        prepared = prepare(self.problem, presolve=self.options.presolve, scale=self.options.scale)
        if isinstance(prepared, Settled):
            proof = settled(self.problem, prepared)
            if proof is not None:
                self.run.notice(prepared.reason)
                return proven(proof, self.counters)
            prepared = prepare(self.problem, presolve=False, scale=self.options.scale)
            if isinstance(prepared, Settled):
                proof = settled(self.problem, prepared, proven=False)
                return self._undecided(Status.ITERATION_LIMIT) if proof is None else proven(proof, self.counters)
        self.counters["rows"], self.counters["variables"] = prepared.standard.m, prepared.standard.n
        self.counters["seconds_prepare"] = time.perf_counter() - began
        if prepared.removed:
            self.run.notice("removed: " + ", ".join(f"{count} {what}" for what, count in prepared.removed.items()))
        standard = prepared.standard
        if standard.m == 0 or standard.n + int((standard.sign != 0).sum()) == 0:
            self._consider(prepared, np.zeros(standard.n), np.zeros(standard.m))
            return self._judged(None)
        try:
            stopped = self._main(prepared)
        except StopRequested as stop:
            return self._judged(stop.status)
        if self.best is not None and self.best.audit.error <= self.options.acceptable:
            return self._judged(None)
        try:
            search = Certificates(self.problem, self.options, self.pool, self.run, self.counters)
            proof = search.proof(prepared, self.best.audit if self.best is not None else None, stopped is not None)
            return self._judged(Status.ITERATION_LIMIT) if proof is None else proven(proof, self.counters)
        except StopRequested as stop:
            return self._judged(stop.status)

    def _main(self, prepared: Prepared) -> Status | None:
        """The method itself; keeps the best audited point. A status if it came to an end before its time."""
        constant = self._constant(prepared)
        standard = prepared.standard
        if self.options.method == "pdas" and self.options.start == "big_m":
            standard, first_point = big_m(standard)
        data = shard_data([standard])

        def note(measures: Measures) -> None:
            self.history.append(list(self._series(method, measures, constant).values()))

        with Systems(data, self.options, self.pool, self.run, self.counters) as system:
            method = method_of(system, standard.b[None], self.options)
            if self.options.linear_solver == "sherman_morrison":
                system.use_updates(self.options.block, self.options.refinements, self.options.constant_memory)
            restored = self.run.restored
            begin: _Begin | None = None
            if restored is not None:
                system.run(lambda: method.restore(restored.arrays, restored.state))
            elif standard is not prepared.standard:
                system.run(lambda: system.set_point(*first_point[:4]))
                method.state.y = first_point[4]
            else:
                begin = self._start
            try:
                while True:
                    self.run.poll()
                    measures, x = system.run(functools.partial(self._slice, system, method, note, begin))
                    begin = None
                    self._tell(method, measures, constant)
                    if method.done[0] and self._checked(prepared, method, x):
                        return None
                    if method.stuck[0]:
                        system.run(method.go_back)
                        self._point(prepared, method)
                        return None
                    if method.state.iteration >= self.options.max_iterations:
                        system.run(method.go_back)
                        self._point(prepared, method)
                        enough = self.best is not None and self.best.audit.error <= self.options.acceptable
                        return None if enough else Status.ITERATION_LIMIT
                    if self.run.checkpoint_due():
                        self.run.save_checkpoint(*system.run(method.save))
            except StopRequested:
                if begin is not None:
                    system.run(functools.partial(begin, system, method))
                if self.run.folder is not None:
                    self.run.save_checkpoint(*system.run(method.save))
                self._point(prepared, method)
                raise
            finally:
                count(self.counters, system, method)

    def _start(self, system: PoolSystem, method: InteriorPoint) -> None:
        updating, system.updating = system.updating, False  # the start needs A A^T alone
        method.start()
        system.updating = updating

    def _slice(
        self, system: PoolSystem, method: InteriorPoint, note: Callable[[Measures], None], begin: _Begin | None
    ) -> tuple[Measures, Vector | None]:
        """Iterations for a while, from the start if there is to be one; and x, if that is where they end."""
        if begin is not None:
            begin(system, method)
        measures = iterate(method, self.options.max_iterations, note)
        return measures, system.get_point()[0] if method.done[0] else None

    def _checked(self, prepared: Prepared, method: InteriorPoint, x: Vector | None) -> bool:
        """Whether the point is good enough for the program as given; if not, a better one is asked for."""
        found = self._point(prepared, method, x)
        if found.error <= self.options.tolerance or method.goal[0] <= LEAST_GOAL:
            return True
        method.goal *= 0.1
        return False

    def _point(self, prepared: Prepared, method: InteriorPoint, x: Vector | None = None) -> Audit:
        """Audit the present point, of which x may be known, and keep it if it is the best."""
        if x is None:
            x = method.system.run(method.system.get_point)[0]
        return self._consider(prepared, x[0, : prepared.standard.n], method.state.y[0, : prepared.standard.m])

    def _consider(self, prepared: Prepared, x: Vector, y: Vector) -> Audit:
        answer = Answer.of(prepared, x, y)
        if self.best is None or answer.audit.error < self.best.audit.error:
            self.best = answer
        return answer.audit

    def _constant(self, prepared: Prepared) -> float:
        """What the standard form's objective lacks, in the sense of minimization."""
        values = prepared.values.copy()
        values[prepared.columns] = prepared.column_shift
        return self.sign * self.problem.objective(values)

    # --- telling ------------------------------------------------------------------------------------------------

    def _series(self, method: InteriorPoint, measures: Measures, constant: float) -> dict[str, float]:
        """What there is to tell of a point, by :data:`HISTORY_COLUMNS`."""
        state = method.state
        steps = bool(state.iteration and state.spread.size)
        return {
            "iteration": float(state.iteration),
            "primal_objective": self.sign * (float(measures.primal_objective[0]) + constant),
            "dual_objective": self.sign * (float(measures.dual_objective[0]) + constant),
            "duality_gap": float(measures.gap[0]),
            "primal_infeasibility": float(measures.primal_infeasibility[0]),
            "dual_infeasibility": float(measures.dual_infeasibility[0]),
            "mu": float(measures.mu[0]),
            "primal_step": float(state.primal_step[0]) if steps else np.nan,
            "dual_step": float(state.dual_step[0]) if steps else np.nan,
            "spread_of_d": float(state.spread[0]) if steps else np.nan,
        }

    def _tell(self, method: InteriorPoint, measures: Measures, constant: float, phase: str = "iterations") -> None:
        run = self.run
        while method.system.said:
            run.notice(method.system.said.pop(0), level="warning")
        for name, value in self._series(method, measures, constant).items():
            if name != "iteration" and np.isfinite(value):
                run.metric(name, value)
        for name, seconds in method.system.seconds.items():
            run.metric(f"seconds_{name}", seconds)
        run.progress(phase, method.state.iteration, self.options.max_iterations, "iterations")

    # --- the end ------------------------------------------------------------------------------------------------

    def _undecided(self, status: Status) -> Result:
        """A result with nothing at all."""
        return Result(status, None, None, None, counters=self.counters)

    def _judged(self, ended: Status | None) -> Result:
        """The best point, and the status its audit allows."""
        if self.best is None:
            return self._undecided(ended or Status.ITERATION_LIMIT)
        found = self.best.audit
        good = found.error <= self.options.acceptable
        if good and found.error > self.options.tolerance:
            self.run.notice(f"optimal to {found.error:.1e}, not to the {self.options.tolerance:.0e} that was aimed at")
        elif not good and ended is not None and not ended.stopped:
            self.run.notice(
                f"no optimum was found: gap {found.gap:.1e}, primal infeasibility {found.primal_infeasibility:.1e}, "
                f"dual infeasibility {found.dual_infeasibility:.1e}",
                level="warning",
            )
        result = self.best.result(self.problem, self.options, ended or Status.ITERATION_LIMIT, self.counters)
        if found.primal_infeasibility <= self.options.acceptable:
            self.run.incumbent(result.objective, result.bound)
        if self.history:
            result.arrays["history"] = np.array(self.history)
        return result
