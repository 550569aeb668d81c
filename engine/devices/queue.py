"""The queue that a device's work is given to, and what a backend implements of it.

A backend has one class of queue. Two others stand in front of a queue and have the same methods: ``GraphQueue``
(:mod:`engine.devices.graph`) keeps the commands for later, ``ProfiledQueue`` (:mod:`engine.devices.monitor.timeline`)
notes when each is done. Both are abstract as long as one method of :class:`CommandQueue` is not theirs, so a new method
is refused or timed there, or no device can record or be profiled.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import DTypeLike, NDArray

from .buffer import Buffer, StreamEvent

if TYPE_CHECKING:
    from .device import Device
    from .graph import Recording
    from .kernels.program import Kernel


class CommandQueue(ABC):
    """Commands for the present ``stream`` of a device; arguments have been checked, offsets are in bytes."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.stream = 0

    # --- commands, in the order of the present stream ---------------------------------------------------------------

    @abstractmethod
    def launch(self, kernel: Kernel, grid: int, block: int, native: list[Any]) -> None:
        """Start a kernel with the backend's buffers, and scalars to be checked by packing, in the signature's order."""

    @abstractmethod
    def copy(
        self, target: Buffer, source: Buffer, target_offset: int, source_offset: int, nbytes: int, peer: bool = False
    ) -> None:
        """Copy within the device or, with ``peer``, from a buffer of another one, in order with the other work."""

    @abstractmethod
    def zero(self, buffer: Buffer) -> None:
        """Set every byte to zero."""

    @abstractmethod
    def read_async(self, source: Buffer, out: NDArray[Any], offset: int) -> None:
        """Copy to a contiguous host array, in order with the stream; returns at once."""

    @abstractmethod
    def write_async(self, target: Buffer, host: NDArray[Any], offset: int) -> None:
        """Copy a contiguous host array into a buffer, in order with the stream; returns at once."""

    @abstractmethod
    def library_stream(self) -> contextlib.AbstractContextManager[int]:
        """The driver's handle of the present stream, to which a library of the same context gives work within."""

    # --- streams and their events -------------------------------------------------------------------------------------

    @abstractmethod
    def enter_stream(self, number: int) -> None:
        """Let what follows go to this stream, which is made when it is first entered."""

    @abstractmethod
    def record_event(self) -> StreamEvent:
        """The point that the present stream has come to."""

    @abstractmethod
    def wait_for_event(self, event: StreamEvent) -> None:
        """Make later work of the present stream wait for an event of any stream, or of a device that it reads."""

    # --- what the host waits for --------------------------------------------------------------------------------------

    @abstractmethod
    def read(self, source: Buffer, out: NDArray[Any], offset: int) -> None:
        """Copy to a host array, and wait."""

    @abstractmethod
    def write(self, target: Buffer, host: NDArray[Any], offset: int) -> None:
        """Copy a host array into a buffer, and wait."""

    @abstractmethod
    def synchronize_event(self, event: StreamEvent) -> None:
        """Wait until the device has come to the event."""

    @abstractmethod
    def sync(self) -> None:
        """Wait until all streams have done their work."""

    # --- memory -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def allocate(self, nbytes: int) -> tuple[Any, Any]:
        """Take device memory: its handle, and what kernels are given for it."""

    @abstractmethod
    def free(self, buffer: Buffer) -> None:
        """Give device memory back when all streams have done their work."""

    @abstractmethod
    def staging(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """A host array that copies fastest: pinned, where the backend has such memory."""

    @abstractmethod
    def release_staging(self, array: NDArray[Any]) -> None:
        """Give an array of :meth:`staging` back."""

    @abstractmethod
    def shared_array(self, buffer: Buffer) -> NDArray[Any] | None:
        """The buffer's memory as an array, where host and device see the same bytes; else None."""

    @abstractmethod
    def host_views(self, *buffers: Buffer | None) -> contextlib.AbstractContextManager[list[NDArray[Any] | None]]:
        """Arrays on the memory of the buffers within the context, where the host may see it."""

    # --- what stands in front of a queue asks the backend's for -------------------------------------------------------

    def new_recording(self) -> Recording:
        """A recording of what this queue is given."""
        from .graph import CommandList

        return CommandList([self])

    def prepared(self, kernel: Kernel, grid: int, block: int, native: list[Any]) -> Callable[[], None]:
        """A launch that is done again and again, for recordings; see :meth:`launch`."""
        return lambda: self.launch(kernel, grid, block, native)

    def start_timing(self) -> None:
        """Prepare for :meth:`record_time`; called once, before the device has been given work."""
        raise TypeError(f"{self.device.info.id} does not report when its work was done")

    def record_time(self) -> Any:
        """A mark behind the present stream's work so far, whose time :meth:`seconds_at` knows when it is done."""
        raise TypeError(f"{self.device.info.id} does not report when its work was done")

    def seconds_at(self, mark: Any) -> float:
        """When the device came to a mark, in seconds of the host's ``time.perf_counter``."""
        raise TypeError(f"{self.device.info.id} does not report when its work was done")
