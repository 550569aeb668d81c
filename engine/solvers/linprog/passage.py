"""Long vectors from one device to another through the host, a piece at a time, both devices copying at once."""

from __future__ import annotations

from collections import deque
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer, Device, StreamEvent
from engine.errors import DeviceError

__all__ = ["Passage"]

_PIECE = 1 << 19  # float64 each: a copy takes longer than what it costs to hand a piece on
_PLACES = 4  # one that is filled, one that is emptied, and one between them on either side

_Piece = tuple[NDArray[Any], int, int]


class Passage:
    """The way of one vector of float64 between two devices.

    One thread calls :meth:`send`, the other :meth:`receive`, each waits for the other; and both :meth:`end`, come what
    may.
    """

    def __init__(self) -> None:
        self._free: SimpleQueue[NDArray[Any] | None] = SimpleQueue()
        self._filled: SimpleQueue[_Piece | None] = SimpleQueue()

    @staticmethod
    def places(device: Device, count: int) -> list[NDArray[Any]]:
        """Staging memory of the sender for vectors of so many elements, to be kept from one passage to the next."""
        pieces = -(-count // _PIECE)
        return [device.staging(min(count, _PIECE), np.float64) for _ in range(min(pieces, _PLACES))]

    def send(self, device: Device, source: Buffer, places: list[NDArray[Any]]) -> None:
        """All of a buffer, when what the lane was given before is done; returns when the receiver has the last piece,
        or has given up."""
        under_way: deque[tuple[StreamEvent, _Piece]] = deque()
        for place in places:
            self._free.put(place)
        for start in range(0, source.size, _PIECE):
            while under_way and (len(under_way) > 1 or self._free.empty()):
                self._hand_on(device, *under_way.popleft())
            free = self._free.get()
            if free is None:
                return
            size = min(_PIECE, source.size - start)
            device.get_async(source, free[:size], start)
            under_way.append((device.record_event(), (free, start, size)))
        while under_way:
            self._hand_on(device, *under_way.popleft())

    def _hand_on(self, device: Device, filled: StreamEvent, piece: _Piece) -> None:
        device.synchronize_event(filled)
        self._filled.put(piece)

    def receive(self, device: Device, target: Buffer, count: int) -> None:
        """The first ``count`` elements of a buffer, in order with the lane; returns when they are there.

        Raises
        ------
        engine.errors.DeviceError
            If the sender has failed, which tells why itself.
        """
        under_way: deque[tuple[StreamEvent, NDArray[Any]]] = deque()
        missing = count
        while missing or under_way:
            if under_way and (not missing or len(under_way) > 1 or self._filled.empty()):
                emptied, place = under_way.popleft()
                device.synchronize_event(emptied)
                self._free.put(place)
                continue
            piece = self._filled.get()
            if piece is None:
                raise DeviceError(f"{device.info.id} was not sent all that another device had for it")
            place, start, size = piece
            device.put_async(place[:size], target, start)
            under_way.append((device.record_event(), place))
            missing -= size

    def end(self) -> None:
        """Let the other side give up, if it still waits when it has had all that came before."""
        self._free.put(None)
        self._filled.put(None)
