"""Pictures of solutions: a schedule, a chessboard, a tour."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from gui.axes import NumberAxis
from gui.charts import Painted, draw_text
from gui.figure import Figure
from gui.legend import small_font
from gui.tables import Table
from gui.theme import Theme, pen_of

__all__ = ["Board", "Gantt", "Picture", "Tour", "draw_arrow", "queens_placement", "schedule", "spread_apart"]

Ints = NDArray[np.int64]
_SPREAD, _CITY_GAP = 150, 0.1  # no more cities than can be told apart, and how far apart in a picture of -1 .. 1


def schedule(times: NDArray[Any], order: NDArray[Any]) -> tuple[Ints, Ints]:
    """Begin and end of every operation of a permutation flowshop.

    Parameters
    ----------
    times : ndarray, shape (machines, jobs)
    order : ndarray, shape (jobs,)

    Returns
    -------
    begin, end : ndarray of int64, shape (machines, jobs)
        In the order of the schedule: column k is job ``order[k]``.
    """
    sorted_times = np.asarray(times, np.int64)[:, np.asarray(order, np.int64)]
    end = np.zeros_like(sorted_times)
    ready = np.zeros(sorted_times.shape[1], np.int64)
    for machine, work in enumerate(sorted_times):
        done = np.cumsum(work)  # a job ends when some job before it was ready, and all since then are done
        ready = end[machine] = np.maximum.accumulate(ready - (done - work)) + done
    return end - sorted_times, end


def _hues(count: int, dark: bool) -> list[QColor]:
    """Colours of many things: neighbours differ in hue, and by turns in lightness."""
    golden = 0.61803398875
    levels = (0.62, 0.48, 0.72) if dark else (0.46, 0.58, 0.36)
    return [QColor.fromHslF((0.55 + k * golden) % 1.0, 0.55, levels[k % 3]) for k in range(count)]


class Picture(Figure):
    """A figure whose content one function paints."""

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "") -> None:
        self.item = Painted(self._paint_content)
        super().__init__(title, unit, theme=theme, key=key)

    def furnish(self) -> None:
        """One item paints all."""
        self.plot.addItem(self.item, ignoreBounds=True)

    def _paint_content(self, painter: QPainter) -> None:
        """Paint in the plot's coordinates."""

    def bare(self) -> None:
        """No axes, equal scales."""
        self.plot.hideAxis("left")
        self.plot.hideAxis("bottom")
        self.plot.getViewBox().setAspectLocked(True)

    def set_theme(self, theme: Theme) -> None:
        """Change all colours."""
        super().set_theme(theme)
        self.item.update()


class Gantt(Picture):
    """A flowshop's schedule: a row for each machine, a colour for each job."""

    def __init__(self, title: str = "Schedule", *, theme: Theme) -> None:
        self._begin = self._end = np.zeros((0, 0), np.int64)
        self._order = np.zeros(0, np.int64)
        super().__init__(title, "machines over time", theme=theme, key="schedule")
        self.hint("The schedule of the best order of jobs is shown once there is one.")

    def make_axes(self) -> dict[str, pg.AxisItem]:
        """Machines at the left, time below."""
        return {"left": pg.AxisItem("left"), "bottom": NumberAxis("bottom")}

    def furnish(self) -> None:
        """The first machine on top."""
        super().furnish()
        self.plot.getViewBox().invertY(True)
        left = self.plot.getAxis("left")
        left.setStyle(tickLength=0, hideOverlappingLabels=False)
        left.setWidth(40)

    def show_schedule(self, times: NDArray[Any], order: NDArray[Any]) -> None:
        """Show the schedule of an order of jobs."""
        self._begin, self._end = schedule(times, order)
        self._order = np.asarray(order, np.int64)
        self.hint("")
        self.dirty = True

    def redraw(self) -> None:
        """Draw the schedule."""
        machines = len(self._begin)
        if not machines:
            return
        last = int(self._end.max())
        step = max(1, math.ceil(machines * 15 / max(60, self.view.height() - 30)))
        names = [(m + 0.5, f"M{m + 1}") for m in range(0, machines, step)]
        self.plot.getAxis("left").setTicks([names])
        self.item.set_bounds(QRectF(0, 0, last, machines))
        self.plot.setRange(xRange=(0, last), yRange=(0, machines), padding=0)

    def _paint_content(self, painter: QPainter) -> None:
        machines, jobs = self._begin.shape
        colours = _hues(jobs, self.theme.dark)
        font = small_font()
        painter.setFont(font)
        scale = painter.transform().m11()
        row = abs(painter.transform().m22())
        for m in range(machines):
            for k in range(jobs):
                begin, end, job = int(self._begin[m, k]), int(self._end[m, k]), int(self._order[k])
                rect = QRectF(begin, m + 0.08, end - begin, 0.84)
                painter.fillRect(rect, colours[job])
                painter.setPen(pen_of(self.theme.base, (), 1.0))
                painter.drawRect(rect)
                text = str(job)
                if (end - begin) * scale > 8 + 7 * len(text) and row > 13:
                    light = colours[job].lightnessF() > 0.55
                    draw_text(painter, rect.center(), text, "#101010" if light else "#ffffff")

    def table(self) -> Table:
        """A row for each operation."""
        machines, jobs = self._begin.shape
        rows = [
            (int(self._order[k]), m + 1, int(self._begin[m, k]), int(self._end[m, k]))
            for k in range(jobs)
            for m in range(machines)
        ]
        return ["job", "machine", "begin", "end"], rows


