"""First solutions, and runs that improve a schedule on all devices: for more jobs than trees take."""

import contextlib
import itertools
import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.context import RunContext, StopRequested
from ....base.result import Result, Status
from ....devices import Device, DevicePool
from ....devices.pool.group import WorkerGroup
from ....errors import AuditError, DeviceError, DeviceLost, RunFolderError
from ..checkpoint import Incumbent, Progress, save
from ..intervals import Units
from ..options import Options
from ..problems.flowshop import Flowshop
from ..problems.flowshop_heuristics import iterated_greedy, neh
from ..problems.flowshop_tree import FlowshopTree
from ..schema import state_of
from ..tree import INFINITY, LARGEST_TREE, PermutationProblem
from .chains import Improvement, ScheduleSearch
from .greedy import greedy_shape

_TURN_SECONDS, _FIRST_TURN_SECONDS = 0.2, 0.05
_FIRST_ITERATIONS, _FIRST_ITERATIONS_OF_CPUS = 200, 1000
_FIRST_SHARE, _FIRST_SHARE_OF_MANY_JOBS = 0.2, 0.5
_NEAR = 0.006
_MOST_MACHINES_OF_TREES = 20
_VAIN_SECONDS, _VAIN_SHARE = 0.5, 0.3
_FEWEST_JOBS, _FEWEST_JOBS_OF_GPUS, _FEWEST_JOBS_OF_CPUS = 50, 26, 8
_CHUNK = 64


def expiry(run: RunContext) -> Callable[[], bool]:
    """Whether the run's time is up, or it is to stop; it waits while the run is paused."""

    def expired() -> bool:
        try:
            run.poll()
        except StopRequested:
            return True
        return False

    return expired


def improves(problem: Flowshop, options: Options) -> bool:
    """Whether schedules are improved on the devices beside a tree search: for many jobs, unless a start is given."""
    return bool(problem.jobs >= _FEWEST_JOBS) and _may_improve(options)


def is_searched(problem: Flowshop, options: Options) -> bool:
    """Whether a tree is searched; of more than 128 jobs, unless one is asked for, only where it may have an end."""
    few = problem.machines <= _MOST_MACHINES_OF_TREES and problem.machines**2 <= 2 * problem.jobs
    asked = not _may_improve(options) or getattr(options, "all_solutions", False)
    return problem.has_tree and (problem.jobs <= LARGEST_TREE or few or asked)


def first_solution(
    problem: PermutationProblem,
    options: Options,
    run: RunContext,
    expired: Callable[[], bool],
    pool: DevicePool | None = None,
) -> tuple[NDArray[np.int64] | None, int]:
    """The solution to start from, None for ``infinity``, and a lower bound, -INFINITY if none is found on the way.

    GPUs search a small tree in less time than a whole heuristic takes: it is stopped after ``brief_steps``.
    """
    initial = getattr(options, "initial", "heuristic")
    if initial == "infinity":
        return None, -INFINITY
    if not isinstance(initial, str):
        return problem.given_solution(initial), -INFINITY
    gpus = [member.info.capabilities.simt for member in pool.members] if pool is not None else []
    fewest = _FEWEST_JOBS_OF_GPUS if any(gpus) else _FEWEST_JOBS_OF_CPUS
    if pool is not None and isinstance(problem, Flowshop) and _may_improve(options) and problem.jobs >= fewest:
        best, lower = first_schedule(problem, pool, run, expired)
        return best.order, lower
    steps = itertools.count()
    most = problem.brief_steps if gpus and all(gpus) else None
    order = problem.first_solution(initial, run.seed, lambda: expired() or (most is not None and next(steps) >= most))
    return order, -INFINITY


def _may_improve(options: Options) -> bool:
    """Unless the options say which schedule or upper bound to begin with."""
    initial: object = getattr(options, "initial", "")
    return getattr(options, "upper_bound", None) is None and initial == "iterated_greedy"


def flowshop_bound(times: NDArray[np.int64], expired: Callable[[], bool] = lambda: False) -> int:
    """The largest of: one machine; two; min over a, b of max over i of h_ia + P_i + t_ib, with a first and b last."""
    machines, jobs = times.shape
    tree = FlowshopTree(times, "one_machine", "forward")
    found = tree.lower_bound()
    if jobs > 1:
        done = np.cumsum(times, axis=0)
        heads, tails = (done - times).T, (done[-1] - done).T
        least = np.iinfo(np.int64).max
        for begin in range(0, jobs, _CHUNK):
            if expired():
                return found
            rows = np.arange(begin, min(begin + _CHUNK, jobs))
            bounds = np.zeros((len(rows), jobs), np.int64)
            for machine in range(machines):
                ends = heads[rows, machine, None] + (tree.totals[machine] + tails[None, :, machine])
                np.maximum(bounds, ends, out=bounds)
            bounds[np.arange(len(rows)), rows] = least
            least = min(least, int(bounds.min()))
        found = max(found, least)
    if machines > 1 and not expired():
        none = np.zeros((1, 0), np.int64)
        found = max(found, int(FlowshopTree(times, "two_machine", "forward").bounds(none, none)[0]))
    return found


