"""Intervals that a device takes up from others or from the host, and intervals that it gives away.

Everything here runs on the device's own thread.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer
from ..intervals import Units
from .ivms import Ivms
from .messages import IntervalMessage

__all__ = ["Transfers"]


class Transfers:
    """Interval transfers of one device.

    Attributes
    ----------
    given : int
        Intervals given away so far.
    """

    def __init__(self, ivms: Ivms) -> None:
        self._ivms = ivms
        self._device = ivms.device
        self._shapes = ivms.shapes
        self._items = ivms.tree.items
        self._outgoing: list[IntervalMessage] = []
        self.given = 0

    def close(self) -> None:
        """Free the messages that no device has fetched."""
        for buffer in {id(message.buffer): message.buffer for message in self._outgoing}.values():
            self._device.release(buffer)
        self._outgoing.clear()

    def take(self, units: Units, messages: Sequence[IntervalMessage]) -> Units:
        """Let idle IVMs take up intervals, also of messages in memory that this device reads; returns the rest."""
        if not len(units) and not messages:
            return units
        idle = np.flatnonzero(self._device.get(self._ivms.depths, 0, self._shapes.ivms) < 0).astype(np.int32)
        left = [units[len(idle) :]]
        if len(idle) and len(units):
            packed = self._device.put(units[: len(idle)].packed())
            self._initialize(packed, idle[: len(units)])
        idle = idle[len(units) :]
        width = 2 * self._items + 1
        for message in messages:
            packed = self._device.empty(message.count * width, np.uint8)
            self._device.copy_from_peer(packed, message.buffer, 0, message.start * width, message.count * width)
            if message.count > len(idle):
                rest = self._device.get(packed, len(idle) * width)
                left.append(Units.unpacked(rest, self._items))
            self._initialize(packed, idle[: message.count])
            idle = idle[message.count :]
            message.taken = True
        return Units.joined(left)

    def _initialize(self, packed: Buffer, idle: NDArray[np.int32]) -> None:
        """Let IVMs take up the first units of a buffer, and free it."""
        if len(idle):
            targets = self._device.put(idle)
            self._ivms.initialize(packed, targets, len(idle))
            self._device.sync()
            self._device.release(targets)
        self._device.sync()
        self._device.release(packed)

    def give(self, wanted: int, peers: Sequence[bool]) -> Sequence[Units | IntervalMessage]:
        """Split at most ``wanted`` intervals off and give them away, those with open siblings nearest the root first.

        ``peers`` says of each receiver whether it can read this device's memory. One entry a receiver, or none.
        """
        ivms, shapes = self._ivms, self._shapes
        open_before = ivms.measure() if any(peers) else 0.0
        count = 0
        wanted = min(wanted, shapes.exports)
        while count < wanted:
            split = ivms.split_off(shapes.ivms + count, wanted - count)
            if not split:
                break
            count += split
        ivms.settle()
        if not count:
            return ()
        self.given += count
        share = (open_before - ivms.measure()) / len(peers) if any(peers) else 0.0
        packed = self._device.empty(count * (2 * self._items + 1), np.uint8)
        ivms.pack(packed, count, len(peers))
        self._device.sync()
        parts: list[Units | IntervalMessage] = []
        start = 0
        for index, peer in enumerate(peers):
            size = (count + len(peers) - 1 - index) // len(peers)
            message = IntervalMessage(packed, start, size, self._items, share)
            parts.append(message if peer else message.units(self._device))
            start += size
        self._outgoing += [part for part in parts if isinstance(part, IntervalMessage)]
        if not any(peers):
            self._device.release(packed)
        return parts

    def return_all(self, receivers: int) -> Sequence[Units]:
        """Give all intervals away, in parts; neighbours in the tree go to different receivers."""
        units = self._ivms.return_all()
        return [units[part::receivers] for part in range(receivers)] if len(units) else ()

    def release_delivered(self) -> None:
        """Free the messages that have arrived."""
        waiting = {id(message.buffer) for message in self._outgoing if not message.taken}
        gone = {id(p.buffer): p.buffer for p in self._outgoing if id(p.buffer) not in waiting}
        for buffer in gone.values():
            self._device.release(buffer)
        self._outgoing = [message for message in self._outgoing if id(message.buffer) in waiting]
