"""A curve of any length in a fixed room: as it fills up, neighbours are merged; no peak is lost."""

from __future__ import annotations

import bisect
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_FIRST_ROOM = 64


class Window(NamedTuple):
    """A part of a series, to be drawn: times, lowest, highest and mean values; ``merged`` if those can differ."""

    time: Floats
    low: Floats
    high: Floats
    mean: Floats
    merged: bool

    def band(self) -> tuple[Floats, Floats, Floats]:
        """Times, lowest and highest values; between points that are far apart, the band is only as wide as the line."""
        apart = np.diff(self.time)
        usual = float(np.median(apart))
        gaps = np.flatnonzero(apart > 3 * usual)
        ends = np.stack([self.time[gaps] + usual, self.time[gaps + 1] - usual], axis=1).ravel()
        middle, at = np.interp(ends, self.time, self.mean), np.repeat(gaps + 1, 2)
        return np.insert(self.time, at, ends), np.insert(self.low, at, middle), np.insert(self.high, at, middle)


class Series:
    """Values over time, in at most ``capacity`` buckets (an even number) of ``stride`` points each.

    When all are in use, neighbours are merged: the whole run stays in sight, and no peak is lost.
    """

    __slots__ = ("_capacity", "_filled", "_high", "_low", "_time", "_total", "_used", "last", "last_time", "stride")

    def __init__(self, capacity: int = 2048) -> None:
        if capacity < 2 or capacity % 2:
            raise ValueError(f"capacity must be even and at least 2; got {capacity}")
        self._capacity = capacity
        self._used = 0
        self._time = self._low = self._high = self._total = np.zeros(0)
        self._make_room(_FIRST_ROOM)
        self.clear()

    @classmethod
    def of(cls, times: Floats, values: Floats, capacity: int = 2048) -> Series:
        """A series of points in the order of time, as if each had been appended."""
        series = cls(capacity)
        values = np.asarray(values, float)
        there = np.isfinite(values)
        times, values = np.maximum.accumulate(np.asarray(times, float)[there]), values[there]
        count = len(values)
        if not count:
            return series
        while count > capacity * series.stride:
            series.stride *= 2
        starts = np.arange(0, count, series.stride)
        used = len(starts)
        series._make_room(used)
        series._time[:used] = times[starts]
        series._low[:used] = np.minimum.reduceat(values, starts)
        series._high[:used] = np.maximum.reduceat(values, starts)
        series._total[:used] = np.add.reduceat(values, starts)
        series._used, series._filled = used, count - int(starts[-1])
        series.last, series.last_time = float(values[-1]), float(times[-1])
        return series

    @classmethod
    def band(cls, times: Floats, low: Floats, middle: Floats, high: Floats) -> Series:
        """A curve in a band: each place stands for several values, between two limits."""
        series = cls.of(times, middle)
        series.stride = series._filled = 2
        used = series._used
        series._low[:used], series._high[:used], series._total[:used] = low, high, 2 * series._total[:used]
        return series

    def clear(self) -> None:
        self._used = 0
        self._filled = 0
        self.stride = 1
        self.last = math.nan
        self.last_time = -math.inf

    def __len__(self) -> int:
        return self._used

    @property
    def nbytes(self) -> int:
        """Memory of the buckets so far."""
        return 4 * self._time.nbytes

    def append(self, time: float, value: float) -> None:
        """Add a point; one before the last is taken to be at the last one's time, one without a value is left out."""
        if not math.isfinite(value):
            return
        self.last = value
        self.last_time = time = max(time, self.last_time)
        filled = self._filled
        if 0 < filled < self.stride:
            at = self._used - 1
            if value < self._low[at]:
                self._low[at] = value
            elif value > self._high[at]:
                self._high[at] = value
            self._total[at] += value
            self._filled = filled + 1
            return
        if self._used == self._capacity:
            self._merge()
        elif self._used == len(self._time):
            self._make_room(2 * self._used)
        at = self._used
        self._time[at] = time
        self._low[at] = self._high[at] = self._total[at] = value
        self._used = at + 1
        self._filled = 1

    def _make_room(self, buckets: int) -> None:
        """Have room for so many buckets, or for as many as there may be."""
        room = np.zeros((4, min(buckets, self._capacity)))
        room[:, : self._used] = [part[: self._used] for part in (self._time, self._low, self._high, self._total)]
        self._time, self._low, self._high, self._total = room

    def _merge(self) -> None:
        half = self._used // 2
        self._time[:half] = self._time[0::2]
        self._low[:half] = np.minimum(self._low[0::2], self._low[1::2])
        self._high[:half] = np.maximum(self._high[0::2], self._high[1::2])
        self._total[:half] = self._total[0::2] + self._total[1::2]
        self._used = half
        self.stride *= 2

    def cut(self, time: float) -> None:
        """Remove the points after ``time``."""
        if self.last_time <= time:
            return
        self._used = bisect.bisect_right(self._time, time, 0, self._used)
        self._filled = self.stride
        if self._used:
            self.last_time = time
            self.last = float(self._total[self._used - 1] / self.stride)
        else:
            self.clear()

    def points(self) -> tuple[Floats, Floats]:
        """Times and mean values of the buckets: the points themselves while ``stride`` is 1."""
        counts = np.full(self._used, float(self.stride))
        if self._used:
            counts[-1] = self._filled
        return self._time[: self._used].copy(), self._total[: self._used] / counts

    def window(self, begin: float = -math.inf, end: float = math.inf, columns: int = 0) -> Window:
        """What to draw between two times, with a bucket on either side, merged to about so many ``columns``.

        Columns begin at multiples of their width, so that the picture does not flicker as points come in.
        """
        first = max(0, bisect.bisect_right(self._time, begin, 0, self._used) - 1)
        stop = min(self._used, bisect.bisect_left(self._time, end, 0, self._used) + 1)
        time, low, high = self._time[first:stop], self._low[first:stop], self._high[first:stop]
        counts = np.full(stop - first, float(self.stride))
        if stop == self._used and stop > first:
            counts[-1] = self._filled
        total = self._total[first:stop]
        merged = self.stride > 1
        if columns and stop - first > 2 * columns:
            least, most = max(begin, float(time[0])), min(end, float(time[-1]))
            cells = np.floor(time / max((most - least) / columns, 1e-300))
            starts = np.flatnonzero(np.diff(cells, prepend=-math.inf))
            merged = merged or len(starts) < len(time)
            time, low, high = time[starts], np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
            total, counts = np.add.reduceat(total, starts), np.add.reduceat(counts, starts)
        return Window(time, low, high, total / counts, merged=merged)

    def at(self, time: float) -> float:
        """The mean value of the bucket that covers ``time``; NaN before the first."""
        place = bisect.bisect_right(self._time, time, 0, self._used) - 1
        if place < 0:
            return math.nan
        count = self._filled if place == self._used - 1 else self.stride
        return float(self._total[place] / count)

    def extent(self) -> tuple[float, float] | None:
        if not self._used:
            return None
        return float(self._low[: self._used].min()), float(self._high[: self._used].max())

    def extent_positive(self) -> tuple[float, float] | None:
        """The same of the values above 0, for a logarithmic axis."""
        low, high = self._low[: self._used], self._high[: self._used]
        if not self._used or high.max() <= 0:
            return None
        return float(np.where(low > 0, low, np.where(high > 0, high, np.inf)).min()), float(high.max())
