"""The places of the panes at the sides, which depend on the width of the window."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow

__all__ = ["Layout"]

_COMPACT_BELOW = 1250  # pixels
_LEFT, _RIGHT, _LOG = 330, 300, 150
_COMPACT_LEFT, _COMPACT_LOG = 300, 96


class Layout:
    """In a narrow window, run list and problem share one pane as tabs, so that dashboards have 60 % of the width.

    Parameters
    ----------
    window : QMainWindow
    problem, runs, log : QDockWidget
    """

    def __init__(self, window: QMainWindow, problem: QDockWidget, runs: QDockWidget, log: QDockWidget) -> None:
        self._window, self._problem, self._runs, self._log = window, problem, runs, log

    @property
    def compact(self) -> bool:
        """Whether run list and problem share one pane."""
        return self._runs in self._window.tabifiedDockWidgets(self._problem)

    def adapt(self) -> None:
        """Follow the width of the window, unless the user has placed the panes otherwise."""
        narrow = self._window.width() < _COMPACT_BELOW
        areas = [self._window.dockWidgetArea(dock) for dock in (self._problem, self._runs)]
        usual = [Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea]
        if narrow and not self.compact and areas == usual:
            self._window.tabifyDockWidget(self._problem, self._runs)
            self._problem.raise_()
            self.resize()
        elif not narrow and self.compact:
            shown = self._runs.isVisible() or self._problem.isVisible()
            self._window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self._runs)
            self._runs.setVisible(shown)
            self.resize()

    def resize(self) -> None:
        """Give the panes their usual sizes."""
        if self.compact:
            self._window.resizeDocks([self._problem], [_COMPACT_LEFT], Qt.Orientation.Horizontal)
        else:
            self._window.resizeDocks([self._problem, self._runs], [_LEFT, _RIGHT], Qt.Orientation.Horizontal)
        height = _COMPACT_LOG if self._window.height() < 800 else _LOG
        self._window.resizeDocks([self._log], [height], Qt.Orientation.Vertical)
