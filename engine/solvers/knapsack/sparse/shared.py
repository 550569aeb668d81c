"""The sparse table of several devices, each with a range of tiles; and parts of a table that the host's memory holds.

Before an item each device receives the tiles of the others that its range of the next table is made from. The ranges
move when the devices' numbers of tiles differ much: a tile then simply is made by another device.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Communicator, Device, StreamEvent
from ....devices.info import bytes_text
from ....errors import OutOfDeviceMemory
from ..programs import TILE
from .buffers import DECISION_BYTES
from .worker import Best, Decisions, Report, Shortage, SparseWorker

_UNEVEN = 1.25  # times the mean number of tiles: the ranges move
_SAMPLES = 1 << 13  # tiles of all devices together that new ranges are made from
_STEADY = 4  # steps for which ranges stay, at least
_OUTBOX_PERCENT, _LEAST_OUTBOX = 10, 64  # of the memory; tiles


@dataclass(frozen=True)
class Part:
    """A range of the next table, made from tiles that the host holds: sorted by number."""

    tiles: NDArray[np.int32]
    values: NDArray[Any]
    decisions: Decisions | None  # None where the device could not keep all of them
    cells: int
    device_bytes: int
    best: Best | None

    @property
    def bytes(self) -> int:
        """Of its tiles."""
        return self.values.nbytes + self.tiles.nbytes


@dataclass(frozen=True)
class _State:
    """What a device sends to the others after a step: its tiles, what it lacks, and its best gain."""

    tiles: int
    shortage: Shortage | None
    failed: bool
    gain: int


@dataclass(frozen=True)
class _Message:
    """Tiles for one other device: on the host, or in an outbox behind an event."""

    count: int
    tiles: NDArray[np.int32] | Buffer
    values: NDArray[Any] | Buffer
    start: int = 0
    event: StreamEvent | None = None


@dataclass(frozen=True)
class _Wanted:
    """Tiles selected for each other device, from ``rank * stride`` on: how many, and how many are on their way."""

    stride: int
    sent: list[int]
    counts: list[int]


class SharedWorker(SparseWorker):
    """One of several devices with a table."""

    _tile_percent = 30

    def __init__(self, device: Device, communicator: Communicator, rank: int, direct: bool, *table: Any) -> None:
        """``table``: what :class:`.buffers.Buffers` takes besides the device."""
        if communicator.size == 1:
            self._tile_percent = SparseWorker._tile_percent
        super().__init__(device, *table)
        self._communicator, self._rank, self._direct = communicator, rank, direct
        self._cuts = self._all_to_the_first
        self._moved = 0  # the step before which they were made
        self._outbox: dict[str, Buffer] = {}
        self._outbox_counts = self._put(np.zeros(communicator.size, np.int32))

    @property
    def _all_to_the_first(self) -> list[int]:
        return [0] + [self._last_tile + 1] * self._communicator.size

    def begin(self, step: int) -> None:
        """Have no tiles after ``step`` items, and keep decisions of later steps only."""
        self.step = step
        self.device.put(np.zeros(1, np.int32), self._counts, step)
        self.forget()

    def share(self, step: int) -> None:
        """Begin to share a table that the first device has had alone."""
        self._cuts = self._all_to_the_first
        self.join(step)

    def join(self, step: int) -> None:
        """Be at the same step as the others; without tiles in those that it was not asked to make."""
        away = step - self.step
        if away:
            base = self._read(self._bases, self.step) + self._read(self._counts, self.step)
            self.device.put(np.full(away, base, np.int64), self._bases, self.step + 1)
            self.device.put(np.zeros(away, np.int32), self._counts, self.step + 1)
            self.step = step

    def advance_shared(self, count: int, most_tiles: int, leave: bool = False) -> Report:
        """As :meth:`advance`, together with the other devices; with ``leave`` all tiles go to the first."""
        began = time.perf_counter()
        first, until = self.step + 1, min(self.step + count, len(self._items))
        exchanged = 0
        states = self._exchange_states(None, False, self._read_status().gain)
        gain = max(state.gain for state in states)
        while self.step < until:
            step = self.step + 1
            self._move(step, states, leave)
            halo = self._receive(step, states[self._rank].tiles)
            states = self._make(step, halo, gain)
            if any(state.shortage for state in states):
                self._undo(step, gain)
                break
            exchanged += (halo or 0) * TILE * self._type.itemsize
            gain = max(state.gain for state in states)
            self.step = step
            if sum(state.tiles for state in states) > most_tiles:
                break
        self._set_gain(gain)
        shortage = next((state.shortage for state in states if state.shortage), None)
        return self._report(began, first, gain, shortage, exchanged)

    def _exchange_states(
        self, shortage: Shortage | None, failed: bool, gain: int, step: int | None = None
    ) -> list[_State]:
        tiles = self._read(self._counts, self.step if step is None else step)
        return self._communicator.all_gather(self._rank, _State(tiles, shortage, failed, gain))

    def _make(self, step: int, halo: int | None, gain: int) -> list[_State]:
        """Launch for a range of the next table, with more memory as often as needed; if there was room for its halo."""
        shortage: Shortage | None = "tiles" if halo is None else None
        todo, found = halo is not None, gain
        self._set_gain(gain)
        while True:
            failed = False
            if todo and halo is not None:
                self._launch(step, self._slot_count, self._cuts[self._rank], self._cuts[self._rank + 1] - 1, halo)
                status = self._read_status()
                found, failed = status.gain, bool(status.failed)
                if failed:
                    shortage = self._grow(step, halo)
                    self._undo(step, gain)
                todo = failed and not shortage
            states = self._exchange_states(shortage, failed, found, step)
            if any(state.shortage for state in states) or not any(state.failed for state in states):
                return states

    def _move(self, step: int, states: Sequence[_State], leave: bool) -> None:
        """New ranges, on all devices alike, where the present ones hold very different numbers of tiles."""
        devices = len(states)
        total, most = sum(state.tiles for state in states), max(state.tiles for state in states)
        begun = self._cuts != self._all_to_the_first
        if leave:
            self._cuts = self._all_to_the_first
        elif most * devices > _UNEVEN * total and (not begun or step >= self._moved + _STEADY):
            own = self.device.get(self._tiles[self.step % 2], 0, states[self._rank].tiles)
            sample = own[:: max(1, total // _SAMPLES)]
            numbers = np.sort(np.concatenate(self._communicator.all_gather(self._rank, sample)))
            inner = [int(numbers[len(numbers) * device // devices]) for device in range(1, devices)]
            self._cuts, self._moved = [0, *inner, self._last_tile + 1], step

    def _receive(self, step: int, own: int) -> int | None:
        """Get the others' tiles that the next table is made from: how many; None if there is no room for them."""
        wanted = self._select(step, own)
        present, halo, fits = (step - 1) % 2, 0, True
        while True:
            messages, more = self._pack(present, wanted)
            found = self._communicator.all_gather(self._rank, (messages, more))
            incoming = [given[self._rank] for given, _ in found if self._rank in given]
            count = sum(message.count for message in incoming)
            fits = fits and own + halo + count <= self._slot_limit
            if fits and count:
                if own + halo + count > self._slot_count:
                    slots = min(self._slot_limit, max(2 * self._slot_count, own + halo + count))
                    self._resize(step - 1, own + halo, slots, self._decision_count)
                for message in incoming:
                    self._take(message, present, own + halo)
                    halo += message.count
            if not any(more for _, more in found):
                break
            self.device.sync()  # the others may fill their outboxes again when all have read them
            self._communicator.all_gather(self._rank, None)
        if fits and halo:
            self._index(present, own, halo)
        return halo if fits else None

    def _select(self, step: int, own: int) -> _Wanted:
        """The slots of the tiles that each of the others needs for its range."""
        size, cuts, items = self._communicator.size, self._cuts, self._items
        shift = int(items.weights[step - 1]) // TILE
        if "places" not in self._outbox or self._outbox["places"].size < size * own:
            self._outbox["places"] = self._exchanged("places", size * self._slot_count, np.int32)
        self.device.zero(self._outbox_counts)
        for rank in range(size):
            if rank != self._rank and cuts[rank] < cuts[rank + 1] and own:
                first, last = cuts[rank], cuts[rank + 1] - 1
                self._program.select_tiles(
                    self._shapes.expand_groups,
                    self._shapes.expand_block,
                    tiles=self._tiles[(step - 1) % 2],
                    count=own,
                    first=first,
                    last=last,
                    low=first - shift - 1,
                    high=last - shift,
                    selected=self._outbox["places"],
                    start=rank * own,
                    selected_counts=self._outbox_counts,
                    place=rank,
                )
        return _Wanted(own, [0] * size, self.device.get(self._outbox_counts).tolist())

    def _exchanged(self, name: str, count: int, dtype: Any) -> Buffer:
        """A buffer in place of one that all others have read."""
        if name in self._outbox:
            self._release(self._outbox[name])
        return self._empty(count, dtype)

    def _pack(self, present: int, wanted: _Wanted) -> tuple[dict[int, _Message], bool]:
        """As many of the selected tiles as the outbox holds, by receiver; and whether there are more."""
        tile_bytes = TILE * self._type.itemsize + 4
        limit = min(self._memory * _OUTBOX_PERCENT // 100, self.device.info.max_allocation) // tile_bytes
        room = min(sum(wanted.counts) - sum(wanted.sent), max(_LEAST_OUTBOX, limit))
        if room and ("tiles" not in self._outbox or self._outbox["tiles"].size < room):
            count = min(room + room // 2, max(_LEAST_OUTBOX, limit))
            self._outbox["tiles"] = self._exchanged("tiles", count, np.int32)
            self._outbox["values"] = self._exchanged("values", count * TILE, self._type)
        at, ranges = 0, list[tuple[int, int, int]]()
        for rank, count in enumerate(wanted.counts):
            size = min(count - wanted.sent[rank], room - at)
            if size:
                self._program.pack_tiles(
                    self._shapes.groups,
                    self._shapes.block,
                    selected=self._outbox["places"],
                    start=rank * wanted.stride + wanted.sent[rank],
                    count=size,
                    tiles=self._tiles[present],
                    values=self._values[present],
                    packed_tiles=self._outbox["tiles"],
                    packed_values=self._outbox["values"],
                    to=at,
                )
                ranges.append((rank, at, size))
                wanted.sent[rank] += size
                at += size
        event = self.device.record_event() if ranges and self._direct else None
        messages = {}
        for rank, at, count in ranges:
            tiles, values = self._outbox["tiles"], self._outbox["values"]
            if event is not None:
                messages[rank] = _Message(count, tiles, values, at, event)
            else:
                cells = self.device.get(values, at * TILE, count * TILE)
                messages[rank] = _Message(count, self.device.get(tiles, at, count), cells)
        return messages, wanted.sent != wanted.counts

    def _take(self, message: _Message, present: int, at: int) -> None:
        """Put another device's tiles into the slots from ``at`` on."""
        for given, into, size in (
            (message.tiles, self._tiles[present], 1),
            (message.values, self._values[present], TILE),
        ):
            if isinstance(given, Buffer):
                assert message.event is not None
                self.device.wait_for_event(message.event)
                self.device.copy_from_peer(into, given, at * size, message.start * size, message.count * size)
            else:
                self.device.put(given, into, at * size)

    def part(
        self, step: int, pieces: Sequence[tuple[NDArray[Any], NDArray[Any]]], first: int, last: int, gain: int
    ) -> Part:
        """Tiles ``first`` to ``last`` of the table after ``step`` items; ``pieces`` fill at most half of the device."""
        self.put_table(step - 1, pieces, gain)
        while True:
            self._launch(step, self._slot_count, first, last)
            status = self._read_status()
            if not status.failed:
                break
            if self._grow(step) is not None:
                raise OutOfDeviceMemory(f"{bytes_text(self._memory)} on {self.device.info.id} hold too few tiles")
            self._undo(step, gain)
        self.step = step
        report = self._report(0.0, step, status.gain)
        tiles, values = self.table()
        order = np.argsort(tiles)
        decisions = None
        if len(tiles) <= self._decision_count:
            kept = self.decisions(len(tiles) * DECISION_BYTES)[0]
            by_number = np.argsort(kept.tiles)
            decisions = Decisions(step, kept.tiles[by_number], kept.words[by_number])
        for counts in (self._counts, self._candidate_counts):
            self.device.put(np.zeros(1, np.int32), counts, step)
        best = report.best
        return Part(tiles[order], values[order], decisions, report.cells, report.bytes, best)
