"""Recordings: work that is given to a device again and again, with one call.

A device whose driver has graphs plays the recording as one (CUDA: see :mod:`engine.devices.cuda.graph`); any other
gives its commands again one by one, which saves what it takes to choose and check their arguments.
"""

from __future__ import annotations

import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from ..errors import DeviceError, RecordingError
from .buffer import Buffer, StreamEvent
from .queue import CommandQueue

if TYPE_CHECKING:
    from .device import Device
    from .kernels.program import Kernel

_LOG = logging.getLogger("quintet")


class Recording(ABC):
    """Work of one or several devices, recorded by :meth:`engine.devices.Device.record` or :func:`record`.

    It holds until one of the buffers that the devices had then is released, or :meth:`drop` is called.

    Parameters
    ----------
    queues : sequence of CommandQueue
        One of each device; their present streams are those on which the recording is played.

    Attributes
    ----------
    valid : bool
        Whether it can be played.
    launches : int
        Kernels that it launches.
    """

    is_captured: ClassVar[bool] = False
    """Whether the driver takes what it is given while the recording is made, whoever gives it."""

    def __init__(self, queues: Sequence[CommandQueue]) -> None:
        self.valid, self.launches = False, 0
        self.queues = [(queue, queue.stream) for queue in queues]
        self.events: dict[StreamEvent, StreamEvent] = {}
        self._buffers: frozenset[Buffer] = frozenset()

    @property
    def label(self) -> str:
        """The devices, for messages."""
        return ", ".join(queue.device.info.id for queue, _ in self.queues)

    def play(self) -> None:
        """Give the recorded work to the devices again, in order with their other work; returns at once.

        Raises
        ------
        engine.errors.RecordingError
            If the recording does not hold any more, or another one is being made of its devices.
        engine.errors.DeviceError
            If a device has failed.
        """
        if not self.valid:
            raise RecordingError(
                f"the recording cannot be played on {self.label}: a buffer of that time has been released"
            )
        if any(queue.device.queue is not queue for queue, _ in self.queues):
            raise RecordingError(f"a recording cannot be played on {self.label} while another one is made there")
        before = [queue.stream for queue, _ in self.queues]
        for queue, stream in self.queues:
            queue.enter_stream(stream)
        try:
            self._play()
        finally:
            for (queue, _), stream in zip(self.queues, before, strict=True):
                queue.enter_stream(stream)

    def drop(self) -> None:
        """Give back what the recording holds; it cannot be played any more."""
        if self.valid:
            self.valid = False
            self._buffers = frozenset()
            self._forget()

    def uses(self, buffer: Buffer) -> bool:
        """Whether the recording may use a buffer: whether that was there already."""
        return buffer in self._buffers

    def complete(self) -> None:
        """Everything was recorded."""
        self._end()
        devices = [queue.device for queue, _ in self.queues]
        self._buffers = frozenset(buffer for device in devices for buffer in device._owned.buffers)
        for device in devices:
            device._owned.recordings.add(self)
        self.valid = True

    def begin(self) -> None:
        """The recording begins."""
        return

    @abstractmethod
    def add(self, command: Callable[[], None]) -> None:
        """One more command."""

    @abstractmethod
    def abandon(self) -> None:
        """The recording has ended with an error."""

    def _end(self) -> None:
        return

    @abstractmethod
    def _play(self) -> None: ...

    @abstractmethod
    def _forget(self) -> None: ...


class CommandList(Recording):
    """The commands themselves, which are given again one by one."""

    def __init__(self, queues: Sequence[CommandQueue]) -> None:
        super().__init__(queues)
        self._commands: list[Callable[[], None]] = []

    def add(self, command: Callable[[], None]) -> None:
        self._commands.append(command)

    def abandon(self) -> None:
        self._commands.clear()

    def _play(self) -> None:
        for command in self._commands:
            command()
        self.events.clear()

    def _forget(self) -> None:
        self._commands.clear()


def _refusing(what: str) -> Callable[..., NoReturn]:
    """A method for what needs the host, or another device."""

    def refuse(self: GraphQueue, *arguments: Any, **named: Any) -> NoReturn:
        raise RecordingError(f"{what} cannot be part of a recording on {self.device.info.id}")

    return refuse


