"""One device's part of the dynamic program, on its own thread: two rows, a store of kept rows, and slices."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Communicator, Device
from ....devices.kernels.program import Launch
from ....errors import AuditError
from ..programs import NUMPY_TYPES, PAD, TRACED, Shapes
from .schedule import MOST_FUSED, Schedule

_VIEWS = ("source", "source_base", "source_lo", "source_hi", "full", "target", "target_base", "target_lo", "target_hi")
"""What all kernels on rows take first: a :class:`RowView`, the profit of all items before, another RowView."""


class RowView(NamedTuple):
    """Cells [lo, hi] of a row in a device buffer; cell c is element ``c - base``. Empty if hi < lo."""

    buffer: Buffer
    base: int
    lo: int
    hi: int


def _groups(count: int, each: int) -> int:
    return -(-count // each)


def _share(cells: int, at_once: int, step: int, most: int | None = None) -> int:
    """Cells a group should make so that whole waves of ``at_once`` groups share them evenly; a multiple of ``step``."""
    most = most or cells
    waves = max(1, math.ceil(cells / (at_once * most)))
    even = _groups(_groups(cells, waves * at_once), step) * step
    return max(1, min(even, most))


class Step(NamedTuple):
    """Make cells [lo, hi] of the row after ``group``."""

    group: int
    full: int  # the profit of all items before the group
    lo: int
    hi: int
    base: int  # the cell at the target's first element
    keep: int | None = None  # the element of the store where the row goes if it is to be kept


class Trace(NamedTuple):
    """Walk back through ``group``, whose input row is at ``view``; ``full`` is the profit of all items before it."""

    group: int
    view: RowView
    full: int


class Part(NamedTuple):
    """What a device does between two exchanges: the cells that it starts from, its launches, and the cells it sends."""

    need: tuple[int, int]
    steps: Sequence[Step]
    send: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Message:
    """Cells [lo, hi] of a row on their way between devices: on the host, or in another device's memory."""

    lo: int
    hi: int
    values: NDArray[Any] | None = None
    buffer: Buffer | None = None
    start: int = 0


@dataclass
class Report:
    """What a slice did: seconds on the device's thread, where its last row is, rows kept by stage, messages made."""

    seconds: float
    best: int | None
    view: RowView
    kept: dict[int, RowView] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)


