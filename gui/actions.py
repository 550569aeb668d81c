"""Every action of the window in one table: menus, shortcuts, palette and shortcut sheet follow from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QActionGroup, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QMenuBar,
    QScrollArea,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gui.icons import set_icon

__all__ = ["ACTIONS", "MENUS", "Action", "Palette", "ShortcutSheet", "build_actions", "fill_menus"]


@dataclass(frozen=True)
class Action:
    """One thing the window can do.

    ``name`` is also the name of the window's method; ``needs`` names what must be there for it (see
    ``MainWindow.present``); ``group`` makes it one of several that exclude each other; ``-`` as ``name`` is a line.
    """

    name: str
    text: str = ""
    menu: str = ""
    shortcut: str = ""
    icon: str = ""
    tip: str = ""
    needs: tuple[str, ...] = ()
    group: str = ""
    checkable: bool = False


_LINE = "-"

MENUS = ("File", "Run", "Runs", "View", "Help")

ACTIONS: tuple[Action, ...] = (
    Action(
        "open_problem",
        "&Open problem…",
        "File",
        "Ctrl+O",
        "open",
        "Choose an instance file, a TOML file that names one, or an exported run",
    ),
    Action("new_instance", "&New instance…", "File", "Ctrl+N", "new", "Make a random problem, and write it to a file"),
    Action("open_folder", "Open run &folder…", "File", "Ctrl+Shift+O", "folder", "Show a run that is kept elsewhere"),
    Action("samples", "&Samples", "File"),
    Action("recent", "&Recent problems", "File"),
    Action(_LINE, menu="File"),
    Action(
        "export_png",
        "Export plots as &PNG…",
        "File",
        "",
        "export",
        "Every plot of this run, a picture each",
        ("panel",),
    ),
    Action(
        "export_svg",
        "Export plots as S&VG…",
        "File",
        "",
        "export",
        "Every plot of this run, a drawing each",
        ("panel",),
    ),
    Action(
        "export_csv",
        "Export data as &CSV…",
        "File",
        "Ctrl+E",
        "export",
        "The curves of every plot, a table each",
        ("panel",),
    ),
    Action(
        "export_report",
        "Export &report…",
        "File",
        "Ctrl+Shift+E",
        "report",
        "One HTML page with numbers and plots",
        ("panel",),
    ),
    Action("export_zip", "Export run as &zip…", "File", "", "export", "Everything of the run in one file", ("folder",)),
    Action(_LINE, menu="File"),
    Action("close_tab", "&Close tab", "File", "Ctrl+W", "close", "The run itself is kept", ("tab",)),
    Action("quit", "&Quit", "File", "Ctrl+Q"),
    Action("start", "&Run", "Run", "F5", "run", "Solve the problem with these options", ("problem",)),
    Action("pause", "&Pause", "Run", "F6", "pause", "Hold the run, or the replay; again to go on", ("steerable",)),
    Action(
        "stop",
        "&Stop",
        "Run",
        "Shift+F5",
        "stop",
        "Ask the run to stop; again to terminate it, and again to kill it",
        ("live",),
    ),
    Action(
        "resume_run",
        "&Continue from checkpoint",
        "Run",
        "Ctrl+F5",
        "continue",
        "Go on with a run that was stopped or killed",
        ("resumable",),
    ),
    Action(_LINE, menu="Run"),
    Action(
        "copy_command",
        "Copy command &line",
        "Run",
        "Ctrl+Shift+C",
        "copy",
        "What does the same in a terminal",
        ("problem",),
    ),
    Action(
        "copy_python",
        "Copy P&ython snippet",
        "Run",
        "Ctrl+Shift+P",
        "copy",
        "What does the same in Python",
        ("problem",),
    ),
    Action("reset_options", "Reset all &options", "Run", "", "reset", "Back to the defaults", ("problem",)),
    Action("open_run", "&Open", "Runs", "Ctrl+Return", "open", "Show the selected runs", ("selected",)),
    Action("replay", "&Replay", "Runs", "F7", "replay", "Play a finished run again, at any speed", ("replayable",)),
    Action(
        "compare", "&Compare", "Runs", "Ctrl+D", "compare", "Curves of two selected runs, one over the other", ("two",)
    ),
    Action(
        "rerun",
        "Run again with c&hanges",
        "Runs",
        "Ctrl+Shift+R",
        "again",
        "Load the run's problem and options at the left",
        ("one",),
    ),
    Action("rename", "Re&name…", "Runs", "F2", "rename", "", ("one",)),
    Action(
        "delete", "&Delete…", "Runs", "Shift+Del", "delete", "Delete the selected runs and their folders", ("selected",)
    ),
    Action(_LINE, menu="Runs"),
    Action("reveal", "Show in file &manager", "Runs", "", "folder", "", ("folder",)),
    Action("focus_problem", "Go to &problem", "View", "Ctrl+1", "problem"),
    Action("focus_run", "Go to &dashboard", "View", "Ctrl+2"),
    Action("focus_runs", "Go to run &list", "View", "Ctrl+3"),
    Action("focus_log", "Go to &log", "View", "Ctrl+4"),
    Action("next_tab", "&Next tab", "View", "Ctrl+PgDown", needs=("tab",)),
    Action("previous_tab", "Pre&vious tab", "View", "Ctrl+PgUp", needs=("tab",)),
    Action(_LINE, menu="View"),
    Action("panes", "P&anes", "View"),
    Action("theme_system", "Theme of the s&ystem", "View", group="theme"),
    Action("theme_light", "&Light theme", "View", group="theme"),
    Action("theme_dark", "Dar&k theme", "View", group="theme"),
    Action("switch_theme", "S&witch light and dark", "View", "Ctrl+T", "theme"),
    Action("full_screen", "&Full screen", "View", "F11", checkable=True),
    Action("find_command", "&Command palette…", "Help", "Ctrl+K", "search", "Find anything the window can do"),
    Action("shortcuts", "Keyboard &shortcuts", "Help", "F1", "help"),
    Action("about", "&About Quintet", "Help"),
)


def build_actions(owner: QWidget) -> dict[str, QAction]:
    """The actions of the table by name, each calling the owner's method of that name; menus of their own left out."""
    made: dict[str, QAction] = {}
    groups: dict[str, QActionGroup] = {}
    for action in ACTIONS:
        method = getattr(owner, action.name, None)
        if action.name == _LINE or not callable(method):
            continue
        qt = QAction(action.text, owner)
        qt.setObjectName(action.name)
        qt.setCheckable(action.checkable or bool(action.group))
        if action.shortcut:
            qt.setShortcut(QKeySequence(action.shortcut))
        if action.icon:
            set_icon(qt, action.icon)
        keys = f" ({qt.shortcut().toString(QKeySequence.SequenceFormat.NativeText)})" if action.shortcut else ""
        qt.setToolTip((action.tip or plain(action.text)) + keys)
        qt.setStatusTip(action.tip)
        if action.group:
            groups.setdefault(action.group, QActionGroup(owner)).addAction(qt)
        qt.triggered.connect(lambda _checked=False, method=method: method())
        owner.addAction(qt)
        made[action.name] = qt
    return made


