"""One line of a live plot: its points, its look, and the item that draws it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyqtgraph as pg
from PySide6.QtCore import QRectF

from gui.plot.legend import LegendEntry
from gui.plot.series import Series

if TYPE_CHECKING:
    from gui.plot.live import LivePlot

__all__ = ["Curve", "Line"]


class Line(pg.PlotCurveItem):
    """A curve whose bounds are set by the plot, since computing them for every frame costs as much as drawing."""

    def __init__(self) -> None:
        self.bounds = QRectF(0, 0, 1, 1)
        super().__init__(skipFiniteCheck=True)
        self.setSegmentedLineMode("off")

    def boundingRect(self) -> QRectF:
        """The range of the plot."""
        return self.bounds

    def dataBounds(self, ax: int, frac: float = 1.0, orthoRange: Any = None) -> Any:
        """Nothing: ranges are set by the plot."""
        return (None, None)


class Curve:
    """One line of a :class:`LivePlot`: its data, its pen, its legend entry.

    ``session_pending`` is set when the run is resumed and x is not the time: the first new point replaces all recorded
    points from its x on.
    """

    def __init__(self, plot: LivePlot, name: str, colour: str, dash: tuple[float, ...], step: bool, entry: LegendEntry):
        self.name, self.colour, self.dash, self.step = name, colour, dash, step
        self.data = Series()
        self.entry = entry
        self.item = Line()
        self.band: Line | None = None
        self.session_pending = False
        self._plot = plot

    @property
    def shown(self) -> bool:
        """Whether it is to be seen."""
        return self.entry.isChecked()

    def append(self, time: float, value: float) -> None:
        """Add a point; it is drawn at the next refresh."""
        if self.session_pending:
            self.session_pending = False
            self.data.cut(math.nextafter(time, -math.inf))
            self._plot.mark_session(time)
        self.data.append(time, value)
        self._plot.point_added(time)

    def replace(self, data: Series) -> None:
        """Show another series in place of the live one."""
        self.data = data
        if len(data):
            self._plot.point_added(data.last_time)
