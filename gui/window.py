"""The main window: problem at the left, dashboards in the middle, runs at the right, log at the bottom."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QSettings, QSize, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QCloseEvent, QDesktopServices, QDragEnterEvent, QDropEvent, QGuiApplication, QIcon
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QFileDialog,
    QInputDialog,
    QLabel,
    QMainWindow,
    QMenu,
    QMessageBox,
    QProgressBar,
    QStackedWidget,
    QTabBar,
    QTabWidget,
    QToolButton,
    QWidget,
)

import engine
from engine.config import resolve
from engine.errors import QuintetError
from gui import exports
from gui.actions import ACTIONS, Palette, ShortcutSheet, build_actions, fill_menus, plain
from gui.compare import CompareTab
from gui.icons import application_icon, dot, icon, refresh_icons, set_icon
from gui.library import Library, RunNote
from gui.loading import Instance, Job, Sample, find_samples, read_instance
from gui.log import LogPane
from gui.problem_pane import ProblemPane
from gui.run_tab import RunTab
from gui.runlist import RunList
from gui.runner import Child, resume_words, solve_words
from gui.start_page import StartPage
from gui.style import state_colour, style_sheet
from gui.summary import rate_text, seconds_text, state_text
from gui.theme import system_theme, theme_named
from gui.tool_bar import DeviceProbe, ToolBar

__all__ = ["MainWindow"]

_FRAME = 80  # milliseconds: 12.5 frames a second
_HURRIED_FRAME = 25
_LIST_EVERY = 6  # frames
_LAYOUT = 1  # of docks; another number where they have changed


class MainWindow(QMainWindow):
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
        recent = self.settings.value("recent", [])
        self.pane.show_recent([recent] if isinstance(recent, str) else list(recent or []))
        self._restore_session()
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
        self._label(self.rate, rate_text(summary.rate) if summary.live and summary.rate else "")
        self._label(self.elapsed, seconds_text(summary.seconds))

    @staticmethod
    def _label(label: QLabel, text: str, colour: str = "") -> None:
        if label.text() != text:
            label.setText(text)
        if label.property("colour") != colour:
            label.setProperty("colour", colour)
            label.setStyleSheet(f"color: {colour}; font-weight: bold; padding-left: 8px;" if colour else "")

    # --- problems -----------------------------------------------------------------------------------------------

    def load(self, path: Path, then: Callable[[], object] | None = None) -> None:
        """Read a problem file, off this thread, and show it with its form."""
        if self._loading is not None:
            self._loading.forget()
        self.pane.show_loading(path)

        def done(instance: Instance) -> None:
            self._loading = None
            self.pane.show_instance(instance)
            self.tool_bar.set_values({k: v for k, v in instance.settings.items() if k in self.tool_bar.values()})
            if not str(path).startswith(str(Path(engine.__file__).resolve().parent)):
                self.pane.add_recent(path)
            self.say(f"read {path}: {instance.problem.describe()}")
            if then is not None:
                then()
            self._enable()

        def failed(error: Exception) -> None:
            self._loading = None
            self.pane.show_error(path, str(error))
            self.docks["problem"].show()
            self.say(str(error), "error")
            self._enable()

        self._loading = self._work(lambda: read_instance(path), done, failed)
        self._enable()

    def open_problem(self) -> None:
        """Choose a file."""
        dialog = QFileDialog(self, "Open a problem", str(self.settings.value("folder", str(Path.cwd()))))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda name: (self._remember_folder(name), self.load(Path(name))))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _remember_folder(self, name: str) -> None:
        self.settings.setValue("folder", str(Path(name).parent))

    def open_folder(self) -> None:
        """Choose a run folder that is kept elsewhere."""
        dialog = QFileDialog(self, "Open a run folder", str(self.settings.value("folder", str(Path.cwd()))))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(lambda name: self.show_folder(Path(name)))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def show_folder(self, path: Path, speed: float = float("inf")) -> None:
        """Show the run in a folder from anywhere."""
        try:
            note = self.library.adopt(path)
        except QuintetError as error:
            self.say(str(error), "error")
            self.pane.show_error(path, str(error))
            return
        self.run_list.renew()
        self._show_run(note, speed)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Files and folders may be dropped anywhere."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """A run folder is shown, any other file is read as a problem."""
        for url in event.mimeData().urls():
            if url.isLocalFile():
                path = Path(url.toLocalFile())
                if path.is_dir():
                    self.show_folder(path)
                else:
                    self.load(path)
        event.acceptProposedAction()

    def reset_options(self) -> None:
        """All options back to their defaults."""
        self.pane.reset_options()

    def copy_command(self) -> None:
        """Put the command line on the clipboard."""
        QGuiApplication.clipboard().setText(self.pane.command_text())
        self.statusBar().showMessage("The command line is on the clipboard", 3000)

    def copy_python(self) -> None:
        """Put the Python snippet on the clipboard."""
        QGuiApplication.clipboard().setText(self.pane.python_text())
        self.statusBar().showMessage("The Python snippet is on the clipboard", 3000)

    # --- runs ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Solve the problem at the left with the options of its form."""
        instance = self.pane.instance
        if instance is None or self._loading is not None:
            return
        if errors := self.pane.errors():
            self.docks["problem"].show()
            self.say("; ".join(errors), "error")
            return
        settings, options = self.pane.settings(), self.pane.options()
        note = self.library.new(
            instance.problem.name,
            solver=instance.solver.name,
            problem=instance.problem.describe(),
            source=str(instance.source),
            options=options,
            settings=settings,
        )
        words = solve_words(instance.source, {**settings, "run_folder": note.folder}, options)
        self._start_child(note, words, instance.problem)

    def resume_run(self) -> None:
        """Go on with a run from its checkpoint."""
        for note in self._targets():
            if note.resumable:
                if note.key in self._tabs:
                    self._drop(self._tabs[note.key])
                self._work(
                    lambda note=note: engine.folder.RunFolder.open(note.path).problem(),
                    lambda problem, note=note: self._start_child(
                        note, resume_words(note.folder), problem, recorded=True
                    ),
                )
                return

    def _start_child(self, note: RunNote, words: list[str], problem: Any, recorded: bool = False) -> None:
        note.state, note.message = "starting", ""
        child = Child(words, command=self._command, patience=self.patience)
        tab = self._add_tab(note)
        self.run_list.renew()
        self.run_list.select(note)
        self.say("started: quintet " + " ".join(words), run=note.title)
        tab.show_live(child, problem, recorded)
        self._show(tab)

    def pause(self) -> None:
        """Hold the run of this tab, or let it go on."""
        tab = self._run_tab()
        if tab is not None and tab.steerable:
            tab.pause()

    def stop(self) -> None:
        """End the run of this tab: ask, then terminate, then kill."""
        tab = self._run_tab()
        if tab is not None:
            tab.stop()

    def open_run(self) -> None:
        """Show the selected runs."""
        for note in self.run_list.selected():
            self._show_run(note)

    def replay(self) -> None:
        """Play a run again."""
        for note in self._targets():
            if self._replayable(note):
                self._show_run(note, speed=1.0)
                return

    def compare(self) -> None:
        """Show two runs over each other."""
        notes = self.run_list.selected()
        if len(notes) != 2:
            return
        tab = CompareTab(notes, self.theme)
        tab.ready.connect(self._enable)
        self._compared.append(tab)
        index = self.tabs.addTab(tab, tab.title)
        self.tabs.setTabIcon(index, icon("compare"))
        self._add_close_button(index, tab)
        self.tabs.setTabToolTip(index, f"Comparison of {tab.title}")
        self._show(tab)

    def rerun(self) -> None:
        """Load a run's problem and options, to change them and run again."""
        notes = self._targets()
        if not notes:
            return
        note = notes[0]
        if not note.source or not Path(note.source).is_file():
            what = f"the file {note.source} is gone" if note.source else "nothing says which file it came from"
            self.say(f"cannot load the problem of {note.title}: {what}; open the file by hand", "error", note.title)
            self._banner(note, f"The problem of this run cannot be loaded: {what}. Open the file by hand.")
            return

        def fill() -> None:
            assert self.pane.form is not None
            assert self.pane.run_form is not None
            self.pane.form.set_values(note.options)
            self.pane.run_form.set_values(note.settings)
            self.tool_bar.set_values({name: note.settings.get(name) for name in ("devices", "time_limit")})
            self.tool_bar.set_values({"backend": note.settings.get("backend", self.tool_bar.base.backend)})
            self.focus_problem()

        self.load(Path(note.source), fill)

    def rename(self) -> None:
        """Give a run another title."""
        notes = self._targets()
        if not notes:
            return
        note = notes[0]
        dialog = QInputDialog(self)
        dialog.setWindowTitle("Rename")
        dialog.setLabelText("Title of the run:")
        dialog.setTextValue(note.title)
        dialog.textValueSelected.connect(lambda text: self._rename(note, text))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _rename(self, note: RunNote, text: str) -> None:
        if text.strip():
            note.title = text.strip()
            self.library.save(note)
            self.run_list.touch(note)
            for index in range(self.tabs.count()):
                tab = self.tabs.widget(index)
                if isinstance(tab, RunTab) and tab.note is note:
                    self.tabs.setTabText(index, note.title)

    def delete(self) -> None:
        """Delete runs, after asking."""
        notes = [note for note in self._targets() if not note.live]
        if not notes:
            self.say("a run that goes on cannot be deleted; stop it first", "warning")
            return
        what = f"“{notes[0].title}”" if len(notes) == 1 else f"{len(notes)} runs"
        own = [note for note in notes if self.library.owns(note)]
        box = QMessageBox(QMessageBox.Icon.Question, "Delete", f"Delete {what}?", parent=self)
        box.setInformativeText(
            "The run folders are deleted, with all results in them."
            if own
            else "It is taken off the list; its folder, which is kept elsewhere, stays."
        )
        yes = box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.buttonClicked.connect(lambda button: self._delete(notes) if button is yes else None)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    def _delete(self, notes: Sequence[RunNote]) -> None:
        for note in notes:
            if note.key in self._tabs:
                self._drop(self._tabs[note.key])
            try:
                self.library.delete(note)
            except OSError as error:
                self.say(f"{note.folder} cannot be deleted: {error}", "error")
        self.run_list.renew()
        self._enable()

    def reveal(self) -> None:
        """Show a run's folder in the file manager."""
        for note in self._targets()[:1]:
            QDesktopServices.openUrl(QUrl.fromLocalFile(note.folder))

    def _targets(self) -> list[RunNote]:
        """The runs an action is about: those selected, else the one in the middle."""
        chosen = self.run_list.selected()
        tab = self._run_tab()
        return chosen or ([tab.note] if tab is not None else [])

    def _replayable(self, note: RunNote) -> bool:
        return not note.live and (note.path / "events.jsonl").is_file()

    def _banner(self, note: RunNote, message: str) -> None:
        if note.key in self._tabs:
            self._tabs[note.key].banner.say(message)

    # --- tabs ---------------------------------------------------------------------------------------------------

    def _add_tab(self, note: RunNote) -> RunTab:
        tab = RunTab(note, self.theme)
        tab.said.connect(lambda level, message: self.say(message, level, note.title))
        tab.moved.connect(lambda: self._on_moved(tab))
        tab.ready.connect(self._enable)
        self._tabs[note.key] = tab
        self._put(tab)
        return tab

    def _put(self, tab: RunTab) -> None:
        index = self.tabs.addTab(tab, QIcon(dot(tab.note.colour)), tab.note.title)
        self.tabs.setTabToolTip(index, tab.note.problem)
        self._add_close_button(index, tab)

    def _add_close_button(self, index: int, tab: QWidget) -> None:
        button = QToolButton()
        button.setObjectName("close")
        button.setAutoRaise(True)
        button.setIconSize(QSize(12, 12))
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        set_icon(button, "close")
        button.setAccessibleName("Close the tab")
        button.clicked.connect(lambda: self._close(tab))
        self.tabs.tabBar().setTabButton(index, QTabBar.ButtonPosition.RightSide, button)

    def _show_run(self, note: RunNote, speed: float = float("inf")) -> None:
        """Bring a run to the front, opened if it is not."""
        tab = self._tabs.get(note.key)
        if tab is None:
            tab = self._add_tab(note)
            tab.show_recorded(speed)
        elif speed != float("inf"):
            tab.replay(speed)
        if self.tabs.indexOf(tab) < 0:
            self._put(tab)
        self._show(tab)
        self.run_list.select(note)

    def _show(self, tab: QWidget) -> None:
        self.middle.setCurrentWidget(self.tabs)
        self.tabs.setCurrentWidget(tab)
        self._enable()

    def _run_tab(self) -> RunTab | None:
        tab = self.tabs.currentWidget()
        return tab if isinstance(tab, RunTab) else None

    def close_tab(self) -> None:
        """Close the tab; its run is kept, and goes on if it runs."""
        self._close(self.tabs.currentWidget())

    def _close(self, tab: QWidget | None) -> None:
        if isinstance(tab, RunTab) and tab.live:
            self.tabs.removeTab(self.tabs.indexOf(tab))
            self.say("its tab is closed; it goes on, and can be opened from the list of runs", run=tab.note.title)
        elif isinstance(tab, (RunTab, CompareTab)):
            self._drop(tab)
        self._on_tab()

    def _drop(self, tab: RunTab | CompareTab) -> None:
        """Give up a tab for good."""
        tab.close_sources()
        if isinstance(tab, RunTab):
            self._tabs.pop(tab.note.key, None)
        else:
            self._compared.remove(tab)
        index = self.tabs.indexOf(tab)
        if index >= 0:
            self.tabs.removeTab(index)
        tab.deleteLater()

    def _on_moved(self, tab: RunTab) -> None:
        """A run has changed its state."""
        if tab.child is not None:
            self.library.save(tab.note)
            self.run_list.touch(tab.note)
            if not tab.live and self.tabs.indexOf(tab) < 0 and not self._quitting:
                self._drop(tab)
        self._enable()
        if self._quitting and not any(other.live for other in self._tabs.values()):
            QTimer.singleShot(0, self.close)

    def _on_tab(self) -> None:
        if not self.tabs.count():
            self.middle.setCurrentIndex(0)
            for label in (self.state, self.phase, self.rate, self.elapsed):
                self._label(label, "")
            self.progress.hide()
        tab = self._run_tab()
        if tab is not None:
            if tab.panel is None and tab.child is None and tab.property("asleep"):
                tab.setProperty("asleep", False)
                tab.show_recorded()
            if self.run_list.selected() != [tab.note] and not self.run_list.view.hasFocus():
                self.run_list.select(tab.note)
        self._enable()

    def _on_chosen(self) -> None:
        chosen = self.run_list.selected()
        if len(chosen) == 1 and chosen[0].key in self._tabs:
            tab = self._tabs[chosen[0].key]
            if self.tabs.indexOf(tab) >= 0 and self.tabs.currentWidget() is not tab:
                self.tabs.setCurrentWidget(tab)
        self._enable()

    def next_tab(self) -> None:
        """The tab to the right."""
        self._step(1)

    def previous_tab(self) -> None:
        """The tab to the left."""
        self._step(-1)

    def _step(self, step: int) -> None:
        if self.tabs.count():
            self.tabs.setCurrentIndex((self.tabs.currentIndex() + step) % self.tabs.count())

    # --- exports ------------------------------------------------------------------------------------------------

    def export_png(self) -> None:
        """Every plot as a picture."""
        self._export_plots("png")

    def export_svg(self) -> None:
        """Every plot as a drawing."""
        self._export_plots("svg")

    def export_csv(self) -> None:
        """Every plot's curves as a table."""
        self._export_plots("csv")

    def _export_plots(self, kind: str) -> None:
        dialog = QFileDialog(self, f"Folder for the {kind.upper()} files", str(Path.home()))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(lambda name: self.write_plots(kind, Path(name)))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def write_plots(self, kind: str, folder: Path) -> None:
        """Write every plot of this tab to a folder, as png, svg or csv."""
        tab = self.tabs.currentWidget()
        plots = (
            tab.plots()
            if isinstance(tab, CompareTab)
            else tab.panel.plots()
            if isinstance(tab, RunTab) and tab.panel
            else []
        )
        try:
            written = exports.write_plots(plots, kind, folder)
        except OSError as error:
            self.say(f"cannot write to {folder}: {error}", "error")
            return
        self.say(f"wrote {len(written)} files to {folder}")

    def export_report(self) -> None:
        """One HTML page."""
        tab = self._run_tab()
        if tab is not None and tab.panel is not None:
            self._save_as("Save the report", f"{tab.note.title}.html", self.write_report)

    def write_report(self, path: Path) -> None:
        """Write the report of this tab's run."""
        tab = self._run_tab()
        if tab is None or tab.panel is None:
            return
        try:
            exports.write_report(tab.panel, path)
        except OSError as error:
            self.say(f"cannot write {path}: {error}", "error")
            return
        self.say(f"wrote {path}", run=tab.note.title)

    def export_zip(self) -> None:
        """A run in one file."""
        for note in self._targets()[:1]:
            self._save_as("Save the run", f"{note.key}.zip", lambda path, note=note: self.write_zip(note, path))

    def write_zip(self, note: RunNote, path: Path) -> None:
        """Pack a run folder, off this thread."""
        self._work(
            lambda: exports.write_zip(note.path, path),
            lambda _result: self.say(f"wrote {path}", run=note.title),
        )

    def _save_as(self, title: str, name: str, write: Callable[[Path], object]) -> None:
        dialog = QFileDialog(self, title, str(Path.home()))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(name.replace("/", "-"))
        dialog.fileSelected.connect(lambda chosen: write(Path(chosen)))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    # --- looks --------------------------------------------------------------------------------------------------

    def _chosen_theme(self) -> Any:
        app = QGuiApplication.instance()
        assert isinstance(app, QApplication)
        if self._theme_choice in ("light", "dark"):
            return theme_named(self._theme_choice)
        return system_theme(app)

    def _dress(self, _scheme: Any = None) -> None:
        self.theme = self._chosen_theme()
        app = QGuiApplication.instance()
        assert isinstance(app, QApplication)
        self.theme.apply(app)
        app.setStyleSheet(style_sheet(self.theme))
        set_icon(self.actions_by_name["start"], "run", self.theme.accent_text if self.pane.instance else None)
        refresh_icons(self)
        self.run_list.set_theme(self.theme)
        self.log.set_theme(self.theme)
        self.pane.set_theme(self.theme)
        for tab in (*self._tabs.values(), *self._compared):
            tab.set_theme(self.theme)
        self.actions_by_name[f"theme_{self._theme_choice}"].setChecked(True)
        self.state.setProperty("colour", None)

    def set_theme_choice(self, choice: str) -> None:
        """``"system"``, ``"light"`` or ``"dark"``."""
        self._theme_choice = choice
        self.settings.setValue("theme", choice)
        self._dress()

    def theme_system(self) -> None:
        """Follow the system."""
        self.set_theme_choice("system")

    def theme_light(self) -> None:
        """Light."""
        self.set_theme_choice("light")

    def theme_dark(self) -> None:
        """Dark."""
        self.set_theme_choice("dark")

    def switch_theme(self) -> None:
        """The other one."""
        self.set_theme_choice("light" if self.theme.dark else "dark")

    def full_screen(self) -> None:
        """All of the screen, or not."""
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    def focus_problem(self) -> None:
        """To the left side."""
        self.docks["problem"].show()
        form = self.pane.form
        (form.editor(form.names[0]) if form is not None and form.names else self.pane.gallery).setFocus()

    def focus_run(self) -> None:
        """To the middle."""
        tab = self._run_tab()
        (tab.panel.pages.tabBar() if tab is not None and tab.panel is not None else self.tabs.tabBar()).setFocus()

    def focus_runs(self) -> None:
        """To the right side."""
        self.docks["runs"].show()
        (self.run_list.view if self.library.notes else self.run_list.filter).setFocus()

    def focus_log(self) -> None:
        """To the bottom."""
        self.docks["log"].show()
        self.log.filter.setFocus()

    # --- help ---------------------------------------------------------------------------------------------------

    def find_command(self) -> None:
        """Find a command by typing."""
        entries: list[tuple[str, str, Callable[[], object]]] = []
        for action in ACTIONS:
            made = self.actions_by_name.get(action.name)
            if made is not None and made.isEnabled() and action.name != "find_command":
                entries.append((plain(made.text()), made.shortcut().toString(), made.trigger))
        for dock in self.docks.values():
            entries.append((f"Show or hide {dock.windowTitle().lower()}", "", dock.toggleViewAction().trigger))
        for sample in self._samples:
            act = self.show_folder if sample.recorded else self.load
            entries.append((f"Sample: {sample.title}", sample.group, lambda act=act, path=sample.path: act(path)))
        for note in self.library:
            entries.append((f"Run: {note.title}", state_text(note.state), lambda note=note: self._show_run(note)))
        self.command_palette = Palette(entries, self)
        self.command_palette.show()
        self.command_palette.line.setFocus()

    def shortcuts(self) -> None:
        """All keys."""
        self.sheet = ShortcutSheet(self.actions_by_name, self)
        self.sheet.open()

    def about(self) -> None:
        """What this is."""
        box = QMessageBox(self)
        box.setWindowTitle("About Quintet")
        box.setIconPixmap(application_icon().pixmap(QSize(48, 48)))
        box.setText(f"<b>Quintet {engine.__version__}</b>")
        box.setInformativeText(
            f"Published GPU algorithms for hard problems, on CUDA and OpenCL.\nRuns are kept in {self.library.runs}."
        )
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

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
        self.pane.show_samples(found)
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
        for path in self.pane.recent:
            action = self.recent_menu.addAction(path)
            action.triggered.connect(lambda _checked=False, path=path: self.load(Path(path)))
        if not self.pane.recent:
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
        held = tab is not None and tab.paused
        pause = self.actions_by_name["pause"]
        if held != (pause.text() == "&Resume"):
            pause.setText("&Resume" if held else "&Pause")
            set_icon(pause, "continue" if held else "pause")
        start = self.actions_by_name["start"]
        set_icon(start, "run", self.theme.accent_text if start.isEnabled() else None)

    # --- the session --------------------------------------------------------------------------------------------

    def _restore_layout(self) -> None:
        self.resize(1440, 900)
        geometry, state = self.settings.value("geometry"), self.settings.value("state")
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
        if not (isinstance(state, QByteArray) and self.restoreState(state, _LAYOUT)):
            self.resizeDocks([self.docks["problem"], self.docks["runs"]], [330, 300], Qt.Orientation.Horizontal)
            self.resizeDocks([self.docks["log"]], [150], Qt.Orientation.Vertical)

    def _restore_session(self) -> None:
        """Open runs, and the problem with its form."""
        try:
            session = json.loads(str(self.settings.value("session", "{}")))
        except ValueError:
            session = {}
        for key in session.get("open", []):
            note = self.library.find(str(key))
            if note is not None and (note.path / "events.jsonl").is_file():
                self._add_tab(note).setProperty("asleep", True)
        current = self._tabs.get(str(session.get("current")))
        if current is not None:
            self.tabs.setCurrentWidget(current)
        if self.tabs.count():
            self.middle.setCurrentWidget(self.tabs)
            self._on_tab()
        if session.get("problem") and Path(session["problem"]).is_file():

            def fill() -> None:
                if self.pane.form is not None and self.pane.run_form is not None:
                    self.pane.form.set_values(session.get("options", {}))
                    self.pane.run_form.set_values(session.get("settings", {}))

            self.load(Path(session["problem"]), fill)

    def save_session(self) -> None:
        """Write what the next start shall find again."""
        open_tabs = [self.tabs.widget(index) for index in range(self.tabs.count())]
        pane = self.pane
        current = self._run_tab()
        session = {
            "open": [tab.note.key for tab in open_tabs if isinstance(tab, RunTab)],
            "current": current.note.key if current is not None else None,
            "problem": str(pane.instance.source) if pane.instance is not None else None,
            "options": pane.options(),
            "settings": pane.run_form.given() if pane.run_form is not None else {},
        }
        self.settings.setValue("geometry", self.saveGeometry())
        self.settings.setValue("state", self.saveState(_LAYOUT))
        self.settings.setValue("session", json.dumps(session))
        self.settings.setValue("tool_bar", json.dumps(self.tool_bar.given()))
        self.settings.setValue("recent", pane.recent)
        self.settings.sync()

    def quit(self) -> None:
        """Close the window."""
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about runs that go on; stop them, then close."""
        live = [tab for tab in self._tabs.values() if tab.live] if self._timer.isActive() else []
        if live and not self._quitting:
            event.ignore()
            self._ask_to_quit(len(live))
            return
        if live:
            event.ignore()
            return
        if not self._quitting:
            self.save_session()
        self._let_go()
        event.accept()

    def quit_now(self) -> None:
        """Close at once: children that still run are killed, and nothing is asked."""
        self._quitting = True
        self._let_go()
        self.close()

    def _let_go(self) -> None:
        """Nothing reaches the window any more."""
        self._timer.stop()
        if self._probe is not None:
            self._probe.close()
        for job in self._jobs:
            job.forget()
        for tab in (*self._tabs.values(), *self._compared):
            tab.close_sources()

    def _ask_to_quit(self, count: int) -> None:
        what = "A run is still going." if count == 1 else f"{count} runs are still going."
        box = QMessageBox(QMessageBox.Icon.Question, "Quit", what, parent=self)
        box.setInformativeText("They are stopped with their best so far and a checkpoint to continue from.")
        yes = box.addButton("Stop and quit", QMessageBox.ButtonRole.AcceptRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.buttonClicked.connect(lambda button: self.stop_and_quit() if button is yes else None)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    def stop_and_quit(self) -> None:
        """Stop what runs, keep the session, close."""
        self.save_session()
        self._quitting = True
        self.statusBar().showMessage("Stopping the runs…")
        for tab in self._tabs.values():
            if tab.live and tab.child is not None:
                tab.child.stop_soon((3.0, 1.5))
        if not any(tab.live for tab in self._tabs.values()):
            self.close()
