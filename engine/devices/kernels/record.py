"""Records: the named fields of one state on a device, declared once for the host and for kernels."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCALARS = {
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "u16": "uint16",
    "i32": "int32",
    "u32": "uint32",
    "i64": "int64",
    "u64": "uint64",
    "f32": "float32",
    "f64": "float64",
    "char": "int8",
    "uchar": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "uint": "uint32",
    "long": "int64",
    "ulong": "uint64",
    "half": "float16",
    "float": "float32",
    "double": "float64",
}
"""The scalar types of the dialect (and those that its vector types are named after) as NumPy calls them."""

_KEYWORDS = (
    "auto bool break case catch char class complex const constant continue default delete do double else enum event_t "
    "explicit export extern false float for friend generic global goto half if image1d_t image2d_t image3d_t imaginary "
    "inline int kernel local long mutable namespace new operator pipe private protected public quad read_only "
    "read_write register restrict return sampler_t short signed sizeof static struct switch template this throw true "
    "try typedef typename uchar uint ulong uniform union unsigned ushort using virtual void volatile while write_only"
)
"""Words of OpenCL C and of CUDA C++, which cannot name a field."""

_STRUCTURE = re.compile(r"\btypedef\s+struct\s*\{([^{}]*)\}\s*(\w+)\s*;")
_FIELD = re.compile(r"(\w+)\s+(\w+)(?:\[(\d+)\])?")


class Record:
    """One state on a device: a structure in kernels, a NumPy structured type on the host, with the same alignment.

    Examples
    --------
    >>> CHAIN = Record("chain", tau_precision="f64", xi_rate="f64")  # or ("f64", n), an array of n
    >>> program = device.program("gibbs/conditionals", chain=CHAIN, block=256)

    In the template ``${chain.declaration()}`` defines ``chain_t``, and a kernel reads ``chains[c].tau_precision``; a
    launch refuses a buffer of another type than ``CHAIN.dtype``.
    """

    def __init__(self, name: str, /, **fields: str | tuple[str, int]) -> None:
        self.name = name
        self._fields = {field: (kind, 0) if isinstance(kind, str) else kind for field, kind in fields.items()}
        for field, (kind, count) in self._fields.items():
            if kind not in SCALARS or count < 0:
                raise ValueError(f"{name}.{field} must be a scalar type, or one and a length; got {kind!r}, {count}")
            if field in _KEYWORDS.split() or re.fullmatch(
                r"(u?(char|short|int|long)|half|float|double)(2|3|4|8|16)", field
            ):
                raise ValueError(f"{name}.{field}: '{field}' is a word of OpenCL C or CUDA C++")
        self.dtype = _dtype(self._fields)

    def __repr__(self) -> str:
        return f"Record({self.name!r}, {self._fields!r})"  # programs and rendered texts are kept under it

    def declaration(self) -> str:
        """The structure in the dialect; to be put into a template."""
        lines = [f"    {kind} {field}{f'[{count}]' if count else ''};" for field, (kind, count) in self._fields.items()]
        return "\n".join(["typedef struct {", *lines, f"}} {self.name}_t;"])

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._fields)

    def view(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Records of fields of one type that share the memory of an array, whose last axis has the numbers of each."""
        return numbers.view(self.dtype)[..., 0]

    def numbers(self, records: NDArray[Any]) -> NDArray[Any]:
        """The reverse of :meth:`view`."""
        scalar = np.dtype(SCALARS[next(iter(self._fields.values()))[0]])
        return records[..., None].view(scalar)


def structures(text: str) -> dict[str, np.dtype[Any]]:
    """The structures of scalars that a rendered template declares, by name, as NumPy has them."""
    found = {}
    for body, name in _STRUCTURE.findall(text):
        fields = [_FIELD.fullmatch(part.strip()) for part in body.split(";") if part.strip()]
        known = {match[2]: (match[1], int(match[3] or 0)) for match in fields if match and match[1] in SCALARS}
        if len(known) == len(fields):
            found[name] = _dtype(known)
    return found


def _dtype(fields: dict[str, tuple[str, int]]) -> np.dtype[Any]:
    kinds = [(name, SCALARS[kind], *([(count,)] if count else [])) for name, (kind, count) in fields.items()]
    return np.dtype(kinds, align=True)
