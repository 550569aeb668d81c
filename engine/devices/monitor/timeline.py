"""What devices and their host threads did and when: recorded on request, command by command.

Inside ``with recorded() as timeline`` every :class:`engine.devices.DevicePool` that is opened records its members. A
recorded device has a time mark put behind each command; one that is not recorded runs unchanged code. A mark costs a
few microseconds of the host, so durations of runs are measured without it.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from ..device import Device

__all__ = ["Command", "DeviceTimeline", "HostSpan", "Recorder", "Timeline", "exchanging", "recorded", "recorder_for"]

MOST_COMMANDS = 200_000
"""Commands kept of a device; of a longer run, the last ones."""

CommandKind = Literal["kernel", "copy", "peer", "upload", "download", "wait"]
HostKind = Literal["task", "device", "exchange"]


class Command(NamedTuple):
    """A command of a device; times are seconds of the host's ``perf_counter``.

    ``kind`` is what it does: ``copy`` within the device, ``peer`` from another device, ``upload`` and ``download``
    from and to the host; ``wait`` for another stream or device. ``begin`` is when the device could begin it: when it
    was given, or when the command before it on its stream had ended.
    """

    kind: CommandKind
    name: str
    stream: int
    begin: float
    end: float
    nbytes: int = 0


class HostSpan(NamedTuple):
    """What a device's host thread did: a ``task``, and in it waits for its ``device`` or for an ``exchange``."""

    kind: HostKind
    begin: float
    end: float


@dataclass
class DeviceTimeline:
    """What was recorded of one member of a pool."""

    label: str
    commands: list[Command] = field(default_factory=list)
    host: list[HostSpan] = field(default_factory=list)


@dataclass
class Timeline:
    """The members of the pools that were open meanwhile; complete when these are closed."""

    devices: list[DeviceTimeline] = field(default_factory=list)
    most: int = MOST_COMMANDS


_CURRENT: ContextVar[Timeline | None] = ContextVar("timeline", default=None)
_THREAD = threading.local()
_NOTHING = contextlib.nullcontext()


@contextlib.contextmanager
def recorded(most: int = MOST_COMMANDS) -> Iterator[Timeline]:
    """Record the devices of every pool that is opened in the ``with`` block.

    Parameters
    ----------
    most : int
        Commands kept of a device, the last ones.

    Yields
    ------
    Timeline
        Filled in by each pool when it is closed.
    """
    timeline = Timeline(most=most)
    token = _CURRENT.set(timeline)
    try:
        yield timeline
    finally:
        _CURRENT.reset(token)


def recorder_for(label: str) -> Recorder | None:
    """A recorder for a member of a pool that is being opened, if it is to be recorded."""
    timeline = _CURRENT.get()
    return None if timeline is None else Recorder(timeline, label)


def exchanging() -> contextlib.AbstractContextManager[None]:
    """Around what waits for the threads of other devices."""
    recorder: Recorder | None = getattr(_THREAD, "recorder", None)
    return _NOTHING if recorder is None else recorder.host("exchange")


class _Given(NamedTuple):
    """A command that was given to the device, and the mark behind it, or when the host had waited for it."""

    kind: CommandKind
    name: str
    stream: int
    nbytes: int
    at: float
    mark: Any


