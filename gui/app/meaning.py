"""Help with meaning: what a number or a picture says, as in ``meaning.toml``, with a paper and a link into the docs."""

import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLabel, QWidget

SCHEME = "quintet-docs"
"""Of links to pages of the documentation, which the window shows."""

_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_GENERAL = "concepts/run.md"


@dataclass(frozen=True)
class Meaning:
    """Two sentences, the section of a paper (empty if there is none), and a page of the documentation."""

    text: str
    paper: str
    page: str


def show_meaning(meaning: Meaning, below: QWidget) -> None:
    """Show it below a widget until something else is clicked."""
    label = QLabel(below, wordWrap=True, margin=10)
    label.setWindowFlag(Qt.WindowType.Popup)
    label.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    label.setObjectName("meaning")
    label.setAccessibleName("Meaning")
    label.setFixedWidth(340)
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


def tile_meaning(solver: str, name: str) -> Meaning:
    """That of a key number; those that every run has are in no paper."""
    if name in _TEXTS["general"]:
        return Meaning(_TEXTS["general"][name], "", _GENERAL)
    cite, section, page = _TEXTS["papers"].get(solver, ("", "", ""))
    text = _TEXTS["tiles"].get(name, _TEXTS["tiles"].get(solver, ""))
    return Meaning(text, f"{cite}, {section}" if cite else "", f"guides/{page}.md" if page else _GENERAL)


def figure_meaning(solver: str, key: str) -> Meaning:
    """That of a figure; without a text for one of another solver, which has none."""
    key = key.split()[0] if key.startswith(("trace ", "ranks ")) else key
    own = f"{solver}/{key}"
    text = _TEXTS["figures"].get(own, _TEXTS["figures"].get(key, ""))
    if own not in _TEXTS["figures"] and key in _TEXTS["pages"]:
        return Meaning(text, "", _TEXTS["pages"][key])
    cite, section, page = _TEXTS["papers"].get(solver, ("", "", ""))
    paper = f"{cite}, {_TEXTS['sections'].get(own, section)}" if cite else ""
    return Meaning(text, paper, f"internals/{page}.md" if page else _GENERAL)
