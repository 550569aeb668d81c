"""Subset sums: profits in proportion to weights, and a row of one bit for every capacity."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import StopRequested
from ...devices import Capabilities, Device, DeviceInfo, SliceLength, WorkerGroup
from ...devices.kernels.variants import unique_variants
from ...errors import OutOfDeviceMemory
from .checkpoint import save
from .checks import device_shortage
from .ordering import cut_into_runs
from .presolve import Reduced
from .problem import Knapsack
from .task import TableTask

_WORDS_PER_SECOND = {True: 5e10, False: 5e8}  # by `simt`
_MEMORY_SHARE = 0.9
_MOST_LAUNCHES = 2000  # in one slice: what is in flight cannot be stopped
_TILE_WORDS, _HALO_WORDS = 2048, 512  # the weights of items of one launch add up to the bits of a halo at most
_MOST_FUSED = 64  # items of one launch
_READ_WORDS = 1 << 16


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
        cuts = cut_into_runs(self.weights, 64 * _HALO_WORDS, _MOST_FUSED)
        return list(itertools.pairwise(cuts.tolist()))


def _constants(capabilities: Capabilities) -> dict[str, Any]:
    block = min(256, capabilities.max_block) if capabilities.simt else 1
    tile = _TILE_WORDS if capabilities.local_memory >= 40 << 10 else _TILE_WORDS // 2
    return {"block": block, "tile": tile, "halo": _HALO_WORDS}


@unique_variants
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every set of constants that a device may ask for."""
    yield "knapsack/bits", _constants(capabilities)


class BitWorker:
    """State on one device: two rows of bits, and the item that reached each capacity first."""

    def __init__(
        self, device: Device, weights: NDArray[np.int64], groups: list[tuple[int, int]], capacity: int
    ) -> None:
        self.device = device
        constants = _constants(device.capabilities)
        self._block = int(constants["block"])
        self._span = int(constants["tile"]) - _HALO_WORDS
        self._program = device.program("knapsack/bits", **constants)
        self._program.kernel("add_items")  # compiled before anything is begun
        self._most_groups = device.capabilities.compute_units * (16 if device.capabilities.simt else 1)
        self._capacity, self._groups = capacity, groups
        self._sums = np.concatenate([[0], np.cumsum(weights)]).tolist()
        self._host_weights = weights.tolist()
        self._rows = [device.empty(capacity // 64 + 1, np.uint64) for _ in range(2)]
        for row in self._rows:
            device.zero(row)
        device.put(np.ones(1, np.uint64), self._rows[0])
        self._first = device.empty(capacity + 1, np.int32)
        self._weights = device.put(weights)
        self._present = 0

    def close(self) -> None:
        """Give the memory back."""
        for buffer in (*self._rows, self._first, self._weights):
            self.device.release(buffer)

    def advance(self, begin: int, end: int) -> tuple[float, bool]:
        """Launch groups; the seconds it took, and whether the whole capacity has been reached."""
        began = time.perf_counter()
        for first, last in self._groups[begin:end]:
            words = min(self._capacity, self._sums[last]) // 64 + 1
            rows = {"source": self._rows[self._present], "target": self._rows[1 - self._present], "words": words}
            common = {"capacity": self._capacity, "first": self._first}
            if last - first == 1:
                groups = min(self._most_groups, -(-words // self._block))
                weight = self._host_weights[first]
                self._program.add_item(groups, self._block, **rows, weight=weight, item=first, **common)
            else:
                groups = min(self._most_groups, -(-words // self._span))
                items = {"weights": self._weights, "begin": first, "end": last}
                self._program.add_items(groups, self._block, **rows, **items, **common)
            self._present = 1 - self._present
        self.device.sync()
        last_word = int(self.device.get(self._rows[self._present], self._capacity // 64, 1)[0])
        return time.perf_counter() - began, bool(last_word >> (self._capacity % 64) & 1)

    def largest(self) -> int:
        """The greatest sum that was reached."""
        end = self._capacity // 64 + 1
        row = self._rows[self._present]
        while end > 0:
            begin = max(0, end - _READ_WORDS)
            words = self.device.get(row, begin, end - begin)
            if end == self._capacity // 64 + 1:
                words[-1] &= np.uint64((1 << (self._capacity % 64 + 1)) - 1)
            reached = np.flatnonzero(words)
            if len(reached):
                return (begin + int(reached[-1])) * 64 + int(words[reached[-1]]).bit_length() - 1
            end = begin
        return 0

    def trace(self, total: int) -> NDArray[np.bool_]:
        """Which items, in the order of processing, weigh so much together."""
        chosen = self.device.put(np.zeros(len(self._host_weights), np.uint8))
        self._program.trace_sum(1, 1, first=self._first, weights=self._weights, sum=total, chosen=chosen)
        found: NDArray[np.bool_] = self.device.get(chosen) == 1
        self.device.release(chosen)
        return found


def solve_sums(task: TableTask, sums: SubsetSums) -> None:
    """Find the greatest sum and its items, on one device. A run that is stopped begins again when it is resumed."""
    pool, progress, reduced, groups = task.pool, task.progress, task.reduced, sums.groups()
    advice = "add a device with more memory"
    members = [member for member in pool.members if sums.shortage(member.info) is None]
    if not members:
        raise OutOfDeviceMemory(f"{sums.shortage(pool.members[0].info)}; {advice}")
    member = min(members, key=lambda member: not member.info.capabilities.simt)
    pool.require_memory({member.label: sums.bytes_needed}, "the row of subset sums", advice)
    progress.device_bytes = max(progress.device_bytes, sums.bytes_needed)
    with WorkerGroup([member], BitWorker, [(sums.weights, groups, sums.capacity)]) as workers:
        _sweep(task, sums, workers, groups)
        total = workers.first(BitWorker.largest)
        optimum = max(reduced.objective, int(task.problem.profits[reduced.taken].sum()) + total * sums.profit)
        reduced.bound = optimum
        task.publish()
        if optimum > reduced.objective and task.options.items:
            chosen = sums.items[workers.first(BitWorker.trace, total)]
            reduced.improve(np.concatenate([reduced.taken, chosen]), optimum)
        if optimum <= reduced.objective:
            reduced.close()


def _sweep(task: TableTask, sums: SubsetSums, workers: WorkerGroup[BitWorker], groups: list[tuple[int, int]]) -> None:
    """All launches, or as many as it takes until the whole capacity is reached."""
    run, length = task.run, SliceLength(8, most=_MOST_LAUNCHES)
    at, complete = 0, False
    reached = np.minimum(np.cumsum(sums.weights), sums.capacity)
    while at < len(groups) and not complete:
        try:
            run.poll()
        except StopRequested:
            save(run, task.progress, task.reduced)
            raise
        if run.checkpoint_due():
            save(run, task.progress, task.reduced)
        end = min(at + length.amount, len(groups))
        seconds, complete = workers.first(BitWorker.advance, at, end)
        length.took(seconds, end - at)
        cells = int((reached[groups[at][0] : groups[end - 1][1]] + 1).sum())
        task.progress.cells += cells
        run.metric("cells_per_second", cells / max(seconds, 1e-9), workers.members[0].label)
        run.metric("items_done", groups[end - 1][1])
        run.progress("items", groups[end - 1][1], len(sums.weights), "items")
        at = end
