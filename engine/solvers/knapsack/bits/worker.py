"""The rows of bits on one device."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Capabilities, Device
from ....devices.kernels.variants import unique_variants

__all__ = ["HALO_BITS", "MOST_FUSED", "BitWorker", "kernel_variants"]

_TILE_WORDS, _HALO_WORDS = 2048, 512
HALO_BITS = 64 * _HALO_WORDS
"""The most that the weights of items of one launch may add up to."""

MOST_FUSED = 64
"""The most items of one launch."""

_READ_WORDS = 1 << 16


def _constants(capabilities: Capabilities) -> dict[str, Any]:
    block = min(256, capabilities.max_block) if capabilities.simt else 1
    tile = _TILE_WORDS if capabilities.local_memory >= 40 << 10 else _TILE_WORDS // 2
    return {"block": block, "tile": tile, "halo": _HALO_WORDS}


@unique_variants
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every set of constants that a device may ask for."""
    yield "knapsack/bits", _constants(capabilities)


class BitWorker:
    """State on one device: two rows of bits, and the item that reached each capacity first."""

    def __init__(
        self, device: Device, weights: NDArray[np.int64], groups: list[tuple[int, int]], capacity: int
    ) -> None:
        self.device = device
        constants = _constants(device.capabilities)
        self._block = int(constants["block"])
        self._span = int(constants["tile"]) - _HALO_WORDS
        self._program = device.program("knapsack/bits", **constants)
        self._program.kernel("add_items")  # compiled before anything is begun
        self._most_groups = device.capabilities.compute_units * (16 if device.capabilities.simt else 1)
        self._capacity = capacity
        self._groups = groups
        self._sums = np.concatenate([[0], np.cumsum(weights)]).tolist()
        self._host_weights = weights.tolist()
        self._rows = [device.empty(capacity // 64 + 1, np.uint64) for _ in range(2)]
        for row in self._rows:
            device.zero(row)
        device.put(np.ones(1, np.uint64), self._rows[0])
        self._first = device.empty(capacity + 1, np.int32)
        self._weights = device.put(weights)
        self._present = 0

    def close(self) -> None:
        """Give the memory back."""
        for buffer in (*self._rows, self._first, self._weights):
            self.device.release(buffer)

    def advance(self, begin: int, end: int) -> tuple[float, bool]:
        """Launch groups; the seconds it took, and whether the whole capacity has been reached."""
        began = time.perf_counter()
        for first, last in self._groups[begin:end]:
            words = min(self._capacity, self._sums[last]) // 64 + 1
            rows = {"source": self._rows[self._present], "target": self._rows[1 - self._present], "words": words}
            common = {"capacity": self._capacity, "first": self._first}
            if last - first == 1:
                groups = min(self._most_groups, -(-words // self._block))
                weight = self._host_weights[first]
                self._program.add_item(groups, self._block, **rows, weight=weight, item=first, **common)
            else:
                groups = min(self._most_groups, -(-words // self._span))
                items = {"weights": self._weights, "begin": first, "end": last}
                self._program.add_items(groups, self._block, **rows, **items, **common)
            self._present = 1 - self._present
        self.device.sync()
        last_word = int(self.device.get(self._rows[self._present], self._capacity // 64, 1)[0])
        return time.perf_counter() - began, bool(last_word >> (self._capacity % 64) & 1)

    def largest(self) -> int:
        """The greatest sum that was reached."""
        end = self._capacity // 64 + 1
        row = self._rows[self._present]
        while end > 0:
            begin = max(0, end - _READ_WORDS)
            words = self.device.get(row, begin, end - begin)
            if end == self._capacity // 64 + 1:
                words[-1] &= np.uint64((1 << (self._capacity % 64 + 1)) - 1)
            reached = np.flatnonzero(words)
            if len(reached):
                return (begin + int(reached[-1])) * 64 + int(words[reached[-1]]).bit_length() - 1
            end = begin
        return 0

    def trace(self, total: int) -> NDArray[np.bool_]:
        """Which items, in the order of processing, weigh so much together."""
        chosen = self.device.put(np.zeros(len(self._host_weights), np.uint8))
        self._program.trace_sum(1, 1, first=self._first, weights=self._weights, sum=total, chosen=chosen)
        found: NDArray[np.bool_] = self.device.get(chosen) == 1
        self.device.release(chosen)
        return found
