"""Work on threads of Qt's pool, with the result delivered to the thread that asked for it."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import shiboken6
from PySide6.QtCore import QObject, QRunnable, Qt, QThreadPool, Signal

from engine.errors import QuintetError

T = TypeVar("T")


class _Receiver(QObject):
    """Belongs to the thread that made the job, so that its slot runs there."""

    finished = Signal(object, bool)

    def __init__(self, done: Callable[[Any], object], failed: Callable[[Exception], object]) -> None:
        super().__init__()
        self._callbacks: tuple[Callable[[Any], object], Callable[[Exception], object]] | None = (done, failed)
        self.delivered = False
        self.finished.connect(self._receive, Qt.ConnectionType.QueuedConnection)

    def disconnect_callbacks(self) -> None:
        """Deliver nothing, and keep no reference to the callbacks."""
        self._callbacks = None

    def _receive(self, value: Any, succeeded: bool) -> None:
        callbacks, self._callbacks = self._callbacks, None
        self.delivered = True
        if callbacks is None:
            return
        callback = callbacks[0 if succeeded else 1]
        owner = getattr(callback, "__self__", None)
        if not isinstance(owner, QObject) or shiboken6.isValid(owner):  # a widget may have been closed meanwhile
            callback(value)


class Job(QRunnable):
    """A function on a pool thread; its result or exception is delivered on the thread that made the job."""

    _active: ClassVar[set[Job]] = set()

    def __init__(
        self, work: Callable[[], Any], done: Callable[[Any], object], failed: Callable[[Exception], object]
    ) -> None:
        super().__init__()
        self.setAutoDelete(False)
        self._work: Callable[[], Any] | None = work
        self._receiver = _Receiver(done, failed)
        self._finished = False

    def start(self) -> Job:
        # Finished jobs are released here, on the thread of their receivers, and not on the thread that ran them.
        Job._active.difference_update([job for job in Job._active if job._finished and job._receiver.delivered])
        Job._active.add(self)
        QThreadPool.globalInstance().start(self)
        return self

    def discard(self) -> None:
        """Let the work finish, but deliver nothing."""
        self._receiver.disconnect_callbacks()

    def run(self) -> None:
        work, self._work = self._work, None
        assert work is not None
        try:
            result = work()
        except Exception as error:
            if not isinstance(error, QuintetError):
                traceback.print_exc()
            self._deliver(error, False)
        else:
            self._deliver(result, True)

    def _deliver(self, value: object, succeeded: bool) -> None:
        with contextlib.suppress(RuntimeError):  # the application may have ended meanwhile
            self._receiver.finished.emit(value, succeeded)
        self._finished = True


class Jobs(QObject):
    """The jobs of a window; ``failed(message)`` for a failure that has no callback of its own."""

    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.pending: list[Job] = []

    def start(
        self, work: Callable[[], T], done: Callable[[T], object], failed: Callable[[Exception], object] | None = None
    ) -> Job:

        def finish(callback: Callable[[Any], object], value: Any) -> None:
            self.pending.remove(job)
            callback(value)

        report = failed or (lambda error: self.failed.emit(str(error)))
        job = Job(work, lambda result: finish(done, result), lambda error: finish(report, error))
        self.pending.append(job)
        return job.start()

    def discard(self, job: Job) -> None:
        job.discard()
        self.pending.remove(job)

    def discard_all(self) -> None:
        for job in self.pending:
            job.discard()
        self.pending.clear()
