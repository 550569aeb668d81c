"""The main window: the problem at the left, dashboards in the middle, runs at the right, the log at the bottom."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QChildEvent, QEvent, QSettings, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QTabBar, QTabWidget, QWidget
from typing_extensions import override

from engine.errors import QuintetError
from engine.settings.config import resolve
from gui.actions.table import ACTIONS, build_actions, connect_actions, fill_menus, plain
from gui.app.icons import application_icon, refresh_icons, set_icon
from gui.app.jobs import Jobs
from gui.app.style import remove_button_icons, set_style
from gui.app.theme import Theme
from gui.panels import panel_classes
from gui.plot.area import FigureTab
from gui.problem.home import Home
from gui.problem.pane import ProblemPane
from gui.problem.preview_data import PreviewData
from gui.problem.samples import Sample, find_samples
from gui.problem.start_page import StartPage
from gui.runs.child import program
from gui.runs.library import Library
from gui.runs.run_list import RunList
from gui.window.all_runs import AllRuns
from gui.window.appearance import Appearance
from gui.window.controller import Parts
from gui.window.device_query import DeviceQuery
from gui.window.documentation import FIRST, Documentation
from gui.window.exports import Exports
from gui.window.help import Help
from gui.window.launcher import Launcher
from gui.window.layout import COMPACT_BELOW, Layout
from gui.window.log import LogPane
from gui.window.notices import Notices
from gui.window.preferences import Preferences
from gui.window.problems import Problems
from gui.window.run_tab import RunTab
from gui.window.runs import MOST_COMPARED, Runs
from gui.window.session import Session
from gui.window.status import RunStatus
from gui.window.tabs import Tabs
from gui.window.tool_bar import ToolBar

_FRAME = 80  # milliseconds: 12.5 frames a second
_FAST_FRAME = 25
_ERROR = 10_000  # milliseconds that an error is shown while the log is hidden
_RUN_MENU = (
    *("open_run", "replay", "compare", "statistics", "rerun", "retry", "resume_run"),
    *("queue_up", "queue_down", "queue_remove"),
    *("rename", "set_tags", "set_note", "export_zip", "reveal", "delete"),
)


class MainWindow(QMainWindow):
    """Builds and connects widgets and controllers; ``ready()`` once samples and devices have been found."""

    ready = Signal()

    def __init__(self, home: Path, command: Sequence[str] | None = None, standby: bool = False) -> None:
        super().__init__()
        self.setWindowTitle("Quintet")
        self.setWindowIcon(application_icon())
        self.setAcceptDrops(True)
        self.setDockNestingEnabled(True)
        home.mkdir(parents=True, exist_ok=True)
        self.settings = QSettings(str(home / "window.ini"), QSettings.Format.IniFormat)
        self.library = Library(home)
        self.library.load()
        self.jobs = Jobs(self)
        self.appearance = Appearance(self.settings, self)
        self.actions_by_name = build_actions(self)
        self._make_widgets(self.appearance.theme)
        self._make_controllers(command, standby)
        self._make_menus()
        self._connect()
        self.dock_layout = Layout(self, *(self.docks[name] for name in ("problem", "runs", "log")))
        self.session.restore_layout(self.dock_layout)
        self.appearance.apply()
        self._timer = QTimer(self, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self._timer.start(_FRAME)
        self._begin(list(command) if command is not None else None)

    # --- parts --------------------------------------------------------------------------------------------------

    def _make_widgets(self, theme: Theme) -> None:
        self.tool_bar = ToolBar(self.actions_by_name, self)
        self.addToolBar(self.tool_bar)
        self.start_page = StartPage(self.actions_by_name)
        self.pane = ProblemPane(self.tool_bar.given)
        self.run_list = RunList(self.library, theme)
        self.log = LogPane(theme)
        self.status = RunStatus(self.statusBar(), theme)
        self.docks = {
            "problem": self._dock("Problem", self.pane, Qt.DockWidgetArea.LeftDockWidgetArea),
            "runs": self._dock("Runs", self.run_list, Qt.DockWidgetArea.RightDockWidgetArea),
            "log": self._dock("Log", self.log, Qt.DockWidgetArea.BottomDockWidgetArea),
        }
        self.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)

    def _dock(self, title: str, widget: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        dock = QDockWidget(title, self)
        dock.setObjectName(f"dock-{title.lower()}")
        dock.setWidget(widget)
        self.addDockWidget(area, dock)
        return dock

    def _make_controllers(self, command: Sequence[str] | None, standby: bool) -> None:
        run_key = self.actions_by_name["start"].shortcut().toString()
        self.home = Home(self.start_page, self.appearance.theme, run_key)
        self.run_tabs = Tabs(self.library, self.run_list, self.log, self.home, self.appearance.theme)
        self.run_tabs.command = command
        self.setCentralWidget(self.run_tabs.widget)
        self.problems = Problems(
            self,
            self.pane,
            self.start_page,
            self.tool_bar,
            self.docks["problem"],
            self.library.runs,
            self.settings,
            self.jobs,
            self.log,
        )
        parts = Parts(
            self, self.library, self.run_list, self.run_tabs, self.problems, self.jobs, self.log, self.settings
        )
        self.runs = Runs(parts)
        self.launcher = Launcher(parts, self.runs.targets, command, standby)
        self.all_runs = AllRuns(parts, self.runs.targets)
        self.runs.queued = lambda: self.launcher.queued
        self.runs.table_selection = self.all_runs.selection
        self.notices = Notices(self, self.run_tabs, self.settings)
        self.exports = Exports(parts, self.runs.targets)
        self.documentation = Documentation(self)
        self.help = Help(parts, self.actions_by_name, self.docks, self._places)
        self.session = Session(parts, self.launcher, self.tool_bar)

    def _make_menus(self) -> None:
        self.sample_menu, self.recent_menu, panes = QMenu(self), QMenu(self), QMenu(self)
        for dock in self.docks.values():
            panes.addAction(dock.toggleViewAction())
        submenus = {"samples": self.sample_menu, "recent": self.recent_menu, "panes": panes}
        submenus["colours"] = self.all_runs.colours
        self.menus = fill_menus(self.menuBar(), self.actions_by_name, submenus)
        self.recent_menu.aboutToShow.connect(self._fill_recent)
        self.run_menu = QMenu(self)
        for name in _RUN_MENU:
            if name in ("rename", "delete"):
                self.run_menu.addSeparator()
            self.run_menu.addAction(self.actions_by_name[name])

    def _connect(self) -> None:
        handlers: dict[str, Callable[[], object]] = {
            "quit": self.close,
            "preferences": self.open_preferences,
            "documentation": lambda: self.documentation.open(QUrl(FIRST)),
            "full_screen": self.toggle_full_screen,
            "focus_problem": self.problems.focus,
            "focus_run": self.focus_run,
            "focus_runs": self.focus_runs,
            "focus_log": self.focus_log,
        }
        for controller in (
            *(self.problems, self.runs, self.launcher, self.all_runs, self.run_tabs),
            *(self.exports, self.appearance, self.help),
        ):
            handlers |= controller.handlers
        connect_actions(self.actions_by_name, handlers)
        self.jobs.failed.connect(lambda message: self.log.add(message, "error"))
        self.log.reported.connect(lambda message: self.statusBar().showMessage(message, _ERROR))
        self.appearance.theme_changed.connect(self._on_theme)
        for signal in (
            *(self.problems.changed, self.runs.changed, self.launcher.changed),
            *(self.pane.changed, self.run_tabs.changed),
        ):
            signal.connect(self._update_actions)
        self.run_tabs.changed.connect(lambda: self.status.show_run(self.run_tabs.current_run()))
        self.tool_bar.changed.connect(self.pane.show_text)
        self.tool_bar.changed.connect(self.launcher.prepare)
        self.problems.previewed.connect(self._on_preview)
        self.problems.refused.connect(self._on_refusal)
        self.problems.read.connect(self._on_reading)
        self.home.open_requested.connect(self.problems.open_problem)
        self.run_list.held.clicked.connect(self.actions_by_name["queue_hold"].trigger)
        self.run_list.open_requested.connect(self.runs.open_selected)
        self.run_list.selection_changed.connect(self._on_selection)
        for source in (self.run_list, self.all_runs):
            source.menu_requested.connect(lambda at: self.run_menu.popup(at))
        self.all_runs.open_requested.connect(self.runs.open_selected)
        self.all_runs.selection_changed.connect(self._update_actions)

    def _begin(self, command: list[str] | None) -> None:
        """Look for settings, devices and samples, and restore the session."""
        try:
            self.tool_bar.set_base(resolve().settings)
        except QuintetError as error:
            self.log.add(str(error), "error")
        self._pending = 2
        self._devices = DeviceQuery([*(command or program()), "devices", "--json"], self)
        self._devices.found.connect(self._on_devices)
        self._devices.failed.connect(self._on_no_devices)
        quintet = command or program()
        self.home.preview.estimate.words = lambda: [*quintet, *self.problems.estimate_words()]
        QTimer.singleShot(0, self, self._begin_jobs)  # when the window is shown, which they would delay
        self.session.restore()
        self._update_actions()
        self.status.show_run(self.run_tabs.current_run())
        self.pane.gallery.setFocus()

    def _begin_jobs(self) -> None:
        self.jobs.start(find_samples, self._on_samples)
        self.jobs.start(panel_classes, lambda _found: None)  # imported before the first run is opened

    @property
    def tabs(self) -> QTabWidget:
        return self.run_tabs.widget

    @property
    def theme(self) -> Theme:
        return self.appearance.theme

    # --- what happens -------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        interval = _FAST_FRAME if self.run_tabs.tick() else _FRAME
        if self._timer.interval() != interval:
            self._timer.setInterval(interval)
        self.notices.update()
        tab = self.run_tabs.current_run()
        if tab is not None:
            self.status.show_run(tab)

    def _on_devices(self, devices: list[dict[str, Any]], missing: dict[str, str]) -> None:
        self.tool_bar.show_devices(devices, missing)
        names = ", ".join(f"{device['id']} ({device['name']})" for device in devices) or "none"
        self.log.add(f"devices: {names}", "info" if devices else "error")
        if not devices:
            for reason in missing.values():
                self.log.add(reason, "error")
        self._found()

    def _on_no_devices(self, message: str) -> None:
        self.log.add(f"devices: {message}", "error")
        self._found()

    def _on_samples(self, found: list[Sample]) -> None:
        self.problems.samples = found
        self.pane.gallery.show_samples(found)
        self.start_page.show_samples(found)
        groups: dict[str, QMenu] = {}
        for sample in found:
            if sample.group not in groups:
                groups[sample.group] = self.sample_menu.addMenu(sample.group)
            action = groups[sample.group].addAction(sample.title)
            action.setToolTip(sample.description)
            action.triggered.connect(lambda _checked=False, sample=sample: self.problems.open_sample(sample))
        self._found()

    def _found(self) -> None:
        self._pending -= 1
        if self._pending == 0:
            self.ready.emit()

    def _fill_recent(self) -> None:
        self.recent_menu.clear()
        for path in self.pane.gallery.recent:
            action = self.recent_menu.addAction(path)
            action.triggered.connect(lambda _checked=False, path=path: self.problems.load(Path(path)))
        if not self.pane.gallery.recent:
            self.recent_menu.addAction("No recent files").setEnabled(False)

    def _places(self) -> list[tuple[str, str, Callable[[], object]]]:
        """What else the palette finds: recent files, pages of the dashboard, options of the form."""
        load, form, tab = self.problems.load, self.pane.form, self.run_tabs.current_run()
        found: list[tuple[str, str, Callable[[], object]]]
        found = [(f"Recent: {path}", "", partial(load, Path(path))) for path in self.pane.gallery.recent]
        if tab is not None and tab.panel is not None:
            pages = tab.panel.pages
            shown = [place for place in range(pages.count()) if pages.isTabVisible(place)]
            found += [(f"Page: {pages.tabText(at)}", "", partial(pages.setCurrentIndex, at)) for at in shown]
        for name in form.names if form is not None else ():
            found.append((f"Option: {name.replace('_', ' ')}", "", partial(self.problems.focus, name)))
        return found

    def _on_preview(self, data: PreviewData | None, requested: bool) -> None:
        """Show in the first tab and on the Run button which problem would be solved."""
        self.home.show_problem(data)
        self.run_tabs.update_home()
        start = self.actions_by_name["start"]
        name = "" if data is None else data.title
        start.setIconText(f"Run {name if len(name) <= 18 else f'{name[:17]}…'}".strip())
        start.setToolTip(f"Solve {name} with these options ({start.shortcut().toString()})" if name else plain("&Run"))
        if requested:
            self.run_tabs.show_home()

    def _on_reading(self, name: str, share: float) -> None:
        """Show in the first tab how far a large file has been read."""
        self.home.show_reading(name, share)
        self.run_tabs.update_home()

    def _on_refusal(self, name: str, message: str) -> None:
        """Show in the middle why a file cannot be used."""
        self.home.show_error(name, message)
        self.run_tabs.show_home()

    def _on_selection(self) -> None:
        selected = self.run_list.selected()
        if len(selected) == 1:
            tab = self.run_tabs.runs.get(selected[0].key)
            if tab is not None and self.tabs.indexOf(tab) >= 0 and self.tabs.currentWidget() is not tab:
                self.tabs.setCurrentWidget(tab)
        self._update_actions()

    def _on_theme(self, theme: Theme) -> None:
        for child in self.children():
            if isinstance(child, QWidget) and child is not self.tabs:  # whose tabs are styled one by one
                set_style(child, theme)
        refresh_icons(self)
        self._colour_run_icon()
        for part in (self.run_list, self.log, self.pane.gallery, self.run_tabs, self.status):
            part.set_theme(theme)

    # --- actions ------------------------------------------------------------------------------------------------

    def available(self) -> set[str]:
        """What the ``needs`` of the actions refer to, as far as it is available now."""
        tab, selected, targets = self.run_tabs.current_run(), self.runs.selected(), self.runs.targets()
        compared = isinstance(self.run_tabs.current(), FigureTab)
        facts = {
            "problem": self.problems.ready,
            "tab": self.run_tabs.current() is not self.home,
            "tabs": self.tabs.count() > 1,
            "panel": compared or (tab is not None and tab.panel is not None),
            "trashed": self.runs.can_undo,
            "live": tab is not None and (tab.live or tab.queued),
            "steerable": tab is not None and tab.steerable,
            "selected": bool(targets),
            "one": len(targets) == 1,
            "several": 2 <= len(selected) <= MOST_COMPARED
            and len({(note.solver, note.kind) for note in selected}) == 1
            and all(os.path.isfile(note.path / "events.jsonl") for note in selected),
            "many": sum(not note.live for note in selected) >= 2,
            "folder": len(targets) == 1 and os.path.isdir(targets[0].path),
            "ended": any(not note.live for note in targets),
            "queued": any(note.key in self.launcher.queued for note in targets),
            "replayable": len(targets) == 1 and self.runs.replayable(targets[0]),
            "resumable": len(targets) == 1 and targets[0].resumable,
        }
        return {name for name, holds in facts.items() if holds}

    def _update_actions(self) -> None:
        available = self.available()
        for action in ACTIONS:
            qt = self.actions_by_name.get(action.name)
            if qt is not None and action.needs:
                qt.setEnabled(set(action.needs) <= available)
        self._name_pause(self.run_tabs.current_run())
        self._colour_run_icon()

    def _colour_run_icon(self) -> None:
        start = self.actions_by_name["start"]
        set_icon(start, "run", self.theme.accent_text if start.isEnabled() else None)

    def _name_pause(self, tab: RunTab | None) -> None:
        """Pause, resume, or play a replay again: one action, named after what it does now."""
        text, name = "&Pause", "pause"
        if tab is not None and tab.over:
            text, name = "&Play again", "replay"
        elif tab is not None and tab.paused:
            text, name = "&Resume", "continue"
        pause = self.actions_by_name["pause"]
        if pause.text() != text:
            pause.setText(text)
            set_icon(pause, name)
            self.tool_bar.widgetForAction(pause).setAccessibleName(plain(text))

    def open_preferences(self) -> None:
        Preferences(self.appearance, self.launcher, self.notices, self.settings, self).open()

    def toggle_full_screen(self) -> None:
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    def focus_run(self) -> None:
        tab = self.run_tabs.current_run()
        (tab.panel.pages.tabBar() if tab is not None and tab.panel is not None else self.tabs.tabBar()).setFocus()

    def focus_runs(self) -> None:
        self.docks["runs"].show()
        self.docks["runs"].raise_()
        (self.run_list.view if self.library.notes else self.run_list.filter).setFocus()

    def focus_log(self) -> None:
        self.docks["log"].show()
        self.log.filter.setFocus()

    # --- events of Qt -------------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    @override
    def dropEvent(self, event: QDropEvent) -> None:
        self.problems.drop(event)

    def childEvent(self, event: QChildEvent) -> None:
        """Dialogs, menus, and the tab bars of panes that share a place, get the style of the window."""
        super().childEvent(event)
        if not (event.polished() and hasattr(self, "dock_layout") and isinstance(child := event.child(), QWidget)):
            return
        if isinstance(child, QTabBar):
            child.setAccessibleName("Panes in one place")
        if child.isWindow() or isinstance(child, QTabBar):
            set_style(child, self.theme)
            remove_button_icons(child)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow window the panes at the sides share one place."""
        super().resizeEvent(event)
        if self.isVisible():
            self._adapt()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._adapt()

    def _adapt(self) -> None:
        """Fit panes and tool bar to the size of the window."""
        self.dock_layout.adapt()
        self.tool_bar.set_compact(self.width() < COMPACT_BELOW)

    def changeEvent(self, event: QEvent) -> None:
        """When the window becomes active, follow changes that others made meanwhile."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and not self.session.closed:
            self.runs.rescan_later()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about running runs; see :meth:`gui.window.session.Session.close_event`."""
        if self.session.close_event(event):
            self._release()

    def close_now(self) -> None:
        """Close without asking; running children are killed."""
        self.session.quitting = self.session.closed = True
        self._release()
        self.close()

    def _release(self) -> None:
        """Stop everything that would call the window."""
        self._timer.stop()
        self.runs.release()
        self.launcher.release()
        self.problems.release()
        self._devices.close()
        self.jobs.discard_all()
        self.run_tabs.release()
