"""Finding the items of an optimal solution without keeping every row.

Two ways to divide the groups of items, so that in the end all rows of a part fit the memory that is there:

*Keep* some rows on the way forward. To walk back from capacity c at the end of a block of groups, the block is swept
again from the row kept before it, but only over the cells that can lead to c: no more than the block's weight below it.
The more rows are kept, the narrower every second sweep is.

*Divide* and conquer in O(C) memory: sweep the first half of the items, and the second half by itself; the two rows
show where an optimal solution divides its capacity between the halves, which are then problems of their own. The second
level costs half of the first whatever the weights are, so all costs twice the first sweep.

The first is taken where it is the cheaper.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .schedule import Goal
from .sweep import Row, Sweep

_MOST_ROWS = 128  # kept of one level: by then the second sweep costs less than a hundredth of the first
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Start:
    """A row to sweep from: its ``stage``, how to get it (it may have to be loaded again), and where its items begin."""

    stage: int
    row: Callable[[], Row]
    origin: int = 0


class Backtracker:
    """Computes an optimal value and walks back through the groups for its items; rows are kept as on a stack.

    ``passed(stage, capacity)`` is called when the items of all groups from ``stage`` on are known, and ``checkpoint``
    with a row of the first sweep when one is due.
    """

    def __init__(self, sweep: Sweep, passed: Callable[[int, int], None], checkpoint: Callable[..., None]) -> None:
        self._sweep, self._schedule, self._passed, self._checkpoint = sweep, sweep.schedule, passed, checkpoint
        self._used = 0
        # The last row of the first sweep, until the first items are known; with its values where no device has it.
        self.latest: tuple[Row, NDArray[Any] | None] | None = None

    def nothing(self, stage: int) -> Start:
        """No item yet: the row of zeros before group ``stage``."""
        return Start(stage, lambda: self._sweep.load(stage, 0, np.zeros(1, np.int64)), stage)

    def value(self, start: Start, end: int, capacity: int) -> int:
        """The optimal value at ``capacity`` before group ``end``, no items asked for."""
        goal = Goal(end, capacity, capacity, start.origin)
        row, _ = self._sweep.advance(start.row(), end, goal, checkpoint=self._checkpoint)
        return self._top(row, goal)

    def value_and_items(
        self, start: Start, end: int, capacity: int, found: Callable[[int], bool], phase: str = "items"
    ) -> int | None:
        """The optimal value, passed to ``found``; if that returns True, the items from ``start`` to ``end`` as well."""
        capacity = min(capacity, self._schedule.weight(start.origin, end))
        goal = Goal(end, capacity, capacity, start.origin)
        before = self._used
        keep = self._plan(start.stage, goal)
        if keep is None:
            return self._divide(start, goal, found, phase)
        row, rows = self._keep(start, end, goal, keep, phase)
        if not found(self._top(row, goal)):
            return None
        if len(keep) == end - start.stage - 1 and len(self._sweep.members) == 1:
            lo, hi = self._schedule.range(start.stage, goal)
            first = self._sweep.bring(start.row(), lo, hi)  # once more: the last row of the sweep may lie where it was
            left = self._sweep.trace([first, *rows.values()], goal.high, goal)
            if start.origin == 0:
                self._passed(start.stage, left)
        else:
            left = self._back(start, goal, rows, keep)
        self._used = before
        return left

    def _top(self, row: Row, goal: Goal) -> int:
        hi = self._schedule.range(goal.end, goal)[1]
        return int(self._sweep.read(row, hi, hi)[0])

    def _plan(self, begin: int, goal: Goal) -> dict[int, int] | None:
        """Which rows to keep between two stages, and where in the store; None if dividing is cheaper.

        All of them if they fit; else as many, up to a limit, as divide the work evenly and fill half of the space: a
        block of the next level is about half as wide, so its rows fit the other half.
        """
        widths = self._schedule.widths(begin, goal.end, goal)[1:-1]
        stages = np.arange(begin + 1, goal.end)
        space = self._sweep.store_cells - self._used
        if widths.sum() > space:
            done = np.cumsum(self._schedule.cost(begin, goal.end, goal))
            few, many = 0, min(_MOST_ROWS, len(stages))
            while few < many:
                rows = (few + many + 1) // 2
                if widths[_evenly(done, rows)].sum() <= space // 2:
                    few = rows
                else:
                    many = rows - 1
            chosen = _evenly(done, few)
            stages, widths = stages[chosen], widths[chosen]
            if self._swept_again([begin, *stages.tolist()], goal) > 0.6 * done[-1]:
                return None
        starts = self._used + np.cumsum(widths) - widths
        self._used += int(widths.sum())
        return dict(zip(stages.tolist(), starts.tolist(), strict=True))

    def _swept_again(self, cuts: list[int], goal: Goal) -> int:
        """The most that sweeping the blocks between the cuts again may cost."""
        total = 0
        for begin, end in zip(cuts, [*cuts[1:], goal.end], strict=True):
            high = self._schedule.range(end, goal)[1]
            total += int(self._schedule.cost(begin, end, Goal(end, high, high, goal.origin)).sum())
        return total

    def _keep(
        self, start: Start, until: int, goal: Goal, keep: dict[int, int], phase: str
    ) -> tuple[Row, dict[int, Row]]:
        """Sweep from ``start`` to the row before group ``until``, keeping rows on the way."""
        checkpoint = self._checkpoint if phase == "items" else None
        row, kept = self._sweep.advance(start.row(), until, goal, keep=keep, phase=phase, checkpoint=checkpoint)
        if phase == "items" and kept:
            self.latest = (kept[max(kept)], None)
        return row, kept

    def _back(self, start: Start, goal: Goal, kept: dict[int, Row], offsets: dict[int, int]) -> int:
        """Walk from the goal to the row ``start``, giving up the kept rows, the last first; the capacity left there."""
        end, capacity = goal.end, goal.high
        starts = [Start(stage, partial(kept.__getitem__, stage), start.origin) for stage in kept]
        for block in [*starts[::-1], start]:
            if block.stage < end:
                capacity = self._block(block, end, capacity)
                end = block.stage
                if start.origin == 0:
                    self._passed(end, capacity)
            self._used = offsets.get(block.stage, self._used)
        return capacity

    def _block(self, start: Start, end: int, capacity: int) -> int:
        """One block: all its rows kept and traced, or divided again."""
        capacity = min(capacity, self._schedule.weight(start.origin, end))
        goal = Goal(end, capacity, capacity, start.origin)
        before = self._used
        lo, hi = self._schedule.range(start.stage, goal)
        keep = self._plan(start.stage, goal)
        if keep is None:
            return self._divide(start, goal, lambda _: True, "backtracking") or 0
        last = max(keep, default=start.stage)
        if len(keep) == end - start.stage - 1 and hi - lo < self._sweep.row_cells:
            row = self._sweep.bring(start.row(), lo, hi)
            _, kept = self._sweep.advance(row, last, goal, keep=keep, alone=True, phase="backtracking")
            left = self._sweep.trace([row, *kept.values()], capacity, goal)
        else:
            left = self._back(start, goal, self._keep(start, last, goal, keep, "backtracking")[1], keep)
        self._used = before
        return left

    def _middle(self, begin: int, goal: Goal) -> int:
        """Where to divide: at half of the work, or later if the second half's rows would not fit.

        They can be wider than those of the whole, by as many cells as the row in the middle has.
        """
        work = np.cumsum(self._schedule.cost(begin, goal.end, goal))
        last = len(work) - 1
        half = min(max(int(np.searchsorted(work, work[-1] / 2)) + 1, 1), last)
        rest = last - half
        while True:
            middle = begin + last - rest
            lo, hi = self._schedule.range(middle, goal)
            other = Goal(goal.end, goal.high - hi, goal.high - lo, middle)
            if rest == 0 or self._sweep.holds(int(self._schedule.widths(middle, goal.end, other).max())):
                return middle
            rest //= 2

    def _divide(self, start: Start, goal: Goal, found: Callable[[int], bool], phase: str) -> int | None:
        """Where an optimal solution divides its capacity between two halves of the items; then each half."""
        middle = self._middle(start.stage, goal)
        before = self._used
        lo, hi = self._schedule.range(middle, goal)
        keep = {middle: before} if hi - lo < self._sweep.store_cells - before else {}
        first, kept = self._sweep.advance(
            start.row(), middle, goal, keep=keep, phase=phase, checkpoint=self._checkpoint if phase == "items" else None
        )
        held = None if keep else self._sweep.read(first, lo, hi)
        second = self.nothing(middle)
        other = Goal(goal.end, goal.high - hi, goal.high - lo, middle)
        if phase == "items" and self._sweep.run.keeps_checkpoints:  # the kept row is soon overwritten
            self.latest = (Row(middle, {}), self._sweep.read(kept[middle], lo, hi) if held is None else held)
        row, _ = self._sweep.advance(second.row(), goal.end, other, phase=phase)
        best, at = -1, lo
        for a in range(lo, hi + 1, _CHUNK):
            b = min(a + _CHUNK - 1, hi)
            before_middle = self._sweep.read(kept[middle], a, b) if held is None else held[a - lo : b - lo + 1]
            sums = before_middle + self._sweep.read(row, goal.high - b, goal.high - a)[::-1]
            index = int(np.argmax(sums))
            if int(sums[index]) > best:
                best, at = int(sums[index]), a + index
        if not found(best):
            return None
        self._block(second, goal.end, goal.high - at)
        if start.origin == 0:
            self._passed(middle, at)
        return self._block(start, middle, at)


def _evenly(done: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Indices of the rows that cut the work into equal shares."""
    targets = done[-1] * np.arange(1, rows + 1) / (rows + 1)
    found = np.minimum(np.searchsorted(done, targets), len(done) - 2)
    return np.asarray(found[np.diff(found, prepend=-1) > 0], np.int64)
