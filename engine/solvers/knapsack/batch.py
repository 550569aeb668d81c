"""Many small problems at once: a work-group of the device solves a whole one, thousands in one launch."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.batch import BatchControl
from ...base.result import Result, Status
from ...devices import SLICE_SECONDS, Buffer, Device, DevicePool, Member, SliceLength, WorkerGroup
from ...errors import AuditError, OutOfDeviceMemory
from .bounded import ZeroOne
from .options import Options
from .problem import Knapsack
from .programs import BATCH_ANSWER, MOST_BATCH_ITEMS, BatchShapes

MOST_CAPACITY = 1 << 18
"""The greatest capacity of a problem that is solved in a batch, after it was lowered to the weight of all its items."""

_MOST_PROFIT = 1 << 30
_CELLS_PER_SECOND = {True: 1e11, False: 3e8}  # of the first slice, by `simt`
_SCRATCH_SHARE = 0.25  # of the free memory, for the rows and bits of the groups that run at once
_MOST_SCRATCH = 8 << 30
_ROUTE = np.array("bounds and a table in local or device memory, one work-group a problem, in a batch")
_ROUTE.setflags(write=False)


@dataclass(frozen=True)
class Packed:
    """Problems without the items that no solution needs: those without profit, and those that do not fit."""

    indices: NDArray[np.int64]  # (m,): where each problem stands among those given; the others do not suit a batch
    starts: NDArray[np.int32]  # (m + 1,): its first item in the arrays of items
    items: NDArray[np.int32]  # (k,): the number of each item in its problem
    weights: NDArray[np.int32]
    profits: NDArray[np.int32]
    capacities: NDArray[np.int32]  # (m,): at most the weight of all items

    def __len__(self) -> int:
        return len(self.capacities)

    @classmethod
    def of(cls, problems: Sequence[Knapsack]) -> Packed:
        """Pack those of the problems that are small enough; each item of a problem can be taken once."""
        profits = np.concatenate([problem.profits for problem in problems])
        weights = np.concatenate([problem.weights for problem in problems])
        sizes = np.array([problem.n for problem in problems], np.int64)
        capacities = np.array([problem.capacity for problem in problems], np.int64)
        kept = np.flatnonzero((profits > 0) & (weights <= np.repeat(capacities, sizes)))
        owner = np.repeat(np.arange(len(problems)), sizes)[kept]
        items, weights, profits = kept - (np.cumsum(sizes) - sizes)[owner], weights[kept], profits[kept]
        counts = np.bincount(owner, minlength=len(problems))
        total_weight, total_profit = (
            np.bincount(owner, weights=values, minlength=len(problems)) for values in (weights, profits)
        )
        capacities = np.minimum(capacities, np.minimum(total_weight, 2.0**62).astype(np.int64))
        suited = (counts <= MOST_BATCH_ITEMS) & (capacities <= MOST_CAPACITY) & (total_profit < _MOST_PROFIT)
        if not suited.all():
            items, weights, profits = (values[suited[owner]] for values in (items, weights, profits))
        starts = np.concatenate([[0], np.cumsum(counts[suited])])
        return cls(
            np.flatnonzero(suited).astype(np.int64),
            starts.astype(np.int32),
            items.astype(np.int32),
            weights.astype(np.int32),
            profits.astype(np.int32),
            capacities[suited].astype(np.int32),
        )

    def part(self, first: int, end: int) -> Packed:
        """The problems ``first`` .. ``end - 1``."""
        a, b = int(self.starts[first]), int(self.starts[end])
        return Packed(
            self.indices[first:end],
            self.starts[first : end + 1] - self.starts[first],
            self.items[a:b],
            self.weights[a:b],
            self.profits[a:b],
            self.capacities[first:end],
        )

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Items of each problem, shape (m,)."""
        return np.diff(self.starts).astype(np.int64)

    @property
    def work(self) -> NDArray[np.int64]:
        """Cells of each problem's whole table, shape (m,): more than are computed."""
        return (self.sizes + 1) * (self.capacities.astype(np.int64) + 64)

    def chosen_items(self, chosen: NDArray[np.bool_], profits: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The items of each problem's solution, after their sums were checked."""
        places = np.flatnonzero(chosen)
        ends = np.searchsorted(places, self.starts)
        sums = [
            np.concatenate([[0], np.cumsum(values[places], dtype=np.int64)]) for values in (self.profits, self.weights)
        ]
        found, weight = (values[ends[1:]] - values[ends[:-1]] for values in sums)
        wrong = np.flatnonzero((found != profits) | (weight > self.capacities))
        if len(wrong):
            at = int(wrong[0])
            raise AuditError(
                f"problem {self.indices[at]}: the items found have profit {found[at]} and weight {weight[at]}, but "
                f"profit {profits[at]} within {self.capacities[at]} was computed"
            )
        items = self.items[places].astype(np.int64)
        cuts = ends.tolist()
        return [items[a:b] for a, b in itertools.pairwise(cuts)]


Answers = tuple[NDArray[np.void], NDArray[np.bool_]]
"""Of each problem its profit, the items that bounds left open and the cells computed; and which items are taken."""


class BatchWorker:
    """Solves a share on one device."""

    def __init__(self, device: Device, shapes: BatchShapes, packed: Packed) -> None:
        self.device, self._shapes, self._packed = device, shapes, packed
        most_items, most_capacity = int(packed.sizes.max()), int(packed.capacities.max())
        self._row_cells = shapes.row_cells(most_capacity)
        self._bit_words = shapes.bit_words(most_items, most_capacity)
        each = shapes.group_bytes(most_items, most_capacity)
        free = device.memory().free
        needed = 9 * len(packed.items) + 40 * (len(packed) + 1)
        scratch = int(min(_SCRATCH_SHARE * free, _MOST_SCRATCH, device.info.max_allocation))
        self._groups = min(shapes.groups, len(packed), scratch // each)
        if self._groups < 1 or needed > free - self._groups * each:
            raise OutOfDeviceMemory(f"a batch needs {needed + each} bytes on {device.info.id}, which has {free} free")
        self._kernel = device.program("knapsack/batch", **shapes.constants()).solve_batch
        self._buffers: dict[str, Buffer] = {}

    def close(self) -> None:
        """Give the memory back."""
        for buffer in self._buffers.values():
            self.device.release(buffer)
        self._buffers.clear()

    def solve(self, done: Callable[[int], None], stopped: Callable[[], bool]) -> Answers:
        """Solve all problems; answers that are missing once ``stopped`` returns True are not valid."""
        packed, device = self._packed, self.device
        row_cells = (2 if self._shapes.lanes == 1 else 1) * self._row_cells
        buffers = self._buffers
        for name in ("starts", "weights", "profits", "capacities"):
            buffers[name] = device.put(getattr(packed, name))
        buffers["rows"] = device.empty(self._groups * row_cells, np.int32)
        buffers["bit_space"] = device.empty(self._groups * self._bit_words, np.uint32)
        buffers["next"] = device.empty(1, np.int32)  # a queue
        buffers["chosen"] = device.empty(len(packed.items), np.uint8)
        buffers["answers"] = device.empty(len(packed), BATCH_ANSWER.dtype)
        for first, end in self._slices():
            if stopped():
                break
            device.zero(buffers["next"])
            self._kernel(
                min(self._groups, end - first),
                self._shapes.block,
                first=first,
                end=end,
                row_cells=self._row_cells,
                bit_words=self._bit_words,
                **buffers,
            )
            device.sync()
            done(end - first)
        return device.get(buffers["answers"]), device.get(buffers["chosen"]) == 1

    def _slices(self) -> Iterator[tuple[int, int]]:
        """First and end of the problems of each launch, so many that it takes about as long as a slice should."""
        work = np.cumsum(self._packed.work)
        length = SliceLength(SLICE_SECONDS * _CELLS_PER_SECOND[self.device.capabilities.simt], growth=4.0)
        first = 0
        while first < len(work):
            before = int(work[first - 1]) if first else 0
            end = max(first + 1, int(np.searchsorted(work, before + length.amount, side="right")))
            began = time.perf_counter()
            yield first, end
            length.took(time.perf_counter() - began, int(work[end - 1]) - before)
            first = end


def solve_batch(
    problems: Sequence[Knapsack], options: Options, pool: DevicePool, control: BatchControl
) -> dict[int, Result]:
    """Solve the small ones (see :class:`Packed`) of many problems together, divided among devices."""
    is_default = options.reduce and options.initial is None and not options.profile and options.variant == "auto"
    if not problems or not is_default:
        return {}
    began = time.perf_counter()
    packs = {place: ZeroOne.of(problem) for place, problem in enumerate(problems) if _is_packed(problem)}
    packed = Packed.of([packs[place].problem if place in packs else problem for place, problem in enumerate(problems)])
    cuts = np.linspace(0, len(packed), len(pool) + 1).astype(int).tolist()
    shares = [packed.part(first, end) for first, end in itertools.pairwise(cuts) if first < end]
    members = pool.members[: len(shares)]
    answers = _solve_shares(members, shares, control.progress)
    seconds = time.perf_counter() - began
    results: dict[int, Result] = {}
    for member, share, (found, chosen) in zip(members, shares, answers, strict=True):
        columns = (share.indices, found["profit"], found["open_items"], found["cells"])
        solutions = share.chosen_items(chosen, found["profit"])
        for place, profit, open_items, cells, solution in zip(
            *(values.tolist() for values in columns), solutions, strict=True
        ):
            counters: dict[str, int | float] = {
                "items": problems[place].n,
                "items_fixed": max(0, problems[place].n - open_items),  # at least, as open packs of copies are counted
                "cells": cells,
            }
            if place in packs:
                solution = packs[place].original(solution)
                profit += packs[place].free_profit
            optimum = problems[place].in_units(profit)
            results[place] = Result(
                Status.OPTIMAL,
                optimum,
                optimum,
                solution if options.items else None,
                seconds,
                control.seeds[place],
                control.backend,
                (member.label,),
                counters,
                {"route": _ROUTE},
            )
    return results


def _is_packed(problem: Knapsack) -> bool:
    """Whether the problem stated otherwise is one that a batch can solve: counts, no weight, or smaller weights."""
    if problem.counts is not None or problem.capacity > MOST_CAPACITY:
        return True
    return int(np.count_nonzero(problem.weights)) < problem.n


def _solve_shares(
    members: Sequence[Member], shares: Sequence[Packed], progress: Callable[[int], None]
) -> list[Answers]:
    """The answers of each member's share; ``progress`` is called on this thread."""
    solved: queue.SimpleQueue[int] = queue.SimpleQueue()
    stop = threading.Event()
    shapes = [BatchShapes.of(member.info.capabilities) for member in members]
    with WorkerGroup(members, BatchWorker, list(zip(shapes, shares, strict=True))) as workers:
        futures = {
            index: workers.submit(index, BatchWorker.solve, solved.put, stop.is_set) for index in range(len(members))
        }
        try:
            return list(workers.gather_counting(futures, solved, progress).values())
        except BaseException:
            stop.set()
            raise
