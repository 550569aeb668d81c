"""Solving one linear program: presolve, the methods at work, certificates, the audit."""

import contextlib
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext, StopRequested
from ...base.result import Result, Status
from ...devices import DevicePool
from ...devices.host import host_cores
from ...errors import DeviceError, ProblemError, RelaxationWarning
from ...util.quirks.switch_interval import PROMPT_THREADS
from ...util.text import counted
from . import checkpoint
from .forms.balance import balanced
from .forms.standard import NoOptimum, Prepared, prepare, shard_data
from .highs.presolve import Presolve
from .highs.process import ChildError
from .interior.driver import open_system
from .methods.at_once import solve_at_once
from .methods.base import Decided, Restore, unchanged
from .methods.highs import HighsThread
from .methods.interior import InteriorMethod
from .methods.pdhg import PdhgMethod
from .methods.race import WAIT_SECONDS, Race
from .methods.start import (
    FIRST_WAIT,
    SOON_NONZEROS,
    Begun,
    keep_helpers,
    leave_cores_to_highs,
    leave_device_to_pdhg,
    pdhg_members,
    presolve_patience,
    start_highs_interior,
    start_highs_simplex,
    tries_pdhg,
)
from .mixed_integer import solve_mixed_integer
from .options import Options
from .problem import LinearProgram
from .schema import Form
from .systems.costs import is_out_of_reach
from .validate import PRESOLVE_DENSITY, SPARSE, initial_point, is_presolved, method_for
from .verification.audit import Audit
from .verification.search import Certificates
from .verification.verdict import judge_balanced_by_highs, judge_by_highs
from .verification.vertex import lacks_basis, move_to_vertex

Vector = NDArray[np.float64]

_ALONE_SECONDS = 10.0  # that PDHG has the device alone where factors may take minutes
_NEARLY = 1e-2  # error of a point that is near an optimum rather than of a program without one
_AUDIT_SECONDS = 1.5e-6  # for a nonzero: an audit, with room for a busy machine
_SEARCHED = 100_000  # nonzeros up to which a certificate is looked for after pdhg, which takes an interior point


def solve(problem: LinearProgram, options: Options, pool: DevicePool, run: RunContext) -> Result:
    """Solve a linear program: on the first device, or as few as have the memory; PDHG may share it among all.

    *Optimal* if gap and infeasibilities of the program as given, recomputed on the host, are at most
    ``options.acceptable``; *infeasible* and *unbounded* by a certificate that was checked on the host (*unbounded* also
    takes a feasible point). Any other end is an iteration limit.
    """
    if problem.relaxed:
        one = problem.relaxed == 1
        which = "1 variable is" if one else f"{problem.relaxed} variables are"
        run.warn(RelaxationWarning(f"{which} declared integer and {'is' if one else 'are'} relaxed"))
    with problem.float_errors:
        if problem.integrality is not None:
            return solve_mixed_integer(problem, options, run)
        return _Solving(problem, options, pool, run).result()


