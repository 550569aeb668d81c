"""Copies of long vectors between devices through host memory, in pieces, so that both devices copy at once."""

from __future__ import annotations

from collections import deque
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Device, StreamEvent
from ....errors import PeerFailed

__all__ = ["StagedCopy"]

_PIECE = 1 << 19  # float64 each: copying one takes longer than passing it between threads
_ARRAYS = 4  # one being filled, one being emptied, and one waiting on either side

_Piece = tuple[NDArray[Any], int, int]


class StagedCopy:
    """A copy of one vector of float64 from one device to another.

    One device's thread calls :meth:`send`, the other's :meth:`receive`; each waits for the other. Both call :meth:`end`
    in every case, also after an error.
    """

    def __init__(self) -> None:
        self._free: SimpleQueue[NDArray[Any] | None] = SimpleQueue()
        self._filled: SimpleQueue[_Piece | None] = SimpleQueue()

    @staticmethod
    def staging(device: Device, count: int) -> list[NDArray[Any]]:
        """Staging memory of the sender for vectors of so many elements; it can be used for many copies.

        Parameters
        ----------
        device : Device
        count : int
            Elements of the longest vector.
        """
        pieces = -(-count // _PIECE)
        return [device.staging(min(count, _PIECE), np.float64) for _ in range(min(pieces, _ARRAYS))]

    def send(self, device: Device, source: Buffer, arrays: list[NDArray[Any]]) -> None:
        """Send a whole buffer, in order with the stream; returns when the receiver has the last piece, or has ended.

        Parameters
        ----------
        device : Device
            The sender.
        source : Buffer
        arrays : list of ndarray
            From :meth:`staging`.
        """
        pending: deque[tuple[StreamEvent, _Piece]] = deque()
        for array in arrays:
            self._free.put(array)
        for start in range(0, source.size, _PIECE):
            while pending and (len(pending) > 1 or self._free.empty()):
                self._pass_on(device, *pending.popleft())
            free = self._free.get()
            if free is None:
                return
            size = min(_PIECE, source.size - start)
            device.get_async(source, free[:size], start)
            pending.append((device.record_event(), (free, start, size)))
        while pending:
            self._pass_on(device, *pending.popleft())

    def _pass_on(self, device: Device, filled: StreamEvent, piece: _Piece) -> None:
        device.synchronize_event(filled)
        self._filled.put(piece)

    def receive(self, device: Device, target: Buffer, count: int) -> None:
        """Receive the first ``count`` elements of a buffer, in order with the stream; returns when they are there.

        Parameters
        ----------
        device : Device
            The receiver.
        target : Buffer
        count : int

        Raises
        ------
        engine.errors.PeerFailed
            If the sender has ended before it sent them; it raises the cause.
        """
        pending: deque[tuple[StreamEvent, NDArray[Any]]] = deque()
        missing = count
        while missing or pending:
            if pending and (not missing or len(pending) > 1 or self._filled.empty()):
                emptied, array = pending.popleft()
                device.synchronize_event(emptied)
                self._free.put(array)
                continue
            piece = self._filled.get()
            if piece is None:
                raise PeerFailed(f"{device.info.id} did not receive all of a vector from another device")
            array, start, size = piece
            device.put_async(array[:size], target, start)
            pending.append((device.record_event(), array))
            missing -= size

    def end(self) -> None:
        """End the other side's waiting, once it has received what was sent before."""
        self._free.put(None)
        self._filled.put(None)
