"""Which methods take part in a race, and when each of them begins."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from functools import partial
from typing import ClassVar, Literal

from ....base.context import RunContext
from ....devices import DevicePool, Member
from ....devices.host import host_cores
from ..highs.presolve import has_hipo
from ..highs.process import ChildError, keep_children, release_children
from ..highs.threads import start_thread
from ..multifrontal import orders
from ..multifrontal.orders import has_metis
from ..problem import LinearProgram
from ..systems.costs import LEAST_SECONDS, is_surely_dense, own_seconds
from .base import Method
from .highs import HighsInteriorThread, HighsMethod, HighsThread
from .pdhg import PdhgMethod
from .race import Race

FIRST_WAIT = 0.05
"""Seconds that everything else waits for HiGHS's simplex method, which has solved most small programs by then."""
THREAD_NONZEROS = 1_000_000
"""Of the programs that HiGHS solves in threads of this process."""
SOON_NONZEROS = 20_000
"""Up to which HiGHS's simplex method may have ended after the first wait."""
# seconds that HiGHS has alone where our methods would compute on the few cores of the host: on one, on several
_HEAD_START, _SHORT_HEAD_START = 1.0, 0.1
_LONG_HEAD_START, _PART_OF_LIMIT = 5.0, 0.25  # of our method's predicted time, this and a part of the limit count
_MOST_ALONE = 3.0  # times that after which it begins whatever HiGHS is expected to take
_LOOK_SECONDS = 0.02  # between two looks at how long HiGHS's interior point is expected to take still
# times our method's predicted time: as long HiGHS's interior point must be expected to take still, and then waits, by
# the processor time of two cores
_SLOW, _INTERIOR_PAUSE = 1.5, 4.0
_INTERIOR_CORES = 4  # cores from which HiGHS's interior-point method takes part beside our methods,
_FEWEST_CORES = 2  # and from which it does before them, where they would compute on the same cores
_CROSSOVER_CORES = 8  # and from which it does so twice: with crossover from the start, and without
_HELPERS, _MORE_HELPERS = 1, 2  # children kept ready for HiGHS's interior-point method: where it takes part once, twice
_SHARED_NONZEROS = 5_000_000  # of a program that several devices share in PDHG
_LONG_PRESOLVE = 100_000  # nonzeros of a program for whose dense factor a GPU does not wait for presolve
_PRESOLVE_SECONDS, _LONGEST_PRESOLVE = 8e-6, 60.0  # for a nonzero, several times the common; and the most
_TRIED_NONZEROS = 120_000  # of programs that PDHG is tried on: HiGHS has ended before it on those of 90 000 and fewer
_PART_SOON, _PAUSE = 0.1, 0.005  # of the time that a race has taken: what is soon; seconds between two looks
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


class Begun:
    """HiGHS's methods at work in threads before a run, which goes on with them; perhaps none, where HiGHS was tried."""

    _offered: ClassVar[list[Begun]] = []

    def __init__(self, problem: LinearProgram, tolerance: float) -> None:
        self.began = time.perf_counter()
        self.time_left: Callable[[], float] = lambda: math.inf  # set by the run that takes it
        self.methods: list[HighsThread] = []
        self._problem, self._tolerance = problem, tolerance

    def start(self) -> None:
        """Begin, with as many methods as there are cores for where the simplex method has no answer at once."""
        simplex = HighsThread(self._problem, self._tolerance)
        self.methods.append(simplex)
        if self._problem.nonzeros <= SOON_NONZEROS:
            wait([simplex.future], FIRST_WAIT)
        if not simplex.future.done() and host_cores() >= _FEWEST_CORES:
            crossover = partial(HighsMethod, self._problem, "ipm", self._tolerance, "yes", lambda: self.time_left())
            self.methods.append(HighsInteriorThread(simplex, crossover, self._tolerance))

    def offer(self) -> Begun:
        """From now on a run may take it."""
        self._offered.append(self)
        return self

    @classmethod
    def take(cls, problem: LinearProgram, tolerance: float) -> Begun | None:
        """What has begun for a program and no run has taken."""
        for found in list(cls._offered):
            if found._problem is problem and found._tolerance == tolerance:
                with contextlib.suppress(ValueError):  # another run has taken it meanwhile
                    cls._offered.remove(found)
                    return found
        return None

    def close(self) -> None:
        """End what is offered, unless a run has taken it."""
        with contextlib.suppress(ValueError):
            self._offered.remove(self)
            self.end()

    def end(self) -> None:
        """End the methods."""
        for method in self.methods:
            method.close()


def start_highs_simplex(problem: LinearProgram, tolerance: float, run: RunContext) -> list[Method]:
    """HiGHS's simplex method at work; nothing, and a notice, if it cannot be started."""
    if problem.nonzeros <= THREAD_NONZEROS:
        return [HighsThread(problem, tolerance)]
    return _in_child(problem, "simplex", tolerance, run)


