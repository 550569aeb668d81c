"""The log at the bottom: messages of runs and of the app, filtered by level and by words."""

import time
from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSortFilterProxyModel, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QKeySequence, QShortcut, QStandardItem, QStandardItemModel
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
from gui.app.widgets import filled

_MOST = 5000
_LEVELS = ("info", "warning", "error")
_TITLES = ("Time", "Run", "Level", "Message")


class _Filter(QSortFilterProxyModel):
    def __init__(self) -> None:
        super().__init__()
        self.level = 0
        self.words = ""

    def filterAcceptsRow(self, row: int, parent: QModelIndex | QPersistentModelIndex) -> bool:
        _, run, level, message = (str(self.sourceModel().index(row, column).data()) for column in range(4))
        if _LEVELS.index(level) < self.level:
            return False
        return all(word in f"{run} {message}".lower() for word in self.words.lower().split())

    def choose(self, level: int, words: str) -> None:
        """Show messages of at least this level that contain all words."""
        self.beginFilterChange()
        self.level, self.words = level, words
        self.endFilterChange()


class LogPane(QWidget):
    """The log with its filter; ``reported(message)`` for an error that nobody sees, as the log is hidden."""

    reported = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("dock")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.theme = theme
        self._model = QStandardItemModel(0, len(_TITLES))
        self._model.setHorizontalHeaderLabels(_TITLES)
        self._shown = _Filter()
        self._shown.setSourceModel(self._model)
        self.level = QComboBox()
        self.level.addItems(["All messages", "Warnings and errors", "Errors"])
        self.level.setAccessibleName("Minimum level")
        self.filter = QLineEdit(placeholderText="Filter the log by words", clearButtonEnabled=True)
        self.filter.setAccessibleName("Log filter")
        self.view = QTableView(showGrid=False, wordWrap=False)
        self.view.setAccessibleName("Log")
        self.view.setModel(self._shown)
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
        row = filled(QHBoxLayout(), self.level, (self.filter, 1), margins=(6, 6, 6, 2))
        filled(QVBoxLayout(self), row, (self.view, 1), margins=(1, 1, 1, 1), spacing=2)
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
        if self._model.rowCount() >= _MOST:
            self._model.removeRows(0, _MOST // 10)
        items = [QStandardItem(text) for text in (time.strftime("%H:%M:%S"), run, level, message)]
        for item in items:
            item.setEditable(False)
            item.setToolTip(item.text())
        self._colour(items)
        self._model.appendRow(items)
        if level == "error" and not self.isVisible():
            self.reported.emit(message)
        if follow:
            self.view.scrollToBottom()

    def messages(self) -> list[str]:
        return [str(self._shown.index(row, 3).data()) for row in range(self._shown.rowCount())]

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        for row in range(self._model.rowCount()):
            self._colour([self._model.item(row, column) for column in range(len(_TITLES))])

    def _colour(self, items: Sequence[QStandardItem]) -> None:
        said = {"error": self.theme.bad, "warning": self.theme.warning}.get(items[2].text(), self.theme.text)
        for item, colour in zip(items, (self.theme.muted, self.theme.muted, said, said), strict=True):
            item.setForeground(QColor(colour))

    def _copy(self) -> None:
        rows = sorted({index.row() for index in self.view.selectionModel().selectedRows()})
        lines = ["\t".join(str(self._shown.index(row, column).data()) for column in range(4)) for row in rows]
        QGuiApplication.clipboard().setText("\n".join(lines))