class RowWorker:
    """State on one device."""

    def __init__(
        self,
        device: Device,
        shapes: Shapes,
        schedule: Schedule,
        row_cells: int,
        store_cells: int,
        communicator: Communicator,
        rank: int,
        peer: bool,
    ) -> None:
        self.device, self.shapes, self.schedule = device, shapes, schedule
        self._communicator, self._rank = communicator, rank
        self._peer = peer  # whether the devices read each other's memory
        self._type = np.dtype(NUMPY_TYPES[shapes.value])
        self._rows = [device.empty(row_cells + PAD, self._type) for _ in range(2)]
        self.store = device.empty(store_cells + PAD, self._type)
        fused = np.where(schedule.weights < 2**31, schedule.weights, 0).astype(np.int32)
        self._items = {"weights": device.put(fused), "profits": device.put(schedule.profits.astype(self._type))}
        self._prepare()
        self._choice = device.put(np.zeros(len(schedule.order), np.uint8))
        self._taken = device.empty(MOST_FUSED * shapes.trace_reach, np.uint8)
        self._outboxes: list[Buffer | NDArray[Any] | None] = [None, None]
        self._posted = 0

    def _prepare(self) -> None:
        """The kernels for the kinds of groups that there are."""
        shapes, groups = self.shapes, self.schedule.groups
        kinds = {group.kind for group in groups}

        def launch(template: str, kernel: str, *names: str, depth: int = 0) -> Launch:
            program = self.device.program(template, **shapes.constants(template, depth))
            return program.kernel(kernel).ordered(*_VIEWS, *names)

        self._trace = self.device.program("knapsack/trace", **shapes.constants("knapsack/trace"))
        if "row" in kinds:
            self._row = launch("knapsack/rows", "advance_row", "span", "weight", "profit")
        if "tile" in kinds:
            tiles = "knapsack/tiles_serial" if shapes.serial else "knapsack/tiles"
            self._tile = launch(tiles, "advance_tile", "weights", "profits", "span", "first", "count", "halo")
        if "window" in kinds:
            own = ("items", "weight", "profit", "columns", "length")
            self._window = launch("knapsack/windows", "advance_window", *own)
        own = ("profits", "first", "weight", "columns", "length")
        depths = {group.items for group in groups if group.kind == "class"}
        self._class = {depth: launch("knapsack/classes", "advance_class", *own, depth=depth) for depth in depths}

    @property
    def nowhere(self) -> RowView:
        """A row that has no cell on this device."""
        return RowView(self._rows[0], 0, 0, -1)

    def close(self) -> None:
        """Give the memory back."""
        shared = (self.store, *self._items.values(), self._choice, self._taken)
        for memory in (*self._rows, *shared, *self._outboxes):
            self._release(memory)

    def load(self, lo: int, values: NDArray[Any]) -> RowView:
        """Start from a row given by the host."""
        self.device.put(values.astype(self._type, copy=False), self._rows[0])
        return RowView(self._rows[0], lo, lo, lo + len(values) - 1)

    def read(self, view: RowView, lo: int, hi: int) -> NDArray[Any]:
        """Cells [lo, hi] of a row, on the host."""
        return self.device.get(view.buffer, lo - view.base, hi - lo + 1)

    def post(self, view: RowView, intervals: Sequence[tuple[int, int]]) -> list[Message]:
        """Set cells aside for other devices: unchanged until the exchange after next, complete when the work is."""
        if not intervals:
            return []
        self._posted ^= 1
        box = self._outbox(sum(hi - lo + 1 for lo, hi in intervals))
        messages, start = [], 0
        for lo, hi in intervals:
            if isinstance(box, Buffer):
                self.device.copy(box, view.buffer, start, lo - view.base, hi - lo + 1)
                messages.append(Message(lo, hi, buffer=box, start=start))
            else:
                values = box[start : start + hi - lo + 1]
                self.device.get(view.buffer, lo - view.base, hi - lo + 1, out=values)
                messages.append(Message(lo, hi, values=values))
            start += hi - lo + 1
        return messages

    def _outbox(self, count: int) -> Buffer | NDArray[Any]:
        """Memory for messages, on the device or the host: one of two in turn."""
        box = self._outboxes[self._posted]
        if box is None or box.size < count:
            self._release(box)
            make = self.device.empty if self._peer else self.device.staging
            box = make(2 * count, self._type)
            self._outboxes[self._posted] = box
        return box

    def _release(self, memory: Buffer | NDArray[Any] | None) -> None:
        if isinstance(memory, Buffer):
            self.device.release(memory)
        elif memory is not None:
            self.device.release_staging(memory)

    def assemble(self, view: RowView, lo: int, hi: int, messages: Sequence[Message]) -> RowView:
        """Complete a row to cells [lo, hi] with what other devices sent."""
        if view.lo <= lo and hi <= view.hi and lo <= hi:
            return view
        fits = view.buffer in self._rows and view.base <= lo and hi - view.base < view.buffer.size - PAD
        if not fits:
            target = self._other(view.buffer)
            first, last = max(lo, view.lo), min(hi, view.hi)
            if first <= last:
                self.device.copy(target, view.buffer, first - lo, first - view.base, last - first + 1)
            view = RowView(target, lo, first, last)
        for message in messages:
            start, count = message.lo - view.base, message.hi - message.lo + 1
            if message.values is not None:
                self.device.put(message.values, view.buffer, start)
            elif message.buffer is not None:
                self.device.copy_from_peer(view.buffer, message.buffer, start, message.start, count)
        return RowView(view.buffer, view.base, lo, hi)

    def _other(self, buffer: Buffer) -> Buffer:
        return self._rows[1] if buffer is self._rows[0] else self._rows[0]

    def advance(
        self, source: RowView, received: Sequence[Message], parts: Sequence[Part], best_cell: int | None
    ) -> Report:
        """One slice: in each part complete the row, launch the steps, set aside what others need next; then wait.

        Between two parts the devices exchange, each on its own thread; where they read each other's memory, they wait
        for each other on the devices, and the threads launch ahead. ``best_cell`` is a cell of the last row whose value
        is wanted.
        """
        began = time.perf_counter()
        view = source
        report = Report(0.0, None, view)
        for number, part in enumerate(parts):
            view = self.assemble(view, *part.need, received) if part.steps else self.nowhere
            for step in part.steps:
                view = self._step(view, step)
                if step.keep is not None:
                    report.kept[step.group + 1] = view
            messages = self.post(view, part.send)
            if number + 1 < len(parts):
                received = self._exchange(messages, parts[number + 1].need)
            else:
                report.messages = messages
        report.view = view
        self.device.sync()
        report.seconds = time.perf_counter() - began
        if best_cell is not None:
            report.best = int(self.read(view, best_cell, best_cell)[0])
        return report

    def _exchange(self, messages: list[Message], need: tuple[int, int]) -> list[Message]:
        """What the others sent of the cells needed; each waits for all, so none fills its box before it was read."""
        complete = self.device.record_event() if self._peer else None
        found = self._communicator.all_gather(self._rank, (messages, complete))
        wanted = []
        for rank, (sent, event) in enumerate(found):
            if rank != self._rank:
                if event is not None:
                    self.device.wait_for_event(event)
                wanted += [message for message in sent if need[0] <= message.lo and message.hi <= need[1]]
        return wanted

    def _step(self, source: RowView, step: Step) -> RowView:
        if step.keep is None:
            target = RowView(self._other(source.buffer), step.base, step.lo, step.hi)
        else:
            target = RowView(self.store, step.lo - step.keep, step.lo, step.hi)
        if step.lo < target.base or step.hi - target.base >= target.buffer.size:
            raise AuditError(f"cells {step.lo} to {step.hi} were planned for a row of {target.buffer.size}")
        shapes, views = self.shapes, (*source, step.full, *target)
        cells, block = step.hi - step.lo + 1, shapes.block
        kind, first, items, weight = self.schedule.groups[step.group]
        profit = int(self.schedule.profits[first])
        if kind == "row":
            span = _share(cells, 2 * shapes.units, 4096) if shapes.serial else block * shapes.cells_per_item
            self._row(_groups(cells, span), block, (*views, span, weight, profit))
        elif kind == "tile":
            block, at_once = shapes.tile_block, shapes.units * shapes.tile_groups_per_unit
            span = _share(cells, at_once, block, most=shapes.tile_cells - weight)
            self._tile(_groups(cells, span), block, (*views, *self._items.values(), span, first, items, weight))
        elif kind == "window":
            block, each = shapes.window_block, weight // items
            columns, length, chains = self._chains(cells, each, shapes.window_items_per_unit, 2 * items)
            self._window(_groups(chains, block), block, (*views, items, each, profit, columns, length))
        else:
            each = weight // items
            columns, length, chains = self._chains(cells, each, shapes.class_items_per_unit, 4 * items)
            values = (*views, self._items["profits"], first, each, columns, length)
            self._class[items](_groups(chains, block), block, values)
        return target

    def _chains(self, cells: int, weight: int, each_unit: int, least: int) -> tuple[int, int, int]:
        """Columns of residues, the length of their segments (``least`` or all their cells), and segments in all."""
        columns, steps = _groups(weight, self.shapes.lanes), _groups(cells, weight)
        segments = max(1, min(self.shapes.units * each_unit // columns, steps // least))
        length = _groups(steps, segments)
        return columns, length, columns * _groups(steps, length)

    def trace(self, steps: Sequence[Trace], capacity: int) -> int:
        """Walk back from ``capacity`` through consecutive groups whose input rows lie in one buffer; what is left."""
        about = self.device.put(np.array([self._traced(step) for step in steps], TRACED.dtype))
        present = self.device.put(np.array([capacity], np.int64))
        self._trace.trace_items(
            1,
            int(self.shapes.constants("knapsack/trace")["block"]),
            **self._items,
            source=steps[0].view.buffer,
            groups=about,
            group_count=len(steps),
            taken=self._taken,
            capacity=present,
            choice=self._choice,
        )
        left = int(self.device.get(present)[0])
        self.device.release(present)
        self.device.release(about)
        return left

    def _traced(self, step: Trace) -> tuple[int, ...]:
        """What the kernel needs of one group: the fields of :data:`TRACED`."""
        group, view = self.schedule.groups[step.group], step.view
        if group.kind == "tile":
            stride, width = 1, group.weight
        else:
            stride, width = group.weight // group.items, group.items
        alike = int(group.kind == "window")
        return group.first, group.items, stride, view.base, view.lo, view.hi, step.full, width, alike

    def choices(self) -> NDArray[np.bool_]:
        """Which items of the schedule's order the walks so far have taken."""
        return self.device.get(self._choice).astype(bool)
