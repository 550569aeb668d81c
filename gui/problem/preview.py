"""The preview of a problem before it is run: sizes, best known value, and pictures of the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from engine.problem import Problem
from engine.text import value_text
from gui.app.theme import Theme
from gui.plot.area import Cleanup
from gui.plot.charts import Bars, Pixels
from gui.plot.figure import Figure
from gui.plot.legend import FlowLayout
from gui.plot.listing import Listing
from gui.plot.page import Page, Tile
from gui.plot.scatter import ScatterPlot

__all__ = ["HeatMap", "Points", "Preview", "PreviewData", "Rows", "Shares", "preview_data"]

Floats = NDArray[np.float64]
_MOST_CELLS, _MOST_POINTS, _MOST_FEATURES = 400, 5000, 2000


@dataclass(frozen=True)
class HeatMap:
    """A matrix to be shown as an image; ``unit`` says what its values are."""

    title: str
    unit: str
    matrix: Floats
    across: str
    down: str


@dataclass(frozen=True)
class Points:
    """Points to be shown in the plane."""

    title: str
    unit: str
    x: Floats
    y: Floats
    x_title: str
    y_title: str


@dataclass(frozen=True)
class Shares:
    """Shares of a whole, from 0 to 1, by name."""

    title: str
    values: dict[str, float]


@dataclass(frozen=True)
class Rows:
    """A table."""

    title: str
    unit: str
    headers: list[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class PreviewData:
    """What a preview shows; made on another thread.

    Attributes
    ----------
    numbers : list of (str, str)
        Names and values of the sizes, and the best known value where the instance has one.
    figures : list
        :class:`HeatMap`, :class:`Points`, :class:`Shares` and :class:`Rows`.
    """

    title: str
    description: str
    numbers: list[tuple[str, str]] = field(default_factory=list)
    figures: list[HeatMap | Points | Shares | Rows] = field(default_factory=list)


def preview_data(problem: Problem) -> PreviewData:
    """Sizes and pictures of a problem; a problem without pictures of its own has its description only."""
    data = PreviewData(problem.name, problem.describe())
    make = _MAKERS.get(type(problem).__name__)
    if make is not None:
        make(problem, data)
    best = getattr(problem, "optimum", None)
    if isinstance(best, (int, float)) and math.isfinite(best):
        data.numbers.append(("Best known value", value_text(best)))
    return data


def _blocks(matrix: NDArray[Any]) -> Floats:
    """Means over blocks, so that neither side has more than 400."""
    rows, columns = (max(1, -(-size // _MOST_CELLS)) for size in matrix.shape)
    if rows == columns == 1:
        return np.asarray(matrix, float)
    summed = np.add.reduceat(np.asarray(matrix, float), np.arange(0, matrix.shape[0], rows), axis=0)
    summed = np.add.reduceat(summed, np.arange(0, matrix.shape[1], columns), axis=1)
    heights = np.diff(np.append(np.arange(0, matrix.shape[0], rows), matrix.shape[0]))
    widths = np.diff(np.append(np.arange(0, matrix.shape[1], columns), matrix.shape[1]))
    return np.asarray(summed / (heights[:, None] * widths))


def _flowshop(problem: Any, data: PreviewData) -> None:
    machines, jobs = problem.times.shape
    data.numbers.extend(
        [
            ("Jobs", value_text(jobs)),
            ("Machines", value_text(machines)),
            *_range("Processing time", problem.times),
        ]
    )
    data.figures.append(HeatMap("Processing times", "time units", _blocks(problem.times), "job", "machine"))


def _atsp(problem: Any, data: PreviewData) -> None:
    off = ~np.eye(len(problem.costs), dtype=bool)
    data.numbers.extend([("Cities", value_text(len(problem.costs))), *_range("Cost", problem.costs[off])])
    costs = np.where(off, problem.costs, 0)
    data.figures.append(HeatMap("Cost matrix", "cost", _blocks(costs), "to city", "from city"))


def _queens(problem: Any, data: PreviewData) -> None:
    data.numbers.append(("Board", f"{problem.n} × {problem.n}"))


def _knapsack(problem: Any, data: PreviewData) -> None:
    total = int(problem.weights.sum())
    share = f"{100 * problem.capacity / total:.3g} % of all weights" if total else "–"
    data.numbers.extend(
        [
            ("Items", value_text(problem.n)),
            ("Capacity", value_text(problem.capacity)),
            ("Capacity is", share),
        ]
    )
    if hasattr(problem, "class_count"):
        data.numbers.append(("Classes", value_text(problem.class_count)))
    _items(problem, problem.weights, data)


def _two_constraints(problem: Any, data: PreviewData) -> None:
    capacities = " and ".join(value_text(capacity) for capacity in problem.capacities)
    data.numbers.extend([("Items", value_text(problem.n)), ("Capacities", capacities)])
    _items(problem, problem.weights[0], data)


def _items(problem: Any, weights: NDArray[np.int64], data: PreviewData) -> None:
    """Ranges and pictures of the items; of two constraints, those of the first."""
    profits = problem.profits if problem.scale == 1 else problem.profits / problem.scale
    data.numbers.extend([*_range("Weight", weights), *_range("Profit", profits)])
    step = max(1, -(-problem.n // _MOST_POINTS))
    shown = "items" if step == 1 else f"every {step}th of {value_text(problem.n)} items"
    x, y = weights[::step].astype(float), profits[::step].astype(float)
    data.figures.append(Points("Profits against weights", shown, x, y, "weight", "profit"))
    efficiency = np.sort(profits / np.maximum(weights, 1))[::-1][::step]
    rank = np.arange(0, problem.n, step, dtype=float)
    data.figures.append(Points("Profit per weight", "sorted", rank, efficiency, "item, by rank", "profit / weight"))


def _probit(problem: Any, data: PreviewData) -> None:
    rows, features = problem.X.shape
    positive = float(np.mean(np.asarray(problem.y) > 0))
    data.numbers.extend([("Observations", value_text(rows)), ("Features", value_text(features))])
    data.figures.append(Shares("Class balance", {"y = 1": positive, "y = 0": 1 - positive}))
    shown = min(features, _MOST_FEATURES)
    columns = problem.X[:, :shown]
    columns = columns.toarray() if hasattr(columns, "toarray") else columns
    low, high = columns.min(axis=0), columns.max(axis=0)
    mean, deviation = columns.mean(axis=0, dtype=float), columns.std(axis=0, dtype=float)
    parts = (part.astype(float).tolist() for part in (mean, deviation, low, high))
    table = zip(problem.names[:shown], *parts, strict=True)
    unit = value_text(features) if shown == features else f"the first {value_text(shown)} of {value_text(features)}"
    data.figures.append(Rows("Features", unit, ["feature", "mean", "sd", "least", "largest"], list(table)))


def _linear_program(problem: Any, data: PreviewData) -> None:
    matrix = problem.A.tocoo()
    data.numbers.extend(
        [
            ("Variables", value_text(problem.n)),
            ("Constraints", value_text(problem.m)),
            ("Nonzeros", value_text(matrix.nnz)),
            ("Density", f"{100 * matrix.nnz / max(1, problem.n * problem.m):.3g} %"),
        ]
    )
    shape = tuple(max(1, min(_MOST_CELLS, size)) for size in matrix.shape)
    row = matrix.row.astype(np.int64) * shape[0] // max(1, matrix.shape[0])
    column = matrix.col.astype(np.int64) * shape[1] // max(1, matrix.shape[1])
    counts = np.bincount(row * shape[1] + column, minlength=shape[0] * shape[1]).reshape(shape)
    unit = "nonzeros" if shape == matrix.shape else "nonzeros in blocks of rows and columns"
    pattern = np.minimum(1.0, counts / max(1.0, np.quantile(counts[counts > 0], 0.9) if counts.any() else 1.0))
    scale = (
        f"variable{'' if shape[1] == problem.n else ' (blocks)'}",
        f"row{'' if shape[0] == problem.m else ' (blocks)'}",
    )
    data.figures.append(HeatMap("Sparsity pattern", unit, pattern, *scale))


def _boa(problem: Any, data: PreviewData) -> None:
    data.numbers.append(("Genes", value_text(problem.n)))


_MAKERS: dict[str, Callable[[Any, PreviewData], None]] = {
    "Flowshop": _flowshop,
    "ATSP": _atsp,
    "Queens": _queens,
    "Knapsack": _knapsack,
    "MultipleChoiceKnapsack": _knapsack,
    "TwoConstraintKnapsack": _two_constraints,
    "HorseshoeProbit": _probit,
    "LinearProgram": _linear_program,
    "BOA": _boa,
}


def _range(name: str, values: NDArray[Any]) -> list[tuple[str, str]]:
    if not values.size:
        return []
    return [(f"{name}s", f"{value_text(values.min().item())} to {value_text(values.max().item())}")]


class Preview(Cleanup, QWidget):
    """Shows a :class:`PreviewData`."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.theme = theme
        self.figures: list[Figure] = []
        self.tiles: list[Tile] = []
        self.title = QLabel()
        self.title.setObjectName("big")
        self.description = QLabel()
        self.description.setObjectName("muted")
        self.description.setWordWrap(True)
        self.hint = QLabel()
        self.hint.setWordWrap(True)
        self._strip = QFrame()
        self._strip.setObjectName("strip")
        self._flow = FlowLayout(self._strip, gap=22)
        self._page: Page | None = None
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 14, 18, 10)
        layout.setSpacing(8)
        for widget in (self.title, self.description, self._strip, self.hint):
            layout.addWidget(widget)
        self._end = QWidget()
        layout.addWidget(self._end, 1)
        self._layout = layout

    def show_data(self, data: PreviewData, run_key: str) -> None:
        """Replace what is shown; ``run_key`` is the shortcut that runs the problem."""
        self.clear()
        self.title.setText(data.title)
        self.description.setText(data.description)
        self.hint.setText(f"Press Run ({run_key}) to solve it with the options at the left.")
        for name, value in data.numbers:
            tile = Tile(name, self.theme)
            tile.show_value(value)
            self.tiles.append(tile)
            self._flow.addWidget(tile)
        self._strip.setVisible(bool(self.tiles))
        self.figures = [_figure(entry, self.theme) for entry in data.figures]
        if self.figures:
            self._page = Page(columns=2)
            for figure in self.figures:
                self._page.put(figure)
            self._layout.insertWidget(self._layout.indexOf(self._end), self._page, 20)
        for figure in self.figures:
            figure.draw_later()

    def clear(self) -> None:
        """Remove what is shown."""
        while (item := self._flow.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.tiles.clear()
        self.figures.clear()
        if self._page is not None:
            self._layout.removeWidget(self._page)
            for area in self._page.findChildren(Figure):
                area.cleanup()
            self._page.deleteLater()
            self._page = None

    def set_theme(self, theme: Theme) -> None:
        """Change all colours."""
        self.theme = theme
        for tile in self.tiles:
            tile.theme = theme
            tile.update()
        for figure in self.figures:
            figure.set_theme(theme)


def _figure(entry: HeatMap | Points | Shares | Rows, theme: Theme) -> Figure:
    if isinstance(entry, HeatMap):
        top = float(entry.matrix.max()) if entry.matrix.size else 1.0
        image = Pixels(
            entry.title,
            f"{entry.unit}, 0 to {value_text(top)}",
            theme=theme,
            across=entry.across,
            down=entry.down,
        )
        image.show_matrix(entry.matrix, top=top or 1.0)
        return image
    if isinstance(entry, Points):
        plot = ScatterPlot(entry.title, entry.unit, theme=theme, x_title=entry.x_title, y_title=entry.y_title)
        plot.set_points(entry.x, entry.y)
        return plot
    if isinstance(entry, Shares):
        bars = Bars(entry.title, theme=theme)
        for place, (name, share) in enumerate(entry.values.items()):
            bars.put(name, share, theme.colour(place))
        return bars
    listing = Listing(entry.title, entry.unit, theme=theme)
    listing.put(entry.headers, entry.rows)
    return listing