def fill_menus(bar: QMenuBar, actions: Mapping[str, QAction], submenus: Mapping[str, QMenu]) -> dict[str, QMenu]:
    """The menus of the table; an action without a method is a menu of its own."""
    menus = {name: bar.addMenu(f"&{name}") for name in MENUS}
    for action in ACTIONS:
        menu = menus[action.menu]
        if action.name == _LINE:
            menu.addSeparator()
        elif action.name in submenus:
            submenu = submenus[action.name]
            submenu.setTitle(action.text)
            menu.addMenu(submenu)
        else:
            menu.addAction(actions[action.name])
    return menus


def plain(text: str) -> str:
    """A menu's text without its mnemonic and dots."""
    return text.replace("&", "").rstrip("…")


class Palette(QDialog):
    """Type a few letters, choose with the arrows, Enter does it.

    Parameters
    ----------
    entries : iterable of (text, hint, callable)
        In the order to show them; what cannot be done now has None in place of the callable.
    """

    def __init__(self, entries: Iterable[tuple[str, str, Callable[[], object] | None]], parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self.setAccessibleName("Command palette")
        self._entries = list(entries)
        self._chosen: Callable[[], object] | None = None
        frame = QFrame()
        frame.setObjectName("card")
        self.line = QLineEdit()
        self.line.setPlaceholderText("Type a command, a sample or a run")
        self.line.setAccessibleName("Command")
        self.list = QTreeWidget()
        self.list.setColumnCount(2)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setAllColumnsShowFocus(True)
        self.list.setUniformRowHeights(True)
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.list.setAccessibleName("Commands that match")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inner = QVBoxLayout(frame)
        inner.setContentsMargins(8, 8, 8, 8)
        inner.addWidget(self.line)
        inner.addWidget(self.list)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(frame)
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
        if self.list.topLevelItemCount():
            self.list.setCurrentItem(self.list.topLevelItem(min(max(row, 0), self.list.topLevelItemCount() - 1)))

    def texts(self) -> list[str]:
        """What is shown at present."""
        return [self.list.topLevelItem(row).text(0) for row in range(self.list.topLevelItemCount())]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrows move in the list while the line keeps the focus."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 10, Qt.Key.Key_PageUp: -10}.get(
                event.key()
            )
            if step is not None:
                self._choose(self.list.indexOfTopLevelItem(self.list.currentItem()) + step)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.accept()
                return True
        return super().eventFilter(watched, event)

    def accept(self) -> None:
        """Close, then do what is chosen."""
        item = self.list.currentItem()
        super().accept()
        self.parentWidget().activateWindow()
        act = None if item is None or item.isDisabled() else self._entries[item.data(0, Qt.ItemDataRole.UserRole)][2]
        if act is not None:
            act()


