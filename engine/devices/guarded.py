"""Checked kernels: buffers lie between pages that nobody may touch, so that an access outside of them is noticed.

``QUINTET_CHECKED=1`` gives each buffer a place of its own in the address space: its end lies right before 16 GB of
addresses that must not be used, and its beginning behind as many, which is what an index of 32 bits can reach. So the
processor checks every access of a kernel, reads and writes, without a change of its text. What is between a buffer and
these pages, up to ``ALIGNMENT - 1`` bytes behind it and less than a page in front of it, is compared after each launch:
there, writes are noticed, but reads are not. ``QUINTET_CHECKED=begin`` puts the beginnings of buffers right behind the
pages instead. With ``lines`` in the variable, kernels are compiled with ``-g`` and errors name the template's line;
PoCL 3.0 then prints complaints of its own about some programs.

On a CPU, the first access that leaves a buffer is noted with its place and its instruction, it and those after it go to
pages that are nobody's, and the launch fails with :class:`engine.errors.KernelBoundsError`. For Linux on 64 bits.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import shutil
import subprocess
import sys
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError, KernelBoundsError

if TYPE_CHECKING:
    from .kernels.program import Kernel

VARIABLE = "QUINTET_CHECKED"
GUARD = 1 << 34
"""Bytes on each side of a buffer: what an index of 32 bits reaches in an array of doubles."""
ALIGNMENT = 128
"""That of the largest vector."""

_PAGE = mmap.PAGESIZE
_PATTERN = 0xA5
_SIGSEGV, _SIGINFO = 11, 4
_NO_ACCESS, _READ_WRITE = 0, 3
_PRIVATE_ANONYMOUS, _NO_RESERVE = 0x22, 0x4000
_ADDRESS_AT = 16  # si_addr in siginfo_t
_INSTRUCTION_AT, _ERROR_AT = 40 + 8 * 16, 40 + 8 * 19  # rip and err in the ucontext_t of x86-64
_MOST_PAGES = 1 << 14


def checked() -> str | None:
    """Which end of a buffer is checked to the byte, ``"end"`` or ``"begin"``; None where kernels are not checked."""
    value = os.environ.get(VARIABLE, "")
    return None if value in ("", "0") else "begin" if "begin" in value else "end"


def knows_lines() -> bool:
    """Whether kernels are compiled with ``-g``, so that an error names the template's line."""
    return "lines" in os.environ.get(VARIABLE, "")


@dataclass(frozen=True)
class Access:
    """An access outside of a buffer: its byte from the beginning, what is known of it, and the template's line."""

    offset: int
    write: bool | None
    line: str | None = None


@dataclass
class _Faults:
    """What a signal handler has noted of the addresses around one buffer."""

    first: int
    size: int
    accesses: list[tuple[int, bool | None, int]] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)


_KNOWN: dict[int, _Faults] = {}
"""Those of all buffers, by their first addresses."""


