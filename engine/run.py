"""One solving of a problem: its clock, controls, events and checkpoints.

A solver works in bounded slices and calls :meth:`Run.poll` between them; that call is where a run pauses, stops and
ends at its time limit. Events go one way: solver -> :meth:`Run.emit` -> :mod:`engine.publisher` -> observers.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from engine.devices.health import Health, HealthMonitor
from engine.devices.slices import SLICE_SECONDS
from engine.errors import InputError, OutOfDeviceMemory, QuintetError
from engine.events import (
    Compiling,
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
from engine.problem import R
from engine.publisher import Observer, Publisher, delivering
from engine.results import Result, Status, relative_gap
from engine.schema import SchemaError
from engine.storage import Checkpoint

if TYPE_CHECKING:
    from pathlib import Path

    from engine.devices import DevicePool
    from engine.devices.base import Device
    from engine.problem import Problem
    from engine.solver import Solver, SolverOptions

__all__ = ["SLICE_SECONDS", "Observer", "Run", "RunStorage", "StopRequested"]

_METRIC_INTERVAL = 0.1
_HEALTH_INTERVAL = 0.5
_SOLUTION_IN_EVENT = 10_000

FIRST_CHECKPOINT = 2.0
"""Seconds after which the first checkpoint of a run is due, so that a run which is killed early can be resumed."""


class RunStorage(Protocol):
    """Where a run is kept: a :class:`engine.folder.RunFolder`."""

    path: Path
    identity: str

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Add a checkpoint."""

    def save_result(self, result: Result) -> None:
        """Write the result."""

    def release(self) -> None:
        """Let other runs write here."""

    def discard(self) -> None:
        """Remove the folder of a run that was refused."""


class StopRequested(Exception):
    """Raised by :meth:`Run.poll` when the run must end; a solver catches it and returns its best so far.

    ``status`` is what the result's status should be.
    """

    def __init__(self, status: Status) -> None:
        super().__init__(str(status))
        self.status = status


@dataclass
class _Throttle:
    """When a series last emitted an event, on the run's clock; that event; and the newest one held back since."""

    emitted_at: float = -math.inf
    emitted: Event | None = None
    held: Event | None = None


