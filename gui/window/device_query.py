"""The devices of this computer or of another host, as ``quintet devices --json`` lists them."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal

from gui.runs.child import JsonQuery


class DeviceQuery(JsonQuery):
    """Lists devices: ``found(devices, missing)``, or ``failed(message)``, once."""

    found = Signal(list, dict)

    def __init__(self, words: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(words, _listed, "the device list cannot be read", parent)
        self.answered.connect(lambda listed: self.found.emit(*listed))


def _listed(content: Any) -> tuple[list[Any], dict[str, str]]:
    return list(content["devices"]), dict(content["missing"])
