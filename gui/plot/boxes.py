"""Box plots: the spread of a sample in each row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter

from gui.app.theme import Theme, pen_of
from gui.plot.charts import draw_discs
from gui.plot.rows import RowPlot
from gui.plot.tables import Table


@dataclass(frozen=True)
class Spread:
    """Five numbers of a sample, whiskers within 1.5 interquartile ranges (Tukey 1977), and the values beyond."""

    count: int
    low: float
    quartile: float
    median: float
    upper_quartile: float
    high: float
    outliers: tuple[float, ...]


def spread(values: Sequence[float]) -> Spread | None:
    """The spread of some values; None if there is none."""
    if not len(values):
        return None
    sample = np.sort(np.asarray(values, float))
    quartile, median, upper = (float(q) for q in np.quantile(sample, (0.25, 0.5, 0.75)))
    reach = 1.5 * (upper - quartile)
    within = sample[(sample >= quartile - reach) & (sample <= upper + reach)]
    outside = sample[(sample < quartile - reach) | (sample > upper + reach)]
    low, high = min(float(within[0]), quartile), max(float(within[-1]), upper)  # never inside the box
    return Spread(len(sample), low, quartile, median, upper, high, tuple(outside.tolist()))


class BoxPlot(RowPlot):
    """A box from the lower to the upper quartile with the median in it, whiskers, and outliers as points."""

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "", x_title: str = "") -> None:
        self._rows: list[tuple[str, Spread]] = []
        super().__init__(title, unit, theme=theme, key=key, x_title=x_title)

    def put(self, rows: Sequence[tuple[str, Spread]], x_title: str) -> None:
        """Show these, the first on top; no more than :attr:`MOST` are drawn, all are in the table."""
        self._rows, self.x_title = list(rows), x_title
        self.hint("" if rows else "None of these runs has such a value.")
        if self.populated:
            self.plot.getAxis("bottom").set_title(x_title)
        self.make_room(len(rows))

    def redraw(self) -> None:
        shown = self._rows[: self.MOST]
        if shown:
            low = min(min(row.low, *row.outliers) if row.outliers else row.low for _, row in shown)
            high = max(max(row.high, *row.outliers) if row.outliers else row.high for _, row in shown)
            self.lay_rows([name for name, _ in shown], low, high)

    def _paint_content(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = pen_of(self.theme.text, (), 1.2 * self.pixels)
        for place, (_, row) in enumerate(self._rows[: self.MOST]):
            middle, half = place + 0.5, 0.28
            colour = QColor(self.theme.colour(place))
            colour.setAlphaF(0.55)
            painter.setPen(line)
            for begin, end in ((row.low, row.quartile), (row.upper_quartile, row.high)):
                painter.drawLine(QPointF(begin, middle), QPointF(end, middle))
            for at in (row.low, row.high):
                painter.drawLine(QPointF(at, middle - half / 2), QPointF(at, middle + half / 2))
            painter.setBrush(colour)
            painter.drawRect(QRectF(row.quartile, middle - half, row.upper_quartile - row.quartile, 2 * half))
            painter.setPen(pen_of(self.theme.text, (), 2.4 * self.pixels))
            painter.drawLine(QPointF(row.median, middle - half), QPointF(row.median, middle + half))
            draw_discs(painter, (QPointF(at, middle) for at in row.outliers), self.theme.text, 2.5)

    def table(self) -> Table:
        headers = ["", "runs", "min", "lower quartile", "median", "upper quartile", "max", "outliers"]
        return headers, [
            (
                name,
                row.count,
                min((row.low, *row.outliers)),
                row.quartile,
                row.median,
                row.upper_quartile,
                max((row.high, *row.outliers)),
                len(row.outliers),
            )
            for name, row in self._rows
        ]
