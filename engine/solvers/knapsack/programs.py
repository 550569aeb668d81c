"""The device programs of the knapsack solver: their constants for a device, and how they are launched."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from engine.devices import Buffer, Capabilities, Device
from engine.devices.program import Launch
from engine.devices.variants import each_once
from engine.solvers.knapsack.dense.schedule import MOST_FUSED

__all__ = [
    "DEPTHS",
    "MOST_BATCH_ITEMS",
    "PAD",
    "TILE",
    "BatchShapes",
    "RowPrograms",
    "RowView",
    "Shapes",
    "SparseShapes",
    "ValueType",
    "kernel_variants",
    "shapes_for",
]

ValueType = Literal["i32", "i64"]

DEPTHS = (32, 16, 8, 4, 2)
"""How many items of one weight a launch of ``classes`` may fuse."""

_VECTOR_BYTES = 32  # twice that was measured slower with PoCL on AVX-512 machines: its vectors are split

TILE = 1024
"""Capacities of a tile of the sparse table."""

MOST_BATCH_ITEMS = 256
"""Items that a group of the kernel for batches has room for."""

PAD = 64
"""Cells past the end of a row that a launch may write."""


@dataclass(frozen=True)
class Shapes:
    """How the kernels are cut for one device and one value type.

    ``lanes`` cells are handled as one explicit vector (1 on GPUs); a tile of ``tiles`` holds ``tile_cells`` cells, and
    ``units`` groups of it run at once.
    """

    value: ValueType
    serial: bool
    lanes: int
    block: int
    tile_block: int
    tile_cells_each: int
    tile_groups_per_unit: int
    units: int
    cells_per_item: int = 8
    class_unroll: int = 1
    class_items_per_unit: int = 16

    @property
    def tile_cells(self) -> int:
        """Cells of a tile, halo included."""
        return self.tile_block * self.tile_cells_each

    @property
    def halo(self) -> int:
        """The most that weights fused in a tile should add up to: more halo is more work done twice."""
        return self.tile_cells * 3 // 10

    @property
    def item_bytes(self) -> int:
        """Bytes of one cell."""
        return 4 if self.value == "i32" else 8

    @property
    def trace_reach(self) -> int:
        """Cells, the present one included, that a step of backtracking may read."""
        return max(self.halo, MOST_FUSED) + 1

    @property
    def type_name(self) -> str:
        """The value type as NumPy calls it."""
        return "int32" if self.value == "i32" else "int64"

    def _vector(self) -> str:
        return ("int" if self.value == "i32" else "long") + str(self.lanes)

    def constants(self, template: str, depth: int = 0) -> dict[str, Any]:
        """What a template of this solver is rendered with.

        Parameters
        ----------
        template : str
            Its name under ``kernels/``.
        depth : int
            Of ``knapsack/classes``: how many items of one weight a launch takes.
        """
        common: dict[str, Any] = {"value": self.value, "lanes": self.lanes, "vector": self._vector()}
        if template == "knapsack/rows":
            return {**common, "block": self.block}
        if template == "knapsack/tiles":
            return {
                **common,
                "block": self.tile_block,
                "cells": self.tile_cells_each,
                "groups_per_unit": self.tile_groups_per_unit,
                "strip": 8 if self.tile_cells_each % 8 == 0 else 2,
            }
        if template == "knapsack/tiles_serial":
            return {**common, "cells": self.tile_cells}
        if template == "knapsack/classes":
            return {**common, "block": self.block, "depth": depth, "unroll": self.class_unroll}
        return {**common, "block": 64 if self.serial else 256, "reach": self.trace_reach, "depth": MOST_FUSED}


def shapes_for(capabilities: Capabilities, value: ValueType) -> Shapes:
    """The shapes that suit a device.

    On CPUs a tile fills half of a core's second-level cache, taken as 1 MB. On GPUs as many groups as registers and
    local memory of a multiprocessor hold run beside each other: one of 1024 work-items where a group may take 196 kB,
    else of 256. Measured on an H200: see BENCHMARKS.md.

    Parameters
    ----------
    capabilities : Capabilities
    value : {"i32", "i64"}
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
    )


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
        """The shapes that suit a device: as many groups as run at once.

        Parameters
        ----------
        capabilities : Capabilities
        value : {"i32", "i64"}
        """
        units = capabilities.compute_units
        if not capabilities.simt:
            return cls(value, _VECTOR_BYTES // (4 if value == "i32" else 8), 1, 2 * units, 64, 2 * units)
        block = min(256, capabilities.max_block)
        return cls(value, 1, block, 8 * units, block, 8 * units)

    @property
    def type_name(self) -> str:
        """The value type as NumPy calls it."""
        return "int32" if self.value == "i32" else "int64"

    @property
    def negative(self) -> int:
        """The value of cells without a state."""
        return -(2**30) if self.value == "i32" else -(2**62)

    def constants(self) -> dict[str, Any]:
        """What the template is rendered with."""
        vector = ("int" if self.value == "i32" else "long") + str(self.lanes)
        return {
            "value": self.value,
            "lanes": self.lanes,
            "vector": vector,
            "block": self.block,
            "tile": TILE,
            "slope_bits": 10,
        }


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
            "block": self.block,
            "items": MOST_BATCH_ITEMS,
            "local_cells": self.local_cells,
            "groups_per_unit": self.groups_per_unit,
        }

    def row_cells(self, capacity: int) -> int:
        """Cells a group needs for rows up to this capacity, of each row."""
        return capacity + 1 if self.lanes == 1 else capacity + 160

    def bit_words(self, items: int, capacity: int) -> int:
        """Words a group needs for one bit a cell of the whole table.

        Parameters
        ----------
        items, capacity : int
            Of the largest problem.
        """
        if self.lanes == 1:
            return items * (capacity // (32 * self.block) + 1) * self.block
        return items * (capacity // 32 + 2)

    def group_bytes(self, items: int, capacity: int) -> int:
        """Bytes of rows and bits of one group.

        Parameters
        ----------
        items, capacity : int
            Of the largest problem.
        """
        return 4 * ((2 if self.lanes == 1 else 1) * self.row_cells(capacity) + self.bit_words(items, capacity))


_VIEWS = ("source", "source_base", "source_lo", "source_hi", "full", "target", "target_base", "target_lo", "target_hi")
"""What all kernels on rows take first: a :class:`RowView`, the profit of all items before, another RowView."""


class RowView(NamedTuple):
    """Cells [lo, hi] of a row in a device buffer; cell c is element ``c - base``. Empty if hi < lo."""

    buffer: Buffer
    base: int
    lo: int
    hi: int


class RowPrograms:
    """The kernels on rows, on one device; made and used on its thread.

    Parameters
    ----------
    device : Device
    shapes : Shapes
    weights, profits : Buffer
        Of the items in processing order, in int32 and in the value type.
    kinds : collection of str
        Kinds of groups that will be launched; their kernels are compiled here, the others when they are needed.
    depths : collection of int
        How many items of equal weight the launches of :meth:`equal_weights` will take.
    """

    def __init__(
        self,
        device: Device,
        shapes: Shapes,
        weights: Buffer,
        profits: Buffer,
        kinds: Collection[str] = (),
        depths: Collection[int] = (),
    ) -> None:
        self.shapes = shapes
        tiles = "knapsack/tiles_serial" if shapes.serial else "knapsack/tiles"
        rows, tile, trace = (
            device.program(template, **shapes.constants(template))
            for template in ("knapsack/rows", tiles, "knapsack/trace")
        )
        self._rows, self._tiles, self._trace = rows, tile, trace
        self._classes = {
            depth: device.program("knapsack/classes", **shapes.constants("knapsack/classes", depth)) for depth in depths
        }
        if "row" in kinds:
            rows.kernel("advance_row")
        if "tile" in kinds:
            tile.kernel("advance_tile")
        self._class = {
            depth: program.kernel("advance_class").ordered(*_VIEWS, "profits", "first", "weight", "columns", "length")
            for depth, program in self._classes.items()
        }
        self._items = {"weights": weights, "profits": profits}

    @cached_property
    def _row(self) -> Launch:
        return self._rows.kernel("advance_row").ordered(*_VIEWS, "span", "weight", "profit")

    @cached_property
    def _tile(self) -> Launch:
        names = ("weights", "profits", "span", "first", "count", "halo")
        return self._tiles.kernel("advance_tile").ordered(*_VIEWS, *names)

    def row(self, source: RowView, full: int, target: RowView, weight: int, profit: int) -> None:
        """One item: ``target`` becomes the row after ``source``.

        Parameters
        ----------
        source : RowView
        full : int
            Profit of all items before.
        target : RowView
        weight, profit : int
            Of the item.
        """
        shapes = self.shapes
        cells = target.hi - target.lo + 1
        span = _share(cells, 2 * shapes.units, 4096) if shapes.serial else shapes.block * shapes.cells_per_item
        self._row(_groups(cells, span), shapes.block, (*source, full, *target, span, weight, profit))

    def tile(self, source: RowView, full: int, target: RowView, first: int, count: int, halo: int) -> None:
        """Items ``first`` .. ``first + count - 1``, whose weights add up to ``halo``.

        Parameters
        ----------
        source : RowView
        full : int
            Profit of all items before.
        target : RowView
        first, count : int
            Places in the order of processing.
        halo : int
        """
        shapes = self.shapes
        cells = target.hi - target.lo + 1
        at_once = shapes.units * shapes.tile_groups_per_unit
        span = _share(cells, at_once, shapes.tile_block, most=shapes.tile_cells - halo)
        values = (*source, full, *target, *self._items.values(), span, first, count, halo)
        self._tile(_groups(cells, span), shapes.tile_block, values)

    def equal_weights(self, source: RowView, full: int, target: RowView, first: int, depth: int, weight: int) -> None:
        """``depth`` items of one weight, from ``first`` on.

        Parameters
        ----------
        source : RowView
        full : int
            Profit of all items before.
        target : RowView
        first : int
            Place in the order of processing.
        depth : int
            One of the depths that were announced.
        weight : int
            Of one item.
        """
        shapes = self.shapes
        columns = _groups(weight, shapes.lanes)
        steps = _groups(target.hi - target.lo + 1, weight)
        wanted = shapes.units * shapes.class_items_per_unit
        segments = max(1, min(wanted // columns, steps // (4 * depth)))
        length = _groups(steps, segments)
        segments = _groups(steps, length)
        values = (*source, full, *target, self._items["profits"], first, weight, columns, length)
        self._class[depth](_groups(columns * segments, shapes.block), shapes.block, values)

    def trace(
        self, source: Buffer, groups: Buffer, group_count: int, taken: Buffer, capacity: Buffer, choice: Buffer
    ) -> None:
        """Walk back through ``group_count`` groups described in ``groups`` (see the kernel).

        Parameters
        ----------
        source : Buffer
            The rows before the groups.
        groups : Buffer of int64, shape (group_count, 8)
        group_count : int
        taken : Buffer of uint8
            Working memory.
        capacity : Buffer of int64, shape (1,)
            Where to begin; then what is left.
        choice : Buffer of uint8, shape (n,)
            Set to 1 for the items that are taken.
        """
        self._trace.trace_items(
            1,
            int(self.shapes.constants("knapsack/trace")["block"]),
            source=source,
            groups=groups,
            group_count=group_count,
            **self._items,
            taken=taken,
            capacity=capacity,
            choice=choice,
        )


def _groups(count: int, each: int) -> int:
    return -(-count // each)


def _share(cells: int, at_once: int, step: int, most: int | None = None) -> int:
    """Cells a group should make so that whole waves of ``at_once`` groups share them evenly; a multiple of ``step``."""
    most = most or cells
    waves = max(1, math.ceil(cells / (at_once * most)))
    even = _groups(_groups(cells, waves * at_once), step) * step
    return max(1, min(even, most))


@each_once
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template of this solver with every set of constants that a device may ask for."""
    yield "knapsack/batch", BatchShapes.of(capabilities).constants()
    values: tuple[ValueType, ...] = ("i32", "i64")
    for value in values:
        yield "knapsack/sparse", SparseShapes.of(capabilities, value).constants()
        shapes = shapes_for(capabilities, value)
        tiles = "knapsack/tiles_serial" if shapes.serial else "knapsack/tiles"
        for template in ("knapsack/rows", tiles, "knapsack/classes", "knapsack/trace"):
            for depth in DEPTHS if template == "knapsack/classes" else (0,):
                yield template, shapes.constants(template, depth)
