"""One solving: its clock, its controls, its events, its checkpoints.

A solver works in bounded slices and calls :meth:`Run.poll` between them; that one call is where a run pauses, stops
and meets its time limit. Events go one way: solver -> :meth:`Run.emit` -> a queue -> the observers, on a thread of
their own, so a slow observer never slows a device.
"""

from __future__ import annotations

import contextlib
import logging
import math
import queue
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.devices.health import Health, Sampler
from engine.devices.slices import SLICE_SECONDS
from engine.errors import QuintetError
from engine.events import (
    DeviceStatus,
    Event,
    Failed,
    Finished,
    Incumbent,
    Metric,
    Notice,
    Progress,
    Started,
    StateChanged,
    Trace,
)
from engine.folder import Checkpoint, RunFolder
from engine.results import Result, Status, relative_gap

if TYPE_CHECKING:
    from engine.devices import DevicePool
    from engine.problem import Problem
    from engine.solvers import Solver, SolverOptions

__all__ = ["SLICE_SECONDS", "Observer", "Run", "StopRequested"]

Observer = Callable[[Event], None]

_METRIC_INTERVAL = 0.1
_HEALTH_INTERVAL = 0.5
_SOLUTION_IN_EVENT = 10_000
_LOG = logging.getLogger("engine")


class StopRequested(Exception):
    """Raised by :meth:`Run.poll` when the run must end; a solver catches it and returns its best so far.

    ``status`` is what the result's status should be.
    """

    def __init__(self, status: Status) -> None:
        super().__init__(str(status))
        self.status = status


@dataclass
class _Throttle:
    """When a series was last told on the run's clock, what that was, and what is held back since."""

    told_at: float = -math.inf
    told: Event | None = None
    held: Event | None = None


