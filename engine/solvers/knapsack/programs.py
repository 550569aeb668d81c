"""The device programs of the knapsack solver: their constants for a device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ...devices import Capabilities, Record
from ...devices.kernels.variants import unique_variants
from .dense.schedule import MOST_FUSED

ValueType = Literal["i32", "i64"]

NUMPY_TYPES = {"u8": "uint8", "u16": "uint16", "i32": "int32", "i64": "int64"}

DEPTHS = (32, 16, 8, 4, 2)  # how many items of one weight a launch of ``classes`` may fuse
_VECTOR_BYTES = 32  # twice that was measured slower with PoCL on AVX-512 machines: its vectors are split

TILE = 1024  # capacities of a tile of the sparse table
MOST_BATCH_ITEMS = 256  # items that a group of the kernel for batches has room for
PAD = 64  # cells past the end of a row that a launch may write
TRACED = Record(
    "traced", **dict.fromkeys(("first", "count", "stride", "base", "lo", "hi", "full", "width", "alike"), "i64")
)
"""A group of items and its input row, as trace.mako walks back through them."""


@dataclass(frozen=True)
class Shapes:
    """How the kernels are cut for one device and one value type."""

    value: ValueType
    serial: bool
    lanes: int  # cells handled as one explicit vector; 1 on GPUs
    block: int
    tile_block: int
    tile_cells_each: int
    tile_groups_per_unit: int
    units: int  # groups of a tile that run at once
    cells_per_item: int = 8
    class_unroll: int = 1
    class_items_per_unit: int = 16
    window_block: int = 1
    window_slots: int = 256  # cells of each chain that a launch of windows has room for
    window_unroll: int = 4
    window_items_per_unit: int = 16
    least_windowed: int = 5  # equal items for which a launch of windows pays, if they weigh so much together:
    least_window_weight: int = 24  # there are as many chains as their weight, and few keep few work-items busy

    @property
    def tile_cells(self) -> int:
        """Cells of a tile, halo included."""
        return self.tile_block * self.tile_cells_each

    @property
    def halo(self) -> int:
        """The most that weights fused in a tile should add up to: more halo is more work done twice."""
        return self.tile_cells * 3 // 10

    @property
    def most_windowed(self) -> int:
        """The most equal items that a launch of ``windows`` may take."""
        return self.window_slots - 2

    @property
    def item_bytes(self) -> int:
        """Bytes of one cell."""
        return 4 if self.value == "i32" else 8

    @property
    def trace_reach(self) -> int:
        """Cells, the present one included, that a step of backtracking may read."""
        return max(self.halo, MOST_FUSED, self.most_windowed) + 1

    def constants(self, template: str, depth: int = 0) -> dict[str, Any]:
        """What a template of this solver is rendered with."""
        each, walking = self.tile_cells_each, 1 if self.serial else 256
        own: dict[str, dict[str, Any]] = {
            "rows": {"block": self.block},
            "tiles": {
                "block": self.tile_block,
                "cells": each,
                "groups_per_unit": self.tile_groups_per_unit,
                "strip": 8 if each % 8 == 0 else 2,
            },
            "tiles_serial": {"cells": self.tile_cells},
            "classes": {"block": self.block, "depth": depth, "unroll": self.class_unroll},
            "windows": {"block": self.window_block, "slots": self.window_slots, "unroll": self.window_unroll},
            "trace": {"block": walking, "reach": self.trace_reach, "depth": MOST_FUSED, "traced": TRACED},
        }
        return {"value": self.value, "lanes": self.lanes, **own[template.removeprefix("knapsack/")]}


def shapes_for(capabilities: Capabilities, value: ValueType) -> Shapes:
    """The shapes that suit a device.

    On CPUs a tile fills half of a core's second-level cache, taken as 1 MB. On GPUs as many groups as registers and
    local memory of a multiprocessor hold run beside each other: one of 1024 work-items where a group may take 196 kB,
    else of 256. A group of ``windows`` has 128 work-items where 128 cells of each chain fit, else 64. Measured on an
    H200: see BENCHMARKS.md.
    """
    size = 4 if value == "i32" else 8
    if not capabilities.simt:
        lanes = _VECTOR_BYTES // size
        cells = min(512 * 1024, capabilities.local_memory // 2) // size // lanes * lanes
        return Shapes(value, True, lanes, 1, 1, cells, 1, capabilities.compute_units, class_unroll=1)
    tile_block = (
        1024 if min(capabilities.local_memory, capabilities.local_memory_per_unit - 1024) >= 196 * 1024 else 256
    )
    tile_block = min(tile_block, capabilities.max_block)
    each = min(48 * 4 // size, capabilities.local_memory // (tile_block * size))
    each = each // 8 * 8 or max(2, each // 2 * 2)
    groups = capabilities.local_memory_per_unit // (tile_block * each * size + 1024)
    groups = max(1, min(groups, 65536 // (tile_block * (each * size // 4 + 16))))
    window_block, slots = _window_group(capabilities, size)
    resident = capabilities.local_memory_per_unit // (slots * window_block * size + 1024)
    return Shapes(
        value,
        serial=False,
        lanes=1,
        block=128,
        tile_block=tile_block,
        tile_cells_each=each,
        tile_groups_per_unit=groups,
        units=capabilities.compute_units,
        cells_per_item=16,
        class_unroll=8,
        class_items_per_unit=1024,
        window_block=window_block,
        window_slots=slots,
        window_unroll=16,
        window_items_per_unit=max(1, resident) * window_block,
        least_windowed=12,
        least_window_weight=56,
    )


def _window_group(capabilities: Capabilities, size: int) -> tuple[int, int]:
    """Work-items of a group of ``windows``, and how many values of ``size`` bytes each of them may hold."""
    for block, groups in ((128, 3), (64, 6)):
        room = min(capabilities.local_memory, capabilities.local_memory_per_unit // groups - 1024)
        slots = min(128, room // (block * size) // 32 * 32)
        if block <= capabilities.max_block and slots == 128:
            return block, slots
    return min(64, capabilities.max_block), max(32, slots)


SPARSE_STATUS = Record("status", failed="i32", best_gain="i32", out_of_slots="i32", gain_before="i32")
BEST_STATE = Record("best", gain="i64", cell="i64", step="i64", taken="i64")
SOURCES = Record("sources", own="i32", below="i32", lower="i32")
"""State of the sparse table, the best complete state that a work-item has seen, what a tile is made of: sparse.mako."""


@dataclass(frozen=True)
class SparseShapes:
    """How the kernels of the sparse table are cut for one device and one value type."""

    value: ValueType
    lanes: int
    block: int
    groups: int
    expand_block: int
    expand_groups: int

    @classmethod
    def of(cls, capabilities: Capabilities, value: ValueType) -> SparseShapes:
        """The shapes that suit a device: as many groups as run at once."""
        units = capabilities.compute_units
        if not capabilities.simt:
            return cls(value, _VECTOR_BYTES // (4 if value == "i32" else 8), 1, 2 * units, 64, 2 * units)
        block = min(256, capabilities.max_block)
        return cls(value, 1, block, 8 * units, block, 8 * units)

    @property
    def negative(self) -> int:
        """The value of cells without a state."""
        return -(2**30) if self.value == "i32" else -(2**62)

    def constants(self) -> dict[str, Any]:
        """What the template is rendered with."""
        records = {"status": SPARSE_STATUS, "best": BEST_STATE, "sources": SOURCES}
        own = {"value": self.value, "lanes": self.lanes, "block": self.block, "tile": TILE, "slope_bits": 10}
        return own | records


BATCH_ANSWER = Record("answer", profit="i64", open_items="i64", cells="i64")


@dataclass(frozen=True)
class BatchShapes:
    """How the kernel is cut for one device: ``groups`` of ``block`` work-items run at once."""

    lanes: int
    block: int
    local_cells: int
    groups_per_unit: int
    groups: int

    @classmethod
    def of(cls, capabilities: Capabilities) -> BatchShapes:
        """The shapes that suit a device."""
        units = capabilities.compute_units
        if not capabilities.simt:
            return cls(8, 1, 0, 1, 2 * units)
        block = min(256, capabilities.max_block)
        most = min(capabilities.local_memory, capabilities.local_memory_per_unit // 4)
        local_cells = max(256, (most - 48 * MOST_BATCH_ITEMS - 8 * block - 1024) // 8 // 64 * 64)
        return cls(1, block, local_cells, 4, 4 * units)

    def constants(self) -> dict[str, Any]:
        """What the template is rendered with."""
        return {
            "lanes": self.lanes,
            "value": "i32",
            "block": self.block,
            "items": MOST_BATCH_ITEMS,
            "answer": BATCH_ANSWER,
            "local_cells": self.local_cells,
            "groups_per_unit": self.groups_per_unit,
        }

    def row_cells(self, capacity: int) -> int:
        """Cells a group needs for rows up to this capacity, of each row."""
        return capacity + 1 if self.lanes == 1 else capacity + 160

    def bit_words(self, items: int, capacity: int) -> int:
        """Words a group needs for one bit a cell of the whole table."""
        if self.lanes == 1:
            return items * (capacity // (32 * self.block) + 1) * self.block
        return items * (capacity // 32 + 2)

    def group_bytes(self, items: int, capacity: int) -> int:
        """Bytes of rows and bits of one group."""
        return 4 * ((2 if self.lanes == 1 else 1) * self.row_cells(capacity) + self.bit_words(items, capacity))


@unique_variants
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template of this solver with every set of constants that a device may ask for."""
    yield "knapsack/batch", BatchShapes.of(capabilities).constants()
    values: tuple[ValueType, ...] = ("i32", "i64")
    for value in values:
        yield "knapsack/sparse", SparseShapes.of(capabilities, value).constants()
        shapes = shapes_for(capabilities, value)
        tiles = "knapsack/tiles_serial" if shapes.serial else "knapsack/tiles"
        for template in ("knapsack/rows", tiles, "knapsack/classes", "knapsack/windows", "knapsack/trace"):
            for depth in DEPTHS if template == "knapsack/classes" else (0,):
                yield template, shapes.constants(template, depth)
