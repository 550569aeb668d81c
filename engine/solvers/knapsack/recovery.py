"""Finding the items of an optimal solution without keeping every row.

Rows are kept only here and there on the way forward. To walk back from capacity c at the end of a block of groups, the
block is swept again from the row kept before it, but only over the cells that can lead to c: no more than the block's
weight below it. So the more rows are kept, the narrower every second sweep is, and the whole walk costs little more
than the first sweep; with room for a single row it is the familiar divide and conquer over the item list, in O(C)
memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.solvers.knapsack.sweep import Row, Sweep

__all__ = ["WalkBack"]

_MOST_ROWS = 128  # of one level: by then the second sweep costs less than a hundredth of the first


@dataclass(frozen=True)
class Start:
    """A row to sweep from: its ``stage``, and how to get it (it may have to be loaded again)."""

    stage: int
    row: Callable[[], Row]


@dataclass(frozen=True)
class Kept:
    """What a sweep left: its last ``row``, the ``rows`` kept by stage, and their ``offsets`` in the store."""

    row: Row
    rows: dict[int, Start]
    offsets: dict[int, int]


class WalkBack:
    """Keeps rows in the store, as on a stack, and walks back through them.

    Parameters
    ----------
    sweep : Sweep
    done : callable
        Called as ``done(stage, capacity)`` whenever the items of all groups from ``stage`` on are known.
    checkpoint : callable, optional
        Called with the row during the first sweep, whenever a checkpoint is due.
    """

    def __init__(
        self, sweep: Sweep, done: Callable[[int, int], None], checkpoint: Callable[[Row], None] | None = None
    ) -> None:
        self._sweep = sweep
        self._checkpoint = checkpoint
        self._schedule = sweep.schedule
        self._used = 0
        self._done = done

    def plan(self, begin: int, end: int, capacity: int) -> dict[int, int]:
        """Which rows to keep between two stages, and where in the store.

        All of them if they fit; else as many, up to a limit, as divide the work evenly and fill half of the room: a
        block of the next level is at most half as wide, so its rows fit the other half.
        """
        widths = self._schedule.widths(begin, end, capacity)[1:-1]
        stages = np.arange(begin + 1, end)
        room = self._sweep.store_cells - self._used
        if widths.sum() > room:
            done = np.cumsum(self._schedule.work(begin, end, capacity))
            few, many = 0, min(_MOST_ROWS, len(stages))
            while few < many:
                rows = (few + many + 1) // 2
                if widths[self._evenly(done, rows)].sum() <= room // 2:
                    few = rows
                else:
                    many = rows - 1
            chosen = self._evenly(done, few) if few else self._middle(np.flatnonzero(widths <= room // 2), len(widths))
            stages, widths = stages[chosen], widths[chosen]
        starts = self._used + np.cumsum(widths) - widths
        self._used += int(widths.sum())
        return dict(zip(stages.tolist(), starts.tolist(), strict=True))

    @staticmethod
    def _evenly(done: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
        """Indices of the rows that cut the work into equal shares."""
        targets = done[-1] * np.arange(1, rows + 1) / (rows + 1)
        found = np.unique(np.minimum(np.searchsorted(done, targets), len(done) - 2))
        return found.astype(np.int64)

    @staticmethod
    def _middle(candidates: NDArray[np.intp], count: int) -> NDArray[np.intp]:
        """The candidate nearest the middle of ``count`` rows, if there is any."""
        return candidates[np.argsort(np.abs(2 * candidates - count), kind="stable")[:1]]

    def forward(self, start: Start, end: int, capacity: int, until: int, keep: dict[int, int], phase: str) -> Kept:
        """Sweep from ``start`` to the row before group ``until``, keeping rows on the way."""
        checkpoint = self._checkpoint if phase == "items" else None
        row, kept = self._sweep.advance(
            start.row(), until, end, capacity, keep=keep, phase=phase, checkpoint=checkpoint
        )
        return Kept(row, {stage: Start(stage, functools.partial(_same, kept[stage])) for stage in kept}, keep)

    def back(self, start: Start, end: int, capacity: int, kept: Kept) -> int:
        """Walk from ``capacity`` before group ``end`` to the row ``start``; the capacity left there.

        The rows in ``kept`` are given up one by one, the last first; they are the newest in the store.
        """
        for block in [*(kept.rows[stage] for stage in sorted(kept.rows, reverse=True)), start]:
            if block.stage < end:
                capacity = self._block(block, end, capacity)
                end = block.stage
                self._done(end, capacity)
            self._used = kept.offsets.get(block.stage, self._used)
        return capacity

    def _block(self, start: Start, end: int, capacity: int) -> int:
        """One block: all its rows kept and traced, or some kept and the rest divided again."""
        capacity = min(capacity, self._schedule.weight_before[end])
        before = self._used
        lo, hi = self._schedule.range(start.stage, end, capacity)
        keep = self.plan(start.stage, end, capacity)
        last = max(keep, default=start.stage)
        if len(keep) == end - start.stage - 1 and hi - lo < self._sweep.row_cells:
            row = self._sweep.bring(start.row(), lo, hi)
            _, kept = self._sweep.advance(row, last, end, capacity, keep=keep, alone=True, phase="walk back")
            left = self._sweep.trace([row, *kept.values()], capacity)
        elif keep:
            left = self.back(start, end, capacity, self.forward(start, end, capacity, last, keep, "walk back"))
        else:
            middle = self._on_host(start, (start.stage + end) // 2, end, capacity)
            left = self._block(start, middle.stage, self._block(middle, end, capacity))
        self._used = before
        return left

    def _on_host(self, start: Start, stage: int, end: int, capacity: int) -> Start:
        """A row that does not fit the store beside those already there, kept on the host."""
        row, _ = self._sweep.advance(start.row(), stage, end, capacity, phase="walk back")
        lo, hi = self._schedule.range(stage, end, capacity)
        values = self._sweep.read(row, lo, hi)
        return Start(stage, lambda: self._sweep.load(stage, lo, values))


def _same(row: Row) -> Row:
    return row
