"""The places of the panes, which depend on the size of the window."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow

COMPACT_BELOW = 1250
"""Pixels of width below which panes share one place."""

_LEFT, _RIGHT, _LOG = 330, 300, 150
_COMPACT_LEFT = 300


class Layout:
    """Gives dashboards most of the window: the log is hidden until it is asked for."""

    def __init__(self, window: QMainWindow, problem: QDockWidget, runs: QDockWidget, log: QDockWidget) -> None:
        self._window, self._problem, self._runs, self._log = window, problem, runs, log
        log.hide()

    @property
    def compact(self) -> bool:
        """Whether run list and problem share one pane."""
        return self._runs in self._window.tabifiedDockWidgets(self._problem)

    def adapt(self) -> None:
        """Follow the size of the window, unless the user has placed the panes otherwise."""
        narrow = self._window.width() < COMPACT_BELOW
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
        if self.compact:
            self._window.resizeDocks([self._problem], [_COMPACT_LEFT], Qt.Orientation.Horizontal)
        else:
            self._window.resizeDocks([self._problem, self._runs], [_LEFT, _RIGHT], Qt.Orientation.Horizontal)
        self._window.resizeDocks([self._log], [_LOG], Qt.Orientation.Vertical)
