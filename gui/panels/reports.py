"""Grouping the metrics that a solver emitted together, so that curves over iterations pair the right numbers."""

from collections.abc import Callable

_WINDOW = 0.01  # seconds; solvers report at most every few tens of milliseconds


class ReportGroup:
    """Collects metrics of one moment, and calls ``receive(x, values)``; the value called ``key`` is x.

    Each series is throttled by itself, so values are of one moment only if they were emitted within 10 ms.
    """

    def __init__(self, key: str, receive: Callable[[float, dict[str, float]], None]) -> None:
        self._key, self._receive = key, receive
        self._time = 0.0
        self.values: dict[str, float] = {}
        self._new: dict[str, float] = {}

    def add(self, time: float, name: str, value: float) -> None:
        """Add a value; the group before is complete if this one is later."""
        if self.values and not 0 <= time - self._time <= _WINDOW:
            self.flush()
        if not self.values:
            self._time = time
        self.values[name] = value
        if name != self._key:
            self._new[name] = value

    def deliver(self) -> None:
        """Deliver what the present group has, if its key is known: more of it may come."""
        if self._new and self._key in self.values:
            new, self._new = self._new, {}
            self._receive(self.values[self._key], new)

    def flush(self) -> None:
        """Deliver the present group; it is complete."""
        self.deliver()
        self.values, self._new = {}, {}
