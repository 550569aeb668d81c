"""The dense table of one run: its plan of memory, its rows, its items, and what a resumed run starts from."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.context import StopRequested
from ....devices import DeviceInfo
from ....devices.info import bytes_text
from ..checkpoint import StartRow, save
from ..checks import device_shortage
from ..options import Options
from ..presolve import Reduced
from ..problem import Knapsack
from ..programs import DEPTHS, PAD, Shapes, ValueType, shapes_for
from ..task import TableTask
from .backtrack import Backtracker, Start
from .planning import room_for_rows
from .schedule import Goal, GroupRules, Schedule
from .sweep import Row, Sweep

_USEFUL_ROWS = 160  # kept rows beyond which more would save less than they cost to take


@dataclass(frozen=True)
class Plan:
    """Which launches make the table, and what it needs on each device at the least (with the fewest rows kept)."""

    schedule: Schedule
    done_groups: int
    goal: Goal
    shapes: tuple[Shapes, ...]
    row_cells: int
    halo: int
    minimum_share: int  # cells of a row that are worth a device

    @property
    def widths(self) -> NDArray[np.int64]:
        """Cells of the row before each group, and of the last row."""
        return self.schedule.widths(0, self.goal.end, self.goal)

    @property
    def cells(self) -> int:
        """Cell updates of the way forward."""
        return int(self.schedule.work(0, self.goal.end, self.goal).sum())

    @property
    def cost(self) -> int:
        """How long the way forward takes, in cell updates of the launches that are no windows."""
        return int(self.schedule.cost(0, self.goal.end, self.goal).sum())

    @property
    def item_bytes(self) -> int:
        """Bytes of a cell."""
        return self.shapes[0].item_bytes

    def bytes_needed(self, store_cells: int) -> int:
        """What a device holds when it keeps rows of so many cells."""
        return (2 * self.row_cells + store_cells + 3 * PAD) * self.item_bytes + 21 * len(self.schedule.order)

    def largest_buffer(self, store_cells: int) -> int:
        """Bytes of the largest single buffer."""
        return (max(self.row_cells, store_cells) + PAD) * self.item_bytes

    def what(self, store_cells: int) -> str:
        """The table in words, for errors."""
        size = self.item_bytes
        return (
            f"the table of {len(self.schedule.order)} items x {int(self.widths.max())} capacities "
            f"(2 rows of {bytes_text(self.row_cells * size)} and {bytes_text(store_cells * size)} of kept rows)"
        )

    def shortage(self, devices: Sequence[DeviceInfo]) -> str | None:
        """What does not fit the devices' whole memory, in words; None if all does."""
        needed, largest = self.bytes_needed(1), self.largest_buffer(1)
        handles = Counter(info.id for info in devices)
        reasons = (device_shortage(self.what(1), needed * handles[info.id], largest, info) for info in devices)
        return next(filter(None, reasons), None)


