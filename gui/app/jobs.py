"""Work on threads of Qt's pool, with the result delivered to the thread that asked for it."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable
from typing import Any, ClassVar

from PySide6.QtCore import QObject, QRunnable, Qt, QThreadPool, Signal

from engine.errors import QuintetError

__all__ = ["Job"]


class _Teller(QObject):
    """Lives on the thread that made it, and so receives there."""

    told = Signal(object, bool)

    def __init__(self, done: Callable[[Any], object], failed: Callable[[Exception], object]) -> None:
        super().__init__()
        self._heirs: tuple[Callable[[Any], object], Callable[[Exception], object]] | None = (done, failed)
        self.has_told = False
        self.told.connect(self._receive, Qt.ConnectionType.QueuedConnection)

    def forget(self) -> None:
        """Tell nobody, and hold nobody."""
        self._heirs = None

    def _receive(self, value: Any, well: bool) -> None:
        heirs, self._heirs = self._heirs, None
        self.has_told = True
        if heirs is not None:
            heirs[0 if well else 1](value)


class Job(QRunnable):
    """A function on a thread of the pool; its result or its error come back on the thread that made the job.

    What it tells after :meth:`forget` is dropped. A job lasts until it is done, whoever gives it up: the pool calls it.
    """

    _under_way: ClassVar[set[Job]] = set()

    def __init__(
        self,
        work: Callable[[], Any],
        done: Callable[[Any], object],
        failed: Callable[[Exception], object],
    ) -> None:
        super().__init__()
        self.setAutoDelete(False)
        self._work: Callable[[], Any] | None = work
        self._teller = _Teller(done, failed)
        self._over = False

    def start(self) -> Job:
        """Put it to the pool."""
        # Those that are done go here, on the thread of their tellers, and not where they have run.
        Job._under_way.difference_update([job for job in Job._under_way if job._over and job._teller.has_told])
        Job._under_way.add(self)
        QThreadPool.globalInstance().start(self)
        return self

    def forget(self) -> None:
        """Nobody waits for it any more."""
        self._teller.forget()

    def run(self) -> None:
        """Do the work, on the pool's thread."""
        work, self._work = self._work, None
        assert work is not None
        try:
            result = work()
        except Exception as error:
            if not isinstance(error, QuintetError):
                traceback.print_exc()
            self._tell(error, False)
        else:
            self._tell(result, True)

    def _tell(self, value: object, well: bool) -> None:
        with contextlib.suppress(RuntimeError):  # the app may have ended meanwhile
            self._teller.told.emit(value, well)
        self._over = True
