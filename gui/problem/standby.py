"""An idle child process with the solvers imported and the devices open, so that the next run starts at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QObject, QTimer

from engine.util.memory import free_memory
from gui.problem.command_line import option_words
from gui.runs.child import Child

_LEAST_MEMORY = 2e9
"""Bytes of free memory below which no process waits."""

_DELAY = 800  # milliseconds; several changes of the settings start one process
_IDLE = 900_000  # milliseconds, after which the devices are released


class Standby(QObject):
    """Keeps one process that waits for a command; see :mod:`engine.cli.standby`. None waits unless ``enabled``."""

    def __init__(self, command: Sequence[str] | None, enabled: bool, parent: QObject) -> None:
        super().__init__(parent)
        self._command, self.enabled = command, enabled
        self._child: Child | None = None
        self._words: list[str] = []
        self._delay = QTimer(self, singleShot=True, interval=_DELAY)
        self._delay.timeout.connect(self._begin)
        self._idle = QTimer(self, singleShot=True, interval=_IDLE)
        self._idle.timeout.connect(self.release)

    @property
    def waiting(self) -> bool:
        return self._child is not None and self._child.pid > 0

    def prepare(self, settings: Mapping[str, Any]) -> None:
        """Have a process wait with these devices, soon."""
        self._words = ["standby", *option_words({k: settings[k] for k in ("backend", "devices") if settings.get(k)})]
        if self.enabled:
            self._delay.start()

    def _begin(self) -> None:
        if self.waiting and self._child is not None and self._child.words == self._words:
            return
        self.release()
        memory = free_memory()
        if memory is None or memory >= _LEAST_MEMORY:
            self._child = Child(self._words, command=self._command, parent=self)
            self._child.start()
            self._idle.start()

    def take(self, words: Sequence[str]) -> Child | None:
        """The waiting process, which runs this command from now on; None if none waits."""
        if not self.waiting or self._child is None:
            return None
        child, self._child = self._child, None
        self._idle.stop()
        child.assign(words)
        return child

    def release(self) -> None:
        self._idle.stop()
        if self._child is not None:
            self._child.close()
            self._child.deleteLater()
            self._child = None

    def close(self) -> None:
        """End the waiting process, and start none again."""
        self.enabled = False
        self._delay.stop()
        self.release()
