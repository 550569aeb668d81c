"""Solving one linear program: presolve, the methods at work, certificates, the audit."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import DeviceInfo, DevicePool
from engine.errors import DeviceError, OptionError, RunFolderError
from engine.results import Result, Status
from engine.run import Run, StopRequested
from engine.solvers.linprog.certificates import Certificates
from engine.solvers.linprog.child_process import ChildError
from engine.solvers.linprog.highs import Presolve, highs_outcome, to_vertex
from engine.solvers.linprog.interior.driver import Counters, planned_bytes, require_fit
from engine.solvers.linprog.interior.shard import ShardData
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.outcome import AuditedPoint, Proof, proof_of_infeasibility, proof_of_unboundedness
from engine.solvers.linprog.pdhg import pdhg_bytes
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.race import HighsRacer, InteriorRacer, News, PdhgRacer, Racer, host_cores
from engine.solvers.linprog.schema import CheckpointState
from engine.solvers.linprog.standard import NoOptimum, Prepared, prepare

__all__ = ["method_for", "solve", "validate"]

Vector = NDArray[np.float64]
_Restore = Callable[[Vector, Vector], tuple[Vector, Vector]]

_WAIT_SECONDS = 0.05
_RACE_NONZEROS = 10_000  # `auto`: sparse programs of more nonzeros than this are raced
_RACE_ROWS = 1_000  # and those of more rows
_PRESOLVE_DENSE = 20_000  # dense programs of up to so many nonzeros are presolved,
_PRESOLVE_DENSITY = 0.25  # and those with up to this share of nonzeros
_MOST_REFUSALS = 3  # points that fail the audit before presolve is given up
_PDHG_CORES = 8  # cores from which PDHG takes part in a race on a device that computes on the host's cores


def method_for(problem: LinearProgram, options: Options) -> str:
    """The method that ``auto`` stands for."""
    if options.method != "auto":
        return options.method
    if options.linear_solver != "auto" or not problem.is_sparse:
        return "mpc"
    return "race" if problem.nonzeros > _RACE_NONZEROS or problem.m > _RACE_ROWS else "mpc"


def validate(problem: LinearProgram, options: Options, devices: Sequence[DeviceInfo]) -> None:
    """Check the rules that join problem, options and devices.

    Raises
    ------
    engine.errors.OptionError
        If options exclude each other, or what they ask for is not for this problem or these devices.
    engine.errors.DeviceError
        If a device has no float64.
    engine.errors.OutOfDeviceMemory
        If the matrix and the factor do not fit.
    """
    solver = options.linear_solver
    if solver == "sherman_morrison" and (options.method != "pdas" or len(devices) > 1):
        raise OptionError(
            'linear_solver = "sherman_morrison" requires method = "pdas" on one device; '
            f'got method = "{options.method}" on {len(devices)}'
        )
    if solver == "sparse_cholesky" and not problem.is_sparse:
        raise OptionError('linear_solver = "sparse_cholesky" requires a sparse matrix; the problem has a dense one')
    for info in devices:
        if not info.capabilities.fp64:
            raise DeviceError(f"{info.id} ({info.name}) has no float64, which linear programs need")
    method = method_for(problem, options)
    if method == "pdhg":
        require_fit(devices[:1], *pdhg_bytes(problem.m, problem.n, problem.nonzeros), "the matrix in both orders")
    elif not problem.is_sparse or solver in ("cholesky", "sherman_morrison"):
        _require_dense_fit(problem, options, devices)


def _require_dense_fit(problem: LinearProgram, options: Options, devices: Sequence[DeviceInfo]) -> None:
    """Refuse a program whose matrix and dense factor do not fit.

    A sparse program may shrink by presolve; it is planned when its size is known, unless nothing will be removed.
    """
    if options.presolve and _presolves(problem):
        return
    slacks = int((problem.row_lower != problem.row_upper).sum())
    shape = (1, problem.n + slacks)
    nothing = np.zeros(shape, bool)
    data = ShardData(
        A=problem.A if problem.is_sparse else problem.A[None],
        c=nothing,
        upper=nothing,
        free=nothing,
        slack_rows=np.zeros(0, np.int64),
        slack_signs=np.zeros(0),
        m=problem.m,
    )
    used = devices[: max(1, problem.n)]
    what = f"a factor of {problem.m} x {problem.m} and a matrix of {problem.m} x {problem.n}"
    require_fit(used, *planned_bytes(data, len(used), options), what)


def _presolves(problem: LinearProgram) -> bool:
    """Whether presolve is worth its time."""
    if problem.is_sparse or problem.m * problem.n <= _PRESOLVE_DENSE:
        return problem.m > 0
    return problem.nonzeros <= _PRESOLVE_DENSITY * problem.m * problem.n


def solve(problem: LinearProgram, options: Options, pool: DevicePool, run: Run) -> Result:
    """Solve a linear program.

    Parameters
    ----------
    problem : LinearProgram
    options : Options
    pool : DevicePool
        The columns of the matrix are distributed evenly for mpc and pdas; the first device factorises. In a race mpc
        runs on the first device and pdhg on the last.
    run : Run

    Returns
    -------
    Result
        ``solution`` is x; ``arrays`` and ``counters`` are those of
        :data:`engine.solvers.linprog.schema.SCHEMA`. The status is *optimal* if gap and infeasibilities of the program
        as given, recomputed on the host, are at most ``options.acceptable``; *infeasible* and *unbounded* if a
        certificate has been checked on the host (*unbounded* also takes a feasible point). Any other end is an
        iteration limit.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If the matrix and the factor do not fit.
    engine.errors.RunFolderError
        If a checkpoint does not belong to the program.
    """
    if problem.integers:
        run.notice(f"{problem.integers} variables are declared integer and are relaxed", level="warning")
    return _Solving(problem, options, pool, run).result()


class _Solving:
    """One solving, from presolve to result."""

    def __init__(self, problem: LinearProgram, options: Options, pool: DevicePool, run: Run) -> None:
        self.problem = problem
        self.options = options
        self.pool = pool
        self.run = run
        self.method = method_for(problem, options)
        self.sign = -1.0 if problem.maximize else 1.0
        self.best: AuditedPoint | None = None
        self.proof: Proof | None = None
        self.history: list[list[float]] = []
        self.arrays: dict[str, NDArray[Any]] = {}
        self.racers: list[Racer] = []
        self.finished: list[Racer] = []
        self.winner: Racer | None = None
        self._closed: list[Racer] = []
        self._solved_by_presolve = False
        self._restores: dict[Racer, _Restore] = {}
        self._unpresolve = False
        self._presolved_once = False
        self._stopping = False
        self.counters: Counters = {
            "iterations": 0,
            "factorizations": 0,
            "refinements": 0,
            "rows": problem.m,
            "variables": problem.n,
            "device_bytes": 0,
        }
        self.restored: tuple[dict[str, NDArray[Any]], CheckpointState] | None = None
        if run.restored is not None:
            state = run.restored.state
            if not isinstance(state, CheckpointState):
                state = CheckpointState.model_validate(state)
            self.restored = run.restored.arrays, state
            self.counters |= state.counters
            self.history = run.restored.arrays["history"].tolist()

    def result(self) -> Result:
        """Presolve, solve, and judge what was found."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._close_racers)
            try:
                ended = self._search(stack)
            except StopRequested as stop:
                ended = stop.status
                self._stopped()
            except DeviceError:
                self._save_after_failure()
                raise
            self._close_racers()
        return self._judged(ended)

    # --- the search ---------------------------------------------------------------------------------------------

    def _search(self, stack: contextlib.ExitStack) -> Status | None:
        """Find the best point, or a proof; a status if the methods ended without either."""
        began = time.perf_counter()
        self._poll()
        if self.method == "race":
            self._start_highs()
        try:
            program, restore = self._presolved(stack)
        except _Decided:
            return None
        self._presolved_once = True
        if self._decided:
            return None
        if program is not None:
            self._start_own(program, restore, began)
            if self._decided:
                return None
        self._race()
        if self._decided:
            return None
        return self._certificate(program is None)

    @property
    def _decided(self) -> bool:
        return self.proof is not None or self.winner is not None or self._solved_by_presolve

    def _best_is(self, error: float) -> bool:
        return self.best is not None and self.best.audit.error <= error

    def _start_highs(self) -> None:
        cores = host_cores()
        solvers = ["simplex", "ipm"] if cores > 3 else ["simplex"]
        for solver in solvers:
            try:
                self.racers.append(HighsRacer(self.problem, solver, self.options.tolerance))
            except ChildError as error:
                self.run.notice(str(error), level="warning")

    def _presolved(self, stack: contextlib.ExitStack) -> tuple[LinearProgram | None, _Restore]:
        """The program that the methods work on, and the way back; None if presolve found that there is no optimum."""

        if not self.options.presolve or not _presolves(self.problem):
            return self.problem, _unchanged
        try:
            presolve = stack.enter_context(Presolve(self.problem, self._poll_race))
        except ChildError as error:
            self.run.notice(f"no presolve: {error}", level="warning")
            return self.problem, _unchanged
        if presolve.status == "empty":
            self._consider(*presolve.restore(np.zeros(0), np.zeros(0)))
            if self._best_is(self.options.acceptable):
                self.run.notice("presolve has solved the program")
                self._solved_by_presolve = True
                return None, _unchanged
            return self.problem, _unchanged
        if presolve.status in ("infeasible", "unbounded_or_infeasible"):
            return None, _unchanged
        if presolve.program is None:
            return self.problem, _unchanged
        program = presolve.program
        self.run.notice(
            f"presolve: {self.problem.m} rows and {self.problem.n} variables reduced to {program.m} and {program.n}"
        )
        if program.nonzeros > _PRESOLVE_DENSITY * program.m * program.n:
            program = program.to_dense()
        return program, presolve.restore

    def _start_own(self, program: LinearProgram, restore: _Restore, began: float) -> None:
        """Start our own methods on the reduced program, unless it is decided without."""
        prepared = prepare(program, scale=self.options.scale)
        self.counters["seconds_prepare"] = time.perf_counter() - began
        if isinstance(prepared, NoOptimum):
            if program is self.problem:
                self.proof = self._quick_proof(prepared)
            return
        standard = prepared.standard
        self.counters["rows"], self.counters["variables"] = standard.m, standard.n
        if prepared.removed:
            self.run.notice("removed: " + ", ".join(f"{count} {what}" for what, count in prepared.removed.items()))
        if standard.m == 0 or standard.n + int((standard.sign != 0).sum()) == 0:
            error = self._consider(*restore(*prepared.back(np.zeros(standard.n), np.zeros(standard.m))))
            self._solved_by_presolve = error <= self.options.acceptable
            return
        self._check_restored(prepared, program)
        others = len(self.racers)
        if self.method != "pdhg":
            self._start_interior(prepared, program)
        if self.method == "pdhg" or (self.method == "race" and self._pdhg_takes_part(program)):
            member = self.pool.members[-1 if self.method == "race" else 0]
            restored = self.restored if self.restored is not None and self.restored[1].pdhg else None
            same = program is self.problem
            self.racers.append(PdhgRacer(program, self.sign, self.options, member, same, restored))
        if restore is not _unchanged:
            self._restores |= dict.fromkeys(self.racers[others:], restore)

    def _start_interior(self, prepared: Prepared, program: LinearProgram) -> None:
        values = prepared.values.copy()
        values[prepared.columns] = prepared.column_shift
        constant = (-1.0 if program.maximize else 1.0) * program.objective(values)
        members = self.pool.members[:1] if self.method == "race" else self.pool.members
        restored = self.restored if self.restored is not None and self.restored[1].interior else None
        given = (self.options, self.pool, members, self.run, self.counters, restored)
        try:
            self.racers.append(InteriorRacer(prepared, constant, self.sign, *given))
        except DeviceError as error:
            if self.method != "race" or not self.racers:
                raise
            self.run.notice(f"no interior point: {error}", level="warning")

    def _pdhg_takes_part(self, program: LinearProgram) -> bool:
        info = self.pool.members[-1].info
        if info.capabilities.shares_host_cores and host_cores() < _PDHG_CORES:
            return False
        needed, largest = pdhg_bytes(program.m, program.n, program.nonzeros)
        return needed <= self.pool.members[-1].memory().free and largest <= info.max_allocation

    def _check_restored(self, prepared: Prepared, program: LinearProgram) -> None:
        if self.restored is None:
            return
        arrays, state = self.restored
        sizes = state.rows, state.variables
        if sizes != (prepared.standard.m, prepared.standard.n):
            raise RunFolderError(
                f"the checkpoint is of a program with {sizes[0]} rows and {sizes[1]} variables after presolve; "
                f"this one has {prepared.standard.m} and {prepared.standard.n}"
            )
        for name, array in arrays.items():
            if name != "history" and not np.isfinite(array).all():
                raise RunFolderError(f"the array '{name}' of the checkpoint has an entry that is not finite")
        if state.interior and not ((arrays["x"] > 0) | (prepared_free(prepared, arrays["x"].shape[1]))).all():
            raise RunFolderError("the iterate of the checkpoint is not inside the bounds")
        if state.pdhg and arrays["pdhg_x"].size != program.n:
            raise RunFolderError("the PDHG iterate of the checkpoint does not fit the program")

    # --- the loop -----------------------------------------------------------------------------------------------

    def _poll(self) -> None:
        """Look at the run's controls; not any more once the run is being stopped."""
        if not self._stopping:
            self.run.poll()

    def _poll_race(self) -> None:
        """:meth:`_poll`; and collect what HiGHS has found meanwhile.

        Raises
        ------
        _Decided
            If that decides the race.
        """
        self._poll()
        for racer in [racer for racer in self.racers if racer.future.done() and racer not in self._restores]:
            self._take_news(racer)
        if self._decided and not self._presolved_once:
            raise _Decided

    def _race(self) -> None:
        """Let the racers work until one wins, or all have ended."""
        while self.racers or self._unpresolve:
            if self._unpresolve:
                self._start_without_presolve()
            self.run.poll()
            wait([racer.future for racer in self.racers], timeout=_WAIT_SECONDS, return_when=FIRST_COMPLETED)
            for racer in [racer for racer in self.racers if racer.future.done()]:
                self._take_news(racer)
                if self._decided:
                    return
            if self.run.checkpoint_due():
                self._save_checkpoint()

    def _start_without_presolve(self) -> None:
        """Let our methods work on the program as given: presolve cannot restore the duals of some inner points."""
        self._unpresolve = False
        own = [racer for racer in [*self.racers, *self.finished] if racer in self._restores]
        for racer in own:
            self._end(racer)
            for listed in (self.racers, self.finished):
                if racer in listed:
                    listed.remove(racer)
        self.run.notice("presolve could not restore the duals of the optimum; the program is solved without it")
        self._start_own(self.problem, _unchanged, time.perf_counter())

    def _take_news(self, racer: Racer) -> None:
        try:
            news = racer.collect()
        except DeviceError as error:
            if len(self.racers) == 1:
                raise
            self.run.notice(f"{racer.name} has ended: {error}", level="warning")
            news = News(ended=True)
        racer.report(self.run)
        if news.farkas is not None:
            self.proof = proof_of_infeasibility(self.problem, news.farkas) or proof_of_infeasibility(
                self.problem, -news.farkas
            )
        ended = news.ended
        if news.point is not None and self.proof is None:
            ended |= self._judge_point(racer, news)
        if news.ray is not None and self.proof is None:
            self._judge_ray(news.ray)
        if self.proof is not None:
            self.winner = racer
        elif ended and self.winner is None:
            self.racers.remove(racer)
            self.finished.append(racer)

    def _judge_point(self, racer: Racer, news: News) -> bool:
        """Audit a point: the racer wins, or goes on, or has ended; whether it has ended."""
        assert news.point is not None
        restore = _unchanged if news.original else self._restores.get(racer, _unchanged)
        error = self._consider(*restore(*news.point))
        racer.error = error
        good = error <= self.options.acceptable
        if error <= self.options.tolerance or (good and (news.original or (news.final and not news.ended))):
            self.winner = racer
            return False
        if news.final:
            return True
        racer.refusals += 1
        if racer.refusals >= _MOST_REFUSALS and not good and restore is not _unchanged:
            self._unpresolve = True
            return True
        racer.refine()
        return False

    def _judge_ray(self, ray: Vector) -> None:
        """Accept a ray as a proof if some point is feasible."""
        found = proof_of_unboundedness(self.problem, ray)
        feasible = self.best is not None and self.best.audit.primal_infeasibility <= self.options.acceptable
        if found is not None and feasible:
            self.proof = found

    def _consider(self, x: Vector, y: Vector) -> float:
        """Audit a point of the program as given, and keep it if it is the best; its error."""
        point = AuditedPoint.of(self.problem, x, y)
        if self.best is None or _better(point, self.best):
            self.best = point
        return point.audit.error

    # --- certificates -------------------------------------------------------------------------------------------

    def _quick_proof(self, found: NoOptimum) -> Proof | None:
        if found.farkas is not None:
            return proof_of_infeasibility(self.problem, found.farkas)
        return proof_of_unboundedness(self.problem, found.ray) if found.ray is not None else None

    def _certificate(self, presolve_found_none: bool) -> Status | None:
        """Look for a proof that there is no optimum; the status if there is none."""
        if self._best_is(self.options.acceptable):
            return None
        if self.options.max_iterations == 0:
            return Status.ITERATION_LIMIT
        if presolve_found_none:
            self._certificate_by_highs()
            if self._decided:
                return None
        prepared = prepare(self.problem, scale=self.options.scale)
        if isinstance(prepared, NoOptimum):
            self.proof = self._quick_proof(prepared)
            return None if self.proof is not None else Status.ITERATION_LIMIT
        search = Certificates(self.problem, self.options, self.pool, self.run, self.counters)
        self._close_racers()
        limited = any(isinstance(racer, InteriorRacer) and racer.limited for racer in self.finished)
        self.proof = search.proof(prepared, self.best.audit if self.best is not None else None, limited)
        if self.proof is None and self.options.method == "auto" and not limited:
            self._certificate_by_highs()
        return None if self.proof is not None or self._best_is(self.options.acceptable) else Status.ITERATION_LIMIT

    def _certificate_by_highs(self) -> None:
        """Ask HiGHS for the ray of a program without an optimum, or for the optimum that our methods have missed."""
        try:
            found = highs_outcome(self.problem, {"solver": "simplex"}, self._poll)
        except ChildError:
            return
        if "x" in found and np.isfinite(found["x"]).all():
            self._consider(found["x"], found["row_duals"])
        if "farkas" in found:
            for ray in (found["farkas"], -found["farkas"]):
                self.proof = self.proof or proof_of_infeasibility(self.problem, ray)
        if "ray" in found and self.proof is None:
            self._judge_ray(found["ray"])

    # --- checkpoints --------------------------------------------------------------------------------------------

    def _stopped(self) -> None:
        """Keep the latest points of our own methods, as a checkpoint and as candidates for the best."""
        self._stopping = True
        self._save_checkpoint()
        for racer in self.racers:
            if isinstance(racer, InteriorRacer):
                restore = self._restores.get(racer, _unchanged)
                with contextlib.suppress(ChildError):
                    self._consider(*restore(*racer.present_point()))

    def _save_after_failure(self) -> None:
        """A device has failed: what the other racers have is kept."""
        with contextlib.suppress(DeviceError):
            self._save_checkpoint()

    def _save_checkpoint(self) -> None:
        if self.run.folder is None:
            return
        arrays: dict[str, NDArray[Any]] = {}
        interior = next((racer for racer in self.racers if isinstance(racer, InteriorRacer)), None)
        pdhg = next((racer for racer in self.racers if isinstance(racer, PdhgRacer)), None)
        state: dict[str, Any] = {
            "rows": self.counters["rows"],
            "variables": self.counters["variables"],
            "interior": interior is not None,
            "iteration": 0,
            "pdhg": pdhg is not None,
            "pdhg_iteration": 0,
            "pdhg_weight": 1.0,
        }
        history = list(self.history)
        if interior is not None:
            saved, state["iteration"] = interior.save()
            arrays |= saved
            history += interior.history
        if pdhg is not None:
            arrays["pdhg_x"], arrays["pdhg_y"], state["pdhg_iteration"], state["pdhg_weight"] = pdhg.save()
            history += pdhg.history if self.method == "pdhg" else []
        arrays["history"] = np.array(history, np.float64).reshape(-1, 10)
        counters = dict(self.counters)
        for racer in self.racers:
            racer.count(counters)
        self.run.save_checkpoint(arrays, state | {"counters": counters})

    # --- the end ------------------------------------------------------------------------------------------------

    def _close_racers(self) -> None:
        for racer in [*self.racers, *self.finished]:
            self._end(racer)

    def _end(self, racer: Racer) -> None:
        """Close a racer, once, and keep its counters and history."""
        if racer in self._closed:
            return
        self._closed.append(racer)
        with contextlib.suppress(DeviceError):
            racer.close()
        racer.count(self.counters)
        own = isinstance(racer, InteriorRacer) or self.method == "pdhg"
        self.history += getattr(racer, "history", []) if own else []

    def _judged(self, ended: Status | None) -> Result:
        """The result, with the status that the audit or a proof allows."""
        if self.proof is not None:
            result = self.proof.result(self.counters)
        elif self.best is None:
            return Result(ended or Status.ITERATION_LIMIT, None, None, None, counters=self.counters)
        else:
            if self.options.basis and self._best_is(self.options.acceptable):
                self._crossover()
            self._report_error(ended)
            result = self.best.result(self.problem, self.options, ended or Status.ITERATION_LIMIT, self.counters)
            if self.best.audit.primal_infeasibility <= self.options.acceptable:
                self.run.incumbent(result.objective, result.bound)
        result.arrays.update(self.arrays)
        if self.method == "race":
            self._report_race(result)
        if self.history:
            result.arrays["history"] = np.array(self.history)
        return result

    def _report_error(self, ended: Status | None) -> None:
        assert self.best is not None
        found, options = self.best.audit, self.options
        if found.error <= options.acceptable:
            if found.error > options.tolerance:
                self.run.notice(f"optimal to {found.error:.1e}; the tolerance is {options.tolerance:.0e}")
        elif ended is not None and not ended.stopped:
            self.run.notice(
                f"no optimum was found: gap {found.gap:.1e}, primal infeasibility {found.primal_infeasibility:.1e}, "
                f"dual infeasibility {found.dual_infeasibility:.1e}",
                level="warning",
            )

    def _report_race(self, result: Result) -> None:
        """Who won, and how far the others were."""
        if self._solved_by_presolve:
            return
        others = [racer for racer in self._closed if racer is not self.winner]
        order = [*([self.winner] if self.winner is not None else []), *others]
        if not order:
            return
        result.arrays["racers"] = np.array([racer.name for racer in order])
        result.arrays["racer_errors"] = np.array([racer.error for racer in order])
        first = f"{self.winner.name} has won" if self.winner is not None else "no method has won"
        rest = ", ".join(f"{racer.name}: error {racer.error:.1e}" for racer in others)
        self.run.notice(f"race: {first}" + (f"; {rest}" if rest else ""))

    def _crossover(self) -> None:
        """Move the best point to a vertex, and keep the status of each basis entry."""
        assert self.best is not None
        point = self.best
        given = {
            "x": point.x,
            "row_duals": point.y,
            "reduced_costs": point.audit.reduced_costs,
            "activities": point.audit.activities,
        }
        try:
            found = to_vertex(self.problem, given, self._poll)
        except ChildError as error:
            self.run.notice(f"no basis: {error}", level="warning")
            return
        except StopRequested:
            self.run.notice("no basis: the run was stopped during crossover", level="warning")
            return
        if "x" not in found or "column_status" not in found:
            self.run.notice("no basis: HiGHS's crossover has failed", level="warning")
            return
        vertex = AuditedPoint.of(self.problem, found["x"], found["row_duals"])
        if vertex.audit.error > max(self.options.acceptable, point.audit.error):
            self.run.notice(f"no basis: the vertex has an error of {vertex.audit.error:.1e}", level="warning")
            return
        self.best = vertex
        self.counters["crossover_iterations"] = found["crossover_iterations"]
        self.arrays = {"column_status": found["column_status"], "row_status": found["row_status"]}


class _Decided(Exception):
    """The race is decided."""


def _unchanged(x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """A point of the program as given."""
    return x, y


def prepared_free(prepared: Prepared, count: int) -> NDArray[np.bool_]:
    """Which of the standard form's variables have no bound, slacks included (count,)."""
    free = np.zeros(count, bool)
    free[: prepared.standard.n] = prepared.standard.free
    return free


def _better(one: AuditedPoint, other: AuditedPoint) -> bool:
    return one.audit.error < other.audit.error or not np.isfinite(other.audit.error)
