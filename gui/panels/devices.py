"""The page of devices: what they are, and their load while the run is in progress."""

from collections.abc import Callable
from functools import partial
from typing import Any

from engine.events import DeviceStatus, Started
from engine.util.text import seconds_text
from gui.plot.listing import Listing
from gui.plot.live import LivePlot
from gui.plot.page import Page
from gui.plot.tables import ByteCount
from gui.plot.timeline import AT_WORK, COMPILING, FROM_DEVICE, TO_DEVICE, LaneTimeline


class DevicesPage:
    """The figures of the page, filled from the device events of the run."""

    def __init__(self, make: Callable[..., Any], page: Page, index: Callable[[str], int]) -> None:
        self._index = index
        self.timeline: LaneTimeline = make(LaneTimeline, page, "Timeline", "% of the time", key="timeline", wide=3)
        plot = partial(make, LivePlot, page)
        self._plots: dict[str, LivePlot] = {  # by the fields of events; only NVIDIA's devices report the last two
            "memory_used": plot("Memory in use", "bytes", key="device memory"),
            "utilisation": plot("Utilisation", "%", key="utilisation", top=100.0),
            "busy": plot("Busy", "%", key="busy", top=100.0),
            "power": plot("Power", "W", key="power", optional=True),
            "temperature": plot("Temperature", "°C", key="temperature", optional=True),
        }
        for figure in (self.timeline, *self._plots.values()):
            figure.whole_run = True
        self.listing: Listing = make(Listing, page, "Devices", key="devices")
        self._totals: dict[str, ByteCount] = {}
        self._names: list[tuple[str, str]] = []
        self._latest: dict[str, tuple[int | None, str]] = {}
        self._since: dict[str, float] = {}

    def started(self, event: Started) -> None:
        self._names = list(zip(event.devices, event.device_names, strict=False))
        self._since = dict.fromkeys(event.devices, event.time)
        for device in event.devices:  # in the pool's order, whichever reports first
            self.timeline.lane_of(device)
        self._list()

    def _list(self) -> None:
        rows = [
            (label, name, self._totals.get(label), *self._latest.get(label, (None, ""))) for label, name in self._names
        ]
        self.listing.put(["device or worker", "name", "memory", "busy (%)", "last heard of"], rows)

    def status(self, event: DeviceStatus) -> None:
        index, device, time = self._index(event.device), event.device, event.time
        for name, plot in self._plots.items():
            if (value := getattr(event, name)) is not None:
                plot.series(device, plot.theme.colour(index), plot.theme.dash(index)).append(time, value)
        since, self._since[device] = self._since.get(device), time
        share = event.utilisation if event.busy is None else event.busy
        for kind, percent in ((AT_WORK, share), (COMPILING, event.compiling)):
            if percent is not None:
                self.timeline.add_share(device, kind, time, percent / 100, since)
        for kind, nbytes in ((TO_DEVICE, event.to_device), (FROM_DEVICE, event.from_device)):
            if nbytes is not None and since is not None:
                self.timeline.add_copies(device, kind, time, nbytes, since)
        if event.memory_total is not None:
            self._totals[event.device] = ByteCount(event.memory_total)
        if event.device not in dict(self._names):  # a worker that has joined
            self._names.append((event.device, ""))
        self._latest[event.device] = (None if event.busy is None else round(event.busy), seconds_text(event.time))
        self._list()
