"""The status bar: state, progress, rate and elapsed time of the run in the current tab."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QProgressBar, QStatusBar

from engine.util.text import rate_text, seconds_text
from gui.app.style import state_colour
from gui.app.theme import Theme
from gui.runs.summary import remaining_text, state_text
from gui.window.run_tab import RunTab

__all__ = ["RunStatus"]


class RunStatus:
    """Fills a status bar with the numbers of one run."""

    def __init__(self, bar: QStatusBar, theme: Theme) -> None:
        self._theme = theme
        bar.setSizeGripEnabled(False)
        self.state = QLabel()
        self.state.setMinimumWidth(90)
        self.phase = QLabel()
        self.phase.setObjectName("muted")
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
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
        """Show the present numbers of a run; nothing without one."""
        if tab is None:
            for label in (self.state, self.phase, self.rate, self.elapsed):
                _set(label, "")
            self.progress.hide()
            return
        summary = tab.summary
        warnings = len(summary.warnings)
        _set(
            self.state,
            state_text(summary.state, warnings),
            state_colour(self._theme, summary.state, warnings),
        )
        fraction = summary.fraction if summary.live else None
        self.progress.setVisible(fraction is not None)
        if fraction is not None:
            self.progress.setValue(round(1000 * fraction))
        remaining = remaining_text(summary.remaining.estimate()) if summary.state == "running" else ""
        phase = ", ".join(part for part in (summary.phase, remaining) if part)
        _set(self.phase, phase if summary.live else "")
        _set(self.rate, rate_text(summary.rate) if summary.state == "running" and summary.rate else "")
        _set(self.elapsed, seconds_text(summary.seconds if tab.player is None else tab.player.position))

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
