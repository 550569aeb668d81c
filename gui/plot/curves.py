"""One line of a live plot: its points, its look, and the item that draws it."""

import math
from collections.abc import Callable
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QRectF

from gui.plot.legend import LegendEntry
from gui.plot.series import Series


class Line(pg.PlotCurveItem):
    """A curve whose bounds are set by the plot, since computing them for every frame costs as much as drawing."""

    def __init__(self) -> None:
        self.bounds = QRectF(0, 0, 1, 1)
        super().__init__(skipFiniteCheck=True)
        self.setSegmentedLineMode("off")

    def boundingRect(self) -> QRectF:
        return self.bounds

    def dataBounds(self, ax: int, frac: float = 1.0, orthoRange: Any = None) -> Any:
        """Nothing: ranges are set by the plot."""
        return (None, None)


class Curve:
    """One line of a live plot; ``added`` is called with the x of each new point.

    ``session_pending``: the run was resumed and x is not the time, so the first new point replaces those from its x on.
    """

    def __init__(
        self,
        name: str,
        colour: str,
        dash: tuple[float, ...],
        step: bool,
        entry: LegendEntry,
        added: Callable[[float], None],
        resumed: Callable[[float], None],
    ) -> None:
        self.name, self.colour, self.dash, self.step = name, colour, dash, step
        self._added, self._resumed = added, resumed
        self.data = Series()
        self.entry = entry
        self.item = Line()
        self.band: Line | None = None
        self.session_pending = False

    @property
    def shown(self) -> bool:
        return self.entry.isChecked()

    def append(self, time: float, value: float) -> None:
        if self.session_pending:
            self.session_pending = False
            self.data.cut(math.nextafter(time, -math.inf))
            self._resumed(time)
        self.data.append(time, value)
        self._added(time)

    def replace(self, data: Series) -> None:
        self.data = data
        if len(data):
            self._added(data.last_time)
