"""What a solver reports about its run, as events: metrics, progress, better solutions, traces, notices, warnings."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..base.result import ResultWarning, relative_gap
from ..errors import QuintetWarning
from ..events import Event, Incumbent, Metric, Notice, Progress, Trace
from .clock import RunClock
from .publisher import Publisher

METRIC_INTERVAL = 0.1
"""Seconds between two events of one series."""

SOLUTION_IN_EVENT = 10_000
"""A solution with more entries than this is left out of events."""


@dataclass
class _Throttle:
    """When a series last emitted an event, on the run's clock, and what makes the newest one held back since."""

    emitted_at: float = -math.inf
    held: Callable[[], Event] | None = None


class Reporter:
    """A solver's reports as throttled events, on the run's thread; see :class:`engine.base.context.RunContext`."""

    def __init__(self, publisher: Publisher, clock: RunClock) -> None:
        self._publisher = publisher
        self._clock = clock
        self._metrics: dict[tuple[str, str | None], _Throttle] = {}
        self._progress = _Throttle()
        self._emitted_progress: tuple[str | None, float] = (None, 0.0)
        self._phase = ""
        self.best: tuple[float | int | None, float | int | None] = (None, None)
        self.best_solution: NDArray[Any] | None = None
        self._solution: list[Any] | None = None
        self._solution_emitted_at = -math.inf
        self._warnings: list[QuintetWarning] = []  # those that no caller has been given yet
        self.warned: list[ResultWarning] = []

    @property
    def elapsed(self) -> float:
        """Seconds the run has worked: without pauses, with the time before it was resumed."""
        return self._clock.elapsed

    @property
    def phase(self) -> str:
        """The present phase, from :meth:`progress`."""
        return self._phase

    def emit(self, event: Event) -> None:
        """Hand an event to the observers; returns at once."""
        self._publisher.publish(event)

    def pass_on(self, event: Event) -> None:
        """Emit an event of this run that comes from the process which works it."""
        if isinstance(event, Incumbent):
            if event.objective != self.best[0]:
                self.best_solution = None
            if event.solution is not None:
                self.best_solution = np.asarray(event.solution)
            self.best = (event.objective, event.bound)
        elif isinstance(event, Progress):
            self._phase = event.phase
        self.emit(event.model_copy(update={"time": self.elapsed}))

    def metric(self, name: str, value: float, device: str | None = None) -> None:
        """A point of a live series; at most ten a second are emitted of each, and always the last one."""
        if not self._publisher:
            return
        now = self.elapsed
        series = self._metrics.setdefault((name, device), _Throttle())
        self._throttled(series, now, partial(Metric, time=now, name=name, value=value, device=device))

    def progress(
        self,
        phase: str,
        done: float,
        total: float,
        unit: str = "",
        limit: bool = False,
        seconds_left: tuple[float, float, float] | None = None,
    ) -> None:
        """How far the present phase is; throttled like a metric, but a phase's begin and end are emitted at once."""
        self._phase = phase
        if not self._publisher:
            return
        now = self.elapsed
        middle, low, high = seconds_left or (None, None, None)
        event = partial(
            Progress,
            time=now,
            phase=phase,
            done=done,
            total=total,
            unit=unit,
            limit=limit,
            seconds_left=middle,
            seconds_left_low=low,
            seconds_left_high=high,
        )
        emitted_phase, emitted_done = self._emitted_progress
        news = emitted_phase != phase or (done >= total > 0 and emitted_done != done)
        self._throttled(self._progress, now, event, at_once=news)

    def _throttled(self, series: _Throttle, now: float, event: Callable[[], Event], at_once: bool = False) -> None:
        series.held = event
        if at_once or now - series.emitted_at >= METRIC_INTERVAL:
            self._emit_series(series, now)

    def _emit_series(self, series: _Throttle, now: float) -> None:
        """Emit what a series holds back; an event is made only here, since most are replaced by a newer one."""
        if series.held is not None:
            event, series.emitted_at, series.held = series.held(), now, None
            if isinstance(event, Progress):
                self._emitted_progress = event.phase, event.done
            self.emit(event)

    def _emit_held(self, older_than: float = -math.inf) -> None:
        """Emit what is held back of series whose last event is so many seconds old."""
        if not self._publisher:
            return
        now = self.elapsed
        for series in (*self._metrics.values(), self._progress):
            if now - series.emitted_at >= older_than:
                self._emit_series(series, now)
        if self._solution is not None and now - self._solution_emitted_at >= max(older_than, METRIC_INTERVAL):
            self._emit_incumbent()

    def incumbent(
        self,
        objective: float | int | None,
        bound: float | int | None = None,
        solution: NDArray[Any] | None = None,
    ) -> None:
        """A better solution or bound; emitted only if it differs from the last.

        A small solution is emitted with it, at most ten times a second: one that is held back is emitted at the next
        :meth:`engine.runs.run.Run.poll`, unless a better one comes first.
        """
        objective, bound = plain_number(objective), plain_number(bound)
        news = (objective, bound) != self.best
        if objective != self.best[0]:
            self.best_solution = None if solution is None else solution.copy()
            shown = solution is not None and solution.size <= SOLUTION_IN_EVENT and bool(self._publisher)
            self._solution = solution.tolist() if shown and solution is not None else None
        self.best = (objective, bound)
        if news and self._publisher:
            self._emit_incumbent()

    def _emit_incumbent(self) -> None:
        """Emit the best so far, with its solution if that is new and it is time."""
        now, solution = self.elapsed, None
        if self._solution is not None and now - self._solution_emitted_at >= METRIC_INTERVAL:
            solution, self._solution, self._solution_emitted_at = self._solution, None, now
        objective, bound = self.best
        gap = finite(relative_gap(objective, bound))
        self.emit(Incumbent(time=self.elapsed, objective=objective, bound=bound, gap=gap, solution=solution))

    def trace(self, name: str, iteration: int, values: Sequence[float], chain: int = 0) -> None:
        """Values of a sampled quantity."""
        self.emit(Trace(time=self.elapsed, name=name, chain=chain, iteration=iteration, values=list(values)))

    def notice(self, message: str, level: Literal["info", "warning"] = "info") -> None:
        """A message to the user."""
        self.emit(Notice(time=self.elapsed, level=level, message=message))

    def warn(self, warning: QuintetWarning, late: bool = False) -> None:
        """A notice of what users must know of the answer, unless it is too late for one; a warning of ``Run.wait``."""
        self._warnings.append(warning)
        self.warned.append(ResultWarning(type(warning).__name__, str(warning)))
        if not late:
            self.notice(str(warning), level="warning")


def plain_number(value: Any) -> Any:
    """A NumPy scalar as Python's own number, so that it is exact in events and files."""
    return value.item() if isinstance(value, np.generic) else value


def finite(gap: float) -> float | None:
    """A gap as events contain it: None instead of infinity."""
    return None if math.isinf(gap) else gap
