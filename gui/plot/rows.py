"""Charts with a row for each name: their base, and intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter

from gui.app.theme import Theme, pen_of
from gui.plot.axes import Axis, NumberAxis, next_range
from gui.plot.charts import Picture, draw_discs
from gui.plot.figure import Figure
from gui.plot.legend import small_font
from gui.plot.tables import Table


def shortened(name: str, most: int = 20) -> str:
    """Names longer than so many characters without their middle."""
    kept = most - 1
    return name if len(name) <= most else f"{name[: kept // 2]}…{name[-(kept - kept // 2) :]}"


class RowPlot(Picture):
    """Names, one a row; subclasses call :meth:`lay_rows` and paint row ``k`` between ``k`` and ``k + 1``."""

    MOST = 60
    _ROW = 14  # pixels

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "", x_title: str = "") -> None:
        self.x_title = x_title
        super().__init__(title, unit, theme=theme, key=key)

    def make_axes(self) -> dict[str, pg.AxisItem]:
        return {"left": Axis("left"), "bottom": NumberAxis("bottom", title=self.x_title)}

    def populate(self) -> None:
        """The first row is on top; the mouse does not move them."""
        super().populate()
        self.plot.getViewBox().invertY(True)
        self.plot.getViewBox().setMouseEnabled(False, False)
        self.plot.getAxis("left").setStyle(tickLength=0, hideOverlappingLabels=False)

    def lay_rows(self, names: Sequence[str], low: float, high: float) -> None:
        low, high = next_range((math.nan, math.nan), (low, high))
        axis = self.plot.getAxis("left")
        metrics = QFontMetricsF(axis.style["tickFont"] or small_font())
        most = max(20, int(0.45 * self.view.width() / metrics.averageCharWidth()))
        texts = [shortened(name, most) for name in names]
        axis.setTicks([[(place + 0.5, text) for place, text in enumerate(texts)]])
        axis.setWidth(max(50, math.ceil(14 + max(metrics.horizontalAdvance(text) for text in texts))))
        self.item.set_bounds(QRectF(low, 0, high - low, len(names)))
        self.plot.setRange(xRange=(low, high), yRange=(0, len(names)), padding=0)

    def make_room(self, rows: int) -> None:
        """Be high enough for the names of so many rows, of :attr:`MOST` at most."""
        self.least_height = max(Figure.least_height, 60 + self._ROW * min(rows, self.MOST))
        self.reserve_legend_height()
        self.dirty = True


@dataclass(frozen=True)
class Interval:
    """An estimate, an inner and an outer interval of one name."""

    name: str
    middle: float
    inner: tuple[float, float]
    outer: tuple[float, float]


class IntervalPlot(RowPlot):
    """Intervals beside each other, one a row: a forest plot."""

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "", x_title: str = "") -> None:
        self._intervals: list[Interval] = []
        super().__init__(title, unit, theme=theme, key=key, x_title=x_title)

    def put(self, intervals: Sequence[Interval]) -> None:
        """Show these, the first on top; no more than :attr:`MOST` are drawn, all are in the table."""
        self._intervals = list(intervals)
        self.make_room(len(intervals))

    def redraw(self) -> None:
        shown = self._intervals[: self.MOST]
        if shown:
            low = min(min(row.outer[0] for row in shown), 0.0)
            high = max(max(row.outer[1] for row in shown), 0.0)
            self.lay_rows([row.name for row in shown], low, high)

    def _paint_content(self, painter: QPainter) -> None:
        """A line at 0, and the intervals."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = self.theme
        shown = self._intervals[: self.MOST]
        if not shown:
            return
        painter.setPen(pen_of(theme.muted, (3, 3), self.pixels))
        painter.drawLine(QPointF(0, 0), QPointF(0, len(shown)))
        for place, row in enumerate(shown):
            y = place + 0.5
            clear = row.outer[0] > 0 or row.outer[1] < 0
            colour = theme.lines[0] if clear else theme.muted
            painter.setPen(pen_of(colour, (), 1.2 * self.pixels))
            painter.drawLine(QPointF(row.outer[0], y), QPointF(row.outer[1], y))
            thick = pen_of(colour, (), 4.0 * self.pixels)
            thick.setCapStyle(Qt.PenCapStyle.FlatCap)
            painter.setPen(thick)
            painter.drawLine(QPointF(row.inner[0], y), QPointF(row.inner[1], y))
        middles = (QPointF(row.middle, place + 0.5) for place, row in enumerate(shown))
        draw_discs(painter, middles, theme.text, 3.0)

    def table(self) -> Table:
        headers = ["name", "middle", "inner from", "inner to", "outer from", "outer to"]
        return headers, [(row.name, row.middle, *row.inner, *row.outer) for row in self._intervals]