def queens_placement(n: int) -> list[int] | None:
    """Columns, row by row, of n queens that do not attack each other; None where there are none.

    The construction of Hoffman, Loessi and Moore (*Mathematics Magazine* 42, 1969).
    """
    if n in (2, 3) or n < 1:
        return None
    even = list(range(2, n + 1, 2))
    odd = list(range(1, n + 1, 2))
    if n % 6 == 2:
        odd = [3, 1, *odd[3:], 5]
    elif n % 6 == 3:
        even, odd = [*even[1:], 2], [*odd[2:], 1, 3]
    return [column - 1 for column in even + odd]


class Board(Picture):
    """A chessboard with one placement of queens."""

    def __init__(self, title: str = "A placement", *, theme: Theme) -> None:
        self._columns: list[int] = []
        super().__init__(title, theme=theme, key="board")

    def furnish(self) -> None:
        """The first row on top."""
        super().furnish()
        self.bare()
        self.plot.getViewBox().invertY(True)

    def show_queens(self, columns: list[int], remark: str) -> None:
        """Show queens by the columns of their rows."""
        self._columns = columns
        self.unit = remark
        self.set_theme(self.theme)

    def redraw(self) -> None:
        """Draw the board."""
        n = len(self._columns)
        if n:
            self.item.set_bounds(QRectF(0, 0, n, n))
            self.plot.setRange(xRange=(0, n), yRange=(0, n), padding=0.02)

    def _paint_content(self, painter: QPainter) -> None:
        theme, n = self.theme, len(self._columns)
        light, dark = QColor(theme.mixed(theme.accent, 0.08)), QColor(theme.mixed(theme.accent, 0.30))
        for row in range(n):
            for column in range(n):
                painter.fillRect(QRectF(column, row, 1.003, 1.003), dark if (row + column) % 2 else light)
        font = small_font()
        font.setPixelSize(max(4, round(0.8 * abs(painter.transform().m22()))))
        painter.setFont(font)
        for row, column in enumerate(self._columns):
            draw_text(painter, QPointF(column + 0.5, row + 0.5), "♛", theme.text)

    def table(self) -> Table:
        """A row for each queen."""
        return ["row", "column"], [(row + 1, column + 1) for row, column in enumerate(self._columns)]


def places_from_costs(costs: NDArray[Any]) -> NDArray[np.float64]:
    """Places in the plane whose distances are like the costs: classical scaling of their symmetric part.

    After Torgerson (*Psychometrika* 17, 1952). Shape (n, n) to (n, 2).
    """
    symmetric = (np.asarray(costs, float) + np.asarray(costs, float).T) / 2
    np.fill_diagonal(symmetric, 0.0)
    n = len(symmetric)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ symmetric**2 @ centre)
    return vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-9))


def spread_apart(places: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Push apart what is closer than ``gap``, a little at a time, and fit all into -1 .. 1 again."""
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


class Tour(Picture):
    """A tour through cities; where only costs are known, places are chosen to be like them."""

    def __init__(self, title: str = "Tour", *, theme: Theme) -> None:
        self._places = np.zeros((0, 2))
        self._costs = np.zeros((0, 0), np.int64)
        self._given: NDArray[Any] | None = None
        self._order: list[int] = []
        super().__init__(title, "distances are like the costs", theme=theme, key="tour")
        self.hint("The best tour is shown once there is one.")

    def furnish(self) -> None:
        """Without axes."""
        super().furnish()
        self.bare()

    def show_tour(self, costs: NDArray[Any], order: NDArray[Any]) -> None:
        """Show the tour of an order of cities."""
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
        """Draw the tour."""
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
        """A row for each leg."""
        ends = self._order[1:] + self._order[:1]
        legs = zip(self._order, ends, strict=True)
        return ["from", "to", "cost"], [(a, b, int(self._costs[a, b])) for a, b in legs]


def draw_arrow(
    painter: QPainter, begin: QPointF, end: QPointF, colour: str, gap: float, head: float, width: float = 1.4
) -> None:
    """An arrow that ends ``gap`` before its end; ``gap`` and ``head`` are in the plot's units."""
    along = end - begin
    length = math.hypot(along.x(), along.y())
    if length <= 2 * gap:
        return
    unit = along / length
    tip, tail = end - unit * gap, begin + unit * gap
    side = QPointF(-unit.y(), unit.x()) * (0.35 * head)
    painter.setPen(pen_of(colour, (), width))
    painter.drawLine(tail, tip - unit * (0.8 * head))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    painter.drawPolygon([tip, tip - unit * head + side, tip - unit * head - side])
