"""The real window for the benchmarks of the app: with a data folder of its own and the work of its thread measured."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEvent, QEventLoop, QObject, QTimer
from PySide6.QtWidgets import QApplication

from tests.support.environment import ROOT

__all__ = ["ROOT", "Measured"]


class _Timed(QApplication):
    """Notes how long each event takes that the event loop hands out."""

    depth = 0
    pieces: list[float]

    def notify(self, receiver: QObject, event: QEvent) -> bool:
        """Hand the event out."""
        self.depth += 1
        began = time.thread_time()
        try:
            return super().notify(receiver, event)
        finally:
            self.depth -= 1
            if self.depth == 0:
                self.pieces.append(time.thread_time() - began)


class Measured:
    """A window; use it as a context manager.

    Attributes
    ----------
    window : gui.window.main.MainWindow
    pieces : list of float
        Seconds of the window's thread for each event that its loop has handed out.
    shown_at, ready_at, shown_cpu : float
        Times at which the window was shown, and had found samples and devices; processor time until it was shown.

    Parameters
    ----------
    home : Path, optional
        Its data folder; an empty one by default.
    """

    def __init__(self, home: Path | None = None) -> None:
        self._given = home
        self._app = _Timed([])
        self.pieces = self._app.pieces = []
        self._loop = QEventLoop()

    def __enter__(self) -> Self:
        from gui.app.garbage import Collector
        from gui.application import make_application
        from gui.window.main import MainWindow

        make_application()
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.window: Any = MainWindow(self._given or Path(self._home.name), standby=True)
        self._collector = Collector(self._app)
        self.window.ready.connect(self._collector.freeze)
        self.window.ready.connect(self._loop.quit)
        self.window.show()
        self._app.processEvents()
        self.shown_at, self.shown_cpu = time.time(), time.process_time()
        self._loop.exec()
        self.ready_at = time.time()
        self.wait(500)
        return self

    def __exit__(self, *_: object) -> None:
        self.window.close_now()
        self._collector.close()
        self._home.cleanup()

    def wait(self, milliseconds: int) -> None:
        """Let the window work."""
        QTimer.singleShot(milliseconds, self._loop.quit)
        self._loop.exec()

    def wait_until(self, holds: Callable[[], bool], seconds: float) -> None:
        """Let the window work until something holds.

        Raises
        ------
        TimeoutError
            If it does not hold in that time.
        """
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError("the window did not get there in time")
            self.wait(10)

    def piece(self, work: Callable[[], object]) -> float:
        """Do something on the window's thread; its seconds, which count as a piece."""
        began = time.thread_time()
        work()
        self.pieces.append(time.thread_time() - began)
        return self.pieces[-1]

    def open(self, folder: Path) -> Any:
        """Open a run folder; its tab."""
        self.window.runs.show_folder(folder)
        self.wait_until(lambda: self._shown(folder) is not None, 60)
        return self._shown(folder)

    def _shown(self, folder: Path) -> Any:
        tab = self.window.run_tabs.current_run()
        return tab if tab is not None and tab.note.path.resolve() == folder.resolve() else None

    def longest(self, work: Callable[[], object], milliseconds: int) -> float:
        """The longest piece of something and what follows from it in that time."""
        self.pieces.clear()
        self.piece(work)
        self.wait(milliseconds)
        return max(self.pieces)
