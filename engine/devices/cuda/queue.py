"""The queue of a CUDA device: launches, copies, events and memory, through PyCUDA."""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...errors import DeviceError, KernelBoundsError
from ..buffer import Buffer, Events, StreamEvent
from ..graph import Recording
from ..guarded import checked
from ..kernels.program import Kernel
from ..queue import CommandQueue
from .graph import GraphRecording

if TYPE_CHECKING:
    from .device import CudaDevice

_CLOCK_READINGS = 5  # of which the shortest relates the device's clock to the host's
_IN_FLIGHT = 512  # launches between two waits: a launch into a full queue blocks while holding the GIL


class CudaQueue(CommandQueue):
    """Streams of a GPU's context, which is current on this thread."""

    def __init__(self, device: CudaDevice, driver: Any) -> None:
        super().__init__(device)
        self._driver = driver
        self._streams: list[Any] = [driver.Stream()]
        self._stream = self._streams[0]
        self._events = Events(lambda: driver.Event(driver.event_flags.DISABLE_TIMING))
        self._pinned: dict[int, NDArray[Any]] = {}
        self._in_flight = 0
        self._is_checked = checked() is not None
        self._beginning: Any = None
        self._began = 0.0
        self.is_captured = False

    def close(self) -> None:
        """Drop everything that needs the context while it is still current."""
        self._finish()
        for array in list(self._pinned.values()):
            self.release_staging(array)
        self._events.clear()
        self._beginning = None
        self._streams.clear()
        del self._stream

    def _finish(self) -> None:
        for stream in self._streams:
            stream.synchronize()

    def allocate(self, nbytes: int) -> tuple[Any, Any]:
        if self._is_checked:
            from .guarded import GuardedDeviceMemory

            others = range(self._driver.Device.count()) if self.device.capabilities.peer_access else ()
            own = self.device.info.index
            guarded = GuardedDeviceMemory(own, nbytes, tuple(i for i in others if i != own))
            return guarded, guarded.begin
        try:
            memory = self._driver.mem_alloc(nbytes)
        except self._driver.Error as error:
            raise DeviceError(f"{self.device.info.id} refused {nbytes} bytes: {error}") from error
        return memory, int(memory)

    def free(self, buffer: Buffer) -> None:
        self._finish()
        buffer.handle.free()

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        """Turn the driver's error into ours: a wait also reports what went wrong in earlier launches."""
        try:
            yield
        except self._driver.Error as error:
            raise DeviceError(f"{self.device.info.id} failed while computing: {error}") from error

    def write(self, target: Buffer, host: NDArray[Any], offset: int) -> None:
        with self._reporting():
            self._driver.memcpy_htod_async(target.argument + offset, host, stream=self._stream)
            self._stream.synchronize()

    def read(self, source: Buffer, out: NDArray[Any], offset: int) -> None:
        with self._reporting():
            self._driver.memcpy_dtoh_async(out, source.argument + offset, stream=self._stream)
            self._stream.synchronize()

    def zero(self, buffer: Buffer) -> None:
        with self._reporting():
            self._driver.memset_d8_async(buffer.argument, 0, buffer.nbytes, self._stream)

    def copy(
        self, target: Buffer, source: Buffer, target_offset: int, source_offset: int, nbytes: int, peer: bool = False
    ) -> None:
        with self._reporting():
            self._driver.memcpy_dtod_async(
                target.argument + target_offset, source.argument + source_offset, nbytes, self._stream
            )

    def staging(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        array: NDArray[Any] = self._driver.pagelocked_empty(count, np.dtype(dtype))
        self._pinned[id(array)] = array
        return array

    def release_staging(self, array: NDArray[Any]) -> None:
        """Freed here, since PyCUDA cannot free it on another thread."""
        if self._pinned.pop(id(array), None) is not None:
            self._finish()
            array.base.free()  # type: ignore[union-attr]

    def shared_array(self, buffer: Buffer) -> NDArray[Any] | None:
        return None

    def host_views(self, *buffers: Buffer | None) -> contextlib.AbstractContextManager[list[NDArray[Any] | None]]:
        raise TypeError(f"the memory of {self.device.info.id} is not the host's")

    def launch(self, kernel: Kernel, grid: int, block: int, native: list[Any]) -> None:
        try:
            packed = kernel.format.pack(*native)
        except (struct.error, OverflowError, TypeError):
            raise kernel.out_of_range(native) from None
        try:
            kernel.handle((grid, 1), (block, 1, 1), packed, kernel.local_bytes, self._stream)
        except self._driver.Error as error:
            raise kernel.refused(error) from error
        self.count_launches(1)
        if self._is_checked:
            self._check(kernel, native)

    def _check(self, kernel: Kernel, native: list[Any]) -> None:
        """Wait for a launch; an address that is not mapped is outside of a buffer."""
        try:
            self.sync()
        except DeviceError as error:
            if "illegal memory access" not in str(error):
                raise
            sizes = {buffer.argument: buffer.size for buffer in self.device._owned.buffers}
            named = zip(kernel.signature.parameters, native, strict=True)
            given = ", ".join(f"{p.name} of {sizes.get(value, 0)} elements" for p, value in named if p.is_buffer)
            message = f"{kernel.entry} accessed what is outside of its buffers: {given}"
            raise KernelBoundsError(kernel.source.template, "cuda", self.device.info.id, message) from error

    def count_launches(self, more: int) -> None:
        """Wait where too many launches are in flight; those that are captured are not."""
        self._in_flight += 0 if self.is_captured else more
        if self._in_flight >= _IN_FLIGHT:
            self.sync()

    def library_stream(self) -> contextlib.AbstractContextManager[int]:
        return contextlib.nullcontext(int(self._stream.handle))

    def new_recording(self) -> Recording:
        """A graph; the commands one by one where each is checked, or the binding that captures them is missing."""
        if self._is_checked or not self.device.capabilities.graphs:
            return super().new_recording()
        return GraphRecording(self)

    def sync(self) -> None:
        self._in_flight = 0
        with self._reporting():
            self._finish()

    def enter_stream(self, number: int) -> None:
        while len(self._streams) <= number:
            with self._reporting():
                self._streams.append(self._driver.Stream())
        self.stream, self._stream = number, self._streams[number]

    def record_event(self) -> StreamEvent:
        with self._reporting():
            event = self._events.take()
            event.native.record(self._stream)
        return event

    def wait_for_event(self, event: StreamEvent) -> None:
        with self._reporting():
            self._stream.wait_for_event(event.native)

    def synchronize_event(self, event: StreamEvent) -> None:
        with self._reporting():
            event.native.synchronize()

    def start_timing(self) -> None:
        """The event of the beginning relates the device's clock to the host's."""
        shortest = float("inf")
        for _ in range(_CLOCK_READINGS):
            with self._reporting():
                self._finish()
                before = time.perf_counter()
                mark = self.record_time()
                self._finish()
                after = time.perf_counter()
            if after - before < shortest:
                shortest, self._beginning, self._began = after - before, mark, 0.5 * (before + after)

    def record_time(self) -> Any:
        with self._reporting():
            return self._driver.Event().record(self._stream)

    def seconds_at(self, mark: Any) -> float:
        with self._reporting():
            return self._began + 1e-3 * float(mark.time_since(self._beginning))

    def read_async(self, source: Buffer, out: NDArray[Any], offset: int) -> None:
        with self._reporting():
            self._driver.memcpy_dtoh_async(out, source.argument + offset, stream=self._stream)

    def write_async(self, target: Buffer, host: NDArray[Any], offset: int) -> None:
        with self._reporting():
            self._driver.memcpy_htod_async(target.argument + offset, host, stream=self._stream)
