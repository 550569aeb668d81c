"""The runs as a table model, which list and table share: every change is announced."""

import bisect
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QIcon

from gui.app.icons import dot
from gui.app.style import state_colour
from gui.app.theme import Theme
from gui.runs.columns import DEFAULT_COLUMNS, Column, column_named
from gui.runs.notes import RunNote, distinctions

Index = QModelIndex | QPersistentModelIndex
NOTE, SORT = (Qt.ItemDataRole.UserRole + place for place in range(2))


class RunModel(QAbstractTableModel):
    """A row per run, the newest first; rows come and go one by one, so that selections stay with their runs."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[RunNote] = []
        self.columns: list[Column] = [column_named(name) for name in DEFAULT_COLUMNS]
        self.theme: Theme | None = None
        self._distinctions: dict[str, str] | None = None
        self._known: dict[str, tuple[object, ...]] = {}
        self._numeric: dict[str, bool] = {}  # of the columns whose runs decide
        self._dots: dict[str, QIcon] = {}

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.notes)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """The columns that the table shows; the list shows the first."""
        return 0 if parent.isValid() else len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation == Qt.Orientation.Horizontal and 0 <= section < len(self.columns):
            if role == Qt.ItemDataRole.DisplayRole:
                return self.columns[section].title
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return self._alignment(self.columns[section])
        return None

    def data(self, index: Index, role: int = 0) -> Any:
        if not index.isValid():
            return None
        note, column = self.notes[index.row()], self.columns[index.column()]
        if role == NOTE:
            return note
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole) and column.name == "title":
            return self.full_title(note)
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return column.text(note)
        if role == SORT:
            return column.value(note)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._alignment(column)
        if role == Qt.ItemDataRole.DecorationRole and column.name == "title":
            if note.colour not in self._dots:
                self._dots[note.colour] = QIcon(dot(note.colour))
            return self._dots[note.colour]
        if role == Qt.ItemDataRole.ForegroundRole and column.name == "state" and self.theme is not None:
            return QColor(state_colour(self.theme, note.state, len(note.warnings)))
        return None

    def distinction(self, note: RunNote) -> str:
        """By what a run differs from others of its title; empty if it has the title alone."""
        if self._distinctions is None:
            self._distinctions = distinctions(self.notes)
            self._known = {one.key: _identity_of(one) for one in self.notes}
        return self._distinctions.get(note.key, "")

    def full_title(self, note: RunNote) -> str:
        """The title of a run, and by what it differs from others of this title; it changes when others come or go."""
        differs = self.distinction(note)
        return f"{note.title}  {differs}" if differs else note.title

    def row_of(self, note: RunNote) -> int:
        """The row of a run; -1 if it is not there."""
        return next((row for row, other in enumerate(self.notes) if other is note), -1)

    def add(self, note: RunNote) -> None:
        """Insert a run by its date, before those of the same date."""
        row = bisect.bisect_left(self.notes, -note.created, key=lambda other: -other.created)
        self.beginInsertRows(QModelIndex(), row, row)
        self.notes.insert(row, note)
        self._forget()
        self.endInsertRows()

    def remove(self, note: RunNote) -> None:
        row = self.row_of(note)
        if row >= 0:
            self.beginRemoveRows(QModelIndex(), row, row)
            del self.notes[row]
            self._forget()
            self.endRemoveRows()

    def clear(self) -> None:
        self.beginResetModel()
        self.notes.clear()
        self._forget()
        self.endResetModel()

    def update(self, note: RunNote) -> None:
        """Report that what is known of a run has changed."""
        row = self.row_of(note)
        if row >= 0:
            if self._known.get(note.key) != _identity_of(note):
                self._forget()
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(self.columns) - 1))

    def show_columns(self, columns: Sequence[Column]) -> None:
        kept, last = self.columns[0], len(self.columns) - 1
        if last > 0:
            self.beginRemoveColumns(QModelIndex(), 1, last)
            self.columns = [kept]
            self.endRemoveColumns()
        self.columns = [columns[0]]
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, 0)
        if self.notes:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.notes) - 1, 0))
        if len(columns) > 1:
            self.beginInsertColumns(QModelIndex(), 1, len(columns) - 1)
            self.columns = list(columns)
            self.endInsertColumns()

    def _forget(self) -> None:
        """Leave what depends on all runs to be found again when it is asked for."""
        self._distinctions = None
        self._numeric.clear()

    def _alignment(self, column: Column) -> int:
        """Numbers at the right; an option is a number if all runs that have it have a number there."""
        numeric = column.numeric
        if numeric is None and (numeric := self._numeric.get(column.name)) is None:
            kinds = {type(value) for note in self.notes if (value := column.value(note)) is not None}
            numeric = self._numeric[column.name] = bool(kinds) and kinds <= {int, float}
        side = Qt.AlignmentFlag.AlignRight if numeric else Qt.AlignmentFlag.AlignLeft
        return int(side | Qt.AlignmentFlag.AlignVCenter)


def _identity_of(note: RunNote) -> tuple[object, ...]:
    """What changes when what a run differs in may have changed."""
    return note.title, note.seed, len(note.used)
