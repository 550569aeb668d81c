"""The light and the dark theme; lines have the colours of Okabe and Ito (2008), and also differ in their dashes."""

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette, QPen
from PySide6.QtWidgets import QApplication

DASHES: tuple[tuple[float, ...], ...] = ((), (7, 3), (2, 2.5), (9, 3, 2, 3), (14, 4))
"""Dash patterns of lines in turn, in pen widths, as Qt counts them; the empty one is a solid line."""


@dataclass(frozen=True)
class Theme:
    """Colours of the window and of all that is drawn in it, as ``#rrggbb``; ``lines`` are for curves in turn."""

    name: str
    window: str
    base: str
    raised: str
    border: str
    text: str
    muted: str
    accent: str
    accent_text: str
    grid: str
    axis: str
    good: str
    warning: str
    bad: str
    lines: tuple[str, ...]

    @property
    def dark(self) -> bool:
        """Whether text is lighter than its ground."""
        return self.name == "dark"

    def colour(self, index: int) -> str:
        return self.lines[index % len(self.lines)]

    def dash(self, index: int) -> tuple[float, ...]:
        """Dash pattern of the line ``index``: with the colour it repeats after 40 lines."""
        return DASHES[index % len(DASHES)]

    def mixed(self, colour: str, share: float) -> str:
        """``colour`` laid over the ground with the opacity ``share``: an opaque tint."""
        over, under = QColor(colour), QColor(self.base)
        parts = ((over.red(), under.red()), (over.green(), under.green()), (over.blue(), under.blue()))
        return QColor(*(round(share * a + (1 - share) * b) for a, b in parts)).name()

    def palette(self) -> QPalette:
        palette = QPalette()
        roles = {
            QPalette.ColorRole.Window: self.window,
            QPalette.ColorRole.WindowText: self.text,
            QPalette.ColorRole.Base: self.base,
            QPalette.ColorRole.AlternateBase: self.raised,
            QPalette.ColorRole.Text: self.text,
            QPalette.ColorRole.Button: self.raised,
            QPalette.ColorRole.ButtonText: self.text,
            QPalette.ColorRole.BrightText: self.bad,
            QPalette.ColorRole.ToolTipBase: self.raised,
            QPalette.ColorRole.ToolTipText: self.text,
            QPalette.ColorRole.PlaceholderText: self.muted,
            QPalette.ColorRole.Highlight: self.accent,
            QPalette.ColorRole.HighlightedText: self.accent_text,
            QPalette.ColorRole.Link: self.accent,
            QPalette.ColorRole.LinkVisited: self.accent,
            QPalette.ColorRole.Light: self.raised,
            QPalette.ColorRole.Midlight: self.raised,
            QPalette.ColorRole.Mid: self.border,
            QPalette.ColorRole.Dark: self.border,
            QPalette.ColorRole.Shadow: self.border,
            QPalette.ColorRole.Accent: self.accent,
        }
        for role, colour in roles.items():
            palette.setColor(role, QColor(colour))
        for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
            palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(self.mixed(self.muted, 0.6)))
        return palette

    def apply(self, app: QApplication) -> None:
        """Apply it to all widgets; plots follow their panel's ``set_theme``."""
        if app.style().objectName().lower() != "fusion":
            app.setStyle("Fusion")
        app.setPalette(self.palette())


def pen_of(colour: str, dash: tuple[float, ...] = (), width: float = 1.5) -> QPen:
    """A cosmetic pen: its width is in pixels at every scale."""
    pen = QPen(QColor(colour), width)
    pen.setCosmetic(True)
    if dash:
        pen.setDashPattern(list(dash))
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    return pen


LIGHT = Theme(
    name="light",
    window="#eef0f3",
    base="#ffffff",
    raised="#f7f8fa",
    border="#d3d8de",
    text="#1a1e24",
    muted="#5a636e",
    accent="#0b66a8",
    accent_text="#ffffff",
    grid="#e4e7eb",
    axis="#59626d",
    good="#177544",
    warning="#8a5a00",
    bad="#b3261e",
    lines=("#0072b2", "#d55e00", "#00855f", "#b0508a", "#a66f00", "#2b8fc9", "#7a7000", "#4a4f57"),
)

DARK = Theme(
    name="dark",
    window="#15181d",
    base="#1c2027",
    raised="#242932",
    border="#343b46",
    text="#e4e8ee",
    muted="#98a2af",
    accent="#4ea3de",
    accent_text="#0d1116",
    grid="#2b313a",
    axis="#98a2af",
    good="#4cc38a",
    warning="#e5b454",
    bad="#f2756b",
    lines=("#4ea8e6", "#f28a45", "#2fc79b", "#e096c3", "#f0b73a", "#9ad1f5", "#e8df72", "#c4cad2"),
)


def theme_named(name: str) -> Theme:
    """The theme called ``"light"`` or ``"dark"``; :class:`ValueError` for another name."""
    for theme in (LIGHT, DARK):
        if theme.name == name:
            return theme
    raise ValueError(f"no theme {name!r}; there are light and dark")


def system_theme(app: QApplication) -> Theme:
    """The theme of the desktop; light if it has no preference."""
    return DARK if app.styleHints().colorScheme() == Qt.ColorScheme.Dark else LIGHT
