"""What is shown of a run in words and numbers, from its events, wherever they come from: one place for every label."""

import math
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from engine.events import Compiling, Event, Failed, Finished, Incumbent, Metric, Notice, Progress, Started, StateChanged
from engine.util.text import compiling_text, counted, rate_text
from gui.plot.axes import duration
from gui.runs.remaining import RemainingTime

LIVE_STATES = ("queued", "starting", "running", "paused", "stopping")
NO_SOLUTION = ("infeasible", "unbounded", "bound_proved")
"""States without a solution, with a reason: there is none, or none better than a bound that was given."""

_RATE_WINDOW = 3.0
_MONTH = 30 * 86400.0  # seconds


@dataclass(frozen=True)
class Rate:
    """How fast a run is: now, or on ``average`` over the whole run once it has ended."""

    value: float
    unit: str
    average: bool

    @property
    def kind(self) -> str:
        """``average`` or ``momentary``."""
        return "average" if self.average else "momentary"

    @property
    def text(self) -> str:
        return f"{rate_text((self.value, self.unit))} ({self.kind})"


class RunView:
    """What every label says of a run, kept up to date event by event.

    ``clock``: seconds of the run, as of the last :meth:`advance`, so that all labels show the same.
    ``replay``: what is being done with a recording; empty where the labels are those of the run itself.
    ``state``: one of :data:`LIVE_STATES`, or a status such as ``"optimal"``, ``"failed"`` or ``"killed"``.
    """

    def __init__(self) -> None:
        self.state = "starting"
        self.replay = ""
        self.clock = 0.0
        self.started: Started | None = None
        self.finished = False
        self._incumbents: list[Incumbent] = []
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
        self._time = 0.0
        self._rates: dict[str, dict[str | None, tuple[float, float]]] = {}
        self._rate_units: dict[str, str] = {}
        self._steps: deque[tuple[float, float]] = deque(maxlen=64)

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            self._take(event)
        self.advance()

    def advance(self, position: float | None = None) -> None:
        """Set the clock: to the time of the run, or to the position in its recording."""
        self.clock = self.seconds if position is None else position

    def _take(self, event: Event) -> None:
        self._last, self._time = (event.time, time.monotonic()), event.time
        match event:
            case Metric():
                if event.name == "duality_gap" and self.best is None:  # of the iterates, until there is a solution
                    self.gap = event.value
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
                self.remaining.clear()
            case Notice():
                if event.level == "warning" and event.message not in self.warnings:
                    self.warnings.append(event.message)
            case Incumbent():
                self._incumbents.append(event.model_copy(update={"solution": None}))
                self._show_best(event)
            case StateChanged():
                self.state = event.state
            case Started():
                self.started = event
                self.state, self.finished = "running", False
                while self._incumbents and self._incumbents[-1].time > event.time:  # found after the checkpoint
                    self._incumbents.pop()
                    self._show_best(
                        self._incumbents[-1] if self._incumbents else Incumbent(time=event.time, objective=None)
                    )
                self._rate_units = {
                    str(spec["name"]): str(spec["unit"])
                    for spec in event.metrics
                    if str(spec.get("unit")).endswith("/s")
                }
            case Finished():
                self.state, self.finished = event.status, True
                self._last = (event.seconds or event.time, self._last[1])
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
        return self.state in LIVE_STATES

    def end(self, state: str, message: str = "") -> None:
        """Record the end of a run that emitted no final event."""
        self.state, self.message = state, message
        self.advance()

    @property
    def working(self) -> bool:
        """Whether the run itself is in progress now: there is something to wait for."""
        return self.live and not self.replay

    @property
    def state_text(self) -> str:
        """The state in words, with the number of warnings, or what is being done with the recording."""
        return self.replay or state_text(self.state, len(self.warnings))

    @property
    def remaining_text(self) -> str:
        """The remaining time as a range; empty where it is not known, or nothing runs."""
        running = self.working and self.state == "running"
        return remaining_text(self.remaining.estimate(), self._improving) if running else ""

    @property
    def _improving(self) -> bool:
        """Whether better solutions still come: what is expected of a search with the present one is a limit then."""
        found = self._incumbents
        return self.remaining.given is not None and len(found) > 1 and found[-1].time > 0.5 * self._time

    @property
    def progress_text(self) -> str:
        """The share of the phase that is done and its name; empty where the share is not known."""
        return "" if self.fraction is None else f"{int(100 * self.fraction)} % of {self.phase}"

    @property
    def seconds(self) -> float:
        """The clock of the run, which continues between two events while the run is running."""
        seconds, at = self._last
        running = self.state in ("running", "stopping") and self.started is not None
        return seconds + time.monotonic() - at if running else seconds

    @property
    def event_time(self) -> float:
        return self._time

    @property
    def fraction(self) -> float | None:
        """Progress of the present phase, from 0 to 1; None if it is unknown, or nothing runs."""
        if not self.working or self.limited or not self.total > 0 or not math.isfinite(self.total) or self._improving:
            return None
        return min(1.0, max(0.0, self.done / self.total))

    @property
    def rate(self) -> Rate | None:
        """Of the first metric whose unit ends with ``/s``, else of the progress; at the end the average of the run."""
        going = self.state in ("running", "stopping")
        for name, unit in self._rate_units.items():
            total = self.counters.get(name.removesuffix("_per_second"))
            if self.finished and total and self.seconds > 0:
                return Rate(total / self.seconds, unit, average=True)
            if going and (values := self._rates.get(name)):
                newest = max(at for at, _ in values.values())
                now = sum(value for at, value in values.values() if at >= newest - _RATE_WINDOW)
                return Rate(now, unit, average=False)
        if going and self.unit and len(self._steps) > 1:
            last = self._steps[-1]
            first = next(step for step in self._steps if step[0] >= last[0] - _RATE_WINDOW)
            if last[0] > first[0] and last[1] > first[1]:
                return Rate((last[1] - first[1]) / (last[0] - first[0]), f"{self.unit}/s", average=False)
        return None


def remaining_text(estimate: tuple[float, float] | None, improving: bool = False) -> str:
    """A range such as ``40 s to 55 s left``, beyond a month only its order of magnitude; empty if there is none."""
    if estimate is None or (improving and max(estimate) > _MONTH):
        return ""
    if improving:
        return f"at most {duration(max(1.0, *estimate), 1.0)} left"
    if max(estimate) > _MONTH:
        return "more than a month left" if min(estimate) > _MONTH else f"more than {duration(min(estimate), 1.0)} left"
    low, high = (duration(max(1.0, seconds), 1.0) for seconds in estimate)
    return f"about {low} left" if low == high else f"{low} to {high} left"


def state_text(state: str, warnings: int = 0) -> str:
    """A state or status in words, with the number of warnings."""
    text = state.replace("_", " ")
    return text if not warnings else f"{text}, {counted(warnings, 'warning')}"
