"""Runs several methods concurrently: updates are audited as they arrive, and methods that have lost are cancelled."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from numpy.typing import NDArray

from ....base.context import RunContext
from ....devices import DevicePool
from ....errors import DeviceError
from ..highs.process import ChildError
from ..highs.threads import start_thread
from ..interior.driver import Counters
from ..options import Options
from ..problem import LinearProgram
from ..validate import method_for
from ..verification.outcome import AuditedPoint, Proof
from ..verification.verdict import Verdict
from .base import Decided, MethodUpdate, Racer, first_counters, unchanged
from .interior import InteriorRacer

__all__ = ["WAIT_SECONDS", "Race"]

T = TypeVar("T")

WAIT_SECONDS = 0.05
"""Seconds between two looks at the run's controls."""
_MOST_REFUSALS = 3  # points that fail the audit before presolve is given up
_HOPELESS = 0.1  # error of a restored point after which it is given up at once: presolve has lost the duals
_LAST_AUDITS = 0.3  # seconds that a run which is stopped waits for points that are being audited


@dataclass(frozen=True)
class _AuditOutcome:
    """The outcome of an audit: a proof, or an audited point; ``lost`` if presolve could not restore the point."""

    proof: Proof | None = None
    point: AuditedPoint | None = None
    lost: bool = False


@dataclass(frozen=True, eq=False)
class _PendingAudit:
    """An update that is being audited."""

    racer: Racer
    update: MethodUpdate
    outcome: Future[_AuditOutcome]

    @property
    def holds(self) -> bool:
        """Whether the racer does nothing until its update is audited."""
        return self.update.point is not None or self.update.ended


