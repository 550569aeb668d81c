"""The devices of this computer or of another host, as ``quintet devices --json`` lists them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from PySide6.QtCore import QObject, QProcess, Qt, Signal

from gui.runs.child import child_environment


class DeviceQuery(QObject):
    """Lists devices in a child process: ``found(devices, missing)``, or ``failed(message)``, once."""

    found = Signal(list, dict)
    failed = Signal(str)

    def __init__(self, words: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
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
            content = json.loads(text[text.index("{") :])  # the shell of a host may print a line before
            devices, missing = list(content["devices"]), dict(content["missing"])
        except (ValueError, KeyError, TypeError):
            lines = bytes(self._process.readAllStandardError().data()).decode(errors="replace").strip().splitlines()
            self.failed.emit(lines[-1] if lines else "the device list cannot be read")
            return
        self.found.emit(devices, missing)