class _Solving:
    """One solving, from presolve to result."""

    def __init__(self, problem: LinearProgram, options: Options, pool: DevicePool, run: RunContext) -> None:
        self.problem, self.options, self.pool, self.run = problem, options, pool, run
        self.method = method_for(problem, options)
        self.race = Race(problem, options, pool, run, self.method)
        self.sign = -1.0 if problem.maximize else 1.0
        self.arrays: dict[str, NDArray[Any]] = {}
        self._initial = initial_point(problem, options) if run.restored is None else None
        self._is_searched = problem.nonzeros > SOON_NONZEROS  # for a proof, early
        self._form: Form = "presolved"  # of the program that our methods work on
        self._deferred: Callable[[], None] | None = None  # starts the interior-point method, if PDHG goes before it
        self._deferred_until = math.inf
        self._tried: PdhgMethod | None = None  # PDHG while the device would wait
        self.restored = checkpoint.restore(run)
        if self.restored is not None:
            arrays, state = self.restored
            self.race.counters |= state.counters
            self._form = state.form
            self.race.history = arrays["history"].tolist()
        self._begun = Begun.take(problem, options.tolerance)
        if self._begun is not None:
            self._begun.time_left = lambda: run.time_left
            if self.method == "race":
                self.race.methods += self._begun.methods
            else:
                self._begun.end()

    def result(self) -> Result:
        """Presolve, solve, and judge what was found."""
        with contextlib.ExitStack() as stack:
            if self.method == "race":  # an audit gives the interpreter's lock away a hundred times
                stack.enter_context(PROMPT_THREADS)
            stack.callback(self.race.close_all, wait_for_them=False)
            self.run.reserve(_AUDIT_SECONDS * self.problem.nonzeros)
            try:
                ended = self._search(stack)
            except StopRequested as stop:
                ended = stop.status
                self._stopped()
            except DeviceError:
                with contextlib.suppress(DeviceError):  # what the other methods have is kept
                    self._save_checkpoint()
                raise
            self.race.close_all(wait_for_them=False)
        if self.method == "race":
            keep_helpers(self.pool)
        return self._judged(ended)

    def _search(self, stack: contextlib.ExitStack) -> Status | None:
        """Find the best point, or a proof; a status if the methods ended without either."""
        began = self._begun.began if self._begun is not None and self.race.methods else time.perf_counter()
        self.race.poll()
        self._judge_initial()
        self._solve_at_once()
        no_optimum = False
        with contextlib.suppress(Decided):
            if self.method == "race" and not self.race.is_decided:
                self._start_highs(began)
                if self.restored is None and tries_pdhg(self.race):
                    self._tried = self._start_pdhg(self.problem, unchanged)
            program = self.problem if self._form == "given" else None
            restore: Restore = unchanged
            presolving = 0.0
            if not self.race.is_decided and self._form == "presolved":
                since = time.perf_counter()
                program, restore = self._presolved(stack)
                presolving = time.perf_counter() - since
                no_optimum = program is None
                if self.method == "race" and program is not None:
                    leave_cores_to_highs(self.race, program, began, self._await_highs, self.restored is None)
            if program is not None and not self.race.is_decided:
                self._start_own(program, restore, presolving)
            self._race()
        return None if self.race.is_decided else self._without_optimum(no_optimum)

    def _judge_initial(self) -> None:
        """Audit the point that the options give: it may be an optimum, or at least feasible."""
        if self._initial is None:
            return
        x, y = self._initial
        error = self.race.verdict.consider(x, np.zeros(self.problem.m) if y is None else y)
        self.race.is_solved = error <= self.options.tolerance
        best = self.race.verdict.best
        if best is not None and best.audit.primal_infeasibility <= self.options.acceptable:
            self.run.incumbent(self.sign * best.audit.primal, None, best.x)

    def _solve_at_once(self) -> None:
        """Let HiGHS's simplex method solve a small program before anything is started for it."""
        if self.race.is_decided or self.restored is not None or self._begun is not None:
            return
        found = solve_at_once(self.problem, self.options, self.race.verdict, self.run.time_left, self.race.poll)
        if found is None:
            return
        self.race.counters["highs_iterations"] = found.iterations
        self.race.is_solved, self.arrays = found.solved, found.arrays
        if found.solved:
            self.run.notice("HiGHS's simplex method has solved the program; no device was needed")

    def _without_optimum(self, presolve_found_none: bool) -> Status | None:
        """No method has won: another scaling of the program, and the search for a proof that it has no optimum."""
        near, resumed = self.race.verdict.best_is(_NEARLY), self._form == "balanced"
        if self._form != "balanced" and not near:
            status = self._certificate(presolve_found_none)
            if status is None or self._limited:
                return status
        if not self.race.verdict.best_is(self.options.acceptable) and not self._limited:
            self._solve_balanced()
        if self.race.is_decided or self.race.verdict.best_is(self.options.acceptable):
            return None
        return self._certificate(presolve_found_none) if near or resumed else Status.ITERATION_LIMIT

    @property
    def _limited(self) -> bool:
        """Whether the iterations that the options allow have run out."""
        limited = any(isinstance(method, InteriorMethod) and method.limited for method in self.race.finished)
        return limited or self.options.max_iterations == 0 or self.method == "pdhg"

    def _solve_balanced(self) -> None:
        """Solve the program with all its numbers scaled: its tiny or huge sides may be what the methods failed at."""
        self._form, self.restored = "balanced", None if self._form != "balanced" else self.restored
        self._deferred = None
        self.race.close_all()
        self.race.finished.clear()
        self.run.notice("no point has passed the audit; rows, columns and sides are scaled together")
        try:
            scaled = balanced(self.problem)
        except ProblemError:  # some numbers differ by more powers of ten than there are
            return
        with contextlib.suppress(Decided):
            self._start_own(scaled.program, scaled.restore)
            self._race()
        if not self.race.is_decided and self.options.method in ("auto", "race"):
            judge_balanced_by_highs(scaled, self.race.verdict, self.race.poll)

    def _start_highs(self, began: float) -> None:
        """Start HiGHS; its interior-point method only where the simplex method has no answer at once."""
        problem, tolerance, race = self.problem, self.options.tolerance, self.race
        keep_helpers(self.pool)
        if not race.methods:
            race.methods += start_highs_simplex(problem, tolerance, self.run)
            if problem.nonzeros <= SOON_NONZEROS:
                self._await_highs(began + FIRST_WAIT)
        if not race.is_decided:
            race.methods += start_highs_interior(problem, tolerance, self.run, self.pool.members[0], race.methods)

    def _await_highs(self, until: float) -> None:
        """Give HiGHS its time before our methods start; a proof is looked for where it gives a small program up."""
        race = self.race
        while race.has_work and not race.is_decided and (left := until - time.perf_counter()) > 0.0:
            race.listen(min(left, WAIT_SECONDS))
            if not self._is_searched and any(
                isinstance(method, HighsThread) and method.gave_up for method in race.finished
            ):
                self._is_searched = True
                self._search_proof(limited=False)

    def _presolved(self, stack: contextlib.ExitStack) -> tuple[LinearProgram | None, Restore]:
        """The program that the methods work on, and the way back; None if presolve found that there is no optimum."""
        self.run.progress("preparation", 0.0, 0.0)
        alone = self._initial is not None and self.method != "race"  # the point does not lead into a presolved program
        if alone or not self.options.presolve or not is_presolved(self.problem):
            return self.problem, unchanged
        thread = next((method for method in self.race.methods if isinstance(method, HighsThread)), None)
        here = None if thread is None else thread.here
        poll = self.race.raise_if_ended if self.race.methods else self.race.poll
        raced = here is not None and self.restored is None
        member, left = self.pool.members[0], self.run.time_left
        patience = self.race.run_concurrently(lambda: presolve_patience(self.problem, member, left, raced))
        try:
            opened = self.race.run_concurrently(lambda: Presolve(self.problem, poll, here, patience), patience)
            presolve = stack.enter_context(opened)
        except ChildError as error:
            self.run.notice(f"no presolve: {error}", level="warning")
            return self.problem, unchanged
        except TimeoutError:
            self._form = "given"
            method = "PDHG" if self.method == "pdhg" else "the interior-point method"
            self.run.notice(f"presolve has not ended; {method} begins with the program as given")
            return self.problem, unchanged
        if presolve.status == "empty":
            while any(method is thread for method in self.race.methods):  # it restores the same point
                self.race.poll_updates()
            with contextlib.suppress(ChildError):
                self.race.verdict.consider(*presolve.restore(np.zeros(0), np.zeros(0)))
            if self.race.verdict.best_is(self.options.acceptable):
                self.run.notice("presolve has solved the program")
                self.race.is_solved = True
                return None, unchanged
            return self.problem, unchanged
        if presolve.status in ("infeasible", "unbounded_or_infeasible"):
            return None, unchanged
        if presolve.program is None:
            return self.problem, unchanged
        program = presolve.program
        self.run.notice(
            f"presolve: {self.problem.m} rows and {self.problem.n} variables reduced to {program.m} and {program.n}"
        )
        if program.nonzeros > PRESOLVE_DENSITY * program.m * program.n and self.options.linear_solver not in SPARSE:
            program = program.to_dense()
        return program, presolve.restore

    def _start_own(self, program: LinearProgram, restore: Restore, presolving: float = 0.0) -> None:
        """Start our own methods on the program, unless it is decided without; presolve took so many seconds."""
        since = time.perf_counter()
        prepared = self.race.run_concurrently(lambda: prepare(program, scale=self.options.scale))
        self.race.poll()
        self.race.counters["seconds_prepare"] = presolving + time.perf_counter() - since
        if isinstance(prepared, NoOptimum):
            if program is self.problem:
                self.race.verdict.judge_no_optimum(prepared)
            return
        standard = prepared.standard
        self.race.counters["rows"], self.race.counters["variables"] = standard.m, standard.n
        if prepared.removed:
            self.run.notice("removed: " + ", ".join(f"{count} {what}" for what, count in prepared.removed.items()))
        if standard.m == 0 or standard.n + int((standard.sign != 0).sum()) == 0:
            try:
                point = self.race.run_concurrently(
                    lambda: restore(*prepared.from_standard(np.zeros(standard.n), np.zeros(standard.m)))
                )
            except ChildError:
                self.race.lacks_presolve = True
                return
            self.race.is_solved = self.race.verdict.consider(*point) <= self.options.acceptable
            return
        if self.restored is not None:
            checkpoint.audit(self.restored, prepared, program, self.options)
        if self.method == "pdhg":
            self._start_pdhg(program, restore)
        elif self._takes_pdhg(program):
            self.run.notice("factors may take minutes: PDHG begins before the interior-point method")
            if self._tried not in self.race.methods:  # what presolve substitutes may condition PDHG far worse
                self._start_pdhg(self.problem, unchanged)
            self._tried = None
            self._deferred = lambda: self._start_interior(prepared, program, restore)
            self._deferred_until = time.perf_counter() + _ALONE_SECONDS
        else:
            self._start_interior(prepared, program, restore)
            self.race.poll()

    def _takes_pdhg(self, program: LinearProgram) -> bool:
        """Whether PDHG is to begin, on the program as given, before the interior-point method; once in a run."""
        goes_on = self.restored is not None and self.restored[1].interior
        if not self.race.is_race or goes_on or self._form == "balanced" or self._deferred_until < math.inf:
            return False
        return self.race.run_concurrently(lambda: is_out_of_reach(program, self.pool.members[0].info.capabilities))

    def _start_pdhg(self, program: LinearProgram, restore: Restore) -> PdhgMethod:
        is_given = program is self.problem
        method = PdhgMethod(
            program,
            sign=self.sign,
            options=self.options,
            pool=self.pool,
            members=pdhg_members(program, self.pool),
            certificates=is_given,
            restored=self.restored,
            initial=self._initial if is_given else None,
        )
        method.restore = restore
        self.race.methods.append(method)
        return method

    def _start_interior(self, prepared: Prepared, program: LinearProgram, restore: Restore) -> None:
        values = prepared.values.copy()
        values[prepared.columns] = prepared.column_shift
        constant = (-1.0 if program.maximize else 1.0) * program.objective(values)
        race, options, pool = self.race, self.options, self.pool
        members = pool.members[:1] if race.is_race else pool.members
        restored = self.restored if self.restored is not None and self.restored[1].interior else None
        initial = self._initial if program is self.problem else None

        tried = self._tried if self._tried in race.methods else None
        wait = None if tried is None else partial(leave_device_to_pdhg, race, tried)

        def start() -> InteriorMethod:
            data = shard_data(prepared.standard)
            system = open_system(data, options, pool, members, race.counters, race.notice, race.is_race)
            shown = lambda value: self.sign * (value + constant)  # noqa: E731
            return InteriorMethod(prepared, system, options, shown, restored, initial, wait)

        try:
            method = race.run_concurrently(start)
            method.restore = restore
            race.methods.append(method)
        except DeviceError as error:
            if self.method != "race" or not self.race.methods:
                raise
            self.run.notice(f"no interior point: {error}", level="warning")

    # --- the loop -----------------------------------------------------------------------------------------------

    def _race(self) -> None:
        """Let the methods work until one wins, or all have ended."""
        race = self.race
        if self._tried in race.methods:  # another method is to have the device
            race.drop([self._tried])
        while not race.is_decided and (race.has_work or race.lacks_presolve or self._deferred is not None):
            if race.lacks_presolve:
                self._start_without_presolve()
            race.listen(WAIT_SECONDS)
            is_due = time.perf_counter() >= self._deferred_until or not race.has_work
            if self._deferred is not None and not race.is_decided and is_due:
                begin, self._deferred = self._deferred, None
                begin()
            if not race.is_decided and self.run.checkpoint_due():
                with contextlib.suppress(DeviceError):  # the update of the method on a failed device has the error
                    self._save_checkpoint()

    def _start_without_presolve(self) -> None:
        """Let our methods work on the program as given: presolve cannot restore some inner points, or has failed."""
        self.race.lacks_presolve, self._form, self.restored, self._deferred = False, "given", None, None
        race = self.race
        race.drop([method for method in [*race.methods, *race.finished] if method.restore is not unchanged])
        self.run.notice("presolve could not restore the optimum; the program is solved without it")
        self._start_own(self.problem, unchanged)

    # --- certificates -------------------------------------------------------------------------------------------

    def _certificate(self, presolve_found_none: bool) -> Status | None:
        """Look for a proof that there is no optimum; the status if there is none."""
        if self.race.verdict.best_is(self.options.acceptable):
            return None
        large = self.method == "pdhg" and self.problem.nonzeros > _SEARCHED
        if self.options.max_iterations == 0 or (large and not presolve_found_none):
            return Status.ITERATION_LIMIT
        if presolve_found_none or self._asks_highs_first:
            judge_by_highs(self.problem, self.race.verdict, self.race.poll)
            if self.race.is_decided:
                return None
        self.race.close_all()
        limited = any(isinstance(method, InteriorMethod) and method.limited for method in self.race.finished)
        verdict = self.race.verdict
        self._search_proof(limited)
        if verdict.proof is None and self.options.method == "auto" and not (limited or self._asks_highs_first):
            judge_by_highs(self.problem, verdict, self.race.poll)
        found = verdict.proof is not None or verdict.best_is(self.options.acceptable)
        return None if found else Status.ITERATION_LIMIT

    def _search_proof(self, limited: bool) -> None:
        prepared, verdict = prepare(self.problem, scale=self.options.scale), self.race.verdict
        if isinstance(prepared, NoOptimum):
            verdict.judge_no_optimum(prepared)
            return
        search = Certificates(self.problem, self.options, self.pool, self.run, self.race.counters)
        verdict.proof = search.proof(prepared, verdict.best, limited)

    @property
    def _asks_highs_first(self) -> bool:
        """Whether HiGHS finds a proof sooner than our own search, which is kept for the methods asked for by name."""
        return self.options.method == "auto" and self.problem.is_sparse and not self._limited

    def _stopped(self) -> None:
        """Save a checkpoint and take the latest points; HiGHS is asked where our methods have no feasible one."""
        self.race.is_stopping = True
        self.race.take_last_outcomes()
        try:
            self._save_checkpoint()
        except DeviceError as error:
            self.run.notice(f"no checkpoint: {error}", level="warning")
        for method in sorted(self.race.methods, key=lambda method: method.shows_last):
            best = self.race.verdict.best
            if method.shows_last and best is not None and best.audit.primal_infeasibility <= self.options.acceptable:
                continue
            with contextlib.suppress(ChildError, DeviceError):
                point = method.present_point()
                if point is not None:
                    self.race.verdict.consider(*method.restore(*point))

    def _save_checkpoint(self) -> None:
        if self.run.keeps_checkpoints:
            race, is_pdhg = self.race, self.method == "pdhg"
            found = checkpoint.save(
                race.methods, race.finished, self._form, race.counters, race.history, is_pdhg, self.restored
            )
            self.run.save_checkpoint(*found)

    # --- the end ------------------------------------------------------------------------------------------------

    def _report_error(self, found: Audit, ended: Status | None) -> None:
        """Report an optimum that misses the tolerance, or how far from an optimum the best point is."""
        if self.options.tolerance < found.error <= self.options.acceptable:
            self.run.notice(f"optimal to {found.error:.1e}; the tolerance is {self.options.tolerance:.0e}")
        elif found.error > self.options.acceptable and ended is not None and not ended.stopped:
            self.run.notice(
                f"no optimum was found: gap {found.gap:.1e}, primal infeasibility {found.primal_infeasibility:.1e}, "
                f"dual infeasibility {found.dual_infeasibility:.1e}",
                level="warning",
            )

    def _judged(self, ended: Status | None) -> Result:
        """The result, with the status that the audit or a proof allows."""
        verdict, options = self.race.verdict, self.options
        optimal = verdict.proof is None and verdict.best_is(options.acceptable)
        if optimal and lacks_basis(self.arrays, options):
            self.arrays |= move_to_vertex(verdict, options, self.race.poll, self.run, self.race.counters)
        result = verdict.result(ended or Status.ITERATION_LIMIT, options, self.race.counters)
        if verdict.proof is None and verdict.best is not None:
            self._report_error(verdict.best.audit, ended)
            if verdict.best.audit.primal_infeasibility <= options.acceptable:
                self.run.incumbent(result.objective, result.bound)
        result.arrays.update(self.arrays)
        result.arrays.update(self.race.factor_arrays)
        if "method" not in result.arrays:
            chosen = f"race on {counted(host_cores(), 'core')} of the host" if self.method == "race" else self.method
            result.arrays["method"] = np.array(chosen)
        if self.method == "race" and not self.race.is_solved:
            self.race.report(result)
        if self.race.history:
            result.arrays["history"] = np.array(self.race.history)
        return result
