"""PoCL on a processor that is newer than the compiler inside it.

PoCL compiles for the processor that LLVM names. An LLVM older than the processor says ``generic``, and then refuses
that name: every kernel ends with ``unknown target CPU 'generic'`` (PoCL's issue 1049). So do AMD's processors from
family 26 (Zen 5) on with the PoCL that pip installs, whose LLVM is of 2022. Those of family 25 with AVX-512 (Zen 4) it
takes for Zen 3, which has none, but links functions for AVX-512: kernels with vectors of 512 bits crash (PoCL 3.0).
PoCL has no setting for the name, but keeps a pointer to it in its description of the device. That pointer is turned to
the name of the level of x86-64 (System V ABI, AMD64 supplement, section 3.1.1) whose instructions the processor has.
"""

import contextlib
import ctypes
import os
from pathlib import Path

_SECOND = frozenset(("cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"))
_THIRD = frozenset(("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"))
_FOURTH = frozenset(("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"))
_LEVELS = {"x86-64-v4": _SECOND | _THIRD | _FOURTH, "x86-64-v3": _SECOND | _THIRD, "x86-64-v2": _SECOND}
"""The instructions of the levels as Linux names them.

PoCL links the library of built-in functions that suits the processor. With a level below, vectors of 512 bits would be
passed to its functions in another way than they expect.
"""
_DESCRIPTION_BYTES = 1024  # of PoCL 3.0; what follows in memory is of others
_ADDRESSES = range(4096, 1 << 47)
_MISNAMED = ("generic", "znver3")
_NAMES: dict[int, ctypes.Array[ctypes.c_char]] = {}
"""The names given, by the address of the device: PoCL points to them as long as the process runs."""


def name_processor(address: int, version: str, system: Path = Path("/proc")) -> str | None:
    """Name a processor that PoCL's LLVM takes for another; the name, or None if it is right or nothing can be done."""
    given = version.rstrip().rpartition("-")[2]
    if given not in _MISNAMED:
        return None
    if address not in _NAMES:
        with contextlib.suppress(OSError):
            level = _level(system)
            if given != "generic" and level != "x86-64-v4":  # it has no AVX-512: the name is right
                return None
            name = ctypes.create_string_buffer(level.encode())
            pointers = _pointers(address, given.encode() + b"\0", system / "self" / "mem")
            if len(pointers) == 1:
                ctypes.c_void_p.from_address(pointers[0]).value = ctypes.addressof(name)
                _NAMES[address] = name
    return _NAMES[address].value.decode() if address in _NAMES else None


def _level(system: Path) -> str:
    text = (system / "cpuinfo").read_text(encoding="utf-8", errors="replace")
    lines = (line.partition(":") for line in text.splitlines())
    flags = next((set(value.split()) for key, _, value in lines if key.strip() == "flags"), set())
    for name, instructions in _LEVELS.items():
        if instructions <= flags:
            return name
    return "x86-64"


def _pointers(address: int, name: bytes, memory: Path) -> list[int]:
    """Where in the description a pointer to a name is; read through the kernel, which refuses a wrong address."""
    found = []
    with memory.open("rb", buffering=0) as file:
        description = os.pread(file.fileno(), _DESCRIPTION_BYTES, address)
        for offset in range(0, len(description) - 7, 8):
            target = int.from_bytes(description[offset : offset + 8], "little")
            if target in _ADDRESSES:
                with contextlib.suppress(OSError):
                    if os.pread(file.fileno(), len(name), target) == name:
                        found.append(address + offset)
    return found
