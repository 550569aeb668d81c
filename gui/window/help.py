"""The command palette and the About box."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDockWidget, QMessageBox

import engine
from gui.actions.palette import Palette
from gui.actions.table import ACTIONS, plain
from gui.app.icons import application_icon
from gui.runs.view import state_text
from gui.window.controller import Controller, Parts

_Entry = tuple[str, str, Callable[[], object] | None]


class Help(Controller):
    """Finds commands, samples and runs by name, and shows the version."""

    def __init__(
        self,
        parts: Parts,
        actions: Mapping[str, QAction],
        docks: Mapping[str, QDockWidget],
        places: Callable[[], Iterable[tuple[str, str, Callable[[], object]]]],
    ) -> None:
        super().__init__(parts)
        self._actions, self._docks, self._places = actions, docks, places
        self.palette: Palette | None = None

    @property
    def handlers(self) -> dict[str, Callable[[], object]]:
        return {"find_command": self.find_command, "about": self.about}

    def find_command(self) -> None:
        available: list[_Entry] = []
        unavailable: list[_Entry] = []
        for action in ACTIONS:
            qt = self._actions.get(action.name)
            if qt is None or action.name == "find_command":
                continue
            if qt.isEnabled():
                available.append((plain(qt.text()), qt.shortcut().toString(), qt.trigger))
            else:
                unavailable.append((plain(qt.text()), "unavailable", None))
        for dock in self._docks.values():
            available.append((f"Show or hide {dock.windowTitle().lower()}", "", dock.toggleViewAction().trigger))
        available.extend(self._places())
        for sample in self._problems.samples:
            available.append((f"Sample: {sample.title}", sample.group, partial(self._problems.open_sample, sample)))
        for note in self._library:
            available.append((f"Run: {note.title}", state_text(note.state), partial(self._tabs.show_run, note)))
        self.palette = Palette(available + unavailable, self._window)
        self.palette.show()
        self.palette.line.setFocus()

    def about(self) -> None:
        folder: Path = self._library.runs
        box = QMessageBox(self._window)
        box.setWindowTitle("About Quintet")
        box.setIconPixmap(application_icon().pixmap(QSize(48, 48)))
        box.setText(f"<b>Quintet {engine.__version__}</b>")
        box.setInformativeText(
            f"Five published GPU algorithms for optimization and Bayesian computation, on CUDA and OpenCL.\n"
            f"Runs are stored in {folder}."
        )
        box.open()
        box.finished.connect(box.deleteLater)
