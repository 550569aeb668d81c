"""The two sides into which a solution divides the nodes of a graph: a cut, spins, or zeros and ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QPainter

from gui.app.theme import Theme
from gui.pictures.network import NetworkView
from gui.pictures.picture import draw_dots, draw_lines
from gui.plot.tables import Table

_MOST_EDGES = 30_000  # that are drawn


class AssignmentView(NetworkView):
    """A graph whose nodes have one of two colours; edges between the colours are drawn strongly, the others pale."""

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "") -> None:
        self._sides: NDArray[np.bool_] | None = None
        super().__init__(title, unit, theme=theme, key=key)
        self.hint("The graph is shown once there is a solution.")

    def show_sides(self, bits: NDArray[Any]) -> None:
        self._sides = np.asarray(bits).astype(bool)
        cut = int((self._sides[self._edges[:, 0]] != self._sides[self._edges[:, 1]]).sum())
        ones = int(self._sides.sum())
        self.set_unit(f"{ones} of {len(self._sides)} genes at one, {cut} of {len(self._edges)} edges between the sides")
        self.dirty = True

    def _paint_content(self, painter: QPainter) -> None:
        sides = self._sides
        if sides is None or len(sides) != len(self._places):
            return
        theme = self.theme
        pixel = 1.0 / max(1e-12, abs(painter.transform().m11()))
        edges = self._laid_edges
        if len(edges) <= _MOST_EDGES:
            crossing = sides[edges[:, 0]] != sides[edges[:, 1]]
            for chosen, strength in ((edges[~crossing], 0.12), (edges[crossing], 0.45)):
                draw_lines(painter, self._places[chosen], theme.mixed(theme.muted, strength), self.pixels)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        size = min(0.7, 14 * pixel) if len(sides) <= 400 else min(0.7, 6 * pixel)
        for chosen, colour in ((~sides, theme.lines[0]), (sides, theme.lines[1])):
            draw_dots(painter, self._places[chosen], colour, size)

    def table(self) -> Table:
        return ["gene", "bit"], [
            (gene, int(side)) for gene, side in enumerate(self._sides if self._sides is not None else [])
        ]
