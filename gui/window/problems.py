"""The window and problems: open, drop, load, copy what does the same elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import (
    QFileDialog,
)

from engine.errors import QuintetError
from gui.problem.instance import Instance, read_instance
from gui.problem.new_instance import NewInstance, Order, make_instance
from gui.runs.archives import unpack_run

__all__ = ["Problems"]


class Problems:
    """What the window does with problems; a part of :class:`gui.window.MainWindow`."""

    def load(self, path: Path, then: Callable[[], object] | None = None) -> None:
        """Read a problem file, off this thread, and show it with its form."""
        if self._loading is not None:
            self._loading.forget()
            self._jobs.remove(self._loading)
        self.pane.show_loading(path)

        def done(instance: Instance) -> None:
            self._loading = None
            self.pane.show_instance(instance)
            self.tool_bar.set_values({k: v for k, v in instance.settings.items() if k in self.tool_bar.values()})
            bundled = {sample.path.resolve().parent for sample in self._samples if sample.first}
            if path.is_file() and not any(path.resolve().is_relative_to(folder) for folder in bundled):
                self.pane.gallery.add_recent(path)
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

    def open_path(self, path: Path) -> None:
        """Show a run folder, take in a run that was exported as a zip, read anything else as a problem."""
        if path.is_dir():
            self.show_folder(path)
        elif path.suffix.lower() == ".zip":
            self.import_zip(path)
        else:
            self.load(path)

    def import_zip(self, path: Path) -> None:
        """Unpack an exported run among the runs, off this thread, and show it."""

        def done(folder: Path) -> None:
            self.statusBar().clearMessage()
            self.say(f"unpacked {path} to {folder}")
            self.show_folder(folder)

        def failed(error: Exception) -> None:
            self.statusBar().clearMessage()
            self.say(str(error), "error")
            self.pane.show_error(path, str(error))
            self.docks["problem"].show()

        self.statusBar().showMessage(f"Unpacking {path.name}…", 3000)
        self._work(lambda: unpack_run(path, self.library.runs), done, failed)

    def new_instance(self) -> None:
        """Make a random instance, and open it."""
        folder = Path(str(self.settings.value("folder", str(Path.cwd()))))
        self.maker = NewInstance(folder if folder.is_dir() else Path.home(), self)
        self.maker.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.maker.ordered.connect(self._make_instance)
        self.maker.open()

    def _make_instance(self, order: Order) -> None:
        self._remember_folder(str(order.path))
        self.statusBar().showMessage(f"Making {order.path.name}…", 3000)

        def done(path: Path) -> None:
            self.say(f"made {path}")
            self.load(path)

        self._work(lambda: make_instance(order), done)

    def open_problem(self) -> None:
        """Choose a file."""
        dialog = QFileDialog(self, "Open a problem", str(self.settings.value("folder", str(Path.cwd()))))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda name: (self._remember_folder(name), self.open_path(Path(name))))
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
        """See :meth:`open_path`."""
        for url in event.mimeData().urls():
            if url.isLocalFile():
                self.open_path(Path(url.toLocalFile()))
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
