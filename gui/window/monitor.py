"""The tab with the state of all devices of the machine, whoever uses them."""

import contextlib
import json
import time
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QProcess
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QVBoxLayout

from gui.app.meaning import figure_meaning
from gui.app.theme import Theme
from gui.app.widgets import filled
from gui.plot.area import FigureTab
from gui.plot.listing import Listing
from gui.plot.live import LivePlot
from gui.plot.page import Page
from gui.plot.tables import ByteCount
from gui.runs.child import child_environment, program

_ASKING = "Waiting for the first report of the devices…"
_NO_PROCESS = "No process uses a GPU, or its driver does not report them."
_FIELDS = ("utilisation", "memory_used", "power", "temperature")


class MonitorTab(FigureTab):
    """Utilisation, memory, power and temperature over time, and the processes that use GPUs."""

    title, image = "Devices", "device"

    def __init__(self, theme: Theme, command: Sequence[str] | None = None) -> None:
        super().__init__()
        self.theme = theme
        self._command = list(command or program())
        self._began = time.monotonic()
        self._process: QProcess | None = None
        page = self._page = Page(columns=2)

        def plot(title: str, unit: str, key: str, top: float | None = None) -> LivePlot:
            figure = LivePlot(title, unit, theme=theme, key=key, top=top, empty=_ASKING)
            page.put(figure)
            return figure

        self.figures = {
            "utilisation": plot("Utilisation", "%", "utilisation", 100.0),
            "memory_used": plot("Memory in use", "bytes", "device memory"),
            "power": plot("Power", "W", "power"),
            "temperature": plot("Temperature", "°C", "temperature"),
        }
        self.processes = Listing("Processes on GPUs", theme=theme, key="processes", empty=_ASKING)
        page.put(self.processes, wide=2)
        for figure in self.plots():
            figure.describe(figure_meaning("devices", figure.key), str)
        filled(QVBoxLayout(self), page, margins=(0, 0, 0, 0))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._process is None and not self.cleaned_up:
            process = self._process = QProcess(self)
            process.setProcessEnvironment(child_environment())
            process.readyReadStandardOutput.connect(self._read)
            process.finished.connect(lambda _code, _status: self._explain("The devices can no longer be read."))
            process.errorOccurred.connect(lambda _error: self._explain("The devices cannot be read."))
            words = [*self._command, "devices", "--watch", "1", "--json"]
            process.start(words[0], words[1:])

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.close_sources()

    def close_sources(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.blockSignals(True)
            process.kill()
            process.waitForFinished(2000)
            process.deleteLater()

    def _read(self) -> None:
        while self._process is not None and self._process.canReadLine():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                self.take(json.loads(bytes(self._process.readLine().data())))

    def take(self, report: dict[str, Any]) -> None:
        now = time.monotonic() - self._began
        rows = []
        for index, device in enumerate(report["devices"]):
            for name in _FIELDS:
                if device.get(name) is not None:
                    curve = self.figures[name].series(device["name"], self.theme.colour(index), self.theme.dash(index))
                    curve.append(now, float(device[name]))
            rows += [
                (device["name"], one["pid"], one["name"], None if one["memory"] is None else ByteCount(one["memory"]))
                for one in device["processes"]
            ]
        self.processes.put(["device", "process", "command", "memory"], rows)
        self.processes.explain(_NO_PROCESS)
        for figure in self.figures.values():
            self._page.reveal(figure, figure.curves_have_data)
            figure.draw_later()

    def _explain(self, text: str) -> None:
        """Say why a figure is empty."""
        for figure in self.figures.values():
            if not figure.curves_have_data:
                figure.hint(text)
        self.processes.explain(text)

    def plots(self) -> list[Any]:
        return [*self.figures.values(), self.processes]
