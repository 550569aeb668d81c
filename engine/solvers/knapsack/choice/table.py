"""The table of a problem in stages: which cells matter, what it takes, and its steps on one device."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Capabilities, Device, DeviceInfo
from ....devices.kernels.variants import unique_variants
from ....util.text import counted
from ..checks import device_shortage
from ..ordering import cut_into_runs
from ..programs import NUMPY_TYPES
from .bounds import Stages

_MEMORY_SHARE = 0.6  # of the free memory
_SPAN = 1024  # cells that a work-item of a CPU makes together


@dataclass(frozen=True)
class ChoiceTable:
    """Stages by descending weight, and the rectangle of cells that matters after each.

    Below, a state is dropped from which even all later stages cannot reach the capacities (one within less is never
    better than one within more); above, nothing lies past the weights so far.
    """

    stages: Stages

    @classmethod
    def of(cls, stages: Stages) -> ChoiceTable:
        """The table of stages that are lowered and fit (see :func:`~.bounds.reduce_stages`)."""
        unit = np.maximum(stages.capacities, 1)
        heaviest = np.maximum.reduceat((stages.weights / unit).max(axis=1), stages.first[:-1])
        order = np.argsort(-heaviest, kind="stable")
        counts = np.diff(stages.first)[order]
        first = np.concatenate([[0], np.cumsum(counts)])
        options = np.repeat(stages.first[:-1][order] - first[:-1], counts) + np.arange(int(first[-1]))
        return cls(
            Stages(first, stages.profits[options], stages.weights[options], stages.labels[options], stages.capacities)
        )

    @cached_property
    def heaviest(self) -> NDArray[np.int64]:
        """The greatest weights of each stage, shape (k, 2)."""
        return np.asarray(np.maximum.reduceat(self.stages.weights, self.stages.first[:-1], axis=0))

    @cached_property
    def capacities(self) -> NDArray[np.int64]:
        """The capacities, at most the weights of all stages."""
        return np.asarray(np.minimum(self.stages.capacities, self.heaviest.sum(axis=0)))

    @cached_property
    def ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First and last cells before each stage and after the last, shapes (k + 1, 2)."""
        before = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(self.heaviest, axis=0)])
        lows = np.maximum(0, self.capacities - (before[-1] - before))
        return lows, np.minimum(self.capacities, before)

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """Cells after each stage, shape (k,)."""
        lows, highs = self.ranges
        return np.asarray((highs - lows + 1)[1:].prod(axis=1))

    def lines(self, stage: int) -> int:
        """Into how many equal parts the cells after a stage can be divided: values of the first capacity, or cells."""
        lows, highs = (values[stage + 1] for values in self.ranges)
        first, second = (highs - lows + 1).tolist()
        return int(first) if first > 1 else int(second)

    def kept(self, stage: int) -> tuple[int, int]:
        """First element of the full rows, and how many, that have all cells before a stage."""
        (low1, _), (high1, _) = (values[stage].tolist() for values in self.ranges)
        width = int(self.capacities[1]) + 1
        return low1 * width, (high1 - low1 + 1) * width

    @property
    def row_cells(self) -> int:
        """Cells of a whole table."""
        return int(self.capacities[0] + 1) * int(self.capacities[1] + 1)

    @property
    def value(self) -> Literal["i32", "i64"]:
        """The type of its values."""
        total = int(np.maximum.reduceat(self.stages.profits, self.stages.first[:-1]).sum())
        return "i32" if total < 2**30 else "i64"

    @property
    def choice(self) -> Literal["u8", "u16"]:
        """The type of its choices."""
        return "u8" if self.most_options <= 1 << 8 else "u16"

    @property
    def most_options(self) -> int:
        """Options of the stage that has most."""
        return int(np.diff(self.stages.first).max())

    @property
    def row_bytes(self) -> int:
        """Bytes of the values of a whole table."""
        return self.row_cells * (4 if self.value == "i32" else 8)

    def blocks(self, memory: int) -> list[tuple[int, int]]:
        """Stages whose choices fit the memory beside two tables; at least one each."""
        each = np.dtype(NUMPY_TYPES[self.choice]).itemsize
        room = max(1, (memory - 2 * self.row_bytes) // each)
        return list(itertools.pairwise(cut_into_runs(self.cells, room).tolist()))

    def shortage(self, info: DeviceInfo) -> str | None:
        """What does not fit a device, in words; None if the table does."""
        if self.most_options > 1 << 16:
            return f"a stage has {self.most_options:,} options; {1 << 16:,} are possible"
        choices = int(self.cells.max()) * np.dtype(NUMPY_TYPES[self.choice]).itemsize
        needed = 2 * self.row_bytes + choices + 32 * len(self.stages.profits)
        rows = f"the table of {counted(len(self.stages), 'stage')} x {counted(self.row_cells, 'cell')}"
        return device_shortage(rows, needed, self.row_bytes, info, _MEMORY_SHARE)


def _constants(capabilities: Capabilities, value: str, choice: str) -> dict[str, Any]:
    lanes = 1 if capabilities.simt else 8
    block = min(256, capabilities.max_block) if capabilities.simt else 1
    return {"value": value, "choice": choice, "lanes": lanes, "block": block, "span": _SPAN}


@unique_variants
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every set of constants that a device may ask for."""
    for value in ("i32", "i64"):
        for choice in ("u8", "u16"):
            yield "knapsack/choices", _constants(capabilities, value, choice)


class ChoiceWorker:
    """The table on one device."""

    def __init__(self, device: Device, table: ChoiceTable, choice_cells: int) -> None:
        self.device, self.table, stages = device, table, table.stages
        self._type = np.dtype(NUMPY_TYPES[table.value])
        constants = _constants(device.capabilities, table.value, table.choice)
        self._block = int(constants["block"])
        self._kernel = device.program("knapsack/choices", **constants).choose
        self._most_groups = device.capabilities.compute_units * (16 if device.capabilities.simt else 2)
        self._rows = [device.empty(table.row_cells, self._type) for _ in range(2)]
        self._choices = device.empty(choice_cells, NUMPY_TYPES[table.choice])
        self._options: dict[str, Buffer] = {
            "weights1": device.put(np.ascontiguousarray(stages.weights[:, 0])),
            "weights2": device.put(np.ascontiguousarray(stages.weights[:, 1])),
            "profits": device.put(stages.profits.astype(self._type)),
        }
        self._present = 0

    def close(self) -> None:
        """Give the memory back."""
        for buffer in (*self._rows, self._choices, *self._options.values()):
            self.device.release(buffer)

    def start(self) -> None:
        """Begin from nothing."""
        self._present = 0
        self.device.put(np.zeros(1, self._type), self._rows[0])

    def put(self, values: NDArray[Any], cell: int) -> None:
        """Part of the table to begin from, from an element of the full rows on."""
        self._present = 0
        self.device.put(values, self._rows[0], cell)

    def get(self, cell: int, count: int) -> NDArray[Any]:
        """Part of the present table, from an element of the full rows on."""
        return self.device.get(self._rows[self._present], cell, count)

    def advance(self, begin: int, end: int, block_begin: int, part: tuple[int, int] | None = None) -> float:
        """Process stages, or ``part`` of the lines of one, keeping choices from ``block_begin`` on; the seconds."""
        began = time.perf_counter()
        table = self.table
        lows, highs = (values.tolist() for values in table.ranges)
        first = table.stages.first.tolist()
        at = int(table.cells[block_begin:begin].sum())
        for stage in range(begin, end):
            (low1, low2), (high1, high2) = lows[stage + 1], highs[stage + 1]
            is_done = part is None or part[1] == table.lines(stage)
            if part is not None and high1 > low1:
                at += part[0] * (high2 - low2 + 1)
                low1, high1 = low1 + part[0], low1 + part[1] - 1
            elif part is not None:
                at += part[0]
                low2, high2 = low2 + part[0], low2 + part[1] - 1
            cells = (high1 - low1 + 1) * (high2 - low2 + 1)
            items = cells if self._block > 1 else (high1 - low1 + 1) * (-(-(high2 - low2 + 1) // _SPAN))
            self._kernel(
                min(self._most_groups, -(-items // self._block)),
                self._block,
                source=self._rows[self._present],
                source_high1=highs[stage][0],
                source_high2=highs[stage][1],
                target=self._rows[1 - self._present],
                low1=low1,
                high1=high1,
                low2=low2,
                high2=high2,
                stride=int(table.capacities[1]) + 1,
                **self._options,
                first=first[stage],
                end=first[stage + 1],
                choices=self._choices,
                choice_first=at,
            )
            if is_done:
                self._present = 1 - self._present
            at += cells
        self.device.sync()
        return time.perf_counter() - began

    def value(self) -> int:
        """The value at the capacities after all stages; negative if there is no solution."""
        return int(self.device.get(self._rows[self._present], self.table.row_cells - 1, 1)[0])

    def trace(self, begin: int, end: int, cell: tuple[int, int]) -> tuple[list[int], tuple[int, int]]:
        """The options that a block's stages choose, the last first, walking back from a cell; and where it ends."""
        table = self.table
        lows, highs = (values.tolist() for values in table.ranges)
        starts = np.concatenate([[0], np.cumsum(table.cells[begin:end])]).tolist()
        c1, c2 = cell
        options = []
        for stage in range(end - 1, begin - 1, -1):
            (low1, low2), (high1, high2) = lows[stage + 1], highs[stage + 1]
            c1, c2 = min(c1, high1), min(c2, high2)
            place = starts[stage - begin] + (c1 - low1) * (high2 - low2 + 1) + (c2 - low2)
            option = int(table.stages.first[stage]) + int(self.device.get(self._choices, place, 1)[0])
            options.append(option)
            c1 -= int(table.stages.weights[option, 0])
            c2 -= int(table.stages.weights[option, 1])
        return options, (c1, c2)
