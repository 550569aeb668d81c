"""Points in the plane."""

from __future__ import annotations

import math

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from gui.app.theme import Theme
from gui.plot.axes import NumberAxis, next_range
from gui.plot.figure import Figure
from gui.plot.tables import Table

__all__ = ["ScatterPlot"]

Floats = NDArray[np.float64]


class ScatterPlot(Figure):
    """Points with an axis title on either side.

    Parameters
    ----------
    title, unit : str
    theme : Theme
    x_title, y_title : str
        Titles of the axes, with units.
    """

    def __init__(
        self, title: str, unit: str = "", *, theme: Theme, key: str = "", x_title: str = "", y_title: str = ""
    ) -> None:
        self.x_title, self.y_title = x_title, y_title
        self._x: Floats = np.zeros(0)
        self._y: Floats = np.zeros(0)
        self._item: pg.ScatterPlotItem | None = None
        super().__init__(title, unit, theme=theme, key=key)

    def make_axes(self) -> dict[str, pg.AxisItem]:
        """Numbers on both axes."""
        return {"left": NumberAxis("left", title=self.y_title), "bottom": NumberAxis("bottom", title=self.x_title)}

    def populate(self) -> None:
        """One item draws all points."""
        self._item = pg.ScatterPlotItem(size=4, pen=None)
        self.plot.addItem(self._item, ignoreBounds=True)
        self.plot.getViewBox().setMouseEnabled(False, False)

    def set_points(self, x: Floats, y: Floats) -> None:
        """Show these points, arrays of one shape (points,)."""
        self._x, self._y = np.asarray(x, float), np.asarray(y, float)
        self.dirty = True

    def redraw(self) -> None:
        """Draw the points."""
        if not len(self._x) or self._item is None:
            return
        nothing = (math.nan, math.nan)
        x_range = next_range(nothing, (float(self._x.min()), float(self._x.max())), from_zero=True)
        y_range = next_range(nothing, (float(self._y.min()), float(self._y.max())), from_zero=True)
        colour = QColor(self.theme.lines[0])
        colour.setAlphaF(0.6)
        self._item.setData(self._x, self._y, brush=colour)
        self.plot.setRange(xRange=x_range, yRange=y_range, padding=0)
        left = self.plot.getAxis("left")
        if isinstance(left, NumberAxis):
            left.make_room(*y_range, self.view.height())

    def table(self) -> Table:
        """A row for each point."""
        headers = [self.x_title or "x", self.y_title or "y"]
        return headers, list(zip(self._x.tolist(), self._y.tolist(), strict=True))
