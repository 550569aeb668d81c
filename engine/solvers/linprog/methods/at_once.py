"""HiGHS before anything else is started: it solves many programs sooner than devices are opened."""

import math
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.result import Result, Status
from ..highs.presolve import simplex_here
from ..highs.process import ChildError
from ..mixed_integer import solve_mixed_integer_here
from ..options import Options
from ..problem import LinearProgram
from ..validate import PRESOLVE_DENSITY, given_basis, method_for, require_mixed_integer
from ..verification.verdict import Verdict, judge
from ..verification.vertex import basis_arrays, lacks_basis
from .base import first_counters
from .start import FIRST_WAIT, SOON_NONZEROS, THREAD_NONZEROS, Begun

_NONZEROS, _DENSE_NONZEROS = 20_000, 100_000  # of programs that are solved so: sparse ones, and others
_DENSE_SECONDS = 1.2e-8  # that HiGHS takes for a dense program, times nonzeros and rows (or columns, if fewer)
_DENSE_PATIENCE = (0.03, 0.25)  # seconds above which our methods take less, with devices open and without
_IN_A_RUN = 5_000  # and of sparse ones whose run has begun, where a race can go on with what HiGHS has
_FEW, _PRESOLVED = 8, 1_000  # nonzeros between which, and if zeros are few, presolve takes longer than it saves
_PATIENCE = 0.5  # seconds that HiGHS has where devices would have to be opened, which takes longer
_WARM_NONZEROS, _WARM_SECONDS = 1_000_000, 1.0  # and of those that begin with a basis, which have more time
_FIRST_SECONDS = 5.0  # and of the first of programs that share a basis


@dataclass(frozen=True)
class AtOnce:
    """What HiGHS's simplex method has done."""

    solved: bool = False  # whether the verdict has a proof or an optimum
    iterations: int = 0
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


def solve_on_host(
    problem: LinearProgram, options: Options, time_limit: float | None, is_open: bool
) -> Result | Begun | None:
    """The result of a small program that HiGHS solves at once, and of larger ones too if devices must open.

    Otherwise what has begun for the run, or None.
    """
    with problem.float_errors:
        return _solved_on_host(problem, options, math.inf if time_limit is None else time_limit, is_open)


def _solved_on_host(problem: LinearProgram, options: Options, left: float, is_open: bool) -> Result | Begun | None:
    if problem.relaxed:  # a run warns of it
        return None
    if problem.integrality is not None:
        require_mixed_integer(problem, options)
        small = problem.nonzeros <= _NONZEROS
        return solve_mixed_integer_here(problem, options, min(FIRST_WAIT, left)) if small else None
    if options.initial is not None or options.initial_duals is not None:
        return None
    verdict, counters = Verdict(problem, options.acceptable), first_counters(problem)
    found = solve_at_once(problem, options, verdict, left, is_open=is_open)
    begun = Begun(problem, options.tolerance)
    soon = not is_open or problem.nonzeros <= SOON_NONZEROS
    if (found is None or not found.solved) and _is_raced(problem, options) and soon:
        try:
            found = _solve_beside(begun, options, verdict, min(FIRST_WAIT if is_open else _PATIENCE, left))
        except BaseException:
            begun.end()
            raise
    if found is None:
        return None
    if not found.solved:
        return begun.offer()
    begun.end()
    if verdict.proof is None and (not verdict.best_is(options.tolerance) or lacks_basis(found.arrays, options)):
        return None  # a run says how exact it is, and looks for a basis
    counters["highs_iterations"] = found.iterations
    result = verdict.result(Status.ITERATION_LIMIT, options, counters)
    result.arrays.update(found.arrays)
    return result


