"""Choosing a problem: opening files, loading, new instances, and the equivalent command line and Python code."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtWidgets import QDockWidget, QFileDialog, QMainWindow, QMessageBox

from engine.api.sweep import is_sweep, read_sweep
from engine.base.problem import ReadOptions
from engine.errors import InputError, ProblemError
from engine.formats.source import watched
from engine.solvers import problem_classes
from engine.util.text import counted
from gui.app.jobs import Job, Jobs
from gui.app.trust import ask_trust
from gui.app.widgets import ask_folder, open_once
from gui.problem.command_line import option_words
from gui.problem.estimate import SECONDS
from gui.problem.instance import AS, Instance, read_instance, reader_of
from gui.problem.new_instance import InstanceRequest, NewInstance, make_instance
from gui.problem.pane import ProblemPane
from gui.problem.preview_data import PreviewData, preview_data
from gui.problem.samples import Sample
from gui.problem.start_page import StartPage
from gui.problem.sweep import SETTINGS, SweepDialog
from gui.runs.archives import unpack_run
from gui.window.log import LogPane
from gui.window.tool_bar import ToolBar

_STATUS_MILLISECONDS, _PROGRESS_MILLISECONDS = 3000, 300


class Problems(QObject):
    """Loads problems into the problem pane; ``previewed(data, requested)`` when Run would solve another one."""

    changed = Signal()
    previewed = Signal(object, bool)
    folder_requested = Signal(Path, float)
    sweep_requested = Signal(object, str)
    refused = Signal(str, str)
    read = Signal(str, float)

    def __init__(
        self,
        window: QMainWindow,
        pane: ProblemPane,
        start_page: StartPage,
        tool_bar: ToolBar,
        dock: QDockWidget,
        runs: Path,
        settings: QSettings,
        jobs: Jobs,
        log: LogPane,
    ) -> None:
        super().__init__(window)
        self._window, self.pane, self._tool_bar, self._dock = window, pane, tool_bar, dock
        self._runs, self._settings, self._jobs, self._log = runs, settings, jobs, log
        self.samples: list[Sample] = []
        self.loading: Job | None = None
        self._token: object = None
        self._named, self._read_share = "", 0.0
        self._progress = QTimer(self, interval=_PROGRESS_MILLISECONDS)
        self._progress.timeout.connect(self._show_progress)
        self.dialog: NewInstance | None = None
        for chooser in (pane, start_page):
            chooser.problem_requested.connect(self.load)
            chooser.replay_requested.connect(lambda path: self.folder_requested.emit(path, 1.0))
            chooser.open_requested.connect(self.open_problem)
        pane.reading_requested.connect(self.read_again)
        pane.cancel_requested.connect(self.cancel)

    @property
    def handlers(self) -> dict[str, Callable[[], object]]:
        return {
            "open_problem": self.open_problem,
            "open_folder": self.open_folder,
            "new_instance": self.new_instance,
            "new_sweep": self.new_sweep,
            "copy_command": self.copy_command,
            "copy_python": self.copy_python,
            "reset_options": self.pane.reset_options,
        }

    @property
    def ready(self) -> bool:
        """Whether a problem is loaded and none is being loaded."""
        return self.pane.instance is not None and self.loading is None

    # --- loading ------------------------------------------------------------------------------------------------

    def load(
        self,
        path: Path,
        then: Callable[[], object] | None = None,
        requested: bool = True,
        reading: Mapping[str, Any] | None = None,
    ) -> None:
        """Read a problem file in the background, show it, call ``then``; its preview is the tab if ``requested``."""
        if self.loading is not None:
            self._jobs.discard(self.loading)
        self.pane.show_loading(path)

        readers: list[type[ReadOptions] | None] = []
        token = self._token = object()
        self._named, self._read_share = path.name, 0.0

        def report(share: float) -> None:
            if self._token is not token:
                raise ProblemError("another file is read in place of this one", path)
            self._read_share = share

        def read() -> tuple[Instance, PreviewData]:
            readers.append(reader_of(path, (reading or {}).get(AS)))
            with watched(report):
                instance = read_instance(path, reading)
            return instance, preview_data(instance.problem)

        def done(loaded: tuple[Instance, PreviewData]) -> None:
            instance, preview = loaded
            self.loading = None
            self.previewed.emit(preview, requested)
            self.pane.show_instance(instance)
            known = self._tool_bar.values()
            self._tool_bar.set_values({name: value for name, value in instance.settings.items() if name in known})
            if os.path.isfile(path) and not self._is_sample(path):
                self.pane.gallery.add_recent(path)
            self._log.add(f"read {path}: {instance.problem.describe()}")
            if then is not None:
                then()
            self.changed.emit()

        def failed(error: Exception) -> None:
            self.loading = None
            ask_trust(
                error,
                self._window,
                lambda: self.load(path, then, requested, reading),
                lambda error: self.show_error(path, error, readers[0], reading),
            )
            self.changed.emit()

        self.loading = self._jobs.start(read, done, failed)
        self._progress.start()
        self.changed.emit()

    def _show_progress(self) -> None:
        if self.loading is None:
            self._progress.stop()
        else:
            self.read.emit(self._named, self._read_share)

    def cancel(self) -> None:
        """Do not load the file that is being read, and show no problem."""
        if self.loading is not None:
            self._jobs.discard(self.loading)
            self.loading = self._token = None
            self.pane.show_nothing()
            self.previewed.emit(None, False)
            self.changed.emit()

    def release(self) -> None:
        """End what is being read; the window closes."""
        self.loading = self._token = None
        self._progress.stop()

    def _is_sample(self, path: Path) -> bool:
        folders = {sample.path.resolve().parent for sample in self.samples if sample.first}
        return any(path.resolve().is_relative_to(folder) for folder in folders)

    def read_again(self, path: Path, reading: Mapping[str, Any]) -> None:
        """Read the loaded file in another way; the options of the form stay."""
        options, settings = self.pane.options(), self.pane.settings()
        self.load(path, lambda: self.pane.set_values(options, settings), True, reading)

    def show_error(
        self,
        path: Path,
        error: Exception,
        reader: type[ReadOptions] | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> None:
        """Say in the problem pane and in the log why a file cannot be used."""
        message = _what_to_do(str(error))
        self.pane.show_error(path, message, reader, reading)
        self.previewed.emit(None, False)
        self.refused.emit(path.name, message)
        self._dock.show()
        self._dock.raise_()
        self._log.add(message.replace("\n\n", " "), "error")

    def load_with_options(
        self, source: Path, options: dict[str, Any], settings: dict[str, Any], reading: Mapping[str, Any] | None = None
    ) -> None:
        """Load a problem and fill the forms and the tool bar as they were for a run."""

        def fill() -> None:
            self.pane.set_values(options, settings)
            bar = self._tool_bar
            bar.set_values({name: settings.get(name, getattr(bar.base, name, None)) for name in bar.values()})
            self.focus()

        self.load(source, fill, True, reading)

    def open_sample(self, sample: Sample) -> None:
        if sample.recorded:
            self.folder_requested.emit(sample.path, float("inf"))
        else:
            self.load(sample.path)

    def focus(self, option: str = "") -> None:
        """Move the focus to an option, the first by default, or to the gallery."""
        self._dock.show()
        self._dock.raise_()
        form = self.pane.form
        known = form is not None and form.names
        (form.editor(option or form.names[0]) if form is not None and known else self.pane.gallery).setFocus()

    # --- files --------------------------------------------------------------------------------------------------

    def open_path(self, path: Path, kind: str | None = None) -> None:
        if os.path.isdir(path):
            self.folder_requested.emit(path, float("inf"))
        elif path.suffix.lower() == ".zip":
            self.import_archive(path)
        elif is_sweep(path):
            self.open_sweep(path)
        else:
            self.load(path, reading=None if kind is None else {AS: kind})

    def open_sweep(self, path: Path) -> None:
        """Queue the runs that a file describes, after a confirmation."""
        try:
            sweep = read_sweep(path, SETTINGS)
        except InputError as error:
            self.show_error(path, error)
            return
        box = QMessageBox(QMessageBox.Icon.Question, "Sweep", f"Queue {counted(len(sweep), 'run')} of {path.name}?")
        box.setParent(self._window, box.windowFlags())
        yes = box.addButton("Queue", QMessageBox.ButtonRole.AcceptRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.buttonClicked.connect(lambda button: self.sweep_requested.emit(sweep, path.stem) if button is yes else None)
        open_once(box)

    def new_sweep(self) -> None:
        if self.pane.instance is None or not self.ready:
            return
        dialog = SweepDialog(self.pane.instance, self.pane.options(), self.pane.settings(), self._window)
        dialog.requested.connect(self.sweep_requested)
        open_once(dialog)

    def drop(self, event: QDropEvent) -> None:
        for url in event.mimeData().urls():
            if url.isLocalFile():
                self.open_path(Path(url.toLocalFile()))
        event.acceptProposedAction()

    def import_archive(self, path: Path) -> None:
        """Unpack an exported run into the folder of runs, in the background, and show it."""

        def done(folder: Path) -> None:
            self._window.statusBar().clearMessage()
            self._log.add(f"unpacked {path} to {folder}")
            self.folder_requested.emit(folder, float("inf"))

        def failed(error: Exception) -> None:
            self._window.statusBar().clearMessage()
            ask_trust(
                error, self._window, lambda: self.import_archive(path), lambda error: self.show_error(path, error)
            )

        self._window.statusBar().showMessage(f"Unpacking {path.name}…", _STATUS_MILLISECONDS)
        self._jobs.start(lambda: unpack_run(path, self._runs), done, failed)

    def new_instance(self) -> None:
        folder = self._folder()
        self.dialog = NewInstance(folder if os.path.isdir(folder) else Path.home(), self._window)
        self.dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.dialog.requested.connect(self._make_instance)
        self.dialog.open()

    def _make_instance(self, request: InstanceRequest) -> None:
        self._remember_folder(request.path)
        self._window.statusBar().showMessage(f"Writing {request.path.name}…", _STATUS_MILLISECONDS)

        def done(path: Path) -> None:
            self._log.add(f"wrote {path}")
            self.load(path)

        self._jobs.start(lambda: make_instance(request), done)

    def open_problem(self) -> None:
        dialog = QFileDialog(self._window, "Open a problem", str(self._folder()))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda name: self._remember_folder(Path(name)))
        kinds = {"All files (*)": None} | {_filter_of(name): name for name in problem_classes()}
        dialog.setNameFilters(list(kinds))
        dialog.fileSelected.connect(lambda name: self.open_path(Path(name), kinds.get(dialog.selectedNameFilter())))
        open_once(dialog)

    def open_folder(self) -> None:
        ask_folder(
            self._window,
            "Open a run folder",
            self._folder(),
            lambda folder: self.folder_requested.emit(folder, float("inf")),
        )

    def _folder(self) -> Path:
        return Path(str(self._settings.value("folder", str(Path.cwd()))))

    def _remember_folder(self, path: Path) -> None:
        self._settings.setValue("folder", str(path.parent))

    # --- equivalents --------------------------------------------------------------------------------------------

    def copy_command(self) -> None:
        QGuiApplication.clipboard().setText(self.pane.command_text())
        self._window.statusBar().showMessage("Command line copied to the clipboard", _STATUS_MILLISECONDS)

    def estimate_words(self) -> list[str]:
        """The words after ``quintet`` that estimate the work of the loaded problem, on this computer."""
        instance = self.pane.instance
        if instance is None:
            raise InputError("no problem is loaded")
        if errors := self.pane.errors():
            raise InputError("; ".join(errors))
        settings = self.pane.settings()
        elsewhere = settings.get("cluster") or settings.get("host")
        names = ("seed",) if elsewhere else ("backend", "devices", "seed")
        here: dict[str, Any] = {name: settings[name] for name in names if name in settings}
        words = option_words({**here, "time_limit": SECONDS, **instance.reading, **self.pane.options()})
        return ["estimate", str(instance.source), "--json", *words]

    def copy_python(self) -> None:
        QGuiApplication.clipboard().setText(self.pane.python_text())
        self._window.statusBar().showMessage("Python code copied to the clipboard", _STATUS_MILLISECONDS)


def _filter_of(name: str) -> str:
    """The filter of a file dialog with which files are read as a class."""
    return f"Read as {re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', name)} (*)"


def _what_to_do(message: str) -> str:
    """A message in which words on what to do replace a list of classes."""
    first, *others = message.splitlines() or [""]
    if not first.startswith("cannot tell what kind of problem"):
        return message
    faults = [line.strip() for line in others if line.startswith("  read as ")]
    known = "If you know what it holds, press “Open another file…” and choose its kind in place of “All files”."
    compare = "If not, compare it with the samples at the left: each has a file of its kind."
    return "\n\n".join([f"{first.partition(';')[0]}.", known, compare, *faults])
