"""Messages between a run and the process that works it, on this machine or another.

A message is a line of JSON, which may declare arrays whose bytes follow it. Events are the lines that ``--events -``
prints; the requests ``pause``, ``resume`` and ``stop`` are words, as those that a command reads from standard input. To
the other process goes ``begin`` with the whole question; from it come events, ``checkpoint``, ``alive`` at most once a
second, ``left`` if the solver has not returned, and at last ``result`` or ``error``.
"""

import json
import math
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..folder.storage import plain

FORMAT = 2
"""Of the messages; both sides need the same."""

_LONGEST_LINE = 1 << 28


class Message(NamedTuple):
    """``content`` is an event, or has the message's name under ``"message"``; ``arrays`` are those that it declares."""

    content: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    @property
    def name(self) -> str:
        """What it is; ``"event"`` for an event."""
        return str(self.content.get("message", "event"))


def write(stream: IO[bytes], content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]] | None = None) -> None:
    """Write a message, and flush."""
    given = {name: np.asarray(array, order="C") for name, array in (arrays or {}).items()}
    declared = {name: [array.dtype.str, array.shape] for name, array in given.items()}
    line = json.dumps({**content, "arrays": declared}, default=plain)
    stream.write(line.encode() + b"\n")
    for array in given.values():
        stream.write(array.reshape(-1).view(np.uint8).data)
    stream.flush()


def read(stream: IO[bytes]) -> Message:
    """The next message; lines that are none, such as the greeting of a shell, are skipped."""
    while line := stream.readline(_LONGEST_LINE):
        try:
            content = json.loads(line)
        except ValueError:
            continue
        if isinstance(content, dict) and ("message" in content or "type" in content):
            arrays = {name: _array(stream, *about) for name, about in content.pop("arrays", {}).items()}
            return Message(content, arrays)
    raise EOFError


def _array(stream: IO[bytes], dtype: str, shape: list[int]) -> NDArray[Any]:
    kind = np.dtype(dtype)
    if kind.kind not in "biufU":
        raise ValueError(f"an array of {kind} was sent")
    data = bytearray(math.prod(shape) * kind.itemsize)
    at = memoryview(data)
    while at.nbytes:
        count = stream.readinto(at)  # type: ignore[attr-defined]
        if not count:
            raise EOFError
        at = at[count:]
    return np.frombuffer(data, kind).reshape(shape)
