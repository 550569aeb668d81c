"""Solving one linear program: preparation, the method on the devices, certificates, the audit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Device, DevicePool
from engine.devices.base import bytes_text
from engine.errors import DeviceError, OptionError
from engine.results import Result, Status
from engine.run import SLICE_SECONDS, Run, StopRequested
from engine.solvers.linprog.audit import (
    Audit,
    audit,
    polished,
    polished_ray,
    proves_infeasible,
    proves_unbounded,
    reach_is_enough,
)
from engine.solvers.linprog.device_shard import DeviceShard
from engine.solvers.linprog.interior import InteriorPoint, Measures, Settings
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.prepare import Prepared, Settled, Standard, prepare
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.shard import ShardData, shard_bytes
from engine.solvers.linprog.sparse import sp
from engine.solvers.linprog.system import PoolSystem
from engine.solvers.linprog.unified_shard import device_shard
from engine.solvers.linprog.updates import updates_bytes

__all__ = ["HISTORY_COLUMNS", "shard_data", "solve"]

HISTORY_COLUMNS = (
    *("iteration", "primal_objective", "dual_objective", "duality_gap", "primal_infeasibility", "dual_infeasibility"),
    *("mu", "primal_step", "dual_step", "spread_of_d"),
)
"""Columns of ``result.arrays["history"]``, a row an iteration of this sitting; objectives in the user's sense."""

Vector = NDArray[np.float64]
_LEAST_GOAL = 1e-13
_LARGEST_CONE = 4000
_CERTIFICATE_GOAL, _CERTIFICATE_ITERATIONS = 1e-8, 200
_NOTHING = (1e-9, 1e-7, 1e-5)  # entries of a ray below this part of the largest may be rounding


