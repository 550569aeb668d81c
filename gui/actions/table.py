"""Every action of the window in one table: menus, shortcuts, palette and shortcut list are built from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import (
    QMenu,
    QMenuBar,
    QWidget,
)

from gui.app.icons import set_icon

__all__ = ["ACTIONS", "MENUS", "SUBMENUS", "Action", "build_actions", "connect_actions", "fill_menus", "plain"]


@dataclass(frozen=True)
class Action:
    """One command of the window.

    Attributes
    ----------
    shortcut : str
        Key sequences, separated by spaces; the first is shown.
    name : str
        A controller has a handler of this name; ``-`` is a separator of the menu.
    needs : tuple of str
        What must be available for it; see :meth:`gui.window.main.MainWindow.available`.
    group : str
        Actions of one group exclude each other.
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


_SEPARATOR = "-"

SUBMENUS = ("samples", "recent", "panes", "colours")
"""Entries of the table that are menus of their own."""

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
    Action(
        "open_folder",
        "Open run &folder…",
        "File",
        "Ctrl+Shift+O",
        "folder",
        "Show a run folder outside the data folder",
    ),
    Action("samples", "&Samples", "File"),
    Action("recent", "&Recent problems", "File"),
    Action(_SEPARATOR, menu="File"),
    Action(
        "export_png",
        "Export plots as &PNG…",
        "File",
        "",
        "export",
        "Every plot of this run as a picture",
        ("panel",),
    ),
    Action(
        "export_svg",
        "Export plots as S&VG…",
        "File",
        "",
        "export",
        "Every plot of this run as a vector drawing",
        ("panel",),
    ),
    Action(
        "export_csv",
        "Export data as &CSV…",
        "File",
        "Ctrl+E",
        "export",
        "The data of every plot as a table",
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
    Action(
        "export_notebook",
        "Export run as a &notebook…",
        "File",
        "",
        "export",
        "A Jupyter notebook that draws the run from its folder",
        ("folder",),
    ),
    Action("export_zip", "Export run as &zip…", "File", "", "export", "Everything of the run in one file", ("folder",)),
    Action(_SEPARATOR, menu="File"),
    Action("close_tab", "&Close tab", "File", "Ctrl+W", "close", "The run is kept in the run list", ("tab",)),
    Action("quit", "&Quit", "File", "Ctrl+Q"),
    Action("start", "&Run", "Run", "F5", "run", "Solve the problem with these options", ("problem",)),
    Action("pause", "&Pause", "Run", "F6", "pause", "Pause or resume the run or the replay", ("steerable",)),
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
        "&Resume from checkpoint",
        "Run",
        "Ctrl+F5",
        "continue",
        "Continue a stopped or killed run from its last checkpoint",
        ("resumable",),
    ),
    Action(_SEPARATOR, menu="Run"),
    Action(
        "copy_command",
        "Copy command &line",
        "Run",
        "Ctrl+Shift+C",
        "copy",
        "The equivalent command line",
        ("problem",),
    ),
    Action(
        "copy_python",
        "Copy P&ython snippet",
        "Run",
        "Ctrl+Shift+Y",
        "copy",
        "The equivalent Python code",
        ("problem",),
    ),
    Action(
        "runs_at_once", "Runs &at once…", "Run", "", "", "How many runs may be in progress; further ones are queued"
    ),
    Action("new_sweep", "S&weep…", "Run", "Ctrl+Shift+F5", "again", "Queue runs over seeds and options", ("problem",)),
    Action("queue_hold", "&Hold the queue", "Run", "", "", "Start no queued runs until it is released", checkable=True),
    Action("reset_options", "Reset all &options", "Run", "", "reset", "Back to the defaults", ("problem",)),
    Action("open_run", "&Open", "Runs", "Ctrl+Return", "open", "Show the selected runs", ("selected",)),
    Action("replay", "&Replay", "Runs", "F7", "replay", "Play a finished run again, at any speed", ("replayable",)),
    Action(
        "compare",
        "&Compare",
        "Runs",
        "Ctrl+D",
        "compare",
        "Curves of the selected runs of one solver on common axes",
        ("several",),
    ),
    Action(
        "statistics",
        "Statis&tics",
        "Runs",
        "Ctrl+Shift+D",
        "table",
        "Box plots of the selected runs, grouped by instance and options",
        ("many",),
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
    Action("retry", "Re&try", "Runs", "", "again", "Start the runs again with the same options", ("ended",)),
    Action("queue_up", "Move &up in the queue", "Runs", "Ctrl+Up", "", "", ("queued",)),
    Action("queue_down", "Move do&wn in the queue", "Runs", "Ctrl+Down", "", "", ("queued",)),
    Action("queue_remove", "Remo&ve from the queue", "Runs", "", "", "", ("queued",)),
    Action(_SEPARATOR, menu="Runs"),
    Action("run_table", "All runs as a &table", "Runs", "Ctrl+L", "table", "Sort, filter and tag all runs"),
    Action(_SEPARATOR, menu="Runs"),
    Action("rename", "Re&name…", "Runs", "F2", "rename", "", ("one",)),
    Action("set_tags", "&Tags…", "Runs", "Ctrl+Shift+T", "tag", "Words to find the runs by", ("selected",)),
    Action("set_note", "N&ote…", "Runs", "", "rename", "A text kept with the run", ("one",)),
    Action("colours", "&Colour", "Runs"),
    Action(
        "delete",
        "&Delete…",
        "Runs",
        "Del Shift+Del",
        "delete",
        "Delete the selected runs and their folders",
        ("selected",),
    ),
    Action("undo_delete", "&Undo delete", "Runs", "Ctrl+Z", "reset", "Restore the runs deleted last", ("trashed",)),
    Action(_SEPARATOR, menu="Runs"),
    Action("reveal", "Show in file &manager", "Runs", "", "folder", "", ("folder",)),
    Action("focus_problem", "Go to &problem", "View", "Ctrl+1", "problem"),
    Action("focus_run", "Go to &dashboard", "View", "Ctrl+2"),
    Action("focus_runs", "Go to run &list", "View", "Ctrl+3"),
    Action("focus_log", "Go to &log", "View", "Ctrl+4"),
    Action(
        "monitor",
        "&Devices of this machine",
        "View",
        "Ctrl+Shift+M",
        "device",
        "Load, memory and processes of all GPUs",
    ),
    Action("next_tab", "&Next tab", "View", "Ctrl+PgDown", needs=("tabs",)),
    Action("previous_tab", "Pre&vious tab", "View", "Ctrl+PgUp", needs=("tabs",)),
    Action(_SEPARATOR, menu="View"),
    Action("panes", "P&anes", "View"),
    Action("theme_system", "Theme of the s&ystem", "View", group="theme"),
    Action("theme_light", "&Light theme", "View", group="theme"),
    Action("theme_dark", "Dar&k theme", "View", group="theme"),
    Action("switch_theme", "S&witch light and dark", "View", "Ctrl+T", "theme"),
    Action("full_screen", "&Full screen", "View", "F11", checkable=True),
    Action(
        "find_command", "&Command palette…", "Help", "Ctrl+Shift+P Ctrl+K", "search", "Find any command, sample or run"
    ),
    Action("shortcuts", "Keyboard &shortcuts", "Help", "F1", "help"),
    Action("about", "&About Quintet", "Help"),
)


