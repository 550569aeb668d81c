"""The memory of a sparse table on one device: two tables in turn, candidates, decisions, and how they grow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Device
from ..programs import BEST_STATE, NUMPY_TYPES, SOURCES, SPARSE_STATUS, TILE, SparseShapes
from .items import SparseItems

_FIRST_SLOTS = 8192  # for tiles; for decisions, so many times as much
_FIRST_DECISIONS = 64
_LEAST_SLOTS = 16  # a part of a table needs some tiles, however little memory there is
DECISION_BYTES = TILE // 8 + 4  # of the decisions of one tile, with its number
_DECISION_PERCENT = 25  # of the memory; while a buffer grows, the old one is there too


def fixed_bytes(items: SparseItems) -> int:
    """What a device holds whatever the number of tiles: numbers of tiles, relaxations, and counts."""
    n = len(items)
    tables = min(n * n // 2 + n, 1 << 23)
    return 12 * (items.capacity // TILE + 1) + 16 * (tables + n) + 64 * (n + 1)


class Buffers:
    """What one device holds of a table."""

    _tile_percent = 35  # of the memory

    def __init__(
        self,
        device: Device,
        shapes: SparseShapes,
        items: SparseItems,
        incumbent: int,
        memory: int,
        decision_memory: int | None,
    ) -> None:
        self.device, self._shapes, self._items, self._incumbent = device, shapes, items, incumbent
        self._memory = memory - fixed_bytes(items)
        self._kept = decision_memory  # bytes; without such a limit decisions are handed out when no more fit
        self._type = np.dtype(NUMPY_TYPES[shapes.value])
        self._program = device.program("knapsack/sparse", **shapes.constants())
        self._program.kernel("expand_tiles")  # compiled before anything is begun
        self._owned: list[Buffer] = []
        n, numbers = len(items), items.capacity // TILE + 1
        self._slots = [self._empty(numbers, np.int32) for _ in range(2)]
        for slots in self._slots:
            device.zero(slots)  # any values do, see the kernel; but tools that look for unset memory would report them
        self._claimed = self._empty(numbers, np.uint32)
        device.zero(self._claimed)
        self._stamp, self._last_tile = 0, numbers - 1
        relaxations = items.relaxations
        self._rest_first, self._rest_count = relaxations.first.tolist(), relaxations.count.tolist()
        self._rest = {"rest_weights": self._put(relaxations.weights), "rest_gains": self._put(relaxations.gains)}
        self._status = self._put(np.zeros(1, SPARSE_STATUS.dtype))
        self._counts, self._candidate_counts = (self._put(np.zeros(n + 1, np.int32)) for _ in range(2))
        self._bases, self._path = (self._put(np.zeros(n + 1, np.int64)) for _ in range(2))
        self._records = self._put(np.full(shapes.groups * shapes.block, np.array((0, -1, -1, 0), BEST_STATE.dtype)))
        self._choice = self._put(np.zeros(n, np.uint8))
        self._wrap = False
        self._slot_count = self._decision_count = 0
        self._values: list[Buffer] = []
        self._tiles: list[Buffer] = []
        self._candidates: dict[str, Buffer] = {}
        self._decisions: dict[str, Buffer] = {}
        slot_count = min(_FIRST_SLOTS, numbers, self._slot_limit)
        self._resize(0, 0, slot_count, min(_FIRST_DECISIONS * slot_count, self._decision_limit))

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
    def _slot_limit(self) -> int:
        size, most = self._type.itemsize, self._memory * self._tile_percent // 100
        each = 2 * (TILE * size + 4) + 3 * (20 + size)  # of one tile in both tables, and of three candidates
        return max(_LEAST_SLOTS, min(most // each, self.device.info.max_allocation // (TILE * size)))

    @property
    def _decision_limit(self) -> int:
        most = self._memory * _DECISION_PERCENT // 100 if self._kept is None else self._kept
        return max(1, min(most // DECISION_BYTES, self.device.info.max_allocation // (TILE // 8)))

    def _resize(self, step: int, count: int, slots: int, decisions: int) -> None:
        """More tiles, or more decisions; all decisions stay, and the first ``count`` tiles of the table of a step."""
        if slots != self._slot_count:
            values = [self._empty(slots * TILE, self._type) for _ in range(2)]
            tiles = [self._empty(slots, np.int32) for _ in range(2)]
            if self._slot_count:
                present = step % 2
                self.device.copy(values[present], self._values[present], count=count * TILE)
                self.device.copy(tiles[present], self._tiles[present], count=count)
                self.device.sync()
                self._release(*self._values, *self._tiles, *self._candidates.values())
            self._values, self._tiles, self._slot_count = values, tiles, slots
            self._candidates = {
                "candidate_tiles": self._empty(3 * slots, np.int32),
                "candidate_sources": self._empty(3 * slots, SOURCES.dtype),
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
