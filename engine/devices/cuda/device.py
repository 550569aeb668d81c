"""The CUDA backend: NVIDIA GPUs through PyCUDA, kernels compiled by NVRTC.

``pycuda`` is imported here and nowhere else, and only when a device is listed or opened. A device pushes its GPU's
primary context on the thread that opens it and pops it when closed, so other libraries of the process share it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...errors import BackendUnavailable, DeviceError, KernelBoundsError, KernelError, RecordingError
from ..backends import BackendModule
from ..buffer import Buffer, Events, StreamEvent
from ..device import Device
from ..graph import CommandList, Recording
from ..guarded import checked
from ..info import Capabilities, DeviceInfo, MemoryInfo
from ..kernels.program import Kernel, Signature
from ..kernels.source import Source
from .compiler import compile_cubin, require_compiler
from .graph import GraphRecording, has_graphs

__all__ = ["BACKEND", "CudaDevice", "list_devices"]

_RETAINED: list[Any] = []
"""Primary contexts, kept to the end of the process: PyCUDA's destructor of one may run on any thread, and there it may
take away a context that another device of this process is using."""

_CLOCK_READINGS = 5  # of which the shortest relates the device's clock to the host's
_IN_FLIGHT = 512  # launches between two waits: a launch into a full queue blocks while holding the GIL


_INSTALLATION = (
    "Quintet's extra cuda has it; pip compiles it, which needs a C++ compiler and CUDA's headers (Debian and Ubuntu: "
    "sudo apt install g++ python3-dev nvidia-cuda-toolkit); conda install -c conda-forge pycuda needs neither. "
    "NVIDIA's OpenCL works without it"
)


def _has_driver_library() -> bool:
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


@functools.cache
def _driver() -> Any:
    """PyCUDA's driver module, initialised. Each way in which CUDA can be missing has its message."""
    try:
        import pycuda.driver as driver
    except ImportError as error:
        if "libcuda" in str(error):
            raise BackendUnavailable(
                "CUDA is unavailable: pycuda is installed, but NVIDIA's driver library (libcuda) is not on this machine"
            ) from error
        if not _has_driver_library():
            raise BackendUnavailable(
                "CUDA is unavailable: NVIDIA's driver library (libcuda) is not on this machine, and the package pycuda "
                "is not installed"
            ) from error
        raise BackendUnavailable(
            f"CUDA is unavailable: the package pycuda is not installed. {_INSTALLATION}"
        ) from error
    try:
        driver.init()
    except driver.Error as error:
        raise BackendUnavailable(
            f"CUDA is unavailable: NVIDIA's driver is installed, but sees no device ({error})"
        ) from error
    if driver.Device.count() == 0:
        raise BackendUnavailable("CUDA is unavailable: NVIDIA's driver is installed, but sees no device")
    return driver


def list_devices() -> list[DeviceInfo]:
    """Describe every CUDA device; raises :class:`BackendUnavailable` with what is missing."""
    driver = _driver()
    require_compiler()
    return [_describe(driver, index) for index in range(driver.Device.count())]


