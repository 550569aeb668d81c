"""The theme, the font and the digits of numbers, of the application and of the window."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QSettings, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from engine.util.text import show_digits
from gui.app.theme import Theme, system_theme, theme_named

_DIGITS = 8


def _application() -> QApplication:
    app = QGuiApplication.instance()
    assert isinstance(app, QApplication)
    return app


def _set_font_size(points: int) -> None:
    font = _application().font()
    font.setPointSize(points)
    _application().setFont(font)


class Appearance(QObject):
    """Applies the chosen theme, or the system's; ``theme_changed(theme)`` for everything that draws by itself."""

    theme_changed = Signal(object)

    def __init__(self, settings: QSettings, parent: QObject) -> None:
        super().__init__(parent)
        self._settings = settings
        if (size := int(str(settings.value("font_size", 0)))) > 0:
            _set_font_size(size)
        self.digits = int(str(settings.value("digits", _DIGITS)))
        show_digits(self.digits)
        self.choice = str(settings.value("theme", "system"))
        self.theme: Theme = self._chosen()
        self.theme.apply(_application())  # before there are icons, which would be drawn twice
        _application().styleHints().colorSchemeChanged.connect(self.apply)

    @property
    def handlers(self) -> dict[str, Callable[[], object]]:
        return {"switch_theme": self.switch}

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
        self.choose("light" if self.theme.dark else "dark")

    @property
    def font_size(self) -> int:
        return round(_application().font().pointSizeF())

    def set_font_size(self, points: int) -> None:
        """Use a font of that size everywhere, in plots too, from now on."""
        self._settings.setValue("font_size", points)
        _set_font_size(points)
        self.apply()

    def set_digits(self, count: int) -> None:
        self.digits = count
        self._settings.setValue("digits", count)
        show_digits(count)
        self.apply()

    def apply(self, _scheme: Qt.ColorScheme | None = None) -> None:
        self.theme = self._chosen()
        self.theme.apply(_application())
        self.theme_changed.emit(self.theme)