def build_actions(owner: QWidget) -> dict[str, QAction]:
    """The actions of the table by name; the entries of :data:`SUBMENUS` are left out."""
    made: dict[str, QAction] = {}
    groups: dict[str, QActionGroup] = {}
    for action in ACTIONS:
        if action.name == _SEPARATOR or action.name in SUBMENUS:
            continue
        qt = QAction(action.text, owner)
        qt.setObjectName(action.name)
        qt.setCheckable(action.checkable or bool(action.group))
        if action.shortcut:
            qt.setShortcuts([QKeySequence(keys) for keys in action.shortcut.split()])
        if action.icon:
            set_icon(qt, action.icon)
        keys = f" ({qt.shortcut().toString(QKeySequence.SequenceFormat.NativeText)})" if action.shortcut else ""
        qt.setToolTip((action.tip or plain(action.text)) + keys)
        qt.setStatusTip(action.tip)
        if action.group:
            groups.setdefault(action.group, QActionGroup(owner)).addAction(qt)
        owner.addAction(qt)
        made[action.name] = qt
    return made


def connect_actions(actions: Mapping[str, QAction], handlers: Mapping[str, Callable[[], object]]) -> None:
    """Connect every action to the handler of its name; ``KeyError`` if one has no handler."""
    for name, action in actions.items():
        handler = handlers[name]
        action.triggered.connect(lambda _checked=False, handler=handler: handler())


def fill_menus(bar: QMenuBar, actions: Mapping[str, QAction], submenus: Mapping[str, QMenu]) -> dict[str, QMenu]:
    """Fill the menu bar from the table."""
    menus = {name: bar.addMenu(f"&{name}") for name in MENUS}
    for action in ACTIONS:
        menu = menus[action.menu]
        if action.name == _SEPARATOR:
            menu.addSeparator()
        elif action.name in submenus:
            submenu = submenus[action.name]
            submenu.setTitle(action.text)
            menu.addMenu(submenu)
        else:
            menu.addAction(actions[action.name])
    return menus


def plain(text: str) -> str:
    """The text of a menu entry without its mnemonic and ellipsis."""
    return text.replace("&", "").rstrip("…")