def start_highs_interior(
    problem: LinearProgram, tolerance: float, run: RunContext, member: Member, begun: Sequence[Method] = ()
) -> list[Method]:
    """HiGHS's interior-point method at work, if there are cores for it, beside the methods that have begun.

    On few cores that our methods leave to HiGHS for a while it works in a thread beside the simplex method, on what
    that has presolved: HiGHS asks this interpreter thousands of times whether to go on, which must be idle. Elsewhere
    it works in child processes.
    """
    threads = [method for method in begun if isinstance(method, HighsThread)]
    shared = member.info.capabilities.shares_host_cores and host_cores() < _CROSSOVER_CORES
    if shared and host_cores() >= _FEWEST_CORES and threads:
        crossover = partial(HighsMethod, problem, "ipm", tolerance, "yes", lambda: run.time_left)
        return [HighsInteriorThread(threads[0], crossover, tolerance)] if len(threads) == 1 else []
    for method in threads[1:]:
        method.close()
    if host_cores() >= _CROSSOVER_CORES:
        return [*_in_child(problem, "ipm", tolerance, run, "no"), *_in_child(problem, "ipm", tolerance, run, "yes")]
    if host_cores() < (_FEWEST_CORES if shared else _INTERIOR_CORES):
        return []
    return _in_child(problem, "ipm", tolerance, run)


def leave_cores_to_highs(
    race: Race, program: LinearProgram, began: float, wait_until: Callable[[float], None], is_new: bool
) -> None:
    """Leave few cores to HiGHS until its interior point is expected to take longer than our method will in all.

    That waits then, while our method is in its predicted time; HiPO, where it is installed, begins in its place.
    """
    alone = head_start(race.pool.members[0])
    if alone > FIRST_WAIT or race.problem.nonzeros <= SOON_NONZEROS:
        wait_until(began + (alone if is_new else FIRST_WAIT))
    if race.is_decided or not is_new or alone != _SHORT_HEAD_START:
        return
    interior = next((one for one in race.methods if isinstance(one, HighsInteriorThread)), None)

    def wait_while_sooner(seconds: float, until: float) -> None:
        while interior in race.methods and interior.seconds_left < seconds and not race.is_decided:
            if time.perf_counter() >= until:
                break
            wait_until(time.perf_counter() + _LOOK_SECONDS)

    most = min(_LONG_HEAD_START, _PART_OF_LIMIT * race.run.time_left)
    wait_while_sooner(LEAST_SECONDS, began + _MOST_ALONE * most)  # a prediction takes time as well
    if race.is_decided:
        return
    own = race.run_concurrently(lambda: own_seconds(program, race.pool.members[0].info.capabilities))
    if any(isinstance(one, HighsMethod) for one in race.methods):  # in child processes, of which no more is known
        wait_until(began + min(most, own))
    wait_while_sooner(_SLOW * own, began + _MOST_ALONE * min(most, own))
    if interior not in race.methods or race.is_decided or interior.seconds_left < _SLOW * own:
        return
    if has_hipo():
        interior.close()
        crossover = partial(HighsMethod, race.problem, "ipm", race.options.tolerance, "yes", lambda: race.run.time_left)
        race.methods.append(HighsInteriorThread(interior, crossover, race.options.tolerance, "hipo"))
    elif host_cores() < _INTERIOR_CORES:
        interior.here.pause_interior(_INTERIOR_PAUSE * own)


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


def head_start(member: Member) -> float:
    """Seconds from the start of HiGHS's simplex method until it is asked whether our methods begin."""
    if not member.info.capabilities.shares_host_cores or host_cores() >= _MANY_CORES:
        return FIRST_WAIT
    return _SHORT_HEAD_START if host_cores() >= _FEWEST_CORES else _HEAD_START


def presolve_patience(problem: LinearProgram, member: Member, time_left: float, raced: bool) -> float:
    """Seconds for presolve, which may exceed its own limit, before our methods begin without.

    None in a race on GPUs where factors are small whatever is presolved.
    """
    capabilities = member.info.capabilities
    on_gpu, is_long = not capabilities.shares_host_cores, problem.nonzeros > _LONG_PRESOLVE
    if raced and on_gpu and is_long and is_surely_dense(problem.m, capabilities):
        return 0.0
    common = min(_LONGEST_PRESOLVE, 1.0 + _PRESOLVE_SECONDS * problem.nonzeros)
    return min(common, _PART_OF_LIMIT * time_left)


def tries_pdhg(race: Race) -> bool:
    """Whether PDHG begins on a GPU while the host presolves and analyses: not where a dense factor is ready as soon."""
    problem, capabilities = race.problem, race.pool.members[0].info.capabilities
    sparse = problem.is_sparse and problem.nonzeros > _TRIED_NONZEROS
    return not race.is_decided and sparse and capabilities.simt and not is_surely_dense(problem.m, capabilities)


def leave_device_to_pdhg(race: Race, pdhg: PdhgMethod) -> None:
    """Wait while PDHG is predicted to end soon."""
    now = time.perf_counter()
    until = now + _PART_SOON * (now - race.began)
    while pdhg in race.methods and time.perf_counter() + pdhg.seconds_left < until:
        race.raise_if_ended()
        time.sleep(_PAUSE)


def pdhg_members(program: LinearProgram, pool: DevicePool) -> list[Member]:
    """The devices that PDHG works on: all of the first one's kind for a large program, else the first."""
    first = pool.members[0]
    same_language = [member for member in pool.members if member.info.language == first.info.language]
    return same_language if program.nonzeros >= _SHARED_NONZEROS else [first]
