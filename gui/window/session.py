"""Saving and restoring the session, and closing the window."""

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QSize, QTimer
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QAbstractButton, QMessageBox

from engine.runs.folder.lock import writer_of
from engine.util.text import counted
from gui.app.widgets import open_once
from gui.runs.child import Child
from gui.window.controller import Controller, Parts
from gui.window.launcher import Launcher
from gui.window.layout import Layout
from gui.window.tool_bar import ToolBar

_LAYOUT = 1  # of docks; raised when they change
_SIZE, _FRAME = QSize(1440, 900), QSize(4, 32)  # at the first start; what window managers draw around
_QUIT_PATIENCE = (3.0, 1.5)  # seconds


class Session(Controller):
    """Keeps the layout, the open runs and the forms from one start to the next; stops runs when the window closes."""

    def __init__(self, parts: Parts, launcher: Launcher, tool_bar: ToolBar) -> None:
        super().__init__(parts)
        self._launcher, self._tool_bar, self._pane = launcher, tool_bar, parts.problems.pane
        self.quitting = self.closed = False
        self._tabs.idle.connect(self._on_idle)

    def restore_layout(self, layout: Layout) -> None:
        geometry, state = self._settings.value("geometry"), self._settings.value("state")
        if not (isinstance(geometry, QByteArray) and self._window.restoreGeometry(geometry)):
            self._window.resize(_SIZE)
        room = self._window.screen().availableSize() - _FRAME
        self._window.resize(self._window.size().boundedTo(room))
        if not (isinstance(state, QByteArray) and self._window.restoreState(state, _LAYOUT)):
            layout.resize()
        layout.adapt()

    def restore(self) -> None:
        """Restore recent files, the tool bar, the open runs, and the problem with its form."""
        with contextlib.suppress(ValueError, TypeError):
            self._tool_bar.set_values(json.loads(str(self._settings.value("tool_bar", "{}"))))
        recent: Any = self._settings.value("recent", [])
        self._pane.gallery.show_recent([recent] if isinstance(recent, str) else list(recent or []))
        try:
            session = json.loads(str(self._settings.value("session", "{}")))
        except (ValueError, RecursionError):
            session = {}
        if not isinstance(session, dict):  # the file was damaged
            session = {}
        for key in session.get("open", []):
            note = self._library.find(str(key))
            if note is not None and os.path.isfile(note.path / "events.jsonl"):
                self._tabs.add(note).loaded = False
        for note in self._library.notes:
            if note.live and note.key not in self._tabs.runs and writer_of(note.path) is not None:
                self._tabs.add(note, hidden=True).follow()
        current = self._tabs.runs.get(str(session.get("current")))
        if current is not None:
            self._tabs.show(current)
        elif self._tabs.open_runs():
            self._tabs.show(self._tabs.open_runs()[0])
        problem = session.get("problem")
        if problem and os.path.exists(problem):
            options, settings = session.get("options", {}), session.get("settings", {})
            self._problems.load(
                Path(problem), lambda: self._pane.set_values(options, settings), requested=not self._tabs.open_runs()
            )

    def save(self) -> None:
        pane, current = self._pane, self._tabs.current_run()
        session = {
            "open": [tab.note.key for tab in self._tabs.open_runs()],
            "current": current.note.key if current is not None else None,
            "problem": str(pane.instance.source) if pane.instance is not None else None,
            "options": pane.options(),
            "settings": pane.run_form.given() if pane.run_form is not None else {},
        }
        self._settings.setValue("geometry", self._window.saveGeometry())
        self._settings.setValue("state", self._window.saveState(_LAYOUT))
        self._settings.setValue("session", json.dumps(session))
        self._settings.setValue("tool_bar", json.dumps(self._tool_bar.given()))
        self._settings.setValue("recent", pane.gallery.recent)
        self._settings.sync()

    def close_event(self, event: QCloseEvent) -> bool:
        """Accept or ignore the closing of the window: it waits for running children. True if it is accepted."""
        running = [] if self.closed else self._tabs.running()
        queued = [] if self.closed or self.quitting else self._launcher.queued
        if running or queued:
            event.ignore()
            if not self.quitting:
                self._ask(len(running), len(queued))
            return False
        if not self.quitting:
            self._launcher.cancel_queued()
            self.save()
        self.closed = True
        event.accept()
        return True

    def _ask(self, running: int, queued: int) -> None:
        """Ask what becomes of runs in progress, and say what becomes of those in the queue."""
        box = QMessageBox(QMessageBox.Icon.Question, "Quit", _question(running, queued), parent=self._window)
        remarks = []
        if running:
            remarks.append(
                "A run that is stopped keeps its best solution and a checkpoint, and can be resumed. "
                "A run that is left running is shown again at the next start."
            )
        if queued:
            what = "The queued run is" if queued == 1 else f"The {queued} queued runs are"
            case = " in either case" if running else ""
            remarks.append(f"{what} cancelled{case}; Runs > Retry starts cancelled runs.")
        box.setInformativeText(" ".join(remarks))
        answers: dict[QAbstractButton, Callable[[], None]] = {}
        if running:
            answers[box.addButton("Stop and quit", QMessageBox.ButtonRole.AcceptRole)] = self.stop_and_quit
            answers[box.addButton("Leave running", QMessageBox.ButtonRole.DestructiveRole)] = self.leave_and_quit
        else:
            answers[box.addButton("Quit", QMessageBox.ButtonRole.AcceptRole)] = self.leave_and_quit
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.buttonClicked.connect(lambda button: answers[button]() if button in answers else None)
        open_once(box)

    def leave_and_quit(self) -> None:
        """Let all runs continue without the window, save the session, close the window."""
        self._launcher.accepting = False
        self._launcher.cancel_queued()
        for tab in self._tabs.running():
            if isinstance(tab.child, Child):
                tab.note.window = 0
                self._library.save(tab.note)
                tab.child.detach()
        self._window.close()

    def stop_and_quit(self) -> None:
        """Stop all runs, save the session, close the window."""
        self.save()
        self.quitting = True
        self._launcher.accepting = False
        self._launcher.cancel_queued()
        self._tabs.discard_ended_hidden = False
        self._window.statusBar().showMessage("Stopping the runs…")
        for tab in self._tabs.running():
            if tab.child is not None:
                tab.child.stop_soon(_QUIT_PATIENCE)
        if not self._tabs.running():
            self._window.close()

    def _on_idle(self) -> None:
        if self.quitting and not self.closed:
            QTimer.singleShot(0, self, self._window.close)


def _question(running: int, queued: int) -> str:
    """What is asked when the window is closed."""
    if not running:
        return f"{counted(queued, 'run')} in the queue {'has' if queued == 1 else 'have'} not started. Quit?"
    if running == 1:
        return "A run is in progress. Stop it, or leave it running?"
    return f"{running} runs are in progress. Stop them, or leave them running?"