def improve(
    problem: Flowshop,
    pool: DevicePool,
    run: RunContext,
    known: Improvement | None,
    found: Callable[[Improvement], None],
    proceed: Callable[[int], bool],
    seconds: float = _TURN_SECONDS,
) -> None:
    """Search on all devices, from ``known`` or schedules that are built, until ``proceed`` says no.

    ``found`` takes a better schedule, computed again; ``proceed`` the insertions so far. Failed devices are left out.
    """
    shapes = [greedy_shape(member.info.capabilities, problem.machines) for member in pool.members]
    first = np.cumsum([0, *(shape.chains for shape in shapes)])
    left, tried = list(range(len(pool))), 0

    def search() -> None:
        nonlocal known, tried
        members = [pool.members[rank] for rank in left]
        arguments = [(problem.times, run.seed, rank, int(first[rank])) for rank in left]
        with WorkerGroup(members, ScheduleSearch, arguments, tolerant=True) as group:
            group.each(ScheduleSearch.begin, known)
            while proceed(tried):
                if known is not None:
                    group.each(ScheduleSearch.adopt, known)
                value = INFINITY if known is None else known.value
                for better, count in group.each(ScheduleSearch.turn, seconds, value):
                    tried += count
                    if better is not None and (known is None or better.value < known.value):
                        value = problem.evaluate(better.order)
                        if value != better.value:
                            raise AuditError(f"a schedule of makespan {value} was reported with {better.value}")
                        known = better
                        found(better)

    while True:
        try:
            search()
            return
        except DeviceLost as lost:
            if len(left) == 1:
                raise lost.error from None
            del left[lost.index]
            run.notice(
                f"{lost.label} has failed and is left out; the search for schedules continues on the other devices: "
                f"{lost.error}",
                level="warning",
            )


def first_schedule(
    problem: Flowshop, pool: DevicePool, run: RunContext, expired: Callable[[], bool]
) -> tuple[Improvement, int]:
    """A schedule to begin a tree search with, by the host while the devices compile, then by these; a lower bound."""
    lower = flowshop_bound(problem.times, expired)
    many = problem.jobs > LARGEST_TREE  # an insertion takes seconds, and the chains insert, too

    def compiled() -> list[Future[None]]:
        return [member.submit(_compile, problem.times) for member in pool.members]

    def ready() -> bool:
        return expired() or (bool(compiling) and all(future.done() for future in compiling))

    compiling = compiled() if many else []
    order = neh(problem.times, ready)
    best = Improvement(problem.evaluate(order), order)

    def publish() -> None:
        run.incumbent(best.value, min(best.value, lower), best.order)  # what a time limit leaves that is over too soon

    publish()
    if best.value > lower:
        compiling = compiling or compiled()
        order = iterated_greedy(problem.times, order, run.seed, ready)
        best = Improvement(problem.evaluate(order), order)
        publish()
    budget = sum(
        greedy_shape(member.info.capabilities, problem.machines).chains
        * (_FIRST_ITERATIONS if member.info.capabilities.simt else _FIRST_ITERATIONS_OF_CPUS)
        for member in pool.members
    ) * (2 * problem.jobs + 2)
    began = time.perf_counter()
    seconds = run.time_left
    found_at = math.inf  # chains that are still being built find nothing

    def found(better: Improvement) -> None:
        nonlocal best, found_at
        found_at = time.perf_counter()
        if better.value < best.value:
            best = better

    def proceed(tried: int) -> bool:
        now = time.perf_counter()
        enough = now - found_at > max(_VAIN_SECONDS, _VAIN_SHARE * (now - began)) if many else tried >= budget
        near = not many or best.value - lower < _NEAR * lower
        share = _FIRST_SHARE if near else _FIRST_SHARE_OF_MANY_JOBS
        return best.value > lower and not enough and not expired() and now - began < share * seconds

    try:
        if best.value > lower and not expired():
            improve(problem, pool, run, None, found, proceed, _FIRST_TURN_SECONDS)
    except DeviceError as error:  # no device is left: the tree search opens all of them again
        run.notice(f"the search for a first schedule has ended early: {error}", level="warning")
    return best, lower


