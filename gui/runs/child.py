"""The child process of a run, ``quintet solve ... --events -``: its events, and how it is paused and stopped.

Reading never blocks. Stopping sends a request first, then SIGTERM, then SIGKILL.
"""

import json
import os
import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Qt, QTimer, Signal

import engine
from engine.events import Event, Failed, Finished, from_json

_READ = 1 << 20
STOP_REQUESTED = "stop requested"
_STEPS = {"request": STOP_REQUESTED, "terminate": "SIGTERM sent", "kill": "SIGKILL sent"}
_ENDINGS = {"terminate": "terminated", "kill": "killed"}


def program() -> list[str]:
    """The command that starts ``quintet``, whatever is in the current folder."""
    return [sys.executable, "-P", "-m", engine.__name__]


class Child(QObject):
    """One run in a process of its own; ``ended()`` once it has ended and :meth:`take` has returned its last event.

    ``patience``: seconds from the request to stop to SIGTERM, and from SIGTERM to SIGKILL.
    """

    line_read = Signal(str)
    stopping = Signal(str)
    ended = Signal()
    own = pausable = True
    """Whether the process is a child of this window, and can be paused."""
    _detached: ClassVar[list[QProcess]] = []

    patience = (8.0, 4.0)

    def __init__(
        self, words: Sequence[str], *, command: Sequence[str] | None = None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.words = list(words)
        self._command = list(command or program())
        self._step = ""
        self._rest = b""
        self._lines: deque[bytes] = deque()
        self._exited = False
        self._end_reported = False
        self.last: Event | None = None
        self.invalid_lines = 0
        self._errors: list[str] = []
        self._process = QProcess(self)
        self._process.setProcessEnvironment(child_environment())
        self._process.readyReadStandardError.connect(self._read_errors)
        self._process.finished.connect(self._on_finished)
        self._process.errorOccurred.connect(self._on_error)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._escalate)

    def start(self) -> None:
        """Begin, unless it has begun; returns at once."""
        if self._process.state() != QProcess.ProcessState.NotRunning:
            return
        whole = [*self._command, *self.words, "--events", "-"]
        self._process.start(whole[0], whole[1:])

    def assign(self, words: Sequence[str]) -> None:
        """Give a process that was started as ``standby`` the command to run."""
        self.words = list(words)
        self._send(json.dumps([*words, "--events", "-"]))

    @property
    def pid(self) -> int:
        """The process id; 0 before the start and after the end."""
        return int(self._process.processId())

    @property
    def running(self) -> bool:
        """Whether the process runs, or has events that were not taken yet."""
        return not self._end_reported

    def pause(self) -> None:
        self._send("pause")

    def resume(self) -> None:
        self._send("resume")

    def stop(self) -> None:
        """Stop the run: request it; when called again, or after a while, send SIGTERM, then SIGKILL."""
        self._escalate()

    def stop_soon(self, patience: tuple[float, float]) -> None:
        """Like :meth:`stop`, with shorter waiting times, except for a run on another host, which sends its folder."""
        if "--host" not in self.words:
            self.patience = patience
        self._escalate()

    def kill(self) -> None:
        self._step = "terminate"
        self._escalate()

    def detach(self) -> None:
        """Let the run continue without this window, which takes no more events of it."""
        self.blockSignals(True)
        self._timer.stop()
        self._process.blockSignals(True)
        self._send("detach")
        self._process.waitForBytesWritten(1000)
        self._process.setParent(None)  # its destructor would kill the process
        Child._detached.append(self._process)
        self._exited = self._end_reported = True

    @classmethod
    def any_detached(cls) -> bool:
        """Whether processes continue that the end of this one would kill, unless it skips all destructors."""
        return bool(cls._detached)

    def close(self) -> None:
        """Kill the process if it runs; no signal is emitted."""
        self.blockSignals(True)
        self._timer.stop()
        if self._process in self._detached:
            return
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.kill()
            self._process.waitForFinished(3000)

    def _send(self, word: str) -> None:
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.write(word.encode() + b"\n")

    def _escalate(self) -> None:
        if self._exited:
            return
        following = {"": "request", "request": "terminate", "terminate": "kill", "kill": "kill"}
        self._step = following[self._step]
        if self._step == "request":
            self._send("stop")
            self._timer.start(int(self.patience[0] * 1000))
        elif self._step == "terminate":
            self._process.terminate()
            self._timer.start(int(self.patience[1] * 1000))
        else:
            self._timer.stop()
            self._process.kill()
        self.stopping.emit(_STEPS[self._step])

    def take(self, most: int = 4000) -> list[Event]:
        """The events that have arrived, at most ``most``; after the last one ``ended`` is emitted."""
        if len(self._lines) < most:
            *lines, self._rest = (self._rest + bytes(self._process.read(_READ).data())).split(b"\n")
            self._lines.extend(lines)
        events: list[Event] = []
        while self._lines and len(events) < most:
            self._parse(self._lines.popleft(), events)
        if self._exited and not self._lines and not self._process.bytesAvailable() and not self._end_reported:
            self._end_reported = True
            QTimer.singleShot(0, self, self._report_end)
        return events

    def _report_end(self) -> None:
        self.ended.emit()

    def _parse(self, line: bytes, events: list[Event]) -> None:
        if not line.strip():
            return
        try:
            self.last = from_json(line)
        except ValueError:
            self.invalid_lines += 1
            return
        events.append(self.last)

    def outcome(self) -> tuple[str, str]:
        """State and message of the run once it has ended; how the process ended, if no event says so."""
        if isinstance(self.last, Finished):
            return self.last.status, ""
        if isinstance(self.last, Failed):
            return "failed", self.last.message
        process = self._process
        if process.error() == QProcess.ProcessError.FailedToStart:
            return "failed", f"the solver process could not be started: {process.errorString()}"
        if self._step and self.last is None:  # asked to stop while it still started: nothing is lost
            return "interrupted", ""
        if self._step in ("terminate", "kill"):
            return "killed", f"the solver process did not stop when asked and was {_ENDINGS[self._step]}"
        detail = f": {self._errors[-1]}" if self._errors else ""
        if process.exitStatus() == QProcess.ExitStatus.CrashExit:
            return "killed", f"the solver process ended unexpectedly (signal {process.exitCode()}){detail}"
        return "failed", f"the solver process ended without a result (exit code {process.exitCode()}){detail}"

    def _read_errors(self) -> None:
        text = bytes(self._process.readAllStandardError().data()).decode(errors="replace")
        for line in text.splitlines()[-200:]:
            if line.strip():
                self._errors = [*self._errors[-49:], line.rstrip()]
                self.line_read.emit(line.rstrip())

    def _on_finished(self) -> None:
        self._read_errors()
        self._exited = True
        self._timer.stop()

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self._exited = True
            self._timer.stop()


