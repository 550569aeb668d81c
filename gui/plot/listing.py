"""Tables without a picture, sorted and filtered."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel, QLineEdit

from gui.app.theme import Theme
from gui.plot.figure import Figure
from gui.plot.tables import SortedRows, Table

_LONG = 30  # rows
_WIDEST = 0.4  # of the table, for its widest column where not all columns are seen


class Listing(Figure):
    """A table without a picture, sorted by a press on a column's head; a long one can be searched."""

    def __init__(self, title: str, unit: str = "", *, theme: Theme, key: str = "", empty: str = "") -> None:
        self._content: Table = ([], [])
        super().__init__(title, unit, theme=theme, key=key)
        self.show_data(True)
        self.data_button.hide()
        assert self._table is not None
        self._sorted = SortedRows(self)
        self._sorted.setSourceModel(self._model)
        self._table.setModel(self._sorted)
        self._table.setSortingEnabled(True)
        self.filter = QLineEdit(placeholderText="Search", clearButtonEnabled=True)
        self.filter.setAccessibleName(f"Search in {title}")
        self.filter.setMaximumWidth(140)
        self.filter.hide()
        self.filter.textChanged.connect(self._sorted.choose)
        self._head.insertWidget(1, self.filter)
        self._table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self._empty = QLabel(empty, self._table, wordWrap=True)
        self._empty.setObjectName("hint")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setVisible(bool(empty))

    @property
    def pictured(self) -> bool:
        """A table alone."""
        return False

    def put(self, headers: list[str], rows: Sequence[Sequence[Any]]) -> None:
        first = not self._content[1]
        self._content = (headers, rows)
        self._empty.setVisible(not rows and bool(self._empty.text()))
        self._model.show(self._content)
        self.filter.setVisible(len(rows) > _LONG)
        if first and rows:
            self.fit_columns()

    def explain(self, text: str) -> None:
        self._empty.setText(text)
        self._empty.setVisible(bool(text) and not self._content[1])

    def fit_columns(self) -> None:
        """Make the columns as wide as their heads and first rows need; the widest leaves room for the others."""
        if self._table is not None:
            header = self._table.horizontalHeader()
            header.setResizeContentsPrecision(40)
            self._table.resizeColumnsToContents()
            widest = max(range(header.count()), key=header.sectionSize)
            room = self._table.viewport().width()
            spare = max(header.sectionSize(widest) - max(0, header.length() - room), int(_WIDEST * room))
            header.resizeSection(widest, min(header.sectionSize(widest), spare))

    def table(self) -> Table:
        return self._content

    def to_image(self, scale: float = 2.0, size: QSize | None = None) -> QImage:
        """The part of the table that is seen."""
        return self.grab().toImage()

    def resizeEvent(self, event: Any) -> None:
        super().resizeEvent(event)
        if self._table is not None and hasattr(self, "_empty"):
            self._empty.setGeometry(self._table.rect())
