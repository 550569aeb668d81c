"""The sparse table on one device: its buffers, its steps, and the way back along its decisions.

Everything here runs on the device's own thread.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer, Device
from engine.devices.info import bytes_text
from engine.errors import OutOfDeviceMemory
from engine.solvers.knapsack.programs import TILE, SparseShapes
from engine.solvers.knapsack.sparse.items import SparseItems

__all__ = ["Best", "Report", "SparseWorker", "fixed_bytes"]

_FIRST_SLOTS = 8192  # for tiles; for decisions, so many times as much
_FIRST_DECISIONS = 64
_DECISION_BYTES = TILE // 8 + 4
_TILE_PERCENT, _DECISION_PERCENT = 35, 25  # of the memory; while a buffer grows, the old one is there too


@dataclass(frozen=True)
class Best:
    """The best complete state so far.

    ``gain`` is its profit beyond the first incumbent; it came about in ``step``, whose item is ``taken`` or not, from
    ``cell`` of the table before.
    """

    gain: int
    cell: int
    step: int
    taken: bool


@dataclass(frozen=True)
class Report:
    """What a slice did.

    Its seconds, the step and the number of tiles that the table has come to, cells computed, bytes allocated, and the
    best complete state so far.
    """

    seconds: float
    step: int
    tiles: int
    cells: int
    bytes: int
    best: Best | None


def fixed_bytes(items: SparseItems) -> int:
    """What a device holds whatever the number of tiles: numbers of tiles, relaxations, and counts."""
    n = len(items)
    tables = min(n * n // 2 + n, 1 << 23)
    return 12 * (items.capacity // TILE + 1) + 16 * (tables + n) + 64 * (n + 1)


class SparseWorker:
    """State on one device.

    Parameters
    ----------
    device : Device
    shapes : SparseShapes
    items : SparseItems
    incumbent : int
        Profit of the best solution known: only better ones are looked for.
    memory : int
        Bytes that may be used.
    decision_memory : int, optional
        Bytes that decisions may use; by default up to a quarter of the memory.
    """

    def __init__(
        self,
        device: Device,
        shapes: SparseShapes,
        items: SparseItems,
        incumbent: int,
        memory: int,
        decision_memory: int | None = None,
    ) -> None:
        self.device = device
        self._shapes = shapes
        self._items = items
        self._incumbent = incumbent
        self._memory = memory - fixed_bytes(items)
        self._decision_memory = self._memory * _DECISION_PERCENT // 100 if decision_memory is None else decision_memory
        self._type = np.dtype(shapes.type_name)
        self._program = device.program("knapsack/sparse", **shapes.constants())
        self._program.kernel("expand_tiles")  # compiled before anything is begun
        self._owned: list[Buffer] = []
        n = len(items)
        numbers = items.capacity // TILE + 1
        self._slots = [self._empty(numbers, np.int32) for _ in range(2)]
        for slots in self._slots:
            device.zero(slots)  # any values do, see the kernel; but tools that look for unset memory would report them
        self._claimed = self._empty(numbers, np.uint32)
        device.zero(self._claimed)
        self._stamp = 0
        relaxations = items.relaxations()
        self._rest_first, self._rest_count = relaxations.first.tolist(), relaxations.count.tolist()
        self._rest = {"rest_weights": self._put(relaxations.weights), "rest_gains": self._put(relaxations.gains)}
        self._status = self._put(np.zeros(4, np.int32))
        self._counts = self._put(np.zeros(n + 1, np.int32))
        self._candidate_counts = self._put(np.zeros(n + 1, np.int32))
        self._bases = self._put(np.zeros(n + 1, np.int64))
        self._records = self._put(np.tile(np.array([0, -1, -1, 0], np.int64), shapes.groups * shapes.block))
        self._path = self._put(np.zeros(n + 1, np.int64))
        self._choice = self._put(np.zeros(n, np.uint8))
        self._best: Best | None = None
        self._last_gain = 0
        self._wrap = False
        self._slot_count = self._decision_count = 0
        self._values: list[Buffer] = []
        self._tiles: list[Buffer] = []
        self._candidates: dict[str, Buffer] = {}
        self._decisions: dict[str, Buffer] = {}
        self.step = 0
        self.first_step = 0
        slot_count = min(_FIRST_SLOTS, numbers, self._slot_limit)
        self._resize(slot_count, min(_FIRST_DECISIONS * slot_count, self._decision_limit))

    # --- memory -------------------------------------------------------------------------------------------------

    def _empty(self, count: int, dtype: Any) -> Buffer:
        buffer = self.device.empty(count, dtype)
        self._owned.append(buffer)
        return buffer

    def _put(self, array: NDArray[Any]) -> Buffer:
        buffer = self.device.put(array)
        self._owned.append(buffer)
        return buffer

    def _release(self, *buffers: Buffer) -> None:
        for buffer in buffers:
            self._owned.remove(buffer)
            self.device.release(buffer)

    def close(self) -> None:
        """Give the memory back."""
        for buffer in self._owned:
            self.device.release(buffer)
        self._owned.clear()

    @property
    def _allocated(self) -> int:
        return sum(buffer.size * buffer.dtype.itemsize for buffer in self._owned)

    @property
    def _tile_bytes(self) -> int:
        """Of one tile in both tables, and of three candidates."""
        return 2 * (TILE * self._type.itemsize + 4) + 3 * (20 + self._type.itemsize)

    @property
    def _slot_limit(self) -> int:
        return max(
            1,
            min(
                self._memory * _TILE_PERCENT // 100 // self._tile_bytes,
                self._allocation // (TILE * self._type.itemsize),
            ),
        )

    @property
    def _decision_limit(self) -> int:
        return max(1, min(self._decision_memory // _DECISION_BYTES, self._allocation // (TILE // 8)))

    @property
    def _allocation(self) -> int:
        return self.device.info.max_allocation

    def _resize(self, slots: int, decisions: int) -> None:
        """More tiles, or more decisions; the present table and all decisions are kept."""
        if slots != self._slot_count:
            count = int(self.device.get(self._counts, self.step, 1)[0]) if self._slot_count else 0
            values = [self._empty(slots * TILE, self._type) for _ in range(2)]
            tiles = [self._empty(slots, np.int32) for _ in range(2)]
            if self._slot_count:
                present = self.step % 2
                self.device.copy(values[present], self._values[present], count=count * TILE)
                self.device.copy(tiles[present], self._tiles[present], count=count)
                self.device.sync()
                self._release(*self._values, *self._tiles, *self._candidates.values())
            self._values, self._tiles, self._slot_count = values, tiles, slots
            self._candidates = {
                "candidate_tiles": self._empty(3 * slots, np.int32),
                "candidate_sources": self._empty(9 * slots, np.int32),
                "candidate_bases": self._empty(3 * slots, self._type),
                "candidate_slopes": self._empty(3 * slots, np.int32),
            }
        if decisions != self._decision_count:
            words = self._empty(decisions * (TILE // 32), np.uint32)
            numbers = self._empty(decisions, np.int32)
            if self._decision_count:
                used = min(self._decision_count, decisions)
                self.device.copy(words, self._decisions["decisions"], count=used * (TILE // 32))
                self.device.copy(numbers, self._decisions["decision_tiles"], count=used)
                self.device.sync()
                self._release(*self._decisions.values())
            self._decisions = {"decisions": words, "decision_tiles": numbers}
            self._decision_count = decisions
        self._bind()

    def _bind(self) -> None:
        """The launches of steps to an even and to an odd table, with all that stays the same."""
        items = self._items
        fixed = {
            "status": self._status,
            "counts": self._counts,
            "bases": self._bases,
            "candidate_counts": self._candidate_counts,
            "capacity": items.capacity,
            "lambda_": items.multiplier,
            **self._candidates,
        }
        self._expand = [
            self._program.expand_tiles.bind(
                **fixed,
                **self._rest,
                source_tiles=self._tiles[1 - parity],
                source_slots=self._slots[1 - parity],
                claimed=self._claimed,
                most_candidates=3 * self._slot_count,
                incumbent=self._incumbent - items.multiplier * items.capacity,
            )
            for parity in range(2)
        ]
        self._advance = [
            self._program.advance_tiles.bind(
                **fixed,
                **self._decisions,
                source_values=self._values[1 - parity],
                target_values=self._values[parity],
                target_tiles=self._tiles[parity],
                target_slots=self._slots[parity],
                most_decisions=self._decision_count,
                decisions_wrap=int(self._wrap),
                records=self._records,
            )
            for parity in range(2)
        ]

    def _grow(self, step: int) -> None:
        """Get memory for a step that had too little."""
        wanted = int(self.device.get(self._counts, step, 1)[0])
        last = int(self.device.get(self._bases, step, 1)[0]) + wanted
        slots, decisions = self._slot_count, self._decision_count
        if wanted > slots:
            if slots >= self._slot_limit:
                raise OutOfDeviceMemory(
                    f"the sparse table needs {wanted:,} tiles of {TILE} capacities after {step} of {len(self._items)} "
                    f"items, and {bytes_text(self._memory)} on {self.device.info.id} hold {self._slot_limit:,}"
                )
            slots = min(self._slot_limit, max(2 * slots, wanted + wanted // 2))
        if last > decisions and not self._wrap:
            self._wrap = decisions >= self._decision_limit
            decisions = min(self._decision_limit, max(2 * decisions, last + last // 2))
        self._resize(slots, decisions)

    # --- steps --------------------------------------------------------------------------------------------------

    def start(self, step: int = 0, tiles: NDArray[np.int64] | None = None, values: NDArray[Any] | None = None) -> None:
        """Begin with no item, or with the tables of a checkpoint after ``step`` items.

        Parameters
        ----------
        step : int
        tiles : ndarray of int64, shape (tiles,), optional
            Their numbers.
        values : ndarray, shape (tiles, TILE), optional

        Raises
        ------
        engine.errors.OutOfDeviceMemory
            If the tables do not fit the memory.
        """
        if tiles is None or values is None:
            tiles = np.zeros(1, np.int64)
            values = np.full((1, TILE), self._shapes.negative, self._type)
            values[0, 0] = 0
        self.step = self.first_step = step
        if len(tiles) > self._slot_count:
            if len(tiles) > self._slot_limit:
                raise OutOfDeviceMemory(f"the checkpoint's {len(tiles):,} tiles do not fit {self.device.info.id}")
            self._slot_count = 0
            self._release(*self._values, *self._tiles, *self._candidates.values())
            self._resize(len(tiles), self._decision_count)
        present = step % 2
        self.device.put(values.astype(self._type).reshape(-1), self._values[present])
        self.device.put(tiles.astype(np.int32), self._tiles[present])
        slots = np.full(self._items.capacity // TILE + 1, -1, np.int32) if len(tiles) > 1 else None
        if slots is None:
            self.device.put(np.zeros(1, np.int32), self._slots[present], int(tiles[0]))
        else:
            slots[tiles] = np.arange(len(tiles))
            self.device.put(slots, self._slots[present])
        self.device.put(np.array([len(tiles)], np.int32), self._counts, step)
        self.device.put(np.array([-len(tiles)], np.int64), self._bases, step)  # so that the next begin at 0

    def advance(self, count: int, most_tiles: int) -> Report:
        """Up to ``count`` more items, and at least one; with more memory as often as that is needed.

        Parameters
        ----------
        count : int
        most_tiles : int
            With more tiles than these the slice ends: its items take longer than those that its length was meant for.
        """
        began = time.perf_counter()
        first, until = self.step + 1, min(self.step + count, len(self._items))
        while True:
            for step in range(self.step + 1, until + 1):
                self._launch(step, self._slot_count if step == first else min(self._slot_count, most_tiles))
            status = self.device.get(self._status)
            failed = int(status[0]) or int(status[2])
            if not failed:
                break
            self.step = failed - 1
            self._grow(failed)
            if failed > first and int(self.device.get(self._counts, failed, 1)[0]) > most_tiles:
                until = self.step
            zeros = np.zeros(len(self._items) + 1 - failed, np.int32)
            self.device.put(zeros, self._counts, failed)
            self.device.put(zeros, self._candidate_counts, failed)
            self.device.put(np.zeros(1, np.int32), self._status, 0)
            self.device.put(np.zeros(1, np.int32), self._status, 2)
            if self.step == until:
                break
        self.step = until
        candidates = int(self.device.get(self._candidate_counts, first, until - first + 1).sum(dtype=np.int64))
        tiles = int(self.device.get(self._counts, until, 1)[0])
        if int(status[1]) != self._last_gain or int(status[1]) == 2**31 - 1:
            self._last_gain, self._best = int(status[1]), self._read_best()
        return Report(time.perf_counter() - began, until, tiles, candidates * TILE, self._allocated, self._best)

    def _launch(self, step: int, most_slots: int) -> None:
        items, shapes = self._items, self._shapes
        weight = int(items.weights[step - 1])
        shift, offset = divmod(weight, TILE)
        self._stamp += 1
        self._expand[step % 2](
            shapes.expand_groups,
            shapes.expand_block,
            step=step,
            stamp=self._stamp,
            tile_shift=shift,
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
            complete=items.capacity - int(items.weight_left[step]),
            complete_profit=int(items.profit_left[step]) - self._incumbent,
        )

    def _read_best(self) -> Best:
        records = self.device.get(self._records).reshape(-1, 4)
        gain, cell, step, taken = records[int(np.argmax(records[:, 0]))].tolist()
        return Best(gain, cell, step, bool(taken))

    def table(self, most_bytes: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The present table: the numbers of its tiles, and their values, shape (tiles, cells); none if it is larger."""
        count, present = int(self.device.get(self._counts, self.step, 1)[0]), self.step % 2
        if count * TILE * self._type.itemsize > most_bytes:
            count = 0
        numbers = self.device.get(self._tiles[present], 0, count).astype(np.int64)
        return numbers, self.device.get(self._values[present], 0, count * TILE).reshape(count, TILE)

    # --- the way back -------------------------------------------------------------------------------------------

    def trace(self, best: Best) -> tuple[NDArray[np.bool_], int, int]:
        """Follow the decisions back from a complete state, as far as they are kept.

        Returns
        -------
        taken : ndarray of bool, shape (best.step - step,)
            Which of the items from ``step`` to before ``best.step`` are taken.
        step, cell : int
            Where decisions end: before how many items, and in which cell.
        """
        step = best.step - 1
        until = self._oldest_decision()
        if step <= until:
            return np.array([best.taken]), step, best.cell
        self.device.put(np.array([best.cell], np.int64), self._path, step)
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
        taken = self.device.get(self._choice, until, step - until).astype(bool)
        return np.append(taken, best.taken), until, int(self.device.get(self._path, until, 1)[0])

    def _oldest_decision(self) -> int:
        """The step after which all decisions are kept."""
        if not self._wrap:
            return self.first_step
        bases = self.device.get(self._bases)[: self.step + 1]
        last = int(bases[self.step]) + int(self.device.get(self._counts, self.step, 1)[0])
        kept = np.flatnonzero(last - bases[self.first_step + 1 :] <= self._decision_count)
        return self.first_step + int(kept[0]) if len(kept) else self.step
