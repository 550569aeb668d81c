"""Replay of a recorded run, at any speed and from any position, with a few thousand events in memory."""

import contextlib
import math
import queue
import threading
import time
from collections import deque
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from engine.events import Event, Started, from_json
from engine.util.files import open_regular
from gui.runs.notes import last_line

_BATCH = 250
_AHEAD = 24


class _Reader:
    """Parses a file of events into batches, a few ahead of the consumer; None is the end."""

    def __init__(self, path: Path, size: int | None) -> None:
        self.batches: queue.Queue[list[Event] | None] = queue.Queue(maxsize=_AHEAD)
        self._path, self._size = path, size
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._read, name="quintet-reader", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()

    def _read(self) -> None:
        with contextlib.suppress(OSError), open_regular(self._path) as stream:
            batch: list[Event] = []
            read = 0
            for line in stream:
                read += len(line)
                if self._size is not None and read > self._size:
                    break
                with contextlib.suppress(ValueError):
                    batch.append(from_json(line))
                if len(batch) >= _BATCH:
                    if not self._put(batch):
                        return
                    batch = []
            self._put(batch)
        self._put(None)

    def _put(self, batch: list[Event] | None) -> bool:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self.batches.put(batch, timeout=0.1)
                return True
        return False


class Player(QObject):
    """Delivers the events of a recording at their times, or at once with the speed ``inf``; ``size`` bytes of it.

    ``ended()`` after the last event; ``rewound()`` when a seek goes back, so that dashboards start empty.
    """

    ended = Signal()
    rewound = Signal()

    def __init__(self, path: Path, speed: float = 1.0, parent: QObject | None = None, size: int | None = None) -> None:
        super().__init__(parent)
        self._path, self._size = path, size
        self.speed = speed
        self.paused = False
        self.over = False
        self.position = 0.0
        self._skip_to: float | None = None
        self._pending: deque[Event] = deque()
        self._reader = _Reader(path, size)
        self._clock = time.monotonic()
        self.duration = _duration(path)

    @property
    def running(self) -> bool:
        return not self.over

    @property
    def seeking(self) -> bool:
        return self._skip_to is not None

    @property
    def fast_forwarding(self) -> bool:
        """Whether events are given as fast as they are taken."""
        return not self.over and (self.seeking or (math.isinf(self.speed) and not self.paused))

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        """Resume; from the beginning, if it has ended."""
        if self.over:
            self.seek(0.0)
        self.paused = False
        self._clock = time.monotonic()

    def set_speed(self, speed: float) -> None:
        self.speed = speed
        self._clock = time.monotonic()

    def seek(self, position: float) -> None:
        """Go to a position, in seconds of the run."""
        if position < self.position or self.over:
            self._reader.close()
            self._pending.clear()
            self._reader = _Reader(self._path, self._size)
            self.position, self.over = 0.0, False
            self.rewound.emit()
        self._skip_to = position

    def show(self, position: float) -> None:
        """Go to a position that was pointed at; at no speed but at once, stay there."""
        if math.isinf(self.speed):
            self.paused = True
        self.seek(position)

    def close(self) -> None:
        self._reader.close()
        self.over = True

    def take(self, most: int = 4000) -> list[Event]:
        """The events that are due, at most ``most``."""
        now = time.monotonic()
        passed, self._clock = now - self._clock, now
        if self.over or (self.paused and not self.seeking):
            return []
        limit = self.position + (math.inf if math.isinf(self.speed) else passed * self.speed)
        if self._skip_to is not None:
            limit = self._skip_to
        due: list[Event] = []
        unread = False
        while len(due) < most and not (unread := not self._fill()):
            event = self._pending[0]
            if isinstance(event, Started):  # a session begins, at its own time
                self.position = event.time
                limit = limit if math.isinf(limit) or self.seeking else event.time
            elif event.time > limit:
                self.position, self._skip_to = limit, None
                break
            due.append(self._pending.popleft())
            self.position = max(self.position, event.time)
        if unread and not self.over and not self.seeking and 0 < self.speed < math.inf:
            self._clock -= max(0.0, limit - self.position) / self.speed  # the file is read too slowly: caught up later
        return due

    def _report_end(self) -> None:
        if self.over:  # and no seek has happened since
            self.ended.emit()

    def _fill(self) -> bool:
        """Whether an event is pending."""
        while not self._pending:
            try:
                batch = self._reader.batches.get_nowait()
            except queue.Empty:
                return False
            if batch is None:
                self.over, self._skip_to = True, None
                self.position = max(self.position, self.duration)
                QTimer.singleShot(0, self, self._report_end)
                return False
            self._pending.extend(batch)
        return True


def _duration(path: Path) -> float:
    """The time of the last event."""
    with contextlib.suppress(ValueError):
        return from_json(last_line(path)).time
    return 0.0


def first_value(path: Path) -> float:
    """When a recorded run has its first value; 0 if it has none."""
    with contextlib.suppress(OSError, ValueError), open_regular(path) as stream:
        for line in stream:
            if any(kind in line for kind in (b'"metric"', b'"trace"', b'"incumbent"')):
                return from_json(line).time
    return 0.0
