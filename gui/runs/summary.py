"""The key numbers of a run, from its events: state, best, bound, gap, time, progress, rate, warnings."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from engine.events import Compiling, Event, Failed, Finished, Incumbent, Metric, Notice, Progress, Started, StateChanged
from engine.util.text import compiling_text, counted
from gui.plot.axes import duration
from gui.runs.remaining import RemainingTime

__all__ = [
    "LIVE_STATES",
    "NO_SOLUTION",
    "Summary",
    "remaining_text",
    "state_text",
]

LIVE_STATES = ("queued", "starting", "running", "paused", "stopping")
NO_SOLUTION = ("infeasible", "unbounded", "bound_proved")
"""States without a solution, with a reason: there is none, or none better than a bound that was given."""

_RATE_WINDOW = 3.0
_MONTH = 30 * 86400.0  # seconds


class Summary:
    """The numbers of a run, kept up to date event by event.

    Attributes
    ----------
    state : str
        One of :data:`LIVE_STATES`, or how the run ended: a status such as ``"optimal"``, ``"failed"`` or ``"killed"``.
    finished : bool
        Whether a session of the run has reported its result.
    phase, done, total, unit, limited
        How far the present phase is; with ``limited``, ``total`` is a limit and not a target.
    message : str
        Why a run failed, or why there is no solution.
    kernels, usual_kernels : int
        How many kernel templates were compiled or loaded, and how many an earlier run like this one needed (0 if
        unknown).
    warnings : list of str
        What the user must know of the run, each once.
    """

    def __init__(self) -> None:
        self.state = "starting"
        self.started: Started | None = None
        self.finished = False
        self.best: float | int | None = None
        self.bound: float | int | None = None
        self.gap: float | None = None
        self.phase = ""
        self.done = 0.0
        self.total = 0.0
        self.unit = ""
        self.limited = False
        self.message = ""
        self.warnings: list[str] = []
        self.remaining = RemainingTime()
        self.counters: dict[str, Any] = {}
        self.kernels = self.usual_kernels = 0
        self._last = (0.0, time.monotonic())
        self._rates: dict[str, dict[str | None, tuple[float, float]]] = {}
        self._rate_units: dict[str, str] = {}
        self._steps: deque[tuple[float, float]] = deque(maxlen=64)

    def take(self, events: Iterable[Event]) -> None:
        """Bring the numbers up to date."""
        for event in events:
            self._take(event)

    def _take(self, event: Event) -> None:
        self._last = (event.time, time.monotonic())
        match event:
            case Metric():
                if event.name in self._rate_units:
                    self._rates.setdefault(event.name, {})[event.device] = (event.time, event.value)
            case Progress():
                if event.phase != self.phase or (self._steps and event.time < self._steps[-1][0]):
                    self._steps.clear()
                    self.remaining.clear()
                self.phase, self.done, self.total, self.unit = event.phase, event.done, event.total, event.unit
                self.limited = event.limit
                self._steps.append((event.time, event.done))
                self.remaining.follow(event)
            case Compiling():
                self.kernels = max(self.kernels, event.count)
                self.phase, self.done, self.total = (
                    compiling_text(event.count, self.usual_kernels or event.usual),
                    0.0,
                    0.0,
                )
                self._steps.clear()  # a rate is of the present phase
                self._rates.clear()
            case Notice():
                if event.level == "warning" and event.message not in self.warnings:
                    self.warnings.append(event.message)
            case Incumbent():
                self._show_best(event)
            case StateChanged():
                self.state = event.state
            case Started():
                self.started = event
                self.state = "running"
                self._rate_units = {
                    str(spec["name"]): str(spec["unit"])
                    for spec in event.metrics
                    if str(spec.get("unit")).endswith("/s")
                }
            case Finished():
                self.state, self.finished = event.status, True
                self._show_best(event)
                self.counters = dict(event.counters)
                if event.status in NO_SOLUTION:
                    self.message = event.reason
            case Failed():
                self.state, self.message = "failed", event.message

    def _show_best(self, event: Incumbent | Finished) -> None:
        self.best, self.bound, self.gap = event.objective, event.bound, event.gap
        if self.started is not None and self.started.sense == "count":  # nothing is optimised
            self.bound = self.gap = None

    @property
    def live(self) -> bool:
        """Whether the run is in progress."""
        return self.state in LIVE_STATES

    def end(self, state: str, message: str = "") -> None:
        """Record the end of a run that emitted no final event."""
        self.state, self.message = state, message

    @property
    def seconds(self) -> float:
        """The clock of the run, which continues between two events while the run is running."""
        seconds, at = self._last
        running = self.state in ("running", "stopping") and self.started is not None
        return seconds + time.monotonic() - at if running else seconds

    @property
    def event_seconds(self) -> float:
        """The time of the last event."""
        return self._last[0]

    @property
    def fraction(self) -> float | None:
        """Progress of the present phase, from 0 to 1; None if unknown."""
        if self.limited or not self.total > 0 or not math.isfinite(self.total):
            return None
        return min(1.0, max(0.0, self.done / self.total))

    @property
    def rate(self) -> tuple[float, str] | None:
        """The present rate with its unit: of the first metric whose unit ends with ``/s``, else of the progress.

        Progress without a unit, such as from no first solution to one, has no rate.
        """
        for name, unit in self._rate_units.items():
            if values := self._rates.get(name):
                newest = max(at for at, _ in values.values())
                return sum(value for at, value in values.values() if at >= newest - _RATE_WINDOW), unit
        if self.unit and len(self._steps) > 1:
            last = self._steps[-1]
            first = next(step for step in self._steps if step[0] >= last[0] - _RATE_WINDOW)
            if last[0] > first[0] and last[1] > first[1]:
                return (last[1] - first[1]) / (last[0] - first[0]), f"{self.unit}/s"
        return None


def remaining_text(estimate: tuple[float, float] | None) -> str:
    """A range of remaining time, such as ``40 s to 55 s left``; empty if there is none.

    Beyond a month a range would be more than is known: an estimate of so much work is one of its order of magnitude.
    """
    if estimate is None:
        return ""
    if max(estimate) > _MONTH:
        return "more than a month left" if min(estimate) > _MONTH else f"more than {duration(min(estimate), 1.0)} left"
    low, high = (duration(max(1.0, seconds), 1.0) for seconds in estimate)
    return f"about {low} left" if low == high else f"{low} to {high} left"


def state_text(state: str, warnings: int = 0) -> str:
    """A state or status in words, with the number of warnings."""
    text = state.replace("_", " ")
    return text if not warnings else f"{text}, {counted(warnings, 'warning')}"
