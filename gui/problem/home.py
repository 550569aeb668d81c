"""The first tab: the start page, the preview of the problem that Run would solve, or what is with its file."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from engine.util.text import share_text
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
        self._again = QPushButton("Open another file…")
        self._again.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._again.clicked.connect(self.open_requested)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(28, 30, 28, 24)
        layout.setSpacing(12)
        for widget in (self.error_title, self.error, self._again):
            layout.addWidget(widget)
        for label in (self.error_title, self.error):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self.error.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout.addStretch(1)
        return page

    def show_error(self, name: str, message: str) -> None:
        self._say(f"{name} cannot be used", message, True)

    def show_reading(self, name: str, share: float) -> None:
        self._say(f"Reading {name}", share_text(share) if share else "", False)

    def _say(self, title: str, text: str, failed: bool) -> None:
        self.error_title.setText(title)
        self.error.setText(text)
        self._again.setVisible(failed)
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
