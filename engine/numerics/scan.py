"""Exclusive prefix sums of integers, of any length: where each of many variable-sized things begins.

Tiles of 2048 values are scanned on their own, then their totals in the same way, and the scanned totals are added back
(see ``kernels/common/scan.mako``).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..devices import Buffer, Capabilities, Device, Program
from ..devices.kernels.variants import unique_variants
from .closing import Closing
from .groups import group_size

_TILE = 2048
_TYPES = {"int32": "i32", "int64": "i64"}
_PAIRS = (("int32", "int32"), ("int32", "int64"), ("int64", "int64"))


class Scanner(Closing):
    """Prefix sums on one device, with the scratch memory they need: a total for every tile of the longest input so far.

    Use it on the device's thread. It is a context manager; the device gives its memory back too, when it is closed.

    ``block`` (1, 256): work-items a group; the device's own choice by default. The results do not depend on it.
    """

    def __init__(self, device: Device, *, block: int | None = None) -> None:
        self._device = device
        self._block = block or group_size(device.capabilities)
        self._totals: list[Buffer] = []

    def close(self) -> None:
        """Give the scratch memory back."""
        for buffer in self._totals:
            self._device.release(buffer)
        self._totals.clear()

    def exclusive(self, values: Buffer, prefixes: Buffer, count: int | None = None) -> int:
        """Write the sum of the first ``i`` values to ``prefixes[i]``, and return the sum of all."""
        total = self.exclusive_unread(values, prefixes, count)
        return 0 if total is None else int(self._device.get(total)[0])

    def exclusive_unread(self, values: Buffer, prefixes: Buffer, count: int | None = None) -> Buffer | None:
        """The same without waiting: the first element of the buffer returned, of int64, will be the sum of all.

        It lasts until the next scan; there is none, and nothing to add, for no values.
        """
        if (values.dtype.name, prefixes.dtype.name) not in _PAIRS:
            pairs = ", ".join(f"{value} to {prefix}" for value, prefix in _PAIRS)
            raise TypeError(f"scans are of {pairs}; got {values.dtype} to {prefixes.dtype}")
        elements = values.size if count is None else count
        for name, buffer in (("values", values), ("prefixes", prefixes)):
            if not 0 <= elements <= buffer.size:
                raise ValueError(f"{name} must hold the {elements} elements to scan; it holds {buffer.size}")
        return self._scan(values, prefixes, elements, 0) if elements else None

    def _scan(self, values: Buffer, prefixes: Buffer, count: int, level: int) -> Buffer:
        """Scan into ``prefixes``; returns the buffer that will begin with the total."""
        tiles = -(-count // _TILE)
        totals = self._scratch(level, tiles)
        program = self._program(values, prefixes)
        program.scan_tiles(tiles, self._block, values=values, count=count, prefixes=prefixes, totals=totals)
        if tiles == 1:
            return totals
        total = self._scan(totals, totals, tiles, level + 1)
        program.add_offsets(tiles, self._block, prefixes=prefixes, count=count, offsets=totals)
        return total

    def _scratch(self, level: int, tiles: int) -> Buffer:
        if level == len(self._totals):
            self._totals.append(self._device.empty(tiles, np.int64))
        elif self._totals[level].size < tiles:
            self._device.release(self._totals[level])
            self._totals[level] = self._device.empty(tiles, np.int64)
        return self._totals[level]

    def _program(self, values: Buffer, prefixes: Buffer) -> Program:
        return self._device.program("common/scan", **_constants(values.dtype.name, prefixes.dtype.name, self._block))


@unique_variants
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template and set of constants used here."""
    for value, prefix in _PAIRS:
        yield "common/scan", _constants(value, prefix, group_size(capabilities))


def _constants(value: str, prefix: str, block: int) -> dict[str, Any]:
    return {"value": _TYPES[value], "prefix": _TYPES[prefix], "block": block, "items": _TILE // block}
