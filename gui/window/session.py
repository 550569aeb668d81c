"""What the next start finds again, and the end of a session."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, Qt
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QMessageBox,
)

from gui.runs.tab import RunTab

__all__ = ["Session"]

_LAYOUT = 1  # of docks; another number where they have changed


class Session:
    """Keeping and restoring the session; a part of :class:`gui.window.MainWindow`."""

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
        if session.get("problem") and Path(session["problem"]).exists():

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
        self.settings.setValue("recent", pane.gallery.recent)
        self.settings.sync()

    def quit(self) -> None:
        """Close the window."""
        self.close()

    def changeEvent(self, event: QEvent) -> None:
        """Whoever comes back to the window sees what others have done meanwhile."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self._timer.isActive():
            self._settling.start()

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
        self._settling.stop()
        self._watcher.blockSignals(True)
        if self._probe is not None:
            self._probe.close()
        for job in self._jobs:
            job.forget()
        for tab in (*self._tabs.values(), *self._compared):
            tab.close_sources()
            tab.let_plots_go()

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
