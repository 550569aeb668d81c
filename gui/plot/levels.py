"""A bar for each level of a tree."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter

from gui.app.theme import Theme
from gui.plot.axes import CountAxis, NumberAxis, next_range
from gui.plot.charts import Picture
from gui.plot.tables import Table


class LevelBars(Picture):
    """A vertical bar for each level, the root's at the left."""

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "", y_title: str = "") -> None:
        self._y_title = y_title
        self._values: list[float] = []
        self._range = (math.nan, math.nan)
        super().__init__(title, unit, theme=theme, key=key)

    def make_axes(self) -> dict[str, pg.AxisItem]:
        return {"left": NumberAxis("left", title=self._y_title), "bottom": CountAxis("bottom", title="level")}

    def populate(self) -> None:
        super().populate()
        self.plot.getViewBox().setMouseEnabled(False, False)

    def put(self, values: Sequence[float]) -> None:
        self._values = list(values)
        self.hint("")
        self.dirty = True

    def redraw(self) -> None:
        if not self._values:
            return
        self._range = next_range(self._range, (0.0, max(1.0, *self._values)), from_zero=True)
        top, count = self._range[1], len(self._values)
        self.item.set_bounds(QRectF(-0.5, 0, count, top))
        self.plot.setRange(xRange=(-0.5, count - 0.5), yRange=(0, top), padding=0)

    def _paint_content(self, painter: QPainter) -> None:
        colour = QColor(self.theme.lines[0])
        for level, value in enumerate(self._values):
            painter.fillRect(QRectF(level - 0.4, 0, 0.8, value), colour)

    def table(self) -> Table:
        return ["level", self._y_title], [(level, value) for level, value in enumerate(self._values)]
