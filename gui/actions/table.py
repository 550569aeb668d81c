"""Every action of the window in one table: menus, shortcuts, palette and shortcut sheet follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import (
    QMenu,
    QMenuBar,
    QWidget,
)

from gui.app.icons import set_icon

__all__ = ["ACTIONS", "MENUS", "Action", "build_actions", "fill_menus"]


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
