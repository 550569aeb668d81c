"""The OpenCL backend: any OpenCL 1.2 device through PyOpenCL; CPUs through PoCL."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from ...errors import DeviceError, KernelError
from ...util.quirks import pocl_header
from ..backends import BackendModule
from ..device import Device
from ..guarded import checked, knows_lines
from ..info import Capabilities, DeviceInfo, MemoryInfo
from ..kernels.cache import alone, keep, kept, note_build
from ..kernels.program import Kernel, Signature, signatures
from ..kernels.source import Source, compiler_location, dump
from .beside import UNOPTIMIZED, Beside, beside_of, can_be_guarded, guarded, is_optimized
from .listing import list_devices, native_devices, pyopencl
from .queue import OpenCLQueue

if TYPE_CHECKING:
    import pyopencl as cl

_BUILD_OPTIONS = ("-cl-std=CL1.2", "-w")
_BUILD_ATTEMPTS = 5
_CACHE_FAULTS = ("unable to rename temporary", "rename temp", "Could not open file", "No such file or directory")
_COMPILES_AT_LAUNCH = "Portable Computing Language"  # for each size of groups
_ANY_BLOCK = range(1 << 31)
_KEEP_BINARIES = ("Portable Computing Language", "NVIDIA")  # platforms whose drivers do so themselves
_UNKNOWN_PROCESSOR = "unknown target CPU"
_OLD_COMPILER = "the OpenCL driver is older than this processor (Quintet's extra cpu-fast has a newer one)"
_ANEW = "\ntypedef int built_anew;\n"
"""Makes another source, as drivers see it, of one whose binary in their cache is damaged."""
_MOST_QUICK_BYTES = 1 << 24
"""On a device that holds more, the first launches may take long, and kernels are optimised before."""
_AT_ONCE, _BEFORE = "// Optimised at once", "// Optimised before"
"""Stand in templates whose kernels take most of a run from their first launch on: its first, and those that follow."""
_UNCHECKED = "bBef"
"""Formats (as in :mod:`struct`) of scalars that PyOpenCL passes without checking their range."""

_BUILDING = threading.Lock()  # warnings are filtered for the whole process


def _part_of(device: cl.Device, described: Capabilities) -> cl.Device:
    """As many of a CPU's compute units as it is described with, if the driver can divide it (OpenCL 1.2, 4.3)."""
    cl = pyopencl()
    units = described.compute_units
    if described.kind != "cpu" or units >= device.max_compute_units:
        return device
    by_counts = cl.device_partition_property.BY_COUNTS
    try:
        return device.create_sub_devices([by_counts, units, 0])[0]  # type: ignore[list-item]
    except cl.Error:
        return device


@dataclass(eq=False)
class _Context:
    """The context of a device and the programs compiled in it, for all in this process that open the device.

    A driver takes long to compile what it has compiled before: PoCL preprocesses the source to find it in its cache.
    """

    context: cl.Context
    programs: dict[str, cl.Program] = field(default_factory=dict)
    compiling: threading.Lock = field(default_factory=threading.Lock)
    beside: Beside | None = None  # where kernels start unoptimised
    begun: set[str] = field(default_factory=set)  # digests of the sources whose compilation was reported


_CONTEXTS: weakref.WeakValueDictionary[int, _Context] = weakref.WeakValueDictionary()
"""Those in use, by the index of their device."""
_KEPT: list[cl.Context] = []
"""One of a CPU that is never closed: PoCL reads its library of functions (0.4 s) anew once all contexts have been."""
_OPENING = threading.Lock()


def _is_shared(native: cl.Device) -> bool:
    """Whether all that open a device share a context: not that of a GPU, whose faults end all work of one."""
    return bool(native.type & pyopencl().device_type.CPU)


def _context_of(index: int, native: cl.Device, part: cl.Device) -> _Context:
    """The context of a device, or of a part of one, which has its own."""
    if part is not native or not _is_shared(native):
        return _Context(pyopencl().Context([part]))
    with _OPENING:
        found = _CONTEXTS.get(index)
        if not _KEPT:
            _KEPT.append(pyopencl().Context([native]))
        if found is None:
            found = _CONTEXTS[index] = _Context(pyopencl().Context([native]))
        return found


