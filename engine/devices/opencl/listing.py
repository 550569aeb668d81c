"""How OpenCL devices are found and described; ``pyopencl`` is imported here alone, when that is first asked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...errors import BackendUnavailable
from ...util.quirks.pocl_processor import name_processor
from ...util.quirks.pyopencl_invokers import keep_invokers
from ..info import Capabilities, DeviceInfo
from ..kernels.cache import prepare_pocl
from .cpu_driver import leaves_out, prepare

if TYPE_CHECKING:
    import pyopencl as cl

_POCL = "Portable Computing Language"
_PREFERRED_BLOCK = {"gpu": 256, "cpu": 64, "other": 64}


def pyopencl() -> Any:
    """The package, with the driver for CPUs prepared."""
    prepare()
    prepare_pocl()
    os.environ.setdefault("PYOPENCL_NO_CACHE", "1")  # its file of 0.2 ms a kernel: a damaged one ends every start
    try:
        import pyopencl as package
    except ImportError as error:
        raise BackendUnavailable(
            'OpenCL is unavailable: the package pyopencl is not installed (pip install "pyopencl[pocl]")'
        ) from error
    keep_invokers(package)
    return package


def native_devices() -> list[cl.Device]:
    """All OpenCL devices, GPUs before others before CPUs; each platform's own order is kept."""
    cl = pyopencl()
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        raise BackendUnavailable(
            'OpenCL is unavailable: no OpenCL driver is registered; for CPUs, pip install "pyopencl[pocl]"'
        ) from error
    used = [platform for platform in platforms if not leaves_out(platform.name)] if len(platforms) > 1 else platforms
    devices = [device for platform in used for device in platform.get_devices()]
    if not devices:
        names = ", ".join(platform.name for platform in platforms)
        raise BackendUnavailable(f"OpenCL is unavailable: the installed drivers ({names}) see no device")
    for device in (device for platform in used if _POCL in platform.name for device in platform.get_devices()):
        name_processor(device.int_ptr, device.version)
    rank = {"gpu": 0, "other": 1, "cpu": 2}
    return sorted(devices, key=lambda device: rank[_kind(device)])


def _kind(device: cl.Device) -> Any:
    cl = pyopencl()
    if device.type & cl.device_type.GPU:
        return "gpu"
    return "cpu" if device.type & cl.device_type.CPU else "other"


def list_devices() -> list[DeviceInfo]:
    """Describe every OpenCL device; raises :class:`BackendUnavailable` with what is missing."""
    return [_describe(index, device) for index, device in enumerate(native_devices())]


def _describe(index: int, device: cl.Device) -> DeviceInfo:
    kind = _kind(device)
    extensions = device.extensions.split()
    max_block = int(device.max_work_group_size)
    local = int(device.local_mem_size)
    nvidia = "NVIDIA" in device.platform.name
    compute_capability = _nvidia_compute_capability(device) if nvidia else None
    capabilities = Capabilities(
        kind=kind,
        fp64="cl_khr_fp64" in extensions,
        int64_atomics="cl_khr_int64_base_atomics" in extensions,
        host_visible_memory=kind == "cpu",
        linear_algebra="lapack" if kind == "cpu" else "kernels",
        compute_units=int(device.max_compute_units),
        local_memory=local,
        local_memory_per_unit=_nvidia_local_memory_per_unit(device) if nvidia else local,
        preferred_block=min(max_block, _PREFERRED_BLOCK[kind]),
        max_block=max_block,
        lanes=int(device.native_vector_width_int) if kind == "cpu" else 1,
        simt=kind != "cpu",
        inline_ptx=nvidia,
        bit_tensor_cores=(compute_capability or (0, 0)) >= (8, 0),
        shares_host_cores=kind == "cpu",
        compute_capability=compute_capability,
    )
    return DeviceInfo(
        language="opencl",
        index=index,
        name=_short_name(device.name),
        platform=f"{device.platform.name.strip()} ({device.platform.version.strip()})",
        driver=device.driver_version.strip(),
        uuid=_uuid(device, index),
        memory=int(device.global_mem_size),
        max_allocation=int(device.max_mem_alloc_size),
        capabilities=capabilities,
    )


def _short_name(name: str) -> str:
    """PoCL prefixes the CPU's name with its scheduling driver (``pthread-``); users know the CPU by its own."""
    return name.strip().removeprefix("pthread-").removeprefix("cpu-").removeprefix("basic-")


def _nvidia_compute_capability(device: cl.Device) -> tuple[int, int] | None:
    try:
        return int(device.compute_capability_major_nv), int(device.compute_capability_minor_nv)
    except Exception:
        return None


def _nvidia_local_memory_per_unit(device: cl.Device) -> int:
    """What NVIDIA's OpenCL does not report: shared memory of a multiprocessor (CUDA guide, table 21)."""
    known = {(7, 0): 96, (7, 5): 64, (8, 0): 164, (8, 6): 100, (8, 9): 100, (9, 0): 228, (10, 0): 228, (12, 0): 100}
    return 1024 * known.get(_nvidia_compute_capability(device) or (0, 0), 48)


def _uuid(device: cl.Device, index: int) -> str:
    """The driver's UUID where it and PyOpenCL report it, else a name that is stable on this machine."""
    raw = getattr(device, "uuid_khr", None) if "cl_khr_device_uuid" in device.extensions.split() else None
    if raw is not None:
        return "GPU-" + _hyphenated(bytes(raw).hex())
    return f"{device.platform.name.strip()}/{device.name.strip()}/{index}"


def _hyphenated(digits: str) -> str:
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
