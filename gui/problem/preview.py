"""The preview of a problem before it is run: sizes, known optimum, and pictures of the data."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from engine.util.text import value_text
from gui.app.meaning import figure_meaning, tile_meaning
from gui.app.theme import Theme
from gui.app.widgets import text_label
from gui.pictures.board import Board
from gui.plot.area import Cleanup
from gui.plot.charts import Bars, Pixels
from gui.plot.figure import Figure
from gui.plot.legend import FlowLayout
from gui.plot.listing import Listing
from gui.plot.page import Page, Tile
from gui.plot.scatter import ScatterPlot
from gui.problem.estimate import EstimateBox
from gui.problem.preview_data import HeatMap, Placement, Points, PreviewData, Rows, Shares


class Preview(Cleanup, QWidget):
    """Shows a :class:`PreviewData`."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.theme = theme
        self.figures: list[Figure] = []
        self.tiles: list[Tile] = []
        self.title = text_label(kind="big")
        self.description = text_label(kind="muted", wrap=True)
        self.hint = text_label(wrap=True)
        self._strip = QFrame()
        self._strip.setObjectName("strip")
        self._flow = FlowLayout(self._strip, gap=22)
        self._page: Page | None = None
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 14, 18, 10)
        layout.setSpacing(8)
        self.estimate = EstimateBox()
        self.estimate.hide()
        for widget in (self.title, self.description, self._strip, self.hint, self.estimate):
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
        self.estimate.setVisible(data.estimates)
        for name, value in data.numbers:
            tile = Tile(name, self.theme)
            tile.describe(tile_meaning("preview", name))
            tile.show_value(value)
            self.tiles.append(tile)
            self._flow.addWidget(tile)
        self._strip.setVisible(bool(self.tiles))
        self.figures = [_figure(entry, self.theme) for entry in data.figures]
        if self.figures:
            self._page = Page(columns=2)
            for figure in self.figures:
                figure.describe(figure_meaning("preview", figure.title), str)
                self._page.put(figure)
            self._layout.insertWidget(self._layout.indexOf(self._end), self._page, 20)
        for figure in self.figures:
            figure.draw_later()

    def clear(self) -> None:
        self.estimate.close_process()
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
        self.theme = theme
        for tile in self.tiles:
            tile.theme = theme
            tile.update()
        for figure in self.figures:
            figure.set_theme(theme)


def _figure(entry: HeatMap | Points | Shares | Rows | Placement, theme: Theme) -> Figure:
    if isinstance(entry, HeatMap):
        top = float(entry.matrix.max()) if entry.matrix.size else 1.0
        image = Pixels(
            entry.title,
            entry.unit if top <= 1 else f"{entry.unit}, 0 to {value_text(top)}",
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
    if isinstance(entry, Placement):
        board = Board(theme=theme)
        board.show_queens(entry.columns, "one of those that are counted")
        return board
    listing = Listing(entry.title, entry.unit, theme=theme)
    listing.put(entry.headers, entry.rows)
    return listing