class OpenCLDevice(Device):
    """A device, and its context; those of a CPU share one, and so what has been compiled in it.

    A CPU described with fewer compute units than it has is opened as a sub-device of that many, where the driver can
    divide it. The rest is for threads that the host must not keep waiting: nothing is waited for awake then.
    """

    memory_is_counted = True

    def __init__(self, info: DeviceInfo, starts_quickly: bool = True) -> None:
        super().__init__(info)
        self._cl = pyopencl()
        self._builder: ThreadPoolExecutor | None = None
        self._is_pocl = info.platform.startswith(_COMPILES_AT_LAUNCH)
        try:
            native = native_devices()[info.index]
            self._part = part = _part_of(native, info.capabilities)
            self._shared = _context_of(info.index, native, part)
            self._context = self._shared.context
            self.queue = OpenCLQueue(self, self._context, part, awake=part is native)
        except (self._cl.Error, IndexError) as error:
            raise DeviceError(f"cannot open {info.id} ({info.name}): {error}") from error
        unoptimized = UNOPTIMIZED in os.environ.get("POCL_EXTRA_BUILD_FLAGS", "")
        if starts_quickly and self._is_pocl and not (unoptimized or checked() or self._shared.beside):
            self._shared.beside = beside_of(info.index)
        self.allocated_bytes: int = 0
        self._owned.stack.callback(self.sync)

    @override
    def memory(self) -> MemoryInfo:
        """The device's total, and that less what this process has taken here (OpenCL reports no more)."""
        return MemoryInfo(self.info.memory, self.info.memory - self.allocated_bytes)

    def _program(self, source: Source, quick: bool) -> cl.Program:
        """Rendered source compiled for this device, once optimised and once ``quick``."""
        key = _key(source, quick)
        with self._shared.compiling:
            program = self._shared.programs.get(key)
            if program is None:
                self._note_begun(source)
                try:
                    with alone(key):  # processes that start together compile nothing twice
                        program = self._compiled(source.text, quick)
                except self._cl.Error as error:
                    log = str(error)
                    where = compiler_location(log, source.text)
                    message = "does not compile" + (f" ({where})" if where else "")
                    if _UNKNOWN_PROCESSOR in log:
                        message = f"does not compile: {_OLD_COMPILER}"
                    raise KernelError(
                        source.template, "opencl", self.info.id, message, log=log, source_path=dump(source)
                    ) from error
                self._shared.programs[key] = program
                if os.environ.get("QUINTET_DUMP_KERNELS"):
                    dump(source)
        return program

    def _note_begun(self, source: Source) -> None:
        if source.digest not in self._shared.begun:
            self._shared.begun.add(source.digest)
            self._report_compile(source)

    @override
    def _begin_build(self, source: Source) -> None:
        """Compile while Python goes on: PoCL needs 0.4 s for its first program, 0.01 s for each that it finds."""
        if source.digest in self._shared.begun or not self._is_pocl:
            return
        if self._shared.beside is not None and self._may_start_quick(source) and _AT_ONCE not in source.text:
            self._shared.beside.begin(source)
        self._note_begun(source)
        if self._builder is None:
            self._builder = ThreadPoolExecutor(1, "quintet-build")
            self._owned.stack.callback(self._builder.shutdown, cancel_futures=True)
        self._builder.submit(self._program, source, self._starts_quick(source, next(iter(signatures(source)))))

    def _compiled(self, text: str, quick: bool) -> cl.Program:
        """Built by the driver; once more where processes that start together disturb each other in PoCL's cache."""
        for attempt in range(_BUILD_ATTEMPTS):
            try:
                with _BUILDING, warnings.catch_warnings():
                    warnings.simplefilter("ignore", self._cl.CompilerWarning)  # NVIDIA's log is never empty
                    note_build()
                    return self._built(guarded(text) if self._is_pocl else text, quick)
            except self._cl.Error as error:
                if attempt + 1 == _BUILD_ATTEMPTS or not any(sign in str(error) for sign in _CACHE_FAULTS):
                    raise
                time.sleep(0.05 * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def _short_header(self, text: str) -> str | None:
        is_needed = pocl_header.is_needed(self.info.platform, self._part.driver_version)
        return pocl_header.declarations(text) if is_needed else None

    def _built(self, text: str, quick: bool) -> cl.Program:
        """Built from source, or from the binary that Quintet keeps for drivers that keep none."""
        options = [*_BUILD_OPTIONS, *(["-g"] if knows_lines() else []), *([UNOPTIMIZED] if quick else [])]
        program: cl.Program
        if (short := self._short_header(text)) is not None:
            try:
                program = self._cl.Program(self._context, short + text).build([*options, pocl_header.OPTION])
                return program
            except self._cl.Error as error:
                if not pocl_header.needs_whole(str(error)):
                    raise
        if self.info.platform.startswith(_KEEP_BINARIES):
            program = self._cl.Program(self._context, text).build(options)
            return program
        words = f"{self.info.platform} {self.info.driver} {self.info.name} {options} {text}"
        name = f"{hashlib.sha256(words.encode()).hexdigest()}.clbin"
        if (binary := kept(name)) is not None:
            with contextlib.suppress(self._cl.Error):
                program = self._cl.Program(self._context, [self._part], [binary]).build(options)
                return program
        program = self._cl.Program(self._context, text).build(options)
        binaries: Any = program.get_info(self._cl.program_info.BINARIES)
        keep(name, binaries[0])
        return program

    @override
    def _build(self, source: Source, signature: Signature) -> Any:
        return self._handle(source, signature, self._starts_quick(source, signature.name))

    def _may_start_quick(self, source: Source) -> bool:
        beside = self._shared.beside
        is_small = beside is not None and beside.works and self.allocated_bytes <= _MOST_QUICK_BYTES
        return is_small and can_be_guarded(source.text)

    def _starts_quick(self, source: Source, entry: str) -> bool:
        is_urgent = _AT_ONCE in source.text or _BEFORE in source.text
        return self._may_start_quick(source) and not is_urgent and not is_optimized(source, entry)

    def _handle(self, source: Source, signature: Signature, quick: bool) -> tuple[Any, Any, Any, bool]:
        program = self._program(source, quick)
        with _BUILDING:  # PyOpenCL generates the code that passes arguments, which two threads must not do at once
            try:
                kernel = self._cl.Kernel(program, signature.name)
            except self._cl.Error:
                kernel = None
        if kernel is None:  # the driver's cache has a damaged binary, left by a process that was killed or a full disk
            try:
                program = self._compiled(source.text + _ANEW, quick)
                self._shared.programs[_key(source, quick)] = program
                with _BUILDING:
                    kernel = self._cl.Kernel(program, signature.name)
            except self._cl.Error as error:
                message = f"has no kernel {signature.name}"
                raise KernelError(source.template, "opencl", self.info.id, message) from error
        with _BUILDING:
            kernel.set_scalar_arg_dtypes([None if p.is_buffer else p.dtype for p in signature.parameters])
        unchecked = [(i, p.code) for i, p in enumerate(signature.parameters) if p.code in _UNCHECKED]
        return kernel, unchecked, set[int]() if self._is_pocl else _ANY_BLOCK, quick

    def note_first(self, kernel: Kernel, grid: int, block: int) -> None:
        """A kernel will be launched with that group size for the first time, or is there optimised since the last."""
        beside, source, entry = self._shared.beside, kernel.source, kernel.entry
        *_, compiled, quick = kernel.handle
        if quick and beside is not None and beside.has(source, entry, block):
            kernel.handle = self._handle(source, kernel.signature, quick=False)
            kernel.handle[2].add(block)
            return
        compiled.add(block)
        if quick and beside is not None:
            beside.ask(source, entry, grid, block, compiled)


def _key(source: Source, quick: bool) -> str:
    return hashlib.sha256(f"{source.digest} quick".encode()).hexdigest() if quick else source.digest


BACKEND = BackendModule("opencl", "OpenCL", 1, list_devices, OpenCLDevice)
