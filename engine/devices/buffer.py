"""What a device makes: buffers, and events of its streams."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(eq=False)
class Buffer:
    """An array that lives on a device.

    ``handle`` is the backend's own object, ``argument`` what it passes to kernels; ``shape`` and ``dtype`` describe the
    content. Offsets and counts in the device's copy methods are in elements of the flattened array.
    """

    handle: Any
    argument: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


@dataclass(frozen=True, eq=False)
class StreamEvent:
    """A point in the work of one stream of a device, from :meth:`Device.record_event`.

    ``handle`` is the backend's event, or its number among ``events``; ``idle`` is then where the number goes when
    nobody has it any more, whichever thread that is on.
    """

    handle: Any
    events: Events | None = None
    idle: deque[int] | None = None

    @property
    def native(self) -> Any:
        return self.handle if self.events is None else self.events[self]

    def __del__(self) -> None:
        if self.idle is not None:
            self.idle.append(self.handle)


class Events:
    """Events of a device, for backends whose events may be dropped on the device's thread alone.

    Marks, which other threads and the garbage collector may be the last to have, know an event by its number; an event
    that nobody has serves the next one. Only :meth:`clear` drops any.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: list[Any] = []
        self._idle: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._made)

    def __getitem__(self, event: StreamEvent) -> Any:
        return self._made[event.handle]

    def take(self) -> StreamEvent:
        """An event that nobody else has."""
        if not self._idle:
            self._made.append(self._make())
            return StreamEvent(len(self._made) - 1, self, self._idle)
        return StreamEvent(self._idle.popleft(), self, self._idle)

    def clear(self) -> None:
        """Drop every event; the events that are left stand for nothing. To be called on the device's thread."""
        self._made.clear()
        self._idle = deque()


def require_range(action: str, buffer: Buffer, start: int, count: int) -> None:
    if start < 0 or count < 0 or start + count > buffer.size:
        raise ValueError(f"{action}: {count} elements from {start} on are not within a buffer of {buffer.size}")


def require_type(action: str, buffer: Buffer, dtype: np.dtype[Any]) -> None:
    if dtype != buffer.dtype:
        raise TypeError(f"{action}: a buffer of {buffer.dtype} does not take {dtype}")