def _describe(driver: Any, index: int) -> DeviceInfo:
    device = driver.Device(index)
    attribute = driver.device_attribute
    peers = range(driver.Device.count())
    capabilities = Capabilities(
        kind="gpu",
        fp64=True,
        int64_atomics=True,
        host_visible_memory=False,
        linear_algebra="cusolver" if importlib.util.find_spec("cupy") is not None else "kernels",
        compute_units=device.get_attribute(attribute.MULTIPROCESSOR_COUNT),
        local_memory=device.get_attribute(attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        local_memory_per_unit=device.get_attribute(attribute.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        preferred_block=256,
        max_block=device.get_attribute(attribute.MAX_THREADS_PER_BLOCK),
        peer_copies=True,
        peer_access=all(other == index or device.can_access_peer(driver.Device(other)) for other in peers),
        shuffle=True,
        inline_ptx=True,
        packed_i16=True,
        cuda_context=True,
        graphs=has_graphs(),
        bit_tensor_cores=device.compute_capability() >= (8, 0),
        compute_capability=device.compute_capability(),
    )
    version = driver.get_driver_version()
    return DeviceInfo(
        language="cuda",
        index=index,
        name=device.name(),
        platform="NVIDIA CUDA",
        driver=f"CUDA {version // 1000}.{version % 1000 // 10}",
        uuid=_uuid(index) or device.pci_bus_id(),
        memory=device.total_memory(),
        max_allocation=device.total_memory(),
        capabilities=capabilities,
    )


def _uuid(index: int) -> str | None:
    """``GPU-...`` as nvidia-smi prints it, through NVML where it is installed."""
    try:
        import pynvml

        driver = _driver()
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByPciBusId(driver.Device(index).pci_bus_id())
        return str(pynvml.nvmlDeviceGetUUID(handle))
    except Exception:
        return None


class CudaDevice(Device):
    """A GPU, its primary context pushed on this thread, and its streams."""

    def __init__(self, info: DeviceInfo) -> None:
        super().__init__(info)
        self._driver = _driver()
        try:
            device = self._driver.Device(info.index)
            self._context = device.retain_primary_context()
            _RETAINED.append(self._context)
            self._context.push()
        except self._driver.Error as error:
            raise DeviceError(f"cannot open {info.id} ({info.name}): {error}") from error
        self._owned.stack.callback(self._context.pop)
        self._owned.stack.callback(self._forget)
        self._streams: list[Any] = [self._driver.Stream()]
        self._stream = self._streams[0]
        self._events = Events(lambda: self._driver.Event(self._driver.event_flags.DISABLE_TIMING))
        self._modules: dict[str, Any] = {}
        self._peers: set[int] = set()
        self._pinned: dict[int, NDArray[Any]] = {}
        self._in_flight = 0
        self._is_checked = checked() is not None
        self._beginning: Any = None
        self._began = 0.0
        major, minor = device.compute_capability()
        self._architecture = f"sm_{major}{minor}"

    def _forget(self) -> None:
        """Drop everything that needs the context while it is still current."""
        self._finish()
        for array in list(self._pinned.values()):
            self.release_staging(array)
        self._modules.clear()
        self._events.clear()
        self._beginning = None
        self._streams.clear()
        del self._stream

    @property
    def native_stream(self) -> int:
        """The ``CUstream`` of the present stream, for libraries of the same context."""
        if isinstance(self.recording, CommandList):
            raise RecordingError(f"a call of a library cannot be part of a recording on {self.info.id}")
        return int(self._stream.handle)

    def _finish(self) -> None:
        for stream in self._streams:
            stream.synchronize()

    def memory(self) -> MemoryInfo:
        """As the driver reports it, for all processes together."""
        free, total = self._driver.mem_get_info()
        return MemoryInfo(total, free)

    def _build(self, source: Source, signature: Signature) -> Any:
        try:
            module = self._modules.get(source.digest)
            if module is None:
                self._report_compile(source)
                cubin = compile_cubin(source, self._architecture, self.info.id)
                module = self._modules[source.digest] = self._driver.module_from_buffer(cubin)
            function = module.get_function(signature.name)
            if signature.local_bytes + function.shared_size_bytes > 48 * 1024:  # dynamic and static together
                attribute = self._driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                function.set_attribute(attribute, signature.local_bytes)
        except self._driver.Error as error:
            message = f"{signature.name} does not load: {error}"
            raise KernelError(source.template, "cuda", self.info.id, message) from error
        return function

    def _allocate(self, nbytes: int) -> tuple[Any, Any]:
        if self._is_checked:
            from .guarded import GuardedDeviceMemory

            others = range(self._driver.Device.count()) if self.capabilities.peer_access else ()
            guarded = GuardedDeviceMemory(self.info.index, nbytes, tuple(i for i in others if i != self.info.index))
            return guarded, guarded.begin
        try:
            memory = self._driver.mem_alloc(nbytes)
        except self._driver.Error as error:
            raise DeviceError(f"{self.info.id} refused {nbytes} bytes: {error}") from error
        return memory, int(memory)

    def _free(self, buffer: Buffer) -> None:
        self._finish()
        buffer.handle.free()

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        """Turn the driver's error into ours: a wait also reports what went wrong in earlier launches."""
        try:
            yield
        except self._driver.Error as error:
            raise DeviceError(f"{self.info.id} failed while computing: {error}") from error

    def _write(self, target: Buffer, host: NDArray[Any], offset: int) -> None:
        with self._reporting():
            self._driver.memcpy_htod_async(target.argument + offset, host, stream=self._stream)
            self._stream.synchronize()

    def _read(self, source: Buffer, out: NDArray[Any], offset: int) -> None:
        with self._reporting():
            self._driver.memcpy_dtoh_async(out, source.argument + offset, stream=self._stream)
            self._stream.synchronize()

    def zero(self, buffer: Buffer) -> None:
        """See :meth:`Device.zero`."""
        if buffer.nbytes:
            with self._reporting():
                self._driver.memset_d8_async(buffer.argument, 0, buffer.nbytes, self._stream)

    def _copy(self, target: Buffer, source: Buffer, target_offset: int, source_offset: int, nbytes: int) -> None:
        with self._reporting():
            self._driver.memcpy_dtod_async(
                target.argument + target_offset, source.argument + source_offset, nbytes, self._stream
            )

    def enable_peer(self, index: int) -> None:
        """See :meth:`Device.enable_peer`; this context may then read what another GPU's primary context has."""
        if index == self.info.index or index in self._peers:
            return
        self._peers.add(index)
        peer = self._driver.Device(index).retain_primary_context()
        _RETAINED.append(peer)
        try:
            self._context.enable_peer_access(peer)
        except self._driver.LogicError as error:
            if "ALREADY_ENABLED" not in str(error).upper().replace(" ", "_"):
                raise DeviceError(f"{self.info.id} cannot read the memory of cuda:{index}: {error}") from error

    def copy_from_peer(self, target: Buffer, source: Buffer, target_start: int, source_start: int, count: int) -> None:
        """See :meth:`Device.copy_from_peer`; under unified addressing a plain copy knows which GPU it reads."""
        self.copy(target, source, target_start, source_start, count)

    def staging(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Page-locked host memory; see :meth:`Device.staging`."""
        array: NDArray[Any] = self._driver.pagelocked_empty(count, np.dtype(dtype))
        self._pinned[id(array)] = array
        return array

    def release_staging(self, array: NDArray[Any]) -> None:
        """See :meth:`Device.release_staging`; freed here, since PyCUDA cannot free it on another thread."""
        if self._pinned.pop(id(array), None) is not None:
            self._finish()
            array.base.free()  # type: ignore[union-attr]

    def _launch(self, kernel: Kernel, grid: int, block: int, native: list[Any]) -> None:
        try:
            packed = kernel.format.pack(*native)
        except (struct.error, OverflowError, TypeError):
            raise kernel.out_of_range(native) from None
        try:
            # what PyCUDA's prepared_async_call ends in; what it does before costs as much as the launch itself
            kernel.handle._launch_kernel((grid, 1), (block, 1, 1), packed, kernel.local_bytes, self._stream)
        except self._driver.Error as error:
            raise KernelError(kernel.source.template, "cuda", self.info.id, f"{kernel.entry}: {error}") from error
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
            sizes = {buffer.argument: buffer.size for buffer in self._owned.buffers}
            named = zip(kernel.signature.parameters, native, strict=True)
            given = ", ".join(f"{p.name} of {sizes.get(value, 0)} elements" for p, value in named if p.is_buffer)
            message = f"{kernel.entry} accessed what is outside of its buffers: {given}"
            raise KernelBoundsError(kernel.source.template, "cuda", self.info.id, message) from error

    def count_launches(self, more: int) -> None:
        """Wait where too many launches are in flight; those that are recorded are not."""
        if self.recording is not None:
            self.recording.launches += more
            return
        self._in_flight += more
        if self._in_flight >= _IN_FLIGHT:
            self.sync()

    def _new_recording(self) -> Recording:
        """A graph; the commands one by one where each has a time mark put behind it, or is checked."""
        if self.is_timed or self._is_checked or not self.capabilities.graphs:
            return CommandList(self)
        return GraphRecording(self)

    def sync(self) -> None:
        """See :meth:`Device.sync`."""
        self._in_flight = 0
        with self._reporting():
            self._finish()

    def _enter_stream(self, number: int) -> None:
        with self._reporting():
            while len(self._streams) <= number:
                self._streams.append(self._driver.Stream())
        self._stream = self._streams[number]

    def record_event(self) -> StreamEvent:
        """See :meth:`Device.record_event`."""
        with self._reporting():
            event = self._events.take()
            self._events[event].record(self._stream)
        return event

    def wait_for_event(self, event: StreamEvent) -> None:
        """See :meth:`Device.wait_for_event`."""
        with self._reporting():
            self._stream.wait_for_event(self._events[event])

    def wait_for_peer_event(self, event: StreamEvent, peer: Device) -> None:
        """See :meth:`Device.wait_for_peer_event`."""
        if not isinstance(peer, CudaDevice):
            raise TypeError(f"{self.info.id} cannot wait for {peer.info.id}")
        with self._reporting():
            self._stream.wait_for_event(peer._events[event])

    def synchronize_event(self, event: StreamEvent) -> None:
        """See :meth:`Device.synchronize_event`."""
        with self._reporting():
            self._events[event].synchronize()

    def start_timing(self) -> None:
        """See :meth:`Device.start_timing`; the event of the beginning relates the device's clock to the host's."""
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
        """See :meth:`Device.record_time`."""
        with self._reporting():
            return self._driver.Event().record(self._stream)

    def seconds_at(self, mark: Any) -> float:
        """See :meth:`Device.seconds_at`."""
        with self._reporting():
            return self._began + 1e-3 * float(mark.time_since(self._beginning))

    def _read_async(self, source: Buffer, out: NDArray[Any], offset: int) -> None:
        with self._reporting():
            self._driver.memcpy_dtoh_async(out, source.argument + offset, stream=self._stream)

    def _write_async(self, target: Buffer, host: NDArray[Any], offset: int) -> None:
        with self._reporting():
            self._driver.memcpy_htod_async(target.argument + offset, host, stream=self._stream)


BACKEND = BackendModule("cuda", "CUDA", 0, list_devices, CudaDevice)
