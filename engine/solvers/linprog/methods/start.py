"""Which methods take part in a race, and when each of them begins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from ....base.context import RunContext
from ....devices import DevicePool, Member
from ....devices.host import host_cores
from ..highs.process import ChildError, keep_children, release_children
from ..highs.threads import start_thread
from ..multifrontal import orders
from ..multifrontal.orders import has_metis
from ..problem import LinearProgram
from .base import Method
from .highs import HighsInteriorThread, HighsMethod, HighsThread

__all__ = [
    "FIRST_WAIT",
    "THREAD_NONZEROS",
    "head_start",
    "keep_helpers",
    "pdhg_members",
    "presolve_patience",
    "start_highs_interior",
    "start_highs_simplex",
    "start_on_host",
]

FIRST_WAIT = 0.05
"""Seconds that everything else waits for HiGHS's simplex method, which has solved most small programs by then."""
THREAD_NONZEROS = 1_000_000
"""Of the programs that HiGHS solves in threads of this process."""
_HEAD_START = 1.0  # seconds that HiGHS has alone where our methods would compute on the few cores of the host
_LONG_HEAD_START = 5.0  # the same where HiGHS's two methods have all of its cores; at most a part of the time limit
_PART_OF_LIMIT = 0.25
_INTERIOR_CORES = 4  # cores from which HiGHS's interior-point method takes part beside our methods,
_FEWEST_CORES = 2  # and from which it does before them, where they would compute on the same cores
_CROSSOVER_CORES = 8  # and from which it does so twice: with crossover from the start, and without
_HELPERS, _MORE_HELPERS = 1, 2  # children kept ready for HiGHS's interior-point method: where it takes part once, twice
_SHARED_NONZEROS = 5_000_000  # of a program that several devices share in PDHG
_PRESOLVE_PATIENCE = 0.15
_PRESOLVE_SECONDS, _LONGEST_PRESOLVE = 5e-6, 60.0  # for a nonzero, several times the common; and the most
_MANY_CORES = 8  # cores from which methods on a device that computes on the host's cores need not wait for HiGHS


def keep_helpers(pool: DevicePool) -> None:
    """Have child processes ready for this race or the next, if there are cores for them; they end with the pool."""
    if host_cores() >= _INTERIOR_CORES:
        pool.at_close(release_children)
        pool.defer(start_thread(_keep_children))


def _keep_children() -> None:
    keep_children(_MORE_HELPERS if host_cores() >= _CROSSOVER_CORES else _HELPERS)
    if has_metis():
        keep_children(1, orders.__file__)


def start_on_host(problem: LinearProgram, tolerance: float) -> list[HighsThread | HighsInteriorThread]:
    """HiGHS's methods at work in threads, as many as there are cores for."""
    simplex = HighsThread(problem, tolerance)
    if host_cores() < _FEWEST_CORES:
        return [simplex]
    return [simplex, HighsInteriorThread(simplex, partial(HighsMethod, problem, "ipm", tolerance, "yes"), tolerance)]


def start_highs_simplex(problem: LinearProgram, tolerance: float, run: RunContext) -> list[Method]:
    """HiGHS's simplex method at work; nothing, and a notice, if it cannot be started."""
    if problem.nonzeros <= THREAD_NONZEROS:
        return [HighsThread(problem, tolerance)]
    return _in_child(problem, "simplex", tolerance, run)


def start_highs_interior(
    problem: LinearProgram, tolerance: float, run: RunContext, member: Member, simplex: Sequence[Method] = ()
) -> list[Method]:
    """HiGHS's interior-point method at work, if there are cores for it.

    On few cores that our methods leave to HiGHS for a while it works in a thread beside the simplex method, on what
    that has presolved: HiGHS asks this interpreter thousands of times whether to go on, which must be idle. Elsewhere
    it works in child processes.
    """
    if host_cores() >= _CROSSOVER_CORES:
        return [*_in_child(problem, "ipm", tolerance, run, "no"), *_in_child(problem, "ipm", tolerance, run, "yes")]
    shared = member.info.capabilities.shares_host_cores
    if host_cores() < (_FEWEST_CORES if shared else _INTERIOR_CORES):
        return []
    threads = [method for method in simplex if isinstance(method, HighsThread)]
    if shared and threads:
        crossover = partial(HighsMethod, problem, "ipm", tolerance, "yes", lambda: run.time_left)
        return [HighsInteriorThread(threads[0], crossover, tolerance)]
    return _in_child(problem, "ipm", tolerance, run)


def _in_child(
    problem: LinearProgram,
    solver: str,
    tolerance: float,
    run: RunContext,
    crossover: Literal["after", "yes", "no"] = "after",
) -> list[Method]:
    try:
        return [HighsMethod(problem, solver, tolerance, crossover, lambda: run.time_left)]
    except ChildError as error:
        run.notice(str(error), level="warning")
        return []


def head_start(member: Member, time_left: float) -> float:
    """Seconds from the start of HiGHS's simplex method to that of our methods."""
    if not member.info.capabilities.shares_host_cores or host_cores() >= _MANY_CORES:
        return FIRST_WAIT
    if not _FEWEST_CORES <= host_cores() < _INTERIOR_CORES:
        return _HEAD_START
    return max(_HEAD_START, min(_LONG_HEAD_START, _PART_OF_LIMIT * time_left))


def presolve_patience(problem: LinearProgram, member: Member, time_left: float, raced: bool) -> float:
    """Seconds for presolve, which may exceed its own limit, before our methods begin without: few in a race on GPUs."""
    if raced and not member.info.capabilities.shares_host_cores:
        return _PRESOLVE_PATIENCE
    common = min(_LONGEST_PRESOLVE, 1.0 + _PRESOLVE_SECONDS * problem.nonzeros)
    return min(common, _PART_OF_LIMIT * time_left)


def pdhg_members(program: LinearProgram, pool: DevicePool) -> list[Member]:
    """The devices that PDHG works on: all of the first one's kind for a large program, else the first."""
    first = pool.members[0]
    same_language = [member for member in pool.members if member.info.language == first.info.language]
    return same_language if program.nonzeros >= _SHARED_NONZEROS else [first]
