"""Work in several launches, so that a run ends soon after it is to end, where one launch would take long."""

import time
from collections.abc import Callable

from ....devices import Device
from ....devices.pool.slices import SliceLength

_AT_ONCE = {True: 2**33, False: 2**24}
"""Steps of a kernel that GPUs, and other devices, do in a tenth of a second or less."""


class Parts:
    """Launches over a range of items; between them it is asked whether the run is to end.

    An item takes so many ``steps`` (additions or look-ups); parts are multiples of ``unit``, of at most ``most`` items.
    """

    def __init__(
        self, device: Device, steps: float, interrupted: Callable[[], bool], unit: int = 1, most: int | None = None
    ) -> None:
        self._device, self._interrupted, self._unit = device, interrupted, unit
        self._at_once = int(_AT_ONCE[device.capabilities.simt] / max(1.0, steps))
        self._most = float("inf") if most is None else most
        self._length = SliceLength(start=max(unit, self._at_once // 4), least=unit)

    def launch(self, launch: Callable[[int, int], None], first: int, last: int) -> int:
        """Call ``launch`` with one part after the other; where that ended, which is before ``last`` if interrupted."""
        together = last - first <= self._at_once
        while first < last:
            count = last - first if together else max(self._unit, self._length.amount // self._unit * self._unit)
            end = int(min(first + count, first + self._most, last))
            began = time.perf_counter()
            launch(first, end)
            if not together:
                self._device.sync()
                self._length.took(time.perf_counter() - began, end - first)
                if end < last and self._interrupted():
                    return end
            first = end
        return last