def solve_at_once(
    problem: LinearProgram,
    options: Options,
    verdict: Verdict,
    time_left: float,
    poll: Callable[[], None] | None = None,
    is_open: bool = True,
) -> AtOnce | None:
    """Let the simplex method solve a small program, or one with a basis to begin with, in the time that it has."""
    basis = given_basis(problem, options)
    filled = _is_filled(problem)
    sparse = _NONZEROS if poll is None else _IN_A_RUN
    kept = problem.kept_basis if problem.kept_basis is not None and problem.kept_basis.is_of_use else None
    begins = basis is not None or (kept is not None and kept.basis is not None)
    most = _WARM_NONZEROS if begins or kept is not None else _DENSE_NONZEROS if filled else sparse
    if not _is_left_to_us(options) or problem.nonzeros > most or (_begins_race(problem, options) and not begins):
        return None
    patience = _WARM_SECONDS if begins else FIRST_WAIT if kept is None else _FIRST_SECONDS
    if filled and kept is None and basis is None:
        predicted = _DENSE_SECONDS * problem.nonzeros * min(problem.m, problem.n)
        if predicted > _DENSE_PATIENCE[not is_open]:
            return None
        patience = max(patience, 4.0 * predicted)
    is_helped = problem.nonzeros <= _FEW or (problem.nonzeros > _PRESOLVED and not filled)
    presolved = options.presolve and is_helped and not begins
    asked = min(1e-7, max(1e-10, options.tolerance))
    given: dict[str, Any] = {
        "solver": "simplex",
        "presolve": "choose" if presolved else "off",
        "primal_feasibility_tolerance": asked,
        "dual_feasibility_tolerance": asked,
        "time_limit": max(0.0, min(patience, time_left)),
    }
    ranging = options.ranging if options.basis or options.ranging else None
    try:
        found = simplex_here(problem, given, basis, ranging, poll, kept, time_left)
    except ChildError:
        return AtOnce()
    iterations = int(found["iterations"])
    judge(found, verdict)
    optimal = found["status"] == "optimal" and verdict.best_is(options.acceptable)
    if verdict.proof is None and not optimal:
        return AtOnce(iterations=iterations)
    arrays = winner_arrays(verdict, "HiGHS simplex alone, as the program is small", ["HiGHS simplex"])
    return AtOnce(True, iterations, arrays | (basis_arrays(problem, found) if optimal else {}))


def _is_filled(problem: LinearProgram) -> bool:
    return problem.nonzeros > PRESOLVE_DENSITY * problem.m * problem.n


def _is_left_to_us(options: Options) -> bool:
    """Whether the options neither name a method nor limit its iterations."""
    chosen = options.method == options.linear_solver == options.provider == "auto"
    return chosen and options.max_iterations >= Options.model_fields["max_iterations"].default


def _is_raced(problem: LinearProgram, options: Options) -> bool:
    """Whether HiGHS would race in threads of this process."""
    small = problem.nonzeros <= THREAD_NONZEROS and not _is_filled(problem)
    return small and _is_left_to_us(options) and given_basis(problem, options) is None


def _begins_race(problem: LinearProgram, options: Options) -> bool:
    """Whether HiGHS's simplex method goes on in a race, with which it then begins."""
    wants_basis = options.basis or options.ranging or problem.kept_basis is not None
    return not wants_basis and _is_raced(problem, options) and method_for(problem, options) == "race"


def winner_arrays(verdict: Verdict, method: str, methods: list[str]) -> dict[str, NDArray[Any]]:
    """Of a result: who has solved the program, the winner first."""
    best = verdict.best if verdict.proof is None else None
    return {
        "method": np.array(method),
        "racers": np.array(methods),
        "racer_outcomes": np.array(["won", "stopped"][: len(methods)]),
        "racer_errors": np.array([np.nan if best is None else best.audit.error, np.nan][: len(methods)]),
    }


def _solve_beside(begun: Begun, options: Options, verdict: Verdict, patience: float) -> AtOnce:
    """Let HiGHS's methods work for some seconds; if they need more, they go on in the run."""
    begun.start()
    left = list(begun.methods)
    while left and (seconds := begun.began + patience - time.perf_counter()) > 0.0:
        wait([method.future for method in left], seconds, FIRST_COMPLETED)
        for method in [method for method in left if method.future.done()]:
            method.judge(verdict)
            if verdict.proof is not None or verdict.best_is(options.tolerance):
                names = [method.name, *(other.name for other in begun.methods if other is not method)]
                return AtOnce(
                    True, method.iterations, winner_arrays(verdict, "HiGHS alone, before other methods begin", names)
                )
            left.remove(method)
    return AtOnce()
