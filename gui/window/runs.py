"""Runs in the list: open, replay, compare, repeat, rename, delete."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox

from engine.util.text import counted
from gui.app.widgets import open_once
from gui.runs.library import TRASH_DAYS, read_folder
from gui.runs.notes import RunNote, named
from gui.window.controller import Controller, Parts
from gui.window.run_tab import RunTab

MOST_COMPARED = 12
_READ_AT_ONCE = 100  # folders
_RESCAN_DELAY = 400  # milliseconds; a run that starts writes several times


class Runs(Controller):
    """Manages the runs in the list; ``changed()`` when they were added, renamed or removed."""

    changed = Signal()

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        library = parts.library
        self._trashed: list[Path] = []
        self.queued: Callable[[], Sequence[str]] = tuple
        """Returns the keys of the runs that wait in this window."""
        self.table_selection: Callable[[], list[RunNote] | None] = lambda: None
        """Returns what is selected in the run table; None if it is not shown."""
        self._problems.folder_requested.connect(self.show_folder)
        library.runs.mkdir(parents=True, exist_ok=True)
        self._watcher = QFileSystemWatcher([str(library.runs)], self)
        self._rescan_timer = QTimer(self, singleShot=True, interval=_RESCAN_DELAY)
        self._rescan_timer.timeout.connect(self.rescan)
        self._watcher.directoryChanged.connect(lambda _path: self.rescan_later())
        self._reading = False
        if library.incomplete:
            self._read_more()

    @property
    def handlers(self) -> dict[str, Callable[[], object]]:
        return {
            "open_run": self.open_selected,
            "replay": self.replay,
            "compare": self.compare,
            "statistics": self.statistics,
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
        return not note.live and os.path.isfile(note.path / "events.jsonl")

    # --- showing ------------------------------------------------------------------------------------------------

    def open_selected(self) -> None:
        """Show the selected runs; they stay selected."""
        in_list, notes = self.table_selection() is None, self.selected()
        for note in notes:
            self._tabs.show_run(note)
        if in_list:
            self._list.select(*notes)

    def show_folder(self, path: Path, speed: float = float("inf")) -> None:
        """Show the run in a folder, wherever it is; the folder is read in the background."""

        def done(read: RunNote) -> None:
            status.clearMessage()
            self._tabs.show_run(self._library.adopt(read.path, read), speed)

        def failed(error: Exception) -> None:
            status.clearMessage()
            self._problems.show_error(path, error)

        status = self._window.statusBar()
        status.showMessage(f"Opening {path.name}…")
        self._jobs.start(lambda: read_folder(path), done, failed)

    def replay(self) -> None:
        """Replay the first of the targets that has ended."""
        for note in self.targets():
            if self.replayable(note):
                self._tabs.show_run(note, speed=1.0)
                return

    def compare(self) -> None:
        notes = self.selected()
        if 2 <= len(notes) <= MOST_COMPARED:
            self._tabs.compare(notes)

    def statistics(self) -> None:
        notes = [note for note in self.selected() if not note.live]
        if len(notes) >= 2:
            self._tabs.show_statistics(notes)

    def rerun(self) -> None:
        notes = self.targets()
        if not notes:
            return
        note = notes[0]
        source = Path(note.source) if note.source else None
        if source is None or not os.path.isfile(source):
            missing = f"the file {note.source} no longer exists" if note.source else "its source file is not known"
            if not os.path.isfile(note.path / "problem.npz"):
                reason = f"{missing}, and the run folder has no copy of the problem"
                self._log.add(f"cannot load the problem of {note.title}: {reason}", "error", note.title)
                self._tabs.show_banner(note, f"The problem of this run cannot be loaded: {reason}.")
                return
            self._log.add(f"{missing}; using the copy in the run folder", run=note.title)
            source = note.path
        reading = note.reading if source != note.path else {}
        self._problems.load_with_options(source, note.options, note.settings, reading)

    def reveal(self) -> None:
        for note in self.targets()[:1]:
            QDesktopServices.openUrl(QUrl.fromLocalFile(note.folder))

    # --- changing -----------------------------------------------------------------------------------------------

    def rename(self) -> None:
        for note in self.targets()[:1]:
            self._ask_text("Rename", "Title of the run:", note.title, partial(self._rename, note))

    def _rename(self, note: RunNote, text: str) -> None:
        if text.strip() and self._library.find(note.key) is note:  # another window may have deleted it
            note.title = text.strip()
            self._library.save(note)
            self._list.update_run(note)
            self._tabs.update_titles()

    def delete(self) -> None:
        notes = [note for note in self.targets() if not note.live]
        if not notes:
            self._log.add("a running run cannot be deleted; stop it first", "warning")
            return
        own = [note for note in notes if self._library.owns(note)]
        box = QMessageBox(QMessageBox.Icon.Question, "Delete", f"Delete {named(notes)}?", parent=self._window)
        box.setInformativeText(_consequence(len(own), len(notes) - len(own)))
        yes = box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.buttonClicked.connect(lambda button: self._delete(notes) if button is yes else None)
        open_once(box)

    def _delete(self, notes: Sequence[RunNote]) -> None:
        self._trashed = []
        for note in notes:
            self._tabs.discard_run(note)
            try:
                self._trashed.append(self._library.delete(note))
            except OSError as error:
                self._log.add(f"{note.folder} cannot be deleted: {error}", "error")
        if self._trashed:
            runs = counted(len(self._trashed), "run")
            self._log.add(f"moved {runs} to the trash; Runs > Undo delete restores what was deleted")
        self.changed.emit()

    @property
    def can_undo(self) -> bool:
        return bool(self._trashed)

    def undo_delete(self) -> None:
        restored: list[RunNote] = []
        for place in self._trashed:
            try:
                restored.append(self._library.restore(place))
            except (OSError, ValueError) as error:
                self._log.add(f"cannot restore {place.name}: {error}", "error")
        self._trashed = []
        self._list.select(*restored)
        self.changed.emit()

    # --- other windows ------------------------------------------------------------------------------------------

    def rescan_later(self) -> None:
        """Look for changes in the folder of runs, soon."""
        self._rescan_timer.start()

    def rescan(self) -> None:
        """Follow changes that others made to the folder of runs."""
        changed = self._library.rescan(self._runs_here)
        if self._library.incomplete:
            self._read_more()
        if not changed:
            return
        self._tabs.update_titles()
        self.changed.emit()

    def _read_more(self) -> None:
        """Read run folders without a note in the background, some at a time, until all are listed."""
        if self._reading:
            return
        self._reading = True
        known = {note.folder for note in self._library.notes}

        def done(read: list[RunNote]) -> None:
            self._reading = False
            self._library.take_in(read)
            if len(read) == _READ_AT_ONCE:
                self._read_more()
            else:
                self._library.incomplete = False
            self._list.show_reading(self._reading)
            self.changed.emit()

        self._list.show_reading(True)
        self._jobs.start(partial(self._library.read_unlisted, known, _READ_AT_ONCE), done)

    def _runs_here(self, note: RunNote) -> bool:
        tab: RunTab | None = self._tabs.runs.get(note.key)
        return note.key in self.queued() or (tab is not None and (tab.live or tab.queued))

    def release(self) -> None:
        """Watch the folder of runs no more; the window is closing."""
        self._rescan_timer.stop()
        self._watcher.blockSignals(True)


def _consequence(own: int, elsewhere: int) -> str:
    """What becomes of the folders of deleted runs, of which some are in the data folder and some elsewhere."""
    parts = []
    if own:
        what = "The run folder is" if own == 1 else f"{own} run folders are"
        parts.append(f"{what} moved to the trash, and deleted after {TRASH_DAYS} days.")
    if elsewhere:
        what = "One folder is" if elsewhere == 1 else f"{elsewhere} folders are"
        parts.append(f"{what} outside the data folder and kept: the run is only removed from the list.")
    return " ".join(parts)
