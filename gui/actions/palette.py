"""The command palette: find and run any command by typing a few letters of its name."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHeaderView,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gui.app.widgets import filled


class Palette(QDialog):
    """A line to type in, and the commands that match; Enter runs the current one."""

    def __init__(self, entries: Iterable[tuple[str, str, Callable[[], object] | None]], parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName("Command palette")
        self._entries = list(entries)
        self._chosen: Callable[[], object] | None = None
        frame = QFrame()
        frame.setObjectName("card")
        self.line = QLineEdit(placeholderText="Type a command, a file, a sample, a run, a page or an option")
        self.line.setAccessibleName("Command")
        self.list = QTreeWidget(columnCount=2)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setAllColumnsShowFocus(True)
        self.list.setUniformRowHeights(True)
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.list.setAccessibleName("Commands that match")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        filled(QVBoxLayout(frame), self.line, self.list, margins=(8, 8, 8, 8))
        filled(QVBoxLayout(self), frame, margins=(0, 0, 0, 0))
        self.line.textChanged.connect(self._match)
        self.line.installEventFilter(self)
        self.list.itemClicked.connect(lambda _item, _column: self.accept())
        self._match("")
        self.resize(560, 380)
        corner = parent.mapToGlobal(parent.rect().topLeft())
        self.move(corner.x() + (parent.width() - self.width()) // 2, corner.y() + 90)

    def _match(self, words: str) -> None:
        self.list.clear()
        ranked = sorted(
            (act is None, _rank(words, text), number) for number, (text, _, act) in enumerate(self._entries)
        )
        for idle, rank, number in ranked:
            if rank is not _NO_MATCH:
                text, hint, _ = self._entries[number]
                item = QTreeWidgetItem(self.list, [text, hint])
                item.setData(0, Qt.ItemDataRole.UserRole, number)
                item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                item.setDisabled(idle)
        if not self.list.topLevelItemCount():
            QTreeWidgetItem(self.list, ["Nothing matches"]).setDisabled(True)
        self._choose(0)

    def _choose(self, row: int) -> None:
        item = self.list.topLevelItem(min(max(row, 0), self.list.topLevelItemCount() - 1))
        if item is not None:
            self.list.setCurrentItem(item)

    def texts(self) -> list[str]:
        items = (self.list.topLevelItem(row) for row in range(self.list.topLevelItemCount()))
        return [item.text(0) for item in items if item is not None]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrow keys move in the list; the focus stays in the line."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step, item = _STEPS.get(event.key()), self.list.currentItem()
            if step is not None and item is not None:
                self._choose(self.list.indexOfTopLevelItem(item) + step)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.accept()
                return True
        return super().eventFilter(watched, event)

    def accept(self) -> None:
        item = self.list.currentItem()
        super().accept()
        if (parent := self.parentWidget()) is not None:
            parent.activateWindow()
        act = None if item is None or item.isDisabled() else self._entries[item.data(0, Qt.ItemDataRole.UserRole)][2]
        if act is not None:
            act()


_NO_MATCH = (9, 0)
_STEPS: dict[int, int] = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 10, Qt.Key.Key_PageUp: -10}


def _rank(words: str, text: str) -> tuple[int, int]:
    """How well a text matches what was typed: smaller is better."""
    typed, low = words.lower().strip(), text.lower()
    if low.startswith(typed):
        return 0, 0
    if typed in low:
        return 1, low.index(typed)
    if all(part in low for part in typed.split()):
        return 2, 0
    initials = "".join(word[0] for word in low.replace(":", " ").split())
    return (3, 0) if typed.replace(" ", "") in initials else _NO_MATCH
