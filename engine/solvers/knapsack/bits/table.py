"""Subset sums of one run: which problems they are, and the search for the greatest sum within the capacity."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....base.context import StopRequested
from ....devices import DeviceInfo, SliceLength, WorkerGroup
from ....errors import OutOfDeviceMemory
from ..checkpoint import save
from ..checks import device_shortage
from ..presolve import Reduced
from ..problem import Knapsack
from ..runs import cut_into_runs
from ..task import TableTask
from .worker import HALO_BITS, MOST_FUSED, BitWorker

__all__ = ["BitTable", "SubsetSums"]

_WORDS_PER_SECOND = {True: 5e10, False: 5e8}  # by `simt`
_MEMORY_SHARE = 0.9
_MOST_LAUNCHES = 2000  # in one slice: what is in flight cannot be stopped


@dataclass(frozen=True)
class SubsetSums:
    """Items whose profits are in proportion to their weights, by descending weight."""

    items: NDArray[np.int64]
    weights: NDArray[np.int64]  # divided by their greatest common divisor
    capacity: int  # divided by that, too, and at most the sum of the weights
    profit: int  # of one unit of these weights

    @classmethod
    def of(cls, problem: Knapsack, reduced: Reduced) -> SubsetSums | None:
        """The open items, if their profits are in proportion to their weights."""
        weights, profits = problem.weights[reduced.open], problem.profits[reduced.open]
        divisor, unit = int(np.gcd.reduce(weights)), int(np.gcd.reduce(profits))
        if not np.array_equal(weights // divisor, profits // unit):
            return None
        order = np.argsort(-weights, kind="stable")
        weights = weights[order] // divisor
        capacity = min(reduced.capacity // divisor, int(weights.sum()))
        return cls(reduced.open[order], weights, capacity, unit)

    @property
    def words(self) -> int:
        """Words of 64 capacities that are updated in all, at most."""
        reached = np.minimum(np.cumsum(self.weights), self.capacity)
        return int((reached // 64 + 1).sum())

    @property
    def bytes_needed(self) -> int:
        """What a device holds."""
        return 2 * (self.capacity // 8 + 8) + 4 * (self.capacity + 1) + 9 * len(self.weights)

    def shortage(self, info: DeviceInfo) -> str | None:
        """What does not fit a device, in words; None if all does."""
        row = f"the row of {self.capacity + 1:,} sums"
        return device_shortage(row, self.bytes_needed, 4 * (self.capacity + 1), info, _MEMORY_SHARE)

    def seconds(self, info: DeviceInfo) -> float:
        """How long a device takes, roughly."""
        launches = len(self.groups()) * info.capabilities.launch_cost
        return self.words / _WORDS_PER_SECOND[info.capabilities.simt] + launches

    def groups(self) -> list[tuple[int, int]]:
        """First and end of the items of each launch."""
        cuts = cut_into_runs(self.weights, HALO_BITS, MOST_FUSED)
        return list(itertools.pairwise(cuts.tolist()))


class BitTable:
    """The search of one run, on one device; fills in what is known."""

    def __init__(self, task: TableTask, sums: SubsetSums) -> None:
        self._task, self._sums = task, sums
        pool, progress = task.pool, task.progress
        members = [member for member in pool.members if sums.shortage(member.info) is None]
        if not members:
            raise OutOfDeviceMemory(f"{sums.shortage(pool.members[0].info)}; add a device with more memory")
        self._member = min(members, key=lambda member: not member.info.capabilities.simt)
        advice = "add a device with more memory"
        pool.require_memory({self._member.label: sums.bytes_needed}, "the row of subset sums", advice)
        progress.device_bytes = max(progress.device_bytes, sums.bytes_needed)

    def run(self) -> None:
        """Find the greatest sum and its items. A run that is stopped begins its row again when it is resumed."""
        sums, reduced = self._sums, self._task.reduced
        groups = sums.groups()
        with WorkerGroup([self._member], BitWorker, [(sums.weights, groups, sums.capacity)]) as workers:
            self._sweep(workers, groups)
            total = workers.first(BitWorker.largest)
            fixed = int(self._task.problem.profits[reduced.taken].sum())
            optimum = max(reduced.objective, fixed + total * sums.profit)
            reduced.bound = optimum
            self._task.publish()
            if optimum > reduced.objective and self._task.options.items:
                chosen = sums.items[workers.first(BitWorker.trace, total)]
                reduced.improve(np.concatenate([reduced.taken, chosen]), optimum)
            if optimum <= reduced.objective:
                reduced.close()

    def _sweep(self, workers: WorkerGroup[BitWorker], groups: list[tuple[int, int]]) -> None:
        """All launches, or as many as it takes until the whole capacity is reached."""
        run = self._task.run
        length = SliceLength(8, most=_MOST_LAUNCHES)
        at, complete = 0, False
        reached = np.minimum(np.cumsum(self._sums.weights), self._sums.capacity)
        while at < len(groups) and not complete:
            try:
                run.poll()
            except StopRequested:
                save(run, self._task.progress, self._task.reduced)
                raise
            if run.checkpoint_due():
                save(run, self._task.progress, self._task.reduced)
            end = min(at + length.amount, len(groups))
            seconds, complete = workers.first(BitWorker.advance, at, end)
            length.took(seconds, end - at)
            cells = int((reached[groups[at][0] : groups[end - 1][1]] + 1).sum())
            self._task.progress.cells += cells
            run.metric("cells_per_second", cells / max(seconds, 1e-9), workers.members[0].label)
            run.metric("items_done", groups[end - 1][1])
            run.progress("items", groups[end - 1][1], len(self._sums.weights), "items")
            at = end
