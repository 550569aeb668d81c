"""A queue of figures to draw, one at a time, so that the window stays responsive in between."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

import shiboken6
from PySide6.QtCore import QCoreApplication, QObject, QTimer

_PAUSE = 1  # milliseconds between two figures


class DrawQueue(QObject):
    """Figures waiting to be drawn, in order; each has a method ``draw_queued()``."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._waiting: deque[weakref.ref[Any]] = deque()
        self._timer = QTimer(self, interval=_PAUSE)
        self._timer.timeout.connect(self._turn)

    @staticmethod
    def of_application() -> DrawQueue:
        app = QCoreApplication.instance()
        assert app is not None
        found = app.findChild(DrawQueue)
        return found if isinstance(found, DrawQueue) else DrawQueue(app)

    def add(self, figure: Any) -> None:
        if not any(waiting() is figure for waiting in self._waiting):
            self._waiting.append(weakref.ref(figure))
        if not self._timer.isActive():
            self._timer.start()

    def _turn(self) -> None:
        figure = self._waiting.popleft()() if self._waiting else None
        if figure is not None and shiboken6.isValid(figure):
            figure.draw_queued()
        if not self._waiting:
            self._timer.stop()
