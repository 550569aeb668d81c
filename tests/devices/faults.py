"""Devices that fail in the middle of a run, for tests of every solver."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from engine.devices import Device
from engine.errors import DeviceError

__all__ = ["failing"]


def _backends(base: type[Device] = Device) -> Iterator[type[Device]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _backends(kind)


@contextlib.contextmanager
def failing(
    label: str,
    *,
    at_launch: int | None = None,
    at_allocation: int | None = None,
    error: Callable[[], Exception] = lambda: DeviceError("the device has fallen off the bus"),
) -> Iterator[list[int]]:
    """While inside, the k-th launch (or allocation) of one member of a pool fails, and everything after it too.

    Parameters
    ----------
    label : str
        The member's label: ``"opencl:0"``, or ``"opencl:0#2"`` if the device is listed twice.
    at_launch, at_allocation : int, optional
        Which one fails first, counted from 1 when the context begins.
    error : callable
        Makes the exception.

    Yields
    ------
    list of int
        Its one number counts how often the device has failed; a test asserts that it is not 0.
    """
    thread, failures = f"quintet-{label}_", [0]
    counts = {"_launch": 0, "_allocate": 0}
    limits = {"_launch": at_launch, "_allocate": at_allocation}
    broken = threading.Event()
    originals: list[tuple[type[Device], str, Any]] = []

    def replaced(name: str, original: Any) -> Any:
        def method(self: Device, *arguments: Any) -> Any:
            if threading.current_thread().name.startswith(thread):
                counts[name] += 1
                limit = limits[name]
                if broken.is_set() or (limit is not None and counts[name] >= limit):
                    broken.set()
                    failures[0] += 1
                    raise error()
            return original(self, *arguments)

        return method

    for kind in list(_backends()):
        for name in limits:
            if name in vars(kind):
                originals.append((kind, name, vars(kind)[name]))
                setattr(kind, name, replaced(name, vars(kind)[name]))
    try:
        yield failures
    finally:
        for kind, name, original in originals:
            setattr(kind, name, original)
