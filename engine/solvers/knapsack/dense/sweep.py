"""The dynamic program over all devices: slices of launches, the row divided between devices, rows kept for later.

After Boyer, El Baz and Elkihel, *Dense dynamic programming on multi GPU*: the active range is divided between the
devices anew as it moves, and only the cells a device lacks move between devices. Where the paper exchanges after every
item, a device here makes its part of several items, and the cells below it that they read, before it exchanges. A slice
has as many such stretches as take about 50 ms; between them the devices exchange without the run's thread.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ....base.context import RunContext, StopRequested
from ....devices import DevicePool, Member
from ....devices.pool.group import Communicator, WorkerGroup
from .planning import Planner, Slice
from .schedule import Goal
from .worker import Message, Part, Report, RowView, RowWorker, Trace

if TYPE_CHECKING:
    from .table import Plan

_TRACE_WORK = {True: 100_000_000, False: 10_000_000}  # cells one launch of backtracking may read, by `simt`


@dataclass(frozen=True)
class Row:
    """The row before group ``stage``: its pieces by member index. Pieces may overlap; together they have every cell."""

    stage: int
    pieces: Mapping[int, RowView]


class Sweep:
    """Runs the dynamic program on a pool. Made and used on the run's thread."""

    def __init__(self, pool: DevicePool, run: RunContext, plan: Plan, store_cells: int) -> None:
        self.members: list[Member] = pool.members
        self.run, self.schedule = run, plan.schedule
        self.row_cells, self.store_cells = plan.row_cells, store_cells
        infos = [member.info for member in self.members]
        peer = pool.enable_peers()
        room = {"row_cells": plan.row_cells, "halo": plan.halo, "minimum_share": plan.minimum_share}
        self._planner = Planner(plan.schedule, infos, peer=peer, **room)
        self.holds = self._planner.holds
        self.cells = 0
        self.exchanged_bytes = 0
        self._walked = 0
        self._item_bytes = plan.item_bytes
        communicator = Communicator(len(self.members))
        arguments = [
            (shape, self.schedule, self.row_cells, store_cells, communicator, rank, peer)
            for rank, shape in enumerate(plan.shapes)
        ]
        self._workers = WorkerGroup(self.members, RowWorker, arguments)
        self._workers.on_failure(communicator.abort)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._workers.__exit__(*error)

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
            future = self._workers.submit(index, RowWorker.read, row.pieces[index], first, last)
            values[first - lo : last - lo + 1] = self._workers.gather({index: future})[index]
        return values

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
        """The row before group ``until`` from an earlier one; ``checkpoint`` is called with a row when one is due."""
        keep = keep or {}
        kept: dict[int, dict[int, RowView]] = {stage: {} for stage in keep}
        slices = self._planner.slices(row.stage, until, goal, alone)
        present, upcoming = next(slices, None), next(slices, None)
        messages = self._send_first(row, present)
        parts = self._planner.member_parts(present, upcoming, goal, keep)
        last: tuple[Slice, dict[int, Report], Slice | None] | None = None
        try:
            while present is not None:
                self.run.poll()
                futures = self._submit(row, present, parts, messages, goal)
                if last is not None:  # while the devices work: publish the slice before, and plan the next but one
                    self._publish(*last, goal, phase)
                    last = None
                later = next(slices, None)
                parts = self._planner.member_parts(upcoming, later, goal, keep)
                reports = self._workers.gather(futures)
                views = {index: report.view for index, report in reports.items() if report.view.lo <= report.view.hi}
                row = Row(present[-1].end, views)
                for index, report in reports.items():
                    for stage, view in report.kept.items():
                        kept[stage][index] = view
                messages = self._deliver(reports, upcoming)
                last, present, upcoming = (present, reports, upcoming), upcoming, later
                if checkpoint is not None and self.run.checkpoint_due():
                    self._publish(*last, goal, phase)
                    last = None
                    checkpoint(row)
        except StopRequested:
            if checkpoint is not None:
                if last is not None:
                    self._publish(*last, goal, phase)
                    last = None
                checkpoint(row)
            raise
        finally:  # a stopped run has done its last slice too
            if last is not None:
                self._publish(*last, goal, phase)
        return row, {stage: Row(stage, pieces) for stage, pieces in kept.items()}

    def _submit(
        self,
        row: Row,
        present: Slice,
        parts: Mapping[int, list[Part]],
        messages: Mapping[int, list[Message]],
        goal: Goal,
    ) -> dict[int, Future[Report]]:
        end = present[-1]
        top = self.schedule.range(end.end, goal)[1]
        return {
            index: self._workers.submit(
                index,
                RowWorker.advance,
                row.pieces.get(index, self._workers.worker(index).nowhere),
                messages.get(index, []),
                own,
                top if end.parts[index][0] <= top <= end.parts[index][1] else None,
            )
            for index, own in parts.items()
        }

    def _deliver(self, reports: Mapping[int, Report], upcoming: Slice | None) -> dict[int, list[Message]]:
        """Each member's messages, from what the slice's reports carry."""
        received: dict[int, list[Message]] = {}
        if upcoming is None:
            return received
        for sender, report in reports.items():
            for message in report.messages:
                for receiver, (lo, hi) in enumerate(upcoming[0].needs):
                    if receiver != sender and lo <= message.lo and message.hi <= hi:
                        received.setdefault(receiver, []).append(message)
        return received

    def _send_first(self, row: Row, first: Slice | None) -> dict[int, list[Message]]:
        """What the first slice lacks of a row that lies anywhere."""
        received: dict[int, list[Message]] = {}
        if first is None:
            return received
        for receiver, (lo, hi) in enumerate(first[0].needs):
            own = row.pieces.get(receiver)
            if lo > hi or (own is not None and own.lo <= lo and hi <= own.hi):
                continue
            received[receiver] = self._through_host(row, receiver, lo, hi)
            self.exchanged_bytes += sum(m.hi - m.lo + 1 for m in received[receiver]) * self._item_bytes
        return received

    def _through_host(self, row: Row, receiver: int, lo: int, hi: int) -> list[Message]:
        """The cells [lo, hi] of a row that others have."""
        return [
            Message(a, b, values=self.read(Row(row.stage, {sender: row.pieces[sender]}), a, b))
            for sender, a, b in _cover(row.pieces, lo, hi)
            if sender != receiver
        ]

    def _publish(
        self, present: Slice, reports: Mapping[int, Report], upcoming: Slice | None, goal: Goal, phase: str
    ) -> None:
        run = self.run
        self.exchanged_bytes += self._item_bytes * self._planner.cells_sent(present, upcoming)
        end = present[-1].end
        self.cells += int(self.schedule.work(present[0].begin, end, goal).sum())
        made = self._planner.cells_made(present, goal)
        rates = self._planner.took(present, goal, made, {index: report.seconds for index, report in reports.items()})
        for index, cells in made.items():
            first, last = next(parts for parts in (s.parts[index] for s in reversed(present)) if parts[0] <= parts[1])
            label = self.members[index].label
            run.metric("cells_per_second", rates[index], label)
            run.metric("range_low", first, label)
            run.metric("range_high", last, label)
            run.metric("share", cells / sum(made.values()), label)
        for idle in set(range(len(self.members))) - made.keys():
            run.metric("cells_per_second", 0.0, self.members[idle].label)
            run.metric("share", 0.0, self.members[idle].label)
        for report in reports.values():
            if report.best is not None and phase == "items" and goal.origin == 0:
                run.metric("best_value", report.best)
        run.metric("exchanged_bytes", self.exchanged_bytes)
        if phase == "items":
            group = self.schedule.groups[end - 1]
            run.metric("items_done", group.first + group.items)
            run.progress(phase, group.first + group.items, len(self.schedule.order), "items")

    def trace(self, rows: Collection[Row], capacity: int, goal: Goal) -> int:
        """Walk back from ``capacity`` on the first member through groups, given the row before each; what is left."""
        steps = [
            Trace(row.stage, row.pieces[0], self.schedule.full(row.stage, goal))
            for row in sorted(rows, key=lambda row: row.stage)
        ]
        most = _TRACE_WORK[self.members[0].info.capabilities.simt]
        while steps:
            self.run.poll()
            first, work = len(steps), 0
            while first > 0 and work < most and steps[first - 1].view.buffer is steps[-1].view.buffer:
                first -= 1
                group = self.schedule.groups[steps[first].group]
                width = {"tile": group.weight, "window": 1}.get(group.kind, group.items)
                work += group.items * width
            capacity = self._workers.first(RowWorker.trace, steps[first:], capacity)
            self._walked += sum(self.schedule.groups[step.group].items for step in steps[first:])
            self.run.progress("backtracking", self._walked, len(self.schedule.order), "items")
            del steps[first:]
        return capacity

    def bring(self, row: Row, lo: int, hi: int) -> Row:
        """The cells [lo, hi] of a row on the first member."""
        own = row.pieces.get(0)
        if own is not None and own.lo <= lo and hi <= own.hi:
            return row
        messages = self._through_host(row, 0, lo, hi)
        view = self._workers.first(RowWorker.assemble, own or self._workers.worker(0).nowhere, lo, hi, messages)
        return Row(row.stage, {0: view})

    def choices(self) -> NDArray[np.bool_]:
        """Which items of the schedule's order the walks so far have taken."""
        return self._workers.first(RowWorker.choices)


def _cover(pieces: Mapping[int, RowView], lo: int, hi: int) -> Iterator[tuple[int, int, int]]:
    """(member, first, last): who gives which cells of [lo, hi], without overlap."""
    at = lo
    while at <= hi:
        giver = max(
            (index for index, view in pieces.items() if view.lo <= at <= view.hi), key=lambda index: pieces[index].hi
        )
        last = min(hi, pieces[giver].hi)
        yield giver, at, last
        at = last + 1
