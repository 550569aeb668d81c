"""An estimate of the work that solving the loaded problem would take, at the press of a button."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from engine.errors import InputError
from engine.util.text import seconds_text, short_number_text
from gui.app.widgets import filled, text_label
from gui.runs.child import JsonQuery

_BESIDES = " for the search alone; compiling kernels and a first solution take seconds besides."
_FEWER = " Where a better solution is found on the way, it is less, often many times."
SECONDS = 20
"""About how long an estimate may take."""


class EstimateBox(QWidget):
    """A button, and what ``quintet estimate`` answers, as a child process, so that a driver cannot crash the window."""

    def __init__(self) -> None:
        super().__init__()
        self.words: Callable[[], Sequence[str]] = list
        self._query: JsonQuery | None = None
        self.button = QPushButton("Estimate")
        self.button.setToolTip("Estimate from a sample how much work a run with the options at the left would be")
        self.button.clicked.connect(self.toggle)
        self.answer = text_label(wrap=True, plain=True, selectable=True, name="Estimate")
        filled(QHBoxLayout(self), self.button, (self.answer, 1), margins=(0, 0, 0, 0))

    @property
    def running(self) -> bool:
        """Whether an estimate is being made."""
        return self._query is not None

    def toggle(self) -> None:
        if self.running:
            self.close_process()
            return
        try:
            words = list(self.words())
        except InputError as error:
            self.answer.setText(str(error))
            return
        self.button.setText("Stop")
        self.answer.setText(f"Searching a sample, which takes about {SECONDS} s at most, and seconds to compile…")
        self._query = JsonQuery(words, estimate_text, "the estimate cannot be read", self)
        self._query.answered.connect(self._show)
        self._query.failed.connect(self._show)

    def close_process(self) -> None:
        """Stop an estimate that is being made, and forget the last one."""
        self._show("")

    def _show(self, text: str) -> None:
        if self._query is not None:
            self._query.close()
            self._query.deleteLater()
            self._query = None
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
