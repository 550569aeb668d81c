"""An estimate of the work that solving the loaded problem would take, at the press of a button."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QProcess, Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from engine.errors import InputError
from engine.util.text import seconds_text, short_number_text
from gui.app.widgets import filled, text_label
from gui.runs.child import child_environment

_BESIDES = " for the search alone; compiling kernels and a first solution take seconds besides."
_FEWER = " Where a better solution is found on the way, it is less, often many times."
SECONDS = 20
"""About how long an estimate may take."""


class EstimateBox(QWidget):
    """A button, and what ``quintet estimate`` answers, as a child process, so that a driver cannot crash the window."""

    def __init__(self) -> None:
        super().__init__()
        self.words: Callable[[], Sequence[str]] = list
        self.running = False
        """Whether an estimate is being made."""
        self._process = QProcess(self)
        self._process.setProcessEnvironment(child_environment())
        self._process.finished.connect(self._read)
        self._process.errorOccurred.connect(self._on_error, Qt.ConnectionType.QueuedConnection)
        self.button = QPushButton("Estimate")
        self.button.setToolTip("Estimate from a sample how much work a run with the options at the left would be")
        self.button.clicked.connect(self.toggle)
        self.answer = text_label(wrap=True, plain=True, selectable=True, name="Estimate")
        filled(QHBoxLayout(self), self.button, (self.answer, 1), margins=(0, 0, 0, 0))

    def toggle(self) -> None:
        if self.running:
            self.close_process()
            return
        try:
            words = list(self.words())
        except InputError as error:
            self.answer.setText(str(error))
            return
        self.running = True
        self.button.setText("Stop")
        self.answer.setText(f"Searching a sample, which takes about {SECONDS} s at most, and seconds to compile…")
        self._process.start(words[0], words[1:])

    def close_process(self) -> None:
        """Stop an estimate that is being made, and forget the last one."""
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.blockSignals(True)
            self._process.kill()
            self._process.waitForFinished(2000)
            self._process.blockSignals(False)
        self._show("")

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self.running:
            self._show(self._process.errorString())

    def _read(self) -> None:
        text = bytes(self._process.readAllStandardOutput().data()).decode(errors="replace")
        errors = bytes(self._process.readAllStandardError().data()).decode(errors="replace").strip().splitlines()
        if not self.running:
            return
        try:
            self._show(estimate_text(json.loads(text)))
        except (ValueError, KeyError, TypeError):
            self._show(errors[-1].removeprefix("error: ") if errors else "the estimate cannot be read")

    def _show(self, text: str) -> None:
        self.running = False
        self.button.setText("Estimate")
        self.answer.setText(text[:1].upper() + text[1:])


def estimate_text(found: Mapping[str, Any]) -> str:
    """An estimate in a sentence, from the JSON of ``quintet estimate``."""
    unit, amount, low, high, rate = (found[name] for name in ("unit", "amount", "low", "high", "rate"))
    if high == 0:
        return f"0 {unit}: there is nothing to search."
    speed = f"{short_number_text(rate)} {unit}/s"
    if low == high:
        return f"{short_number_text(amount)} {unit} at {speed}: {seconds_text(found['seconds'])}{_BESIDES}"
    limits = f"probably {short_number_text(low)} to {short_number_text(high)}"
    times = f"{seconds_text(low / max(rate, 1e-9))} to {seconds_text(high / max(rate, 1e-9))}"
    return f"about {short_number_text(amount)} {unit}, {limits}; at {speed} on these devices {times}{_BESIDES}{_FEWER}"