class Run(Generic[R]):
    """One solving of one problem, from :meth:`engine.Engine.start`; ``R`` is the class of its result.

    From outside: :meth:`pause`, :meth:`resume`, :meth:`stop` and :meth:`wait`, from any thread.
    From a solver: :meth:`poll`, :meth:`metric`, :meth:`progress`, :meth:`incumbent`, :meth:`notice`,
    :meth:`checkpoint_due` and :meth:`save_checkpoint`, from the run's thread.

    Parameters
    ----------
    folder : RunStorage, optional
        Where checkpoints and the result are written; the run has the right to write there until it ends.
    restored : Checkpoint, optional
        Where to resume from.
    resumed : bool
        Whether the run was started before; without ``restored``, it begins again from the start, with a warning.
    from_start : bool
        Whether it was asked to begin again from the start, so that there is nothing to warn of.
    finished : Result, optional
        The result of a run that has ended already; the run only emits it.
    recorder : callable, optional
        An observer that records the events; it has a thread of its own.
    turn : Lock, optional
        Held while the run works; runs that share it work one after the other.
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
        folder: RunStorage | None = None,
        restored: Checkpoint | None = None,
        resumed: bool = False,
        from_start: bool = False,
        finished: Result | None = None,
        observers: Sequence[Observer] = (),
        recorder: Observer | None = None,
        turn: threading.Lock | None = None,
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.options = options
        self.seed = seed
        self.backend = backend
        self.devices = tuple(member.label for member in pool.members) if finished is None else finished.devices
        self.time_limit = time_limit
        self.folder = folder
        self.restored = restored
        self.pool = pool
        self._checkpoint_interval = checkpoint_interval
        self._resumed = resumed or restored is not None
        self._from_start = from_start
        self._finished = finished
        self._checkpoints = 0
        self._publisher = Publisher(observers, recorder, lambda message: self.notice(message, level="warning"))
        self._turn = self._publisher.turn = turn or threading.Lock()
        self.on_turn: Callable[[Run], None] | None = None
        self.on_end: Callable[[Run], None] | None = None
        self.error: BaseException | None = None
        self._before = restored.elapsed if restored else 0.0 if finished is None else finished.seconds
        self._began: float | None = None
        self._paused_for = 0.0
        self._paused_since: float | None = None
        self._stop_requested: float | None = None
        self._control = threading.Condition()
        self._state: Literal["running", "paused", "stopping"] = "running"
        self._last_checkpoint = time.monotonic()
        self._metrics: dict[tuple[str, str | None], _Throttle] = {}
        self._progress = _Throttle()
        self._best: tuple[float | int | None, float | int | None] = (None, None)
        self._solution: list[Any] | None = None
        self._solution_emitted_at = -math.inf
        self._result: Result | None = None
        self._health: Health | None = None
        self._monitor: HealthMonitor | None = None
        self._stop_sampling = False
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
                self._stop_requested = time.monotonic()
                self.emit(StateChanged(time=self.elapsed, state="stopping"))
                self._control.notify_all()

    def __await__(self) -> Generator[Any, None, R]:
        """``await run``: the result, as :meth:`wait` returns it, without blocking the event loop."""
        import asyncio  # few need it

        return asyncio.to_thread(self.wait).__await__()

    def __repr__(self) -> str:
        return f"<Run of {self.solver.name}: {self.problem.name}, {self.state}>"

    def wait(self, timeout: float | None = None) -> R:
        """The result, once there is one.

        Raises
        ------
        TimeoutError
            If the run has not ended after ``timeout`` seconds.
        RuntimeError
            If an observer of this run, or of another that this one waits for, calls it: it would never return.
        Exception
            Whatever ended the run without a result.
        """
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
        caller = delivering()
        if caller is not None and caller.turn is self._turn:
            raise RuntimeError(
                "an observer cannot wait for a run of the engine that calls it, nor close that engine: "
                "the run ends only after its observers have returned"
            )

    # --- the clock ----------------------------------------------------------------------------------------------

    @property
    def elapsed(self) -> float:
        """Seconds the run has worked: without pauses, with the sessions before it was resumed."""
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

    @property
    def overdue(self) -> float:
        """Seconds since the run was asked to stop, or its time limit passed; 0 before that, and once it has ended."""
        if self._ended.is_set():
            return 0.0
        with self._control:
            asked = 0.0 if self._stop_requested is None else time.monotonic() - self._stop_requested
        return max(asked, -self.time_left, 0.0)

    # --- from a solver ------------------------------------------------------------------------------------------

    def poll(self) -> None:
        """Between two slices: wait while paused; raise :class:`StopRequested` when it is time to end."""
        self._emit_held(older_than=_METRIC_INTERVAL)
        with self._control:
            while self._state == "paused":
                self._control.wait()
            if self._state == "stopping":
                raise StopRequested(Status.INTERRUPTED)
        if self.time_left <= 0:
            raise StopRequested(Status.TIME_LIMIT)

    def emit(self, event: Event) -> None:
        """Hand an event to the observers; returns at once."""
        self._publisher.publish(event)

    def metric(self, name: str, value: float, device: str | None = None) -> None:
        """A point of a live series; at most ten a second are emitted of each, and always the last one.

        Parameters
        ----------
        name : str
            ``name`` of a :class:`engine.solver.MetricSpec` of the solver.
        value : float
            In the unit of that specification.
        device : str, optional
            Label of a device, for series with one curve per device.
        """
        if not self._publisher:
            return
        event = Metric(time=self.elapsed, name=name, value=value, device=device)
        self._throttled(self._metrics.setdefault((name, device), _Throttle()), event)

    def progress(
        self,
        phase: str,
        done: float,
        total: float,
        unit: str = "",
        limit: bool = False,
        seconds_left: tuple[float, float, float] | None = None,
    ) -> None:
        """How far the present phase is; throttled like a metric, but a phase's begin and end are emitted at once.

        Parameters
        ----------
        phase : str
            What is being done, for people.
        done, total : float
            How much of how much, in ``unit``; ``total`` is 0 while it is not known.
        unit : str
        limit : bool
            Whether ``total`` is a limit that is seldom reached.
        seconds_left : (float, float, float), optional
            Where the work is estimated: the time until the end, and the limits that it is probably between.
        """
        middle, low, high = seconds_left or (None, None, None)
        event = Progress(
            time=self.elapsed,
            phase=phase,
            done=done,
            total=total,
            unit=unit,
            limit=limit,
            seconds_left=middle,
            seconds_left_low=low,
            seconds_left_high=high,
        )
        last = self._progress.emitted
        news = not isinstance(last, Progress) or last.phase != phase or (done >= total > 0 and last.done != done)
        self._throttled(self._progress, event, at_once=news)

    def _throttled(self, series: _Throttle, event: Event, at_once: bool = False) -> None:
        if at_once or event.time - series.emitted_at >= _METRIC_INTERVAL:
            series.emitted_at, series.emitted, series.held = event.time, event, None
            self.emit(event)
        else:
            series.held = event

    def _emit_held(self, older_than: float = -math.inf) -> None:
        """Emit what is held back of series whose last event is so many seconds old."""
        now = self.elapsed
        for series in (*self._metrics.values(), self._progress):
            if series.held is not None and now - series.emitted_at >= older_than:
                event, series.emitted_at = series.held, now
                series.emitted, series.held = event, None
                self.emit(event)
        if self._solution is not None and now - self._solution_emitted_at >= max(older_than, _METRIC_INTERVAL):
            self._emit_incumbent()

    def incumbent(
        self,
        objective: float | int | None,
        bound: float | int | None = None,
        solution: NDArray[Any] | None = None,
    ) -> None:
        """A better solution or bound; emitted only if it differs from the last.

        Parameters
        ----------
        objective, bound : int, float or None
            In the problem's unit.
        solution : ndarray, optional
            Emitted if it is small, at most ten times a second: one that is held back is emitted by :meth:`poll`, unless
            a better one comes first.
        """
        objective, bound = _plain(objective), _plain(bound)
        news = (objective, bound) != self._best
        if objective != self._best[0]:
            small = solution is not None and solution.size <= _SOLUTION_IN_EVENT
            self._solution = solution.tolist() if small and solution is not None else None
        self._best = (objective, bound)
        if news:
            self._emit_incumbent()

    def _emit_incumbent(self) -> None:
        """Emit the best so far, with its solution if that is new and it is time."""
        now, solution = self.elapsed, None
        if self._solution is not None and now - self._solution_emitted_at >= _METRIC_INTERVAL:
            solution, self._solution, self._solution_emitted_at = self._solution, None, now
        objective, bound = self._best
        gap = _finite(relative_gap(objective, bound))
        self.emit(Incumbent(time=self.elapsed, objective=objective, bound=bound, gap=gap, solution=solution))

    def trace(self, name: str, iteration: int, values: Sequence[float], chain: int = 0) -> None:
        """Values of a sampled quantity.

        Parameters
        ----------
        name : str
            Of the quantity.
        iteration : int
            Of the first value.
        values : sequence of float
            One per iteration.
        chain : int
        """
        self.emit(Trace(time=self.elapsed, name=name, chain=chain, iteration=iteration, values=list(values)))

    def notice(self, message: str, level: Literal["info", "warning"] = "info") -> None:
        """A message to the user.

        Parameters
        ----------
        message : str
            A sentence without a final full stop.
        level : {"info", "warning"}
        """
        self.emit(Notice(time=self.elapsed, level=level, message=message))

    def checkpoint_due(self) -> bool:
        """Whether it is time to call :meth:`save_checkpoint`: there is a folder, and the interval has passed.

        The first checkpoint of a run is due after :data:`FIRST_CHECKPOINT` seconds, however long the interval is.
        """
        first = self._checkpoints == 0 and self.restored is None
        interval = min(FIRST_CHECKPOINT, self._checkpoint_interval) if first else self._checkpoint_interval
        return self.folder is not None and time.monotonic() - self._last_checkpoint >= interval

    def save_checkpoint(self, arrays: dict[str, Any], state: Any) -> None:
        """Write what the solver needs to resume from here; does nothing without a run folder.

        Call it when :meth:`checkpoint_due` says so, and always before a stopped run returns.

        Parameters
        ----------
        arrays : dict of str to ndarray
        state : dict, or instance of the state model of the solver's schema
        """
        if self.folder is None:
            return
        try:
            self.folder.save_checkpoint(Checkpoint(arrays, state, self.elapsed))
            self._checkpoints += 1
        except OSError as error:  # a full disk must not end a run that can go on
            self.notice(f"the checkpoint could not be written: {error}", level="warning")
        except SchemaError as error:  # a fault of the solver's, which must not end the run either
            self._fault(f"the checkpoint could not be written: it is not as the solver declares: {error}")
        self._last_checkpoint = time.monotonic()

    def _fault(self, message: str) -> None:
        """Report a fault of the program's that the run survives; in tests, where warnings are errors, it does not."""
        warnings.warn(message, RuntimeWarning, stacklevel=3)
        self.notice(message, level="warning")

    # --- the run's own thread -----------------------------------------------------------------------------------

    def _main(self) -> None:
        with self._turn:
            try:
                self._begin()
                self._result = self._work() if self._finished is None else self._emit_earlier(self._finished)
                last: Event = self._last_event(self._result)
            except BaseException as error:
                self.error = error
                last = self._failed(error)
            try:
                self._end(last)
                self._leave_folder()
            except BaseException as error:  # without this, nobody would learn that the run has ended
                self.error = self.error or error
            finally:
                self._ended.set()

    def _begin(self) -> None:
        """The clock starts when the run's turn has come."""
        if self._finished is None and self.on_turn is not None:
            self.on_turn(self)
        with self._control:
            self._began = self._last_checkpoint = time.monotonic()
            self._paused_for = 0.0
            if self._paused_since is not None:
                self._paused_since = self._began

    @contextlib.contextmanager
    def _reported_compilation(self) -> Iterator[None]:
        """Emit an event for each template that a device of the pool compiles meanwhile."""
        if not self._publisher:
            yield
            return
        count = itertools.count(1)

        def observe(device: Device, label: str | None) -> None:
            def report(template: str) -> None:
                self.emit(Compiling(time=self.elapsed, device=str(label), template=template, count=next(count)))

            device.on_compile = None if label is None else report

        for member in self.pool.members:
            member.submit(observe, member.label)
        try:
            yield
        finally:
            for member in self.pool.members:
                with contextlib.suppress(RuntimeError):  # its thread has ended
                    member.submit(observe, None)

    def _work(self) -> Result:
        self._health = Health(self.pool)
        if self._publisher:
            self._publisher.call_at(time.monotonic() + _HEALTH_INTERVAL, self._start_sampler)
            self.emit(self._started())
        if self._resumed and self.restored is None and not self._from_start:
            self.notice("the run had written no checkpoint; it begins from the start", level="warning")
        for remark in () if self.restored is None else self.restored.remarks:
            self.notice(remark, level="warning")
        try:
            with self._reported_compilation():
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
        self._save_result(result)
        return result

    def _save_result(self, result: Result) -> None:
        schema = self.solver.schema
        if schema is not None:
            try:
                schema.check_result(result.arrays, result.counters, complete=not result.status.stopped)
            except SchemaError as error:
                self._fault(f"the result is not as the solver declares: {error}")
        if self.folder is not None:
            try:
                self.folder.save_result(result)
            except OSError as error:  # the answer is still worth having
                self.notice(f"the result could not be written to {self.folder.path}: {error}", level="warning")

    def _emit_earlier(self, result: Result) -> Result:
        """Emit the result of a run that has ended before."""
        if self._publisher:
            self.emit(self._started())
            self.notice("this run has ended before; its result was read from its folder")
        return result

    def _failed(self, error: BaseException) -> Failed:
        """The last event of a run that an error ended; the error itself gets the best so far, too."""
        objective, bound = self._best
        if isinstance(error, QuintetError):
            error.best_objective, error.best_bound = objective, bound
            if self.folder is not None and self._checkpoints + (self.restored is not None):
                error.run_folder = str(self.folder.path)
        return Failed(
            time=self.elapsed,
            error=type(error).__name__,
            message=str(error) or type(error).__name__,
            exit_code=error.exit_code if isinstance(error, QuintetError) else 1,
            objective=objective,
            bound=bound,
        )

    def _end(self, last: Event) -> None:
        """Emit what is held back, then the last event, and wait until every observer has had it."""
        with self._control:
            self._stop_sampling = True
        if self._monitor is not None:
            self._monitor.close()
        self._emit_held()
        self.emit(last)
        self._publisher.close()
        if self.on_end is not None:
            self.on_end(self)

    def _leave_folder(self) -> None:
        """Give up the folder; one that was made for a run which was then refused is removed."""
        folder = self.folder
        if folder is None:
            return
        refused = isinstance(self.error, (InputError, OutOfDeviceMemory))
        try:
            if refused and not self._resumed and self._checkpoints == 0:
                self.folder = None
                folder.discard()
        except OSError:  # something else has been put there, or it cannot be written any more
            pass
        finally:
            folder.release()

    def _start_sampler(self) -> None:
        """Begin to sample the devices' health: of a run that lasts, as a short one has no use for it."""
        with self._control:
            if self._health is not None and not self._stop_sampling:
                self._monitor = HealthMonitor(self._health, self._emit_health, _HEALTH_INTERVAL, at_once=True)

    def _emit_health(self, label: str, values: dict[str, float]) -> None:
        if self._state != "paused":
            self.emit(DeviceStatus(time=self.elapsed, device=label, **values))

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
            resumed=self._resumed,
            run="" if self.folder is None else self.folder.identity,
        )

    def _last_event(self, result: Result) -> Finished:
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


def _plain(value: Any) -> Any:
    """A NumPy scalar as Python's own number, so that it is exact in events and files."""
    return value.item() if isinstance(value, np.generic) else value


def _finite(gap: float) -> float | None:
    return None if math.isinf(gap) else gap