_NO_MATCH = (9, 0)


def _rank(words: str, text: str) -> tuple[int, int]:
    """How well a text answers to what was typed: smaller is better."""
    typed, low = words.lower().strip(), text.lower()
    if low.startswith(typed):
        return 0, 0
    if typed in low:
        return 1, low.index(typed)
    if all(part in low for part in typed.split()):
        return 2, 0
    initials = "".join(word[0] for word in low.replace(":", " ").split())
    return (3, 0) if typed.replace(" ", "") in initials else _NO_MATCH


class ShortcutSheet(QDialog):
    """Every shortcut, by menu."""

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        inner = QWidget()
        inner.setObjectName("scrolled")
        grid = QGridLayout(inner)
        grid.setContentsMargins(20, 16, 20, 16)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(6)
        self.rows: list[tuple[str, str]] = []
        columns = {"File": 0, "Run": 0, "Runs": 1, "View": 1, "Help": 1}
        at = {0: 0, 1: 0}
        for menu in MENUS:
            shown = [a for a in ACTIONS if a.menu == menu and a.name in actions and a.shortcut]
            column = columns[menu]
            heading = QLabel(menu)
            heading.setObjectName("heading")
            grid.addWidget(heading, at[column], 3 * column, 1, 2)
            at[column] += 1
            for action in shown:
                keys = actions[action.name].shortcut().toString(QKeySequence.SequenceFormat.NativeText)
                label = QLabel(keys)
                label.setObjectName("keys")
                grid.addWidget(label, at[column], 3 * column, Qt.AlignmentFlag.AlignRight)
                grid.addWidget(QLabel(plain(action.text)), at[column], 3 * column + 1)
                self.rows.append((keys, plain(action.text)))
                at[column] += 1
            grid.setRowMinimumHeight(at[column], 6)
            at[column] += 1
        grid.setColumnMinimumWidth(2, 30)
        grid.setRowStretch(max(at.values()), 1)
        area = QScrollArea()
        area.setWidget(inner)
        area.setWidgetResizable(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)
        self.resize(inner.sizeHint().width() + 40, min(inner.sizeHint().height() + 10, 640))