class Run:
    """One solving of one problem, from :meth:`engine.Engine.start`.

    From outside: :meth:`pause`, :meth:`resume`, :meth:`stop` and :meth:`wait`, from any thread.
    From a solver: :meth:`poll`, :meth:`metric`, :meth:`progress`, :meth:`incumbent`, :meth:`notice`,
    :meth:`checkpoint_due` and :meth:`save_checkpoint`, from the run's thread.
    """

    def __init__(
        self,
        problem: Problem,
        solver: Solver,
        options: SolverOptions,
        pool: DevicePool,
        *,
        backend: str,
        seed: int = 0,
        time_limit: float | None = None,
        checkpoint_interval: float = 30.0,
        folder: RunFolder | None = None,
        restored: Checkpoint | None = None,
        observers: Sequence[Observer] = (),
        turn: threading.Lock | None = None,
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.options = options
        self.seed = seed
        self.backend = backend
        self.devices = tuple(member.label for member in pool.members)
        self.time_limit = time_limit
        self.folder = folder
        self.restored = restored
        self.pool = pool
        self._checkpoint_interval = checkpoint_interval
        self._observers = list(observers)
        self._turn = turn or threading.Lock()
        self.on_turn: Callable[[Run], None] | None = None
        self.on_end: Callable[[Run], None] | None = None
        self.error: BaseException | None = None
        self._before = restored.elapsed if restored else 0.0
        self._began: float | None = None
        self._paused_for = 0.0
        self._paused_since: float | None = None
        self._control = threading.Condition()
        self._state: Literal["running", "paused", "stopping"] = "running"
        self._last_checkpoint = time.monotonic()
        self._metrics: dict[tuple[str, str | None], _Throttle] = {}
        self._progress = _Throttle()
        self._best: tuple[float | int | None, float | int | None] = (None, None)
        self._solution: list[Any] | None = None
        self._solution_told_at = -math.inf
        self._queue: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._result: Result | None = None
        self._health: Health | None = None
        self._sampler: Sampler | None = None
        self._sample_at = math.inf
        self._ended = threading.Event()
        self._teller = threading.Thread(target=self._tell, name="quintet-events", daemon=True)
        self._thread = threading.Thread(target=self._main, name="quintet-run", daemon=True)

    # --- from outside -------------------------------------------------------------------------------------------

    def start(self) -> Run:
        """Begin; returns at once."""
        if self._observers:  # else there is nobody to tell
            self._teller.start()
        self._thread.start()
        return self

    @property
    def state(self) -> str:
        """``"running"``, ``"paused"``, ``"stopping"``, or ``"ended"``."""
        return "ended" if self._ended.is_set() else self._state

    def pause(self) -> None:
        """Hold the run at the end of its present slice."""
        with self._control:
            if self._state == "running" and not self._ended.is_set():
                self._state = "paused"
                self._paused_since = time.monotonic()
                self.emit(StateChanged(time=self.elapsed, state="paused"))

    def resume(self) -> None:
        """Let a paused run go on."""
        with self._control:
            if self._state == "paused":
                self._count_pause()
                self._state = "running"
                self.emit(StateChanged(time=self.elapsed, state="running"))
                self._control.notify_all()

    def stop(self) -> None:
        """End the run at the end of its present slice; :meth:`wait` returns the best so far."""
        with self._control:
            if self._state != "stopping" and not self._ended.is_set():
                self._count_pause()
                self._state = "stopping"
                self.emit(StateChanged(time=self.elapsed, state="stopping"))
                self._control.notify_all()

    def wait(self, timeout: float | None = None) -> Result:
        """The result, once there is one.

        Raises
        ------
        TimeoutError
            If the run has not ended after ``timeout`` seconds.
        Exception
            Whatever ended the run without a result.
        """
        if not self._ended.wait(timeout):
            raise TimeoutError(f"the run has not ended after {timeout} s")
        if self.error is not None:
            raise self.error
        assert self._result is not None
        return self._result

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end, whatever it is; whether it has come within ``timeout`` seconds."""
        return self._ended.wait(timeout)

    # --- the clock ----------------------------------------------------------------------------------------------

    @property
    def elapsed(self) -> float:
        """Seconds the run has worked: pauses left out, earlier sittings of a resumed run included."""
        with self._control:
            if self._began is None:
                return self._before
            now = time.monotonic() if self._paused_since is None else self._paused_since
            return self._before + now - self._began - self._paused_for

    def _count_pause(self) -> None:
        if self._paused_since is not None:
            self._paused_for += time.monotonic() - self._paused_since
            self._paused_since = None

    @property
    def time_left(self) -> float:
        """Seconds to the time limit; ``inf`` without one."""
        return float("inf") if self.time_limit is None else self.time_limit - self.elapsed

    # --- from a solver ------------------------------------------------------------------------------------------

    def poll(self) -> None:
        """Between two slices: wait while paused; raise :class:`StopRequested` when it is time to end."""
        self._tell_held(older_than=_METRIC_INTERVAL)
        with self._control:
            while self._state == "paused":
                self._control.wait()
            if self._state == "stopping":
                raise StopRequested(Status.INTERRUPTED)
        if self.time_left <= 0:
            raise StopRequested(Status.TIME_LIMIT)

    def emit(self, event: Event) -> None:
        """Hand an event to the observers; returns at once."""
        if self._observers:
            self._queue.put(event)

    def metric(self, name: str, value: float, device: str | None = None) -> None:
        """A point of a live series, at most ten a second each; the last one is always told before the run ends."""
        if not self._observers:
            return
        event = Metric(time=self.elapsed, name=name, value=value, device=device)
        self._tell_now_and_then(self._metrics.setdefault((name, device), _Throttle()), event)

    def progress(self, phase: str, done: float, total: float, unit: str = "") -> None:
        """How far the present phase is; throttled like a metric, but a phase's begin and end are told at once."""
        event = Progress(time=self.elapsed, phase=phase, done=done, total=total, unit=unit)
        told = self._progress.told
        news = not isinstance(told, Progress) or told.phase != phase or (done >= total and told.done != done)
        self._tell_now_and_then(self._progress, event, at_once=news)

    def _tell_now_and_then(self, series: _Throttle, event: Event, at_once: bool = False) -> None:
        if at_once or event.time - series.told_at >= _METRIC_INTERVAL:
            series.told_at, series.told, series.held = event.time, event, None
            self.emit(event)
        else:
            series.held = event

    def _tell_held(self, older_than: float = -math.inf) -> None:
        """Tell what is held back of series that were last told so long ago."""
        now = self.elapsed
        for series in (*self._metrics.values(), self._progress):
            if series.held is not None and now - series.told_at >= older_than:
                event, series.told_at = series.held, now
                series.told, series.held = event, None
                self.emit(event)
        if self._solution is not None and now - self._solution_told_at >= max(older_than, _METRIC_INTERVAL):
            self._tell_incumbent()

    def incumbent(
        self,
        objective: float | int | None,
        bound: float | int | None = None,
        solution: NDArray[Any] | None = None,
    ) -> None:
        """A better solution or bound; told only if it differs from the last.

        ``solution`` is told with it if it is small, at most ten times a second: one that is held back is told by
        :meth:`poll`, unless a better one comes first.
        """
        objective, bound = _plain(objective), _plain(bound)
        news = (objective, bound) != self._best
        if objective != self._best[0]:
            small = solution is not None and solution.size <= _SOLUTION_IN_EVENT
            self._solution = solution.tolist() if small and solution is not None else None
        self._best = (objective, bound)
        if news:
            self._tell_incumbent()

    def _tell_incumbent(self) -> None:
        """Tell the best so far, with its solution if that is new and it is time."""
        now, solution = self.elapsed, None
        if self._solution is not None and now - self._solution_told_at >= _METRIC_INTERVAL:
            solution, self._solution, self._solution_told_at = self._solution, None, now
        objective, bound = self._best
        gap = _finite(relative_gap(objective, bound))
        self.emit(Incumbent(time=self.elapsed, objective=objective, bound=bound, gap=gap, solution=solution))

    def trace(self, name: str, iteration: int, values: Sequence[float], chain: int = 0) -> None:
        """Values of a sampled quantity."""
        self.emit(Trace(time=self.elapsed, name=name, chain=chain, iteration=iteration, values=list(values)))

    def notice(self, message: str, level: Literal["info", "warning"] = "info") -> None:
        """Something a user should know."""
        self.emit(Notice(time=self.elapsed, level=level, message=message))

    def checkpoint_due(self) -> bool:
        """Whether it is time to call :meth:`save_checkpoint`: there is a folder, and the interval has passed."""
        return self.folder is not None and time.monotonic() - self._last_checkpoint >= self._checkpoint_interval

    def save_checkpoint(self, arrays: dict[str, Any], state: dict[str, Any]) -> None:
        """Keep what the solver needs to go on from here; does nothing without a run folder."""
        if self.folder is None:
            return
        try:
            self.folder.save_checkpoint(Checkpoint(arrays, state, self.elapsed))
        except OSError as error:  # a full disk must not end a run that can go on
            self.notice(f"the checkpoint could not be written: {error}", level="warning")
        self._last_checkpoint = time.monotonic()

    # --- the threads --------------------------------------------------------------------------------------------

    def _main(self) -> None:
        with self._turn:
            try:
                self._begin()
                self._result = self._work()
                self._end(self._finished(self._result))
            except BaseException as error:
                self.error = error
                code = error.exit_code if isinstance(error, QuintetError) else 1
                message = str(error) or type(error).__name__
                self._end(Failed(time=self.elapsed, error=type(error).__name__, message=message, exit_code=code))
            finally:
                self._ended.set()

    def _begin(self) -> None:
        """The clock starts when the run's turn has come."""
        if self.on_turn is not None:
            self.on_turn(self)
        with self._control:
            self._began = self._last_checkpoint = time.monotonic()
            self._paused_for = 0.0
            if self._paused_since is not None:
                self._paused_since = self._began

    def _tell_health(self, label: str, values: dict[str, float]) -> None:
        if self._state != "paused":
            self.emit(DeviceStatus(time=self.elapsed, device=label, **values))

    def _work(self) -> Result:
        self._health, self._sample_at = Health(self.pool), time.monotonic() + _HEALTH_INTERVAL
        if self._observers:
            self.emit(self._started())
        try:
            result = self.solver.solve(self.problem, self.options, self.pool, self)
        except StopRequested as request:  # before the solver had anything to show
            objective, bound = self._best
            result = Result(status=request.status, objective=objective, bound=bound, solution=None)
        result = replace(
            result,
            objective=_plain(result.objective),
            bound=_plain(result.bound),
            counters={name: _plain(value) for name, value in result.counters.items()},
            seconds=self.elapsed,
            seed=self.seed,
            backend=self.backend,
            devices=self.devices,
        )
        if self.folder is not None:
            try:
                self.folder.save_result(result)
            except OSError as error:  # the answer is still worth having
                self.notice(f"the result could not be written to {self.folder.path}: {error}", level="warning")
        return result

    def _end(self, last: Event) -> None:
        """Tell what is held back, then the last event, and wait until every observer has had it."""
        with self._control:
            self._sample_at = math.inf
        if self._sampler is not None:
            self._sampler.close()
        self._tell_held()
        self.emit(last)
        if self._teller.ident is not None:
            self._queue.put(None)
            self._teller.join()
        if self.on_end is not None:
            self.on_end(self)

    def _started(self) -> Started:
        return Started(
            time=self.elapsed,
            solver=self.solver.name,
            problem=self.problem.kind,
            name=self.problem.name,
            description=self.problem.describe(),
            sense=self.problem.sense,
            options=self.options.model_dump(mode="json"),
            backend=self.backend,
            devices=list(self.devices),
            device_names=[member.info.name for member in self.pool.members],
            seed=self.seed,
            metrics=[dict(vars(spec)) for spec in self.solver.metrics],
            resumed=self.restored is not None,
        )

    def _finished(self, result: Result) -> Finished:
        small = result.solution is not None and result.solution.size <= _SOLUTION_IN_EVENT
        return Finished(
            time=self.elapsed,
            status=str(result.status),
            objective=result.objective,
            bound=result.bound,
            gap=_finite(result.gap),
            seconds=result.seconds,
            counters=result.counters,
            solution=result.solution.tolist() if small and result.solution is not None else None,
        )

    def _next(self) -> Event | None:
        """The next event; a run that lasts gets a thread that samples the devices, which a short one has no use for."""
        while (left := self._sample_at - time.monotonic()) < math.inf:
            if left > 0.0:
                with contextlib.suppress(queue.Empty):
                    return self._queue.get(timeout=left)
            with self._control:
                if self._health is not None and self._sample_at <= time.monotonic():
                    self._sample_at = math.inf
                    self._sampler = Sampler(self._health, self._tell_health, _HEALTH_INTERVAL, at_once=True)
        return self._queue.get()

    def _tell(self) -> None:
        """Give each event to each observer; one that raises is reported to the others and asked no more."""
        while (event := self._next()) is not None:
            for observer in list(self._observers):
                try:
                    observer(event)
                except Exception as error:
                    self._observers.remove(observer)
                    where = traceback.extract_tb(error.__traceback__)[-1]
                    message = (
                        f"an observer failed and is left out from now on: {type(error).__name__}: {error} "
                        f"({where.filename}, line {where.lineno})"
                    )
                    if isinstance(event, (Finished, Failed)):  # too late for an event
                        _LOG.warning(message)
                    else:
                        self.notice(message, level="warning")


def _plain(value: Any) -> Any:
    """A NumPy scalar as Python's own number, so that it is exact in events and files."""
    return value.item() if isinstance(value, np.generic) else value


def _finite(gap: float) -> float | None:
    return None if math.isinf(gap) else gap