@dataclass
class _Answer:
    """The best point so far, in the sense of minimization, and what the audit says of it."""

    x: Vector
    y: Vector
    audit: Audit


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
        raise OptionError('linear_solver = "sherman_morrison" goes with method = "pdas" on one device')
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
        self.best: _Answer | None = None
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
            found = self._settled(prepared)
            if found is not None:
                return found
            prepared = prepare(self.problem, presolve=False, scale=self.options.scale)
            if isinstance(prepared, Settled):
                return self._settled(prepared, proven=False) or self._plain(Status.ITERATION_LIMIT)
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
            return self._certified(prepared, stopped is not None) or self._judged(Status.ITERATION_LIMIT)
        except StopRequested as stop:
            return self._judged(stop.status)

    def _main(self, prepared: Prepared) -> Status | None:
        """The method itself; keeps the best audited point. A status if it came to an end before its time."""
        constant = self._constant(prepared)
        standard = prepared.standard
        if self.options.method == "pdas" and self.options.start == "big_m":
            standard, first_point = _big_m(standard)
        data = shard_data([standard])

        def note(measures: Measures) -> None:
            self.history.append(list(self._series(method, measures, constant).values()))

        with _Systems(self, data) as system:
            method = _method(system, standard.b[None], self.options)
            if self.options.linear_solver == "sherman_morrison":
                system.use_updates(self.options.block, self.options.refinements)
            restored = self.run.restored
            if restored is not None:
                system.run(lambda: method.restore(restored.arrays, restored.state))
            elif standard is not prepared.standard:
                system.run(lambda: system.set_point(*first_point[:4]))
                method.state.y = first_point[4]
            else:
                self._start(system, method)
            try:
                while True:
                    self.run.poll()
                    measures = system.run(lambda: _slice(method, self.options.max_iterations, note))
                    self._tell(method, measures, constant)
                    if method.done[0] and self._checked(prepared, method):
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
                if self.run.folder is not None:
                    self.run.save_checkpoint(*system.run(method.save))
                self._point(prepared, method)
                raise
            finally:
                self._count(system, method)

    def _start(self, system: PoolSystem, method: InteriorPoint) -> None:
        updating, system.updating = system.updating, False  # the start needs A A^T alone
        system.run(method.start)
        system.updating = updating

    def _checked(self, prepared: Prepared, method: InteriorPoint) -> bool:
        """Whether the point is good enough for the program as given; if not, a better one is asked for."""
        found = self._point(prepared, method)
        if found.error <= self.options.tolerance or method.goal[0] <= _LEAST_GOAL:
            return True
        method.goal *= 0.1
        return False

    def _point(self, prepared: Prepared, method: InteriorPoint) -> Audit:
        """Audit the present point, and keep it if it is the best."""
        x = method.system.run(method.system.get_point)[0][0, : prepared.standard.n]
        return self._consider(prepared, x, method.state.y[0, : prepared.standard.m])

    def _consider(self, prepared: Prepared, x: Vector, y: Vector) -> Audit:
        values, duals = prepared.back(x, y)
        found = audit(self.problem, values, duals)
        if self.best is None or found.error < self.best.audit.error:
            self.best = _Answer(values, duals, found)
        return found

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

    def _count(self, system: PoolSystem, method: InteriorPoint) -> None:
        self.counters["iterations"] += method.state.iteration
        self.counters["factorizations"] += system.factorizations
        self.counters["refinements"] += method.refinements
        if system.update_solves:
            self.counters["update_solves"] = system.update_solves
            self.counters["update_residual"] = system.worst_residual
        for name, seconds in system.seconds.items():
            self.counters[f"seconds_{name}"] = self.counters.get(f"seconds_{name}", 0.0) + seconds

    # --- certificates -------------------------------------------------------------------------------------------

    def _settled(self, found: Settled, proven: bool = True) -> Result | None:
        """What preparation alone found, if its certificate holds."""
        if found.status == "infeasible" and found.farkas is not None:
            reach = proves_infeasible(self.problem, found.farkas)
            if reach_is_enough(self.problem, reach) or not proven:
                self.run.notice(found.reason)
                return self._plain(Status.INFEASIBLE, farkas=found.farkas, reach=reach)
        if found.status == "unbounded" and found.ray is not None and proves_unbounded(self.problem, found.ray):
            self.run.notice(found.reason)
            return self._plain(Status.UNBOUNDED, ray=found.ray)
        return None

    def _certified(self, prepared: Prepared, limited: bool) -> Result | None:
        """Look for a proof that there is no optimum, by two programs that surely have one.

        The least sum of what the rows lack: if it is above zero, its duals prove that the program is infeasible. Then
        the steepest descent among directions that no row and no bound ends: below zero, it proves that it is unbounded
        if some point is feasible. These programs have iterations of their own, however few the method was allowed, and
        are solved more closely while what they give is not proof enough. If the method was ``limited``, only what the
        best point leaves open is asked.
        """
        if self.options.max_iterations == 0:
            return None
        best = self.best.audit if self.best is not None else None
        feasible = best is not None and best.primal_infeasibility <= self.options.acceptable
        if not (limited and feasible):
            lacking = shard_data([_homogeneous_costs(prepared.standard)], elastic=True)
            found: Result | None = None

            def settles(x: Vector, y: Vector) -> bool:
                nonlocal found, feasible
                found = self._infeasible_by(prepared.duals(y, np.zeros(self.problem.n)))
                values, duals = prepared.back(x[: prepared.standard.n], y)
                error = audit(self.problem, values, duals).primal_infeasibility
                feasible = feasible or error <= self.options.acceptable
                return found is not None or error <= self.options.tolerance

            self._auxiliary(lacking, prepared.standard.b, "certificate of infeasibility", settles)
            if found is not None:
                return found
        if feasible and not (limited and best is not None and best.dual_infeasibility <= self.options.acceptable):
            found = self._unbounded(prepared)
            if found is not None:
                return found
        return None if limited and feasible else self._inner_proof()

    def _unbounded(self, prepared: Prepared) -> Result | None:
        """A direction of descent without end, cleared of what rounding left in it."""
        directions, columns, shift = _directions(prepared.standard)
        if directions is None:
            return None
        found: Result | None = None

        def settles(x: Vector, _: Vector) -> bool:
            nonlocal found
            direction = np.zeros(prepared.standard.n)
            direction[columns] = x[: columns.size] - shift
            largest = float(np.abs(direction).max(initial=0.0))
            for nothing in _NOTHING:
                ray = prepared.ray(np.where(np.abs(direction) < nothing * largest, 0.0, direction))
                for candidate in (ray, polished_ray(self.problem, ray)):
                    if proves_unbounded(self.problem, candidate):
                        found = self._plain(Status.UNBOUNDED, ray=candidate / np.abs(candidate).max())
                        return True
            return False

        self._auxiliary(shard_data([directions]), directions.b, "certificate of unboundedness", settles)
        return found

    def _infeasible_by(self, farkas: Vector) -> Result | None:
        """The result if a Farkas ray, or a better one near it, is proof enough."""
        for candidate in (farkas, polished(self.problem, farkas)):
            reach = proves_infeasible(self.problem, candidate)
            if reach_is_enough(self.problem, reach):
                return self._plain(Status.INFEASIBLE, farkas=candidate, reach=reach)
        return None

    def _inner_proof(self) -> Result | None:
        """A Farkas ray from inside the cone of all of them, where no sign is violated, if the cone has an inside."""
        if self.problem.n > _LARGEST_CONE or not self.problem.m:
            return None
        cone, rows, signs = _cone(self.problem)
        prepared = prepare(cone, presolve=False)
        if isinstance(prepared, Settled):
            return None
        found: Result | None = None

        def settles(x: Vector, y: Vector) -> bool:
            nonlocal found
            weights = prepared.back(x[: prepared.standard.n], y)[0]
            farkas = np.zeros(self.problem.m)
            np.add.at(farkas, rows, signs * weights[: rows.size])
            found = self._infeasible_by(farkas)
            return found is not None

        self._auxiliary(shard_data([prepared.standard]), prepared.standard.b, "proof of infeasibility", settles)
        return found

    def _auxiliary(self, data: ShardData, b: Vector, phase: str, settles: Callable[[Vector, Vector], bool]) -> None:
        """Solve a program until its point (x, y) settles what is asked, more and more closely, or to its end."""
        most = _CERTIFICATE_ITERATIONS
        goal = min(self.options.tolerance, _CERTIFICATE_GOAL)
        changes = {"method": "mpc", "linear_solver": "cholesky", "tolerance": goal}
        with _Systems(self, data) as system:
            method = _method(system, b[None], self.options.model_copy(update=changes))
            system.run(method.start)
            while True:
                self.run.poll()
                system.run(lambda: _slice(method, most))
                self.run.progress(phase, method.state.iteration, most, "iterations")
                ended = bool(method.stuck[0]) or method.state.iteration >= most
                if not (method.done[0] or ended):
                    continue
                if not method.done[0]:
                    system.run(method.go_back)
                if settles(system.run(system.get_point)[0][0], method.state.y[0]):
                    break
                if ended or method.goal[0] <= _LEAST_GOAL:
                    break
                method.goal *= 0.01
            self._count(system, method)

    # --- the end ------------------------------------------------------------------------------------------------

    def _plain(
        self, status: Status, farkas: Vector | None = None, ray: Vector | None = None, reach: float = 0.0
    ) -> Result:
        """A result without a solution, with its certificate."""
        arrays = {}
        if farkas is not None:
            arrays["farkas"] = farkas
            self.counters["certificate_reach"] = reach
        if ray is not None:
            arrays["ray"] = ray
        return Result(status, None, None, None, counters=self.counters, arrays=arrays)

    def _judged(self, ended: Status | None) -> Result:
        """The best point, and the status its audit allows."""
        if self.best is None:
            return self._plain(ended or Status.ITERATION_LIMIT)
        found = self.best.audit
        primal, dual = self.sign * found.primal, self.sign * found.dual
        self.counters["primal_infeasibility"] = found.primal_infeasibility
        self.counters["dual_infeasibility"] = found.dual_infeasibility
        self.counters["relative_gap"] = found.gap
        good = found.error <= self.options.acceptable
        status = Status.OPTIMAL if good else ended or Status.ITERATION_LIMIT
        if good and found.error > self.options.tolerance:
            self.run.notice(f"optimal to {found.error:.1e}, not to the {self.options.tolerance:.0e} that was aimed at")
        elif not good and ended is not None and not ended.stopped:
            self.run.notice(
                f"no optimum was found: gap {found.gap:.1e}, primal infeasibility {found.primal_infeasibility:.1e}, "
                f"dual infeasibility {found.dual_infeasibility:.1e}",
                level="warning",
            )
        feasible = found.primal_infeasibility <= self.options.acceptable
        bound = dual if found.dual_infeasibility <= self.options.acceptable else None
        if feasible:
            self.run.incumbent(primal, bound)
        arrays = {
            "row_duals": self.sign * self.best.y,
            "reduced_costs": self.sign * found.reduced_costs,
            "activities": found.activities,
        }
        if self.history:
            arrays["history"] = np.array(self.history)
        return Result(status, primal, bound, self.best.x, counters=self.counters, arrays=arrays)


