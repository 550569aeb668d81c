"""Areas stacked on each other over time."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from engine.util.text import short_seconds_text
from gui.plot.live import LivePlot

Floats = NDArray[np.float64]


class StackedPlot(LivePlot):
    """Areas on top of each other, with ``shares`` of 100 %; the legend has the values themselves."""

    _filled = True

    def __init__(self, *arguments: Any, shares: bool = False, **named: Any) -> None:
        self.shares = shares
        super().__init__(*arguments, **({"top": 100.0} if shares else {}) | named)

    def value_text(self, value: float) -> str:
        return short_seconds_text(value) if self.shares else super().value_text(value)

    def redraw(self) -> None:
        self._set_ranges()
        (begin, end), _ = self.plot.getViewBox().viewRange()
        grid, levels = self._levels(begin, end, max(60, self.view.width() - 60))
        bounds = self._bounds()
        for place, curve in enumerate(self.curves):
            curve.item.bounds = bounds
            curve.item.setVisible(curve.shown and len(grid) > 1)
            if not curve.shown or len(grid) < 2:
                continue
            fill = QColor(curve.colour)
            fill.setAlphaF(0.85 if self.theme.dark else 0.75)
            level = levels[place]
            below = levels[place - 1] if place else np.zeros(len(grid))
            x = np.concatenate([grid, grid[::-1]])
            curve.item.setData(x, np.concatenate([level, below[::-1]]), pen=None, brush=fill, fillLevel="enclosed")
        self._show_values()

    def _levels(self, begin: float, end: float, width: int) -> tuple[Floats, Floats]:
        """Sums from below of the curves that are shown, on common times."""
        points = [curve.data.points() for curve in self.curves]
        times = [time for time, _ in points if len(time)]
        if not times:
            return np.zeros(0), np.zeros((len(points), 0))
        grid = np.unique(np.concatenate([np.clip(np.concatenate(times), begin, end), [min(self._now, end)]]))
        if len(grid) > width:
            grid = grid[:: -(-len(grid) // width)]
        levels = np.zeros((len(points), len(grid)))
        level = np.zeros(len(grid))
        for place, ((time, value), curve) in enumerate(zip(points, self.curves, strict=True)):
            if len(time) and curve.shown:
                level = level + np.where(grid < time[0], 0.0, value[np.searchsorted(time, grid, side="right") - 1])
            levels[place] = level
        if self.shares:
            levels = 100 * levels / np.maximum(level, 1e-300)
        return grid, levels

    def _needed(self) -> tuple[float, float] | None:
        if self.shares:
            return (0.0, 100.0)
        _, levels = self._levels(-math.inf, math.inf, 4096)
        return (0.0, float(levels[-1].max())) if levels.size else None