class GuardedMemory:
    """Host memory between pages that nobody may touch; given back with the last view of ``array``."""

    def __init__(self, nbytes: int) -> None:
        if sys.platform != "linux" or sys.maxsize < 2**32:
            raise DeviceError(f"kernels cannot be checked here: {VARIABLE} needs Linux on 64 bits")
        _catch_faults()
        body = -(-nbytes // _PAGE) * _PAGE
        size = body + 2 * GUARD
        first = _LIBC.mmap(None, size, _NO_ACCESS, _PRIVATE_ANONYMOUS | _NO_RESERVE, -1, 0)
        if first == ctypes.c_void_p(-1).value or _LIBC.mprotect(first + GUARD, body, _READ_WRITE):
            raise DeviceError(f"{nbytes} bytes between {2 * GUARD >> 30} GB of unused addresses were refused")
        self._faults = _KNOWN[first] = _Faults(first, size)
        before = 0 if checked() == "begin" else (body - nbytes) // ALIGNMENT * ALIGNMENT
        pages = (ctypes.c_ubyte * body).from_address(first + GUARD)
        weakref.finalize(pages, _give_back, self._faults)
        whole = np.ctypeslib.as_array(pages)
        self.begin = first + GUARD + before
        self.array: NDArray[np.uint8] = whole[before : before + nbytes]
        self._beside = ((0, whole[:before]), (before + nbytes, whole[before + nbytes :]))
        for _, part in self._beside:
            part[:] = _PATTERN

    def take_access(self) -> Access | None:
        """The first access outside since the last call; the pages are again as they were."""
        faults, found = self._faults, None
        if faults.accesses:
            address, write, instruction = faults.accesses[0]
            found = Access(address - self.begin, write, _line_of(instruction))
            for page in faults.pages:
                ctypes.memset(page, 0, _PAGE)
                _LIBC.mprotect(page, _PAGE, _NO_ACCESS)
            faults.accesses.clear()
            faults.pages.clear()
        for start, part in self._beside:
            changed = np.flatnonzero(part != _PATTERN)
            if len(changed):
                place = start + int(changed[-1 if start == 0 else 0]) - (self.begin - faults.first - GUARD)
                found = found or Access(place, True)
                part[:] = _PATTERN
        return found


def _give_back(faults: _Faults) -> None:
    _KNOWN.pop(faults.first, None)
    _LIBC.munmap(faults.first, faults.size)


def bounds_error(kernel: Kernel, native: list[Any], argument: Any, nbytes: int, access: Access) -> KernelBoundsError:
    deed = {None: "accessed", True: "wrote", False: "read"}[access.write]
    place = f"byte {access.offset} of a buffer of {nbytes} bytes that it was not given"
    for parameter, value in zip(kernel.signature.parameters, native, strict=True):
        if parameter.is_buffer and value is argument:
            size = 1 if parameter.dtype is None else parameter.dtype.itemsize
            place = f"{parameter.name}[{access.offset // size}] of {nbytes // size} elements"
    where = f" ({access.line})" if access.line else ""
    source = kernel.source
    return KernelBoundsError(
        source.template, source.language, kernel.device.info.id, f"{kernel.entry} {deed} {place}{where}"
    )


# --- the handler of the signal, which may come on any thread ----------------------------------------------------------

_Handler: Any = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Action(ctypes.Structure):
    """``struct sigaction`` of Linux on 64 bits."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "linux":
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(3 * (ctypes.c_int,)), ctypes.c_long)
        libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return libc


_LIBC: Any = None if sys.platform == "win32" else _libc()
_BEFORE = _Action()


@_Handler  # type: ignore[untyped-decorator]
def _note(_: int, about: int, context: int) -> None:
    """Note an access around a buffer, and let it go to a page of zeros; any other is left to the handler before."""
    address = ctypes.c_uint64.from_address(about + _ADDRESS_AT).value
    for faults in list(_KNOWN.values()):
        if faults.first <= address < faults.first + faults.size:
            is_known = platform.machine() == "x86_64"
            write = bool(ctypes.c_uint64.from_address(context + _ERROR_AT).value & 2) if is_known else None
            instruction = ctypes.c_uint64.from_address(context + _INSTRUCTION_AT).value if is_known else 0
            faults.accesses.append((address, write, instruction))
            faults.pages.append(address // _PAGE * _PAGE)
            if len(faults.pages) < _MOST_PAGES and not _LIBC.mprotect(faults.pages[-1], _PAGE, _READ_WRITE):
                return
    _LIBC.sigaction(_SIGSEGV, ctypes.byref(_BEFORE), None)


def _catch_faults() -> None:
    """Handle the signal; again where somebody else has taken it over since."""
    own = _Action(handler=ctypes.cast(_note, ctypes.c_void_p), flags=_SIGINFO)
    found = _Action()
    _LIBC.sigaction(_SIGSEGV, ctypes.byref(own), ctypes.byref(found))
    if found.handler != own.handler:
        ctypes.memmove(ctypes.byref(_BEFORE), ctypes.byref(found), ctypes.sizeof(_Action))


def _line_of(instruction: int) -> str | None:
    """The template's line of an instruction of a kernel that was compiled with ``-g``, where addr2line is installed."""
    tool = shutil.which("addr2line")
    if tool is None:
        return None
    with open("/proc/self/maps", encoding="utf-8") as stream:
        rows = [row.split() for row in stream if row.rstrip().endswith(".so")]
    for span, _, offset, _, _, path in (row for row in rows if len(row) == 6):
        first, last = (int(end, 16) for end in span.split("-"))
        if first <= instruction < last:
            at = hex(instruction - first + int(offset, 16))
            said = subprocess.run([tool, "-e", path, at], capture_output=True, text=True, check=False).stdout
            file, _, line = said.split("\n")[0].split(" ")[0].rpartition(":")
            template = "/".join(file.rsplit("/", 2)[-2:])
            return f"{template}, line {line}" if template.endswith(".mako") and line.isdigit() else None
    return None
