"""Runs: start, pause, stop, resume, open, replay, compare, repeat, rename, delete."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QSettings, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QInputDialog, QMainWindow, QMessageBox

from engine.errors import QuintetError
from engine.problem import Problem
from gui.app.jobs import Jobs
from gui.problem.command_line import resume_words, solve_words
from gui.runs.child import Child
from gui.runs.library import TRASH_DAYS, Library
from gui.runs.notes import RunNote
from gui.runs.recorded import read_problem_of
from gui.runs.run_list import RunList
from gui.runs.standby import Standby
from gui.runs.tab import RunTab
from gui.window.log import LogPane
from gui.window.problems import Problems
from gui.window.tabs import Tabs

__all__ = ["MOST_COMPARED", "Runs"]

MOST_COMPARED = 12
_RESCAN_DELAY = 400  # milliseconds; a run that starts writes several times


class Runs(QObject):
    """Starts runs and manages the runs in the list.

    ``changed()`` when runs were added, renamed or removed.

    Parameters
    ----------
    window : QMainWindow
        Parent of the dialogs.
    command : sequence of str, optional
        What starts ``quintet`` in a child process.
    standby : bool
        Whether a process with open devices waits for the next run.
    """

    changed = Signal()

    def __init__(
        self,
        window: QMainWindow,
        library: Library,
        run_list: RunList,
        tabs: Tabs,
        problems: Problems,
        jobs: Jobs,
        log: LogPane,
        settings: QSettings,
        command: Sequence[str] | None = None,
        standby: bool = False,
    ) -> None:
        super().__init__(window)
        self._window, self._library, self._list, self._tabs = window, library, run_list, tabs
        self._problems, self._jobs, self._log, self._settings = problems, jobs, log, settings
        self._queue: dict[str, Callable[[], None]] = {}
        self._trashed: list[Path] = []
        self._command = list(command) if command is not None else None
        self.standby = Standby(command, standby, self)
        self.patience = (8.0, 4.0)
        self.table_selection: Callable[[], list[RunNote] | None] = lambda: None
        """Returns what is selected in the run table; None if it is not shown."""
        self.accepting = True
        """Whether new runs may be started; False while the window is closing."""
        problems.folder_requested.connect(self.show_folder)
        problems.changed.connect(self.prepare)
        tabs.changed.connect(self._start_queued)
        library.runs.mkdir(parents=True, exist_ok=True)
        self._watcher = QFileSystemWatcher([str(library.runs)], self)
        self._rescan_timer = QTimer(self)
        self._rescan_timer.setSingleShot(True)
        self._rescan_timer.setInterval(_RESCAN_DELAY)
        self._rescan_timer.timeout.connect(self.rescan)
        self._watcher.directoryChanged.connect(lambda _path: self.rescan_later())
        if library.incomplete:
            self.rescan_later()

    @property
    def handlers(self) -> dict[str, Callable[[], object]]:
        """Handlers of the actions, by name."""
        return {
            "start": self.start,
            "runs_at_once": self.ask_most_at_once,
            "pause": self.pause,
            "stop": self.stop,
            "resume_run": self.resume,
            "open_run": self.open_selected,
            "replay": self.replay,
            "compare": self.compare,
            "rerun": self.rerun,
            "rename": self.rename,
            "delete": self.delete,
            "undo_delete": self.undo_delete,
            "reveal": self.reveal,
        }

    def targets(self) -> list[RunNote]:
        """The runs an action applies to: those selected in the list, else the one in the current tab."""
        tab = self._tabs.current_run()
        return self.selected() or ([tab.note] if tab is not None else [])

    def selected(self) -> list[RunNote]:
        """The runs that are selected in the table, if that is shown, else in the list."""
        in_table = self.table_selection()
        return self._list.selected() if in_table is None else in_table

    @staticmethod
    def replayable(note: RunNote) -> bool:
        """Whether a run has ended and has recorded events."""
        return not note.live and (note.path / "events.jsonl").is_file()

    # --- children -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Solve the loaded problem with the options of the form, in a child process."""
        pane = self._problems.pane
        instance = pane.instance
        if instance is None or not self._problems.ready or not self.accepting:
            return
        if errors := pane.errors():
            self._problems.focus()
            self._log.add("; ".join(errors), "error")
            return
        settings, options = pane.settings(), pane.options()
        note = self._library.new(
            instance.problem.name,
            solver=instance.solver.name,
            problem=instance.problem.describe(),
            source=str(instance.source),
            options=options,
            settings=settings,
        )
        words = solve_words(instance.source, {**settings, "run_folder": note.folder}, options)
        self._start_child(note, words, instance.problem)

    def resume(self) -> None:
        """Resume the first resumable run of the targets from its checkpoint."""
        for note in self.targets():
            if note.resumable:
                self._jobs.start(partial(read_problem_of, note.path), partial(self._resume, note))
                return

    def _resume(self, note: RunNote, problem: Problem) -> None:
        """Resume a run whose problem has been read, unless it was resumed or deleted meanwhile."""
        if not note.resumable or not self.accepting or self._library.find(note.key) is not note:
            return
        self._tabs.discard_run(note)
        self._start_child(note, resume_words(note.folder), problem, recorded=True)

    def _start_child(self, note: RunNote, words: list[str], problem: Problem, recorded: bool = False) -> None:
        """Start a run in a tab of its own, or queue it while as many as are allowed are in progress."""
        note.state, note.message, note.window = "starting", "", os.getpid()
        tab = self._tabs.add(note)
        self._list.reload()
        self._list.select(note)
        start = partial(self._launch, tab, words, problem, recorded)
        if len(self._tabs.running()) < self.most_at_once:
            start()
        else:
            self._queue[note.key] = start
            tab.show_queued()
            self._log.add(f"queued as number {len(self._queue)}", run=note.title)
        self._tabs.show(tab)

    def _launch(self, tab: RunTab, words: list[str], problem: Problem, recorded: bool) -> None:
        child = self.standby.take(words) or Child(words, command=self._command)
        child.patience = self.patience
        self._log.add("started: quintet " + " ".join(words), run=tab.note.title)
        tab.show_live(child, problem, recorded)

    def prepare(self) -> None:
        """Have a process wait for the next run, with the devices of the tool bar."""
        if self._problems.ready and self.accepting and not self._tabs.running():
            self.standby.prepare(self._problems.pane.settings())

    def _start_queued(self) -> None:
        """Start queued runs as far as is allowed."""
        while self._queue and self.accepting and len(self._tabs.running()) < self.most_at_once:
            key = next(iter(self._queue))
            start, tab = self._queue.pop(key), self._tabs.runs.get(key)
            if tab is not None:
                start()
        if not self.standby.waiting:
            self.prepare()

    @property
    def queued(self) -> list[str]:
        """The keys of the queued runs, in the order in which they will start."""
        return list(self._queue)

    @property
    def most_at_once(self) -> int:
        """How many runs may be in progress at once; the others are queued."""
        return max(1, int(str(self._settings.value("runs_at_once", 1))))

    def ask_most_at_once(self) -> None:
        """Ask how many runs may be in progress at once."""
        dialog = QInputDialog(self._window)
        dialog.setWindowTitle("Runs at once")
        dialog.setLabelText("Runs in progress at once; further runs are queued:")
        dialog.setInputMode(QInputDialog.InputMode.IntInput)
        dialog.setIntRange(1, 64)
        dialog.setIntValue(self.most_at_once)
        dialog.intValueSelected.connect(self.set_most_at_once)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def set_most_at_once(self, count: int) -> None:
        """Allow ``count`` runs at once from now on."""
        self._settings.setValue("runs_at_once", count)
        self._start_queued()

    def pause(self) -> None:
        """Pause or resume the run, or the replay, of the current tab."""
        tab = self._tabs.current_run()
        if tab is not None and tab.steerable:
            tab.pause()

    def stop(self) -> None:
        """Stop the run of the current tab: request, then SIGTERM, then SIGKILL."""
        tab = self._tabs.current_run()
        if tab is not None and tab.queued:
            self._cancel(tab)
        elif tab is not None:
            tab.stop()

    def _cancel(self, tab: RunTab) -> None:
        self._queue.pop(tab.note.key, None)
        tab.cancel()

    def cancel_queued(self) -> None:
        """Remove all runs from the queue."""
        for key in list(self._queue):
            if key in self._tabs.runs:
                self._cancel(self._tabs.runs[key])
        self._queue.clear()

    # --- showing ------------------------------------------------------------------------------------------------

    def open_selected(self) -> None:
        """Show the selected runs."""
        for note in self.selected():
            self._tabs.show_run(note)

    def show_folder(self, path: Path, speed: float = float("inf")) -> None:
        """Show the run in a folder, wherever it is."""
        try:
            note = self._library.adopt(path)
        except QuintetError as error:
            self._problems.show_error(path, error)
            return
        self._list.reload()
        self._tabs.show_run(note, speed)

    def replay(self) -> None:
        """Replay the first of the targets that has ended."""
        for note in self.targets():
            if self.replayable(note):
                self._tabs.show_run(note, speed=1.0)
                return

    def compare(self) -> None:
        """Compare the selected runs, two or more."""
        notes = self.selected()
        if 2 <= len(notes) <= MOST_COMPARED:
            self._tabs.compare(notes)

    def rerun(self) -> None:
        """Load the problem and the options of a run, to change them and run again."""
        notes = self.targets()
        if not notes:
            return
        note = notes[0]
        source = Path(note.source) if note.source else None
        if source is None or not source.is_file():
            missing = f"the file {note.source} no longer exists" if note.source else "its source file is not known"
            if not (note.path / "problem.npz").is_file():
                reason = f"{missing}, and the run folder has no copy of the problem"
                self._log.add(f"cannot load the problem of {note.title}: {reason}", "error", note.title)
                self._tabs.show_banner(note, f"The problem of this run cannot be loaded: {reason}.")
                return
            self._log.add(f"{missing}; using the copy in the run folder", run=note.title)
            source = note.path
        self._problems.load_with_options(source, note.options, note.settings)

    def reveal(self) -> None:
        """Show the folder of a run in the file manager."""
        for note in self.targets()[:1]:
            QDesktopServices.openUrl(QUrl.fromLocalFile(note.folder))

    # --- changing -----------------------------------------------------------------------------------------------

    def rename(self) -> None:
        """Ask for another title of a run."""
        notes = self.targets()
        if not notes:
            return
        note = notes[0]
        dialog = QInputDialog(self._window)
        dialog.setWindowTitle("Rename")
        dialog.setLabelText("Title of the run:")
        dialog.setTextValue(note.title)
        dialog.textValueSelected.connect(lambda text: self._rename(note, text))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _rename(self, note: RunNote, text: str) -> None:
        if text.strip() and self._library.find(note.key) is note:  # another window may have deleted it
            note.title = text.strip()
            self._library.save(note)
            self._list.update_run(note)
            self._tabs.update_titles()

    def delete(self) -> None:
        """Delete runs after a confirmation."""
        notes = [note for note in self.targets() if not note.live]
        if not notes:
            self._log.add("a running run cannot be deleted; stop it first", "warning")
            return
        what = f"“{notes[0].title}”" if len(notes) == 1 else f"{len(notes)} runs"
        own = [note for note in notes if self._library.owns(note)]
        box = QMessageBox(QMessageBox.Icon.Question, "Delete", f"Delete {what}?", parent=self._window)
        box.setInformativeText(
            f"The run folders are moved to the trash, and deleted after {TRASH_DAYS} days."
            if own
            else "It is removed from the list; its folder is outside the data folder and is kept."
        )
        yes = box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.buttonClicked.connect(lambda button: self._delete(notes) if button is yes else None)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    def _delete(self, notes: Sequence[RunNote]) -> None:
        self._trashed = []
        for note in notes:
            self._tabs.discard_run(note)
            try:
                self._trashed.append(self._library.delete(note))
            except OSError as error:
                self._log.add(f"{note.folder} cannot be deleted: {error}", "error")
        if self._trashed:
            count = len(self._trashed)
            self._log.add(f"moved {count} run{'s' * (count > 1)} to the trash; Runs > Undo delete restores them")
        self._list.reload()
        self.changed.emit()

    @property
    def can_undo(self) -> bool:
        """Whether the last deletion can be undone."""
        return bool(self._trashed)

    def undo_delete(self) -> None:
        """Restore the runs that were deleted last."""
        restored: list[RunNote] = []
        for place in self._trashed:
            try:
                restored.append(self._library.restore(place))
            except (OSError, ValueError) as error:
                self._log.add(f"cannot restore {place.name}: {error}", "error")
        self._trashed = []
        self._list.reload()
        self._list.select(*restored)
        self.changed.emit()

    # --- other windows ------------------------------------------------------------------------------------------

    def rescan_later(self) -> None:
        """Look for changes in the folder of runs, soon."""
        self._rescan_timer.start()

    def rescan(self) -> None:
        """Follow changes that others made to the folder of runs."""
        selected = self._list.selected()
        changed = self._library.rescan(self._runs_here)
        if self._library.incomplete:
            self.rescan_later()
        if not changed:
            return
        self._list.reload(selected)
        self._tabs.update_titles()
        self.changed.emit()

    def _runs_here(self, note: RunNote) -> bool:
        tab: RunTab | None = self._tabs.runs.get(note.key)
        return tab is not None and (tab.live or tab.queued)

    def release(self) -> None:
        """Watch the folder of runs no more; the window is closing."""
        self.accepting = False
        self.standby.close()
        self._rescan_timer.stop()
        self._watcher.blockSignals(True)
