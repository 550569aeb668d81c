"""The sparse table on one device, on its own thread: its steps, and the way back along its decisions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..programs import SPARSE_STATUS, TILE
from .buffers import DECISION_BYTES, Buffers

_WORDS = TILE // 32  # of the decisions of a tile
_FIRST_TRACE, _TRACE_GROWTH = 32, 4  # steps back at once, where a cell's tile may be on another device

Shortage = Literal["tiles", "decisions"]  # what the next step needs more of than the device may hold


@dataclass(frozen=True)
class Best:
    """The best complete state: of ``step``, from ``cell`` of the table before; ``gain`` beyond the first incumbent."""

    gain: int
    cell: int
    step: int
    taken: bool

    def beats(self, other: Best | None) -> bool:
        """Whether it is the one to take: of equal profits the first, from the least cell, on whatever device."""
        return other is None or (-self.gain, self.step, self.cell) < (-other.gain, other.step, other.cell)


@dataclass(frozen=True)
class Decisions:
    """The decisions of one step: the numbers of its tiles, in any order, and one bit for each of their cells."""

    step: int
    tiles: NDArray[np.int32]
    words: NDArray[np.uint32]


@dataclass(frozen=True)
class Report:
    """What a slice did."""

    seconds: float
    step: int
    tiles: int
    limit: int  # of the tiles that the device may hold
    cells: int
    bytes: int
    best: Best | None
    shortage: Shortage | None = None
    exchanged: int = 0  # bytes of other devices' tiles


class SliceStatus(NamedTuple):
    """Of a slice: the step that lacked something (0: none), the best gain, and that before the last step."""

    failed: int
    gain: int
    gain_before: int


class SparseWorker(Buffers):
    """State on one device."""

    step = first_step = 0
    _best: Best | None = None
    _last_gain = 0
    _written = 0  # the place behind all decisions, those of steps that were undone included

    def _grow(self, step: int, halo: int = 0) -> Shortage | None:
        """Get memory for a step that had too little; what it lacks if there is no more."""
        wanted = self._read(self._counts, step)
        last = self._read(self._bases, step) + wanted
        slots, decisions = self._slot_count, self._decision_count
        if wanted > slots:
            if wanted > self._slot_limit:
                return "tiles"
            slots = min(self._slot_limit, max(2 * slots, wanted + wanted // 2))
        if last > decisions and not self._wrap:
            if decisions >= self._decision_limit:
                if self._kept is None and last > wanted:
                    return "decisions"
                self._wrap = True
            decisions = min(self._decision_limit, max(2 * decisions, last + last // 2))
        self._resize(step - 1, self._read(self._counts, step - 1) + halo, slots, decisions)
        return None

    @property
    def cell_bytes(self) -> int:
        """Of the value of one cell."""
        return self._type.itemsize

    def limit(self) -> int:
        """How many tiles the device may hold."""
        return self._slot_limit

    def _read(self, buffer: Any, at: int) -> int:
        return int(self.device.get(buffer, at, 1)[0])

    def start(
        self, step: int = 0, tiles: NDArray[Any] | None = None, values: NDArray[Any] | None = None, gain: int = 0
    ) -> Shortage | None:
        """Begin with no item, or with a table after ``step`` items; what is lacking if it does not fit."""
        if tiles is None or values is None:
            tiles = np.zeros(1, np.int64)
            values = np.full((1, TILE), self._shapes.negative, self._type)
            values[0, 0] = 0
        if len(tiles) > self._slot_limit:
            return "tiles"
        self.put_table(step, [(tiles, values)], gain)
        return None

    def put_table(self, step: int, pieces: Sequence[tuple[NDArray[Any], NDArray[Any]]], gain: int) -> None:
        """Go on from a table after ``step`` items; decisions begin again."""
        present, count, needed = step % 2, 0, sum(len(tiles) for tiles, _ in pieces)
        if needed > self._slot_count:  # the present table is dropped
            self._slot_count = 0
            self._release(*self._values, *self._tiles, *self._candidates.values())
            self._resize(0, 0, needed, self._decision_count)
        for tiles, values in pieces:
            self.device.put(values.astype(self._type, copy=False).reshape(-1), self._values[present], count * TILE)
            self.device.put(tiles.astype(np.int32, copy=False), self._tiles[present], count)
            count += len(tiles)
        self._index(present, 0, count)
        self.device.put(np.array([count], np.int32), self._counts, step)
        self._set_gain(gain)
        self.step = step
        self.forget()

    def _index(self, parity: int, first: int, count: int) -> None:
        self._program.index_tiles(
            self._shapes.expand_groups,
            self._shapes.expand_block,
            tiles=self._tiles[parity],
            slots=self._slots[parity],
            first=first,
            count=count,
        )

    def advance(self, count: int, most_tiles: int) -> Report:
        """Up to ``count`` more items, taking memory as needed; the slice ends early beyond ``most_tiles``."""
        began = time.perf_counter()
        first, until = self.step + 1, min(self.step + count, len(self._items))
        shortage: Shortage | None = None
        while True:
            for step in range(self.step + 1, until + 1):
                self._launch(step, self._slot_count if step == first else min(self._slot_count, most_tiles))
            status = self._read_status()
            failed = status.failed
            gain = status.gain_before if failed else status.gain
            if not failed:
                break
            self.step = failed - 1
            wanted = self._read(self._counts, failed)
            shortage = self._grow(failed)
            if shortage or (failed > first and wanted > most_tiles):
                until = self.step
            self._undo(failed, status.gain_before)
            if self.step == until:
                break
        self.step = until
        return self._report(began, first, gain, shortage)

    def _undo(self, failed: int, gain: int) -> None:
        """Let a step, and those after it, be done again; of what it recorded, the same will be recorded again."""
        if self._wrap:
            self._written = max(self._written, self._read(self._bases, failed) + self._read(self._counts, failed))
        zeros = np.zeros(len(self._items) + 1 - failed, np.int32)
        self.device.put(zeros, self._counts, failed)
        self.device.put(zeros, self._candidate_counts, failed)
        self._set_gain(gain)

    def _set_gain(self, gain: int) -> None:
        self.device.put(np.array([(0, min(gain, 2**31 - 1), 0, 0)], SPARSE_STATUS.dtype), self._status)

    def _read_status(self) -> SliceStatus:
        status = self.device.get(self._status)[0]
        failed = int(status["failed"]) or int(status["out_of_slots"])
        return SliceStatus(failed, int(status["best_gain"]), int(status["gain_before"]))

    def _report(
        self, began: float, first: int, gain: int, shortage: Shortage | None = None, exchanged: int = 0
    ) -> Report:
        """Of the steps from ``first`` on."""
        until = self.step
        candidates = 0
        if until >= first:
            counts = self.device.get(self._candidate_counts, first, until - first + 1)
            candidates = int(counts.sum(dtype=np.int64))
        if gain != self._last_gain or gain == 2**31 - 1:
            self._last_gain, self._best = gain, self._read_best()
        return Report(
            time.perf_counter() - began,
            until,
            self._read(self._counts, until),
            self._slot_limit,
            candidates * TILE,
            sum(buffer.size * buffer.dtype.itemsize for buffer in self._owned),
            self._best,
            shortage,
            exchanged,
        )

    def _launch(
        self, step: int, most_slots: int, first_tile: int = 0, last_tile: int | None = None, halo: int = 0
    ) -> None:
        items, shapes = self._items, self._shapes
        weight = int(items.weights[step - 1])
        weight_left, profit_left = items.left[:, step].tolist()
        shift, offset = divmod(weight, TILE)
        self._stamp += 1
        self._expand[step % 2](
            shapes.expand_groups,
            shapes.expand_block,
            step=step,
            stamp=self._stamp,
            tile_shift=shift,
            first_tile=first_tile,
            last_tile=self._last_tile if last_tile is None else last_tile,
            halo=halo,
            rest_first=self._rest_first[step],
            rest_count=self._rest_count[step],
        )
        self._advance[step % 2](
            shapes.groups,
            shapes.block,
            step=step,
            most_slots=most_slots,
            tile_shift=shift,
            offset=offset,
            gain=int(items.gains[step - 1]),
            complete=items.capacity - weight_left,
            complete_profit=profit_left - self._incumbent,
        )

    def _read_best(self) -> Best | None:
        """Of the work-items' records, the first of the greatest profit, from the least cell."""
        records = self.device.get(self._records)
        first = np.lexsort((records["cell"], records["step"], -records["gain"]))[0]
        gain, cell, step, taken = records[first].tolist()
        return Best(gain, cell, step, bool(taken)) if gain > 0 else None

    def table(self, most_bytes: int | None = None) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """The present table: the numbers of its tiles, and their values, shape (tiles, cells); none if it is larger."""
        count, present = self._read(self._counts, self.step), self.step % 2
        if most_bytes is not None and count * TILE * self._type.itemsize > most_bytes:
            count = 0
        numbers = self.device.get(self._tiles[present], 0, count)
        return numbers, self.device.get(self._values[present], 0, count * TILE).reshape(count, TILE)

    def trace(self, step: int, cell: int, alone: bool = True) -> tuple[NDArray[np.bool_], int, int]:
        """Follow the decisions back from a state after ``step`` items, as far as they are here: choices, step, cell."""
        last = self.oldest_decision()
        found: list[NDArray[np.bool_]] = []
        length = step if alone else _FIRST_TRACE
        while step > last:
            until = max(last, step - length)
            choice, path = self._trace(step, cell, until)
            known = np.flatnonzero(path[:-1] < 0)
            begin = int(known[-1]) + 1 if len(known) else 0
            found.append(choice[begin:])
            step, cell = until + begin, int(path[begin])
            if begin:
                break
            length *= _TRACE_GROWTH
        return np.concatenate([np.zeros(0, bool), *found[::-1]]), step, cell

    def _trace(self, step: int, cell: int, until: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Choices and cells of steps back to ``until``; -1 are cells where the tile is not here."""
        self.device.put(np.append(np.full(step - until, -1, np.int64), cell), self._path, until)
        trace = self._program.trace_step.bind(
            **self._decisions,
            most_decisions=self._decision_count,
            counts=self._counts,
            bases=self._bases,
            path=self._path,
            choice=self._choice,
        )
        for k in range(step, until, -1):
            trace(self._shapes.expand_groups, self._shapes.expand_block, step=k, weight=int(self._items.weights[k - 1]))
        choice = self.device.get(self._choice, until, step - until).astype(bool)
        return choice, self.device.get(self._path, until, step - until + 1)

    def oldest_decision(self) -> int:
        """The step after which all decisions are kept."""
        if not self._wrap:
            return self.first_step
        bases = self.device.get(self._bases)[: self.step + 1]
        last = max(self._written, int(bases[self.step]) + self._read(self._counts, self.step))
        kept = np.flatnonzero(last - bases[self.first_step + 1 :] <= self._decision_count)
        return self.first_step + int(kept[0]) if len(kept) else self.step

    def decisions(self, most_bytes: int) -> list[Decisions]:
        """The decisions that are kept, the newest first, as many steps as so many bytes hold."""
        found: list[Decisions] = []
        counts, bases = self.device.get(self._counts), self.device.get(self._bases)
        for step in range(self.step, self.oldest_decision(), -1):
            count, base = int(counts[step]), int(bases[step])
            most_bytes -= count * DECISION_BYTES
            if most_bytes < 0:
                break
            tiles, words = np.empty(count, np.int32), np.empty((count, _WORDS), np.uint32)
            at = base % self._decision_count
            head = min(count, self._decision_count - at)  # in two pieces where the ring closes
            for where, start, size in ((0, at, head), (head, 0, count - head)):
                self.device.get(self._decisions["decision_tiles"], start, out=tiles[where : where + size])
                self.device.get(self._decisions["decisions"], start * _WORDS, out=words[where : where + size])
            found.append(Decisions(step, tiles, words))
        return found

    def forget(self) -> None:
        """Begin anew with the decisions of later steps, the table remaining."""
        self.first_step = self.step
        count = self._read(self._counts, self.step)
        self.device.put(np.array([-count], np.int64), self._bases, self.step)  # so that the next begin at 0
        self._wrap, self._written = False, 0
        self._bind()
