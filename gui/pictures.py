"""Pictures of solutions: a schedule, a chessboard, a tour, a network."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QPointF, QRectF, QRunnable, Qt, QThreadPool, Signal
from PySide6.QtGui import QColor, QPainter

from gui.axes import NumberAxis
from gui.charts import Painted, draw_text
from gui.figure import Figure, Table, small_font
from gui.theme import Theme, pen_of

__all__ = ["Board", "Gantt", "NetworkView", "Tour", "queens_placement", "schedule"]

Ints = NDArray[np.int64]


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
    begin = np.zeros_like(sorted_times)
    end = np.zeros_like(sorted_times)
    for k in range(sorted_times.shape[1]):
        ready = 0
        for machine in range(sorted_times.shape[0]):
            free = int(end[machine, k - 1]) if k else 0
            begin[machine, k] = max(ready, free)
            ready = end[machine, k] = begin[machine, k] + sorted_times[machine, k]
    return begin, end


def _hues(count: int, dark: bool) -> list[QColor]:
    """Colours of many things: neighbours differ in hue, and by turns in lightness."""
    golden = 0.61803398875
    levels = (0.62, 0.48, 0.72) if dark else (0.46, 0.58, 0.36)
    return [QColor.fromHslF((0.55 + k * golden) % 1.0, 0.55, levels[k % 3]) for k in range(count)]


class _Picture(Figure):
    """A figure whose content one function paints."""

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "", axes: Any = None) -> None:
        super().__init__(title, unit, theme=theme, key=key, axes=axes)
        self.item = Painted(self._paint_content)
        self.plot.addItem(self.item, ignoreBounds=True)

    def _paint_content(self, painter: QPainter) -> None:
        """Paint in the plot's coordinates."""

    def _bare(self) -> None:
        """No axes, equal scales."""
        self.plot.hideAxis("left")
        self.plot.hideAxis("bottom")
        self.plot.getViewBox().setAspectLocked(True)

    def set_theme(self, theme: Theme) -> None:
        """Change all colours."""
        super().set_theme(theme)
        if hasattr(self, "item"):
            self.item.update()


class Gantt(_Picture):
    """A flowshop's schedule: a row for each machine, a colour for each job."""

    def __init__(self, title: str = "Schedule", *, theme: Theme) -> None:
        self._begin = self._end = np.zeros((0, 0), np.int64)
        self._order = np.zeros(0, np.int64)
        axes = {"left": pg.AxisItem("left"), "bottom": NumberAxis("bottom")}
        super().__init__(title, "machines over time", theme=theme, key="schedule", axes=axes)
        self.plot.getViewBox().invertY(True)
        left = self.plot.getAxis("left")
        left.setStyle(tickLength=0, hideOverlappingLabels=False)
        left.setWidth(40)
        self.hint("The schedule of the best order of jobs is shown when the run ends.")

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


class Board(_Picture):
    """A chessboard with one placement of queens."""

    def __init__(self, title: str = "A placement", *, theme: Theme) -> None:
        self._columns: list[int] = []
        super().__init__(title, theme=theme, key="board")
        self._bare()
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


class Tour(_Picture):
    """A tour through cities; where only costs are known, places are chosen to be like them."""

    def __init__(self, title: str = "Tour", *, theme: Theme) -> None:
        self._places = np.zeros((0, 2))
        self._costs = np.zeros((0, 0), np.int64)
        self._order: list[int] = []
        super().__init__(title, "distances are like the costs", theme=theme, key="tour")
        self._bare()
        self.hint("The best tour is shown when the run ends.")

    def show_tour(self, costs: NDArray[Any], order: NDArray[Any]) -> None:
        """Show the tour of an order of cities."""
        self._costs = np.asarray(costs)
        self._places = places_from_costs(self._costs)
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


# --- networks -------------------------------------------------------------------------------------------------------


def network_places(n: int, edges: Ints) -> NDArray[np.float64]:
    """Places of ``n`` nodes in the plane: components side by side, each laid out by forces between its nodes.

    The layout of a component is networkx's; without networkx its nodes are on a circle.
    """
    members = _components(n, edges)
    places = np.zeros((n, 2))
    x = y = line = 0.0
    width = math.sqrt(sum((math.sqrt(len(nodes)) + 0.7) ** 2 for nodes in members)) * 1.35
    for nodes in members:
        size = math.sqrt(len(nodes)) if len(nodes) > 1 else 0.35
        if x and x + size > width:
            x, y, line = 0.0, y + line + 0.7, 0.0
        places[nodes] = np.array([x + size / 2, y + size / 2]) + _component_places(nodes, edges) * size / 2
        x, line = x + size + 0.7, max(line, size)
    return places


