"""Intervals that come to a device from others, and that it gives away.

Everything here runs on the device's own thread.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer
from engine.solvers.branch_and_bound.intervals import Units
from engine.solvers.branch_and_bound.ivms import Ivms
from engine.solvers.branch_and_bound.turns import Parcel

__all__ = ["Exchange"]

_THIEVES, _BY_LEVEL = 3, 8


class Exchange:
    """The door of one device's IVMs.

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
        self._outgoing: list[Parcel] = []
        self.given = 0

    def release(self) -> None:
        """Give the memory of parcels back that nobody has fetched."""
        for buffer in {id(parcel.buffer): parcel.buffer for parcel in self._outgoing}.values():
            self._device.release(buffer)
        self._outgoing.clear()

    def take(self, units: Units, parcels: Sequence[Parcel]) -> Units:
        """Let idle IVMs take up intervals; returns those left over."""
        if not len(units) and not parcels:
            return units
        idle = np.flatnonzero(self._device.get(self._ivms.depths, 0, self._shapes.ivms) < 0).astype(np.int32)
        left = [units[len(idle) :]]
        if len(idle) and len(units):
            packed = self._device.put(units[: len(idle)].packed())
            self._initialize(packed, idle[: len(units)])
        idle = idle[len(units) :]
        width = 2 * self._items + 1
        for parcel in parcels:
            packed = self._device.empty(parcel.count * width, np.uint8)
            self._device.copy_from_peer(packed, parcel.buffer, 0, parcel.start * width, parcel.count * width)
            if parcel.count > len(idle):
                rest = self._device.get(packed, len(idle) * width)
                left.append(Units.unpacked(rest, self._items))
            self._initialize(packed, idle[: parcel.count])
            idle = idle[parcel.count :]
            parcel.taken = True
        return Units.joined(left)

    def _initialize(self, packed: Buffer, idle: NDArray[np.int32]) -> None:
        """Let IVMs take up the first units of a buffer, and give it back."""
        if len(idle):
            targets = self._device.put(idle)
            self._ivms.initialize(packed, targets, len(idle))
            self._device.sync()
            self._device.release(targets)
        self._device.sync()
        self._device.release(packed)

    def give(self, wanted: int, peers: Sequence[bool]) -> Sequence[Units | Parcel]:
        """Split intervals off and take them away, the largest first as far as open siblings tell.

        ``peers`` has an entry a receiver: whether it can read this device's memory.
        """
        ivms, shapes = self._ivms, self._shapes
        open_before = ivms.measure() if any(peers) else 0.0
        count = 0
        wanted = min(wanted, shapes.exports)
        while count < wanted:
            split = self._split_off(shapes.ivms + count, wanted - count)
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
        parts: list[Units | Parcel] = []
        start = 0
        for index, peer in enumerate(peers):
            size = (count + len(peers) - 1 - index) // len(peers)
            parcel = Parcel(packed, start, size, self._items, share)
            parts.append(parcel if peer else parcel.units(self._device))
            start += size
        self._outgoing += [part for part in parts if isinstance(part, Parcel)]
        if not any(peers):
            self._device.release(packed)
        return parts

    def surrender(self, receivers: int) -> Sequence[Units]:
        """Take everything away, in parts of which neighbours in the tree go to different receivers."""
        units = self._ivms.surrender()
        return [units[part::receivers] for part in range(receivers)] if len(units) else ()

    def _split_off(self, slot: int, most: int) -> int:
        """Give the upper half of the siblings of up to ``most`` IVMs to the slots from ``slot`` on; how many did."""
        ivms = self._ivms
        ivms.settle()
        self._device.put(np.arange(slot, slot + most, dtype=np.int32), ivms.thieves)
        self._device.put(np.array([most], np.int32), ivms.control, _THIEVES)
        ivms.steal_siblings(most, collect=False)
        return min(most, int(self._device.get(ivms.control, _BY_LEVEL, max(self._items - 2, 1)).sum()))

    def forget_outgoing(self) -> None:
        """Give back the memory of parcels that have arrived."""
        waiting = {id(parcel.buffer) for parcel in self._outgoing if not parcel.taken}
        gone = {id(p.buffer): p.buffer for p in self._outgoing if id(p.buffer) not in waiting}
        for buffer in gone.values():
            self._device.release(buffer)
        self._outgoing = [parcel for parcel in self._outgoing if id(parcel.buffer) in waiting]
