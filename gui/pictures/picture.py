"""Drawing helpers of the pictures of solutions."""

import math

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gui.app.theme import pen_of

Ints = NDArray[np.int64]


def spread_apart(places: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Move points apart that are closer than ``gap``, and scale all to -1 .. 1."""
    for _ in range(60):
        apart = places[:, None] - places[None]
        distance = np.hypot(apart[..., 0], apart[..., 1])
        np.fill_diagonal(distance, np.inf)
        lacking = np.maximum(0.0, gap - distance) / np.maximum(distance, 1e-6)
        if not lacking.any():
            break
        places = places + 0.4 * (apart * lacking[..., None]).sum(axis=1)
    places = places - (places.max(axis=0) + places.min(axis=0)) / 2
    return places / max(1.0, float(np.abs(places).max()))


def draw_lines(painter: QPainter, ends: NDArray[np.float64], colour: str, width: float) -> None:
    """Lines between pairs of points, shape (lines, 2, 2), in one call."""
    painter.setPen(pen_of(colour, (), width))
    painter.drawLines([QLineF(*line) for line in ends.reshape(-1, 4).tolist()])


def draw_dots(painter: QPainter, places: NDArray[np.float64], colour: str, size: float) -> None:
    """Round dots of a diameter in the plot's units, in one call."""
    pen = QPen(pen_of(colour))
    pen.setWidthF(size)
    pen.setCosmetic(False)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    painter.drawPoints([QPointF(*place) for place in places.tolist()])


def draw_arrow(
    painter: QPainter,
    begin: QPointF,
    end: QPointF,
    colour: str,
    gap: float,
    head: float,
    width: float = 1.4,
    dash: tuple[float, ...] = (),
) -> None:
    """An arrow that ends ``gap`` before its end; ``gap`` and ``head`` are in the plot's units."""
    along = end - begin
    length = math.hypot(along.x(), along.y())
    if length <= 2 * gap:
        return
    unit = along / length
    tip, tail = end - unit * gap, begin + unit * gap
    side = QPointF(-unit.y(), unit.x()) * (0.35 * head)
    painter.setPen(pen_of(colour, dash, width))
    painter.drawLine(tail, tip - unit * (0.8 * head))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    painter.drawPolygon([tip, tip - unit * head + side, tip - unit * head - side])
