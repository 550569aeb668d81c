"""Tables whose rows are replaced as a whole, sorting by column, and the text of cells."""

import math
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSortFilterProxyModel, Qt
from PySide6.QtWidgets import QWidget

from engine.util.text import bytes_text

Index = QModelIndex | QPersistentModelIndex

Table = tuple[list[str], Sequence[Sequence[Any]]]
"""Column headers and rows; a cell is a number, a text, or None."""


class TableModel(QAbstractTableModel):
    """A table that is replaced as a whole."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._headers: list[str] = []
        self._rows: Sequence[Sequence[Any]] = []

    def show(self, table: Table) -> None:
        self.beginResetModel()
        self._headers, self._rows = table
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._headers)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text of a cell, numbers to the right; its value for the role of the user."""
        value = self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.UserRole:
            return value
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return cell_text(value)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if isinstance(value, str) else Qt.AlignmentFlag.AlignRight
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return self._headers[section] if orientation == Qt.Orientation.Horizontal else section + 1


class SortedRows(QSortFilterProxyModel):
    """The rows that have all words of a filter, sorted by a column: numbers by size, then texts, then empty cells."""

    words = ""

    def choose(self, words: str) -> None:
        self.beginFilterChange()
        self.words = words.lower()
        self.endFilterChange()

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        model = self.sourceModel()
        texts = (str(model.index(row, column).data()).lower() for column in range(model.columnCount()))
        text = " ".join(texts) if self.words else ""
        return all(word in text for word in self.words.split())

    def lessThan(self, left: Index, right: Index) -> bool:
        """Empty cells are last in both directions."""
        one, other = (_rank(index.data(Qt.ItemDataRole.UserRole)) for index in (left, right))
        if one[0] == _EMPTY or other[0] == _EMPTY:
            return (one[0] < other[0]) == (self.sortOrder() == Qt.SortOrder.AscendingOrder)
        return one < other


_EMPTY = 2


def _rank(value: Any) -> tuple[int, Any]:
    if value is None or value != value:
        return _EMPTY, 0
    return int(isinstance(value, str)), value


class ByteCount(int):
    """A number of bytes: sorted and copied as a number, shown with its unit."""


def cell_text(value: Any) -> str:
    """The text of a cell."""
    if value is None:
        return ""
    if isinstance(value, ByteCount):
        return bytes_text(value)
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        whole = abs(value) >= 1e5 or value == int(value)
        return f"{value:,.0f}" if whole else f"{value:#,.5g}".removesuffix(".")
    return str(value)
