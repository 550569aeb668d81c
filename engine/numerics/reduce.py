"""Sum, minimum, maximum and argmin of a buffer, in an order that no device and no launch shape can change.

The values are cut into at most 1024 equal spans, a span into 256 strands, and both are put together by fixed trees (see
``kernels/common/reduce.mako``). Spans depend on the number of values alone, so floating-point sums agree bit for bit
between devices that keep subnormal numbers, and with the NumPy reference :func:`ordered_sum`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..devices import Buffer, Capabilities, Device, Program
from ..devices.kernels.variants import each_once
from .closing import Closing
from .groups import group_size

__all__ = [
    "Reducer",
    "argmin",
    "kernel_variants",
    "ordered_sum",
    "reduce_max",
    "reduce_min",
    "reduce_sum",
]

Operation = Literal["sum", "min", "max", "argmin", "argmin_pairs"]

_STRANDS = 256
_SPANS = 1024
_LEAST_SPAN = 16 * _STRANDS
_TYPES = {"int32": "i32", "int64": "i64", "float32": "f32", "float64": "f64"}
"""Element types, and what the kernels call them."""


def _span(count: int) -> int:
    """Values a span: a multiple of the strands, so that each strand has its place in every row."""
    rows = -(-max(count, 1) // (_SPANS * _STRANDS))
    return max(_LEAST_SPAN, rows * _STRANDS)


class Reducer(Closing):
    """Reductions of one element type on one device, with the scratch memory they need.

    Use it on the device's thread. It is a context manager; the device gives its memory back too, when it is closed.

    Parameters
    ----------
    device : Device
    dtype : dtype-like
        int32, int64, float32 or float64.
    block : {1, 256}, optional
        Work-items a group; the device's own choice by default. The results do not depend on it.

    Raises
    ------
    TypeError
        If the type is none of the four.
    """

    def __init__(self, device: Device, dtype: DTypeLike, *, block: int | None = None) -> None:
        self.dtype = np.dtype(dtype)
        if self.dtype.name not in _TYPES:
            raise TypeError(f"reductions are of {', '.join(_TYPES)}; got {self.dtype}")
        self._device = device
        self._block = block or group_size(device.capabilities)
        self._scratch: dict[np.dtype[Any] | Literal["place"], tuple[Buffer, Buffer]] = {}

    def close(self) -> None:
        """Give the scratch memory back."""
        for buffers in self._scratch.values():
            for buffer in buffers:
                self._device.release(buffer)
        self._scratch.clear()

    def sum(self, buffer: Buffer, start: int = 0, count: int | None = None) -> int | float:
        """Sum of ``count`` elements from ``start`` on (all by default); 0 of none.

        Integers are added in int64 and wrap beyond it, as in NumPy; floats in their own type.

        Parameters
        ----------
        buffer : Buffer
            Elements of the reducer's type.
        start, count : int
            The elements to add; by default all from ``start`` on.

        Raises
        ------
        TypeError, ValueError
            If the buffer is of another type, or does not hold these elements.
        """
        count = self._counted("sum", buffer, start, count)
        if count == 0:
            return 0 if self.dtype.kind == "i" else 0.0
        return self._reduced("sum", buffer, start, count)

    def min(self, buffer: Buffer, start: int = 0, count: int | None = None) -> int | float:
        """Least of ``count`` elements from ``start`` on (all by default); NaN if one of them is.

        Parameters
        ----------
        buffer : Buffer
            Elements of the reducer's type.
        start, count : int
            The elements to compare; by default all from ``start`` on.

        Raises
        ------
        TypeError, ValueError
            If the buffer is of another type, does not hold these elements, or there are none.
        """
        return self._reduced("min", buffer, start, self._counted("min", buffer, start, count))

    def max(self, buffer: Buffer, start: int = 0, count: int | None = None) -> int | float:
        """Greatest of ``count`` elements from ``start`` on (all by default); NaN if one of them is.

        Parameters
        ----------
        buffer, start, count
            As for :meth:`min`.

        Raises
        ------
        TypeError, ValueError
            As for :meth:`min`.
        """
        return self._reduced("max", buffer, start, self._counted("max", buffer, start, count))

    def argmin(self, buffer: Buffer, start: int = 0, count: int | None = None) -> tuple[int | float, int]:
        """The least of ``count`` elements from ``start`` on, and the first index, counted from ``start``, that has it.

        A NaN is less than everything, as in :func:`numpy.argmin`.

        Parameters
        ----------
        buffer, start, count
            As for :meth:`min`.

        Raises
        ------
        TypeError, ValueError
            As for :meth:`min`.
        """
        count = self._counted("argmin", buffer, start, count)
        span = _span(count)
        spans = -(-count // span)
        values, value = self._buffers(self.dtype)
        places, place = self._buffers("place")
        program = self._program()
        reduce = program.reduce_argmin.bind(values=buffer, start=start, count=count, span=span)
        if spans == 1:
            reduce(1, self._block, results=value, places=place)
        else:
            reduce(spans, self._block, results=values, places=places)
            pairs: dict[str, Any] = {"values": values, "indices": places, "start": 0, "count": spans, "span": _SPANS}
            program.reduce_argmin_pairs(1, self._block, results=value, places=place, **pairs)
        return self._device.get(value)[0].item(), int(self._device.get(place)[0])

    def _reduced(self, operation: Operation, buffer: Buffer, start: int, count: int) -> int | float:
        span = _span(count)
        spans = -(-count // span)
        total = np.dtype(np.int64) if operation == "sum" and self.dtype.kind == "i" else self.dtype
        results, result = self._buffers(total)
        reduce = self._program().kernel(f"reduce_{operation}")
        target = result if spans == 1 else results
        reduce(spans, self._block, values=buffer, start=start, count=count, span=span, results=target)
        if spans > 1:
            again = self._program(total).kernel(f"reduce_{operation}")
            again(1, self._block, values=results, start=0, count=spans, span=_SPANS, results=result)
        value: int | float = self._device.get(result)[0].item()
        return value

    def _counted(self, operation: Operation, buffer: Buffer, start: int, count: int | None) -> int:
        """The number of elements, once the request has been found to make sense."""
        if buffer.dtype != self.dtype:
            raise TypeError(f"{operation}: this reduces {self.dtype}; got a buffer of {buffer.dtype}")
        elements = buffer.size - start if count is None else count
        if start < 0 or elements < 0 or start + elements > buffer.size:
            raise ValueError(
                f"{operation}: {elements} elements from {start} on are not within a buffer of {buffer.size}"
            )
        if elements == 0 and operation != "sum":
            raise ValueError(f"{operation}: there must be at least 1 element; got 0")
        return elements

    def _buffers(self, kind: np.dtype[Any] | Literal["place"]) -> tuple[Buffer, Buffer]:
        """Scratch for one value a span, and for the last one."""
        if kind not in self._scratch:
            dtype = np.dtype(np.int64) if kind == "place" else kind
            self._scratch[kind] = self._device.empty(_SPANS, dtype), self._device.empty(1, dtype)
        return self._scratch[kind]

    def _program(self, dtype: np.dtype[Any] | None = None) -> Program:
        value = _TYPES[(dtype or self.dtype).name]
        return self._device.program("common/reduce", value=value, block=self._block, strands=_STRANDS)


def reduce_sum(device: Device, buffer: Buffer) -> int | float:
    """:meth:`Reducer.sum` of a whole buffer, once.

    Parameters
    ----------
    device : Device
    buffer : Buffer
        int32, int64, float32 or float64.
    """
    with Reducer(device, buffer.dtype) as reducer:
        return reducer.sum(buffer)


def reduce_min(device: Device, buffer: Buffer) -> int | float:
    """:meth:`Reducer.min` of a whole buffer, once.

    Parameters
    ----------
    device, buffer
        As for :func:`reduce_sum`.
    """
    with Reducer(device, buffer.dtype) as reducer:
        return reducer.min(buffer)


def reduce_max(device: Device, buffer: Buffer) -> int | float:
    """:meth:`Reducer.max` of a whole buffer, once.

    Parameters
    ----------
    device, buffer
        As for :func:`reduce_sum`.
    """
    with Reducer(device, buffer.dtype) as reducer:
        return reducer.max(buffer)


def argmin(device: Device, buffer: Buffer) -> tuple[int | float, int]:
    """:meth:`Reducer.argmin` of a whole buffer, once.

    Parameters
    ----------
    device, buffer
        As for :func:`reduce_sum`.
    """
    with Reducer(device, buffer.dtype) as reducer:
        return reducer.argmin(buffer)


def ordered_sum(values: NDArray[Any]) -> int | float:
    """What :meth:`Reducer.sum` returns for these values, bit for bit, added by NumPy in the same order.

    Parameters
    ----------
    values : ndarray of int32, int64, float32 or float64, shape (n,)
    """
    totals = values.astype(np.int64) if values.dtype.kind == "i" else values
    span = _span(totals.size)
    spans = -(-totals.size // span)
    if spans == 0:
        return 0 if values.dtype.kind == "i" else 0.0
    results = _span_sums(totals, spans, span)
    if spans > 1:
        results = _span_sums(results, 1, _SPANS)
    value: int | float = results[0].item()
    return value


def _span_sums(values: NDArray[Any], spans: int, span: int) -> NDArray[Any]:
    padded = np.zeros(spans * span, values.dtype)
    padded[: values.size] = values
    rows = padded.reshape(spans, span // _STRANDS, _STRANDS)
    strands = np.zeros((spans, _STRANDS), values.dtype)
    for row in range(rows.shape[1]):
        strands += rows[:, row]
    width = _STRANDS
    while width > 1:
        half = (width + 1) // 2
        strands[:, : width - half] += strands[:, half:width]
        width = half
    return strands[:, 0]


@each_once
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template and set of constants used here."""
    for value in _TYPES.values():
        yield "common/reduce", {"value": value, "block": group_size(capabilities), "strands": _STRANDS}
