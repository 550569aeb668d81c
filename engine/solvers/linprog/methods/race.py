"""Runs several methods concurrently: updates are audited as they arrive, and methods that have lost are cancelled."""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ....base.context import RunContext
from ....base.result import Result
from ....devices import DevicePool
from ....errors import DeviceError
from ..highs.process import ChildError
from ..highs.threads import start_thread
from ..interior.driver import Counters
from ..options import Options
from ..problem import LinearProgram
from ..verification.mending import mended
from ..verification.outcome import AuditedPoint, Proof
from ..verification.verdict import Verdict
from .base import Decided, Method, MethodUpdate, first_counters, unchanged
from .interior import InteriorMethod

T = TypeVar("T")

WAIT_SECONDS = 0.05
"""Seconds between two looks at the run's controls."""
_MOST_REFUSALS = 3  # points that fail the audit before presolve is given up
_HOPELESS = 0.1  # error of a restored point after which it is given up at once: presolve has lost the duals
_SETTLING, _PART_SETTLING = 0.5, 0.25  # seconds, or a part of those until then, in which a good point may be bettered
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

    method: Method
    update: MethodUpdate
    outcome: Future[_AuditOutcome]

    @property
    def holds(self) -> bool:
        """Whether the method does nothing until its update is audited."""
        return self.update.point is not None or self.update.ended


