"""The status bar: state, progress, rate and elapsed time of the run in the current tab."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QProgressBar, QStatusBar

from engine.util.text import seconds_text
from gui.app.style import state_colour
from gui.app.theme import Theme
from gui.app.widgets import text_label
from gui.window.run_tab import RunTab


class RunStatus:
    """Fills a status bar with the numbers of one run."""

    def __init__(self, bar: QStatusBar, theme: Theme) -> None:
        self._bar, self._theme = bar, theme
        bar.setSizeGripEnabled(False)
        self.state = QLabel()
        self.state.setMinimumWidth(90)
        self.phase = text_label(kind="muted")
        self.progress = QProgressBar(textVisible=False)
        self.progress.setRange(0, 1000)
        self.progress.setFixedWidth(170)
        self.progress.setAccessibleName("Progress of the current phase")
        self.rate = QLabel()
        self.elapsed = QLabel()
        self.elapsed.setMinimumWidth(70)
        self.elapsed.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.elapsed.setContentsMargins(0, 0, 8, 0)
        for widget in (self.state, self.progress, self.phase, self.rate, self.elapsed):
            bar.addPermanentWidget(widget)  # beside the tips of menus and buttons, which hide other widgets

    def show_run(self, tab: RunTab | None) -> None:
        if tab is None:
            for label in (self.state, self.phase, self.rate, self.elapsed):
                _set(label, "")
            self.progress.hide()
            return
        view = tab.view
        colour = self._theme.muted if view.replay else state_colour(self._theme, view.state, len(view.warnings))
        _set(self.state, view.state_text, colour)
        fraction = view.fraction
        self.progress.setVisible(fraction is not None)
        if fraction is not None:
            self.progress.setValue(round(1000 * fraction))
        _set(self.phase, ", ".join(part for part in (view.phase if view.working else "", view.remaining_text) if part))
        _set(self.rate, view.rate.text if view.rate else "")
        _set(self.elapsed, seconds_text(view.clock))
        if (layout := self._bar.layout()) is not None:
            layout.activate()  # before texts that have grown are painted, or they would be cut off

    def set_theme(self, theme: Theme) -> None:
        """Use other colours from the next change on."""
        self._theme = theme
        self.state.setProperty("colour", None)


def _set(label: QLabel, text: str, colour: str = "") -> None:
    if label.text() != text:
        label.setText(text)
    if label.property("colour") != colour:
        label.setProperty("colour", colour)
        label.setStyleSheet(f"color: {colour}; font-weight: bold; padding-left: 8px;" if colour else "")
