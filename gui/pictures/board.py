"""A chessboard with one placement of queens."""

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter

from gui.app.theme import Theme
from gui.plot.charts import Picture, draw_text
from gui.plot.legend import small_font
from gui.plot.tables import Table


def queens_placement(n: int) -> list[int] | None:
    """Columns of n queens, row by row (Hoffman, Loessi and Moore 1969); None where there are none."""
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

    def __init__(self, theme: Theme) -> None:
        self._columns: list[int] = []
        super().__init__("A placement", theme=theme, key="board")

    def populate(self) -> None:
        super().populate()
        self.bare()
        self.plot.getViewBox().invertY(True)

    def show_queens(self, columns: list[int], remark: str) -> None:
        self._columns = columns
        self.unit = remark
        self.set_theme(self.theme)

    def redraw(self) -> None:
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
        return ["row", "column"], list(enumerate(self._columns))
