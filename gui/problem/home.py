"""The first tab: the start page, or the preview of the problem that Run would solve."""

from __future__ import annotations

from PySide6.QtWidgets import QStackedWidget, QWidget

from gui.app.theme import Theme
from gui.problem.preview import Preview
from gui.problem.preview_data import PreviewData
from gui.problem.start_page import StartPage

__all__ = ["Home"]


class Home(QStackedWidget):
    """Start page and preview.

    Parameters
    ----------
    run_key : str
        The shortcut that runs the problem, for the preview.
    """

    def __init__(self, start_page: StartPage, theme: Theme, run_key: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.start_page, self.preview, self.theme = start_page, Preview(theme), theme
        self._run_key = run_key
        self.addWidget(start_page)
        self.addWidget(self.preview)

    def show_problem(self, data: PreviewData | None) -> None:
        """Show the preview of a problem; the start page without one."""
        if data is None:
            self.preview.clear()
            self.setCurrentWidget(self.start_page)
        else:
            self.preview.show_data(data, self._run_key)
            self.setCurrentWidget(self.preview)

    @property
    def title(self) -> str:
        """The title of the tab."""
        shown = self.currentWidget() is self.preview
        return f"Problem: {self.preview.title.text()}" if shown else "Start"

    def set_theme(self, theme: Theme) -> None:
        """Change all colours."""
        self.theme = theme
        self.preview.set_theme(theme)
