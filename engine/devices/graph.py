"""Recordings: work that is given to a device again and again, with one call.

A device whose driver has graphs plays the recording as one (CUDA: see :mod:`engine.devices.cuda.graph`); any other
gives its commands again one by one, which saves what it takes to choose and check their arguments.
"""

from __future__ import annotations

import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, cast

from ..errors import DeviceError, RecordingError
from .buffer import Buffer, StreamEvent

if TYPE_CHECKING:
    from .device import Device
    from .kernels.program import Kernel

__all__ = ["CommandList", "Recording", "RecordingMethods", "RecordingSet", "Recordings"]

_LOG = logging.getLogger("quintet")

_REFUSED = {
    "sync": "a wait of the host",
    "synchronize_event": "a wait of the host",
    "_read": "a copy to the host",
    "_write": "a copy from the host",
    "_read_async": "a copy to the host",
    "_write_async": "a copy from the host",
    "host_views": "a look of the host at the memory",
    "shared_array": "a look of the host at the memory",
    "_allocate": "an allocation",
    "release": "the release of a buffer",
    "staging": "an allocation",
    "copy_from_peer": "a copy from another device",
    "wait_for_peer_event": "a wait for another device",
    "record_time": "a time mark",
}
"""Methods of a device that have no place in a recording, and what they are."""


class Recording(ABC):
    """Work of a device, recorded by :meth:`engine.devices.Device.record`.

    It holds until one of the buffers that the device had then is released, or :meth:`drop` is called.

    Parameters
    ----------
    device : Device
        Its present stream is the one on which the recording is played.

    Attributes
    ----------
    valid : bool
        Whether it can be played.
    launches : int
        Kernels that it launches.
    """

    def __init__(self, device: Device) -> None:
        self.valid, self.launches = False, 0
        self._device, self._stream = device, device.stream_number
        self._buffers: frozenset[Buffer] = frozenset()

    def play(self) -> None:
        """Give the recorded work to the device again, in order with the other work; returns at once.

        Raises
        ------
        engine.errors.RecordingError
            If the recording does not hold any more.
        engine.errors.DeviceError
            If the device has failed.
        """
        if not self.valid:
            raise RecordingError(
                f"the recording cannot be played on {self._device.info.id}: a buffer of that time has been released"
            )
        self._play()

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
        self._buffers = frozenset(self._device._owned.buffers)
        self._device._owned.recordings.add(self)
        self.valid = True

    def methods(self) -> dict[str, Callable[..., Any]]:
        """What takes the place of methods of the device during the recording."""
        return {}

    @abstractmethod
    def begin(self) -> None:
        """The recording begins."""

    @abstractmethod
    def abandon(self) -> None:
        """The recording has ended with an error."""

    @abstractmethod
    def _end(self) -> None: ...

    @abstractmethod
    def _play(self) -> None: ...

    @abstractmethod
    def _forget(self) -> None: ...


