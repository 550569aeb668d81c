"""What each device did over the time of a run: a lane for each."""

from __future__ import annotations

import math
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QLineF, QRectF
from PySide6.QtGui import QColor, QPainter

from gui.app.theme import pen_of
from gui.plot.axes import Axis, TimeAxis
from gui.plot.charts import PaintedItem
from gui.plot.live import LivePlot
from gui.plot.series import Series
from gui.plot.tables import Table

_HEIGHT, _TICK = 0.72, 0.14  # of a lane
_LANE = 26  # pixels
_MOST_TICKS = 4096
_TICKS = "kernel compiled or loaded"


class LaneTimeline(LivePlot):
    """Shares of time as areas, one lane a device, and a tick for each kernel; times without a report stay blank.

    It is zoomed like other plots, and its cursor is theirs.
    """

    _filled = True

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._lanes: dict[str, dict[str, Series]] = {}
        self._ticks: list[tuple[float, str, str]] = []
        self._item: PaintedItem | None = None
        super().__init__(*arguments, **named)

    def make_axes(self) -> dict[str, pg.AxisItem]:
        """Names of devices at the left, time below."""
        return {"left": Axis("left"), "bottom": TimeAxis("bottom", title="time")}

    def populate(self) -> None:
        """One item paints all lanes."""
        super().populate()
        self._item = PaintedItem(self._paint)
        self.plot.addItem(self._item, ignoreBounds=True)
        self.plot.getViewBox().invertY(True)
        self.plot.getViewBox().setMouseEnabled(True, False)

    def add_share(self, device: str, kind: str, time: float, share: float) -> None:
        """The share of the time since the last such report, from 0 to 1, in which a device did something."""
        lane = self._shares_of(device)
        if kind not in lane:
            lane[kind] = Series()
            kinds = [curve.name for curve in self.curves if curve.name != _TICKS]
            self.series(kind, self.theme.colour(len(kinds)))
        lane[kind].append(time, share)
        self._point_added(time)

    def add_kernel(self, device: str, time: float, name: str) -> None:
        """A kernel template is compiled or loaded."""
        self._shares_of(device)
        self.series(_TICKS, self.theme.colour(7))
        if len(self._ticks) < _MOST_TICKS:
            self._ticks.append((time, device, name))
        self._point_added(time)

    def _shares_of(self, device: str) -> dict[str, Series]:
        if device not in self._lanes:
            self._lanes[device] = {}
            self.least_height = max(LivePlot.least_height, 70 + _LANE * len(self._lanes))
            self.reserve_legend_height()
        return self._lanes[device]

    def begin_session(self, time: float) -> None:
        """The run is resumed from a checkpoint at ``time``."""
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
        """Draw the lanes."""
        self._set_ranges()
        axis, count = self.plot.getAxis("left"), max(1, len(self._lanes))
        axis.setTicks([[(place + 0.5, name) for place, name in enumerate(self._lanes)]])
        axis.setWidth(
            max(50, 10 + max((self.fontMetrics().horizontalAdvance(name) for name in self._lanes), default=0))
        )
        begin, end = self.plot.getViewBox().viewRange()[0]
        self.plot.setRange(yRange=(0, count), padding=0)
        if self._item is not None:
            self._item.set_bounds(QRectF(begin, 0, end - begin, count))

    def _paint(self, painter: QPainter) -> None:
        begin, end = self.plot.getViewBox().viewRange()[0]
        looks = {curve.name: curve for curve in self.curves}
        places = {device: place for place, device in enumerate(self._lanes)}
        for device, lane in self._lanes.items():
            bottom = places[device] + 0.5 + _HEIGHT / 2
            for kind, series in lane.items():
                if not looks[kind].shown:
                    continue
                colour = QColor(looks[kind].colour)
                colour.setAlphaF(0.7)
                window, before = series.window(begin, end, self.view.width()), math.inf
                for time, share in zip(window.time.tolist(), window.mean.tolist(), strict=True):
                    height = _HEIGHT * min(1.0, share)
                    if before < time:  # since when the first report counts is not known
                        painter.fillRect(QRectF(before, bottom - height, time - before, height), colour)
                    before = time
        if _TICKS in looks and looks[_TICKS].shown:
            painter.setPen(pen_of(looks[_TICKS].colour, (), self.pixels))
            tops = {device: place + 0.5 - _HEIGHT / 2 for device, place in places.items()}
            painter.drawLines([QLineF(time, tops[name] - _TICK, time, tops[name]) for time, name, _ in self._ticks])

    def _show_values(self) -> None:
        """The legend names kinds, of all devices."""

    def table(self) -> Table:
        """A row for each report and each kernel."""
        rows: list[tuple[Any, ...]] = [(time, device, name, None) for time, device, name in self._ticks]
        for device, lane in self._lanes.items():
            for kind, series in lane.items():
                rows += [(time, device, kind, share) for time, share in zip(*series.points(), strict=True)]
        return ["seconds", "device", "what", "share until then"], sorted(rows, key=lambda row: row[:3])
