"""Exports of the window: plots, data, reports, run archives."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QFileDialog

from engine.errors import RunFolderError
from engine.util.text import counted
from gui.app.widgets import ask_folder, open_once
from gui.plot.area import FigureTab
from gui.plot.export import write_plots
from gui.plot.figure import Figure
from gui.report.notebook import write_notebook
from gui.report.report import write_report
from gui.runs.archives import write_zip
from gui.runs.notes import RunNote
from gui.window.controller import Controller, Parts


class Exports(Controller):
    """Writes files for other programs, of the current tab, or of the first of the ``targets`` of an action."""

    def __init__(self, parts: Parts, targets: Callable[[], Sequence[RunNote]]) -> None:
        super().__init__(parts)
        self._targets = targets

    @property
    def handlers(self) -> dict[str, Callable[[], object]]:
        return {f"export_{kind}": partial(self._choose_folder, kind) for kind in ("png", "pdf", "svg", "csv")} | {
            "export_report": self.export_report,
            "export_notebook": self.export_notebook,
            "export_zip": self.export_zip,
        }

    def _choose_folder(self, kind: str) -> None:
        title = f"Folder for the {kind.upper()} files"
        ask_folder(self._window, title, Path.home(), partial(self.write_plots, kind))

    def _figures(self) -> Sequence[Figure]:
        compared, tab = self._tabs.current(), self._tabs.current_run()
        if isinstance(compared, FigureTab):
            return compared.plots()
        return tab.panel.plots() if tab is not None and tab.panel is not None else []

    def write_plots(self, kind: str, folder: Path) -> None:
        """Write every figure of the current tab to a folder, as ``"png"``, ``"svg"``, ``"pdf"`` or ``"csv"``."""
        try:
            written = write_plots(self._figures(), kind, folder)
        except OSError as error:
            self._log.add(f"cannot write to {folder}: {error}", "error")
            return
        self._log.add(f"wrote {counted(len(written), 'file')} to {folder}")

    def export_report(self) -> None:
        tab = self._tabs.current_run()
        if tab is not None and tab.panel is not None:
            self._choose_file("Save the report", f"{tab.note.title}.html", self.write_report)

    def write_report(self, path: Path) -> None:
        tab = self._tabs.current_run()
        if tab is not None and tab.panel is not None:
            self._write(partial(write_report, tab.panel, path), path, tab.note.title)

    def export_notebook(self) -> None:
        for note in self._targets()[:1]:
            self._choose_file("Save the notebook", f"{note.key}.ipynb", partial(self.write_notebook, note))

    def write_notebook(self, note: RunNote, path: Path) -> None:
        self._write(partial(write_notebook, note.path, path), path, note.title)

    def export_zip(self) -> None:
        for note in self._targets()[:1]:
            self._choose_file("Save the run", f"{note.key}.zip", partial(self.write_zip, note))

    def write_zip(self, note: RunNote, path: Path) -> None:
        self._jobs.start(
            lambda: write_zip(note.path, path), lambda _result: self._log.add(f"wrote {path}", run=note.title)
        )

    def _write(self, write: Callable[[], object], path: Path, run: str) -> None:
        try:
            write()
        except (OSError, RunFolderError) as error:
            self._log.add(f"cannot write {path}: {error}", "error")
        else:
            self._log.add(f"wrote {path}", run=run)

    def _choose_file(self, title: str, name: str, write: Callable[[Path], object]) -> None:
        dialog = QFileDialog(self._window, title, str(Path.home()), acceptMode=QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(name.replace("/", "-"))
        dialog.fileSelected.connect(lambda chosen: write(Path(chosen)))
        open_once(dialog)
