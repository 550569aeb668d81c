"""The window and files for other programs: plots, tables, reports, archives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFileDialog,
)

from gui.compare.tab import CompareTab
from gui.report.plot_files import write_plots
from gui.report.report import write_report
from gui.runs.archives import write_zip
from gui.runs.library import RunNote
from gui.runs.tab import RunTab

__all__ = ["Exports"]


class Exports:
    """What the window writes for others; a part of :class:`gui.window.MainWindow`."""

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
            written = write_plots(plots, kind, folder)
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
            write_report(tab.panel, path)
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
            lambda: write_zip(note.path, path),
            lambda _result: self.say(f"wrote {path}", run=note.title),
        )

    def _save_as(self, title: str, name: str, write: Callable[[Path], object]) -> None:
        dialog = QFileDialog(self, title, str(Path.home()))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(name.replace("/", "-"))
        dialog.fileSelected.connect(lambda chosen: write(Path(chosen)))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
