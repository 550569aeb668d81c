"""The queue of an OpenCL device: launches, copies, events and memory."""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import override

from ...errors import DeviceError
from ..buffer import Buffer, StreamEvent
from ..guarded import GuardedMemory, bounds_error, checked
from ..kernels.cache import alone
from ..kernels.program import Kernel
from ..queue import CommandQueue
from .beside import lock_of
from .listing import pyopencl

if TYPE_CHECKING:
    import pyopencl as cl

    from .device import OpenCLDevice

_CLOCK_READINGS = 5  # of which the shortest relates the device's clock to the host's
_CHECKABLE = "Portable Computing Language"
_AWAKE_SECONDS = 1e-4  # about what it takes to fall asleep, be woken, and find the caches cold
_ALIGNMENT = 128  # of buffers, in bytes: that of the largest vector a kernel may load from the first element on


def _has_fine_grained_memory(device: cl.Device) -> bool:
    """Whether host and device may use the same allocation without mapping it."""
    try:
        return bool(device.svm_capabilities & pyopencl().device_svm_capabilities.FINE_GRAIN_BUFFER)
    except Exception:  # before OpenCL 2.0
        return False


def _seen(buffer: Buffer) -> NDArray[Any]:
    """The content of a buffer in shared memory."""
    host: NDArray[Any] = buffer.handle.host[: buffer.nbytes]
    return host.view(buffer.dtype).reshape(buffer.shape)


@dataclass(frozen=True, eq=False)
class _Memory:
    """A buffer, and the same bytes as the host sees them where it may look without mapping."""

    buffer: cl.Buffer
    host: NDArray[np.uint8] | None = None
    guarded: GuardedMemory | None = None


