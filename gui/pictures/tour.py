"""The tour of an asymmetric travelling salesman problem, drawn in the plane."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter

from gui.app.theme import Theme, pen_of
from gui.pictures.picture import draw_arrow, spread_apart
from gui.plot.charts import Picture, draw_text
from gui.plot.legend import small_font
from gui.plot.tables import Table

_SPREAD, _CITY_GAP = 150, 0.1  # most cities to spread, and their least distance in a picture of -1 .. 1


def places_from_costs(costs: NDArray[Any]) -> NDArray[np.float64]:
    """Places (n, 2) by classical scaling of the symmetric part of costs (Torgerson 1952)."""
    symmetric = (np.asarray(costs, float) + np.asarray(costs, float).T) / 2
    np.fill_diagonal(symmetric, 0.0)
    n = len(symmetric)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ symmetric**2 @ centre)
    return np.asarray(vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-9)))


class Tour(Picture):
    """A tour through cities; where only costs are known, places are chosen to be like them."""

    def __init__(self, theme: Theme) -> None:
        self._places = np.zeros((0, 2))
        self._costs = np.zeros((0, 0), np.int64)
        self._given: NDArray[Any] | None = None
        self._order: list[int] = []
        super().__init__("Tour", "distances are like the costs", theme=theme, key="tour")
        self.hint("The best tour is shown once there is one.")

    def populate(self) -> None:
        super().populate()
        self.bare()

    def show_tour(self, costs: NDArray[Any], order: NDArray[Any]) -> None:
        if costs is not self._given:  # the places stay as tours get better
            self._given, self._costs = costs, np.asarray(costs)
            places = places_from_costs(self._costs)
            if len(places) <= _SPREAD:
                angles = np.arange(len(places))  # those at one place leave it in different directions
                apart = 1e-3 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
                places = spread_apart(places / max(1e-9, float(np.abs(places).max())) + apart, _CITY_GAP)
            self._places = places
        self._order = [int(city) for city in order]
        self.hint("")
        self.dirty = True

    def redraw(self) -> None:
        if not self._order:
            return
        low, high = self._places.min(axis=0), self._places.max(axis=0)
        pad = 0.06 * float((high - low).max() or 1.0)
        self.item.set_bounds(QRectF(low[0] - pad, low[1] - pad, *(high - low + 2 * pad)))
        self.plot.setRange(xRange=(low[0] - pad, high[0] + pad), yRange=(low[1] - pad, high[1] + pad), padding=0)

    def _paint_content(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = self.theme
        points = [QPointF(*self._places[city]) for city in self._order]
        scale = 1.0 / max(1e-12, abs(painter.transform().m11()))
        for begin, end in zip(points, points[1:] + points[:1], strict=True):
            draw_arrow(painter, begin, end, theme.lines[0], 10 * scale, 11 * scale, 1.4 * self.pixels)
        painter.setFont(small_font())
        for city, point in zip(self._order, points, strict=True):
            painter.setPen(pen_of(theme.lines[0], (), 1.2 * self.pixels))
            painter.setBrush(QColor(theme.accent if city == self._order[0] else theme.raised))
            painter.drawEllipse(point, 10 * scale, 10 * scale)
            draw_text(painter, point, str(city), theme.accent_text if city == self._order[0] else theme.text)

    def table(self) -> Table:
        ends = self._order[1:] + self._order[:1]
        legs = zip(self._order, ends, strict=True)
        return ["from", "to", "cost"], [(a, b, int(self._costs[a, b])) for a, b in legs]
