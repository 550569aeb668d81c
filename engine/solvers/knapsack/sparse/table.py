"""The sparse table of one run: slices of steps, the items of the best solution, checkpoints, a device that fails."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.devices import DeviceInfo
from engine.devices.group import WorkerGroup
from engine.devices.info import bytes_text
from engine.devices.pool import Member
from engine.devices.slices import SliceLength
from engine.errors import AuditError, DeviceLost, OutOfDeviceMemory, RunFolderError
from engine.run import Run, StopRequested
from engine.solvers.knapsack.presolve import Reduced
from engine.solvers.knapsack.problem import Knapsack
from engine.solvers.knapsack.programs import TILE, SparseShapes
from engine.solvers.knapsack.resume import Progress, StartTiles
from engine.solvers.knapsack.sparse.items import SparseItems
from engine.solvers.knapsack.sparse.worker import Best, Report, SparseWorker, fixed_bytes
from engine.solvers.knapsack.task import TableTask

__all__ = ["SparseTable", "fault", "preference", "sparse_items"]

_MOST_STEPS = 512  # in one slice: what is in flight cannot be stopped
_CHECKPOINT_BYTES = 1 << 28  # of the largest table that a checkpoint keeps
_LEAST_TILES = 64
_GROWTH = 4  # of the number of tiles in one slice: one item makes up to three of each
_QUICK_TILES = {True: 1 << 16, False: 1 << 8}  # up to which growth does not matter, by `simt`


def sparse_items(problem: Knapsack, reduced: Reduced) -> SparseItems:
    """The open items, as the sparse table takes them.

    Parameters
    ----------
    problem : Knapsack
    reduced : Reduced
    """
    items = reduced.open
    return SparseItems.of(items, problem.weights[items], problem.profits[items], reduced.capacity)


def preference(info: DeviceInfo) -> int:
    """Devices with the least number are asked first."""
    return 0 if info.capabilities.simt else 1


def fault(items: SparseItems, info: DeviceInfo) -> str | None:
    """Why a sparse table of these items is impossible on a device; None if it is not.

    Parameters
    ----------
    items : SparseItems
    info : DeviceInfo
    """
    if not items.fits:
        return "its weights and profits are too large for 64-bit arithmetic"
    if items.capacity // TILE + 1 >= 2**31:
        return f"a capacity of {items.capacity:,} has more than 2^31 tiles of {TILE}"
    cell_bytes = 4 if items.value == "i32" else 8
    needed = fixed_bytes(items) + _LEAST_TILES * TILE * cell_bytes * 4
    if needed > info.memory:
        return f"it needs at least {bytes_text(needed)} on {info.id}, which has {bytes_text(info.memory)}"
    largest = 4 * (items.capacity // TILE + 1)
    if largest > info.max_allocation:
        return (
            f"it needs one buffer of {bytes_text(largest)} on {info.id}, which allows "
            f"{bytes_text(info.max_allocation)} at once"
        )
    return None


@dataclass(frozen=True)
class _Found:
    """What a pass found: its profit, the items chosen at its end, and the smaller problem that is left."""

    profit: int
    chosen: NDArray[np.int64]
    count: int
    cell: int


class SparseTable:
    """The block-sparse dynamic program of one run; fills in what is known.

    Only solutions better than the best known are searched for, on one device: the first GPU of the pool (or the first
    device), and the next one if that fails. Decisions are kept as far as memory allows, the newest first. Where the
    oldest ones are missing, the first items are a smaller problem, whose capacity and profit are known exactly, and
    which is solved in the same way.

    Parameters
    ----------
    task : TableTask
    start : StartTiles, optional
        The table of a checkpoint.
    """

    def __init__(self, task: TableTask, start: StartTiles | None = None) -> None:
        self._task = task
        self._start = start
        self._members: list[Member] = sorted(task.pool.members, key=lambda member: preference(member.info))
        self._fixed = int(task.problem.profits[task.reduced.taken].sum())
        self._later: Reduced | None = None  # what is left to a later pass, once the optimum is known

    def run(self) -> None:
        """Prove the best solution known optimal, or find a better one that is."""
        reduced = self._task.reduced
        items = sparse_items(self._task.problem, reduced)
        found = self._pass(items, reduced.objective - self._fixed, self._start)
        if found is None:
            reduced.close()
            self._publish()
            return
        profit = self._fixed + found.profit
        reduced.bound = profit
        self._publish()
        if self._task.options.items:
            reduced.improve(self._complete(items, found), profit)
            reduced.close()

    def _complete(self, items: SparseItems, found: _Found) -> NDArray[np.int64]:
        """All items of a solution, by solving the smaller problems whose decisions are not kept."""
        known = self._task.reduced
        chosen = [known.taken, found.chosen]
        profit = found.profit
        while found.count:
            profit -= int(self._task.problem.profits[found.chosen].sum())
            items = items.first(found.count, found.cell)
            taken = np.concatenate(chosen)
            self._later = Reduced(taken, items.indices, found.cell, known.best, known.objective, known.bound)
            again = self._pass(items, profit - 1, None)
            if again is None or again.profit != profit:
                raise AuditError(f"{found.count} items of profit {profit} within {found.cell} were not found again")
            found = again
            chosen.append(found.chosen)
        return np.concatenate(chosen)

    def _publish(self) -> None:
        units = self._task.problem.in_units
        self._task.run.incumbent(units(self._task.reduced.objective), units(self._task.reduced.bound))

    # --- one pass -----------------------------------------------------------------------------------------------

    def _pass(self, items: SparseItems, incumbent: int, start: StartTiles | None) -> _Found | None:
        """The best solution of profit more than ``incumbent``; None if there is none. Goes on if a device fails."""
        if len(items) == 0 or int(items.weights.sum()) <= items.capacity:
            total = int(items.profits.sum())
            return _Found(total, items.indices, 0, 0) if total > incumbent else None
        while True:
            member = self._members[0]
            info = member.info
            if (reason := fault(items, info)) is not None:
                raise OutOfDeviceMemory(f"the sparse table is impossible: {reason}; add memory or devices")
            memory = member.memory().free * (50 if info.capabilities.host_visible_memory else 90) // 100
            shapes = SparseShapes.of(info.capabilities, items.value)
            decisions = self._task.options.keep_memory
            arguments = (shapes, items, incumbent, memory, None if decisions is None else int(decisions * 1e6))
            try:
                with WorkerGroup([member], SparseWorker, [arguments], tolerant=True) as workers:
                    return _Pass(self, workers, items, incumbent, start).run()
            except DeviceLost as lost:
                if isinstance(lost.__cause__, OutOfDeviceMemory) or len(self._members) == 1:
                    raise lost.__cause__ or lost from None
                del self._members[0]
                self._task.run.notice(f"{lost}; the table starts again on {self._members[0].label}", level="warning")
                start = None

    # --- checkpoints --------------------------------------------------------------------------------------------

    def improved(self, found: _Found) -> bool:
        """Take over a solution of the first pass before it is proved optimal; whether its items are known."""
        if found.count or self._later is not None:
            return False
        chosen = np.concatenate([self._task.reduced.taken, found.chosen])
        self._task.reduced.improve(chosen, self._fixed + found.profit)
        self._publish()
        return True

    def save(self, start: StartTiles | None) -> None:
        """A checkpoint: of the first pass with its table, of a later one only which smaller problem is left."""
        if self._later is None:
            self._task.progress.save(self._task.run, self._task.reduced, start)
        else:
            self._task.progress.save(self._task.run, self._later)

    @property
    def problem_run(self) -> Run:
        """The run."""
        return self._task.run

    @property
    def progress(self) -> Progress:
        """Counters."""
        return self._task.progress


class _Pass:
    """One pass over the items of a table, on one device."""

    def __init__(
        self,
        table: SparseTable,
        workers: WorkerGroup[SparseWorker],
        items: SparseItems,
        incumbent: int,
        start: StartTiles | None,
    ) -> None:
        self._table = table
        self._run = table.problem_run
        self._workers = workers
        self._items = items
        self._incumbent = incumbent
        self._start = start
        self._best: Best | None = None
        self._step = 0

    def run(self) -> _Found | None:
        """All steps, until no state is left; then the way back from the best complete state."""
        self._begin()
        length = SliceLength(4, most=_MOST_STEPS)
        member = self._workers.members[0]
        label, tiles = member.label, 1 if self._start is None else len(self._start.tiles)
        quick = _QUICK_TILES[member.info.capabilities.simt]
        while self._step < len(self._items):
            try:
                self._run.poll()
            except StopRequested:
                self._checkpoint()
                raise
            if self._run.checkpoint_due():
                self._checkpoint()
            before = self._step
            report = self._workers.first(SparseWorker.advance, length.amount, max(quick, _GROWTH * tiles))
            tiles = report.tiles
            length.took(report.seconds, report.step - before)
            self._note(report, label)
            if report.tiles == 0:
                break
        return None if self._best is None else self._found(self._best)

    def _begin(self) -> None:
        start = self._start
        if start is None:
            self._workers.first(SparseWorker.start)
            return
        self._step = len(start.done)
        prefix = np.array_equal(np.sort(start.done), np.sort(self._items.indices[: self._step]))
        if not prefix or start.values.shape[1:] != (TILE,) or int(start.tiles.max()) > self._items.capacity // TILE:
            raise RunFolderError("the checkpoint cannot be used: its tiles do not belong to the items of this problem")
        self._workers.first(SparseWorker.start, self._step, start.tiles, start.values)

    def _note(self, report: Report, label: str) -> None:
        self._step, self._best = report.step, report.best
        progress = self._table.progress
        progress.cells += report.cells
        progress.device_bytes = max(progress.device_bytes, report.bytes)
        run = self._run
        run.metric("cells_per_second", report.cells / max(report.seconds, 1e-9), label)
        run.metric("active_tiles", report.tiles, label)
        run.metric("items_done", report.step)
        run.progress("items", report.step, len(self._items), "items")
        if report.best is not None:
            run.metric("best_value", self._incumbent + report.best.gain)

    def _found(self, best: Best) -> _Found:
        taken, step, cell = self._workers.first(SparseWorker.trace, best)
        items = self._items
        chosen = np.concatenate([items.indices[step : best.step][taken], items.indices[best.step :]])
        return _Found(self._incumbent + best.gain, chosen, step, cell)

    def _checkpoint(self) -> None:
        """Save the table, if it is small enough and does not depend on a solution whose items are unknown."""
        whole = self._best is None or self._table.improved(self._found(self._best))
        start = None
        if whole and self._step and self._run.folder is not None:
            tiles, values = self._workers.first(SparseWorker.table, _CHECKPOINT_BYTES)
            if len(tiles):
                start = StartTiles(self._items.indices[: self._step], tiles, values)
        self._table.save(start)
