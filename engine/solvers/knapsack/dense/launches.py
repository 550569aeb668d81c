"""How the kernels on rows of the dense table are launched."""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cached_property
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
    """The kernels on rows, on one device; made and used on its thread.

    ``weights``, ``profits``: of the items in processing order, in int32 and in the value type; ``kinds``: kinds of
    groups that will be launched; their kernels are compiled here, the others when they are needed; ``depths``: how many
    items of equal weight the launches of :meth:`equal_weights` will take.
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
        windows = device.program("knapsack/windows", **shapes.constants("knapsack/windows"))
        self._windows = windows
        if "window" in kinds:
            windows.kernel("advance_window")
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

    @cached_property
    def _window(self) -> Launch:
        names = ("items", "weight", "profit", "columns", "length")
        return self._windows.kernel("advance_window").ordered(*_VIEWS, *names)

    def row(self, source: RowView, full: int, target: RowView, weight: int, profit: int) -> None:
        """One item: ``target`` becomes the row after ``source``.

        ``full``: profit of all items before; ``weight``, ``profit``: of the item.
        """
        shapes = self.shapes
        cells = target.hi - target.lo + 1
        span = _share(cells, 2 * shapes.units, 4096) if shapes.serial else shapes.block * shapes.cells_per_item
        self._row(_groups(cells, span), shapes.block, (*source, full, *target, span, weight, profit))

    def tile(self, source: RowView, full: int, target: RowView, first: int, count: int, halo: int) -> None:
        """Items ``first`` .. ``first + count - 1``, whose weights add up to ``halo``.

        ``full``: profit of all items before; ``first``, ``count``: places in the order of processing.
        """
        shapes = self.shapes
        cells = target.hi - target.lo + 1
        at_once = shapes.units * shapes.tile_groups_per_unit
        span = _share(cells, at_once, shapes.tile_block, most=shapes.tile_cells - halo)
        values = (*source, full, *target, *self._items.values(), span, first, count, halo)
        self._tile(_groups(cells, span), shapes.tile_block, values)

    def equal_weights(self, source: RowView, full: int, target: RowView, first: int, depth: int, weight: int) -> None:
        """``depth`` items of one weight, from ``first`` on.

        ``full``: profit of all items before; ``first``: place in the order of processing; ``depth``: one of the depths
        that were announced; ``weight``: of one item.
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

    def windows(self, source: RowView, full: int, target: RowView, items: int, weight: int, profit: int) -> None:
        """Items of one weight and one profit.

        ``full``: profit of all items before; ``items``: how many; at most ``shapes.most_windowed``; ``weight``,
        ``profit``: of one item.
        """
        shapes = self.shapes
        columns = _groups(weight, shapes.lanes)
        steps = _groups(target.hi - target.lo + 1, weight)
        wanted = shapes.units * shapes.window_items_per_unit
        segments = max(1, min(wanted // columns, steps // (2 * items)))
        length = _groups(steps, segments)
        segments = _groups(steps, length)
        values = (*source, full, *target, items, weight, profit, columns, length)
        self._window(_groups(columns * segments, shapes.window_block), shapes.window_block, values)

    def trace(
        self, source: Buffer, groups: Buffer, group_count: int, taken: Buffer, capacity: Buffer, choice: Buffer
    ) -> None:
        """Walk back through ``group_count`` groups described in ``groups`` (see the kernel).

        ``source``: the rows before the groups; ``groups`` of shape (group_count,); ``taken``: working memory;
        ``capacity`` of shape (1,): where to begin; then what is left; ``choice`` of shape (n,): set to 1 for the items
        that are taken.
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
