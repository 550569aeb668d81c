"""The icons: line drawings on a grid of 24, in the colour of the text, sharp at any scale."""

import functools

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt
from PySide6.QtGui import QAction, QColor, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton

_SIDES = (16, 20, 32, 48)

_FILLED = {
    "run": '<path d="M7 4.5 L19.5 12 L7 19.5 Z"/>',
    "pause": '<rect x="6" y="5" width="4.2" height="14" rx="1"/><rect x="13.8" y="5" width="4.2" height="14" rx="1"/>',
    "stop": '<rect x="5.5" y="5.5" width="13" height="13" rx="1.5"/>',
}
_LINES = {
    "new": '<path d="M6 3.5 H14 L18.5 8 V20.5 H6 Z"/><path d="M12.2 10.5 V16.5 M9.2 13.5 H15.2"/>',
    "open": '<path d="M3.5 18.5 V5.5 H9.5 L11.5 8 H19.5 V10.5"/><path d="M3.5 18.5 L6.5 10.5 H21.5 L18.5 18.5 Z"/>',
    "reset": '<path d="M5 11 A7.5 7.5 0 1 1 7 17.5"/><path d="M4 5.5 L5 11 L10.2 9.6"/>',
    "copy": '<rect x="8.5" y="8.5" width="11" height="11.5" rx="1.5"/><path d="M5.5 15.5 H5 V4.5 H15.5 V5.5"/>',
    "replay": '<path d="M5 11 A7.5 7.5 0 1 1 7 17.5"/><path d="M4 5.5 L5 11 L10.2 9.6"/>'
    '<path d="M10.5 9.5 L15 12.3 L10.5 15 Z"/>',
    "compare": '<path d="M3.5 19.5 H20.5 M3.5 19.5 V4.5"/><path d="M5.5 16 L10 9.5 L14 12.5 L20 5.5"/>'
    '<path d="M5.5 12.5 L10 14.5 L14 7 L20 10.5" stroke-dasharray="2.5 2"/>',
    "rename": '<path d="M4.5 19.5 L5.5 15 L15.8 4.7 L19.3 8.2 L9 18.5 Z"/><path d="M13.5 7 L17 10.5"/>',
    "delete": '<path d="M4.5 7 H19.5 M9.5 7 V4.5 H14.5 V7 M6.5 7 L7.5 19.5 H16.5 L17.5 7"/>'
    '<path d="M10.3 10.5 V16 M13.7 10.5 V16"/>',
    "export": '<path d="M12 14.5 V3.5 M7.8 7.5 L12 3.5 L16.2 7.5"/><path d="M4.5 13.5 V20 H19.5 V13.5"/>',
    "again": '<path d="M4.5 12 A7.5 7.5 0 0 1 18 7.5 M19.5 12 A7.5 7.5 0 0 1 6 16.5"/>'
    '<path d="M18.6 3.5 V7.9 H14.2 M5.4 20.5 V16.1 H9.8"/>',
    "continue": '<path d="M5.5 5 V19"/><path d="M9.5 5.5 L19.5 12 L9.5 18.5 Z"/>',
    "folder": '<path d="M3.5 18.5 V5.5 H9.5 L11.5 8 H20.5 V18.5 Z"/>',
    "search": '<circle cx="10.5" cy="10.5" r="6"/><path d="M15 15 L20.5 20.5"/>',
    "help": '<circle cx="12" cy="12" r="8.5"/><path d="M9.3 9.5 A2.8 2.8 0 1 1 12 12.6 V14.2 M12 16.8 V17"/>',
    "theme": '<circle cx="12" cy="12" r="8"/><path d="M12 4 A8 8 0 0 1 12 20 Z" fill="currentColor"/>',
    "close": '<path d="M6.5 6.5 L17.5 17.5 M17.5 6.5 L6.5 17.5"/>',
    "device": '<rect x="6.5" y="6.5" width="11" height="11" rx="1.5"/>'
    '<path d="M9.5 3.5 V6.5 M14.5 3.5 V6.5 M9.5 17.5 V20.5 '
    'M14.5 17.5 V20.5 M3.5 9.5 H6.5 M3.5 14.5 H6.5 M17.5 9.5 H20.5 M17.5 14.5 H20.5"/>',
    "report": '<path d="M6 3.5 H14.5 L18.5 7.5 V20.5 H6 Z"/><path d="M9 16.5 V13 M12 16.5 V10 M15 16.5 V14"/>',
    "problem": '<rect x="4.5" y="4.5" width="15" height="15" rx="1.5"/><path d="M4.5 9.5 H19.5 M9.5 4.5 V19.5"/>',
    "table": '<rect x="3.5" y="5" width="17" height="14" rx="1.5"/>'
    '<path d="M3.5 9.5 H20.5 M3.5 14.2 H20.5 M9.5 9.5 V19"/>',
    "tag": '<path d="M4 12.5 V5 H11.5 L20 13.5 L12.5 20.5 Z"/><path d="M8 8.9 V9.1"/>',
    "warning": '<path d="M12 4 L21 19.5 H3 Z"/><path d="M12 10 V14.5 M12 16.8 V17"/>',
}
NAMES = (*_FILLED, *_LINES)

