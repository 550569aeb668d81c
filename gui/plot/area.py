"""A plot area with two axes: the needed part of pyqtgraph's PlotItem, created in a third of its time."""

from typing import Any

import pyqtgraph as pg
import shiboken6
from PySide6.QtCore import Qt, QThread, Signal
from PySide6.QtWidgets import QFrame, QGraphicsGridLayout, QSizePolicy, QWidget

from gui.app.theme import Theme


def release_plots(widget: QWidget) -> None:
    """Take the scenes of all plots in a widget apart, before it is deleted.

    Otherwise view boxes are deleted before the items in them, which are still asked for their bounds then.
    """
    views = [widget] if isinstance(widget, PlotView) else widget.findChildren(PlotView)
    for view in views:
        view.release()


def release_unclosed(widget: QWidget) -> None:
    """For ``__del__``: release the plots of a widget that was not closed, if Qt still has it."""
    if shiboken6.isValid(widget) and QThread.currentThread() == widget.thread():
        release_plots(widget)


class Cleanup:
    """Named before the Qt class among the bases of a widget with plots: takes them apart however it is deleted."""

    cleaned_up = False
    """Whether its plots have been taken apart: nothing is drawn any more."""

    def closeEvent(self, event: Any) -> None:
        self.cleanup()
        super().closeEvent(event)  # type: ignore[misc]

    def deleteLater(self) -> None:
        self.cleanup()
        super().deleteLater()  # type: ignore[misc]

    def __del__(self) -> None:
        """Release the plots if it was never closed."""
        release_unclosed(self)  # type: ignore[arg-type]

    def cleanup(self) -> None:
        """Release all plots in it; nothing is drawn after that."""
        for widget in (self, *self.findChildren(QWidget)):  # type: ignore[attr-defined]
            if isinstance(widget, Cleanup):
                widget.cleaned_up = True
        release_plots(self)  # type: ignore[arg-type]


class FigureTab(Cleanup, QWidget):
    """A tab of figures that is closed for good when it is closed; ``ready()`` once it is complete."""

    ready = Signal()
    complete = True
    title: str
    theme: Theme
    image = "compare"

    def plots(self) -> list[Any]:
        raise NotImplementedError

    def tick(self) -> None:
        """Take what has come since the last frame."""

    def close_sources(self) -> None:
        """End what it reads from."""

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        for figure in self.plots():
            figure.set_theme(theme)


class PlotArea(pg.GraphicsWidget):
    """A view box with an axis on its left and one below."""

    def __init__(self, axes: dict[str, pg.AxisItem]) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._box = pg.ViewBox(parent=self, enableMenu=False)
        self._box.disableAutoRange()
        grid = QGraphicsGridLayout()
        grid.setContentsMargins(0, 6, 12, 0)
        grid.setSpacing(0)
        grid.addItem(self._box, 0, 1)
        self._axes = {side: axes.get(side) or pg.AxisItem(side) for side in ("left", "bottom")}
        for side, axis in self._axes.items():
            axis.setParentItem(self)
            axis.linkToView(self._box)
            axis.setZValue(-1000)  # its grid lies behind what is drawn
            axis.setFlag(axis.GraphicsItemFlag.ItemNegativeZStacksBehindParent)
            grid.addItem(axis, *((0, 0) if side == "left" else (1, 1)))
        grid.setRowStretchFactor(0, 100)
        grid.setColumnStretchFactor(1, 100)
        self.setLayout(grid)
        self.setRange = self._box.setRange
        self.addItem = self._box.addItem

    def getViewBox(self) -> pg.ViewBox:
        return self._box

    def getAxis(self, side: str) -> pg.AxisItem:
        return self._axes[side]

    def hideAxis(self, side: str) -> None:
        self._axes[side].hide()


class PlotView(pg.GraphicsView):
    """Shows a plot area. The mouse wheel zooms only while Ctrl is held, so that a page of plots can be scrolled."""

    def __init__(self, axes: dict[str, pg.AxisItem], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.enableMouse(False)
        self.area = PlotArea(axes)
        self.setCentralItem(self.area)
        self.released = False

    def release(self) -> None:
        """Take the scene apart while all of it is still there; the view stays empty, and nothing in it is called."""
        if self.released:
            return
        self.released = self.closed = True  # `closed` keeps pyqtgraph from following the size
        self.setUpdatesEnabled(False)
        scene, box = self.scene(), self.area.getViewBox()
        scene.blockSignals(True)
        box.blockSignals(True)
        self.centralWidget = None
        scene.removeItem(self.area)  # with all that is in it: outside a scene no item is asked for anything
        box.clear()  # so that no item depends on the box's end
        self.lastMousePos = None
        self.clearMouse()

    def __del__(self) -> None:
        """Called by the garbage collector if nobody released it."""
        if not getattr(self, "released", True):
            release_unclosed(self)

    def wheelEvent(self, event: Any) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().wheelEvent(event)
        else:
            event.ignore()
