"""Programs: compiled templates whose kernels are called by name, with their arguments by name.

The signature of a kernel is read from its rendered ``KERNEL`` line, so that no list of types is kept beside the
template. Every argument is checked before a launch: its name, a buffer's element type, a scalar's range.
"""

from __future__ import annotations

import functools
import operator
import re
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import KernelArgumentError, KernelError, nearest
from ..buffer import Buffer
from .record import SCALARS, structures
from .source import Source

if TYPE_CHECKING:
    from ..device import Device

Launch = Callable[[int, int, tuple[Any, ...]], None]
"""Starts a kernel: ``launch(grid, block, values)``; see :meth:`Kernel.ordered`."""

_QUALIFIERS = {"const", "volatile", "GLOBAL", "LOCAL", "RESTRICT"}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_KERNEL = re.compile(r"\bKERNEL\s+(?:LAUNCH_BOUNDS\s*\([^()]*\)\s*)?(\w+)\s*\(([^()]*)\)")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
_TYPEDEF = re.compile(r"\btypedef\s+(?:const\s+|GLOBAL\s+|LOCAL\s+|TABLE_SPACE\s+)*(\w+)\s+(\w+)\s*[;_]")
_DYNAMIC = re.compile(r"\bDYNAMIC_LOCAL_ARRAY\s*\(\s*(\w+)\s*,\s*\w+\s*,\s*(\w+)\s*\)")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel.

    ``dtype`` is the type of a scalar, or of the elements of a buffer (of the lanes, where those are vectors; of a
    :class:`.record.Record`, its type); None where a buffer holds other structures, and any buffer may be given.
    """

    name: str
    dtype: np.dtype[Any] | None
    is_buffer: bool

    @property
    def code(self) -> str:
        """The parameter in the format of :mod:`struct`."""
        return "P" if self.is_buffer or self.dtype is None else self.dtype.char


@dataclass(frozen=True)
class Signature:
    """A kernel as its ``KERNEL`` line declares it, and the bytes of its dynamic local memory."""

    name: str
    parameters: tuple[Parameter, ...]
    local_bytes: int


@functools.lru_cache(maxsize=128)
def signatures(source: Source) -> Mapping[str, Signature]:
    """The kernels of a rendered template by name; read once, as each run makes its programs anew."""
    commentless = _COMMENT.sub(" ", source.text)
    macros = {name: value.replace("\\\n", " ") for name, value in _MACRO.findall(commentless)}
    text = _DIRECTIVE.sub("", commentless)
    aliases = {match[2]: match[1] for match in _TYPEDEF.finditer(text)}
    records = structures(text)
    found = list(_KERNEL.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return {
        match[1]: Signature(
            match[1],
            tuple(_parameter(source, match[1], part, aliases, records) for part in _parts(match[2], macros)),
            _dynamic_bytes(source, match[1], text[match.end() : end], aliases),
        )
        for match, end in zip(found, ends, strict=True)
    }


def _parts(text: str, macros: Mapping[str, str]) -> list[str]:
    """The declarations in a parameter list, macros without parameters expanded."""
    known = {name: value for name, value in macros.items() if name not in _QUALIFIERS}
    expanded = re.sub(r"\b[A-Z]\w*\b", lambda match: known.get(match[0], match[0]), text)
    return [part for part in expanded.split(",") if part.strip()]


def _parameter(
    source: Source, kernel: str, text: str, aliases: Mapping[str, str], records: Mapping[str, np.dtype[Any]]
) -> Parameter:
    words = [word for word in text.replace("*", " * ").split() if word not in _QUALIFIERS]
    is_buffer = "*" in words
    names = [word for word in words if word != "*"]
    if len(names) != 2:
        raise KernelError(source.template, source.language, "rendering", f"{kernel}: cannot read parameter {text!r}")
    dtype = records[names[0]] if is_buffer and names[0] in records else _element_type(names[0], aliases)
    if dtype is None and not is_buffer:
        raise KernelError(source.template, source.language, "rendering", f"{kernel}: unknown type {names[0]}")
    return Parameter(names[1], dtype, is_buffer)


def _element_type(name: str, aliases: Mapping[str, str]) -> np.dtype[Any] | None:
    """The scalar type behind a name: typedefs are followed, vectors stand for their lanes; None for a structure."""
    seen: set[str] = set()
    while name not in SCALARS and name in aliases and name not in seen:
        seen.add(name)
        name = aliases[name]
    if name not in SCALARS:
        name = re.sub(r"(?<=[a-z])(2|3|4|8|16)$", "", name)
    return np.dtype(SCALARS[name]) if name in SCALARS else None


def _dynamic_bytes(source: Source, kernel: str, body: str, aliases: Mapping[str, str]) -> int:
    if "DYNAMIC_LOCAL_ARRAY" not in body:
        return 0
    match = _DYNAMIC.search(body)
    dtype = _element_type(match[1], aliases) if match else None
    if match is None or dtype is None or not match[2].isdigit():
        raise KernelError(
            source.template, source.language, "rendering", f"{kernel}: the size of its DYNAMIC_LOCAL_ARRAY is no number"
        )
    return int(match[2]) * dtype.itemsize


class Kernel:
    """A kernel of one program on one device: ``kernel(grid, block, name=value, ...)`` launches it.

    ``grid`` work-groups of ``block`` work-items are started, asynchronously and in order with the other work of the
    device's present stream; nothing is launched for ``grid`` 0. ``handle`` is the backend's own kernel.
    """

    def __init__(self, device: Device, source: Source, signature: Signature, handle: Any) -> None:
        self.device = device
        self.source = source
        self.signature = signature
        self.handle = handle
        parameters = signature.parameters
        names = [parameter.name for parameter in parameters]
        self._count = len(names)
        self._values: Callable[[Mapping[str, Any]], tuple[Any, ...]] = _getter(names)
        self._buffers = tuple((i, p.dtype) for i, p in enumerate(parameters) if p.is_buffer)
        self.format = struct.Struct("".join(parameter.code for parameter in parameters))

    @property
    def entry(self) -> str:
        return self.signature.name

    @property
    def local_bytes(self) -> int:
        return self.signature.local_bytes

    def __call__(self, grid: int, block: int, /, **arguments: Any) -> None:
        if len(arguments) != self._count:
            raise self._misnamed(arguments)
        try:
            native = list(self._values(arguments))
        except KeyError:
            raise self._misnamed(arguments) from None
        for index, dtype in self._buffers:
            buffer = native[index]
            if buffer.__class__ is not Buffer or (dtype is not None and buffer.dtype != dtype):
                raise self._mistyped(index, buffer)
            native[index] = buffer.argument
        if grid > 0:
            self.device.queue.launch(self, grid, block, native)

    def bind(self, **arguments: Any) -> BoundKernel:
        """The kernel with some of its arguments fixed; what remains is given at each launch."""
        return BoundKernel(self, arguments)

    def ordered(self, *names: str) -> Launch:
        """The kernel as ``launch(grid, block, values)``, values in the order of ``names``; for many short launches."""
        if sorted(names) != sorted(parameter.name for parameter in self.signature.parameters):
            raise self._misnamed(dict.fromkeys(names))
        places = _getter([names.index(parameter.name) for parameter in self.signature.parameters])
        buffers, device = self._buffers, self.device

        def launch(grid: int, block: int, values: tuple[Any, ...]) -> None:
            native = list(places(values))
            for index, dtype in buffers:
                buffer = native[index]
                if buffer.__class__ is not Buffer or (dtype is not None and buffer.dtype != dtype):
                    raise self._mistyped(index, buffer)
                native[index] = buffer.argument
            if grid > 0:
                device.queue.launch(self, grid, block, native)

        return launch

    def native(self, index: int, value: Any) -> Any:
        """One argument as the backend takes it, checked."""
        parameter = self.signature.parameters[index]
        if not parameter.is_buffer:
            self._packed(index, value)
            return value
        if not isinstance(value, Buffer) or (parameter.dtype is not None and value.dtype != parameter.dtype):
            raise self._mistyped(index, value)
        return value.argument

    def out_of_range(self, native: list[Any]) -> KernelArgumentError:
        """Which scalar of a launch that could not be packed is wrong; for backends."""
        for index, parameter in enumerate(self.signature.parameters):
            if not parameter.is_buffer:
                try:
                    self._packed(index, native[index])
                except KernelArgumentError as error:
                    return error
        return self._error("its arguments cannot be packed")

    def refused(self, error: Exception) -> KernelError:
        """The error of a launch that the driver refuses; for backends."""
        source = self.source
        return KernelError(source.template, source.language, self.device.info.id, f"{self.entry}: {error}")

    def _packed(self, index: int, value: Any) -> bytes:
        parameter = self.signature.parameters[index]
        try:
            return struct.pack(parameter.code, value)
        except (struct.error, OverflowError, TypeError):
            raise self._error(f"{parameter.name} must be {parameter.dtype}; got {_shown(value)}") from None

    def _mistyped(self, index: int, value: Any) -> KernelArgumentError:
        parameter = self.signature.parameters[index]
        rule = "a buffer" if parameter.dtype is None else f"a buffer of {parameter.dtype}"
        given = f"a buffer of {value.dtype}" if isinstance(value, Buffer) else _shown(value)
        return self._error(f"{parameter.name} must be {rule}; got {given}")

    def _misnamed(self, arguments: Mapping[str, Any]) -> KernelArgumentError:
        known = [parameter.name for parameter in self.signature.parameters]
        unknown = [f"unknown argument '{name}'{nearest(name, known)}" for name in arguments if name not in known]
        missing = [f"missing argument '{name}'" for name in known if name not in arguments]
        return self._error("; ".join(unknown + missing))

    def _error(self, message: str) -> KernelArgumentError:
        return KernelArgumentError(
            self.source.template, self.source.language, self.device.info.id, f"{self.entry}: {message}"
        )


class BoundKernel:
    """A kernel some of whose arguments are fixed; called like a :class:`Kernel` with the others."""

    def __init__(self, kernel: Kernel, fixed: Mapping[str, Any]) -> None:
        known = {parameter.name: index for index, parameter in enumerate(kernel.signature.parameters)}
        if unknown := [name for name in fixed if name not in known]:
            raise kernel._error(f"unknown argument '{unknown[0]}'{nearest(unknown[0], known)}")
        self.kernel = kernel
        self._native: list[Any] = [None] * len(known)
        for name, value in fixed.items():
            self._native[known[name]] = kernel.native(known[name], value)
        parameters = kernel.signature.parameters
        self._fixed = dict(fixed)
        self._free = tuple(
            (n, i, parameters[i].is_buffer, parameters[i].dtype) for n, i in known.items() if n not in fixed
        )

    def __call__(self, grid: int, block: int, /, **arguments: Any) -> None:
        kernel = self.kernel
        if len(arguments) != len(self._free):
            raise kernel._misnamed({**self._fixed, **arguments})
        native = self._native.copy()
        try:
            for name, index, is_buffer, dtype in self._free:
                value = arguments[name]
                if is_buffer:
                    if value.__class__ is not Buffer or (dtype is not None and value.dtype != dtype):
                        raise kernel._mistyped(index, value)
                    value = value.argument
                native[index] = value
        except KeyError:
            raise kernel._misnamed({**self._fixed, **arguments}) from None
        if grid > 0:
            kernel.device.queue.launch(kernel, grid, block, native)


@dataclass
class Building:
    """What has been built for a device since it was opened, or loaded from a cache."""

    programs: list[str] = field(default_factory=list)  # their templates
    kernels: int = 0  # in these programs
    used: int = 0  # those of them that were asked for
    rendering: float = 0.0  # seconds for texts,
    compiling: float = 0.0  # and for programs; drivers for CPUs compile a kernel once more when it is first launched


class Program:
    """A template with its constants on one device; its kernels are attributes, compiled when first asked for.

    Made by :meth:`engine.devices.Device.program`, which gives the same object for the same constants.

    Parameters
    ----------
    device : Device
    source : Source

    Raises
    ------
    engine.errors.KernelError
        If the parameters of a kernel cannot be read.
    """

    def __init__(self, device: Device, source: Source) -> None:
        self.source = source
        self.signatures = signatures(source)
        self._device = device
        self._kernels: dict[str, Kernel] = {}

    def kernel(self, name: str) -> Kernel:
        """A kernel by its name, which may be put together from parts.

        Raises
        ------
        engine.errors.KernelError
            If there is none of that name, or it does not compile.
        """
        found = self._kernels.get(name)
        if found is None:
            if name not in self.signatures:
                known = ", ".join(self.signatures)
                raise KernelError(
                    self.source.template,
                    self.source.language,
                    self._device.info.id,
                    f"has no kernel {name}{nearest(name, self.signatures)} (known: {known})",
                )
            signature = self.signatures[name]
            began = time.perf_counter()
            handle = self._device._build(self.source, signature)
            building = self._device.building
            building.compiling += time.perf_counter() - began
            if not self._kernels:
                building.programs.append(self.source.template)
                building.kernels += len(self.signatures)
            building.used += 1
            found = self._kernels[name] = Kernel(self._device, self.source, signature, handle)
        return found

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_"):
            raise AttributeError(name)
        kernel = self.kernel(name)
        setattr(self, name, kernel)  # found without this method from now on
        return kernel

    def forget(self) -> None:
        """Drop the backend's kernels: whoever still has one must not keep alive what it needs."""
        for kernel in self._kernels.values():
            kernel.handle = None
        self._kernels.clear()


def _getter(keys: list[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Like ``operator.itemgetter``, and a tuple for one key or none too."""
    if len(keys) > 1:
        return operator.itemgetter(*keys)
    return lambda values: tuple(values[key] for key in keys)


def _shown(value: Any) -> str:
    text = f"{type(value).__name__} {value!r}"
    return text if len(text) <= 60 else text[:59] + "…"