class OpenCLQueue(CommandQueue):
    """An in-order queue for each stream.

    On CPUs whose driver has fine-grained shared virtual memory (OpenCL 2.0, section 5.6), buffers lie in it: the host
    reads and writes them itself once the queue is done, which takes a fraction of what a copy or a mapping by the
    driver does. The host polls the last launch of a stream for a while (``_AWAKE_SECONDS``) before it waits in the
    driver, because being woken takes longer than a short kernel.

    ``part``: PyOpenCL's; ``awake``: whether the host may wait awake: it takes the interpreter's lock from other threads
    again and again.
    """

    def __init__(self, device: OpenCLDevice, context: cl.Context, part: cl.Device, awake: bool) -> None:
        super().__init__(device)
        self._device, info = device, device.info
        self._cl, self._context, self._part = pyopencl(), context, part
        self._awake_seconds = _AWAKE_SECONDS if awake else 0.0
        self._queue: cl.CommandQueue = self._cl.CommandQueue(context, part)
        self._queues: list[cl.CommandQueue] = [self._queue]
        self._properties = 0
        self._clock_offset = 0.0
        self._launched: dict[cl.CommandQueue, cl.Event] = {}  # the last of each stream, where host and device share
        self._copies: list[cl.Event] = []  # dropping one that is not done would wait for it, and hold the GIL
        self._shares = info.capabilities.host_visible_memory and _has_fine_grained_memory(part)
        self._is_checked = checked() is not None
        if self._is_checked and not (self._shares and info.platform.startswith(_CHECKABLE)):
            raise DeviceError(
                f"the kernels of {info.id} ({info.name}) cannot be checked: that needs PoCL on a CPU, or CUDA"
            )

    def _finish(self) -> None:
        for queue in self._queues:
            queue.flush()
        for queue in self._queues:
            self._wait_for(queue)
        self._copies.clear()

    def _wait_for(self, queue: cl.CommandQueue) -> None:
        last = self._launched.pop(queue, None)
        if last is not None:
            complete = self._cl.command_execution_status.COMPLETE
            until = time.perf_counter() + self._awake_seconds
            while last.command_execution_status > complete and time.perf_counter() < until:
                pass
        queue.finish()

    def allocate(self, nbytes: int) -> tuple[Any, Any]:
        if nbytes > self.device.info.max_allocation:  # some drivers find out only when it is used
            most = self.device.info.max_allocation
            raise DeviceError(f"{self.device.info.id} refused {nbytes} bytes: one buffer holds at most {most}")
        cl = self._cl
        try:
            if self._is_checked:
                guarded = GuardedMemory(nbytes)
                flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
                memory = _Memory(cl.Buffer(self._context, flags, hostbuf=guarded.array), guarded.array, guarded)
            elif self._shares:
                shared = cl.svm_mem_flags.READ_WRITE | cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER
                host = cl.svm_empty(self._context, shared, nbytes, np.uint8, alignment=_ALIGNMENT)
                flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
                memory = _Memory(cl.Buffer(self._context, flags, hostbuf=host), host)
            else:
                memory = _Memory(cl.Buffer(self._context, cl.mem_flags.READ_WRITE, nbytes))
        except cl.Error as error:
            raise DeviceError(f"{self.device.info.id} refused {nbytes} bytes: {error}") from error
        self._device.allocated_bytes += nbytes
        return memory, memory.buffer

    def free(self, buffer: Buffer) -> None:
        self._device.allocated_bytes -= buffer.argument.size
        with self._reporting():
            try:
                self._finish()
            finally:
                buffer.argument.release()

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        """Turn the driver's error into ours: a wait also reports what went wrong in earlier launches."""
        try:
            yield
        except self._cl.Error as error:
            raise DeviceError(f"{self.device.info.id} failed while computing: {error}") from error

    def write(self, target: Buffer, host: NDArray[Any], offset: int) -> None:
        with self._reporting():
            shared = target.handle.host
            if shared is None:
                self._cl.enqueue_copy(self._queue, target.argument, host, dst_offset=offset, is_blocking=True)
                return
            self._wait_for(self._queue)
        shared[offset : offset + host.nbytes] = host.reshape(-1).view(np.uint8)

    def read(self, source: Buffer, out: NDArray[Any], offset: int) -> None:
        with self._reporting():
            shared = source.handle.host
            if shared is None:
                self._cl.enqueue_copy(self._queue, out, source.argument, src_offset=offset, is_blocking=True)
                return
            self._wait_for(self._queue)
        out.reshape(-1).view(np.uint8)[:] = shared[offset : offset + out.nbytes]

    def zero(self, buffer: Buffer) -> None:
        with self._reporting():
            self._cl.enqueue_fill_buffer(self._queue, buffer.argument, np.uint8(0), 0, buffer.nbytes)

    def copy(
        self, target: Buffer, source: Buffer, target_offset: int, source_offset: int, nbytes: int, peer: bool = False
    ) -> None:
        with self._reporting():
            self._cl.enqueue_copy(
                self._queue,
                target.argument,
                source.argument,
                byte_count=nbytes,
                src_offset=source_offset,
                dst_offset=target_offset,
            )

    def staging(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """An ordinary host array: OpenCL 1.2 promises nothing faster in all drivers."""
        return np.empty(count, dtype)

    def release_staging(self, array: NDArray[Any]) -> None:
        """Nothing to do: the array is Python's."""

    def launch(self, kernel: Kernel, grid: int, block: int, native: list[Any]) -> None:
        if block in kernel.handle[2]:
            self._enqueue(kernel, grid, block, native)
            return
        self._device.note_first(kernel, grid, block)
        with alone(lock_of(kernel.source, kernel.entry, block, quick=kernel.handle[3])):
            self._enqueue(kernel, grid, block, native)
            self.sync()

    def _enqueue(self, kernel: Kernel, grid: int, block: int, native: list[Any]) -> None:
        handle, unchecked, *_ = kernel.handle
        try:
            for index, code in unchecked:
                struct.pack(code, native[index])
            handle.set_args(*native)
            launched = self._cl.enqueue_nd_range_kernel(self._queue, handle, (grid * block,), (block,))
        except self._cl.Error as error:
            raise kernel.refused(error) from error
        except (struct.error, OverflowError, TypeError, RuntimeError):
            raise kernel.out_of_range(native) from None
        if self._shares:
            self._launched[self._queue] = launched
        if self._is_checked:
            self._check(kernel, native)

    def compile(self, kernel: Kernel, grid: int, block: int, native: list[Any]) -> None:
        """Launch a kernel in three dimensions, in which it does nothing, and wait."""
        handle = kernel.handle[0]
        handle.set_args(*native)
        self._cl.enqueue_nd_range_kernel(self._queue, handle, (grid * block, 1, 1), (block, 1, 1))
        self._queue.finish()

    def _check(self, kernel: Kernel, native: list[Any]) -> None:
        """Wait for a launch, and refuse what it has done outside of its buffers."""
        self.sync()
        for buffer in self.device._owned.buffers:
            memory: _Memory = buffer.handle
            if memory.guarded is not None and (access := memory.guarded.take_access()) is not None:
                raise bounds_error(kernel, native, buffer.argument, buffer.nbytes, access)

    @override
    def prepared(self, kernel: Kernel, grid: int, block: int, native: list[Any]) -> Callable[[], None]:
        """A launch of a kernel object of its own, whose arguments are set once."""
        if self._is_checked:
            return super().prepared(kernel, grid, block, native)
        cl, own, compiled = self._cl, self._copy_of(kernel, native), kernel.handle[2]
        enqueue, size, local = cl.enqueue_nd_range_kernel, (grid * block,), (block,)

        def launch() -> None:
            nonlocal own, compiled
            if block not in compiled:
                self._device.note_first(kernel, grid, block)
                own, compiled = self._copy_of(kernel, native), kernel.handle[2]
            try:
                launched = enqueue(self._queue, own, size, local)
            except cl.Error as error:
                raise kernel.refused(error) from error
            if self._shares:
                self._launched[self._queue] = launched

        return launch

    def _copy_of(self, kernel: Kernel, native: list[Any]) -> Any:
        """Another kernel object with these arguments."""
        handle, unchecked, *_ = kernel.handle
        cl = self._cl
        try:
            for index, code in unchecked:
                struct.pack(code, native[index])
            own = cl.Kernel(handle.program, kernel.entry)
            for index, (parameter, value) in enumerate(zip(kernel.signature.parameters, native, strict=True)):
                own.set_arg(index, value if parameter.is_buffer else np.asarray(value, parameter.dtype)[()])
        except cl.Error as error:
            raise kernel.refused(error) from error
        except (struct.error, OverflowError, TypeError):
            raise kernel.out_of_range(native) from None
        return own

    def shared_array(self, buffer: Buffer) -> NDArray[Any] | None:
        return _seen(buffer) if self._shares else None

    @contextlib.contextmanager
    @override
    def host_views(self, *buffers: Buffer | None) -> Iterator[list[NDArray[Any] | None]]:
        """Memory not shared is mapped, which on CPUs copies nothing."""
        if self._shares:
            with self._reporting():
                self._wait_for(self._queue)
            yield [None if buffer is None else _seen(buffer) for buffer in buffers]
            return
        maps: dict[Buffer, NDArray[Any]] = {}
        flags = self._cl.map_flags.READ | self._cl.map_flags.WRITE
        try:
            for buffer in buffers:
                if buffer is not None and buffer not in maps:
                    with self._reporting():
                        array, _ = self._cl.enqueue_map_buffer(
                            self._queue,
                            buffer.argument,
                            flags,
                            0,
                            (max(1, buffer.size),),
                            buffer.dtype,
                            is_blocking=True,
                        )
                    maps[buffer] = array
            yield [None if buffer is None else maps[buffer][: buffer.size].reshape(buffer.shape) for buffer in buffers]
        finally:
            for array in maps.values():
                array.base.release(self._queue)  # type: ignore[union-attr]

    def library_stream(self) -> contextlib.AbstractContextManager[int]:
        raise TypeError(f"{self.device.info.id} has no stream that other libraries can use")

    def sync(self) -> None:
        with self._reporting():
            self._finish()

    def enter_stream(self, number: int) -> None:
        while len(self._queues) <= number:
            with self._reporting():
                self._queues.append(self._cl.CommandQueue(self._context, self._part, self._properties))
        self.stream, self._queue = number, self._queues[number]

    @override
    def start_timing(self) -> None:
        """Queues that measure take the place of those that do not."""
        with self._reporting():
            self._finish()
            self._properties = self._cl.command_queue_properties.PROFILING_ENABLE
            self._queues = []
            self.enter_stream(0)
            shortest = float("inf")
            for _ in range(_CLOCK_READINGS):
                before = time.perf_counter()
                mark = self.record_time()
                self._finish()
                after = time.perf_counter()
                if after - before < shortest:
                    shortest, middle = after - before, 0.5 * (before + after)
                    self._clock_offset += middle - self.seconds_at(mark)

    def record_time(self) -> Any:
        with self._reporting():
            return self._cl.enqueue_marker(self._queue)

    def seconds_at(self, mark: Any) -> float:
        with self._reporting():
            return self._clock_offset + 1e-9 * float(mark.profile.end)

    def record_event(self) -> StreamEvent:
        with self._reporting():
            event = self._cl.enqueue_marker(self._queue)
            self._queue.flush()  # another queue, or the host, may wait for it
        return StreamEvent(event)

    def wait_for_event(self, event: StreamEvent) -> None:
        with self._reporting():
            self._cl.enqueue_barrier(self._queue, wait_for=[event.native])

    def synchronize_event(self, event: StreamEvent) -> None:
        with self._reporting():
            event.native.wait()

    def _keep(self, copy: cl.Event) -> None:
        complete = self._cl.command_execution_status.COMPLETE
        self._copies = [event for event in self._copies if event.command_execution_status > complete]
        self._copies.append(copy)
        self._queue.flush()

    def read_async(self, source: Buffer, out: NDArray[Any], offset: int) -> None:
        with self._reporting():
            self._keep(self._cl.enqueue_copy(self._queue, out, source.argument, src_offset=offset, is_blocking=False))

    def write_async(self, target: Buffer, host: NDArray[Any], offset: int) -> None:
        with self._reporting():
            self._keep(self._cl.enqueue_copy(self._queue, target.argument, host, dst_offset=offset, is_blocking=False))
