"""How devices let each other have what each has made a part of: straight from device to device, or by the host.

Every device adds up the same numbers in the same order from there on, so that all have the same.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer, Device, StreamEvent
from engine.numerics.memory import Memory

__all__ = ["Exchange", "Part", "Party"]


class Exchange:
    """Where the devices of a run meet, on the host: each leaves something and takes what all have left.

    Parameters
    ----------
    parties : int
        How many devices there are.
    direct : bool
        Whether they read each other's memory (:meth:`engine.devices.DevicePool.enable_peers`); then nobody waits for a
        device at a meeting, only for its thread.
    """

    def __init__(self, parties: int, direct: bool) -> None:
        self.parties, self.direct = parties, direct
        self._barrier = threading.Barrier(self.parties)
        self._rooms: list[list[Any]] = [[None] * self.parties for _ in range(2)]
        self._turns = [0] * self.parties

    def meet(self, party: int, thing: Any) -> list[Any]:
        """What every party has left, in their order."""
        room = self._rooms[self._turns[party] % 2]  # that of the meeting before may still be read
        self._turns[party] += 1
        room[party] = thing
        self._barrier.wait()
        return list(room)

    def abort(self) -> None:
        """Let nobody wait for a device that has failed."""
        self._barrier.abort()


@dataclass(frozen=True)
class Part:
    """Elements [first, last) of a buffer that every device has one of: those that this device has made."""

    buffer: Buffer
    first: int
    last: int

    @property
    def count(self) -> int:
        """How many elements."""
        return self.last - self.first


@dataclass(frozen=True)
class _Left:
    """What a party leaves at a meeting: ranges, and their values, on the host or in an outbox behind a mark."""

    ranges: list[tuple[int, int]]
    values: NDArray[np.float64] | None = None
    device: Device | None = None
    outbox: Buffer | None = None
    mark: StreamEvent | None = None


class Party:
    """One device's side of an exchange; made and used on its thread.

    ``most`` is how many float64 of its own it leaves at a meeting. It leaves them in two outboxes in turn: when it
    comes to fill one again it has taken marks, at the meeting between, behind which everyone has read that one.
    """

    def __init__(self, memory: Memory, exchange: Exchange, number: int, most: int) -> None:
        self._device, self._exchange, self.number = memory.device, exchange, number
        self._outboxes = [memory.empty(most) for _ in range(2)] if exchange.direct else []
        self._turn = 0

    @property
    def parties(self) -> int:
        """How many devices there are."""
        return self._exchange.parties

    def swap(self, *parts: Part) -> None:
        """Fill each buffer with what the other devices have made of theirs."""
        mine = self._leave(parts)
        for party, left in enumerate(self._exchange.meet(self.number, mine)):
            if party != self.number:
                self._take(parts, left)

    def _leave(self, parts: Sequence[Part]) -> _Left:
        device, ranges = self._device, [(part.first, part.count) for part in parts]
        if not self._outboxes:
            values = [device.get(part.buffer, part.first, part.count).reshape(-1) for part in parts]
            return _Left(ranges, np.concatenate(values))
        self._turn = 1 - self._turn
        outbox, at = self._outboxes[self._turn], 0
        for part in parts:
            device.copy(outbox, part.buffer, at, part.first, part.count)
            at += part.count
        return _Left(ranges, None, device, outbox, device.record_event())

    def _take(self, parts: Sequence[Part], left: _Left) -> None:
        device, at = self._device, 0
        if left.mark is not None and left.device is not None:
            device.wait_for_peer_event(left.mark, left.device)
        for part, (first, count) in zip(parts, left.ranges, strict=True):
            if left.values is not None:
                device.put(left.values[at : at + count], part.buffer, first)
            elif left.outbox is not None and count:
                device.copy_from_peer(part.buffer, left.outbox, first, at, count)
            at += count