def _components(n: int, edges: Ints) -> list[Ints]:
    """Nodes that hang together, the largest set first."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    matrix = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    _, labels = connected_components(matrix, directed=False)
    groups = [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1 if n else 0)]
    return sorted(groups, key=lambda nodes: (-len(nodes), int(nodes[0])))


def _component_places(nodes: Ints, edges: Ints) -> NDArray[np.float64]:
    """Places within -1 .. 1."""
    if len(nodes) == 1:
        return np.zeros((1, 2))
    try:
        import networkx
    except ImportError:
        angles = 2 * np.pi * np.arange(len(nodes)) / len(nodes)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    graph = networkx.Graph()
    graph.add_nodes_from(nodes.tolist())
    graph.add_edges_from(edges[np.isin(edges[:, 0], nodes)].tolist())
    start = networkx.circular_layout(graph)
    rounds = 50 if len(nodes) < 200 else 20
    found = networkx.spring_layout(graph, pos=start, iterations=rounds, seed=1)
    return _spread(np.array([found[node] for node in nodes.tolist()]), 1.15 / math.sqrt(len(nodes)))


def _spread(places: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
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


class _Laid(QObject):
    done = Signal(object, object)


class _Layout(QRunnable):
    """Places nodes on a thread of its own, so that the window does not wait."""

    def __init__(self, n: int, edges: Ints, done: Callable[[Any, Any], None]) -> None:
        super().__init__()
        self._n, self._edges = n, edges
        self.signals = _Laid()
        self.signals.done.connect(done)

    def run(self) -> None:
        """Lay out and tell."""
        places = network_places(self._n, self._edges)
        try:
            self.signals.done.emit(self._edges, places)
        except RuntimeError:  # the window is gone
            return


class NetworkView(_Picture):
    """A directed graph with numbered nodes; those of little weight are pale."""

    MOST = 400

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "") -> None:
        self._edges = np.zeros((0, 2), np.int64)
        self._laid_edges = self._edges
        self._nodes = 0
        self._wanted: tuple[int, Ints] | None = None
        self._laying = False
        self._places = np.zeros((0, 2))
        self._weights: NDArray[np.float64] | None = None
        super().__init__(title, unit, theme=theme, key=key)
        self._bare()
        self.hint("The network is shown when the first one has been learned.")

    def show_network(self, n: int, edges: NDArray[Any], weights: NDArray[Any] | None = None) -> None:
        """Show ``edges`` (e, 2) between ``n`` nodes; ``weights`` from 0 to 1 say how strong each node is drawn."""
        self._nodes, self._edges = n, np.asarray(edges, np.int64).reshape(-1, 2)
        self._weights = None if weights is None else np.asarray(weights, float)
        if n > self.MOST:
            self.hint(f"A network of {n} genes is too large to be drawn; Data has its {len(self._edges)} edges.")
            return
        self._wanted = (n, self._edges)
        if not len(self._places):
            self.hint("The network is being laid out.")
        self.dirty = True

    def redraw(self) -> None:
        """Draw the network, once its nodes are placed."""
        if self.fine and self._laid_edges is not self._edges and self._nodes <= self.MOST:
            self._laid(self._edges, network_places(self._nodes, self._edges))
        elif self._wanted is not None and not self._laying and not self.fine:
            (n, edges), self._wanted = self._wanted, None
            if edges is not self._laid_edges:
                self._laying = True
                QThreadPool.globalInstance().start(_Layout(n, edges, self._laid))
        if len(self._places):
            low, high = self._places.min(axis=0) - 0.6, self._places.max(axis=0) + 0.6
            self.item.set_bounds(QRectF(low[0], low[1], *(high - low)))
            self.plot.setRange(xRange=(low[0], high[0]), yRange=(low[1], high[1]), padding=0)

    def _laid(self, edges: Ints, places: NDArray[np.float64]) -> None:
        self._laying = False
        self._laid_edges, self._places = edges, places
        self.hint("")
        self.dirty = True
        if not self.fine:
            self.refresh()

    def _paint_content(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = self.theme
        pixel = 1.0 / max(1e-12, abs(painter.transform().m11()))
        radius = min(0.28, 11 * pixel)
        edge = theme.mixed(theme.lines[0], 0.55)
        points = [QPointF(*place) for place in self._places]
        for begin, end in self._laid_edges.tolist():
            draw_arrow(painter, points[begin], points[end], edge, radius, min(0.22, 8 * pixel), self.pixels)
        painter.setFont(small_font())
        for node, point in enumerate(points):
            known = self._weights is not None and node < len(self._weights)
            weight = float(self._weights[node]) if known and self._weights is not None else 1.0
            painter.setPen(pen_of(theme.mixed(theme.accent, 0.35 + 0.65 * weight), (), 1.2 * self.pixels))
            painter.setBrush(QColor(theme.mixed(theme.accent, 0.06 + 0.44 * weight)))
            painter.drawEllipse(point, radius, radius)
            if radius > 7.5 * pixel:
                draw_text(painter, point, str(node), theme.text if weight > 0.15 else theme.muted)

    def table(self) -> Table:
        """A row for each edge."""
        return ["from", "to"], [(int(a), int(b)) for a, b in self._edges.tolist()]
