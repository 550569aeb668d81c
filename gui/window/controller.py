"""What the controllers share: the parts of the window that they work with."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, QSettings
from PySide6.QtWidgets import QInputDialog, QMainWindow

from gui.app.jobs import Jobs
from gui.app.widgets import open_once
from gui.runs.library import Library
from gui.runs.run_list import RunList
from gui.window.log import LogPane
from gui.window.problems import Problems
from gui.window.tabs import Tabs


@dataclass(frozen=True)
class Parts:
    """Parts of the window; ``window`` is the parent of dialogs."""

    window: QMainWindow
    library: Library
    run_list: RunList
    tabs: Tabs
    problems: Problems
    jobs: Jobs
    log: LogPane
    settings: QSettings


class Controller(QObject):
    """Base of the controllers."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts.window)
        self._window, self._library, self._list, self._tabs = parts.window, parts.library, parts.run_list, parts.tabs
        self._problems, self._jobs, self._log, self._settings = parts.problems, parts.jobs, parts.log, parts.settings

    def _ask_text(self, title: str, label: str, text: str, done: Callable[[str], object], long: bool = False) -> None:
        dialog = QInputDialog(self._window)
        dialog.setWindowTitle(title)
        dialog.setLabelText(label)
        dialog.setTextValue(text)
        dialog.setOption(QInputDialog.InputDialogOption.UsePlainTextEditForTextInput, long)
        dialog.textValueSelected.connect(done)
        open_once(dialog)