class Race:
    """Methods at work on one program, and what they have found; a race, or one method alone.

    The thread that calls these methods waits for nothing but updates while several methods race: points are restored
    and audited on threads, and so is everything that prepares a method (:meth:`_run_concurrently`). A method that has
    lost is closed on a thread that the pool waits for before its devices are used again.
    """

    def __init__(self, problem: LinearProgram, options: Options, pool: DevicePool, run: RunContext) -> None:
        self.problem = problem
        self.options = options
        self.pool = pool
        self.run = run
        self.method = method_for(problem, options)
        self.verdict = Verdict(problem, options.acceptable)
        self.history: list[list[float]] = []
        self.counters: Counters = first_counters(problem)
        self.racers: list[Racer] = []
        self.finished: list[Racer] = []
        self.winner: Racer | None = None
        self._pending: list[_PendingAudit] = []
        self._closed: list[Racer] = []
        self.factor_arrays: dict[str, NDArray[Any]] = {}
        self._ended = threading.Event()
        self._solved_at_once = False
        self._without_presolve = False
        self._stopping = False

    @property
    def _decided(self) -> bool:
        return self.verdict.proof is not None or self.winner is not None or self._solved_at_once

    # --- waiting ------------------------------------------------------------------------------------------------

    def _poll(self) -> None:
        """Look at the run's controls; not any more once the run is being stopped."""
        if not self._stopping:
            self.run.poll()

    def _raise_if_decided(self) -> None:
        """Called by threads that work for the race.

        Raises
        ------
        ChildError
            If it has ended.
        """
        if self._ended.is_set():
            raise ChildError("the race has ended")

    def _notice(self, message: str, level: Literal["info", "warning"] = "info") -> None:
        """A notice of the run, unless the race has ended."""
        if not self._ended.is_set():
            self.run.notice(message, level)

    def _listen(self, timeout: float, *others: Future[Any]) -> None:
        """Wait for updates, or for one of these futures, and take them."""
        self._poll()
        held = [pending.racer for pending in self._pending if pending.holds]
        at_work = [racer for racer in self.racers if racer not in held]
        futures = [*others, *(racer.future for racer in at_work), *(pending.outcome for pending in self._pending)]
        wait(futures, timeout=timeout, return_when=FIRST_COMPLETED)
        for pending in [pending for pending in self._pending if pending.outcome.done()]:
            if not self._decided:
                self._take_outcome(pending)
        for racer in [racer for racer in at_work if racer.future.done()]:
            if not self._decided and racer in self.racers:
                self._take_update(racer)

    def _poll_race(self, *others: Future[Any]) -> None:
        """:meth:`_listen` while something is prepared.

        Raises
        ------
        Decided
            If an update decides the race.
        """
        self._listen(WAIT_SECONDS, *others)
        if self._decided:
            raise Decided

    def _run_concurrently(self, function: Callable[[], T], patience: float = math.inf) -> T:
        """Call a function on a thread and take the updates of the racers meanwhile; here if there are none.

        If the race is decided, the run stopped or the patience over, the function goes on alone: what it returns is
        closed.

        Raises
        ------
        Decided
            If an update decides the race.
        TimeoutError
            If the patience is over.
        """
        if not self.racers:
            return function()
        future, until = start_thread(function), time.perf_counter() + patience
        try:
            while not future.done():
                if time.perf_counter() >= until:
                    raise TimeoutError
                self._poll_race(future)
            return future.result()
        except BaseException:
            self.pool.defer(start_thread(lambda: _close_late(future)))
            raise

    # --- updates ------------------------------------------------------------------------------------------------

    def _take_update(self, racer: Racer) -> None:
        try:
            update = racer.collect()
        except DeviceError as error:
            if len(self.racers) == 1:
                raise
            self.run.notice(f"{racer.name} has ended: {error}", level="warning")
            update = MethodUpdate(ended=True)
        racer.report(self.run)
        if update.point is None and update.farkas is None and update.ray is None:
            if update.ended:
                self._finish(racer)
            return
        if self.method != "race":
            self._take_outcome(_PendingAudit(racer, update, _done(self._audited(racer, update))))
        elif update.point is not None or update.ended or all(pending.racer is not racer for pending in self._pending):
            self._pending.append(_PendingAudit(racer, update, start_thread(lambda: self._audited(racer, update))))

    def _audited(self, racer: Racer, update: MethodUpdate) -> _AuditOutcome:
        """Check certificates, and restore and audit a point; on any thread."""
        point, verdict = update.point, self.verdict
        proof = None if update.farkas is None else verdict.proof_by_farkas(update.farkas)
        if proof is None and update.ray is not None:  # before a point whose errors are smaller than they may
            proof = verdict.proof_by_ray(update.ray, point[0] if point is not None and update.original else None)
        if proof is not None or point is None:
            return _AuditOutcome(proof)
        restore = unchanged if update.original else racer.restore
        try:
            return _AuditOutcome(point=AuditedPoint.of(self.problem, *restore(*point)))
        except ChildError:
            return _AuditOutcome(lost=True)

    def _take_outcome(self, pending: _PendingAudit) -> None:
        """The racer wins, goes on, or has ended."""
        if pending in self._pending:
            self._pending.remove(pending)
        racer, found = pending.racer, pending.outcome.result()
        if racer in self._closed:  # presolve has been given up meanwhile
            return
        ended = pending.update.ended
        if found.proof is not None:
            self.verdict.proof, self.winner = found.proof, racer
            return
        if found.lost:
            self._without_presolve = ended = True
        elif found.point is not None:
            ended |= self._accept_or_refine(racer, pending.update, found.point)
        if ended and self.winner is None:
            self._finish(racer)

    def _accept_or_refine(self, racer: Racer, update: MethodUpdate, point: AuditedPoint) -> bool:
        """By its audit the racer wins, goes on or has ended; returns whether it has ended."""
        self.verdict.take(point)
        error = racer.error = point.audit.error
        good = error <= self.options.acceptable
        if error <= self.options.tolerance or (good and (update.original or (update.final and not update.ended))):
            self.winner = racer
            return False
        if update.final:
            return True
        racer.refusals += 1
        refused = racer.refusals >= _MOST_REFUSALS or error > _HOPELESS
        if refused and not good and not update.original and racer.restore is not unchanged:
            self._without_presolve = True
            return True
        racer.refine()
        return False

    def _finish(self, racer: Racer) -> None:
        """A racer has ended by itself."""
        self.racers.remove(racer)
        self.finished.append(racer)

    def _take_last_outcomes(self) -> None:
        """Wait a moment for the points that are being audited: the run is being stopped."""
        wait([pending.outcome for pending in self._pending], timeout=_LAST_AUDITS)
        for pending in [pending for pending in self._pending if pending.outcome.done()]:
            with suppress(DeviceError):  # a racer that is not good enough yet goes on, for nothing
                self._take_outcome(pending)

    # --- the end ------------------------------------------------------------------------------------------------

    def _close_racers(self, wait_for_them: bool = True) -> None:
        """Close all; without waiting, on threads that the pool waits for before its devices are used again."""
        if not wait_for_them:
            self._ended.set()
        for racer in [*self.racers, *self.finished]:
            self._end(racer, wait_for_them)

    def _end(self, racer: Racer, wait_for_it: bool = True) -> None:
        """Close a racer, once, and keep its counters and history."""
        if racer in self._closed:
            return
        self._closed.append(racer)
        if wait_for_it:
            with suppress(DeviceError):
                racer.close()
        racer.count(self.counters)
        if isinstance(racer, InteriorRacer) and self.run.keeps_checkpoints:
            self.factor_arrays = racer.factor_arrays() or self.factor_arrays
        own = isinstance(racer, InteriorRacer) or self.method == "pdhg"
        self.history += list(getattr(racer, "history", [])) if own else []
        if not wait_for_it:
            self.pool.defer(start_thread(racer.close))


def _done(result: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(result)
    return future


def _close_late(future: Future[Any]) -> None:
    """Close what a function returns that nobody waits for any more."""
    with suppress(BaseException):
        close = getattr(future.result(), "close", None)
        if close is not None:
            close()
