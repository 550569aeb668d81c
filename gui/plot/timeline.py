"""What each device did over the time of a run: a lane for each."""

from collections.abc import Iterator
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QLineF, QRectF
from PySide6.QtGui import QColor, QPainter

from engine.util.text import bytes_text
from gui.app.theme import pen_of
from gui.plot.axes import Axis, TimeAxis
from gui.plot.charts import PaintedItem
from gui.plot.live import LivePlot
from gui.plot.series import Series
from gui.plot.tables import Table

_TOP, _BOTTOM, _COPIES, _TICK = 0.16, 0.66, 0.82, 0.1  # of a lane; copies grow up and down from a line of their own
_LANE = 56  # pixels
_MOST_TICKS = 4096
_TICKS = "kernel compiled or loaded"
AT_WORK, COMPILING = "at work", "of it, compiling"
TO_DEVICE, FROM_DEVICE = "host to device", "device to host"
_KINDS = (AT_WORK, COMPILING, TO_DEVICE, FROM_DEVICE)  # in the order in which they are painted; others come last


class LaneTimeline(LivePlot):
    """One lane a device: shares of time as areas, a tick for each kernel, copies beneath; blank without a report."""

    _filled = True

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._lanes: dict[str, dict[str, Series]] = {}
        self._ticks: list[tuple[float, str, str]] = []
        self._fastest = 0.0
        self._item = PaintedItem(self._paint)
        super().__init__(*arguments, **named)

    def make_axes(self) -> dict[str, pg.AxisItem]:
        return {"left": Axis("left"), "bottom": TimeAxis("bottom", title="time")}

    def populate(self) -> None:
        super().populate()
        self.plot.addItem(self._item, ignoreBounds=True)
        self.plot.getViewBox().invertY(True)
        self.plot.getViewBox().setMouseEnabled(True, False)

    def add_share(self, device: str, kind: str, time: float, share: float, since: float | None = None) -> None:
        """The share of the time, from 0 to 1, in which a device did something: since a time, else the report before."""
        self._add(device, kind, time, share, since)

    def add_copies(self, device: str, kind: str, time: float, nbytes: float, since: float) -> None:
        """The bytes that were copied between two times; ``kind`` is ``TO_DEVICE`` or ``FROM_DEVICE``."""
        rate = nbytes / max(time - since, 1e-9)
        if rate > self._fastest:
            self._fastest = rate
            self.set_unit(f"% of the time; copies at most {bytes_text(rate)}/s")
        self._add(device, kind, time, rate, since)

    def _add(self, device: str, kind: str, time: float, value: float, since: float | None) -> None:
        lane = self.lane_of(device)
        if kind not in lane:
            lane[kind] = Series()
            self.series(kind, self.theme.colour(_place_of(kind)))
            if since is not None:
                lane[kind].append(since, 0.0)
        lane[kind].append(time, value)
        self._point_added(time)

    def add_kernel(self, device: str, time: float, name: str) -> None:
        self.lane_of(device)
        if len(self._ticks) < _MOST_TICKS:
            self._ticks.append((time, device, name))
        self._point_added(time)

    def lane_of(self, device: str) -> dict[str, Series]:
        """What a device has reported by its kind, in a lane that is made if there is none, below the others."""
        if device not in self._lanes:
            for place, kind in enumerate(_KINDS):  # in one order in all legends
                self.series(kind, self.theme.colour(place))
            self.series(_TICKS, self.theme.colour(7))
            self._lanes[device] = {}
            self.least_height = max(LivePlot.least_height, 70 + _LANE * len(self._lanes))
            self.reserve_legend_height()
        return self._lanes[device]

    def begin_session(self, time: float) -> None:
        for lane in self._lanes.values():
            for series in lane.values():
                series.cut(time)
        self._ticks = [tick for tick in self._ticks if tick[0] <= time]
        super().begin_session(time)
        if self._lanes:
            self.mark_session(time)

    def _needed(self) -> tuple[float, float] | None:
        return (0.0, float(max(1, len(self._lanes))))

    def redraw(self) -> None:
        self._set_ranges()
        axis, count = self.plot.getAxis("left"), max(1, len(self._lanes))
        axis.setTicks([[(place + 0.5, name) for place, name in enumerate(self._lanes)]])
        axis.setWidth(
            max(50, 10 + max((self.fontMetrics().horizontalAdvance(name) for name in self._lanes), default=0))
        )
        begin, end = self.plot.getViewBox().viewRange()[0]
        self.plot.setRange(yRange=(0, count), padding=0)
        self._item.set_bounds(QRectF(begin, 0, end - begin, count))

    def _paint(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)  # else there are seams between reports
        looks = {curve.name: curve.colour for curve in self.curves if curve.shown}
        for place, lane in enumerate(self._lanes.values()):
            for kind, series in sorted(lane.items(), key=lambda entry: _place_of(entry[0])):
                colour, copied = QColor(looks.get(kind, "")), kind in (TO_DEVICE, FROM_DEVICE)
                base = place + (_COPIES if copied else _BOTTOM)
                high = (_TOP - _BOTTOM) if not copied else (_COPIES - 0.98) * (1 if kind == TO_DEVICE else -1)
                scale = self._fastest or 1.0 if copied else 1.0
                for begin, end, value in self._spans(series):
                    if kind == AT_WORK:  # the rest of that time it was idle
                        painter.fillRect(QRectF(begin, base, end - begin, high), QColor(self.theme.grid))
                    if colour.isValid():
                        painter.fillRect(QRectF(begin, base, end - begin, high * min(1.0, value / scale)), colour)
        if _TICKS in looks:
            painter.setPen(pen_of(looks[_TICKS], (), self.pixels))
            tops = {device: place + _TOP for place, device in enumerate(self._lanes)}
            painter.drawLines([QLineF(time, tops[name] - _TICK, time, tops[name]) for time, name, _ in self._ticks])

    def _spans(self, series: Series) -> Iterator[tuple[float, float, float]]:
        """Begin, end and value of each report; since when the first one counts is not known."""
        begin, end = self.plot.getViewBox().viewRange()[0]
        window = series.window(begin, end, self.view.width())
        times = window.time.tolist()
        return zip(times, times[1:], window.mean.tolist()[1:], strict=False)

    def _show_values(self) -> None:
        """The legend names kinds, of all devices."""

    def table(self) -> Table:
        rows: list[tuple[Any, ...]] = [(time, time, device, name, None, None) for time, device, name in self._ticks]
        for device, lane in self._lanes.items():
            for kind, series in lane.items():
                times, values = (part.tolist() for part in series.points())
                for begin, end, value in zip(times, times[1:], values[1:], strict=False):
                    copied = kind in (TO_DEVICE, FROM_DEVICE)
                    rows.append((begin, end, device, kind, None if copied else value, value if copied else None))
        return ["from (s)", "to (s)", "device", "what", "share", "bytes/s"], sorted(rows, key=lambda row: row[:4])


def _place_of(kind: str) -> int:
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)
