"""The page of devices: what they are, and their load while the run is in progress."""

from __future__ import annotations

from collections.abc import Callable

from engine.events import DeviceStatus, Started
from gui.app.theme import Theme
from gui.plot.figure import Figure
from gui.plot.listing import Listing
from gui.plot.live import LivePlot
from gui.plot.page import Page
from gui.plot.tables import ByteCount
from gui.plot.timeline import LaneTimeline


class DevicesPage:
    """The figures of the page, filled from the device events of the run.

    ``index`` gives the place of a device in the pool, and with it its colour and dash; ``page`` is where they are put.
    """

    def __init__(self, theme: Theme, index: Callable[[str], int], page: Page) -> None:
        self._index, self._page = index, page

        def plot(title: str, unit: str, key: str, top: float | None = None) -> LivePlot:
            figure = LivePlot(title, unit, theme=theme, key=key, top=top)
            figure.whole_run = True
            return figure

        self.timeline = LaneTimeline("Timeline", "% of the time", theme=theme, key="timeline")
        self.timeline.whole_run = True
        self.memory = plot("Memory in use", "bytes", "device memory")
        self.utilisation = plot("Utilisation", "%", "utilisation", top=100.0)
        self.busy = plot("Busy (compiling, copying, computing)", "%", "busy", top=100.0)
        self.power = plot("Power", "W", "power")
        self.temperature = plot("Temperature", "°C", "temperature")
        for figure in (self.power, self.temperature):  # which only NVIDIA's devices report
            figure.hide()
        self.listing = Listing("Devices", theme=theme, key="devices")
        self.figures: list[Figure] = [
            *(self.timeline, self.memory, self.utilisation, self.busy, self.power, self.temperature, self.listing)
        ]
        self._totals: dict[str, ByteCount] = {}
        self._names: list[tuple[str, str]] = []
        self._latest: dict[str, tuple[int | None, float | None]] = {}

    def started(self, event: Started) -> None:
        """The pool is known."""
        self._names = list(zip(event.devices, event.device_names, strict=False))
        self._list()

    def _list(self) -> None:
        rows = [
            (label, name, self._totals.get(label), *self._latest.get(label, (None, None)))
            for label, name in self._names
        ]
        self.listing.put(["device or worker", "name", "memory", "busy (%)", "last heard of (s)"], rows)

    def status(self, event: DeviceStatus) -> None:
        """A sample of one device."""
        index, theme = self._index(event.device), self.memory.theme
        for plot, value in (
            (self.memory, event.memory_used),
            (self.utilisation, event.utilisation),
            (self.busy, event.busy),
            (self.power, event.power),
            (self.temperature, event.temperature),
        ):
            if value is not None:
                self._page.reveal(plot)
                curve = plot.series(event.device, theme.colour(index), theme.dash(index))
                curve.append(event.time, value)
        share = event.utilisation if event.busy is None else event.busy
        if share is not None:
            self.timeline.add_share(event.device, "at work", event.time, share / 100)
        if event.memory_total is not None:
            self._totals[event.device] = ByteCount(event.memory_total)
        if event.device not in dict(self._names):  # a worker that has joined
            self._names.append((event.device, ""))
        self._latest[event.device] = (None if event.busy is None else round(event.busy), round(event.time, 1))
        self._list()
