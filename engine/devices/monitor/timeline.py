"""What devices and their host threads did and when: profiled on request, command by command.

Inside ``with profiled() as timeline`` every :class:`engine.devices.DevicePool` that is opened profiles its members. A
profiled device has a time mark put behind each command; one that is not profiled runs unchanged code. A mark costs a
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
from typing import TYPE_CHECKING, Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar

from numpy.typing import NDArray

from ..buffer import Buffer
from ..queue import CommandQueue

if TYPE_CHECKING:
    from ..device import Device
    from ..kernels.program import Kernel

MOST_COMMANDS = 200_000
"""Commands kept of a device; of a longer run, the last ones."""

CommandKind = Literal["kernel", "copy", "peer", "upload", "download", "wait"]
P = ParamSpec("P")
T = TypeVar("T")

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
def profiled(most: int = MOST_COMMANDS) -> Iterator[Timeline]:
    """Profile the devices of every pool that is opened in the ``with`` block; each fills the timeline when closed."""
    timeline = Timeline(most=most)
    token = _CURRENT.set(timeline)
    try:
        yield timeline
    finally:
        _CURRENT.reset(token)


def profiler_for(label: str) -> Profiler | None:
    """A profiler for a member of a pool that is being opened, if it is to be profiled."""
    timeline = _CURRENT.get()
    return None if timeline is None else Profiler(timeline, label)


def exchanging() -> contextlib.AbstractContextManager[None]:
    """Around what waits for the threads of other devices."""
    profiler: Profiler | None = getattr(_THREAD, "profiler", None)
    return _NOTHING if profiler is None else profiler.host("exchange")


class _Given(NamedTuple):
    """A command that was given to the device, and the mark behind it, or when the host had waited for it."""

    kind: CommandKind
    name: str
    stream: int
    nbytes: int
    at: float
    mark: Any


class Profiler:
    """Profiles one device for a timeline. Made anywhere, used on the device's thread."""

    def __init__(self, timeline: Timeline, label: str) -> None:
        self._timeline = timeline
        self._found = DeviceTimeline(label)
        timeline.devices.append(self._found)
        self._given: deque[_Given] = deque(maxlen=timeline.most)
        self._host: deque[HostSpan] = deque(maxlen=timeline.most)
        self._queue: CommandQueue | None = None

    def attach(self, device: Device) -> None:
        device.queue.start_timing()
        self._queue = device.queue
        device.queue = ProfiledQueue(device.queue, self)
        _THREAD.profiler = self

    def finish(self) -> None:
        """Take the times of all marks, before the device is closed."""
        queue, self._queue = self._queue, None
        if queue is None:
            return
        _THREAD.profiler = None
        queue.sync()
        ends: dict[int, float] = {}
        for one in self._given:
            end = one.mark if isinstance(one.mark, float) else queue.seconds_at(one.mark)
            before = ends.get(one.stream, one.at)
            begin = max(one.at, before)
            ends[one.stream] = end = max(end, before)  # the clocks of device and host are some microseconds apart
            self._found.commands.append(Command(one.kind, one.name, one.stream, min(begin, end), end, one.nbytes))
        self._found.host = sorted(self._host, key=lambda span: span.begin)
        self._given.clear()

    def task(self, begin: float) -> None:
        self._host.append(HostSpan("task", begin, time.perf_counter()))

    @contextlib.contextmanager
    def host(self, kind: HostKind) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self._host.append(HostSpan(kind, began, time.perf_counter()))

    def note(self, kind: CommandKind, name: str, nbytes: int, at: float, *, waited: bool = False) -> None:
        """A command that was given at a time and that the host has ``waited`` for or not; see :class:`Command`."""
        queue = self._queue
        if queue is not None:
            mark = time.perf_counter() if waited else queue.record_time()
            self._given.append(_Given(kind, name, queue.stream, nbytes, at, mark))


def _passed(method: Callable[Concatenate[CommandQueue, P], T]) -> Callable[Concatenate[ProfiledQueue, P], T]:
    """A method of the queue behind, as it is."""

    def call(self: ProfiledQueue, /, *args: P.args, **kwargs: P.kwargs) -> T:
        behind: Callable[P, T] = getattr(self.behind, method.__name__)
        return behind(*args, **kwargs)

    return call


def _waited(method: Callable[Concatenate[CommandQueue, P], T]) -> Callable[Concatenate[ProfiledQueue, P], T]:
    """A method that keeps the thread waiting for the device."""
    passed = _passed(method)

    def call(self: ProfiledQueue, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.profiler.host("device"):
            return passed(self, *args, **kwargs)

    return call


def _timed(
    kind: CommandKind,
    method: Callable[Concatenate[CommandQueue, P], None],
    nbytes: Callable[..., int],
    *,
    waited: bool = False,
) -> Callable[Concatenate[ProfiledQueue, P], None]:
    """A method that gives the device one command, which moves ``nbytes``."""
    passed = (_waited if waited else _passed)(method)

    def call(self: ProfiledQueue, /, *args: P.args, **kwargs: P.kwargs) -> None:
        at = time.perf_counter()
        passed(self, *args, **kwargs)
        self.profiler.note(kind, kind, nbytes(*args, **kwargs), at, waited=waited)

    return call


def _host_bytes(buffer: Buffer, host: NDArray[Any], offset: int) -> int:
    return host.nbytes


class ProfiledQueue(CommandQueue):
    """A queue that puts a time mark behind each command, those of recordings too, and notes what the host waits for."""

    def __init__(self, behind: CommandQueue, profiler: Profiler) -> None:
        super().__init__(behind.device)
        self.stream = behind.stream
        self.behind, self.profiler = behind, profiler

    zero = _timed("copy", CommandQueue.zero, lambda buffer: buffer.nbytes)
    read_async = _timed("download", CommandQueue.read_async, _host_bytes)
    write_async = _timed("upload", CommandQueue.write_async, _host_bytes)
    read = _timed("download", CommandQueue.read, _host_bytes, waited=True)
    write = _timed("upload", CommandQueue.write, _host_bytes, waited=True)
    wait_for_event = _timed("wait", CommandQueue.wait_for_event, lambda event: 0)
    synchronize_event = _waited(CommandQueue.synchronize_event)
    sync = _waited(CommandQueue.sync)
    record_event = _passed(CommandQueue.record_event)
    allocate = _passed(CommandQueue.allocate)
    free = _passed(CommandQueue.free)
    staging = _passed(CommandQueue.staging)
    release_staging = _passed(CommandQueue.release_staging)
    shared_array = _passed(CommandQueue.shared_array)
    host_views = _passed(CommandQueue.host_views)

    def launch(self, kernel: Kernel, grid: int, block: int, native: list[Any]) -> None:
        at = time.perf_counter()
        self.behind.launch(kernel, grid, block, native)
        self.profiler.note("kernel", kernel.entry, 0, at)

    def copy(
        self, target: Buffer, source: Buffer, target_offset: int, source_offset: int, nbytes: int, peer: bool = False
    ) -> None:
        at = time.perf_counter()
        kind: CommandKind = "peer" if peer else "copy"
        self.behind.copy(target, source, target_offset, source_offset, nbytes, peer)
        self.profiler.note(kind, kind, nbytes, at)

    @contextlib.contextmanager
    def library_stream(self) -> Iterator[int]:
        at = time.perf_counter()
        with self.behind.library_stream() as stream:
            yield stream
        self.profiler.note("kernel", "library", 0, at)

    def enter_stream(self, number: int) -> None:
        self.behind.enter_stream(number)
        self.stream = number