class Race:
    """Methods at work on one program, one or several, and what they have found.

    While several race the caller's thread waits for nothing but updates; a loser is closed on a thread that the pool
    waits for before its devices are used again.
    """

    def __init__(
        self, problem: LinearProgram, options: Options, pool: DevicePool, run: RunContext, method: str
    ) -> None:
        self.problem = problem
        self.options = options
        self.pool = pool
        self.run = run
        self.is_race, self._is_pdhg = method == "race", method == "pdhg"
        self.verdict = Verdict(problem, options.acceptable)
        self.history: list[list[float]] = []
        self.counters: Counters = first_counters(problem)
        self.methods: list[Method] = []
        self.finished: list[Method] = []
        self.winner: Method | None = None
        self.pending: list[_PendingAudit] = []
        self.closed: list[Method] = []
        self.factor_arrays: dict[str, NDArray[Any]] = {}
        self._ended = threading.Event()
        self.is_solved = False
        self.lacks_presolve = False
        self.is_stopping = False
        self.began, self._settles = time.perf_counter(), math.inf  # when what has found a good point wins
        self._settler: Method | None = None

    @property
    def has_work(self) -> bool:
        """Whether a method works, or an audit is pending."""
        return bool(self.methods or self.pending)

    @property
    def is_decided(self) -> bool:
        """Whether there is a proof, a winner, or a solution that needed no method."""
        return self.verdict.proof is not None or self.winner is not None or self.is_solved

    # --- waiting ------------------------------------------------------------------------------------------------

    def drop(self, methods: list[Method]) -> None:
        """Close methods and forget them."""
        for method in methods:
            self.close(method)
        self.methods = [method for method in self.methods if method not in methods]
        self.finished = [method for method in self.finished if method not in methods]

    def poll(self) -> None:
        """Look at the run's controls; not any more once the run is being stopped."""
        if not self.is_stopping:
            self.run.poll()

    def raise_if_ended(self) -> None:
        """Called by threads that work for the race."""
        if self._ended.is_set():
            raise ChildError("the race has ended")

    def notice(self, message: str, level: Literal["info", "warning"] = "info") -> None:
        """A notice of the run, unless the race has ended."""
        if not self._ended.is_set():
            self.run.notice(message, level)

    def listen(self, timeout: float, *others: Future[Any]) -> None:
        """Wait for updates, or for one of these futures, and take them."""
        self.poll()
        held = [pending.method for pending in self.pending if pending.holds]
        at_work = [method for method in self.methods if method not in held]
        futures = [*others, *(method.future for method in at_work), *(pending.outcome for pending in self.pending)]
        wait(futures, timeout=timeout, return_when=FIRST_COMPLETED)
        for pending in [pending for pending in self.pending if pending.outcome.done()]:
            if not self.is_decided:
                self._take_outcome(pending)
        for method in [method for method in at_work if method.future.done()]:
            if not self.is_decided and method in self.methods:
                self._take_update(method)
        if not self.is_decided and time.perf_counter() >= self._settles:
            self.winner = self._settler

    def poll_updates(self, *others: Future[Any]) -> None:
        """:meth:`listen` while something is prepared."""
        self.listen(WAIT_SECONDS, *others)
        if self.is_decided:
            raise Decided

    def run_concurrently(self, function: Callable[[], T], patience: float = math.inf) -> T:
        """Call a function on a thread and take updates meanwhile; here if there are no methods.

        What it returns is closed if the race is decided (:class:`Decided`), the run is stopped or the patience is over
        (TimeoutError) before.
        """
        if not self.methods:
            return function()
        future, until = start_thread(function), time.perf_counter() + patience
        try:
            while not future.done():
                if time.perf_counter() >= until:
                    raise TimeoutError
                self.poll_updates(future)
            return future.result()
        except BaseException:
            self.pool.defer(start_thread(lambda: _close_late(future)))
            raise

    # --- updates ------------------------------------------------------------------------------------------------

    def _take_update(self, method: Method) -> None:
        try:
            update = method.collect()
        except DeviceError as error:
            if len(self.methods) == 1:
                raise
            self.run.notice(f"{method.name} has ended: {error}", level="warning")
            update = MethodUpdate(ended=True)
        method.report(self.run)
        if update.point is None and update.farkas is None and update.ray is None:
            if update.ended:
                self._finish(method)
            return
        if not self.is_race:
            self._take_outcome(_PendingAudit(method, update, _done(self._audited(method, update))))
        elif update.point is not None or update.ended or all(pending.method is not method for pending in self.pending):
            self.pending.append(_PendingAudit(method, update, start_thread(lambda: self._audited(method, update))))

    def _audited(self, method: Method, update: MethodUpdate) -> _AuditOutcome:
        """Check certificates, and restore and audit a point; on any thread."""
        point, verdict = update.point, self.verdict
        proof = None if update.farkas is None else verdict.proof_by_farkas(update.farkas)
        if proof is None and update.ray is not None:  # before a point whose errors are smaller than they may
            witness = point[0] if point is not None and update.original else update.witness
            proof = verdict.proof_by_ray(update.ray, witness)
        if proof is not None or point is None:
            return _AuditOutcome(proof)
        restore = unchanged if update.original else method.restore
        try:
            found = AuditedPoint.of(self.problem, *restore(*point))
        except ChildError:
            return _AuditOutcome(lost=True)
        is_restored = update.original or restore is not unchanged
        return _AuditOutcome(point=mended(self.problem, found, self.options.acceptable) if is_restored else found)

    def _take_outcome(self, pending: _PendingAudit) -> None:
        """The method wins, goes on, or has ended."""
        if pending in self.pending:
            self.pending.remove(pending)
        method, found = pending.method, pending.outcome.result()
        if method in self.closed:  # presolve has been given up meanwhile
            return
        ended = pending.update.ended
        if found.proof is not None:
            self.verdict.proof, self.winner = found.proof, method
            return
        if found.lost:
            self.lacks_presolve = ended = True
        elif found.point is not None:
            ended |= self._accept_or_refine(method, pending.update, found.point)
        if ended and self.winner is None:
            self._finish(method)

    def _accept_or_refine(self, method: Method, update: MethodUpdate, point: AuditedPoint) -> bool:
        """By its audit the method wins, goes on or has ended; returns whether it has ended."""
        self.verdict.take(point)
        error = method.error = point.audit.error
        good = error <= self.options.acceptable
        if good and self.is_race:
            now = time.perf_counter()
            self._settles = min(self._settles, now + max(_SETTLING, _PART_SETTLING * (now - self.began)))
            self._settler = method if self.verdict.best is point else self._settler
        if error <= self.options.tolerance or (good and (update.original or (update.final and not update.ended))):
            self.winner = method
            return False
        if update.final:
            return True
        method.refusals += 1
        refused = method.refusals >= _MOST_REFUSALS or error > _HOPELESS
        if refused and not good and not update.original and method.restore is not unchanged:
            self.lacks_presolve = True
            return True
        method.refine()
        return False

    def _finish(self, method: Method) -> None:
        """A method has ended by itself."""
        self.methods.remove(method)
        self.finished.append(method)

    def take_last_outcomes(self) -> None:
        """Wait a moment for the points that are being audited: the run is being stopped."""
        wait([pending.outcome for pending in self.pending], timeout=_LAST_AUDITS)
        for pending in [pending for pending in self.pending if pending.outcome.done()]:
            with suppress(DeviceError):  # a method that is not good enough yet goes on, for nothing
                self._take_outcome(pending)

    # --- the end ------------------------------------------------------------------------------------------------

    def report(self, result: Result) -> None:
        """Report who has won and how far the others were, also as arrays of the result."""
        winner, others = self.winner, [method for method in self.closed if method is not self.winner]
        order = [*([winner] if winner is not None else []), *others]
        if not order:
            return
        result.arrays["racers"] = np.array([method.name for method in order])
        result.arrays["racer_errors"] = np.array([method.error for method in order])
        result.arrays["racer_outcomes"] = np.array(
            ["won" if method is winner else "ended" if method in self.finished else "stopped" for method in order]
        )
        first = f"{winner.name} has won" if winner is not None else "no method has won"
        rest = ", ".join(f"{method.name}: error {method.error:.1e}" for method in others)
        self.run.notice(f"race: {first}" + (f"; {rest}" if rest else ""))

    def close_all(self, wait_for_them: bool = True) -> None:
        """Close all; without waiting, on threads that the pool waits for before its devices are used again."""
        if not wait_for_them:
            self._ended.set()
        for method in [*self.methods, *self.finished]:
            self.close(method, wait_for_them)

    def close(self, method: Method, wait_for_it: bool = True) -> None:
        """Close a method, once, and keep its counters and history."""
        if method in self.closed:
            return
        self.closed.append(method)
        if wait_for_it:
            with suppress(DeviceError):
                method.close()
        method.count(self.counters)
        if isinstance(method, InteriorMethod) and self.run.keeps_checkpoints:
            self.factor_arrays = method.factor_arrays() or self.factor_arrays
        own = isinstance(method, InteriorMethod) or self._is_pdhg
        self.history += list(getattr(method, "history", [])) if own else []
        if not wait_for_it:
            self.pool.defer(start_thread(method.close))


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
