"""The theme of the application and of the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QObject, QSettings, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QApplication

from gui.app.theme import Theme, system_theme, theme_named

__all__ = ["Appearance"]


def _application() -> QApplication:
    app = QGuiApplication.instance()
    assert isinstance(app, QApplication)
    return app


class Appearance(QObject):
    """Applies the chosen theme, or the system's; ``theme_changed(theme)`` for everything that draws by itself.

    Parameters
    ----------
    settings : QSettings
        Keeps the choice.
    actions : mapping of str to QAction
        The actions of the window, among them the checkable ones of the themes.
    """

    theme_changed = Signal(object)

    def __init__(self, settings: QSettings, actions: Mapping[str, QAction], parent: QObject) -> None:
        super().__init__(parent)
        self._settings, self._actions = settings, actions
        self.choice = str(settings.value("theme", "system"))
        self.theme: Theme = self._chosen()
        _application().styleHints().colorSchemeChanged.connect(self.apply)

    @property
    def handlers(self) -> dict[str, Callable[[], object]]:
        """Handlers of the actions, by name."""
        return {
            "theme_system": lambda: self.choose("system"),
            "theme_light": lambda: self.choose("light"),
            "theme_dark": lambda: self.choose("dark"),
            "switch_theme": self.switch,
        }

    def _chosen(self) -> Theme:
        if self.choice in ("light", "dark"):
            return theme_named(self.choice)
        return system_theme(_application())

    def choose(self, choice: str) -> None:
        """Use ``"system"``, ``"light"`` or ``"dark"`` from now on."""
        self.choice = choice
        self._settings.setValue("theme", choice)
        self.apply()

    def switch(self) -> None:
        """Switch between light and dark."""
        self.choose("light" if self.theme.dark else "dark")

    def apply(self, _scheme: Qt.ColorScheme | None = None) -> None:
        """Apply the theme to the application, and report it."""
        self.theme = self._chosen()
        self.theme.apply(_application())
        self._actions[f"theme_{self.choice if self.choice in ('light', 'dark') else 'system'}"].setChecked(True)
        self.theme_changed.emit(self.theme)
