"""The settings of the app: appearance, the queue, notifications, the folder of runs, and where defaults of runs are."""

import os
from pathlib import Path

from PySide6.QtCore import QSettings, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QPushButton,
    QSpinBox,
    QWidget,
)

from engine.settings.config import FILE_NAME, resolve
from engine.util.paths import user_folder
from gui.app.widgets import ask_folder
from gui.runs.notes import runs_folder
from gui.window.appearance import Appearance
from gui.window.launcher import Launcher
from gui.window.notices import Notices

_DEFAULTS = "# Defaults of all runs; quintet config lists what can stand here.\n# checkpoint_interval = 30\n"


class Preferences(QDialog):
    """Changes take effect at once; that of the folder of runs at the next start."""

    def __init__(
        self, appearance: Appearance, launcher: Launcher, notices: Notices, settings: QSettings, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Preferences")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._settings = settings
        self.theme = QComboBox()
        for text, choice in (("Of the system", "system"), ("Light", "light"), ("Dark", "dark")):
            self.theme.addItem(text, choice)
        self.theme.setCurrentIndex(self.theme.findData(appearance.choice))
        self.theme.currentIndexChanged.connect(lambda _index: appearance.choose(self.theme.currentData()))
        self.font_size = _number(6, 24, appearance.font_size, " pt")
        self.font_size.setToolTip("Dashboards that are open follow when they are opened again")
        self.font_size.valueChanged.connect(appearance.set_font_size)
        self.digits = _number(3, 15, appearance.digits)
        self.digits.setToolTip("Significant digits of best values and bounds; whole numbers are always written in full")
        self.digits.valueChanged.connect(appearance.set_digits)
        self.at_once = _number(1, 64, launcher.most_at_once)
        self.at_once.setToolTip("How many runs may be in progress; further ones are queued")
        self.at_once.valueChanged.connect(launcher.set_most_at_once)
        self.notify = _number(0, 86400, round(notices.long), " s")
        self.notify.setToolTip("The end of a shorter run is not notified")
        self.notify.valueChanged.connect(notices.set_long)
        self.folder = QPushButton(str(runs_folder(Path(settings.fileName()).parent)))
        self.folder.setToolTip("Where runs are kept, from the next start on; no run is moved")
        self.folder.clicked.connect(self._choose_folder)
        self.defaults = defaults = QPushButton(f"Open {FILE_NAME}")
        defaults.setToolTip("Checkpoint interval, backend, time limit and options of solvers")
        defaults.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(defaults_file()))))
        for button in (self.folder, defaults):
            button.setAutoDefault(False)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        form = QFormLayout(self)
        for title, widget in (
            *(("&Theme", self.theme), ("&Font size", self.font_size), ("&Significant digits", self.digits)),
            *(("&Runs at once", self.at_once), ("&Notify of the end of runs from", self.notify)),
            *(("Folder of r&uns", self.folder), ("&Defaults of runs", defaults)),
        ):
            label = QLabel(title)
            label.setBuddy(widget)
            widget.setAccessibleName(title.replace("&", ""))
            form.addRow(label, widget)
        form.addRow(buttons)

    def _choose_folder(self) -> None:
        ask_folder(self, "Folder of runs", Path(self.folder.text()), self.set_folder)

    def set_folder(self, folder: Path) -> None:
        self._settings.setValue("runs_folder", str(folder))
        self.folder.setText(f"{folder} (from the next start on)")


def defaults_file() -> Path:
    """The file with the user's defaults, which is made if there is none."""
    path = resolve().file or Path(user_folder("config")) / FILE_NAME
    if not os.path.exists(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_DEFAULTS, encoding="utf-8")
    return path


def _number(least: int, most: int, value: int, unit: str = "") -> QSpinBox:
    box = QSpinBox(suffix=unit)
    box.setRange(least, most)
    box.setValue(value)
    box.lineEdit().setTextMargins(4, 0, 0, 0)  # as other fields have; the style sheet's padding does not count here
    return box