class Recorder:
    """Records one device. Made anywhere, used on the device's thread.

    Parameters
    ----------
    timeline : Timeline
        Takes what was recorded, in :meth:`finish`.
    label : str
        Of the member.
    """

    def __init__(self, timeline: Timeline, label: str) -> None:
        self._timeline = timeline
        self._found = DeviceTimeline(label)
        timeline.devices.append(self._found)
        self._given: deque[_Given] = deque(maxlen=timeline.most)
        self._host: deque[HostSpan] = deque(maxlen=timeline.most)
        self._device: Device | None = None
        self._inside = False

    def attach(self, device: Device) -> None:
        """Record a device that has just been opened, by methods of its own in place of its class's."""
        self._device = device
        device.start_timing()
        device.is_timed = True
        _THREAD.recorder = self
        own: Any = device
        for name, kind, size in _COPIES:
            setattr(own, name, self._command(getattr(device, name), kind, size))
        for name in (*_BLOCKING, "sync", "synchronize_event"):
            setattr(own, name, self._waiting(getattr(device, name)))
        own._launch = self._launching(device._launch)
        device.on_library_call = lambda: self._note("kernel", "library", 0, self._last_given())

    def finish(self) -> None:
        """Take the times of all marks, before the device is closed."""
        device = self._device
        if device is None:
            return
        self._device = _THREAD.recorder = None
        type(device).sync(device)
        ends: dict[int, float] = {}
        for one in self._given:
            end = one.mark if isinstance(one.mark, float) else device.seconds_at(one.mark)
            before = ends.get(one.stream, one.at)
            begin = max(one.at, before)
            ends[one.stream] = end = max(end, before)  # the clocks of device and host are some microseconds apart
            self._found.commands.append(Command(one.kind, one.name, one.stream, min(begin, end), end, one.nbytes))
        self._found.host = sorted(self._host, key=lambda span: span.begin)
        self._given.clear()

    def task(self, begin: float) -> None:
        """A task of the thread, which has just ended."""
        self._host.append(HostSpan("task", begin, time.perf_counter()))

    @contextlib.contextmanager
    def host(self, kind: HostKind) -> Iterator[None]:
        """Record the time that the thread spends in the ``with`` block."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._host.append(HostSpan(kind, began, time.perf_counter()))

    def _last_given(self) -> float:
        return self._given[-1].at if self._given else time.perf_counter()

    def _note(self, kind: CommandKind, name: str, nbytes: int, at: float, *, waited: bool = False) -> None:
        device = self._device
        if device is not None:
            mark = time.perf_counter() if waited else device.record_time()
            self._given.append(_Given(kind, name, device.stream_number, nbytes, at, mark))

    def _command(self, method: Callable[..., None], kind: CommandKind, size: Callable[..., int]) -> Callable[..., None]:
        """A method that gives the device one command, recorded unless it is part of one that is recorded."""

        def call(*arguments: Any) -> None:
            if self._inside:
                method(*arguments)
                return
            self._inside = True
            at = time.perf_counter()
            try:
                method(*arguments)
                self._note(kind, kind, size(*arguments), at, waited=method.__name__ in _BLOCKING)
            finally:
                self._inside = False

        return call

    def _waiting(self, method: Callable[..., None]) -> Callable[..., None]:
        """A method that keeps the thread waiting for the device."""

        def call(*arguments: Any) -> None:
            with self.host("device"):
                method(*arguments)

        return call

    def _launching(self, method: Callable[..., None]) -> Callable[..., None]:
        def launch(kernel: Any, grid: int, block: int, native: list[Any]) -> None:
            at = time.perf_counter()
            method(kernel, grid, block, native)
            self._note("kernel", kernel.entry, 0, at)

        return launch


_BLOCKING = ("_write", "_read")
"""Copies that the host waits for."""

_COPIES: tuple[tuple[str, CommandKind, Callable[..., int]], ...] = (
    ("_copy", "copy", lambda target, source, to, start, nbytes: nbytes),
    ("zero", "copy", lambda buffer: buffer.nbytes),
    ("copy_from_peer", "peer", lambda target, source, to, start, count: count * source.dtype.itemsize),
    ("_read", "download", lambda source, out, offset: out.nbytes),
    ("_read_async", "download", lambda source, out, offset: out.nbytes),
    ("_write", "upload", lambda target, host, offset: host.nbytes),
    ("_write_async", "upload", lambda target, host, offset: host.nbytes),
    ("wait_for_event", "wait", lambda event: 0),
    ("wait_for_peer_event", "wait", lambda event, peer: 0),
)
"""Methods of a device that give it a command other than a launch, and how many bytes each moves."""
