"""The log at the bottom: messages of runs and of the app, filtered by level and by words."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
)
from PySide6.QtGui import QColor, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from gui.app.theme import Theme

__all__ = ["LogPane", "Record"]

_MOST = 5000
_LEVELS = ("info", "warning", "error")
_TITLES = ("Time", "Run", "Level", "Message")

_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class Record:
    """One message: wall-clock time, title of the run, level, text."""

    at: float
    run: str
    level: str
    message: str

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The columns."""
        return time.strftime("%H:%M:%S", time.localtime(self.at)), self.run, self.level, self.message


class _Model(QAbstractTableModel):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.records: deque[Record] = deque()
        self.theme = theme

    def add(self, record: Record) -> None:
        if len(self.records) >= _MOST:
            self.beginRemoveRows(QModelIndex(), 0, _MOST // 10)
            for _ in range(_MOST // 10 + 1):
                self.records.popleft()
            self.endRemoveRows()
        self.beginInsertRows(QModelIndex(), len(self.records), len(self.records))
        self.records.append(record)
        self.endInsertRows()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.records)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(_TITLES)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return _TITLES[section]
        return None

    def data(self, index: _Index, role: int = 0) -> Any:
        record = self.records[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return record.cells[index.column()]
        if role == Qt.ItemDataRole.ForegroundRole:
            colours = {"error": self.theme.bad, "warning": self.theme.warning}
            if index.column() in (2, 3) and record.level in colours:
                return QColor(colours[record.level])
            if index.column() in (0, 1):
                return QColor(self.theme.muted)
        return None


class _Filter(QSortFilterProxyModel):
    def __init__(self) -> None:
        super().__init__()
        self.level = 0
        self.words = ""

    def filterAcceptsRow(self, row: int, parent: _Index) -> bool:
        record = self.sourceModel().records[row]  # type: ignore[attr-defined]
        if _LEVELS.index(record.level) < self.level:
            return False
        return all(word in f"{record.run} {record.message}".lower() for word in self.words.lower().split())

    def choose(self, level: int, words: str) -> None:
        """Show messages of at least this level that contain all words."""
        self.beginFilterChange()
        self.level, self.words = level, words
        self.endFilterChange()


class LogPane(QWidget):
    """The log with its filter."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("dock")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._model = _Model(theme)
        self._shown = _Filter()
        self._shown.setSourceModel(self._model)
        self.level = QComboBox()
        self.level.addItems(["All messages", "Warnings and errors", "Errors"])
        self.level.setAccessibleName("Minimum level")
        self.filter = QLineEdit()
        self.filter.setPlaceholderText("Filter the log by words")
        self.filter.setClearButtonEnabled(True)
        self.filter.setAccessibleName("Log filter")
        self.view = QTableView()
        self.view.setAccessibleName("Log")
        self.view.setModel(self._shown)
        self.view.setShowGrid(False)
        self.view.setWordWrap(False)
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.view.setTabKeyNavigation(False)
        self.view.verticalHeader().hide()
        self.view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.view.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
        header = self.view.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setStretchLastSection(True)
        for column, width in enumerate((74, 120, 60)):
            self.view.setColumnWidth(column, width)
        row = QHBoxLayout()
        row.setContentsMargins(6, 6, 6, 2)
        row.addWidget(self.level)
        row.addWidget(self.filter, 1)
        column_layout = QVBoxLayout(self)
        column_layout.setContentsMargins(1, 1, 1, 1)
        column_layout.setSpacing(2)
        column_layout.addLayout(row)
        column_layout.addWidget(self.view, 1)
        self.level.currentIndexChanged.connect(self._choose)
        self.filter.textChanged.connect(self._choose)
        copy = QShortcut(
            QKeySequence(QKeySequence.StandardKey.Copy), self.view, context=Qt.ShortcutContext.WidgetShortcut
        )
        copy.activated.connect(self._copy)

    def _choose(self) -> None:
        self._shown.choose(self.level.currentIndex(), self.filter.text())
        self.view.scrollToBottom()

    def add(self, message: str, level: str = "info", run: str = "") -> None:
        """Add a message; the view scrolls if it showed the last one."""
        bar = self.view.verticalScrollBar()
        follow = bar.value() >= bar.maximum() - 2
        self._model.add(Record(time.time(), run, level, message))
        if follow:
            self.view.scrollToBottom()

    def messages(self) -> list[str]:
        """The messages that are shown."""
        return [str(self._shown.index(row, 3).data()) for row in range(self._shown.rowCount())]

    def set_theme(self, theme: Theme) -> None:
        """Colours of the levels."""
        self._model.theme = theme
        self.view.viewport().update()

    def _copy(self) -> None:
        rows = sorted({index.row() for index in self.view.selectionModel().selectedRows()})
        lines = ["\t".join(str(self._shown.index(row, column).data()) for column in range(4)) for row in rows]
        QGuiApplication.clipboard().setText("\n".join(lines))
