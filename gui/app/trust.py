"""The question whether code that a file contains may be executed; see :mod:`engine.util.trust`."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from engine.errors import UntrustedCode
from engine.util.trust import ForeignCode, remember

_MOST_SHOWN = 20_000


def ask_trust(
    error: Exception, parent: QWidget | None, retry: Callable[[], object], report: Callable[[Exception], object]
) -> QMessageBox | None:
    """If an error is about code that is not trusted, ask whether to allow it, and then ``retry``; else ``report`` it.

    Returns the question, which is open, if it is asked.
    """
    code = error.code if isinstance(error, UntrustedCode) else None
    if not isinstance(code, ForeignCode):
        report(error)
        return None
    box = QMessageBox(QMessageBox.Icon.Warning, "Code in a file", "", parent=parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(f"{code.where} contains {code.kind} code, which would be executed on this computer.")
    box.setInformativeText(f"Allow it only if you know where it comes from.\n\nSHA-256: {code.digest}")
    if code.text:
        box.setDetailedText(code.text[:_MOST_SHOWN])
    allow = box.addButton("Allow", QMessageBox.ButtonRole.DestructiveRole)
    decline = box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(decline)

    def finished() -> None:
        if box.clickedButton() is allow:
            remember(code)
            retry()
        else:
            report(error)

    box.finished.connect(finished)
    box.open()
    return box
