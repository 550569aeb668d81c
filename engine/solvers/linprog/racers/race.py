"""The racers at work: news are taken as they come, judged beside each other, and who has lost is left behind."""

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
from .base import Decided, News, Racer, first_counters, unchanged
from .interior import InteriorRacer

__all__ = ["WAIT_SECONDS", "Race"]

T = TypeVar("T")

WAIT_SECONDS = 0.05
"""Seconds between two looks at the run's controls."""
_MOST_REFUSALS = 3  # points that fail the audit before presolve is given up
_HOPELESS = 0.1  # error of a restored point after which it is given up at once: presolve has lost the duals
_LAST_JUDGEMENTS = 0.3  # seconds that a run which is stopped waits for points that are being audited


@dataclass(frozen=True)
class _Judgement:
    """What news have come to: a proof, or an audited point; ``lost`` if presolve could not restore the point."""

    proof: Proof | None = None
    point: AuditedPoint | None = None
    lost: bool = False


@dataclass(frozen=True, eq=False)
class _Case:
    """News that are being judged."""

    racer: Racer
    news: News
    judgement: Future[_Judgement]

    @property
    def holds(self) -> bool:
        """Whether the racer does nothing until its news are judged."""
        return self.news.point is not None or self.news.ended


class Race:
    """Methods at work on one program, and what they have found; a race, or one method alone.

    The thread that calls these methods waits for nothing but news while several methods race: points are restored and
    audited on threads, and so is everything that prepares a method (:meth:`_beside`). Who has lost is closed on a
    thread that the pool waits for before its devices are used again.

    Parameters
    ----------
    problem : LinearProgram
    options : Options
    pool : DevicePool
    run : RunContext
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
        self._cases: list[_Case] = []
        self._closed: list[Racer] = []
        self.factor_arrays: dict[str, NDArray[Any]] = {}
        self._ended = threading.Event()
        self._solved_at_once = False
        self._unpresolve = False
        self._stopping = False

    @property
    def _decided(self) -> bool:
        return self.verdict.proof is not None or self.winner is not None or self._solved_at_once

    # --- waiting ------------------------------------------------------------------------------------------------

    def _poll(self) -> None:
        """Look at the run's controls; not any more once the run is being stopped."""
        if not self._stopping:
            self.run.poll()

    def _require_going_on(self) -> None:
        """Called by threads that work for the race.

        Raises
        ------
        ChildError
            If it has ended.
        """
        if self._ended.is_set():
            raise ChildError("the race has ended")

    def _notice(self, message: str, level: Literal["info", "warning"] = "info") -> None:
        """A notice of the run, unless it goes on without who gives it."""
        if not self._ended.is_set():
            self.run.notice(message, level)

    def _listen(self, timeout: float, *others: Future[Any]) -> None:
        """Wait for news, or for one of these futures, and take the news."""
        self._poll()
        held = [case.racer for case in self._cases if case.holds]
        at_work = [racer for racer in self.racers if racer not in held]
        futures = [*others, *(racer.future for racer in at_work), *(case.judgement for case in self._cases)]
        wait(futures, timeout=timeout, return_when=FIRST_COMPLETED)
        for case in [case for case in self._cases if case.judgement.done()]:
            if not self._decided:
                self._take_judgement(case)
        for racer in [racer for racer in at_work if racer.future.done()]:
            if not self._decided and racer in self.racers:
                self._take_news(racer)

    def _poll_race(self, *others: Future[Any]) -> None:
        """:meth:`_listen` while something is prepared.

        Raises
        ------
        Decided
            If news decide the race.
        """
        self._listen(WAIT_SECONDS, *others)
        if self._decided:
            raise Decided

    def _beside(self, function: Callable[[], T], patience: float = math.inf) -> T:
        """Call a function on a thread and take the news of the racers meanwhile; here if there are none.

        If the race is decided, the run stopped or the patience over, the function goes on alone: what it returns is
        closed.

        Parameters
        ----------
        function : callable
        patience : float
            Seconds that it may take; it is looked at every 0.05 s.

        Raises
        ------
        Decided
            If news decide the race.
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
            self.pool.leave(start_thread(lambda: _close_late(future)))
            raise

    # --- news ---------------------------------------------------------------------------------------------------

    def _take_news(self, racer: Racer) -> None:
        try:
            news = racer.collect()
        except DeviceError as error:
            if len(self.racers) == 1:
                raise
            self.run.notice(f"{racer.name} has ended: {error}", level="warning")
            news = News(ended=True)
        racer.report(self.run)
        if news.point is None and news.farkas is None and news.ray is None:
            if news.ended:
                self._finish(racer)
            return
        if self.method != "race":
            self._take_judgement(_Case(racer, news, _done(self._judged_news(racer, news))))
        elif news.point is not None or news.ended or all(case.racer is not racer for case in self._cases):
            self._cases.append(_Case(racer, news, start_thread(lambda: self._judged_news(racer, news))))

    def _judged_news(self, racer: Racer, news: News) -> _Judgement:
        """Check certificates, and restore and audit a point; on any thread."""
        point, verdict = news.point, self.verdict
        proof = None if news.farkas is None else verdict.proof_by_farkas(news.farkas)
        if proof is None and news.ray is not None:  # before a point whose errors are smaller than they may
            proof = verdict.proof_by_ray(news.ray, point[0] if point is not None and news.original else None)
        if proof is not None or point is None:
            return _Judgement(proof)
        restore = unchanged if news.original else racer.restore
        try:
            return _Judgement(point=AuditedPoint.of(self.problem, *restore(*point)))
        except ChildError:
            return _Judgement(lost=True)

    def _take_judgement(self, case: _Case) -> None:
        """The racer wins, goes on, or has ended."""
        if case in self._cases:
            self._cases.remove(case)
        racer, found = case.racer, case.judgement.result()
        if racer in self._closed:  # presolve has been given up meanwhile
            return
        ended = case.news.ended
        if found.proof is not None:
            self.verdict.proof, self.winner = found.proof, racer
            return
        if found.lost:
            self._unpresolve = ended = True
        elif found.point is not None:
            ended |= self._weigh(racer, case.news, found.point)
        if ended and self.winner is None:
            self._finish(racer)

    def _weigh(self, racer: Racer, news: News, point: AuditedPoint) -> bool:
        """By its audit: the racer wins, or goes on, or has ended; whether it has ended."""
        self.verdict.take(point)
        error = racer.error = point.audit.error
        good = error <= self.options.acceptable
        if error <= self.options.tolerance or (good and (news.original or (news.final and not news.ended))):
            self.winner = racer
            return False
        if news.final:
            return True
        racer.refusals += 1
        refused = racer.refusals >= _MOST_REFUSALS or error > _HOPELESS
        if refused and not good and not news.original and racer.restore is not unchanged:
            self._unpresolve = True
            return True
        racer.refine()
        return False

    def _finish(self, racer: Racer) -> None:
        """A racer has ended by itself."""
        self.racers.remove(racer)
        self.finished.append(racer)

    def _take_last_judgements(self) -> None:
        """Wait a moment for the points that are being audited: the run is being stopped."""
        wait([case.judgement for case in self._cases], timeout=_LAST_JUDGEMENTS)
        for case in [case for case in self._cases if case.judgement.done()]:
            with suppress(DeviceError):  # a racer that is not good enough yet goes on, for nothing
                self._take_judgement(case)

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
            self.pool.leave(start_thread(racer.close))


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