class CommandList(Recording):
    """The commands themselves, which are given again one by one."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._commands: list[Callable[[], None]] = []
        self._events: list[StreamEvent] = []
        self._marks: dict[StreamEvent, int] = {}
        self._on = self._stream

    def begin(self) -> None:
        """Nothing to prepare."""

    def abandon(self) -> None:
        """Keep nothing."""
        self._commands.clear()

    def methods(self) -> dict[str, Callable[..., Any]]:
        """What notes the commands."""
        device = self._device

        def launch(kernel: Any, grid: int, block: int, native: list[Any]) -> None:
            self._note(device.prepared(kernel, grid, block, native))
            self.launches += 1

        def zero(buffer: Buffer) -> None:
            self._note(lambda: device.zero(buffer))

        def copy(*arguments: Any) -> None:
            self._note(lambda: device._copy(*arguments))

        def record_event() -> StreamEvent:
            mark, number = StreamEvent(None), len(self._marks)
            self._marks[mark] = number
            self._note(lambda: self._events.append(device.record_event()))
            return mark

        def wait_for_event(event: StreamEvent) -> None:
            if event not in self._marks:
                raise RecordingError(f"a recording on {device.info.id} waits for an event from before it")
            number = self._marks[event]
            self._note(lambda: device.wait_for_event(self._events[number]))

        return {
            "_launch": launch,
            "zero": zero,
            "_copy": copy,
            "record_event": record_event,
            "wait_for_event": wait_for_event,
            "_enter_stream": lambda number: None,
        }

    def _note(self, command: Callable[[], None]) -> None:
        number = self._device.stream_number
        if number != self._on:
            self._on = number
            self._commands.append(lambda: self._enter(number))
        self._commands.append(command)

    def _enter(self, number: int) -> None:
        self._device._stream_number = number
        self._device._enter_stream(number)

    def _end(self) -> None:
        self._marks.clear()

    def _play(self) -> None:
        before = self._device.stream_number
        if before != self._stream:
            self._enter(self._stream)
        try:
            for command in self._commands:
                command()
        finally:
            self._events.clear()
            if self._device.stream_number != before:
                self._enter(before)

    def _forget(self) -> None:
        self._commands.clear()


class RecordingSet:
    """The recordings of a device that hold."""

    def __init__(self) -> None:
        self._held: set[Recording] = set()

    def add(self, recording: Recording) -> None:
        """One more."""
        self._held.add(recording)

    def drop(self, buffer: Buffer | None = None) -> None:
        """Drop those that may use a buffer, or all, before the buffer is freed or the device closed."""
        for recording in list(self._held):
            if buffer is None or recording.uses(buffer):
                recording.drop()
        self._held = {recording for recording in self._held if recording.valid}


class RecordingMethods:
    """The part of :class:`engine.devices.Device` that records work."""

    recording: Recording | None = None
    """What the work is recorded in at present."""

    @contextlib.contextmanager
    def record(self) -> Iterator[Recording]:
        """Record the work given inside the ``with``; it is done by every :meth:`Recording.play`, and not now.

        ::

            with device.record() as recording:
                advance(...)                        # launches, copies on the device, zeros; several streams and events
            for step in range(1000):
                recording.play()

        What changes from one time to the next must be in buffers. Every stream that is used must first wait for an
        event of the present one, which must wait for all of them at the end; kernels must have been launched before.

        Raises
        ------
        engine.errors.RecordingError
            If the host waits, copies from or to the device, or allocates inside the ``with``, or the driver refuses.
        """
        device = cast("Device", self)
        if self.recording is not None:
            raise RecordingError(f"{device.info.id} is recording already, and recordings do not nest")
        recording = self.recording = self._new_recording()
        try:
            recording.begin()
            with _replaced(device, {**_refusals(device), **recording.methods()}):
                yield recording
        except BaseException:
            recording.abandon()
            raise
        finally:
            self.recording = None
        recording.complete()

    def _new_recording(self) -> Recording:
        return CommandList(cast("Device", self))

    def prepared(self, kernel: Kernel, grid: int, block: int, native: list[Any]) -> Callable[[], None]:
        """A launch that is done again and again, for recordings.

        Parameters
        ----------
        kernel : Kernel
        grid, block : int
        native : list
            Its arguments as the backend takes them.
        """
        device = cast("Device", self)
        return lambda: device._launch(kernel, grid, block, native)


@contextlib.contextmanager
def _replaced(device: Device, methods: dict[str, Callable[..., Any]]) -> Iterator[None]:
    """Methods of the device's own in place of its class's, or of those that it has."""
    own = vars(device)
    before = {name: own[name] for name in methods if name in own}
    own.update(methods)
    try:
        yield
    finally:
        for name in methods:
            del own[name]
        own.update(before)


def _refusals(device: Device) -> dict[str, Callable[..., Any]]:
    return {name: _refusing(device, what) for name, what in _REFUSED.items()}


def _refusing(device: Device, what: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **named: Any) -> Any:
        raise RecordingError(f"{what} cannot be part of a recording on {device.info.id}")

    return refuse


class Recordings:
    """Pieces of work that are done often: recorded when they are done for the second time, then played.

    The first time compiles kernels and takes scratch memory, which have no place in a recording. Where a device refuses
    to record, a line of the log says so, and the work is given to it as ever.

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
