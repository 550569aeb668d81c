"""The command palette and the About box."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDockWidget, QMessageBox, QWidget

import engine
from gui.actions.palette import Palette
from gui.actions.table import ACTIONS, plain
from gui.app.icons import application_icon
from gui.problem.samples import Sample
from gui.runs.library import Library
from gui.runs.notes import RunNote
from gui.runs.view import state_text

_Entry = tuple[str, str, Callable[[], object] | None]


class Help:
    """Finds commands, samples and runs by name, and shows the version.

    ``samples``: returns the samples that are known now.
    ``open_sample``, ``open_run``: called with what the user has chosen in the palette.
    ``places``: returns further entries of the palette: text, hint, and what is called.
    """

    def __init__(
        self,
        window: QWidget,
        actions: Mapping[str, QAction],
        docks: Mapping[str, QDockWidget],
        library: Library,
        samples: Callable[[], Iterable[Sample]],
        open_sample: Callable[[Sample], object],
        open_run: Callable[[RunNote], object],
        places: Callable[[], Iterable[tuple[str, str, Callable[[], object]]]],
    ) -> None:
        self._window, self._actions, self._docks, self._library = window, actions, docks, library
        self._samples, self._open_sample, self._open_run, self._places = samples, open_sample, open_run, places
        self.palette: Palette | None = None

    @property
    def handlers(self) -> dict[str, Callable[[], object]]:
        """Handlers of the actions, by name."""
        return {"find_command": self.find_command, "about": self.about}

    def find_command(self) -> None:
        """Open the command palette."""
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
        for sample in self._samples():
            available.append((f"Sample: {sample.title}", sample.group, partial(self._open_sample, sample)))
        for note in self._library:
            available.append((f"Run: {note.title}", state_text(note.state), partial(self._open_run, note)))
        self.palette = Palette(available + unavailable, self._window)
        self.palette.show()
        self.palette.line.setFocus()

    def about(self) -> None:
        """Show version and data folder."""
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
