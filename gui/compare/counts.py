"""How far a run was at any time, counted in iterations, generations, nodes or evaluations."""

import numpy as np
from numpy.typing import NDArray

from engine.events import Event, Metric, Progress

Floats = NDArray[np.float64]
_UNITS = ("iterations", "generations", "nodes")
_METRICS = ("generations", "evaluations")


class Counts:
    """The counts of one run over its time; a metric comes before the progress of phases, which are added."""

    def __init__(self) -> None:
        self._points: dict[tuple[str, str], list[tuple[float, float]]] = {}
        self._phases: dict[str, dict[str, float]] = {}

    def take(self, event: Event) -> None:
        if isinstance(event, Metric) and event.name in _METRICS and event.device is None:
            self._points.setdefault((event.name, "metric"), []).append((event.time, event.value))
        elif isinstance(event, Progress) and event.unit in _UNITS:
            phases = self._phases.setdefault(event.unit, {})
            phases[event.phase] = max(event.done, phases.get(event.phase, 0.0))
            self._points.setdefault((event.unit, "progress"), []).append((event.time, sum(phases.values())))

    @property
    def names(self) -> set[str]:
        """What has been counted, and grew."""
        return {name for (name, _), points in self._points.items() if points[-1][1] > 0}

    def at(self, name: str, times: Floats) -> Floats:
        """The counts at some times, interpolated; they begin at 0, and end with the last report."""
        points = self._points.get((name, "metric")) or self._points[name, "progress"]
        time, count = np.array(sorted(points), float).T
        return np.asarray(np.interp(times, time, np.maximum.accumulate(count), left=0.0))
