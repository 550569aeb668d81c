"""A short header for PoCL, which otherwise reads 18 000 lines of declarations for each program (seen in 3.0).

PoCL puts Clang's ``opencl-c.h`` in front of every source, both when it compiles it and when it looks for it in its
cache: 0.10 of the 0.11 s that a small program takes. That header is left out where the name that guards it is defined.
:func:`declarations` has the functions that a source names, in the words of the header and with all overloads, so that
the same code is made. What names others is compiled with the whole header: see :func:`needs_whole`.
"""

import contextlib
import functools
import importlib.util
import re
from pathlib import Path

OPTION = "-D_OPENCL_H_"

_WIDTHS = ("", "2", "3", "4", "8", "16")
_INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
_UNARY = (
    "acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi erf erfc exp exp2 exp10 expm1 fabs "
    "floor lgamma log log2 log10 log1p rint round rsqrt sin sinh sinpi sqrt tan tanh tanpi tgamma trunc"
)
_BINARY = "atan2 copysign fdim fmod hypot nextafter pow powr remainder"
_ATOMIC = "add sub xchg min max and or xor"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"\b[a-z]\w+\b")
_CALLED = re.compile(r"\b([a-z]\w+)\s*\(")


_FAMILIES = re.compile(
    "(half|native)_(cos|divide|exp|exp2|exp10|log|log2|log10|powr|recip|rsqrt|sin|sqrt|tan)$|(read|write|get)_image"
    "|(convert|vload|vstore)|shuffle2?$|async_work|atom(ic)?_|fast_(distance|length|normalize)$|is[a-z]+$"
)
_OTHERS = (
    "abs abs_diff add_sat all any atan2pi bitselect clamp cross degrees distance dot fmax fmin fract frexp "
    "get_global_offset hadd ilogb ldexp length lgamma_r logb mad24 mad_hi mad_sat maxmag "
    "mem_fence minmag mix modf mul24 nan normalize pown prefetch printf radians read_mem_fence remquo rhadd "
    "rootn select sign signbit sincos smoothstep step sub_sat upsample wait_group_events write_mem_fence"
)
"""Functions of the long header that are not declared here, beside :data:`_FAMILIES`."""


def is_needed(platform: str, driver: str) -> bool:
    """Whether a device's driver reads the long header, and has the declarations that are here."""
    return platform.startswith("Portable Computing Language") and driver.startswith("3.0") and base() is not None


@functools.cache
def base() -> str | None:
    """The types and constants of PoCL's own header, where pip has installed PoCL; None elsewhere."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        spec = importlib.util.find_spec("pocl_binary_distribution")
        path = Path(str(spec.origin)).parent / ".libs" / "share" / "pocl" / "include" / "opencl-c-base.h"  # type: ignore[union-attr]
        return path.read_text(encoding="utf-8")
    return None


def declarations(text: str) -> str | None:
    """The header for a source, types and each function that it names; None where it calls others of the long one."""
    known, types, code = _known(), base(), _COMMENT.sub(" ", text)
    called = set(_CALLED.findall(code)) - known.keys()
    if types is None or not called.isdisjoint(_OTHERS.split()) or any(_FAMILIES.match(name) for name in called):
        return None
    lines = [line for name in sorted(set(_WORD.findall(code)) & known.keys()) for line in known[name]]
    return "\n".join((types, *_ATTRIBUTES, *lines, ""))


def needs_whole(log: str) -> bool:
    """Whether the compiler has met a name that is not declared."""
    return any(words in log for words in ("implicit declaration", "undeclared identifier", "unknown type name"))


_ATTRIBUTES = (
    "#define __ovld __attribute__((overloadable))",
    "#define __conv __attribute__((convergent))",
    "#define __purefn __attribute__((pure))",
    "#define __cnfn __attribute__((const))",
)


@functools.cache
def _known() -> dict[str, list[str]]:
    """The declarations by the functions' names."""
    found: dict[str, list[str]] = {}
    for name in ("global_id", "global_size", "local_id", "local_size", "group_id", "num_groups"):
        found[f"get_{name}"] = [f"size_t __ovld __cnfn get_{name}(uint dimindx);"]
    found["get_work_dim"] = ["uint __ovld __cnfn get_work_dim(void);"]
    found["barrier"] = ["void __ovld __conv barrier(cl_mem_fence_flags flags);"]
    floats = [f"{base}{width}" for base in ("float", "double") for width in _WIDTHS]
    integers = [f"{base}{width}" for base in _INTEGERS for width in _WIDTHS]
    for names, count in ((_UNARY, 1), (_BINARY, 2), ("fma mad", 3)):
        for name in names.split():
            found[name] = [f"{kind} __ovld __cnfn {name}({', '.join(count * [kind])});" for kind in floats]
    for name, count in (("clz", 1), ("popcount", 1), ("mul_hi", 2), ("rotate", 2)):
        found[name] = [f"{kind} __ovld __cnfn {name}({', '.join(count * [kind])});" for kind in integers]
    for name in ("max", "min"):
        pairs = [(kind, kind) for kind in (*integers, *floats)]
        pairs += [(f"{base}{width}", base) for base in (*_INTEGERS, "float", "double") for width in _WIDTHS[1:]]
        found[name] = [f"{kind} __ovld __cnfn {name}({kind}, {other});" for kind, other in pairs]
    for name in ("isfinite", "isinf", "isnan"):
        found[name] = [f"int __ovld __cnfn {name}({kind});" for kind in ("float", "double")]
        for width in _WIDTHS[1:]:
            found[name] += [f"{mask}{width} __ovld __cnfn {name}({kind}{width});" for mask, kind in _MASKS]
    for action in _ATOMIC.split():
        for prefix, kinds in (("atomic_", ("int", "uint")), ("atom_", ("int", "uint", "long", "ulong"))):
            more = ("float",) if (prefix, action) == ("atomic_", "xchg") else ()
            found[prefix + action] = [
                f"{kind} __ovld {prefix}{action}(volatile {space} {kind} *p, {kind} val);"
                for kind in (*kinds, *more)
                for space in ("__global", "__local")
            ]
    spaces, bases = ("__global", "__local", "__private"), (*_INTEGERS, "float", "double")
    for width in _WIDTHS[1:]:
        found[f"vload{width}"] = [
            f"{base}{width} __ovld __purefn vload{width}(size_t offset, const {space} {base} *p);"
            for base in bases
            for space in (*spaces, "__constant")
        ]
        found[f"vstore{width}"] = [
            f"void __ovld vstore{width}({base}{width} data, size_t offset, {space} {base} *p);"
            for base in bases
            for space in spaces
        ]
        for base in bases:
            name = f"convert_{base}{width}"
            found[name] = [f"{base}{width} __ovld __cnfn {name}({other}{width});" for other in bases]
    return found


_MASKS = (("int", "float"), ("long", "double"))
