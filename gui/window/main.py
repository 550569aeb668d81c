"""The main window: problem at the left, dashboards in the middle, runs at the right, log at the bottom."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSettings, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QLabel,
    QMainWindow,
    QMenu,
    QProgressBar,
    QStackedWidget,
    QTabWidget,
    QWidget,
)

from engine.config import resolve
from engine.errors import QuintetError
from gui.actions.table import ACTIONS, build_actions, fill_menus, plain
from gui.app.icons import application_icon, set_icon
from gui.app.jobs import Job
from gui.app.style import state_colour
from gui.compare.tab import CompareTab
from gui.panels import panel_classes
from gui.problem.pane import ProblemPane
from gui.problem.samples import Sample, find_samples
from gui.problem.start_page import StartPage
from gui.runs.library import Library
from gui.runs.run_list import RunList
from gui.runs.summary import rate_text, seconds_text, state_text
from gui.runs.tab import RunTab
from gui.window.appearance import Looks
from gui.window.exports import Exports
from gui.window.log import LogPane
from gui.window.problems import Problems
from gui.window.runs import Runs
from gui.window.session import Session
from gui.window.tool_bar import DeviceProbe, ToolBar

__all__ = ["MainWindow"]

_FRAME = 80  # milliseconds: 12.5 frames a second
_HURRIED_FRAME = 25
_LIST_EVERY = 6  # frames


class MainWindow(Problems, Runs, Exports, Looks, Session, QMainWindow):
    """The window.

    Parameters
    ----------
    home : Path
        The user's data folder: runs, and the window's own state.
    command : sequence of str, optional
        What starts ``quintet``, for its children.

    ``settled()`` is told when the problem, samples and devices that were asked for at the start are there.
    """

    settled = Signal()

    def __init__(self, home: Path, command: Sequence[str] | None = None) -> None:
        super().__init__()
        self.setWindowTitle("Quintet")
        self.setWindowIcon(application_icon())
        self.setAcceptDrops(True)
        self.setDockNestingEnabled(True)
        self._command = list(command) if command is not None else None
        self.patience = (8.0, 4.0)
        home.mkdir(parents=True, exist_ok=True)
        self.settings = QSettings(str(home / "window.ini"), QSettings.Format.IniFormat)
        self.library = Library(home)
        self.library.load()
        self._theme_choice = str(self.settings.value("theme", "system"))
        self.theme = self._chosen_theme()
        self._tabs: dict[str, RunTab] = {}
        self._compared: list[CompareTab] = []
        self._jobs: list[Job] = []
        self._samples: list[Sample] = []
        self._loading: Job | None = None
        self._probe: DeviceProbe | None = None
        self._waiting = 0
        self._frames = 0
        self._quitting = False
        self.actions_by_name = build_actions(self)
        self.tool_bar = ToolBar(self.actions_by_name, self)
        self.addToolBar(self.tool_bar)
        self._make_middle()
        self._make_docks()
        self._make_menus()
        self._make_status()
        self._connect()
        self._restore_layout()
        self._dress()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self._timer.start(_FRAME)
        self._begin()

    # --- making -------------------------------------------------------------------------------------------------

    def _make_middle(self) -> None:
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setMovable(True)
        self.tabs.setElideMode(Qt.TextElideMode.ElideRight)
        self.tabs.setAccessibleName("Runs that are shown")
        self.tabs.tabBar().setAccessibleName("Runs that are shown")
        self.tabs.setIconSize(QSize(12, 12))
        self.start_page = StartPage(self.actions_by_name)
        self.middle = QStackedWidget()
        self.middle.addWidget(self.start_page)
        self.middle.addWidget(self.tabs)
        self.setCentralWidget(self.middle)

    def _make_docks(self) -> None:
        self.pane = ProblemPane(lambda: self.tool_bar.given())
        self.run_list = RunList(self.library, self.theme)
        self.log = LogPane(self.theme)
        self.docks = {
            "problem": self._dock("Problem", self.pane, Qt.DockWidgetArea.LeftDockWidgetArea),
            "runs": self._dock("Runs", self.run_list, Qt.DockWidgetArea.RightDockWidgetArea),
            "log": self._dock("Log", self.log, Qt.DockWidgetArea.BottomDockWidgetArea),
        }
        for corner, area in (
            (Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea),
            (Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea),
        ):
            self.setCorner(corner, area)

    def _dock(self, title: str, widget: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        dock = QDockWidget(title, self)
        dock.setObjectName(f"dock-{title.lower()}")
        dock.setWidget(widget)
        self.addDockWidget(area, dock)
        return dock

    def _make_menus(self) -> None:
        self.sample_menu, self.recent_menu, panes = QMenu(self), QMenu(self), QMenu(self)
        for dock in self.docks.values():
            panes.addAction(dock.toggleViewAction())
        submenus = {"samples": self.sample_menu, "recent": self.recent_menu, "panes": panes}
        self.menus = fill_menus(self.menuBar(), self.actions_by_name, submenus)
        self.recent_menu.aboutToShow.connect(self._fill_recent)
        self.run_menu = QMenu(self)
        for name in (
            "open_run",
            "replay",
            "compare",
            "rerun",
            "resume_run",
            "rename",
            "export_zip",
            "reveal",
            "delete",
        ):
            if name in ("rename", "delete"):
                self.run_menu.addSeparator()
            self.run_menu.addAction(self.actions_by_name[name])

    def _make_status(self) -> None:
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        self.state = QLabel()
        self.state.setMinimumWidth(90)
        self.phase = QLabel()
        self.phase.setObjectName("muted")
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.progress.setRange(0, 1000)
        self.progress.setFixedWidth(170)
        self.progress.setAccessibleName("Progress of the present phase")
        self.rate = QLabel()
        self.elapsed = QLabel()
        self.elapsed.setMinimumWidth(70)
        self.elapsed.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.elapsed.setContentsMargins(0, 0, 8, 0)
        for widget in (self.state, self.progress, self.phase):
            bar.addWidget(widget)
        for widget in (self.rate, self.elapsed):
            bar.addPermanentWidget(widget)

    def _connect(self) -> None:
        self.tabs.currentChanged.connect(lambda _index: self._on_tab())
        for chooser in (self.pane, self.start_page):
            chooser.wanted.connect(self.load)
            chooser.replay_wanted.connect(lambda path: self.show_folder(path, speed=1.0))
            chooser.open_wanted.connect(self.open_problem)
        self.pane.changed.connect(self._enable)
        self.tool_bar.changed.connect(self.pane.show_text)
        self.run_list.opened.connect(self.open_run)
        self.run_list.chosen.connect(self._on_chosen)
        self.run_list.menu.connect(lambda at: self.run_menu.popup(at))
        app = QGuiApplication.instance()
        assert isinstance(app, QApplication)
        app.styleHints().colorSchemeChanged.connect(self._dress)

    def _begin(self) -> None:
        """What is looked for at the start: settings, devices, samples, and what was open last time."""
        try:
            self.tool_bar.set_base(resolve().settings)
        except QuintetError as error:
            self.say(str(error), "error")
        with contextlib.suppress(ValueError, TypeError):
            self.tool_bar.set_values(json.loads(str(self.settings.value("tool_bar", "{}"))))
        self._waiting = 2
        self._probe = DeviceProbe(self._command, self)
        self._probe.found.connect(self._on_devices)
        self._probe.failed.connect(lambda message: (self.say(f"devices: {message}", "error"), self._settle()))
        self._work(find_samples, self._on_samples)
        self._work(panel_classes, lambda _found: None)  # imported now, and not when the first run is opened
        recent = self.settings.value("recent", [])
        self.pane.gallery.show_recent([recent] if isinstance(recent, str) else list(recent or []))
        self._restore_session()
        self._watch_runs()
        self._enable()
        self._on_tab()
        self.pane.gallery.setFocus()

    # --- frame by frame -----------------------------------------------------------------------------------------

    def _tick(self) -> None:
        self._frames += 1
        for tab in list(self._tabs.values()):
            tab.tick()
        for compared in self._compared:
            compared.tick()
        hurry = any(tab.hurrying for tab in self._tabs.values())
        if self._timer.interval() != (_HURRIED_FRAME if hurry else _FRAME):
            self._timer.setInterval(_HURRIED_FRAME if hurry else _FRAME)
        tab = self._run_tab()
        if tab is not None:
            self._show_status(tab)
        if self._frames % _LIST_EVERY == 0:
            for tab in self._tabs.values():
                if tab.live:
                    self.run_list.touch(tab.note)

    def _show_status(self, tab: RunTab) -> None:
        summary = tab.summary
        self._label(self.state, state_text(summary.state), state_colour(self.theme, summary.state))
        fraction = summary.fraction if summary.live else None
        self.progress.setVisible(fraction is not None)
        if fraction is not None:
            self.progress.setValue(round(1000 * fraction))
        self._label(self.phase, summary.phase if summary.live else "")
        self._label(self.rate, rate_text(summary.rate) if summary.state == "running" and summary.rate else "")
        self._label(self.elapsed, seconds_text(summary.seconds if tab.player is None else tab.player.position))

    @staticmethod
    def _label(label: QLabel, text: str, colour: str = "") -> None:
        if label.text() != text:
            label.setText(text)
        if label.property("colour") != colour:
            label.setProperty("colour", colour)
            label.setStyleSheet(f"color: {colour}; font-weight: bold; padding-left: 8px;" if colour else "")

    # --- housekeeping -------------------------------------------------------------------------------------------

    def say(self, message: str, level: str = "info", run: str = "") -> None:
        """Write to the log."""
        self.log.say(message, level, run)

    def _work(
        self,
        work: Callable[[], Any],
        done: Callable[[Any], object],
        failed: Callable[[Exception], object] | None = None,
    ) -> Job:
        """Do something off this thread."""

        def ended(function: Callable[[Any], object], value: Any) -> None:
            self._jobs.remove(job)
            function(value)

        complain = failed or (lambda error: self.say(str(error), "error"))
        job = Job(work, lambda result: ended(done, result), lambda error: ended(complain, error))
        self._jobs.append(job)
        return job.start()

    def _on_devices(self, devices: list[dict[str, Any]], missing: dict[str, str]) -> None:
        self.tool_bar.show_devices(devices, missing)
        names = ", ".join(f"{device['id']} ({device['name']})" for device in devices) or "none"
        self.say(f"devices: {names}", "info" if devices else "error")
        if not devices:
            for reason in missing.values():
                self.say(reason, "error")
        self._settle()

    def _on_samples(self, found: list[Sample]) -> None:
        self._samples = found
        self.pane.gallery.show_samples(found)
        self.start_page.show_samples(found)
        groups: dict[str, QMenu] = {}
        for sample in found:
            if sample.group not in groups:
                groups[sample.group] = self.sample_menu.addMenu(sample.group)
            action = groups[sample.group].addAction(sample.title)
            action.setToolTip(sample.description)
            act = self.show_folder if sample.recorded else self.load
            action.triggered.connect(lambda _checked=False, act=act, path=sample.path: act(path))
        self._settle()

    def _settle(self) -> None:
        self._waiting -= 1
        if self._waiting == 0:
            self.settled.emit()

    def _fill_recent(self) -> None:
        self.recent_menu.clear()
        for path in self.pane.gallery.recent:
            action = self.recent_menu.addAction(path)
            action.triggered.connect(lambda _checked=False, path=path: self.load(Path(path)))
        if not self.pane.gallery.recent:
            self.recent_menu.addAction("None yet").setEnabled(False)

    def present(self) -> set[str]:
        """What is there for the actions' ``needs``."""
        there: set[str] = set()
        tab, chosen, targets = self._run_tab(), self.run_list.selected(), self._targets()
        compared = isinstance(self.tabs.currentWidget(), CompareTab)
        facts = {
            "problem": self.pane.instance is not None and self._loading is None,
            "tab": self.tabs.count() > 0,
            "panel": compared or (tab is not None and tab.panel is not None),
            "live": tab is not None and tab.live,
            "steerable": tab is not None and tab.steerable,
            "selected": bool(targets),
            "one": len(targets) == 1,
            "two": len(chosen) == 2 and all((note.path / "events.jsonl").is_file() for note in chosen),
            "folder": len(targets) == 1 and targets[0].path.is_dir(),
            "replayable": len(targets) == 1 and self._replayable(targets[0]),
            "resumable": len(targets) == 1 and targets[0].resumable,
        }
        there.update(name for name, holds in facts.items() if holds)
        return there

    def _enable(self) -> None:
        """Actions follow what is there."""
        there = self.present()
        for action in ACTIONS:
            made = self.actions_by_name.get(action.name)
            if made is not None and action.needs:
                made.setEnabled(set(action.needs) <= there)
        tab = self._run_tab()
        self._name_pause(tab)
        start = self.actions_by_name["start"]
        set_icon(start, "run", self.theme.accent_text if start.isEnabled() else None)

    def _name_pause(self, tab: RunTab | None) -> None:
        """Pause, go on, or play a replay again: one action, called what it does now."""
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
