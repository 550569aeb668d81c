"""A device's share of a batch: launches of bounded length, each of many problems."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....devices import SLICE_SECONDS, Buffer, Device, SliceLength
from ....errors import OutOfDeviceMemory
from ..programs import BATCH_ANSWER, BatchShapes
from .packed import Packed

__all__ = ["Answers", "BatchWorker"]

_CELLS_PER_SECOND = {True: 1e11, False: 3e8}  # of the first slice, by `simt`
_SCRATCH_SHARE = 0.25  # of the free memory, for the rows and bits of the groups that run at once
_MOST_SCRATCH = 8 << 30


@dataclass(frozen=True)
class Answers:
    """Of each problem its profit, the items that bounds left open and the cells computed; and which items are taken."""

    profits: NDArray[np.int64]
    open_items: NDArray[np.int64]
    cells: NDArray[np.int64]
    chosen: NDArray[np.bool_]


class BatchWorker:
    """Solves a share on one device."""

    def __init__(self, device: Device, shapes: BatchShapes, packed: Packed) -> None:
        self.device = device
        self._shapes = shapes
        self._packed = packed
        most_items, most_capacity = int(packed.sizes.max()), int(packed.capacities.max())
        self._row_cells = shapes.row_cells(most_capacity)
        self._bit_words = shapes.bit_words(most_items, most_capacity)
        each = shapes.group_bytes(most_items, most_capacity)
        free = device.memory().free
        needed = 9 * len(packed.items) + 40 * (len(packed) + 1)
        scratch = int(min(_SCRATCH_SHARE * free, _MOST_SCRATCH, device.info.max_allocation))
        self._groups = min(shapes.groups, len(packed), scratch // each)
        if self._groups < 1 or needed > free - self._groups * each:
            raise OutOfDeviceMemory(f"a batch needs {needed + each} bytes on {device.info.id}, which has {free} free")
        self._kernel = device.program("knapsack/batch", **shapes.constants()).solve_batch
        self._buffers: list[Buffer] = []

    def close(self) -> None:
        """Give the memory back."""
        for buffer in self._buffers:
            self.device.release(buffer)
        self._buffers.clear()

    def solve(self, done: Callable[[int], None], stopped: Callable[[], bool]) -> Answers:
        """Solve all problems; answers that are missing once ``stopped`` returns True are not valid."""
        packed, device = self._packed, self.device
        starts, weights, profits, capacities = (
            self._keep(device.put(array))
            for array in (packed.starts, packed.weights, packed.profits, packed.capacities)
        )
        rows = self._keep(
            device.empty(self._groups * (2 if self._shapes.lanes == 1 else 1) * self._row_cells, np.int32)
        )
        bits = self._keep(device.empty(self._groups * self._bit_words, np.uint32))
        queue = self._keep(device.empty(1, np.int32))
        chosen = self._keep(device.empty(len(packed.items), np.uint8))
        answers = self._keep(device.empty(len(packed), BATCH_ANSWER.dtype))
        for first, end in self._slices():
            if stopped():
                break
            device.zero(queue)
            self._kernel(
                min(self._groups, end - first),
                self._shapes.block,
                next=queue,
                first=first,
                end=end,
                starts=starts,
                weights=weights,
                profits=profits,
                capacities=capacities,
                rows=rows,
                row_cells=self._row_cells,
                bit_space=bits,
                bit_words=self._bit_words,
                chosen=chosen,
                answers=answers,
            )
            device.sync()
            done(end - first)
        found = device.get(answers)
        return Answers(found["profit"], found["open_items"], found["cells"], device.get(chosen) == 1)

    def _slices(self) -> Iterator[tuple[int, int]]:
        """First and end of the problems of each launch, so many that it takes about as long as a slice should."""
        work = np.cumsum(self._packed.work)
        length = SliceLength(SLICE_SECONDS * _CELLS_PER_SECOND[self.device.capabilities.simt], growth=4.0)
        first = 0
        while first < len(work):
            before = int(work[first - 1]) if first else 0
            end = max(first + 1, int(np.searchsorted(work, before + length.amount, side="right")))
            began = time.perf_counter()
            yield first, end
            length.took(time.perf_counter() - began, int(work[end - 1]) - before)
            first = end

    def _keep(self, buffer: Buffer) -> Buffer:
        self._buffers.append(buffer)
        return buffer