class GraphQueue(CommandQueue):
    """A queue whose commands become part of a recording; what needs the host is refused."""

    def __init__(self, behind: CommandQueue, recording: Recording) -> None:
        super().__init__(behind.device)
        self.stream = self._entered = behind.stream
        self._behind, self._recording = behind, recording

    read = read_async = _refusing("a copy to the host")
    write = write_async = _refusing("a copy from the host")
    sync = synchronize_event = _refusing("a wait of the host")
    shared_array = host_views = _refusing("a look of the host at the memory")
    allocate = staging = _refusing("an allocation")
    free = release_staging = _refusing("the release of a buffer")

    def launch(self, kernel: Kernel, grid: int, block: int, native: list[Any]) -> None:
        self._add(self._behind.prepared(kernel, grid, block, native))
        self._recording.launches += 1

    def copy(
        self, target: Buffer, source: Buffer, target_offset: int, source_offset: int, nbytes: int, peer: bool = False
    ) -> None:
        if peer and len(self._recording.queues) == 1:
            _refusing("a copy from another device")(self)
        self._add(lambda: self._behind.copy(target, source, target_offset, source_offset, nbytes, peer))

    def zero(self, buffer: Buffer) -> None:
        self._add(lambda: self._behind.zero(buffer))

    def library_stream(self) -> contextlib.AbstractContextManager[int]:
        if not self._recording.is_captured:
            _refusing("a call of a library")(self)
        self._follow()
        return self._behind.library_stream()

    def enter_stream(self, number: int) -> None:
        self.stream = number

    def record_event(self) -> StreamEvent:
        mark, events = StreamEvent(None), self._recording.events
        events[mark] = mark  # until it is played

        def record() -> None:
            events[mark] = self._behind.record_event()

        self._add(record)
        return mark

    def wait_for_event(self, event: StreamEvent) -> None:
        events = self._recording.events
        if event not in events:
            raise RecordingError(f"a recording on {self._recording.label} waits for an event from before it")
        self._add(lambda: self._behind.wait_for_event(events[event]))

    def _add(self, command: Callable[[], None]) -> None:
        self._follow()
        self._recording.add(command)

    def _follow(self) -> None:
        """Enter the stream that has been chosen since the last command."""
        if self.stream != self._entered:
            self._entered = number = self.stream
            self._recording.add(lambda: self._behind.enter_stream(number))


@contextlib.contextmanager
def record(*devices: Device) -> Iterator[Recording]:
    """Record the work given inside the ``with`` to devices of one thread, which may wait for each other's events."""
    for device in devices:
        if isinstance(device.queue, GraphQueue):
            raise RecordingError(f"{device.info.id} is recording already, and recordings do not nest")
    queues = [device.queue for device in devices]
    recording = queues[0].new_recording() if len(queues) == 1 else CommandList(queues)
    try:
        recording.begin()
        for device, queue in zip(devices, queues, strict=True):
            device.queue = GraphQueue(queue, recording)
        yield recording
    except BaseException:
        recording.abandon()
        raise
    finally:
        for device, (queue, stream) in zip(devices, recording.queues, strict=True):
            device.queue = queue
            queue.enter_stream(stream)
    recording.complete()


class RecordingSet:
    """The recordings of a device that hold."""

    def __init__(self) -> None:
        self._held: set[Recording] = set()

    def add(self, recording: Recording) -> None:
        self._held.add(recording)

    def drop(self, buffer: Buffer | None = None) -> None:
        """Drop those that may use a buffer, or all, before the buffer is freed or the device closed."""
        for recording in list(self._held):
            if buffer is None or recording.uses(buffer):
                recording.drop()
        self._held = {recording for recording in self._held if recording.valid}


class Recordings:
    """Pieces of work that are done often: recorded when they are done for the second time, then played.

    The first time compiles kernels and takes scratch memory, which have no place in a recording. Where a device refuses
    to record, a line of the log says so, and the work is submitted at once.

    Parameters
    ----------
    device : Device
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._done: set[Hashable] = set()
        self._found: dict[Hashable, Recording] = {}
        self.refused = False

    def run(self, key: Hashable, work: Callable[[], None]) -> None:
        """Do the work, or play what was recorded of it.

        Parameters
        ----------
        key : hashable
            Names everything that the work depends on and that may be different the next time.
        work : callable
            Gives commands to the device, the same ones every time for a key; it does nothing else.
        """
        found = self._found.get(key)
        if found is None or not found.valid:
            found = self._recorded(key, work)
        if found is None:
            work()
        else:
            found.play()

    def _recorded(self, key: Hashable, work: Callable[[], None]) -> Recording | None:
        if self.refused or key not in self._done:
            self._done.add(key)
            return None
        try:
            with self._device.record() as recording:
                work()
        except DeviceError as error:  # a device that has failed says so again when it is given the work itself
            self.refused = True
            _LOG.warning(
                f"{self._device.info.id} is given its work launch by launch, for it cannot be recorded: {error}"
            )
            return None
        self._found[key] = recording
        return recording

    def forget(self) -> None:
        """Drop all recordings: something has changed that the keys do not name."""
        for recording in self._found.values():
            recording.drop()
        self._found.clear()
        self._done.clear()
