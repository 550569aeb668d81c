"""One pass over the items of a sparse table: on one device, on several, or with the table in the host's memory."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....base.context import StopRequested
from ....devices.info import bytes_text
from ....devices.pool.group import WorkerGroup
from ....devices.pool.slices import SliceLength
from ....errors import AuditError, OutOfDeviceMemory, RunFolderError
from ....util.memory import free_memory
from ..checkpoint import StartTiles
from ..programs import TILE
from .host import HostDecisions, HostTable
from .items import SparseItems
from .shared import Part, SharedWorker
from .worker import Best, Report, SparseWorker

if TYPE_CHECKING:
    from .table import SparseTable

_MOST_STEPS = 512  # in one slice: what is in flight cannot be stopped
_CHECKPOINT_BYTES = 1 << 28  # of the largest table that a checkpoint keeps
_GROWTH = 4  # of the number of tiles in one slice: one item makes up to three of each
_QUICK_TILES = {True: 1 << 16, False: 1 << 8}  # up to which growth does not matter, by `simt`
_SHARED_TILES = {True: 1 << 18, False: 1 << 14}  # from which several devices share the table, by `simt`
_FEWER = 4  # so many times fewer tiles bring the table back to one device
_HOST_PERCENT = 70  # of what the host has left; decisions may take half of that


@dataclass(frozen=True)
class Found:
    """What a pass found: its profit, the items chosen at its end, and the smaller problem that is left."""

    profit: int
    chosen: NDArray[np.int64]
    count: int
    cell: int


class Pass:
    """One pass over the items of a table."""

    def __init__(
        self,
        table: SparseTable,
        workers: WorkerGroup[SharedWorker],
        items: SparseItems,
        incumbent: int,
        start: StartTiles | None,
        decision_memory: int | None,
    ) -> None:
        self._owner, self._run, self._progress = table, table.run, table.progress
        self._workers, self._items, self._incumbent, self._start = workers, items, incumbent, start
        self._step = 0 if start is None else len(start.done)
        self._tiles = 1 if start is None else len(start.tiles)
        self._limit = 0
        self._best: Best | None = None
        self._spread = self._leaves = False
        self.shared = self.on_host = False
        self._table: HostTable | None = None
        self._is_whole = True
        self._host_bytes: int | None = None
        self._kept_bytes = None if decision_memory is None else decision_memory * len(workers)
        self._decisions = HostDecisions(self._step, self._kept_bytes or 0)

    def run(self) -> Found | None:
        """All steps, until no state is left; then the way back from the best complete state."""
        self._begin()
        simt = self._workers.members[0].info.capabilities.simt
        length = SliceLength(4, most=_MOST_STEPS)
        while self._step < len(self._items):
            try:
                self._run.poll()
                if self._run.checkpoint_due():
                    self._checkpoint()
                before, most = self._step, max(_QUICK_TILES[simt], _GROWTH * self._tiles)
                self._place(_SHARED_TILES[simt])
                if self._table is not None:
                    self._advance_on_host(self._table)
                else:
                    self._advance(length, most)
            except StopRequested:
                self._checkpoint()
                raise
            if self._step > before and self._tiles == 0:
                break
        return None if self._best is None else self._found(self._best)

    def _begin(self) -> None:
        start, items = self._start, self._items
        if start is None:
            self._restart(None)
            return
        prefix = np.array_equal(np.sort(start.done), np.sort(items.indices[: self._step]))
        if not prefix or start.values.shape[1:] != (TILE,) or int(start.tiles.max()) > items.capacity // TILE:
            raise RunFolderError("the checkpoint cannot be used: its tiles do not belong to the items of this problem")
        table = start.tiles.astype(np.int32), start.values
        if not self._restart(table):
            self._require_host(start.values.nbytes)
            self._limit = min(self._workers.each(SharedWorker.limit))
            self._table, self.on_host = HostTable([table]), True

    def _restart(self, table: tuple[NDArray[np.int32], NDArray[Any]] | None) -> bool:
        """Give a table to the first device; whether it fits there."""
        tiles, values = (None, None) if table is None else table
        gain = 0 if self._best is None else self._best.gain
        if self._workers.first(SharedWorker.start, self._step, tiles, values, gain) is not None:
            return False
        self._workers.map(SharedWorker.begin, [None, *[(self._step,)] * (len(self._workers) - 1)])
        return True

    def _place(self, shared: int) -> None:
        """Spread the table over the devices, bring it together, or take it back from the host, as its size asks for."""
        if self._table is not None:
            if self._tiles * _FEWER <= self._limit and self._restart(self._table.whole()):
                self._table = None
        elif self._spread:
            self._leaves = self._tiles * _FEWER <= min(shared, self._limit)
        elif self._tiles >= shared and len(self._workers) > 1:
            self._share()

    def _share(self) -> None:
        self._workers.each(SharedWorker.share, self._step)
        self._spread = self.shared = True

    def _advance(self, length: SliceLength, most_tiles: int) -> None:
        before = self._step
        if self._spread:
            amount = 1 if self._leaves else length.amount
            reports = self._workers.each(SharedWorker.advance_shared, amount, most_tiles, self._leaves)
        else:
            reports = [self._workers.first(SharedWorker.advance, length.amount, most_tiles)]
        self._take(reports)
        if self._step > before:
            length.took(max(report.seconds for report in reports), self._step - before)
        shortage = next((report.shortage for report in reports if report.shortage), None)
        if shortage == "decisions":
            self._hand_out()
        elif shortage == "tiles" and len(self._workers) > 1 and not self._spread:
            self._share()
        elif shortage == "tiles":
            self._move_to_host()
        elif self._leaves:
            self._spread = self._leaves = False

    def _hand_out(self) -> None:
        """Bring the devices' decisions to the host."""
        kept, step = self._decisions, self._step
        self._require_host(0)
        self._workers.each(SharedWorker.join, step)
        given = self._workers.each(SharedWorker.decisions, kept.most_bytes // len(self._workers))
        for decisions in given:
            kept.add(decisions)
        oldest = max(decisions[-1].step - 1 if decisions else step for decisions in given)
        kept.close(step, oldest if oldest > kept.step else None)
        self._workers.each(SharedWorker.forget)

    def _move_to_host(self) -> None:
        self._require_host(self._tiles * TILE * self._workers.worker(0).cell_bytes)
        self._hand_out()
        self._table = HostTable(self._tables(None))
        self._spread = self._leaves = False
        self.on_host = True
        self._run.notice(
            f"after {self._step} of {len(self._items)} items the sparse table no longer fits the devices: its "
            f"{self._tiles:,} tiles move to the host's memory"
        )

    def _require_host(self, size: int) -> None:
        """Refuse a table that the host's memory does not hold either; for one that it does, decisions make room."""
        if self._host_bytes is None:
            self._host_bytes = (free_memory() or 0) * _HOST_PERCENT // 100
            if self._kept_bytes is None:
                self._decisions.most_bytes = self._host_bytes // 2
        if size > self._host_bytes:
            names = ", ".join(sorted({member.info.id for member in self._workers.members}))
            raise OutOfDeviceMemory(
                f"the sparse table needs {bytes_text(size)} after {self._step} of {len(self._items)} items, more than "
                f"{names} and the {bytes_text(self._host_bytes)} of the host's memory that may be used hold; "
                "add memory or devices"
            )
        self._decisions.keep(self._host_bytes - size)

    def _advance_on_host(self, table: HostTable) -> None:
        """One item, range by range, each on the device that is free first."""
        began, step = time.perf_counter(), self._step + 1
        gain = 0 if self._best is None else self._best.gain
        shift = int(self._items.weights[step - 1]) // TILE
        last_tile = self._items.capacity // TILE
        idle = list(self._workers.alive)
        waiting: dict[Future[Part], tuple[int, int]] = {}
        parts: dict[int, Part] = {}
        cells = [0] * len(self._workers)
        self._is_whole = False
        for number, given in enumerate(table.ranges(shift, last_tile, self._limit // 2)):
            self._run.poll()
            if not idle:
                idle += self._receive(waiting, parts, cells)
                self._require_host(table.bytes + sum(part.bytes for part in parts.values()))
            index = idle.pop()
            future = self._workers.submit(index, SharedWorker.part, step, given.pieces, given.first, given.last, gain)
            waiting[future] = number, index
        while waiting:
            self._receive(waiting, parts, cells)
        ordered = [parts[number] for number in sorted(parts, reverse=True)]
        decisions = [part.decisions for part in ordered]
        kept = [one for one in decisions if one is not None]
        self._decisions.add(kept)
        self._decisions.close(step, None if len(kept) == len(decisions) else step)
        table.replace((part.tiles, part.values) for part in ordered)
        self._is_whole = True
        for part in ordered:
            if part.best is not None and part.best.beats(self._best):
                self._best = part.best
        self._step, self._tiles = step, table.count
        seconds = time.perf_counter() - began
        self._note(cells, seconds, max(part.device_bytes for part in ordered))

    def _receive(
        self, waiting: dict[Future[Part], tuple[int, int]], parts: dict[int, Part], cells: list[int]
    ) -> list[int]:
        """Take what is done, and add up the cells of each device; which devices are idle again."""
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        idle = []
        for future in done:
            number, index = waiting.pop(future)
            parts[number] = self._workers.gather({index: future})[index]
            cells[index] += parts[number].cells
            idle.append(index)
        return idle

    def _take(self, reports: list[Report]) -> None:
        self._step, self._tiles = reports[0].step, sum(report.tiles for report in reports)
        self._limit = min(report.limit for report in reports)
        for report in reports:
            if report.best is not None and report.best.beats(self._best):
                self._best = report.best
            self._progress.exchanged_bytes += report.exchanged
        seconds = max(report.seconds for report in reports)
        self._note([report.cells for report in reports], seconds, max(report.bytes for report in reports))
        for member, report in zip(self._workers.members, reports, strict=False):
            self._run.metric("active_tiles", report.tiles, member.label)

    def _note(self, cells: list[int], seconds: float, device_bytes: int) -> None:
        run, progress = self._run, self._progress
        progress.cells += sum(cells)
        progress.device_bytes = max(progress.device_bytes, device_bytes)
        for member, count in zip(self._workers.members, cells, strict=False):
            run.metric("cells_per_second", count / max(seconds, 1e-9), member.label)
        run.metric("items_done", self._step)
        run.progress("items", self._step, len(self._items), "items")
        if self._best is not None:
            run.metric("best_value", self._incumbent + self._best.gain)

    def _found(self, best: Best) -> Found:
        """The items of a complete state, as far back as decisions are kept."""
        items = self._items
        step, cell = best.step - 1, best.cell
        taken = [np.array([best.taken])]
        if step > self._decisions.step:
            step, cell = self._trace_on_devices(step, cell, taken)
        if step <= self._decisions.step:
            choice, step, cell = self._decisions.trace(step, cell, items.weights, TILE)
            taken.append(choice)
        choice = np.concatenate(taken[::-1])
        chosen = np.concatenate([items.indices[step : best.step][choice], items.indices[best.step :]])
        return Found(self._incumbent + best.gain, chosen, step, cell)

    def _trace_on_devices(self, step: int, cell: int, taken: list[NDArray[np.bool_]]) -> tuple[int, int]:
        """Each device as far as the tiles on the way are its own, in turn."""
        if not self.shared:
            choice, step, cell = self._workers.first(SparseWorker.trace, step, cell)
            taken.append(choice)
            return step, cell
        oldest = max(self._workers.each(SparseWorker.oldest_decision))
        while step > oldest:
            before = step
            for index in self._workers.alive:
                future = self._workers.submit(index, SparseWorker.trace, step, cell, False)
                choice, step, cell = self._workers.gather({index: future})[index]
                taken.append(choice)
            if step == before:
                raise AuditError(f"no device has the decision of item {step} in cell {cell}")
        return step, cell

    def _tables(self, most_bytes: int | None) -> list[tuple[NDArray[np.int32], NDArray[Any]]]:
        if self._spread:
            return self._workers.each(SparseWorker.table, most_bytes)
        return [self._workers.first(SparseWorker.table, most_bytes)]

    def _checkpoint(self) -> None:
        """Save the table, if it is small enough and does not depend on a solution whose items are unknown."""
        whole = self._best is None or self._owner.improved(self._found(self._best))
        start, size = None, self._tiles * TILE * self._workers.worker(0).cell_bytes
        keeps = self._run.keeps_checkpoints and 0 < size <= _CHECKPOINT_BYTES
        if whole and self._is_whole and self._step and keeps:
            table = HostTable(self._tables(None)) if self._table is None else self._table
            tiles, values = table.whole()
            start = StartTiles(self._items.indices[: self._step], tiles.astype(np.int64), values)
        self._owner.save(start)
