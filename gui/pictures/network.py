"""A learned network as a graph, its nodes placed off the window's thread."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter

from engine.util.text import counted
from gui.app.jobs import Job
from gui.app.theme import Theme, pen_of
from gui.pictures.picture import draw_arrow, draw_dots, draw_lines, spread_apart
from gui.plot.charts import Picture, draw_text
from gui.plot.legend import small_font
from gui.plot.tables import Table

Ints = NDArray[np.int64]

_MOST_FORCES = 400  # nodes of a component that are laid out by forces
_MOST_NUMBERED = 400  # nodes that are drawn with their numbers, and edges as arrows
_SHADES = 8  # of nodes by their weight


def network_places(n: int, edges: Ints) -> NDArray[np.float64]:
    """Places of ``n`` nodes in the plane, by forces or, of many nodes, by eigenvectors; components side by side."""
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
    if len(nodes) > _MOST_FORCES:
        return _spectral_places(nodes, edges)
    own = np.searchsorted(nodes, edges[np.isin(edges[:, 0], nodes)])
    return spread_apart(_spring_places(len(nodes), own), 1.15 / math.sqrt(len(nodes)))


def _spring_places(n: int, edges: Ints) -> NDArray[np.float64]:
    """Places within -1 .. 1 by springs along edges and repulsion of all nodes (Fruchterman and Reingold 1991).

    networkx has the same, but takes a second and 16 MB.
    """
    linked = np.zeros((n, n))
    linked[edges[:, 0], edges[:, 1]] = linked[edges[:, 1], edges[:, 0]] = 1.0
    angles = 2 * np.pi * np.arange(n) / n
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    ideal, rounds = math.sqrt(1 / n), 50 if n < 200 else 20
    reach = 0.1 * float(np.ptp(places, axis=0).max())
    for step in np.linspace(reach, 0, rounds, endpoint=False):
        between = places[:, None] - places[None]
        distance = np.maximum(np.hypot(between[..., 0], between[..., 1]), 0.01)
        force = np.einsum("ijk,ij->ik", between, (ideal / distance) ** 2 - linked * distance / ideal)
        length = np.hypot(force[:, 0], force[:, 1])
        places += force * (step / np.where(length < 0.01, 0.1, length))[:, None]
    places -= places.mean(axis=0)
    return np.asarray(places / max(1e-12, float(np.abs(places).max())))


def _spectral_places(nodes: Ints, edges: Ints) -> NDArray[np.float64]:
    """Places within -1 .. 1 by eigenvectors of the normalised Laplacian (Hall 1970).

    The third and fourth are added with less weight, so that a torus is not seen from above as a ring.
    """
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n = len(nodes)
    own = np.searchsorted(nodes, edges[np.isin(edges[:, 0], nodes)])
    ends = np.concatenate([own, own[:, ::-1]])
    matrix = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()
    scale = 1 / np.sqrt(np.maximum(1, matrix.sum(axis=1)))
    normalised = diags_array(scale) @ matrix @ diags_array(scale) + diags_array(np.ones(n))
    start = np.random.default_rng(1).random(n)
    try:
        values, vectors = eigsh(normalised, k=5, which="LA", tol=1e-3, maxiter=1000, v0=start)
    except ArpackNoConvergence as error:
        values, vectors = error.eigenvalues, error.eigenvectors
    smooth = (vectors * scale[:, None])[:, np.argsort(-values)][:, 1:]
    smooth = np.pad(smooth, ((0, 0), (0, max(0, 4 - smooth.shape[1]))))
    smooth /= np.maximum(1e-12, np.quantile(np.abs(smooth), 0.98, axis=0))
    places = np.clip(smooth, -1.5, 1.5)[:, :2] + 0.45 * np.clip(smooth, -1.5, 1.5)[:, 2:4]
    return np.asarray(places / max(1e-12, float(np.abs(places).max())))


class NetworkView(Picture):
    """A directed graph with numbered nodes, those of little weight pale; of many nodes only lines and dots."""

    MOST = 5000

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "") -> None:
        self._nodes = 0
        self._edges = self._gone = np.zeros((0, 2), np.int64)
        self._new = np.zeros(0, bool)
        self._laid_edges = self._edges
        self._wanted: tuple[int, Ints] | None = None
        self._laying = False
        self._job: Job | None = None
        self._places = np.zeros((0, 2))
        self._weights: NDArray[np.float64] | None = None
        super().__init__(title, unit, theme=theme, key=key)
        self.hint("The network is shown when the first one has been learned.")

    def populate(self) -> None:
        super().populate()
        self.bare()

    def show_network(
        self, n: int, edges: NDArray[Any], weights: NDArray[Any] | None = None, name: str = "", before: str = ""
    ) -> None:
        """Show ``edges`` (e, 2) between ``n`` nodes with opacities ``weights``, and what is new since ``before``."""
        old, edges = self._edges, np.asarray(edges, np.int64).reshape(-1, 2)
        if n != self._nodes or not np.array_equal(edges, old):
            (was, now), compared = (pairs @ [n, 1] for pairs in (old, edges)), bool(before)
            self._new, self._gone = ~np.isin(now, was) & compared, old[~np.isin(was, now) & compared]
            self._nodes, self._edges, self._wanted = n, edges, (n, edges)
            text = f"{name}: " * bool(name) + f"{counted(len(edges), 'edge')} between {n} genes"
            if compared:
                text += f"; {self._new.sum()} new and {len(self._gone)} gone since {before}"
            self.set_unit(text)
            if compared != bool(self.entries):
                self.clear_entries()
                for kind, (colour, dash) in self._looks().items() if compared else ():
                    self.add_entry(kind, colour, dash)
        self._weights = None if weights is None else np.asarray(weights, float)
        if n > self.MOST:
            self.hint(f"A network of {n} genes is too large to be drawn; Data has its {len(self._edges)} edges.")
            return
        if not len(self._places):
            self.hint("The network is being laid out.")
        self.dirty = True

    def _looks(self) -> dict[str, tuple[str, tuple[float, ...]]]:
        """Colours and dashes of edges by how they have changed."""
        blue, orange, green = self.theme.lines[:3]
        return {"kept": (self.theme.mixed(blue, 0.55), ()), "new": (green, ()), "gone": (orange, (3, 3))}

    def _parts(self) -> Iterator[tuple[Ints, str, tuple[float, ...]]]:
        """Edges that are to be seen, with their look; while others are laid out, those from before are all kept."""
        edges, parts = self._laid_edges, {"kept": self._laid_edges}
        if edges is self._edges:
            parts = {"gone": self._gone, "kept": edges[~self._new], "new": edges[self._new]}
        hidden = {entry.name for entry in self.entries if not entry.isChecked()}
        for kind, pairs in parts.items():
            if kind not in hidden:
                yield pairs, *self._looks()[kind]

    def redraw(self) -> None:
        if self.fine and self._laid_edges is not self._edges and self._nodes <= self.MOST:
            self._laid(self._edges, network_places(self._nodes, self._edges))
        elif self._wanted is not None and not self._laying and not self.fine:
            (n, edges), self._wanted = self._wanted, None
            self._laying = True
            self._job = Job(
                lambda: network_places(n, edges), lambda places: self._laid(edges, places), self._not_laid
            ).start()
        if len(self._places):
            low, high = self._places.min(axis=0) - 0.6, self._places.max(axis=0) + 0.6
            self.item.set_bounds(QRectF(low[0], low[1], *(high - low)))
            self.plot.setRange(xRange=(low[0], high[0]), yRange=(low[1], high[1]), padding=0)

    def _not_laid(self, error: Exception) -> None:
        self._laying = False
        if not self.cleaned_up:
            self.hint(f"The network cannot be laid out: {error}")

    def _laid(self, edges: Ints, places: NDArray[np.float64]) -> None:
        self._laying = False
        if self.cleaned_up:
            return
        self._laid_edges, self._places = edges, places
        self.hint("")
        self.dirty = True
        if not self.fine:
            self.draw_later()

    def _paint_content(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = self.theme
        pixel = 1.0 / max(1e-12, abs(painter.transform().m11()))
        if len(self._places) > _MOST_NUMBERED:
            self._paint_many(painter, pixel)
            return
        radius = min(0.28, 11 * pixel)
        points = [QPointF(*place) for place in self._places]
        for edges, colour, dash in self._parts():
            for begin, end in edges.tolist():
                head = min(0.22, 8 * pixel)
                draw_arrow(painter, points[begin], points[end], colour, radius, head, self.pixels, dash)
        painter.setFont(small_font())
        for node, point in enumerate(points):
            known = self._weights is not None and node < len(self._weights)
            weight = float(self._weights[node]) if known and self._weights is not None else 1.0
            painter.setPen(pen_of(theme.mixed(theme.accent, 0.35 + 0.65 * weight), (), 1.2 * self.pixels))
            painter.setBrush(QColor(theme.mixed(theme.accent, 0.06 + 0.44 * weight)))
            painter.drawEllipse(point, radius, radius)
            if radius > 7.5 * pixel:
                draw_text(painter, point, str(node), theme.text if weight > 0.15 else theme.muted)

    def _paint_many(self, painter: QPainter, pixel: float) -> None:
        theme = self.theme
        for edges, colour, _ in self._parts():
            draw_lines(painter, self._places[edges], colour, self.pixels)
        weights = np.ones(len(self._places))
        if self._weights is not None:
            weights[: len(self._weights)] = self._weights[: len(weights)]
        shades = np.rint(np.clip(weights, 0, 1) * _SHADES).astype(int)
        for shade in range(_SHADES + 1):
            colour = theme.mixed(theme.accent, 0.3 + 0.7 * shade / _SHADES)
            draw_dots(painter, self._places[shades == shade], colour, min(0.5, 6 * pixel))

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        for entry in self.entries:
            entry.colour = self._looks()[entry.name][0]

    def table(self) -> Table:
        changes = np.where(self._new, "new", "").tolist()
        rows = [(a, b, change) for (a, b), change in zip(self._edges.tolist(), changes, strict=True)]
        return ["from", "to", "change"], rows + [(a, b, "gone") for a, b in self._gone.tolist()]
