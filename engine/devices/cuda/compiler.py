"""CUDA source to machine code (cubin) with NVRTC, which needs neither a GPU nor a driver; kept in the user's cache."""

import functools
import hashlib
import importlib.util
import os
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ...errors import BackendUnavailable, KernelError
from ..host import host_cores
from ..kernels.cache import alone, keep, kept
from ..kernels.source import Source, compiler_location, dump

_OPTIONS = ("-lineinfo",)
_LOADING = threading.Lock()
_THREADS = 16
_BEGINNING = threading.Lock()
_BEGUN: weakref.WeakValueDictionary[tuple[str, str], Future[bytes]] = weakref.WeakValueDictionary()
"""What a device of this process waits for, by the source's digest and the architecture."""
_INSTALLATION = "pip install cuda-bindings nvidia-cuda-nvrtc"


def require_compiler() -> None:
    """Check, without importing it, that the compiler's binding is installed."""
    for name in ("cuda", "cuda.bindings"):
        if importlib.util.find_spec(name) is None:
            raise BackendUnavailable(
                f"CUDA is unavailable: its compiler is not installed (no module {name}); {_INSTALLATION}"
            )


def _nvrtc() -> tuple[Any, str]:
    """NVRTC's binding and version; imported by one thread at a time, for another would see it half made."""
    with _LOADING:
        return _imported_nvrtc()


@functools.cache
def _imported_nvrtc() -> tuple[Any, str]:
    try:
        from cuda.bindings import nvrtc
    except ImportError as error:
        raise BackendUnavailable(
            f"CUDA is unavailable: its compiler is not installed ({error}); {_INSTALLATION}"
        ) from error
    try:
        _, major, minor = nvrtc.nvrtcVersion()
    except RuntimeError as error:
        raise BackendUnavailable(f"CUDA is unavailable: the NVRTC library is not installed; {_INSTALLATION}") from error
    return nvrtc, f"{major}.{minor}"


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(_THREADS, host_cores()), thread_name_prefix="compiler")


def begin_loading() -> None:
    """Import NVRTC in the background: 0.1 to 0.4 s of a start."""
    _threads().submit(_nvrtc)


def begin_cubin(source: Source, architecture: str, device: str) -> Future[bytes]:
    """:func:`compile_cubin` in the background; the same one for all devices of an architecture that still want it."""
    key = (source.digest, architecture)
    with _BEGINNING:
        found = _BEGUN.get(key)
        if found is None or found.cancelled():
            found = _BEGUN[key] = _threads().submit(compile_cubin, source, architecture, device)
        return found


def compile_cubin(source: Source, architecture: str, device: str) -> bytes:
    _, version = _nvrtc()
    key = hashlib.sha256(f"{source.digest} {architecture} {version} {' '.join(_OPTIONS)}".encode()).hexdigest()
    if (binary := kept(f"{key}.cubin")) is not None:
        return binary
    with alone(key):  # another process may be compiling it
        return kept(f"{key}.cubin") or _compiled(key, source, architecture, device)


def _compiled(key: str, source: Source, architecture: str, device: str) -> bytes:
    if os.environ.get("QUINTET_DUMP_KERNELS"):
        dump(source)
    code, log = _machine_code(source.text, f"{source.template}.mako", (f"--gpu-architecture={architecture}", *_OPTIONS))
    if code is None:
        where = compiler_location(log, source.text)
        message = f"does not compile for {architecture}" + (f" ({where})" if where else "")
        raise KernelError(source.template, "cuda", device, message, log=log, source_path=dump(source))
    keep(f"{key}.cubin", code)
    return code


def _machine_code(text: str, name: str, options: tuple[str, ...]) -> tuple[bytes | None, str]:
    """Machine code, or None and why there is none."""
    nvrtc, _ = _nvrtc()
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), 0, [], [])
    try:
        (fault,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
        if fault != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = b" " * nvrtc.nvrtcGetProgramLogSize(program)[1]
            nvrtc.nvrtcGetProgramLog(program, log)  # writes there
            return None, f"{fault.name}: {log.rstrip(bytes(1)).decode(errors='replace')}"
        code = b" " * nvrtc.nvrtcGetCUBINSize(program)[1]
        nvrtc.nvrtcGetCUBIN(program, code)
        return code, ""
    finally:
        nvrtc.nvrtcDestroyProgram(program)