_APPLICATION = (
    '<rect x="1" y="1" width="22" height="22" rx="5" fill="#14304f"/>'
    '<path d="M5 18 C8 18 8 7 11.5 7 S15 14 19 6" fill="none" stroke="#56b4e9" stroke-width="2" '
    'stroke-linecap="round"/>'
    '<path d="M5 18 C9 18 10 12 13 12 S16 16 19 11" fill="none" stroke="#e69f00" stroke-width="2" '
    'stroke-linecap="round"/>'
)


def _svg(name: str, colour: str) -> bytes:
    if name in _FILLED:
        inner = f'<g fill="{colour}">{_FILLED[name]}</g>'
    else:
        inner = (
            f'<g fill="none" stroke="{colour}" stroke-width="1.7" stroke-linejoin="round" stroke-linecap="round">'
            f"{_LINES[name].replace('currentColor', colour)}</g>"
        )
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">{inner}</svg>'.encode()


def _pixmaps(renderer: QSvgRenderer, sides: tuple[int, ...]) -> list[QPixmap]:
    made = []
    for side in sides:
        pixmap = QPixmap(side, side)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        renderer.render(painter)
        painter.end()
        made.append(pixmap)
    return made


def icon(name: str, colour: str | None = None) -> QIcon:
    """The icon of that name, in the present palette's text colour or in one of its own."""
    palette = QGuiApplication.palette()
    normal = colour or palette.color(QPalette.ColorGroup.Active, QPalette.ColorRole.ButtonText).name()
    return _icon(name, normal, palette.color(QPalette.ColorGroup.Disabled, QPalette.ColorRole.ButtonText).name())


@functools.cache
def _icon(name: str, normal: str, disabled: str) -> QIcon:
    made = QIcon()
    for shade, mode in ((normal, QIcon.Mode.Normal), (disabled, QIcon.Mode.Disabled)):
        for pixmap in _pixmaps(QSvgRenderer(QByteArray(_svg(name, shade))), _SIDES):
            made.addPixmap(pixmap, mode)
    return made


def set_icon(target: QAction | QAbstractButton, name: str, colour: str | None = None) -> None:
    """Give an action or a button an icon that :func:`refresh_icons` finds again."""
    target.setProperty("icon-name", name)
    target.setProperty("icon-colour", colour or "")
    target.setIcon(icon(name, colour))


def refresh_icons(root: QObject) -> None:
    """Draw all icons of an object's children in the colours of the present palette."""
    targets: list[QAction | QAbstractButton] = [*root.findChildren(QAction), *root.findChildren(QAbstractButton)]
    for target in targets:
        if name := target.property("icon-name"):
            target.setIcon(icon(name, target.property("icon-colour") or None))


def dot(colour: str, side: int = 12) -> QPixmap:
    """A round mark in a run's colour."""
    scale = 3
    made = QPixmap(side * scale, side * scale)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(QColor(colour))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.drawEllipse(QRectF(scale, scale, (side - 2) * scale, (side - 2) * scale))
    painter.end()
    made.setDevicePixelRatio(scale)
    return made


def application_svg() -> str:
    """The window's icon as a drawing."""
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">{_APPLICATION}</svg>'


def application_icon() -> QIcon:
    """The window's icon."""
    renderer = QSvgRenderer(QByteArray(application_svg().encode()))
    made = QIcon()
    for pixmap in _pixmaps(renderer, (16, 32, 64, 128)):
        made.addPixmap(pixmap)
    return made
