"""The dynamic program over all devices: slices of launches, the row divided between devices, rows kept for later.

After Boyer, El Baz and Elkihel, *Dense dynamic programming on multi GPU*: the active range is divided between the
devices anew as it moves, and only the cells a device lacks move between devices. Where the paper exchanges after every
item, a slice here makes each device's part together with the cells below it that the rest of the slice will read,
so devices exchange once a slice.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from engine.devices import DeviceInfo, DevicePool, Member
from engine.devices.group import WorkerGroup
from engine.devices.slices import SLICE_SECONDS, SliceLength
from engine.run import Run, StopRequested
from engine.solvers.knapsack.dense.schedule import Goal, Schedule
from engine.solvers.knapsack.dense.worker import Message, Report, RowWorker, Step, Trace
from engine.solvers.knapsack.programs import RowView, Shapes

__all__ = ["Row", "Sweep", "alike", "room_for_rows"]

_EXCHANGE_SECONDS = 500e-6  # what one exchange costs all devices, beside the cells moved
_TRACE_WORK = {True: 100_000_000, False: 10_000_000}  # cells one launch of backtracking may read, by `simt`
_MOST_LAUNCHES = 2000  # in one slice: what is in flight cannot be stopped


@dataclass(frozen=True)
class Row:
    """The row before group ``stage``: its pieces by member index. Pieces may overlap; together they have every cell."""

    stage: int
    pieces: Mapping[int, RowView]


@dataclass(frozen=True)
class _Slice:
    """Groups ``begin`` .. ``end - 1``; ``parts`` are the cells each member makes, ``needs`` those it starts from."""

    begin: int
    end: int
    parts: tuple[tuple[int, int], ...]
    needs: tuple[tuple[int, int], ...]


def alike(devices: Sequence[DeviceInfo]) -> bool:
    """Whether the devices are of one model and backend, so that they share a row evenly; others share it by speed."""
    return len({(info.name, info.language) for info in devices}) == 1


def room_for_rows(widest: int, devices: Sequence[DeviceInfo], halo: int) -> int:
    """Cells each device's row must hold, for rows of ``widest`` cells and slices that read ``halo`` cells back."""
    if len(devices) == 1 or not alike(devices):
        return widest
    return min(widest, math.ceil(widest / len(devices)) + 3 * halo)


