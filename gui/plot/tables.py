"""Tables whose rows are replaced as a whole, sorting by column, and the text of cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QWidget

from engine.util.text import bytes_text

__all__ = ["ByteCount", "Table", "TableModel", "cell_text"]

Table = tuple[list[str], Sequence[Sequence[Any]]]
"""Column headers and rows; a cell is a number, a text, or None."""


class TableModel(QAbstractTableModel):
    """A table that is replaced as a whole."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._headers: list[str] = []
        self._rows: Sequence[Sequence[Any]] = []
        self._sorted_by: tuple[int, Qt.SortOrder] = (-1, Qt.SortOrder.AscendingOrder)

    def show(self, table: Table) -> None:
        """Replace headers and rows; they are sorted as those before were."""
        self.beginResetModel()
        self._headers, self._rows = table
        self._sort()
        self.endResetModel()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        """Rows of the table."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        """Columns of the table."""
        return 0 if parent.isValid() else len(self._headers)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text of a cell, numbers to the right."""
        value = self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return cell_text(value)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if isinstance(value, str) else Qt.AlignmentFlag.AlignRight
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; missing values come last."""
        self._sorted_by = column, order
        self.layoutAboutToBeChanged.emit()
        self._sort()
        self.layoutChanged.emit()

    def _sort(self) -> None:
        column, order = self._sorted_by
        if not 0 <= column < len(self._headers):
            return
        there = [row for row in self._rows if not _is_missing(row[column])]
        missing = [row for row in self._rows if _is_missing(row[column])]
        descending = order == Qt.SortOrder.DescendingOrder
        self._rows = sorted(there, key=lambda row: _rank(row[column]), reverse=descending) + missing

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Names of columns, numbers of rows."""
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return self._headers[section] if orientation == Qt.Orientation.Horizontal else section + 1


def _is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, or a number that is not one."""
    return value is None or value != value


def _rank(value: Any) -> tuple[bool, Any]:
    """What a cell is sorted by: numbers by size, then texts by alphabet."""
    return isinstance(value, str), value


class ByteCount(int):
    """A number of bytes: sorted and copied as a number, shown with its unit."""


def cell_text(value: Any) -> str:
    """The text of a cell."""
    if value is None:
        return ""
    if isinstance(value, ByteCount):
        return bytes_text(value)
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return str(value)
