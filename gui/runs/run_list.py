"""The list of runs at the right: two lines for each run, with state, best value, bound, gap, time and colour."""

from __future__ import annotations

import time
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, QSortFilterProxyModel, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QPainter, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLabel,
    QLineEdit,
    QListView,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from engine.util.text import counted, gap_text, seconds_text, value_text
from gui.app.style import state_colour
from gui.app.theme import Theme
from gui.runs.library import Library
from gui.runs.model import DISTINCTION, NOTE, Index
from gui.runs.notes import RunNote
from gui.runs.view import state_text


def accessible_text(note: RunNote) -> str:
    """A run in one sentence, for screen readers."""
    return (
        f"{note.title}, {state_text(note.state, len(note.warnings))}, "
        f"best {value_text(note.best)}, bound {value_text(note.bound)}, "
        f"gap {gap_text(note.gap)}, {seconds_text(note.seconds)}"
    )


class _Delegate(QStyledItemDelegate):
    """Draws a run: a bar in its colour, its title and state; below them its numbers."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, 2 * QFontMetrics(option.font).height() + 16)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        note: RunNote = index.data(NOTE)
        theme = self.theme
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        box: QRect = option.rect
        painter.save()
        if selected:
            painter.fillRect(box, QColor(theme.mixed(theme.accent, 0.22)))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(box, QColor(theme.mixed(theme.accent, 0.09)))
        painter.setPen(QColor(theme.grid))
        painter.drawLine(box.bottomLeft(), box.bottomRight())
        painter.fillRect(QRect(box.left(), box.top() + 6, 4, box.height() - 12), QColor(note.colour))
        inner = box.adjusted(13, 7, -9, -8)
        line = inner.height() // 2
        bold = QFont(option.font)
        bold.setBold(True)
        state = state_text(note.state, len(note.warnings))
        small = QFont(option.font)
        small.setPointSizeF(option.font.pointSizeF() * 0.9)
        state_width = QFontMetrics(small).horizontalAdvance(state)
        top = QRect(inner.left(), inner.top(), inner.width(), line)
        painter.setFont(small)
        painter.setPen(QColor(state_colour(theme, note.state, len(note.warnings))))
        painter.drawText(top, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, state)
        painter.setFont(bold)
        painter.setPen(option.palette.color(QPalette.ColorRole.Text))
        room = inner.width() - state_width - 10
        differs: str = index.data(DISTINCTION)
        differs = QFontMetrics(small).elidedText(differs, Qt.TextElideMode.ElideRight, room // 2)
        room -= QFontMetrics(small).horizontalAdvance(differs) + 8 if differs else 0
        title = QFontMetrics(bold).elidedText(note.title, Qt.TextElideMode.ElideMiddle, room)
        painter.drawText(top, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, title)
        painter.setFont(small)
        top.setLeft(top.left() + QFontMetrics(bold).horizontalAdvance(title) + 8)
        painter.drawText(top, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, differs)
        painter.setFont(small)
        painter.setPen(QColor(theme.muted))
        under = QRect(inner.left(), inner.top() + line + 2, inner.width(), line)
        seconds = seconds_text(note.seconds)
        painter.drawText(under, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, seconds)
        room = inner.width() - QFontMetrics(small).horizontalAdvance(seconds) - 10
        numbers = QFontMetrics(small).elidedText(_numbers(note), Qt.TextElideMode.ElideRight, room)
        painter.drawText(under, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, numbers)
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QColor(theme.accent))
            painter.drawRect(box.adjusted(0, 0, -1, -2))
        painter.restore()


def _numbers(note: RunNote) -> str:
    if note.best is None and note.bound is None:
        return note.message.splitlines()[0] if note.message else note.problem.partition(": ")[2] or note.solver
    parts = [value_text(note.best)]
    if note.gap is not None:
        parts.append(f"gap {gap_text(note.gap)}")
    if note.bound is not None and value_text(note.bound) != parts[0]:  # the last, where a narrow list is cut
        parts.append(f"bound {value_text(note.bound)}")
    return "  ·  ".join(parts)


class _Filter(QSortFilterProxyModel):
    """The list's rows, of the first column: what each shows and says of its run."""

    words = ""

    def data(self, index: Index, role: int = 0) -> Any:
        note: RunNote | None = super().data(index, NOTE)
        if note is None or role == NOTE:
            return note
        if role == DISTINCTION:
            return super().data(index, DISTINCTION)
        if role == Qt.ItemDataRole.DisplayRole:
            return note.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return accessible_text(note)
        if role == Qt.ItemDataRole.ToolTipRole:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(note.created))
            lines = [note.problem, f"{note.solver}, {when}", note.folder, note.message, *note.warnings]
            return "\n".join(line for line in lines if line)
        return None

    def filterAcceptsColumn(self, column: int, parent: Index) -> bool:
        return column == 0

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        note = self.sourceModel().notes[row]  # type: ignore[attr-defined]
        text = f"{note.title} {note.problem} {note.solver} {state_text(note.state)}".lower()
        return all(word in text for word in self.words.lower().split())

    def choose(self, words: str) -> None:
        """Show the runs that have all the words."""
        self.beginFilterChange()
        self.words = words
        self.endFilterChange()