class Sweep:
    """Runs the dynamic program on a pool. Made and used on the run's thread.

    Parameters
    ----------
    pool : DevicePool
    run : Run
        Polled between slices; publishes the metrics.
    schedule : Schedule
    shapes : sequence of Shapes
        One a member.
    row_cells, store_cells : int
        Room on each member.
    halo : int
        The most weight a slice of several devices may add up to (at least that of any one group).
    minimum_share : int
        The smallest part of a row, in cells, worth a device of its own.
    """

    def __init__(
        self,
        pool: DevicePool,
        run: Run,
        schedule: Schedule,
        shapes: Sequence[Shapes],
        *,
        row_cells: int,
        store_cells: int,
        halo: int,
        minimum_share: int,
    ) -> None:
        self.members: list[Member] = pool.members
        self.schedule = schedule
        self.store_cells = store_cells
        self._run = run
        self.row_cells = row_cells
        self._halo = halo
        self._minimum_share = minimum_share
        self._peer = pool.enable_peers()
        self._speed = [3e11 if member.info.capabilities.simt else 1e9 for member in self.members]
        self._even = alike([member.info for member in self.members])
        self.cells = 0
        self.exchanged_bytes = 0
        self._walked = 0
        self._item_bytes = shapes[0].item_bytes
        self._slice = SliceLength(SLICE_SECONDS * sum(self._speed))
        self._workers = WorkerGroup(
            self.members, RowWorker, [(shape, schedule, row_cells, store_cells) for shape in shapes]
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        """Give the devices' memory back."""
        self._workers.__exit__(*error)

    @property
    def writes_checkpoints(self) -> bool:
        """Whether the run has a folder for them."""
        return self._run.folder is not None

    # --- rows ---------------------------------------------------------------------------------------------------

    def load(self, stage: int, lo: int, values: NDArray[Any]) -> Row:
        """A row from the host, divided between the members as their memory allows."""
        share = min(self.row_cells, max(1, math.ceil(len(values) / len(self.members))))
        if len(values) <= self.row_cells:
            share = max(1, len(values))
        parts = [(index * share, min((index + 1) * share, len(values))) for index in range(len(self.members))]
        views = self._workers.map(RowWorker.load, [(lo + a, values[a:b]) if a < b else None for a, b in parts])
        pieces = {index: view for index, view in enumerate(views) if view is not None}
        return Row(stage, pieces)

    def read(self, row: Row, lo: int, hi: int) -> NDArray[Any]:
        """Cells [lo, hi] of a row, on the host."""
        values = np.empty(hi - lo + 1, np.int64 if self._item_bytes == 8 else np.int32)
        for index, first, last in _cover(row.pieces, lo, hi):
            part = self._workers.gather(
                {index: self._workers.submit(index, RowWorker.read, row.pieces[index], first, last)}
            )
            values[first - lo : last - lo + 1] = part[index]
        return values

    # --- forward ------------------------------------------------------------------------------------------------

    def advance(
        self,
        row: Row,
        until: int,
        goal: Goal,
        *,
        keep: Mapping[int, int] | None = None,
        alone: bool = False,
        checkpoint: Any = None,
        phase: str = "items",
    ) -> tuple[Row, dict[int, Row]]:
        """The row before group ``until`` from an earlier one, as far as the goal needs.

        Parameters
        ----------
        row : Row
        until : int
        goal : Goal
        keep : mapping of stage to element of the store, optional
            Rows to keep on the way.
        alone : bool
            Use the first member only, whatever the range.
        checkpoint : callable, optional
            Called with a slice's row when a checkpoint is due, and when the run is stopped.
        phase : str
            For progress.

        Returns
        -------
        row : Row
        kept : dict of int to Row
        """
        keep = keep or {}
        kept: dict[int, dict[int, RowView]] = {stage: {} for stage in keep}
        slices = self._slices(row.stage, until, goal, alone)
        present, upcoming = next(slices, None), next(slices, None)
        messages = self._send_first(row, present)
        steps = self._steps(present, upcoming, goal, keep)
        last: tuple[_Slice, dict[int, Report]] | None = None
        try:
            while present is not None:
                self._run.poll()
                futures = self._submit(row, present, upcoming, steps, messages, goal)
                if last is not None:  # while the devices work: publish the slice before, and plan the next but one
                    self._publish(*last, goal, phase)
                    last = None
                later = next(slices, None)
                steps = self._steps(upcoming, later, goal, keep)
                reports = self._workers.gather(futures)
                row = Row(present.end, {index: report.view for index, report in reports.items()})
                for index, report in reports.items():
                    for stage, view in report.kept.items():
                        kept[stage][index] = view
                messages = self._deliver(reports, upcoming)
                if checkpoint is not None and self._run.checkpoint_due():
                    checkpoint(row)
                last, present, upcoming = (present, reports), upcoming, later
        except StopRequested:
            if checkpoint is not None:
                checkpoint(row)
            raise
        finally:  # a stopped run has done its last slice too
            if last is not None:
                self._publish(*last, goal, phase)
        return row, {stage: Row(stage, pieces) for stage, pieces in kept.items()}

    def _slices(self, begin: int, until: int, goal: Goal, alone: bool) -> Iterator[_Slice]:
        """Cut the groups into slices, one ahead of the devices, by the speed measured so far."""
        work = self.schedule.work(begin, until, goal).tolist()
        widths = self.schedule.widths(begin, until, goal).tolist()
        weight = self.schedule.weight_before
        first = begin
        while first < until:
            devices = 1 if alone else self._devices_for(max(widths[first - begin : first - begin + 2]))
            budget = self._slice.amount
            farthest = weight[first] + self._reach(devices) if devices > 1 else weight[until]
            spent = work[first - begin]
            last = first + 1
            while last < until and last - first < _MOST_LAUNCHES:
                spent += work[last - begin]
                wider = not alone and self._devices_for(widths[last + 1 - begin]) > devices
                if spent > budget or weight[last + 1] > farthest or wider:
                    break
                last += 1
            parts = self._parts(last, goal, devices)
            needs = tuple(self._need(first, last, goal, part) for part in parts)
            yield _Slice(first, last, parts, needs)
            first = last

    def _reach(self, devices: int) -> int:
        """How much weight a slice of several devices takes: more is done twice, less is exchanged more often.

        Cells done twice cost reach / 2 a cell of weight, an exchange costs its seconds; the sum is least at
        reach = sqrt(2 * seconds * speed * weight an item), with the weights of a group taken together.
        """
        mean = max(1.0, self.schedule.weight_before[-1] / max(1, len(self.schedule.order)))
        best = math.sqrt(2 * _EXCHANGE_SECONDS * min(self._speed[:devices]) * mean)
        return int(min(self._halo, max(best, 1)))

    def _devices_for(self, width: int) -> int:
        """How many devices a row of this width is worth, and needs."""
        most = len(self.members)
        wanted = max(1, min(most, width // self._minimum_share))
        while wanted < most and math.ceil(width / wanted) + (3 * self._halo if wanted > 1 else 0) > self.row_cells:
            wanted += 1
        return wanted

    def holds(self, width: int) -> bool:
        """Whether a row of so many cells fits the members' memory."""
        if not self._even:  # any of them may get nearly all
            return width <= self.row_cells
        devices = self._devices_for(width)
        return math.ceil(width / devices) + (3 * self._halo if devices > 1 else 0) <= self.row_cells

    def _parts(self, stage: int, goal: Goal, devices: int) -> tuple[tuple[int, int], ...]:
        """Divide the active range: evenly among like devices, by measured speed among unlike ones."""
        lo, hi = self.schedule.range(stage, goal)
        shares = np.ones(devices) if self._even else np.array(self._speed[:devices])
        cuts = lo + np.round(np.concatenate([[0], np.cumsum(shares) / shares.sum()]) * (hi - lo + 1)).astype(np.int64)
        parts = [(int(cuts[i]), int(cuts[i + 1]) - 1) for i in range(devices)]
        return (*parts, *((0, -1),) * (len(self.members) - devices))

    def _need(self, stage: int, last: int, goal: Goal, part: tuple[int, int]) -> tuple[int, int]:
        """Cells of the row before ``stage`` that ``part`` of the row before ``last`` is made from."""
        if part[0] > part[1]:
            return (0, -1)
        lo, hi = self.schedule.range(stage, goal)
        back = self.schedule.weight_before[last] - self.schedule.weight_before[stage]
        return max(lo, part[0] - back), min(hi, part[1])

    def _submit(
        self,
        row: Row,
        present: _Slice,
        upcoming: _Slice | None,
        steps: Mapping[int, list[Step]],
        messages: Mapping[int, list[Message]],
        goal: Goal,
    ) -> dict[int, Future[Report]]:
        top = self.schedule.range(present.end, goal)[1]
        return {
            index: self._workers.submit(
                index,
                RowWorker.advance,
                row.pieces.get(index, self._nowhere(index)),
                present.needs[index],
                messages.get(index, []),
                launches,
                self._sent(index, present, upcoming),
                self._peer,
                top if present.parts[index][0] <= top <= present.parts[index][1] else None,
            )
            for index, launches in steps.items()
        }

    def _nowhere(self, index: int) -> RowView:
        return RowView(self._workers.worker(index).spare, 0, 0, -1)

    def _steps(
        self, present: _Slice | None, upcoming: _Slice | None, goal: Goal, keep: Mapping[int, int]
    ) -> dict[int, list[Step]]:
        """The launches of a slice, for each member that has a part in it."""
        if present is None:
            return {}
        weight = np.array(self.schedule.weight_before[present.begin + 1 : present.end + 1], dtype=np.int64)
        back = weight[-1] - weight
        lowest, highest = (cells[1:] for cells in self.schedule.ranges(present.begin, present.end, goal))
        steps: dict[int, list[Step]] = {}
        for index, (first, last) in enumerate(present.parts):
            if first > last:
                continue
            lows = np.maximum(lowest, first - back).tolist()
            highs = np.minimum(highest, last).tolist()
            bases = lows[:]
            if upcoming is not None and upcoming.needs[index][0] <= upcoming.needs[index][1]:
                bases[-1] = max(min(lows[-1], upcoming.needs[index][0]), highs[-1] + 1 - self.row_cells)
            steps[index] = [
                Step(group, self.schedule.full(group, goal), lo, hi, base, keep.get(group + 1))
                for group, lo, hi, base in zip(range(present.begin, present.end), lows, highs, bases, strict=True)
            ]
        return steps

    # --- exchange -----------------------------------------------------------------------------------------------

    @staticmethod
    def _lacking(present: _Slice, upcoming: _Slice | None) -> Iterator[tuple[int, int, int, int]]:
        """(receiver, sender, lo, hi): what each member lacks for the next slice, and who has made it."""
        if upcoming is None:
            return
        for receiver, (lo, hi) in enumerate(upcoming.needs):
            for sender, (first, last) in enumerate(present.parts):
                a, b = max(lo, first), min(hi, last)
                if sender != receiver and a <= b:
                    yield receiver, sender, a, b

    def _sent(self, sender: int, present: _Slice, upcoming: _Slice | None) -> list[tuple[int, int]]:
        return [(lo, hi) for _, source, lo, hi in self._lacking(present, upcoming) if source == sender]

    def _deliver(self, reports: Mapping[int, Report], upcoming: _Slice | None) -> dict[int, list[Message]]:
        """Each member's messages, from what the slice's reports carry."""
        received: dict[int, list[Message]] = {}
        if upcoming is None:
            return received
        for sender, report in reports.items():
            for message in report.messages:
                for receiver, (lo, hi) in enumerate(upcoming.needs):
                    if receiver != sender and lo <= message.lo and message.hi <= hi:
                        received.setdefault(receiver, []).append(message)
                self.exchanged_bytes += (message.hi - message.lo + 1) * self._item_bytes
        return received

    def _send_first(self, row: Row, first: _Slice | None) -> dict[int, list[Message]]:
        """What the first slice lacks of a row that lies anywhere."""
        received: dict[int, list[Message]] = {}
        if first is None:
            return received
        for receiver, (lo, hi) in enumerate(first.needs):
            own = row.pieces.get(receiver)
            if lo > hi or (own is not None and own.lo <= lo and hi <= own.hi):
                continue
            for sender, a, b in _cover(row.pieces, lo, hi):
                if sender != receiver:
                    received.setdefault(receiver, []).append(
                        Message(a, b, values=self.read(Row(row.stage, {sender: row.pieces[sender]}), a, b))
                    )
                    self.exchanged_bytes += (b - a + 1) * self._item_bytes
        return received

    # --- publishing ------------------------------------------------------------------------------------------------

    def _publish(self, present: _Slice, reports: Mapping[int, Report], goal: Goal, phase: str) -> None:
        run = self._run
        work = int(self.schedule.work(present.begin, present.end, goal).sum())
        self.cells += work
        self._slice.took(max(report.seconds for report in reports.values()), work)
        lo, hi = self.schedule.range(present.end, goal)
        for index, report in reports.items():
            first, last = present.parts[index]
            share = (last - first + 1) / (hi - lo + 1)
            rate = share * work / max(report.seconds, 1e-9)
            if rate > self._speed[index] or report.seconds > SLICE_SECONDS / 20:  # a short slice is mostly overhead
                self._speed[index] = 0.5 * (self._speed[index] + rate)
            label = self.members[index].label
            run.metric("cells_per_second", rate, label)
            run.metric("range_low", first, label)
            run.metric("range_high", last, label)
            run.metric("share", share, label)
            if report.best is not None and phase == "items" and goal.origin == 0:
                run.metric("best_value", report.best)
        run.metric("exchanged_bytes", self.exchanged_bytes)
        if phase == "items":
            group = self.schedule.groups[present.end - 1]
            run.metric("items_done", group.first + group.count)
            run.progress(phase, group.first + group.count, len(self.schedule.order), "items")

    # --- backtracking ------------------------------------------------------------------------------------------

    def trace(self, rows: Collection[Row], capacity: int, goal: Goal) -> int:
        """Walk back from ``capacity`` on the first member through consecutive groups, given the row before each.

        The rows lie in the store, the first perhaps elsewhere. Returns the capacity that is left before the first.
        """
        steps = [
            Trace(row.stage, row.pieces[0], self.schedule.full(row.stage, goal))
            for row in sorted(rows, key=lambda row: row.stage)
        ]
        most = _TRACE_WORK[self.members[0].info.capabilities.simt]
        while steps:
            self._run.poll()
            first, work = len(steps), 0
            while first > 0 and work < most and steps[first - 1].view.buffer is steps[-1].view.buffer:
                first -= 1
                group = self.schedule.groups[steps[first].group]
                work += group.count * (group.weight if group.kind == "tile" else group.count)
            capacity = self._workers.first(RowWorker.trace, steps[first:], capacity)
            self._walked += sum(self.schedule.groups[step.group].count for step in steps[first:])
            self._run.progress("backtracking", self._walked, len(self.schedule.order), "items")
            del steps[first:]
        return capacity

    def bring(self, row: Row, lo: int, hi: int) -> Row:
        """The cells [lo, hi] of a row on the first member."""
        own = row.pieces.get(0)
        if own is not None and own.lo <= lo and hi <= own.hi:
            return row
        messages = [
            Message(a, b, values=self.read(Row(row.stage, {sender: row.pieces[sender]}), a, b))
            for sender, a, b in _cover(row.pieces, lo, hi)
            if sender != 0
        ]
        view = self._workers.first(RowWorker.assemble, own or self._nowhere(0), lo, hi, messages)
        return Row(row.stage, {0: view})

    def choices(self) -> NDArray[np.bool_]:
        """Which items of the schedule's order the walks so far have taken."""
        return self._workers.first(RowWorker.choices)


def _cover(pieces: Mapping[int, RowView], lo: int, hi: int) -> Iterator[tuple[int, int, int]]:
    """(member, first, last): who gives which cells of [lo, hi], without overlap."""
    at = lo
    while at <= hi:
        giver = max(
            (index for index, view in pieces.items() if view.lo <= at <= view.hi),
            key=lambda index: pieces[index].hi,
        )
        last = min(hi, pieces[giver].hi)
        yield giver, at, last
        at = last + 1
