"""The first tab: the start page, the preview of the problem that Run would solve, or why a file cannot be used."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from gui.app.theme import Theme
from gui.problem.preview import Preview
from gui.problem.preview_data import PreviewData
from gui.problem.start_page import StartPage


class Home(QStackedWidget):
    """Start page, preview, and errors of files; ``open_requested()`` for the file dialog."""

    open_requested = Signal()

    def __init__(self, start_page: StartPage, theme: Theme, run_key: str) -> None:
        super().__init__()
        self.start_page, self.preview, self.theme = start_page, Preview(theme), theme
        self._run_key = run_key
        self.addWidget(start_page)
        self.addWidget(self.preview)
        self._error = self._make_error()
        self.addWidget(self._error)

    def _make_error(self) -> QWidget:
        page = QWidget()
        page.setObjectName("page")
        page.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.error_title, self.error = QLabel(), QLabel()
        self.error_title.setObjectName("big")
        again = QPushButton("Open another file…")
        again.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        again.clicked.connect(self.open_requested)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(28, 30, 28, 24)
        layout.setSpacing(12)
        for widget in (self.error_title, self.error, again):
            layout.addWidget(widget)
        for label in (self.error_title, self.error):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self.error.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout.addStretch(1)
        return page

    def show_error(self, name: str, message: str) -> None:
        self.error_title.setText(f"{name} cannot be used")
        self.error.setText(message)
        self.setCurrentWidget(self._error)

    def show_problem(self, data: PreviewData | None) -> None:
        if data is None:
            self.preview.clear()
            self.setCurrentWidget(self.start_page)
        else:
            self.preview.show_data(data, self._run_key)
            self.setCurrentWidget(self.preview)

    @property
    def title(self) -> str:
        titles = ("Start", f"Problem: {self.preview.title.text()}", self.error_title.text())
        return titles[self.currentIndex()]

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.preview.set_theme(theme)
