"""One solving of a problem: its clock, controls, events and checkpoints.

A solver works in bounded slices and calls :meth:`Run.poll` between them; that call is where a run pauses, stops and
ends at its time limit. Events go one way: solver -> :meth:`Run.emit` -> :mod:`engine.runs.publisher` -> observers.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Literal, cast

from typing_extensions import override

from ..base.context import StopRequested
from ..base.problem import R
from ..base.result import Result, Status
from ..errors import (
    DeviceError,
    InputError,
    ObserverWarning,
    OutOfDeviceMemory,
    QuintetWarning,
    StorageWarning,
    issue_warning,
)
from ..events import Event, StateChanged
from ..util.display import Display, Displayed
from ..util.text import number_text
from . import run_events
from .attempt import GRACE, OFFERED_GRACE, SAVING_GRACE, Attempt, is_overdue
from .clock import RunClock
from .device_events import PoolMonitor
from .folder.storage import RunStorage
from .folder.writer import FolderWriter
from .publisher import Observer, Publisher, require_other_thread, works_for
from .question import AlreadyEnded, Fresh, FromCheckpoint, Question, Restarted, Start
from .reporter import METRIC_INTERVAL, Reporter, plain_number

if TYPE_CHECKING:
    from ..devices import DevicePool
    from .executor import Executor


class Run(Displayed, Reporter, Generic[R]):
    """One solving of one problem, from :meth:`engine.Engine.start`; ``R`` is the class of its result.

    From outside: :meth:`pause`, :meth:`resume`, :meth:`stop` and :meth:`wait`, from any thread.
    From a solver's thread: :meth:`poll`, :meth:`checkpoint_due`, :meth:`save_checkpoint` and a ``Reporter``'s.

    Parameters
    ----------
    question : Question
    pool : DevicePool
    start : Fresh, FromCheckpoint, Restarted or AlreadyEnded
    folder : RunStorage, optional
        Where checkpoints and the result are written; the run has the right to write there until it ends.
    observers : sequence of callable
        Called with every event, on one thread.
    event_log : callable, optional
        An observer that records the events; it has a thread of its own.
    turn : Lock, optional
        Held while the run works; runs that share it work one after the other.
    executor : Executor, optional
        Works the run; by default the solver does, on the devices of ``pool``.

    Examples
    --------
    >>> import engine
    >>> problem = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)
    >>> with engine.Engine() as owner:
    ...     run = owner.start(problem, time_limit=60)
    ...     run.pause()
    ...     run.resume()
    ...     result = run.wait()
    >>> result.objective, run.state
    (220, 'ended')
    """

    def __init__(
        self,
        question: Question,
        pool: DevicePool,
        start: Start,
        *,
        folder: RunStorage | None = None,
        observers: Sequence[Observer] = (),
        event_log: Observer | None = None,
        turn: threading.Lock | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.problem, self.solver, self.options = question.problem, question.solver, question.options
        self.backend, self.seed = question.backend, question.seed
        self.time_limit, self.checkpoint_interval = question.time_limit, question.checkpoint_interval
        self._began_as = start
        self.restored = start.checkpoint if isinstance(start, FromCheckpoint) else None
        self._finished = start.result if isinstance(start, AlreadyEnded) else None
        labels = tuple(member.label for member in pool.members)
        self.devices = labels if self._finished is None else self._finished.devices
        self.device_names = tuple(member.info.name for member in pool.members)
        self.pool = pool
        self._writer = FolderWriter(self, folder)
        before = self.restored.elapsed if self.restored else self._finished.seconds if self._finished else 0.0
        publisher = Publisher(observers, event_log, lambda message, late: self.warn(ObserverWarning(message), late))
        super().__init__(publisher, RunClock(before))
        self._turn = self._publisher.turn = turn or threading.Lock()
        self._executor = executor
        self.error: BaseException | None = None
        self._stop_requested: float | None = None
        self._control = threading.Condition()
        self._state: Literal["running", "paused", "stopping"] = "running"
        self._announced = False
        self._result: Result | None = None
        self._attempt: Attempt[Result] | None = None
        self._offer: Callable[[Status], Result] | None = None
        self.patience = GRACE
        self._reserved = 0.0
        self._wake_up = threading.Event()
        self._has_noticed = self._is_left = False
        self._monitor = PoolMonitor(publisher, self._clock, lambda: self._state == "paused")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._main, name="quintet-run", daemon=True)

    # --- from outside -------------------------------------------------------------------------------------------

    def start(self) -> Run:
        """Begin; returns at once."""
        self._publisher.start()
        self._thread.start()
        return self

    @property
    def state(self) -> str:
        """``"running"``, ``"paused"``, ``"stopping"``, or ``"ended"``."""
        return "ended" if self._ended.is_set() else self._state

    @property
    def was_stopped(self) -> bool:
        """Whether it has ended at its limit, or because it was stopped."""
        return self._result is not None and self._result.status.stopped

    @property
    def was_left(self) -> bool:
        """Whether it has ended while its solver could not be interrupted."""
        return self._is_left

    def pause(self) -> None:
        """Hold the run at the end of its present slice."""
        with self._control:
            if self._state == "running" and not self._ended.is_set():
                self._state = "paused"
                self._clock.pause()
                self._emit_state(self.elapsed)

    def resume(self) -> None:
        """Let a paused run continue."""
        with self._control:
            if self._state == "paused":
                at = self.elapsed
                self._clock.resume()
                self._state = "running"
                self._emit_state(at)
                self._control.notify_all()
                self._wake_up.set()

    def stop(self) -> None:
        """End the run at the end of its present slice; :meth:`wait` returns the best so far."""
        with self._control:
            if self._state != "stopping" and not self._ended.is_set():
                self._clock.resume()
                self._state = "stopping"
                self._stop_requested = time.monotonic()
                self._emit_state(self.elapsed)
                self._control.notify_all()
                self._wake_up.set()

    def __await__(self) -> Generator[Any, None, R]:
        """``await run``: the result, as :meth:`wait` returns it, without blocking the event loop."""
        import asyncio  # few need it

        if not self._ended.is_set():
            self.require_other_thread()
        yield from asyncio.to_thread(self.join).__await__()
        return self.wait()

    def display(self) -> Display:
        """What is shown of it: its state, and its result or the best so far."""
        facts = [("problem", self.problem.name), ("state", self.state)]
        if self._result is not None and self.state == "ended":
            shown = self._result.display()
            facts = [*facts, ("status", str(self._result.status)), *shown.facts]
            return replace(shown, title=f"Run of {self.solver.name}", facts=facts)
        if self.error is not None and self.state == "ended":
            facts.append(("error", f"{type(self.error).__name__}: {self.error}"))
        named = zip(("objective", "bound"), self.best, strict=True)
        facts += [(name, number_text(value)) for name, value in named if value is not None]
        return Display(f"Run of {self.solver.name}", [*facts, ("seconds", f"{self.elapsed:.3f}")])

    def wait(self, timeout: float | None = None) -> R:
        """The result, once there is one; issues what the user must know of it as Python warnings, once.

        Warns
        -----
        engine.errors.QuintetWarning
            Of the class that says what it is about; observers have received each as a notice.

        Raises
        ------
        TimeoutError
            If the run has not ended after ``timeout`` seconds.
        RuntimeError
            If this run, or another that it shares its devices with, needs the calling thread in order to end, as that
            of an observer or of a fitness function.
        Exception
            Whatever ended the run without a result.
        """
        result = self.outcome(timeout)
        while self._warnings:
            issue_warning(self._warnings.pop(0))
        return result

    def outcome(self, timeout: float | None = None) -> R:
        """As :meth:`wait`, without Python warnings, for callers that show the run's notices."""
        if not self.join(timeout):
            raise TimeoutError(f"the run has not ended after {timeout} s")
        if self.error is not None:
            raise self.error
        assert self._result is not None
        return cast(R, self._result)

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end, whatever it is; whether it has come within ``timeout`` seconds.

        Raises
        ------
        RuntimeError
            As :meth:`wait`.
        """
        if not self._ended.is_set():
            self.require_other_thread()
        return self._ended.wait(timeout)

    def require_other_thread(self) -> None:
        """``RuntimeError`` on a thread that this run, or one that it waits for, needs in order to end."""
        require_other_thread(self._turn)

    # --- the clock ----------------------------------------------------------------------------------------------

    @property
    def time_left(self) -> float:
        """Seconds to the time limit, less what :meth:`reserve` keeps; ``inf`` without one."""
        return float("inf") if self.time_limit is None else self.time_limit - self.elapsed - self._reserved

    @property
    def overdue(self) -> float:
        """Seconds since the run was asked to stop, or its time limit passed; 0 before that, and once it has ended."""
        if self._ended.is_set():
            return 0.0
        with self._control:
            asked = 0.0 if self._stop_requested is None else time.monotonic() - self._stop_requested
        return max(asked, -self.time_left, 0.0)

    @property
    def folder(self) -> RunStorage | None:
        """Where checkpoints and the result are written."""
        return self._writer.folder

    @property
    def is_saved(self) -> bool:
        """Whether the result could be written to the folder, if there is one."""
        return self._writer.is_saved

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether there is a folder for checkpoints."""
        return self.folder is not None

    @property
    def has_checkpoint(self) -> bool:
        """Whether the folder has a checkpoint to resume from."""
        return self._writer.has_checkpoint

    # --- from a solver ------------------------------------------------------------------------------------------

    def poll(self) -> None:
        """Between two slices: wait while paused; raise :class:`StopRequested` when it is time to end."""
        self._emit_held(older_than=METRIC_INTERVAL)
        with self._control:
            while self._state == "paused" and not self._is_left:
                self._control.wait()
            status = self._end_status()
            if status is not None:
                self._has_noticed = True
                raise StopRequested(status)

    def _end_status(self) -> Status | None:
        if self._state == "stopping":
            return Status.INTERRUPTED
        return Status.TIME_LIMIT if self.time_left <= 0 else None

    @override
    def emit(self, event: Event) -> None:
        """Nothing comes from a solver that the run has ended without."""
        if not self._is_silent:
            super().emit(event)

    @override
    def warn(self, warning: QuintetWarning, late: bool = False) -> None:
        """Nothing comes from a solver that the run has ended without."""
        if not self._is_silent:
            super().warn(warning, late)

    @property
    def _is_silent(self) -> bool:
        """Whether the caller is a solver that was left."""
        return self._is_left and self._attempt is not None and self._attempt.is_current

    def checkpoint_due(self) -> bool:
        """Whether it is time for :meth:`save_checkpoint`."""
        return self._writer.checkpoint_due()

    def save_checkpoint(self, arrays: dict[str, Any], state: Any) -> None:
        """Write what the solver needs to resume from here; does nothing without a run folder."""
        self._writer.save_checkpoint(arrays, state)

    # --- the run's own thread -----------------------------------------------------------------------------------

    def _main(self) -> None:
        with self._turn:
            try:
                self._begin()
                self._result = self._work() if self._finished is None else self._finished
                last: Event = run_events.finished(self._result, self.elapsed)
            except BaseException as error:
                self.error = error
                last = run_events.failed(self, error)
            try:
                self._end(last)
                refused = isinstance(self.error, (InputError, OutOfDeviceMemory))
                self._writer.close(refused and self._began_as == Fresh())
            except BaseException as error:  # without this, nobody would learn that the run has ended
                self.error = self.error or error
            finally:
                self._ended.set()

    def _begin(self) -> None:
        """The clock starts when the run's turn has come."""
        if self._finished is None and self._executor is not None:
            self._executor.begin(self)
        if self.pool.drop_lost():  # in a run before this one
            self.devices = tuple(member.label for member in self.pool.members)
            self.device_names = tuple(member.info.name for member in self.pool.members)
        with self._control:
            self._clock.begin()
            self._writer.begin()
        self._announce()
        if self._finished is not None:
            self.notice("this run has ended before; its result was read from its folder")

    def _work(self) -> Result:
        self._monitor.begin(self.pool)
        if self._began_as == Restarted(asked=False) and self.restored is None:
            self.notice("the run had written no checkpoint; it begins from the start", level="warning")
        for remark in () if self.restored is None else self.restored.remarks:
            self.warn(StorageWarning(remark))
        built = [(member, member.building_seconds) for member in self.pool.members]
        try:
            with self._monitor.reported_compilation(self.pool, self.solver.usual_programs):
                result = self._solved()
        except StopRequested as request:  # before the solver had anything to show
            result = run_events.best_so_far(self, request.status)
        result = replace(
            result,
            objective=plain_number(result.objective),
            bound=plain_number(result.bound),
            counters={name: plain_number(value) for name, value in result.counters.items()},
            seconds=self.elapsed,
            seed=self.seed,
            backend=self.backend,
            devices=self.devices,
            warnings=tuple(self.warned),
            compile_seconds=round(max((member.building_seconds - before for member, before in built), default=0.0), 6),
        )
        return self._writer.save_result(result)

    def _solved(self) -> Result:
        """What the solver returns; or what is known, if the run must end and the solver does not notice it."""

        def solve() -> Result:
            works_for(self._turn)
            while True:
                try:
                    if self._executor is not None:
                        return self._executor.execute(self)
                    return self.solver.solve(self.problem, self.options, self.pool, self)
                except DeviceError:
                    if not self._goes_on_without_lost():
                        raise

        self._attempt = attempt = Attempt(solve, self._wake_up.set)
        if self._has_returned(attempt.future):
            return attempt.future.result()
        self._is_left = True
        self._writer.stop()
        self.pool.defer(attempt.future)
        status = Status.INTERRUPTED if self._state == "stopping" else Status.TIME_LIMIT
        if self._offer is not None:
            with contextlib.suppress(Exception):  # of what the solver was changing
                return self._offer(status)
        return run_events.best_so_far(self, status)

    def _goes_on_without_lost(self) -> bool:
        """Whether the error was that of devices that no longer answer; the others begin from the last checkpoint."""
        lost = self.pool.drop_lost()
        if not lost:
            return False
        if self.folder is not None and self._writer.count:
            self.restored = self.folder.checkpoint()
        where = "begins again" if self.restored is None else "goes on from the last checkpoint"
        names, left = (", ".join(member.label for member in group) for group in (lost, self.pool.members))
        self.notice(f"lost: {names}; the run {where} on {left}", level="warning")
        return True

    def _has_returned(self, future: Future[Result]) -> bool:
        """Wait for the solver, but not for long once the run is overdue: from its end, or since the solver noticed."""
        since: tuple[float, float] | None = None
        noticed = False
        while not future.done():
            self._wake_up.clear()
            if future.done():
                break
            overdue = self.overdue
            if overdue <= 0.0:
                since = None
                self._wake_up.wait(min(max(self.time_left, 0.01), threading.TIMEOUT_MAX))
                continue
            if since is None or self._has_noticed != noticed:
                since, noticed = (overdue, time.process_time()), self._has_noticed
            patience = self.patience + (self._reserved if noticed else 0.0)
            if noticed and self.folder is not None:
                patience += SAVING_GRACE
            over = overdue - since[0]
            offered = over >= OFFERED_GRACE and not noticed and self._offer is not None and self.folder is None
            if offered or is_overdue(over, time.process_time() - since[1], patience):
                return False
            self._wake_up.wait(0.01)
        return True

    def offer(self, result: Callable[[Status], Result]) -> None:
        """Have ``result(status)`` called, once at most, if the run must end while the solver cannot be interrupted.

        Without one the run returns the best that was reported.
        """
        self._offer = result

    def reserve(self, seconds: float) -> None:
        """Keep so much of the time limit, half of it at most, for making the result once the run must end."""
        if self.time_limit is not None:
            self._reserved = min(seconds, 0.5 * self.time_limit)

    def _end(self, last: Event) -> None:
        """Emit what is held back, then the last event, and wait until every observer has had it."""
        self._monitor.close()
        self._emit_held()
        self.emit(last)
        self._publisher.close()
        if self._executor is not None:
            self._executor.ended(self)

    def _announce(self) -> None:
        """The first event; what was asked of the run before follows it."""
        with self._control:
            self._announced = True
            if self._publisher:
                self.emit(run_events.started(self, resumed=self._began_as != Fresh()))
            if self._state != "running":
                self._emit_state(self.elapsed)

    def _emit_state(self, at: float) -> None:
        if self._announced:
            self.emit(StateChanged(time=at, state=self._state))


def wait_or_stop(run: Run, warn: bool = True) -> Result:
    """The run's result; a KeyboardInterrupt stops it first and still returns the best so far."""
    wait = run.wait if warn else run.outcome
    try:
        return wait()
    except KeyboardInterrupt:
        run.stop()
        return wait()
