"""Parallel coordinates: a line for each run, through its options and its value (Inselberg 1985)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPolygonF

from engine.util.text import option_text, short_number_text
from gui.app.theme import Theme, pen_of
from gui.plot.axes import Axis
from gui.plot.charts import Picture, draw_text
from gui.plot.legend import small_font
from gui.plot.rows import shortened
from gui.plot.tables import Table

_FEW = 6  # numbers


class ParallelPlot(Picture):
    """An axis for each column, the value at the right, whose size is the colour of the line."""

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "") -> None:
        self._headers: list[str] = []
        self._rows: list[tuple[Any, ...]] = []
        super().__init__(title, unit, theme=theme, key=key)

    def make_axes(self) -> dict[str, pg.AxisItem]:
        return {"left": Axis("left"), "bottom": Axis("bottom")}

    def populate(self) -> None:
        super().populate()
        self.plot.hideAxis("left")
        self.plot.getViewBox().setMouseEnabled(False, False)

    def put(self, headers: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Show these runs; the last column is a number, the others are numbers or texts."""
        self._headers, self._rows = list(headers), list(rows)
        self.hint("" if len(headers) > 1 and rows else "The runs do not differ in options.")
        self.dirty = True

    def redraw(self) -> None:
        count = len(self._headers)
        self.plot.getAxis("bottom").setTicks([list(enumerate(shortened(name) for name in self._headers))])
        self.plot.setRange(xRange=(-0.4, max(1, count - 1) + 0.4), yRange=(-0.05, 1.05), padding=0)
        self.item.set_bounds(QRectF(-0.4, -0.05, max(1, count - 1) + 0.8, 1.1))

    def _scaled(self, values: Sequence[Any]) -> tuple[list[float], list[tuple[float, str]]]:
        """Places of values between 0 and 1, and labels of the axis: numbers by size, a few of them and texts evenly."""
        numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
        text: Callable[[Any], str] = short_number_text if numbers else option_text
        known: list[Any] = sorted(set(values)) if numbers else sorted({option_text(value) for value in values})
        if numbers and len(known) > _FEW:
            low, high = known[0], known[-1]
            return [(value - low) / (high - low) for value in values], [(0.0, text(low)), (1.0, text(high))]
        at = {value: place / max(1, len(known) - 1) for place, value in enumerate(known)}
        labels = [(place, text(value) if numbers else value) for value, place in at.items()]
        return [at[value if numbers else text(value)] for value in values], labels

    def _paint_content(self, painter: QPainter) -> None:
        if not self._rows or len(self._headers) < 2:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(small_font())
        columns = [self._scaled(values) for values in zip(*self._rows, strict=True)]
        low, high = (np.array(QColor(self.theme.colour(place)).getRgb()) for place in (0, 1))
        ranks = np.argsort(np.argsort([float(row[-1]) for row in self._rows])) / max(1, len(self._rows) - 1)
        for row, share in enumerate(ranks.tolist()):
            colour = QColor(*(int(part) for part in (1 - share) * low + share * high))
            painter.setPen(pen_of(colour.name(), (), 1.2 * self.pixels))
            painter.drawPolyline(QPolygonF([QPointF(x, places[row]) for x, (places, _) in enumerate(columns)]))
        for x, (_, labels) in enumerate(columns):
            painter.setPen(pen_of(self.theme.axis, (), self.pixels))
            painter.drawLine(QPointF(x, 0), QPointF(x, 1))
            side = Qt.AlignmentFlag.AlignLeft if x else Qt.AlignmentFlag.AlignRight
            for y, text in labels:
                draw_text(painter, QPointF(x + (0.03 if x else -0.03), y), shortened(text), self.theme.text, side)

    def table(self) -> Table:
        return self._headers, self._rows
