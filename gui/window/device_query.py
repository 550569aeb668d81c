"""The devices of this computer or of another host, as ``quintet devices --json`` lists them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from gui.runs.child import JsonQuery


class DeviceQuery(JsonQuery):
    """Lists devices: ``found(devices, missing)``, or ``failed(message)``, once."""

    found = Signal(list, dict)

    def __init__(self, words: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(words, "the device list cannot be read", parent)
        self.answered.connect(lambda content: self.found.emit(content["devices"], content["missing"]))