class JsonQuery(QObject):
    """What ``read`` makes of a command's JSON: ``answered(it)`` or ``failed(message)``, once.

    The command is a process of its own; ``unread`` is the message if it says neither what ``read`` takes nor why not.
    """

    answered = Signal(object)
    failed = Signal(str)

    def __init__(
        self, words: Sequence[str], read: Callable[[Any], object], unread: str, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._reader, self._unread = read, unread
        self._process = QProcess(self)
        self._process.setProcessEnvironment(child_environment())
        self._process.finished.connect(self._read)
        self._process.errorOccurred.connect(self._on_error, Qt.ConnectionType.QueuedConnection)
        self._process.start(words[0], list(words[1:]))

    def close(self) -> None:
        self._process.blockSignals(True)
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.kill()
            self._process.waitForFinished(2000)

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:  # a process that has started reports its end in any case
            self.failed.emit(self._process.errorString())

    def _read(self) -> None:
        text = bytes(self._process.readAllStandardOutput().data()).decode(errors="replace")
        try:
            answer = self._reader(json.loads(text[text.index("{") :]))  # the shell of a host may print a line before
        except (ValueError, KeyError, TypeError):
            lines = bytes(self._process.readAllStandardError().data()).decode(errors="replace").strip().splitlines()
            self.failed.emit(lines[-1].removeprefix("error: ") if lines else self._unread)
        else:
            self.answered.emit(answer)


def child_environment() -> QProcessEnvironment:
    """The environment of a child: this process's, with the same package on its path even if it is not installed."""
    environment = QProcessEnvironment.systemEnvironment()
    root = Path(engine.__file__).resolve().parent.parent
    paths = sysconfig.get_paths()
    if root not in (Path(paths["purelib"]), Path(paths["platlib"])):
        inherited = environment.value("PYTHONPATH")
        environment.insert("PYTHONPATH", os.pathsep.join(part for part in (str(root), inherited) if part))
    environment.insert("PYTHONUNBUFFERED", "1")
    return environment
