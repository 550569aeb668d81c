"""All-gather between the devices of a run: each device makes a part of a buffer and receives the others' parts.

Parts are copied from device to device where the devices read each other's memory, else through the host. From there on
every device adds up the same numbers in the same order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..devices import Buffer, StreamEvent
from ..devices.pool.group import Communicator
from .memory import Memory


@dataclass(frozen=True)
class Part:
    """Elements [first, last) of a buffer that every device has one of: those that this device has made."""

    buffer: Buffer
    first: int
    last: int

    @property
    def count(self) -> int:
        return self.last - self.first


@dataclass(frozen=True)
class _Message:
    """What a device leaves: ranges, and their values, on the host or in an outbox behind an event."""

    ranges: list[tuple[int, int]]
    values: list[NDArray[Any]] | None = None
    outbox: Buffer | None = None
    event: StreamEvent | None = None


class Peer:
    """One device's side of the exchange; made and used on its thread.

    ``communicator``: of the threads of all devices; ``number``: this device's number; ``direct``: whether the devices
    read each other's memory (:meth:`engine.devices.DevicePool.enable_peers`); then no thread waits for another's
    device, only for its thread; ``most``: how many elements of its own the device leaves at a time, by type. They are
    left in two outboxes of the type in turn: when one is filled again, events have been received, in the call between,
    behind which every device has read it.
    """

    def __init__(
        self, memory: Memory, communicator: Communicator, number: int, direct: bool, most: dict[Any, int]
    ) -> None:
        self._device, self._communicator, self.number, self._direct = memory.device, communicator, number, direct
        self._outboxes = {
            np.dtype(dtype): [memory.empty(count, dtype) for _ in range(2)] if direct else []
            for dtype, count in most.items()
        }
        self._turn = dict.fromkeys(self._outboxes, 0)
        self.exchanged_bytes = 0

    @property
    def count(self) -> int:
        return self._communicator.size

    def exchange(self, *parts: Part) -> None:
        """Fill each buffer with what the other devices have made of theirs; an outbox takes the parts of one type."""
        for dtype in dict.fromkeys(part.buffer.dtype for part in parts):
            alike = [part for part in parts if part.buffer.dtype == dtype]
            mine = self._leave(alike)
            for number, message in enumerate(self._communicator.all_gather(self.number, mine)):
                if number != self.number:
                    self._take(alike, message)

    def largest(self, value: float) -> float:
        """The largest of the devices' values; all threads wait for each other."""
        return float(max(self._communicator.all_gather(self.number, value)))

    def _leave(self, parts: Sequence[Part]) -> _Message:
        device, ranges = self._device, [(part.first, part.count) for part in parts]
        if not self._direct:
            return _Message(ranges, [device.get(part.buffer, part.first, part.count).reshape(-1) for part in parts])
        dtype = parts[0].buffer.dtype
        self._turn[dtype] = 1 - self._turn[dtype]
        outbox, at = self._outboxes[dtype][self._turn[dtype]], 0
        for part in parts:
            device.copy(outbox, part.buffer, at, part.first, part.count)
            at += part.count
        return _Message(ranges, None, outbox, device.record_event())

    def _take(self, parts: Sequence[Part], message: _Message) -> None:
        device, at = self._device, 0
        if message.event is not None:
            device.wait_for_event(message.event)
        for place, (part, (first, count)) in enumerate(zip(parts, message.ranges, strict=True)):
            if message.values is not None:
                device.put(message.values[place], part.buffer, first)
            elif message.outbox is not None and count:
                device.copy_from_peer(part.buffer, message.outbox, first, at, count)
            at += count
            self.exchanged_bytes += count * part.buffer.dtype.itemsize
