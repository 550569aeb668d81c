"""The CUDA backend: NVIDIA GPUs through PyCUDA, kernels compiled by NVRTC.

``pycuda`` is imported here and nowhere else, and only when a device is listed or opened. A device pushes its GPU's
primary context on the thread that opens it and pops it when closed, so other libraries of the process share it.
"""

import ctypes
import functools
import importlib.util
import sys
from concurrent.futures import CancelledError, Future
from typing import Any

from typing_extensions import override

from ...errors import BackendUnavailable, DeviceError, KernelError
from ...util.quirks.pycuda_launch import launcher
from ..backends import BackendModule
from ..device import Device
from ..info import Capabilities, DeviceInfo, MemoryInfo
from ..kernels.program import Signature
from ..kernels.source import Source
from .compiler import begin_cubin, begin_loading, compile_cubin, require_compiler
from .graph import has_graphs
from .queue import CudaQueue

_RETAINED: list[Any] = []
"""Primary contexts, kept to the end of the process: PyCUDA's destructor of one may run on any thread, and there it may
take away a context that another device of this process is using."""


_INSTALLATION = (
    "Quintet's extra cuda has it; pip compiles it, which needs a C++ compiler and CUDA's headers (Debian and Ubuntu: "
    "sudo apt install g++ python3-dev nvidia-cuda-toolkit). NVIDIA's OpenCL works without it"
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
        begin_loading()
        try:
            device = self._driver.Device(info.index)
            self._context = device.retain_primary_context()
            _RETAINED.append(self._context)
            self._context.push()
        except self._driver.Error as error:
            raise DeviceError(f"cannot open {info.id} ({info.name}): {error}") from error
        self._owned.stack.callback(self._context.pop)
        self._owned.stack.callback(self._forget)
        self._queue = self.queue = CudaQueue(self, self._driver)
        self._modules: dict[str, Any] = {}
        self._cubins: dict[str, Future[bytes]] = {}
        self._peers: set[int] = set()
        major, minor = device.compute_capability()
        self._architecture = f"sm_{major}{minor}"

    def _forget(self) -> None:
        for cubin in self._cubins.values():
            cubin.cancel()
        self._cubins.clear()
        self._queue.close()
        self._modules.clear()

    @override
    def memory(self) -> MemoryInfo:
        """As the driver reports it, for all processes together."""
        free, total = self._driver.mem_get_info()
        return MemoryInfo(total, free)

    @override
    def _begin_build(self, source: Source) -> None:
        if source.digest not in self._modules and source.digest not in self._cubins:
            self._report_compile(source)
            self._cubins[source.digest] = begin_cubin(source, self._architecture, self.info.id)

    @override
    def _build(self, source: Source, signature: Signature) -> Any:
        try:
            module = self._modules.get(source.digest)
            if module is None:
                self._begin_build(source)
                cubin = self._cubins.pop(source.digest)
                try:
                    code = cubin.result()
                except CancelledError:  # by another device of this process, which was closed
                    code = compile_cubin(source, self._architecture, self.info.id)
                module = self._modules[source.digest] = self._driver.module_from_buffer(code)
            function = module.get_function(signature.name)
            if signature.local_bytes + function.shared_size_bytes > 48 * 1024:  # dynamic and static together
                attribute = self._driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                function.set_attribute(attribute, signature.local_bytes)
        except self._driver.Error as error:
            message = f"{signature.name} does not load: {error}"
            raise KernelError(source.template, "cuda", self.info.id, message) from error
        return launcher(function)

    @override
    def enable_peer(self, index: int) -> None:
        """Let this context read what another GPU's primary context has."""
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


BACKEND = BackendModule("cuda", "CUDA", 0, list_devices, CudaDevice)