class _View(QListView):
    activated_by_key = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter opens, on every platform."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.activated_by_key.emit()
        else:
            super().keyPressEvent(event)


class RunList(QWidget):
    """The list with its filter.

    Signals: ``open_requested()`` when the selected runs are to be shown; ``selection_changed()``;
    ``menu_requested(point)`` when the context menu is requested, at a global point.
    """

    open_requested = Signal()
    selection_changed = Signal()
    menu_requested = Signal(QPoint)

    def __init__(self, library: Library, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("dock")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._model = library.model
        self._shown = _Filter()
        self._shown.setSourceModel(self._model)
        self.filter = QLineEdit()
        self.filter.setPlaceholderText("Filter runs")
        self.filter.setClearButtonEnabled(True)
        self.filter.setAccessibleName("Filter of the run list")
        self.view = _View()
        self.view.setAccessibleName("Runs")
        self.view.setModel(self._shown)
        self._delegate = _Delegate(theme, self.view)
        self.view.setItemDelegate(self._delegate)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view.setMouseTracking(True)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.empty = QLabel("Runs are listed here.\nChoose a problem and press Run.")
        self.empty.setObjectName("muted")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(4)
        top = QVBoxLayout()
        top.setContentsMargins(6, 6, 6, 0)
        self.held = QPushButton()
        self.held.setToolTip("Start queued runs again")
        self.held.hide()
        top.addWidget(self.held)
        top.addWidget(self.filter)
        layout.addLayout(top)
        layout.addWidget(self.empty, 1)
        layout.addWidget(self.view, 1)
        self.filter.textChanged.connect(self._shown.choose)
        self.view.doubleClicked.connect(lambda _index: self.open_requested.emit())
        self.view.activated_by_key.connect(self.open_requested)
        self.view.selectionModel().selectionChanged.connect(lambda *_: self.selection_changed.emit())
        self.view.customContextMenuRequested.connect(
            lambda at: self.menu_requested.emit(self.view.viewport().mapToGlobal(at))
        )
        for changed in (self._model.rowsInserted, self._model.rowsRemoved, self._model.modelReset):
            changed.connect(self._show_emptiness)
        self._show_emptiness()

    def selected(self) -> list[RunNote]:
        """The runs that are selected, in the order of the list."""
        rows = sorted(index.row() for index in self.view.selectionModel().selectedIndexes())
        return [self._shown.index(row, 0).data(NOTE) for row in rows]

    def select(self, *notes: RunNote) -> None:
        """Select these runs alone."""
        self.view.clearSelection()
        for note in notes:
            index = self._shown.mapFromSource(self._model.index(self._model.row_of(note), 0))
            if index.isValid():
                self.view.selectionModel().select(index, self.view.selectionModel().SelectionFlag.Select)
                self.view.selectionModel().setCurrentIndex(index, self.view.selectionModel().SelectionFlag.NoUpdate)
                self.view.scrollTo(index)

    def update_run(self, note: RunNote) -> None:
        """Show the new numbers of a run, here and in other views of the runs."""
        self._model.update(note)

    def show_held(self, waiting: int | None) -> None:
        """Show that the queue is held, and how many runs wait in it; None if it is not."""
        self.held.setVisible(waiting is not None)
        self.held.setText(f"The queue is held, {counted(waiting or 0, 'run')} in it. Release")

    def show_reading(self, reading: bool) -> None:
        """Show whether there are runs that are not listed yet."""
        self.filter.setPlaceholderText("Reading more runs…" if reading else "Filter runs")

    def count(self) -> int:
        """How many runs are shown."""
        return self._shown.rowCount()

    def set_theme(self, theme: Theme) -> None:
        """Colours of the list."""
        self._delegate.theme = theme
        self.view.viewport().update()

    def _show_emptiness(self) -> None:
        self.empty.setVisible(not self._model.notes)
        self.view.setVisible(bool(self._model.notes))

    def changeEvent(self, event: QEvent) -> None:
        """Rows grow with the font."""
        if event.type() == QEvent.Type.FontChange:
            self.view.doItemsLayout()
        super().changeEvent(event)
