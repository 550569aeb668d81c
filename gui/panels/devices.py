"""The page of devices: what they are, and memory, utilisation, power and temperature while the run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gui.plots import LivePlot

if TYPE_CHECKING:
    from engine.events import DeviceStatus, Started
    from gui.panels.base import Panel

__all__ = ["DevicesPage"]


class DevicesPage:
    """Adds a page to a panel and fills it from the device events."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        theme = panel.theme
        page = panel.page("Devices", columns=2)
        self.memory = panel.add(LivePlot("Memory in use", "bytes", theme=theme, key="device memory"), page)
        self.utilisation = panel.add(LivePlot("Utilisation", "%", theme=theme, key="utilisation", top=100.0), page)
        self.power = panel.add(LivePlot("Power", "W", theme=theme, key="power"), page)
        self.temperature = panel.add(LivePlot("Temperature", "°C", theme=theme, key="temperature"), page)

    def started(self, event: Started) -> None:
        """The pool is known."""

    def status(self, event: DeviceStatus) -> None:
        """A sample of one device."""
        index = self.panel.device_index(event.device)
        theme = self.panel.theme
        for plot, value in (
            (self.memory, event.memory_used),
            (self.utilisation, event.utilisation),
            (self.power, event.power),
            (self.temperature, event.temperature),
        ):
            if value is not None:
                curve = plot.series(event.device, theme.colour(index), theme.dash(index))
                curve.append(event.time, value)
