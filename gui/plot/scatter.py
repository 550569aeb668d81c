"""Points in the plane, in one or several groups."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from gui.app.theme import Theme
from gui.plot.axes import NumberAxis, next_range
from gui.plot.figure import Figure
from gui.plot.tables import Table

Floats = NDArray[np.float64]
_SMALL, _LARGE, _FEW = 4, 8, 300  # pixels of a point, of many and of few of them


class ScatterPlot(Figure):
    """Points with an axis title on either side."""

    def __init__(
        self, title: str, unit: str = "", *, theme: Theme, key: str = "", x_title: str = "", y_title: str = ""
    ) -> None:
        self.x_title, self.y_title = x_title, y_title
        self._groups: list[tuple[str, Floats, Floats]] = []
        self._items: list[pg.ScatterPlotItem] = []
        super().__init__(title, unit, theme=theme, key=key)

    def make_axes(self) -> dict[str, pg.AxisItem]:
        return {"left": NumberAxis("left", title=self.y_title), "bottom": NumberAxis("bottom", title=self.x_title)}

    def populate(self) -> None:
        self.plot.getViewBox().setMouseEnabled(False, False)

    def set_points(self, x: Floats, y: Floats) -> None:
        """Show these points, arrays of one shape (points,)."""
        self.set_groups([("", x, y)])

    def set_groups(self, groups: Sequence[tuple[str, NDArray[Any], NDArray[Any]]]) -> None:
        """Show groups of points in colours of their own: a name for the legend, x and y of each."""
        self._groups = [(name, np.asarray(x, float), np.asarray(y, float)) for name, x, y in groups]
        self.clear_entries()
        for place, (name, _, _) in enumerate(self._groups):
            if name:
                self.add_entry(name, self.theme.colour(place), filled=True)
        self.dirty = True

    def redraw(self) -> None:
        shown = [not self.entries or self.entries[place].isChecked() for place in range(len(self._groups))]
        x, y = (np.concatenate([np.zeros(0), *(group[axis] for group in self._groups)]) for axis in (1, 2))
        if not len(x):
            return
        while len(self._items) < len(self._groups):
            self._items.append(pg.ScatterPlotItem(pen=None))
            self.plot.addItem(self._items[-1], ignoreBounds=True)
        for place, (item, (_, across, up)) in enumerate(zip(self._items, self._groups, strict=False)):
            colour = QColor(self.theme.colour(place))
            colour.setAlphaF(0.6)
            item.setVisible(shown[place])
            item.setData(across, up, brush=colour, size=_SMALL if len(across) > _FEW else _LARGE)
        nothing = (math.nan, math.nan)
        x_range = next_range(nothing, (float(x.min()), float(x.max())), from_zero=True)
        y_range = next_range(nothing, (float(y.min()), float(y.max())), from_zero=True)
        x_range = _with_whole_points(x_range, x, max(60, self.view.width() - 60))
        y_range = _with_whole_points(y_range, y, max(40, self.view.height() - 30))
        self.plot.setRange(xRange=x_range, yRange=y_range, padding=0)
        left = self.plot.getAxis("left")
        if isinstance(left, NumberAxis):
            left.make_room(*y_range, self.view.height())

    def set_theme(self, theme: Theme) -> None:
        for place, entry in enumerate(self.entries):
            entry.colour = theme.colour(place)
        super().set_theme(theme)

    def table(self) -> Table:
        """A row for each point, with its group where they have names."""
        headers = [self.x_title or "x", self.y_title or "y"]
        rows = [(name, *point) for name, x, y in self._groups for point in zip(x.tolist(), y.tolist(), strict=True)]
        if self.entries:
            return ["", *headers], rows
        return headers, [row[1:] for row in rows]


def _with_whole_points(ends: tuple[float, float], values: Floats, pixels: int) -> tuple[float, float]:
    """A range with room for the halves of points that lie on its ends."""
    low, high = ends
    room = (_LARGE / 2 + 1) * (high - low) / pixels
    return (low - room if values.min() < low + room else low, high + room if values.max() > high - room else high)
