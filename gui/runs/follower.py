"""A run that another process writes, perhaps on another host; on this one it is stopped and paused by signals."""

import contextlib
import os
import signal
import socket
import time
from collections import deque
from pathlib import Path
from typing import BinaryIO

from PySide6.QtCore import QObject, QTimer, Signal

from engine.events import Event, Failed, Finished, from_json
from engine.runs.folder.lock import writer_of
from engine.util.files import open_regular
from gui.runs.child import STOP_REQUESTED

_READ = 1 << 20
_GRACE = 2.0  # seconds between the end of the writing process and that of its last lines on a shared disk


class Follower(QObject):
    """The events of a run folder that another process writes, in the place of :class:`gui.runs.child.Child`."""

    line_read = Signal(str)
    stopping = Signal(str)
    ended = Signal()
    own = False
    """Whether the process is a child of this window."""
    invalid_lines = 0

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.last: Event | None = None
        self._stream: BinaryIO | None = None
        self._rest = b""
        self._lines: deque[bytes] = deque()
        self._gone_since: float | None = None
        self._end_reported = False
        self._checked = 0.0

    def start(self) -> None:
        with contextlib.suppress(OSError):
            self._stream = open_regular(self.folder / "events.jsonl")

    @property
    def running(self) -> bool:
        """Whether the run goes on, or has events that were not taken yet."""
        return not self._end_reported

    @property
    def pid(self) -> int:
        """The process that writes, if it is on this host; 0 otherwise."""
        owner = writer_of(self.folder)
        return int(owner["pid"]) if owner is not None and owner.get("host") == socket.gethostname() else 0

    @property
    def where(self) -> str:
        """The process and its host, for people."""
        owner = writer_of(self.folder) or {}
        return f"process {owner.get('pid', '?')} on {owner.get('host', 'an unknown host')}"

    @property
    def pausable(self) -> bool:
        """Whether its process obeys the signals that pause and resume, which would end others; known on Linux only."""
        with contextlib.suppress(OSError, ValueError, StopIteration, AttributeError):
            lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
            caught = int(next(line for line in lines if line.startswith("SigCgt:")).split()[1], 16)
            return all(caught >> (number - 1) & 1 for number in (signal.SIGUSR1, signal.SIGUSR2))
        return False

    def pause(self) -> None:
        self._send(signal.SIGUSR1)

    def resume(self) -> None:
        self._send(signal.SIGUSR2)

    def _send(self, number: int) -> None:
        with contextlib.suppress(OSError):
            os.kill(self.pid, number)

    def stop(self) -> None:
        """Ask the process to stop by SIGTERM: it keeps its best solution and a checkpoint."""
        if (pid := self.pid) and hasattr(signal, "SIGTERM"):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGTERM)
                self.stopping.emit(STOP_REQUESTED)

    def stop_soon(self, patience: tuple[float, float]) -> None:
        """Do nothing: the run does not end with this window."""

    def close(self) -> None:
        """Read no more; the run continues."""
        self.blockSignals(True)
        self._end_reported = True
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def take(self, most: int = 4000) -> list[Event]:
        """The events that have been recorded since, at most ``most``; after the last one ``ended`` is emitted."""
        if self._stream is None and not self._end_reported:
            self.start()
        if self._stream is not None and len(self._lines) < most:
            with contextlib.suppress(OSError):
                *lines, self._rest = (self._rest + self._stream.read(_READ)).split(b"\n")
                self._lines.extend(lines)
        events: list[Event] = []
        while self._lines and len(events) < most:
            with contextlib.suppress(ValueError):
                events.append(from_json(self._lines.popleft()))
        if events:
            self.last = events[-1]
            self._gone_since = None
        elif not self._lines:
            self._look_for_end()
        return events

    def _look_for_end(self) -> None:
        """Notice that the run has ended: by its last event, or because its process has gone."""
        now = time.monotonic()
        if self._end_reported or now - self._checked < 0.5:
            return
        self._checked = now
        if writer_of(self.folder) is not None:
            self._gone_since = None
            return
        self._gone_since = now if self._gone_since is None else self._gone_since
        if isinstance(self.last, (Finished, Failed)) or now - self._gone_since > _GRACE:
            self._end_reported = True
            QTimer.singleShot(0, self, self.ended.emit)

    def outcome(self) -> tuple[str, str]:
        """State and message of the run once it has ended."""
        if isinstance(self.last, Finished):
            return self.last.status, ""
        if isinstance(self.last, Failed):
            return "failed", self.last.message
        return "killed", "the process that wrote the run has ended without a result"
