"""Help with meaning: what a number or a picture says, the paper's section on it, and a link into the documentation."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLabel, QWidget

SCHEME = "quintet-docs"
"""Of links to pages of the documentation, which the window shows."""


@dataclass(frozen=True)
class Meaning:
    """Two sentences, the section of a paper (empty if there is none), and a page of the documentation."""

    text: str
    paper: str
    page: str


def show_meaning(meaning: Meaning, below: QWidget) -> None:
    """Show it below a widget until something else is clicked."""
    label = QLabel(below)
    label.setWindowFlag(Qt.WindowType.Popup)
    label.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    label.setObjectName("meaning")
    label.setAccessibleName("Meaning")
    label.setWordWrap(True)
    label.setFixedWidth(340)
    label.setMargin(10)
    lines = [escape(meaning.text), *([f"Paper: {escape(meaning.paper)}."] if meaning.paper else [])]
    label.setText("<br><br>".join([*lines, f'<a href="{SCHEME}:{meaning.page}">More in the documentation</a>']))
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)

    def follow(link: str) -> None:
        label.close()
        QDesktopServices.openUrl(QUrl(link))

    label.linkActivated.connect(follow)
    label.move(below.mapToGlobal(QPoint(0, below.height())))
    label.show()
    label.setFocus()