def _compile(device: Device, times: NDArray[np.int64]) -> None:
    """Compile the chains' kernels by a first step of them."""
    with device.released_on_error(), contextlib.closing(ScheduleSearch(device, times, 0, 0, 0)) as search:
        search.begin(None)
        search.turn(0.0, 0)


def solve_without_tree(problem: Flowshop, options: Options, pool: DevicePool, run: RunContext) -> Result:
    """Improve a schedule until the bound is reached, the time is up, or the run is stopped."""
    needed = {
        member.label: greedy_shape(member.info.capabilities, problem.machines).bytes_for(problem.jobs, problem.machines)
        for member in pool.members
    }
    pool.require_memory(needed, "the search for schedules", "use a device with more memory")
    upper = getattr(options, "upper_bound", None)
    known, tried_before, lower = _begin(problem, options, run)
    limit = INFINITY if upper is None or known is not None else upper
    if not math.isfinite(run.time_left):
        run.notice(
            f"the tree of {problem.jobs} jobs and {problem.machines} machines is not searched: the schedule is "
            "improved until its makespan is the lower bound, or the run is stopped; set time_limit"
        )
    best, tried, began = known, tried_before, time.perf_counter()

    def publish() -> None:
        run.incumbent(None if best is None else best.value, lower, None if best is None else best.order)

    def keep() -> None:
        """A checkpoint of the tree search without intervals: the schedule is all that is kept of the chains."""
        nothing = Units.none(problem.jobs), np.zeros(problem.jobs, np.int64)
        value, order = (limit, None) if best is None else (best.value, best.order)
        tree = FlowshopTree(problem.times, "one_machine", "forward")
        incumbent = Incumbent(tree, limit, value, order, improved=best is not None)
        run.save_checkpoint(*save(Progress(*nothing, {"insertions": tried}, lower), incumbent))

    def found(better: Improvement) -> None:
        nonlocal best
        if better.value < (limit if best is None else best.value):  # the devices do not know that of the host
            best = better
            publish()

    def proceed(count: int) -> bool:
        nonlocal tried
        tried = tried_before + count
        if lower >= (limit if best is None else best.value):
            return False
        if count:
            rate = count / max(1e-9, time.perf_counter() - began)
            run.metric("insertions_per_second", rate)
        run.progress("iterated greedy search", tried, 0, "insertions")
        run.poll()
        if run.checkpoint_due():
            keep()
        return True

    status: Status | None = None
    try:
        publish()
        if known is None and getattr(options, "initial", "") != "infinity":
            expired, compiling = expiry(run), [member.submit(_compile, problem.times) for member in pool.members]
            first = neh(problem.times, lambda: expired() or all(future.done() for future in compiling))
            found(Improvement(problem.evaluate(first), first))
        run.poll()
        improve(problem, pool, run, known, found, proceed)
    except (StopRequested, DeviceError) as reason:
        keep()
        if isinstance(reason, DeviceError):
            raise
        status = reason.status
    counters: dict[str, int | float] = {"insertions": tried}
    if status is None:
        if best is None:
            return Result(
                Status.BOUND_PROVED,
                None,
                lower,
                None,
                counters=counters,
                reason=f"there is no solution below the given upper_bound of {limit}; the lower bound is {lower}",
            )
        return Result(Status.OPTIMAL, best.value, best.value, best.order, counters=counters)
    value, order = (None, None) if best is None else (best.value, best.order)
    return Result(status, value, lower, order, counters=counters)


def _begin(problem: Flowshop, options: Options, run: RunContext) -> tuple[Improvement | None, int, int]:
    """The schedule to start from, the jobs tried so far, and the lower bound."""
    if run.restored is not None:
        return _restored(problem, run.restored.arrays, run.restored.state)
    initial = getattr(options, "initial", "")
    known = None
    if not isinstance(initial, str):
        order = problem.given_solution(initial)
        known = Improvement(problem.evaluate(order), order)

    run.progress("lower bound", 0, 1)
    lower = flowshop_bound(problem.times, expiry(run))
    return known, 0, lower


def _restored(problem: Flowshop, arrays: dict[str, NDArray[Any]], state: Any) -> tuple[Improvement | None, int, int]:
    checked = state_of(arrays, state)
    lower = flowshop_bound(problem.times)
    if checked.bound > lower:
        raise RunFolderError(f"the checkpoint's lower bound of {checked.bound} is not that of the instance, {lower}")
    tried = checked.counters.get("insertions", 0)
    if not checked.has_solution:
        return None, tried, lower
    order = arrays["solution"]
    if not np.array_equal(np.sort(order), np.arange(problem.jobs)) or problem.evaluate(order) != checked.value:
        raise RunFolderError(f"the checkpoint's solution does not have the value {checked.value}")
    return Improvement(checked.value, order), tried, lower
