"""HiGHS's branch and bound.

Integers of a solution are exact, and rows and bounds hold, as audited on the host; bounds, and that there is no
solution although the relaxation has one, are what HiGHS says.
"""

import math
import time
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext, StopRequested
from ...base.result import Result, Status
from ...errors import ProblemError
from .highs.model import model_of
from .highs.presolve import child_module, simplex_here
from .highs.process import ChildError
from .highs.threads import start_thread, wait_for
from .interior.driver import Counters
from .methods.base import first_counters
from .options import Options
from .problem import LinearProgram
from .verification.audit import infeasibility_of_sides
from .verification.outcome import Proof
from .verification.sums import exact_sum, product
from .verification.verdict import Verdict, judge_by_highs

Vector = NDArray[np.float64]
_LAST_WAIT = 2.0  # seconds that a run which is stopped waits for HiGHS's best point
_ABSOLUTE_GAP = 1e-6  # HiGHS's default
_FIXED = {"solver": "simplex", "primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
_UNBOUNDED = "unbounded", "unbounded or infeasible"  # statuses of HiGHS
_REFUSED = "HiGHS refuses the program (lower bounds of semi-continuous variables must be at least 0)"
_NO_CERTIFICATE = "HiGHS's branch and bound has found no solution; there is no certificate of it"


@dataclass(frozen=True)
class _Found:
    """What HiGHS has returned, as for a minimization."""

    status: str
    x: Vector | None
    bound: float
    nodes: int = 0
    iterations: int = 0


def solve_mixed_integer(problem: LinearProgram, options: Options, run: RunContext) -> Result:
    """Solve a program with integer variables; see the module."""
    sign = -1.0 if problem.maximize else 1.0
    work = child_module().MixedInteger(_model(problem), _highs_options(options, run.time_left), _start(options))
    shown: list[Any] = [None, -math.inf]

    def poll() -> None:
        run.poll()
        x, bound = work.latest
        if x is not shown[0] or bound > shown[1]:
            shown[:] = x, bound
            objective = None if x is None else problem.objective(x)
            run.incumbent(objective, sign * bound if math.isfinite(bound) else None, x)

    future = start_thread(work.run)
    ended: Status | None = None
    try:
        found = _found(wait_for(future, poll))
    except StopRequested as stop:
        ended = stop.status
        work.stop()
        wait([future], timeout=_LAST_WAIT)
        found = _found(future.result()) if future.done() else _Found("stopped", *work.latest)
    if found.status == "time limit reached":
        ended = Status.TIME_LIMIT
    result = _judged(problem, options, found, ended, run.poll if ended is None else _nothing)
    if result.objective is not None:
        run.incumbent(result.objective, result.bound)
    if result.status in (Status.FEASIBLE, Status.ITERATION_LIMIT):
        run.notice(f"HiGHS's branch and bound has ended without a proof of optimality: {found.status}", level="warning")
    return result


def solve_mixed_integer_here(problem: LinearProgram, options: Options, seconds: float) -> Result | None:
    """The result of a small program that HiGHS solves on this thread within so many seconds; None for others."""
    until = time.perf_counter() + seconds
    work = child_module().MixedInteger(_model(problem), _highs_options(options, seconds), _start(options))
    found = _found(work.run())
    if found.status == "time limit reached" or time.perf_counter() > until:
        return None
    result = _judged(problem, options, found, None, _nothing)
    return None if result.status in (Status.FEASIBLE, Status.ITERATION_LIMIT) else result


def _nothing() -> None:
    pass


def _start(options: Options) -> Vector | None:
    return None if options.initial is None else np.array(options.initial)


def _model(problem: LinearProgram) -> dict[str, Any]:
    return model_of(problem) | {"integrality": problem.integrality}


def _highs_options(options: Options, seconds: float) -> dict[str, Any]:
    chosen: dict[str, Any] = {"mip_rel_gap": options.mip_gap, "presolve": "choose" if options.presolve else "off"}
    return chosen if math.isinf(seconds) else chosen | {"time_limit": max(0.0, seconds)}


def _found(outcome: dict[str, Any]) -> _Found:
    """What HiGHS has returned."""
    if outcome["status"] in ("failed", "not set", "model error", "load error", "solve error"):
        raise ProblemError(_REFUSED)
    x = outcome.get("x")
    x = x if x is not None and x.size and np.isfinite(x).all() else None
    return _Found(outcome["status"], x, outcome["bound"], outcome["nodes"], outcome["iterations"])


def _judged(
    problem: LinearProgram, options: Options, found: _Found, ended: Status | None, poll: Callable[[], None]
) -> Result:
    """The result that the audit allows; ``ended`` is how a run that was stopped has ended."""
    result = _allowed(problem, options, found, ended, poll)
    result.arrays["method"] = np.array("HiGHS branch and bound")
    return result


def _allowed(
    problem: LinearProgram, options: Options, found: _Found, ended: Status | None, poll: Callable[[], None]
) -> Result:
    counters = first_counters(problem) | {"highs_iterations": found.iterations, "nodes": found.nodes}
    if ended is None and found.status != "optimal" and (found.x is None or found.status in _UNBOUNDED):
        return _without_solution(problem, options, found, counters, poll)
    point = None if found.x is None else _audited(problem, found.x, options.acceptable, poll)
    sign = -1.0 if problem.maximize else 1.0
    bound = sign * found.bound if math.isfinite(found.bound) else None
    if point is None:
        return Result(ended or Status.ITERATION_LIMIT, None, bound, None, counters=counters)
    x, counters["primal_infeasibility"] = point
    objective = exact_sum(problem.c * x) + problem.offset
    status = ended or Status.FEASIBLE
    if bound is not None:
        bound = min(bound, objective) if sign > 0.0 else max(bound, objective)  # beyond by rounding errors alone
        if found.status == "optimal" and abs(objective - bound) <= max(options.mip_gap * abs(objective), _ABSOLUTE_GAP):
            status = Status.OPTIMAL
    arrays = {"activities": product(problem.A, x), "racers": np.array(["HiGHS branch and bound"])}
    arrays |= {"racer_outcomes": np.array(["won"]), "racer_errors": np.array([counters["primal_infeasibility"]])}
    return Result(status, objective, bound, x, counters=counters, arrays=arrays)


def _audited(
    problem: LinearProgram, x: Vector, acceptable: float, poll: Callable[[], None]
) -> tuple[Vector, float] | None:
    """The point with exact integers, and its infeasibility; continuous variables are solved for again where needed."""
    kinds = problem.integrality
    assert kinds is not None
    whole, semi = (kinds == 1) | (kinds == 3), kinds >= 2
    values = np.where(whole, np.round(x) + 0.0, x)  # without -0
    zero = semi & (np.abs(values) <= acceptable)
    values = np.where(zero, 0.0, values)
    lower, upper = np.where(zero, 0.0, problem.lower), np.where(zero, 0.0, problem.upper)
    values = np.where(whole, values, np.clip(values, lower, upper))
    if (whole & ~((lower <= values) & (values <= upper))).any():
        return None
    fixed = problem.continuous(np.where(whole, values, lower), np.where(whole, values, upper))
    error = infeasibility_of_sides(fixed, values)
    if error <= acceptable:
        return values, error
    try:
        found = simplex_here(fixed, _FIXED, None, None, poll)
    except ChildError:
        return None
    if found["status"] != "optimal":
        return None
    values = np.clip(found["x"], fixed.lower, fixed.upper)
    error = infeasibility_of_sides(fixed, values)
    return (values, error) if error <= acceptable else None


def _without_solution(
    problem: LinearProgram, options: Options, found: _Found, counters: Counters, poll: Callable[[], None]
) -> Result:
    """Infeasible or unbounded, by a certificate of the relaxation where that has one."""
    semi = problem.integrality >= 2 if problem.integrality is not None else np.zeros(problem.n, bool)
    lower = np.where(semi, np.minimum(problem.lower, 0.0), problem.lower)
    upper = np.where(semi, np.maximum(problem.upper, 0.0), problem.upper)
    relaxed = problem.continuous(lower, upper)
    verdict = Verdict(relaxed, options.acceptable)
    judge_by_highs(relaxed, verdict, poll)
    if verdict.proof is not None and verdict.proof.status is Status.INFEASIBLE:
        return verdict.proof.result(relaxed, counters)
    if found.status == "infeasible":
        return Result(Status.INFEASIBLE, None, None, None, counters=counters, reason=_NO_CERTIFICATE)
    if found.status not in _UNBOUNDED or verdict.proof is None:
        return Result(Status.ITERATION_LIMIT, None, None, None, counters=counters)
    return _unbounded(problem, options, verdict.proof, counters, poll)


def _unbounded(
    problem: LinearProgram, options: Options, proof: Proof, counters: Counters, poll: Callable[[], None]
) -> Result:
    """Of a program whose relaxation is unbounded: unbounded if it has a solution at all (for rational data)."""
    model = _model(problem)
    work = child_module().MixedInteger(model | {"c": np.zeros(problem.n)}, _highs_options(options, math.inf), None)
    any_solution = _found(wait_for(start_thread(work.run), poll))
    if any_solution.x is not None and _audited(problem, any_solution.x, options.acceptable, poll) is not None:
        return proof.result(problem, counters)
    if any_solution.status == "infeasible":
        return Result(Status.INFEASIBLE, None, None, None, counters=counters, reason=_NO_CERTIFICATE)
    return Result(Status.ITERATION_LIMIT, None, None, None, counters=counters)