def plan(
    problem: Knapsack,
    options: Options,
    reduced: Reduced,
    devices: Sequence[DeviceInfo],
    done: NDArray[np.bool_] | None = None,
    profile: bool = False,
) -> Plan:
    """The plan of the table of the open items."""
    items = reduced.open
    weights, profits = problem.weights[items], problem.profits[items]
    value: ValueType = "i32" if int(profits.sum()) < 2**30 else "i64"
    shapes = tuple(shapes_for(info.capabilities, value) for info in devices)
    schedule, first = Schedule.build(items, weights, profits, _rules(options, shapes, reduced.capacity), done)
    end = len(schedule.groups)
    goal = Goal(end, 0 if profile else reduced.capacity, reduced.capacity)
    widest = int(schedule.widths(0, end, goal).max())
    largest = max(group.weight for group in schedule.groups)
    halo = min(widest, max(largest, widest // (8 * len(devices))))
    simt = all(info.capabilities.simt for info in devices)
    share = options.minimum_share or (1 << 21 if simt else 1 << 18)
    found = Plan(schedule, first, goal, shapes, room_for_rows(widest, devices, halo, share), halo, share)
    least = replace(found, row_cells=room_for_rows(widest, devices, halo))
    return least if found.shortage(devices) else found


class DenseTable:
    """The dynamic program of one run; fills in what is known."""

    def __init__(self, task: TableTask, plan: Plan, start: StartRow | None = None) -> None:
        self._task, self._plan, self._schedule, self._end = task, plan, plan.schedule, plan.goal.end
        pool, progress = task.pool, task.progress
        self._incumbent, self._start_row = task.reduced.objective, start
        self._counted = (progress.cells, progress.exchanged_bytes)
        self._store_cells = self._room_for_kept_rows()
        needed, largest = plan.bytes_needed(self._store_cells), plan.largest_buffer(self._store_cells)
        each = {member.label: needed for member in pool.members}
        advice = "add devices, or set items = false or keep_memory"
        pool.require_memory(each, plan.what(self._store_cells), advice, largest=largest)
        progress.device_bytes = max(progress.device_bytes, needed)

    def _room_for_kept_rows(self) -> int:
        """Cells that each device keeps for the way back.

        A device alone that has memory of its own keeps all rows, which saves a second sweep, if they take at most half
        of what is free: others may use it too. Otherwise it keeps as many rows as divide the second sweep well.
        """
        if not self._task.options.items:
            return 0
        widths, size = self._plan.widths, self._plan.item_bytes
        members = self._task.pool.members
        sharing = [sum(other.info.id == member.info.id for other in members) for member in members]
        wanted = []
        for member, count in zip(members, sharing, strict=True):
            if self._task.options.keep_memory is not None:
                wanted.append(min(int(self._task.options.keep_memory * 1e6) // size, int(widths.sum())))
            elif member.info.capabilities.host_visible_memory:
                wanted.append(int(widths.max()))
            else:
                spare = member.memory().free // count - 2 * self._plan.row_cells * size
                most = min(spare // (2 * size), member.info.max_allocation // size - PAD)
                whole = int(widths.sum())
                useful = whole if len(sharing) == 1 and whole <= most else _USEFUL_ROWS * int(widths.max())
                wanted.append(min(whole, useful, most))
        return max(min(wanted), 1)

    def run(self) -> None:
        """Compute the value, then the items. A run that is stopped leaves a checkpoint."""
        with self._open_sweep() as self._sweep:
            self._last: tuple[int, int] | None = None
            backtracker = Backtracker(self._sweep, self._passed, self._checkpoint)
            try:
                self._solve(backtracker)
            except StopRequested:
                if self._last is not None:
                    self._checkpoint_items(*self._last)
                elif backtracker.latest is not None:
                    self._checkpoint(*backtracker.latest)
                raise
            finally:
                self._count()

    def profile(self) -> NDArray[np.int64]:
        """The values of all capacities, shape (capacity + 1,); the plan must be for them."""
        goal = self._plan.goal
        values = np.empty(goal.high + 1, np.int64)
        with self._open_sweep() as self._sweep:
            try:
                row, _ = self._sweep.advance(self._sweep.load(0, 0, np.zeros(1, np.int64)), self._end, goal)
                most = self._schedule.range(self._end, goal)[1]
                values[: most + 1] = self._sweep.read(row, 0, most)
                values[most + 1 :] = values[most]
            finally:
                self._count()
        return values

    def _open_sweep(self) -> Sweep:
        return Sweep(self._task.pool, self._task.run, self._plan, self._store_cells)

    def _solve(self, backtracker: Backtracker) -> None:
        start, row, first = backtracker.nothing(0), self._start_row, self._plan.done_groups
        if row is not None:
            start = Start(first, lambda: self._sweep.load(first, row.low, row.values))
        capacity = self._task.reduced.capacity
        if not self._task.options.items:
            self._found(backtracker.value(start, self._end, capacity))
            return
        left = backtracker.value_and_items(start, self._end, capacity, self._found)
        if left is None:
            self._task.reduced.close()
            return
        if start.stage:
            backtracker.value_and_items(backtracker.nothing(0), start.stage, left, lambda _: True, "backtracking")
        items = np.concatenate([self._task.reduced.taken, self._chosen(0)])
        self._task.reduced.improve(items, int(self._task.problem.profits[items].sum()))

    def _found(self, value: int) -> bool:
        """The optimum is known; whether its items have yet to be found."""
        optimum = max(self._incumbent, int(self._task.problem.profits[self._task.reduced.taken].sum()) + value)
        self._task.reduced.bound = optimum
        self._task.publish()
        return optimum > self._incumbent

    def _chosen(self, first: int) -> NDArray[np.int64]:
        """The items found so far among those from place ``first`` of the order on."""
        return np.asarray(self._schedule.order[first:][self._sweep.choices()[first:]])

    def _count(self) -> None:
        cells, exchanged = self._counted
        self._task.progress.cells = cells + self._sweep.cells
        self._task.progress.exchanged_bytes = exchanged + self._sweep.exchanged_bytes

    def _first_item(self, stage: int) -> int:
        return self._schedule.groups[stage].first if stage < self._end else len(self._schedule.order)

    def _checkpoint(self, row: Row, values: NDArray[Any] | None = None) -> None:
        """Save a row of the first sweep (its values, if the devices have it no more), and which items it is of."""
        if not self._task.run.keeps_checkpoints:  # a row may take long to read
            return
        lo, hi = self._schedule.range(row.stage, self._plan.goal)
        values = self._sweep.read(row, lo, hi) if values is None else values
        self._count()
        start = StartRow(self._schedule.order[: self._first_item(row.stage)], lo, values)
        save(self._task.run, self._task.progress, self._task.reduced, start)

    def _passed(self, stage: int, capacity: int) -> None:
        """Items of all groups from ``stage`` on are known: what is left is a smaller problem of the same kind."""
        self._last = (stage, capacity)
        if self._task.run.checkpoint_due():
            self._checkpoint_items(stage, capacity)

    def _checkpoint_items(self, stage: int, capacity: int) -> None:
        first = self._first_item(stage)
        taken = np.concatenate([self._task.reduced.taken, self._chosen(first)])
        self._count()
        smaller = replace(self._task.reduced, taken=taken, open=self._schedule.order[:first], capacity=capacity)
        save(self._task.run, self._task.progress, smaller)


def _rules(options: Options, shapes: Sequence[Shapes], capacity: int) -> GroupRules:
    """What may share a launch on every device; windows read far back, which several devices hold beside their parts."""
    halo = min(shape.halo for shape in shapes) if options.variant not in ("rows", "classes") else 0
    depths = () if options.variant in ("rows", "tiles") else DEPTHS
    serial = all(shape.serial for shape in shapes)
    deepest = 16 if serial else DEPTHS[0]
    least = DEPTHS[-1] if options.variant == "classes" else 4
    least_windowed = max(shape.least_windowed for shape in shapes)
    return GroupRules(
        halo=halo,
        depths=tuple(depth for depth in depths if least <= depth <= deepest),
        tiles_first=options.variant not in ("tiles", "classes", "rows") and serial,
        windows=(least_windowed, min(shape.most_windowed for shape in shapes)) if depths else (0, 0),
        window_weight=max(shape.least_window_weight for shape in shapes),
        window_reach=capacity if len(shapes) == 1 else capacity // (8 * len(shapes)),
    )
