"""A run that improves a schedule on all devices, with a bound from the root: for more jobs than trees take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.context import RunContext, StopRequested
from ....base.result import Result, Status
from ....devices import Device, DevicePool
from ....devices.pool.group import WorkerGroup
from ....devices.pool.slices import SliceLength
from ....errors import AuditError, RunFolderError
from ..intervals import Units
from ..options import Options
from ..problems.flowshop import Flowshop
from ..schema import SCHEMA, SearchState
from ..tree import INFINITY
from .bounds import flowshop_bound
from .greedy import GreedyChains, GreedyShape, greedy_shape

__all__ = ["Improvement", "improve", "planned_bytes", "solve_without_tree"]

_TURN_SECONDS = 0.2
_EXCHANGE_AFTER = 100
_NOISE = 0.1

Order = NDArray[np.int64]


@dataclass(frozen=True)
class Improvement:
    """The best schedule known, and its makespan."""

    value: int
    order: Order


def planned_bytes(problem: Flowshop, shape: GreedyShape) -> int:
    """Device memory of the chains.

    Parameters
    ----------
    problem : Flowshop
    shape : GreedyShape
    """
    return shape.bytes_for(problem.jobs, problem.machines)


class _Worker:
    """The chains of one device, on its thread."""

    def __init__(self, device: Device, times: NDArray[np.int64], seed: int, rank: int, first_chain: int) -> None:
        shape = greedy_shape(device.capabilities, len(times))
        self._chains = GreedyChains(device, times, shape, seed, first_chain)
        self._count, self._rank = shape.chains, rank
        self._length = SliceLength(1)
        self._iterations = 0
        self._shortest = INFINITY
        totals = times.sum(axis=0)
        random = np.random.default_rng([seed, first_chain])
        noise = 1 + _NOISE * random.standard_normal((shape.chains, len(totals)))
        if rank == 0:
            noise[0] = 1
        self._sequences = np.argsort(-(totals * noise), axis=1, kind="stable")

    def close(self) -> None:
        """Free the device's memory."""
        self._chains.release()

    def begin(self, known: Improvement | None) -> None:
        """From a schedule that is known, or from schedules that the chains build from different orders of the jobs."""
        if known is None:
            self._chains.build(self._sequences)
        else:
            self._chains.start(known.order[None], np.array([known.value]))

    def turn(self, seconds: float, known: Improvement | None) -> tuple[Improvement | None, int]:
        """Search for about so many seconds; a better schedule than the one known, if there is one, and the jobs tried.

        Parameters
        ----------
        seconds : float
        known : Improvement or None
            The best schedule of all devices.
        """
        chains, tried = self._chains, 0
        if known is not None and chains.at_start and known.value < self._shortest:
            chains.adopt(known.order, known.value, self._count - 1)
        began = time.perf_counter()
        while True:
            steps = min(self._length.amount, chains.steps_left)
            slice_began = time.perf_counter()
            values = chains.advance(steps)
            now = time.perf_counter()
            self._length.took(now - slice_began, steps)
            tried += steps * self._count
            if chains.at_start:
                self._exchange(values)
            if now - began >= seconds:
                break
        leader = int(values.argmin())
        self._shortest = int(values[leader])
        if self._shortest < (INFINITY if known is None else known.value):
            return Improvement(self._shortest, chains.best_of(leader)), tried
        return None, tried

    def _exchange(self, values: NDArray[np.int32]) -> None:
        """Every so many iterations the worst quarter of the chains goes on from the best schedule."""
        self._iterations += 1
        if self._iterations % _EXCHANGE_AFTER or self._count < 4:
            return
        ranked = np.argsort(values, kind="stable")
        sources = np.arange(self._count, dtype=np.int32)
        sources[ranked[-(self._count // 4) :]] = ranked[0]
        self._chains.follow(sources)


def improve(
    problem: Flowshop,
    pool: DevicePool,
    run: RunContext,
    known: Improvement | None,
    found: Callable[[Improvement], None],
    proceed: Callable[[int], bool],
) -> None:
    """Search on all devices until ``proceed`` says no.

    Parameters
    ----------
    problem : Flowshop
    pool : DevicePool
    run : RunContext
    known : Improvement or None
        The schedule to start from; None to build some.
    found : callable
        Takes a better schedule, whose makespan has been computed again.
    proceed : callable
        Called between two turns with the number of jobs that were tried at all places; it may raise.

    Raises
    ------
    engine.errors.AuditError
        If a schedule does not have the makespan that a device reports.
    """
    shapes = [greedy_shape(member.info.capabilities, problem.machines) for member in pool.members]
    first = np.cumsum([0, *(shape.chains for shape in shapes)])
    arguments = [(problem.times, run.seed, rank, int(first[rank])) for rank in range(len(pool))]
    tried = 0
    with WorkerGroup(pool.members, _Worker, arguments) as group:
        group.each(_Worker.begin, known)
        while proceed(tried):
            for better, count in group.each(_Worker.turn, _TURN_SECONDS, known):
                tried += count
                if better is not None and (known is None or better.value < known.value):
                    value = problem.evaluate(better.order)
                    if value != better.value:
                        raise AuditError(f"a schedule of makespan {value} was reported with {better.value}")
                    known = better
                    found(better)


def solve_without_tree(problem: Flowshop, options: Options, pool: DevicePool, run: RunContext) -> Result:
    """Improve a schedule until the bound is reached, the time is up, or the run is stopped.

    Parameters
    ----------
    problem : Flowshop
    options : Options
    pool : DevicePool
    run : RunContext

    Returns
    -------
    Result
        ``optimal`` where a schedule reaches the bound; ``bound_proved`` where the bound reaches ``upper_bound``;
        else as the run was stopped. The counter ``insertions`` says how many jobs were tried at all places.
    """
    needed = {
        member.label: planned_bytes(problem, greedy_shape(member.info.capabilities, problem.machines))
        for member in pool.members
    }
    pool.require_memory(needed, "the search for schedules", "use a device with more memory")
    upper = getattr(options, "upper_bound", None)
    known, tried_before, lower = _begin(problem, options, run)
    limit = INFINITY if upper is None or known is not None else upper
    if not math.isfinite(run.time_left):
        run.notice(
            f"{problem.jobs} jobs are more than the exact search takes: the schedule is improved until its makespan is "
            "the lower bound, or the run is stopped; set time_limit"
        )
    best, tried, began = known, tried_before, time.perf_counter()

    def publish() -> None:
        run.incumbent(None if best is None else best.value, lower, None if best is None else best.order)

    def keep() -> None:
        run.save_checkpoint(*_checkpoint(problem, best, lower, limit, tried))

    def found(better: Improvement) -> None:
        nonlocal best
        if better.value < limit:
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
        run.poll()
        improve(problem, pool, run, known, found, proceed)
    except StopRequested as reason:
        status = reason.status
        keep()
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
    restored = run.restored
    if restored is not None:
        return _restored(problem, restored.arrays, restored.state)
    initial = getattr(options, "initial", "")
    known = None
    if not isinstance(initial, str):
        order = problem.given_solution(initial)
        known = Improvement(problem.evaluate(order), order)

    def expired() -> bool:
        try:
            run.poll()
        except StopRequested:
            return True
        return False

    run.progress("lower bound", 0, 1)
    lower = flowshop_bound(problem.times, expired)
    return known, 0, lower


def _checkpoint(
    problem: Flowshop, best: Improvement | None, lower: int, limit: int, tried: int
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """A checkpoint of the tree search without intervals: the schedule is all that is kept of the chains."""
    none = Units.none(problem.jobs)
    arrays: dict[str, NDArray[Any]] = {"begin": none.begin, "end": none.end, "fresh": none.fresh}
    arrays["explored"] = np.zeros(problem.jobs, np.int64)
    if best is not None:
        arrays["solution"] = best.order
    state = SearchState(
        initial=limit,
        value=limit if best is None else best.value,
        improved=best is not None,
        has_solution=best is not None,
        bound=lower,
        counters={"insertions": tried},
    )
    return arrays, state.model_dump()


def _restored(problem: Flowshop, arrays: dict[str, NDArray[Any]], state: Any) -> tuple[Improvement | None, int, int]:
    assert SCHEMA.checkpoint is not None
    try:
        checked = SCHEMA.checkpoint.check(arrays, state)
    except ValueError as error:
        raise RunFolderError(f"the checkpoint cannot be used: {error}") from error
    assert isinstance(checked, SearchState)
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
