"""The list of runs at the right: two lines for each run or sweep, with state, best value, bound, gap, time, colour."""

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, QSortFilterProxyModel, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QPainter, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLineEdit,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from engine.util.text import counted, seconds_text
from gui.app.style import state_colour
from gui.app.theme import Theme
from gui.app.widgets import filled, text_label
from gui.runs.library import Library
from gui.runs.model import NOTE, Index
from gui.runs.notes import RunNote
from gui.runs.tree import ROW, RUNS, Row, RunTree
from gui.runs.view import state_text

_LEFT, _RIGHT = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight


class _Delegate(QStyledItemDelegate):
    """Draws a run: a bar in its colour, its title and state; below them its numbers."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, 2 * QFontMetrics(option.font).height() + 16)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: Row = index.data(ROW)
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
        painter.fillRect(QRect(box.left(), box.top() + 6, 4, box.height() - 12), QColor(row.colour or theme.muted))
        inner = box.adjusted(13, 7, -9, -8)
        line = inner.height() // 2
        bold, small = QFont(option.font), QFont(option.font)
        bold.setBold(True)
        small.setPointSizeF(option.font.pointSizeF() * 0.9)
        wide, narrow = QFontMetrics(bold), QFontMetrics(small)
        left, right = (side | Qt.AlignmentFlag.AlignVCenter for side in (_LEFT, _RIGHT))
        top = QRect(inner.left(), inner.top(), inner.width(), line)
        painter.setFont(small)
        painter.setPen(QColor(state_colour(theme, row.state, row.warnings) if row.state else theme.muted))
        painter.drawText(top, right, row.state_text)
        painter.setFont(bold)
        painter.setPen(option.palette.color(QPalette.ColorRole.Text))
        room = inner.width() - narrow.horizontalAdvance(row.state_text) - 10
        beside = room - min(wide.horizontalAdvance(row.title), room // 2) - 9
        differs = narrow.elidedText(row.differs, Qt.TextElideMode.ElideLeft, beside)  # values are at the ends
        room -= narrow.horizontalAdvance(differs) + 8 if differs else 0
        title = wide.elidedText(row.title, Qt.TextElideMode.ElideMiddle, room)
        painter.drawText(top, left, title)
        painter.setFont(small)
        top.setLeft(top.left() + wide.horizontalAdvance(title) + 8)
        painter.drawText(top, left, differs)
        painter.setPen(QColor(theme.muted))
        under = QRect(inner.left(), inner.top() + line + 2, inner.width(), line)
        seconds = seconds_text(row.seconds)
        painter.drawText(under, right, seconds)
        room = inner.width() - narrow.horizontalAdvance(seconds) - 10
        painter.drawText(under, left, narrow.elidedText(row.numbers, Qt.TextElideMode.ElideRight, room))
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QColor(theme.accent))
            painter.drawRect(box.adjusted(0, 0, -1, -2))
        painter.restore()


class _Filter(QSortFilterProxyModel):
    """The rows that have all the words, the sweeps of such runs, and the runs of such sweeps."""

    words = ""

    def __init__(self) -> None:
        super().__init__()
        self.setRecursiveFilteringEnabled(True)

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        if not self.words:
            return True
        index = self.sourceModel().index(row, 0, parent)
        text, note = index.data(), index.data(NOTE)
        if note is not None:
            text = f"{note.title} {note.problem} {note.solver} {state_text(note.state)} {note.sweep}"
        return all(word in text.lower() for word in self.words.lower().split())

    def choose(self, words: str) -> None:
        self.beginFilterChange()
        self.words = words
        self.endFilterChange()


class _View(QTreeView):
    activated_by_key = Signal()

    def drawBranches(self, painter: QPainter, rect: QRect, index: Index) -> None:
        """The arrow of a sweep, on the background of the list: rows paint their own."""
        painter.fillRect(rect, self.palette().base())
        if self.model().hasChildren(index):
            super().drawBranches(painter, rect, index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter opens, on every platform, and unfolds a sweep."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self.model().hasChildren(self.currentIndex()):
                self.setExpanded(self.currentIndex(), not self.isExpanded(self.currentIndex()))
            else:
                self.activated_by_key.emit()
        else:
            super().keyPressEvent(event)


class RunList(QWidget):
    """The list with its filter; ``menu_requested(point)`` is at a global point."""

    open_requested = Signal()
    selection_changed = Signal()
    menu_requested = Signal(QPoint)

    def __init__(self, library: Library, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("dock")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._model = library.model
        self._tree = RunTree(library.model)
        self._shown = _Filter()
        self._shown.setSourceModel(self._tree)
        self.filter = QLineEdit(placeholderText="Filter runs", clearButtonEnabled=True)
        self.filter.setAccessibleName("Filter of the run list")
        self.view = _View()
        self.view.setAccessibleName("Runs")
        self._delegate = _Delegate(theme, self.view)
        self.view.setItemDelegate(self._delegate)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.view.setHeaderHidden(True)
        self.view.setUniformRowHeights(True)
        self.view.setIndentation(16)
        self.view.setModel(self._shown)  # once it is known that all rows are of one height
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view.setMouseTracking(True)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.empty = text_label("Runs are listed here.\nChoose a problem and press Run.", kind="muted")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.held = QPushButton()
        self.held.setToolTip("Start queued runs again")
        self.held.hide()
        top = filled(QVBoxLayout(), self.held, self.filter, margins=(6, 6, 6, 0))
        filled(QVBoxLayout(self), top, (self.empty, 1), (self.view, 1), margins=(1, 1, 1, 1), spacing=4)
        self.filter.textChanged.connect(self._filter)
        self.view.doubleClicked.connect(lambda index: self.open_requested.emit() if index.data(NOTE) else None)
        self.view.activated_by_key.connect(self.open_requested)
        self.view.selectionModel().selectionChanged.connect(lambda *_: self.selection_changed.emit())
        self.view.customContextMenuRequested.connect(
            lambda at: self.menu_requested.emit(self.view.viewport().mapToGlobal(at))
        )
        for changed in (self._model.rowsInserted, self._model.rowsRemoved, self._model.modelReset):
            changed.connect(self._show_emptiness)
        self._show_emptiness()

    def selected(self) -> list[RunNote]:
        """The runs that are selected, in the order of the list: of a selected sweep all of them."""
        rows = self.view.selectionModel().selectedIndexes()
        chosen = {note.key for index in rows for note in index.data(RUNS)}
        return [note for note in self._model.notes if note.key in chosen]

    def select(self, *notes: RunNote) -> None:
        self.view.clearSelection()
        chosen = self.view.selectionModel()
        for note in notes:
            index = self._shown.mapFromSource(self._tree.index_of(note))
            if index.isValid():
                chosen.select(index, chosen.SelectionFlag.Select)
                chosen.setCurrentIndex(index, chosen.SelectionFlag.NoUpdate)
                self.view.scrollTo(index)  # which unfolds its sweep

    def _filter(self, words: str) -> None:
        self._shown.choose(words)
        if words:
            self.view.expandAll()

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
        """How many runs are shown, with those of sweeps that are folded."""
        rows = [self._shown.index(row, 0) for row in range(self._shown.rowCount())]
        return sum(1 if row.data(NOTE) else self._shown.rowCount(row) for row in rows)

    def set_theme(self, theme: Theme) -> None:
        self._delegate.theme = theme
        self.view.viewport().update()

    def _show_emptiness(self) -> None:
        self.view.setRootIsDecorated(any(note.sweep for note in self._model.notes))
        self.empty.setVisible(not self._model.notes)
        self.view.setVisible(bool(self._model.notes))

    def changeEvent(self, event: QEvent) -> None:
        """Rows grow with the font."""
        if event.type() == QEvent.Type.FontChange:
            self.view.doItemsLayout()
        super().changeEvent(event)
