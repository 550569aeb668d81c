"""How the kernels on rows of the dense table are launched."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

from ....devices import Buffer, Device
from ....devices.kernels.program import Launch
from ..programs import Shapes

__all__ = ["RowPrograms", "RowView"]

_VIEWS = ("source", "source_base", "source_lo", "source_hi", "full", "target", "target_base", "target_lo", "target_hi")
"""What all kernels on rows take first: a :class:`RowView`, the profit of all items before, another RowView."""


class RowView(NamedTuple):
    """Cells [lo, hi] of a row in a device buffer; cell c is element ``c - base``. Empty if hi < lo."""

    buffer: Buffer
    base: int
    lo: int
    hi: int


class RowPrograms:
    """The kernels on rows, on one device; made and used on its thread."""

    def __init__(
        self,
        device: Device,
        shapes: Shapes,
        weights: Buffer,
        profits: Buffer,
        kinds: Collection[str],
        depths: Collection[int],
    ) -> None:
        self.shapes = shapes
        self._items = {"weights": weights, "profits": profits}
        self._trace = device.program("knapsack/trace", **shapes.constants("knapsack/trace"))

        def launch(template: str, kernel: str, *names: str, depth: int = 0) -> Launch:
            program = device.program(template, **shapes.constants(template, depth))
            return program.kernel(kernel).ordered(*_VIEWS, *names)

        if "row" in kinds:
            self._row = launch("knapsack/rows", "advance_row", "span", "weight", "profit")
        if "tile" in kinds:
            tiles = "knapsack/tiles_serial" if shapes.serial else "knapsack/tiles"
            self._tile = launch(tiles, "advance_tile", "weights", "profits", "span", "first", "count", "halo")
        if "window" in kinds:
            own = ("items", "weight", "profit", "columns", "length")
            self._window = launch("knapsack/windows", "advance_window", *own)
        own = ("profits", "first", "weight", "columns", "length")
        self._class = {depth: launch("knapsack/classes", "advance_class", *own, depth=depth) for depth in depths}

    def row(self, source: RowView, full: int, target: RowView, weight: int, profit: int) -> None:
        """One item: ``target`` becomes the row after ``source``."""
        shapes = self.shapes
        cells = target.hi - target.lo + 1
        span = _share(cells, 2 * shapes.units, 4096) if shapes.serial else shapes.block * shapes.cells_per_item
        self._row(_groups(cells, span), shapes.block, (*source, full, *target, span, weight, profit))

    def tile(self, source: RowView, full: int, target: RowView, first: int, count: int, halo: int) -> None:
        """Items ``first`` .. ``first + count - 1``, whose weights add up to ``halo``."""
        shapes = self.shapes
        cells = target.hi - target.lo + 1
        at_once = shapes.units * shapes.tile_groups_per_unit
        span = _share(cells, at_once, shapes.tile_block, most=shapes.tile_cells - halo)
        values = (*source, full, *target, *self._items.values(), span, first, count, halo)
        self._tile(_groups(cells, span), shapes.tile_block, values)

    def equal_weights(self, source: RowView, full: int, target: RowView, first: int, depth: int, weight: int) -> None:
        """``depth`` items of one weight, from ``first`` on."""
        block = self.shapes.block
        columns, length, chains = self._chains(target, weight, self.shapes.class_items_per_unit, 4 * depth)
        values = (*source, full, *target, self._items["profits"], first, weight, columns, length)
        self._class[depth](_groups(chains, block), block, values)

    def windows(self, source: RowView, full: int, target: RowView, items: int, weight: int, profit: int) -> None:
        """Items of one weight and one profit."""
        block = self.shapes.window_block
        columns, length, chains = self._chains(target, weight, self.shapes.window_items_per_unit, 2 * items)
        values = (*source, full, *target, items, weight, profit, columns, length)
        self._window(_groups(chains, block), block, values)

    def _chains(self, target: RowView, weight: int, each_unit: int, least: int) -> tuple[int, int, int]:
        """Columns of residues, the length of their segments (``least`` or all their cells), and segments in all."""
        columns = _groups(weight, self.shapes.lanes)
        steps = _groups(target.hi - target.lo + 1, weight)
        segments = max(1, min(self.shapes.units * each_unit // columns, steps // least))
        length = _groups(steps, segments)
        return columns, length, columns * _groups(steps, length)

    def trace(
        self, source: Buffer, groups: Buffer, group_count: int, taken: Buffer, capacity: Buffer, choice: Buffer
    ) -> None:
        """Walk back through ``group_count`` groups described in ``groups`` (see the kernel)."""
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
