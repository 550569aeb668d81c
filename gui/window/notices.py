"""What the desktop shows of runs while the window is not looked at: the title, and a notification at the end."""

from PySide6.QtCore import QObject, QSettings
from PySide6.QtWidgets import QApplication, QMainWindow, QSystemTrayIcon

from engine.util.text import counted, value_text
from gui.app.icons import application_icon
from gui.runs.view import state_text
from gui.window.run_tab import RunTab
from gui.window.tabs import Tabs

_LONG = 20.0


def title_of(shown: RunTab | None, running: list[RunTab]) -> str:
    """The title of the window: of the run that is shown, or of those in progress where they are others."""
    others = [tab for tab in running if tab is not shown]
    named = shown or (running[0] if len(running) == 1 else None)
    count = f"{counted(len(others), 'run')} in progress" if others and named not in others else ""
    parts = (named.view.progress_text, named.note.title) if named is not None else ()
    return " – ".join(part for part in (*parts, count, "Quintet") if part)


class Notices(QObject):
    """Follows the runs of a window."""

    def __init__(self, window: QMainWindow, tabs: Tabs, settings: QSettings) -> None:
        super().__init__(window)
        self._window, self._tabs, self._settings = window, tabs, settings
        self.long = float(str(settings.value("notify_from", _LONG)))
        self._tray: QSystemTrayIcon | None = None
        tabs.run_ended.connect(self.notify)

    def set_long(self, seconds: float) -> None:
        """Notify of the end of runs from that long on."""
        self.long = seconds
        self._settings.setValue("notify_from", seconds)

    def update(self) -> None:
        title = title_of(self._tabs.current_run(), self._tabs.running())
        if title != self._window.windowTitle():
            self._window.setWindowTitle(title)

    def notify(self, tab: RunTab) -> None:
        """Notify the user of the end of a long run, unless the window is being looked at."""
        if tab.note.seconds < self.long or self._window.isActiveWindow():
            return
        QApplication.alert(self._window)
        if QSystemTrayIcon.isSystemTrayAvailable():
            if self._tray is None:
                self._tray = QSystemTrayIcon(application_icon(), self._window)
                self._tray.messageClicked.connect(self._window.activateWindow)
            self._tray.show()
            self._tray.showMessage(tab.note.title, message(tab))


def message(tab: RunTab) -> str:
    """How a run ended, in one line."""
    state = state_text(tab.note.state, len(tab.note.warnings))
    return state if tab.note.best is None else f"{state}, best {value_text(tab.note.best)}"
