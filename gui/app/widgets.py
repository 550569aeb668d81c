"""Labels, layouts and dialogs that are made and set up in one call."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QDialog, QFileDialog, QLabel, QLayout, QWidget

L = TypeVar("L", bound=QBoxLayout)


def filled(layout: L, *parts: Any, margins: tuple[int, int, int, int] | None = None, spacing: int | None = None) -> L:
    """A layout with widgets and layouts, each alone or with its stretch and alignment; a number is an empty stretch."""
    if margins is not None:
        layout.setContentsMargins(*margins)
    if spacing is not None:
        layout.setSpacing(spacing)
    for part in parts:
        item, *more = part if isinstance(part, tuple) else (part,)
        if isinstance(item, QWidget):
            layout.addWidget(item, *more)
        elif isinstance(item, QLayout):
            layout.addLayout(item, *more)
        else:
            layout.addStretch(item)
    return layout


def text_label(
    text: str = "", kind: str = "", wrap: bool = False, plain: bool = False, selectable: bool = False, name: str = ""
) -> QLabel:
    """A label: the style sheet knows it by its kind, a screen reader by its name; plain text has no markup."""
    label = QLabel(text, wordWrap=wrap)
    label.setObjectName(kind)
    if plain:
        label.setTextFormat(Qt.TextFormat.PlainText)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.setAccessibleName(name)
    return label


def ask_folder(parent: QWidget, title: str, start: Path, done: Callable[[Path], object]) -> None:
    """Ask for a folder; ``done`` is called with the one that is chosen."""
    dialog = QFileDialog(parent, title, str(start), fileMode=QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    dialog.fileSelected.connect(lambda name: done(Path(name)))
    open_once(dialog)


def open_once(dialog: QDialog) -> None:
    """Open a dialog that is deleted when it is closed."""
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
