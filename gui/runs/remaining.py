"""The remaining time of a phase as a range, or None if it cannot be estimated."""

import itertools
import math
from collections import deque

from engine.events import Progress

_SEGMENTS = 4
_LEAST_SECONDS = 2.0
_LEAST_SHARE = 0.02
_STEADY = 1.5  # largest ratio of the fastest to the slowest segment
_MOST_POINTS = 512


class RemainingTime:
    """Extrapolates the progress of a phase from the rates of four segments of its second half.

    Nothing is said if they differ by more than half, or change steadily by more than a fifth.
    """

    def __init__(self) -> None:
        self._points: deque[tuple[float, float]] = deque()
        self._total = 0.0
        self.given: tuple[float, float] | None = None

    def clear(self) -> None:
        self.given = None
        self._points.clear()

    def add(self, time: float, done: float, total: float) -> None:
        if self._points and (time < self._points[-1][0] or done < self._points[-1][1] or total != self._total):
            self._points.clear()
        self._total = total
        self._points.append((time, done))
        if len(self._points) > _MOST_POINTS:
            self._points = deque(list(self._points)[::2])

    def follow(self, event: Progress) -> None:
        """Take a report of progress: the solver's own estimate, where it makes one, is better than an extrapolation."""
        self.given = None
        if event.seconds_left is not None:
            low = event.seconds_left if event.seconds_left_low is None else event.seconds_left_low
            high = event.seconds_left if event.seconds_left_high is None else event.seconds_left_high
            self.given = (low, high)
        elif not event.limit:
            self.add(event.time, event.done, event.total)

    def estimate(self) -> tuple[float, float] | None:
        """Least and most remaining seconds, or None if the rate is unknown or not steady."""
        if self.given is not None:
            return self.given
        if len(self._points) < 2 * _SEGMENTS or not 0 < self._total < math.inf:
            return None
        (first, begin), (now, done) = self._points[0], self._points[-1]
        if now - first < _LEAST_SECONDS or done - begin < _LEAST_SHARE * self._total or done >= self._total:
            return None
        rates = self._rates(first + 0.5 * (now - first), now)
        if rates is None:
            return None
        slowest, fastest = min(rates), max(rates)
        rising = all(a < b for a, b in itertools.pairwise(rates))
        falling = all(a > b for a, b in itertools.pairwise(rates))
        if slowest <= 0 or fastest > _STEADY * slowest or ((rising or falling) and fastest > 1.2 * slowest):
            return None
        left = self._total - done
        return left / fastest, left / slowest

    def _rates(self, begin: float, end: float) -> list[float] | None:
        """Rates of equal segments of time; None if one of them has no point of its own."""
        edges = [begin + place * (end - begin) / _SEGMENTS for place in range(_SEGMENTS + 1)]
        at: list[tuple[float, float]] = []
        points = list(self._points)
        place = 0
        for edge in edges:
            while place + 1 < len(points) and points[place + 1][0] <= edge:
                place += 1
            at.append(points[place])
        if any(later[0] <= earlier[0] for earlier, later in itertools.pairwise(at)):
            return None
        return [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.pairwise(at)]
