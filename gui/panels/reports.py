"""Grouping the metrics that a solver emitted together, so that curves over iterations pair the right numbers."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["ReportGroup"]

_WINDOW = 0.01  # seconds; solvers report at most every few tens of milliseconds


class ReportGroup:
    """Collects metrics of one moment.

    Every series is throttled by itself, so that the newest value of one may belong to another iteration than the
    newest value of another. Values are therefore paired only if they were emitted within 10 ms.

    Parameters
    ----------
    key : str
        The name of the value that becomes x; a group without it is dropped.
    receive : callable
        ``receive(x, values)`` for every complete group.
    """

    def __init__(self, key: str, receive: Callable[[float, dict[str, float]], None]) -> None:
        self._key, self._receive = key, receive
        self._time = 0.0
        self._values: dict[str, float] = {}

    def add(self, time: float, name: str, value: float) -> None:
        """Add a value; the group before is complete if this one is later."""
        if self._values and not 0 <= time - self._time <= _WINDOW:
            self.flush()
        if not self._values:
            self._time = time
        self._values[name] = value

    def flush(self) -> None:
        """Deliver the present group; it is complete."""
        values, self._values = self._values, {}
        x = values.pop(self._key, None)
        if x is not None and values:
            self._receive(x, values)