class _Systems:
    """A system on the pool for as long as it is needed, its memory planned first."""

    def __init__(self, solving: _Solving, data: ShardData) -> None:
        pool, options = solving.pool, solving.options
        count = min(len(pool), data.n)
        nonzeros = int(data.A.nnz) // count if sp.issparse(data.A) else None
        needed, largest = shard_bytes(data.batch, data.m, -(-data.n // count), data.N - data.n, nonzeros)
        if options.linear_solver == "sherman_morrison":
            needed += updates_bytes(data.m, data.N)
        what = f"a factor of {data.m} x {data.m} ({bytes_text(8 * data.m**2)}) and a matrix of {data.m} x {data.n}"
        advice = "add devices, which share the matrix, or use one with more memory"
        pool.require_memory({member.label: needed for member in pool.members[:count]}, what, advice, largest=largest)
        solving.counters["device_bytes"] = max(int(solving.counters["device_bytes"]), needed)
        provider = None if options.provider == "auto" else options.provider

        def make(device: Device, part: ShardData) -> DeviceShard:
            return device_shard(device, part, provider, solving.run.notice)

        self._system = PoolSystem(data, pool.members, make)

    def __enter__(self) -> PoolSystem:
        return self._system

    def __exit__(self, *_: object) -> None:
        self._system.close()


def _method(system: PoolSystem, b: Vector, options: Options) -> InteriorPoint:
    settings = Settings(
        method=options.method,
        correctors=options.correctors,
        step=options.step,
        separate_steps=options.separate_steps,
        tolerance=options.tolerance,
    )
    return InteriorPoint(system, b, settings)


def _slice(method: InteriorPoint, most: int, note: Callable[[Measures], None] | None = None) -> Measures:
    """Iterations for the length of a slice, each noted; the measures of the last point."""
    began = time.perf_counter()
    while True:
        measures = method.measure()
        if note is not None:
            note(measures)
        if (method.done | method.stuck).all() or method.state.iteration >= most:
            return measures
        method.iterate()
        if time.perf_counter() - began >= SLICE_SECONDS:
            return measures


def shard_data(programs: list[Standard], elastic: bool = False) -> ShardData:
    """A batch of programs of one shape, slacks by rows; if ``elastic``, what a row lacks or has too much costs 1."""
    first = programs[0]
    slack_rows = np.flatnonzero(first.sign)
    signs = first.sign[slack_rows]
    tops = np.stack([program.slack_upper[slack_rows] for program in programs])
    costs = np.zeros((len(programs), slack_rows.size))
    if elastic:
        rows = np.arange(first.m)
        slack_rows = np.concatenate([slack_rows, rows, rows])
        signs = np.concatenate([signs, np.ones(first.m), -np.ones(first.m)])
        tops = np.concatenate([tops, np.full((len(programs), 2 * first.m), np.inf)], axis=1)
        costs = np.concatenate([costs, np.ones((len(programs), 2 * first.m))], axis=1)
        order = np.argsort(slack_rows, kind="stable")
        slack_rows, signs, tops, costs = slack_rows[order], signs[order], tops[:, order], costs[:, order]
    matrix: Any = first.A if sp.issparse(first.A) else None
    if matrix is None:
        stacked = [np.asarray(program.A) for program in programs]
        matrix = stacked[0][None] if len(stacked) == 1 else np.stack(stacked)
    return ShardData(
        A=matrix,
        c=np.concatenate([np.stack([program.c for program in programs]), costs], axis=1),
        upper=np.concatenate([np.stack([program.upper for program in programs]), tops], axis=1),
        free=np.concatenate([np.stack([program.free for program in programs]), np.zeros(costs.shape, bool)], axis=1),
        slack_rows=slack_rows.astype(np.int64),
        slack_signs=signs,
        m=first.m,
    )


def _cone(problem: LinearProgram) -> tuple[LinearProgram, NDArray[np.int64], Vector]:
    """Prices of rows and bounds that leave no variable a cost and add up to 1: x of this program proves infeasibility.

    Its first variables are prices of sides of rows (which row, and with which sign); no cost, so that an interior-point
    method ends inside.
    """
    equal = problem.row_lower == problem.row_upper
    below = np.flatnonzero(np.isfinite(problem.row_lower))
    above = np.flatnonzero(np.isfinite(problem.row_upper) & ~equal)
    lower, upper = np.flatnonzero(np.isfinite(problem.lower)), np.flatnonzero(np.isfinite(problem.upper))
    matrix = sp.csr_array(problem.A)
    unit = sp.csr_array(sp.eye_array(problem.n))
    columns = sp.vstack([matrix[below], -matrix[above], unit[lower], -unit[upper]])
    prices = np.concatenate(
        [problem.row_lower[below], -problem.row_upper[above], problem.lower[lower], -problem.upper[upper]]
    )
    largest = max(1.0, float(np.abs(prices).max(initial=0.0)))
    rows = sp.csr_array(sp.hstack([columns, sp.csr_array(prices[:, None] / largest)]).T)
    free = np.zeros(prices.size, bool)
    free[: below.size] = equal[below]
    bounds = np.column_stack([np.where(free, -np.inf, 0.0), np.full(free.size, np.inf)])
    cone = LinearProgram(
        np.zeros(free.size), A_eq=rows, b_eq=np.concatenate([np.zeros(problem.n), [1.0]]), bounds=bounds
    )
    return cone, np.concatenate([below, above]), np.concatenate([np.ones(below.size), -np.ones(above.size)])


def _big_m(standard: Standard) -> tuple[Standard, list[Vector]]:
    """A program with an interior point that is known, and the same optimum: one more row and two more columns.

    At x0 = s0 = e (half the room of a bounded variable) and y0 = 0 a column ``b - A x0`` of cost M makes the rows
    hold, and
    a row ``-(c - s0 + z0) x + t = M'``, with dual -1, the dual constraints. Both are at zero in an optimum if M and
    M' are large enough. Returns the program and x, s, w, z, y.
    """
    rows = np.flatnonzero(standard.sign)
    x = np.where(np.isfinite(standard.upper), 0.5 * np.minimum(standard.upper, 2.0), 1.0)
    slack = np.where(np.isfinite(standard.slack_upper[rows]), 0.5 * np.minimum(standard.slack_upper[rows], 2.0), 1.0)
    x[standard.free] = 0.0
    lacking = standard.b - np.asarray(standard.A @ x)
    lacking[rows] -= standard.sign[rows] * slack
    bounded = np.isfinite(standard.upper)
    s, z = np.where(standard.free, 0.0, 1.0), np.where(bounded, 1.0, 0.0)
    missing = standard.c - s + z
    cost = 1e3 * (1.0 + float(np.abs(standard.c).max(initial=0.0))) * standard.n
    room = 1e3 * (1.0 + float(np.abs(standard.b).max(initial=0.0))) * (1.0 + float(np.abs(missing).sum()))
    corner = np.zeros((1, 1))
    blocks = [[sp.csr_array(standard.A), sp.csr_array(lacking[:, None])], [sp.csr_array(-missing[None]), corner]]
    matrix = sp.csr_array(sp.block_array(blocks))
    if not sp.issparse(standard.A):
        matrix = matrix.toarray()
    augmented = Standard(
        A=matrix,
        b=np.append(standard.b, room),
        c=np.append(standard.c, cost),
        upper=np.append(standard.upper, np.inf),
        free=np.append(standard.free, False),
        sign=np.append(standard.sign, 1.0),
        slack_upper=np.append(standard.slack_upper, np.inf),
    )
    tops = np.concatenate([standard.upper, [np.inf], standard.slack_upper[rows], [np.inf]])
    values = np.concatenate([x, [1.0], slack, [room + float(missing @ x)]])
    duals = np.concatenate([np.where(standard.free, 1.0, s), [cost], np.ones(rows.size), [1.0]])
    above = np.where(np.isfinite(tops), tops - values, 1.0)
    prices = np.concatenate([np.where(bounded, z, 1.0), [1.0], np.ones(rows.size), [1.0]])
    y = np.append(np.zeros(standard.m), -1.0)
    return augmented, [values[None], duals[None], above[None], prices[None], y[None]]


def _homogeneous_costs(standard: Standard) -> Standard:
    return replace(standard, c=np.zeros(standard.n))


def _directions(standard: Standard) -> tuple[Standard | None, NDArray[np.int64], Vector]:
    """minimize c d over A d + slacks = 0, 0 <= d <= 1 (free ones -1 <= d <= 1) where nothing ends x; d + shift >= 0."""
    columns = np.flatnonzero(~np.isfinite(standard.upper))
    if not columns.size:
        return None, columns, np.zeros(0)
    matrix = sp.csr_array(standard.A[:, columns]) if sp.issparse(standard.A) else np.asarray(standard.A)[:, columns]
    shift = np.where(standard.free[columns], 1.0, 0.0)
    directions = Standard(
        A=matrix,
        b=np.asarray(matrix @ shift),
        c=standard.c[columns],
        upper=1.0 + shift,
        free=np.zeros(columns.size, bool),
        sign=np.where(np.isfinite(standard.slack_upper), 0.0, standard.sign),
        slack_upper=np.full(standard.m, np.inf),
    )
    return directions, columns, shift
