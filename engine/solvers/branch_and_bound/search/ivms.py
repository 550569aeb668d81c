"""The IVMs of one device, on its thread: where they are kept, the kernels that work on all of them, what they give."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Device
from ....devices.kernels.launcher import Launcher
from ....devices.kernels.program import Kernel
from ....numerics.memory import Memory
from ..intervals import Units, positions
from ..masks import Masks, bits_of, digit_type, dtype_for, words_for
from ..options import Options
from ..tree import Tree
from .frontier import LEVELS, FrontierSnapshot
from .messages import Found, IntervalMessage, State
from .programs import CONTROL, COUNTERS, programs_of, shapes_for
from .stealing import VictimSelection, doubling

_UNIT = 1 << 62  # the number of all leaves, in the unit in which kernels measure intervals


class Ivms:
    """State of the IVMs, and of the slots through which intervals leave; ``candidates`` IVMs for single steps."""

    def __init__(
        self, device: Device, tree: Tree, options: Options, initial: int, candidates: int | None = None
    ) -> None:
        self.device = device
        self.tree = tree
        self.initial = initial
        functions = tree.device(device.capabilities)
        shapes = shapes_for(device.capabilities, tree, functions, candidates or options.ivms)
        self.shapes = shapes = dataclasses.replace(shapes, exports=0) if candidates else shapes
        self._explore, self._steal = programs_of(device, tree, functions, shapes)
        self.steps = shapes.steps  # most nodes an IVM decomposes in a launch
        self.ramp_steps = shapes.ramp_steps  # and while most are idle
        self.given = 0  # intervals given away
        self._outgoing: list[IntervalMessage] = []
        self._options = options
        self._trigger = round(options.steal_trigger * 1000)
        if options.steal_trigger:
            self._trigger = max(1, self._trigger)
        slots, n = shapes.slots, tree.items
        table = functions.table if functions.cooperative is None else functions.cooperative.table
        mask, words, digit = dtype_for(n), words_for(n), digit_type(n)
        self.memory = memory = Memory(device)
        self.rows = memory.zeros((n, slots, words), mask)
        self.sides = memory.zeros((slots, words), mask)  # kernels read those of idle IVMs too
        self.depths = memory.put(np.full(slots, -1, np.int32))
        self.begins = memory.zeros((n, slots), digit)  # those of idle IVMs are copied to the host too
        self.ends = memory.zeros((n, slots), digit)
        self.explored = memory.put(np.zeros((n, slots), np.int32))
        self.best = memory.put(np.array([initial], np.int32))
        self._upper = initial
        self.leaf_values = memory.put(np.full(slots, initial, np.int32))
        self.leaf_paths = memory.empty((n, slots), digit)
        self.leaf_sides = memory.empty((slots, words), mask)
        self.control = memory.put(np.zeros(1, CONTROL.dtype))
        self.counters = memory.put(np.zeros(1, COUNTERS.dtype))
        workspace: dict[str, Buffer | int] = {}
        if shapes.workspace_words:
            one_level = candidates is not None and shapes.backtrack == "saved"
            levels = max(1, tree.leaf_depth) if one_level else 1
            workspace["workspace"] = memory.empty((shapes.ivms, shapes.workspace_words // levels), np.int32)
            if shapes.backtrack == "saved":
                workspace["workspace_stride"] = 0 if one_level else shapes.ivms
        leaves = math.factorial(n)
        weights = [_UNIT * math.factorial(n - 1 - level) // leaves for level in range(n)]
        self.thieves = memory.empty(slots, np.int32)
        self.launcher = Launcher(
            rows=self.rows,
            sides=self.sides,
            depths=self.depths,
            begins=self.begins,
            ends=self.ends,
            explored=self.explored,
            best=self.best,
            leaf_values=self.leaf_values,
            leaf_paths=self.leaf_paths,
            leaf_sides=self.leaf_sides,
            control=self.control,
            counters=self.counters,
            data=memory.put(table),
            **workspace,
            weights=memory.put(np.array(weights, np.uint64)),
            thieves=self.thieves,
            victims=memory.empty((n, slots), np.int32),
            lengths=memory.empty(slots, np.uint64),
            since=memory.empty(slots, np.int32),
            initial=initial,
            trigger=self._trigger,
            slots=slots,
        )

    def close(self) -> None:
        """Give the memory back, with the messages that no device has fetched."""
        self._free(self._outgoing)
        self.memory.release()

    # --- state ------------------------------------------------------------------------------------

    def active(self) -> int:
        """How many IVMs have work."""
        return int(self.device.get(self.control)["active"][0])

    def nodes(self) -> int:
        """Nodes decomposed since the beginning."""
        return int(self.device.get(self.counters)["nodes"][0])

    def set_upper(self, upper: int) -> None:
        """Let the IVMs prune by a better solution, found elsewhere."""
        if upper < self._upper:
            self._upper = upper
            self.device.put(np.array([upper], np.int32), self.best)

    def improvement(self) -> Found | None:
        """The best leaf of the IVMs, if it is better than what was known here."""
        if self.tree.counts:
            return None
        best = int(self.device.get(self.best)[0])
        if best >= self._upper:
            return None
        self._upper = best
        ivm = int(self.device.get(self.leaf_values, 0, self.shapes.ivms).argmin())
        value = int(self.device.get(self.leaf_values, ivm, 1)[0])
        slots = self.shapes.slots
        path = tuple(
            int(self.device.get(self.leaf_paths, level * slots + ivm, 1)[0]) for level in range(self.tree.leaf_depth)
        )
        turned = bits_of(self._sets(self.leaf_sides, ivm, 1)[0])
        return Found(value, path, tuple(turned[: self.tree.leaf_depth].astype(int).tolist()))

    def state(self) -> State:
        """Their intervals, and what is explored, while no kernel runs."""
        units, explored = self._open_intervals()
        return State(units, explored.sum(axis=1, dtype=np.int64))

    def discard(self) -> None:
        """Forget all intervals, and what was done; the incumbent stays."""
        self._free(self._outgoing)
        self._outgoing, self.given = [], 0
        self.device.put(np.full(self.shapes.slots, -1, np.int32), self.depths)
        for buffer in (self.control, self.counters, self.explored):
            self.device.zero(buffer)
        self.device.sync()

    def return_all(self, receivers: int) -> Sequence[Units]:
        """Give away all that they still have to do, in parts; neighbours in the tree go to different receivers."""
        units, explored = self._open_intervals()
        self.device.put(explored, self.explored)
        self.device.put(np.full(self.shapes.ivms, -1, np.int32), self.depths)
        self.set_active(0)
        return [units[part::receivers] for part in range(receivers)] if len(units) else ()

    def set_active(self, count: int) -> None:
        """Say how many IVMs have work, where the host has changed that."""
        control = self.device.get(self.control)
        control["active"] = count
        self.device.put(control, self.control)

    def _open_intervals(self) -> tuple[Units, NDArray[np.int32]]:
        """The rests of their intervals, and what they have explored with the beginnings of these."""
        depths = self.device.get(self.depths, 0, self.shapes.ivms)
        explored = self.device.get(self.explored)
        ivms = np.flatnonzero(depths >= 0)
        if not len(ivms):
            return Units.none(self.tree.items), explored
        deepest = int(depths.max())
        rows = self._sets(self.rows, 0, deepest * self.shapes.slots).reshape(deepest, self.shapes.slots, -1)
        ends = np.ascontiguousarray(self.device.get(self.ends)[:, ivms].T)
        at = np.zeros_like(ends)
        at[:, :deepest] = positions(rows[:, ivms], depths[ivms])
        explored[:, ivms] += at.T.astype(np.int32) - self.device.get(self.begins)[:, ivms]
        return Units(at, ends, depths[ivms].astype(ends.dtype)), explored

    def working_depths(self) -> NDArray[np.int32]:
        """Level of the node that each IVM decomposes next; -1 while it is idle."""
        return self.device.get(self.depths, 0, self.shapes.ivms)

    def frontier(self, levels: int = LEVELS, begin: int = 0, count: int | None = None) -> FrontierSnapshot:
        """The open nodes of the first levels, of all IVMs or of ``count`` neighbours."""
        levels, ivms, slots = min(levels, self.tree.items), self.shapes.ivms, self.shapes.slots
        if count is not None and count < ivms:
            parts = [self._sets(self.rows, level * slots + begin, count) for level in range(levels)]
            depths = self.device.get(self.depths, begin, count)
            return FrontierSnapshot(np.stack(parts), self._sets(self.sides, begin, count), depths)
        rows = self._sets(self.rows, 0, levels * slots).reshape(levels, slots, -1)
        return FrontierSnapshot(rows[:, :ivms], self._sets(self.sides, 0, ivms), self.device.get(self.depths, 0, ivms))

    def children(self, start: int, count: int) -> tuple[Masks, Masks]:
        """So many rows, counted level after level, and the sides of the first IVMs; shape (count, words) each."""
        return self._sets(self.rows, start, count), self._sets(self.sides, 0, count)

    def _sets(self, buffer: Buffer, start: int, count: int) -> Masks:
        """Sets of items from a buffer of them, shape (count, words)."""
        words = words_for(self.tree.items)
        return self.device.get(buffer, start * words, count * words).reshape(count, words)

    # --- launches -----------------------------------------------------------------------------------------------

    def per_ivm(self, kernel: Kernel, items: int | None = None, **own: Any) -> None:
        """Launch a kernel with a work-item an IVM, or for so many items."""
        block = self.shapes.block
        self.launcher(kernel, -(-(self.shapes.ivms if items is None else items) // block), block, **own)

    def _grid(self, ivms: int) -> tuple[int, int]:
        """Groups, and work-items a group, of a kernel that decomposes nodes of so many IVMs."""
        block = self.shapes.block
        return (ivms, self.shapes.lanes) if self.shapes.cooperative else (-(-ivms // block), block)

    def begin_round(self) -> None:
        """Say from how many active IVMs on the next launch may end early, and how many nodes it may do."""
        self._begin_round(self.steps, min(self.steps, self.ramp_steps))

    def begin_step(self) -> None:
        """Clear the lists and sums, and let the next launch decompose one node in every IVM."""
        self._begin_round(1, 1)

    def settle(self) -> None:
        """Clear the lists and sums of the last round."""
        self._begin_round(self.steps, 1)

    def _begin_round(self, steps: int, ramp_steps: int, thieves: int = 0) -> None:
        kernel, ivms = self._steal.begin_round, self.shapes.ivms
        self.launcher(kernel, 1, 1, ivms=ivms, steps=steps, ramp_steps=ramp_steps, thief_count=thieves)

    def explore(self, count: int | None = None) -> None:
        """Let every IVM select, branch, bound and prune (variant ``pte``).

        With ``count`` as if there were only so many IVMs and slots: buffers by level hold ``count`` entries a level.
        """
        ivms, slots = (self.shapes.ivms, self.shapes.slots) if count is None else (count, count)
        self.launcher(self._explore.explore_ivms, *self._grid(ivms), ivms=ivms, slots=slots)

    @functools.cached_property
    def _selection(self) -> VictimSelection:
        return VictimSelection.of(self._options, self.shapes.ivms)

    def steal(self) -> None:
        """Let the idle ones steal from the others."""
        ivms = self.shapes.ivms
        strategy = self._options.strategy
        if strategy == "siblings":
            self.steal_siblings(ivms, collect=True)
            return
        self._measure_intervals()
        if strategy == "doubling":
            for number, step in enumerate(doubling(ivms), 1):
                self.per_ivm(self._steal.steal_at_distance, ivms=ivms, round=number, **step._asdict())
            return
        idle = ivms - self.active() if strategy == "adapt" else 0
        for one in self._selection.phase(idle):
            self.per_ivm(self._steal.steal_on_rings, ivms=ivms, **one._asdict())

    def split_off(self, slot: int, most: int) -> int:
        """Give the upper half of the siblings of up to ``most`` IVMs to the slots from ``slot`` on; how many did."""
        self._begin_round(self.steps, 1, thieves=most)
        self.device.put(np.arange(slot, slot + most, dtype=np.int32), self.thieves)
        self.steal_siblings(most, collect=False)
        victims = self.device.get(self.control)["victims"][0, : max(self.tree.items - 2, 1)]
        return min(most, int(victims.sum()))

    def steal_siblings(self, thieves: int, collect: bool) -> None:
        """Give siblings to ``thieves`` IVMs that are idle or, without ``collect``, to slots listed before."""
        self.per_ivm(self._steal.list_siblings, collect=int(collect), ivms=self.shapes.ivms)
        self.per_ivm(self._steal.steal_siblings, thieves, starts=int(collect), ivms=thieves)

    def _measure_intervals(self) -> None:
        self.per_ivm(self._steal.measure_intervals, ivms=self.shapes.ivms)

    def measure(self) -> float:
        """Share of all leaves that is still open here."""
        self.settle()
        self._measure_intervals()
        share = int(self.device.get(self.counters)["length"][0]) / _UNIT
        self.settle()
        return share

    def initialize(self, packed: Buffer, targets: Buffer, count: int) -> None:
        """Let the IVMs ``targets`` take up the first ``count`` units of a buffer (see :meth:`Units.packed`)."""
        grid = self._grid(max(1, count))
        self.launcher(self._explore.take_up_units, *grid, units=packed, targets=targets, count=count)

    def pack(self, packed: Buffer, count: int, parts: int) -> None:
        """Move the first ``count`` slots behind the IVMs to packed units, in turn for each of ``parts`` receivers."""
        first = self.shapes.ivms
        kernel = self._steal.pack_units
        self.per_ivm(kernel, max(1, count), units=packed, count=count, parts=parts, first=first)

    # --- intervals from and for other devices ---------------------------------------------------------------------

    def take(self, units: Units, messages: Sequence[IntervalMessage]) -> Units:
        """Let idle IVMs take up intervals, also of messages in memory that this device reads; returns the rest."""
        if not len(units) and not messages:
            return units
        device, items = self.device, self.tree.items
        idle = np.flatnonzero(self.working_depths() < 0).astype(np.int32)
        left = [units[len(idle) :]]
        if len(idle) and len(units):
            self._take_up(device.put(units[: len(idle)].packed()), idle[: len(units)])
        idle = idle[len(units) :]
        width = 2 * items + 1
        for message in messages:
            packed = device.empty(message.count * width, digit_type(items))
            device.copy_from_peer(packed, message.buffer, 0, message.start * width, message.count * width)
            if message.count > len(idle):
                left.append(Units.unpacked(device.get(packed, len(idle) * width), items))
            self._take_up(packed, idle[: message.count])
            idle = idle[message.count :]
            message.taken = True
        return Units.joined(left)

    def _take_up(self, packed: Buffer, idle: NDArray[np.int32]) -> None:
        """Let IVMs take up the first units of a buffer, and free it."""
        if len(idle):
            targets = self.device.put(idle)
            self.initialize(packed, targets, len(idle))
            self.device.sync()
            self.device.release(targets)
        self.device.sync()
        self.device.release(packed)

    def give(self, wanted: int, peers: Sequence[bool]) -> Sequence[Units | IntervalMessage]:
        """Split intervals off, near the root first; an entry a receiver, or none; ``peers`` read this memory."""
        device, items, shapes = self.device, self.tree.items, self.shapes
        open_before = self.measure() if any(peers) else 0.0
        count = 0
        wanted = min(wanted, shapes.exports)
        while count < wanted:
            split = self.split_off(shapes.ivms + count, wanted - count)
            if not split:
                break
            count += split
        self.settle()
        if not count:
            return ()
        self.given += count
        share = (open_before - self.measure()) / len(peers) if any(peers) else 0.0
        packed = device.empty(count * (2 * items + 1), digit_type(items))
        self.pack(packed, count, len(peers))
        device.sync()
        parts: list[Units | IntervalMessage] = []
        start = 0
        for index, peer in enumerate(peers):
            size = (count + len(peers) - 1 - index) // len(peers)
            message = IntervalMessage(packed, start, size, items, share)
            parts.append(message if peer else message.units(device))
            start += size
        self._outgoing += [part for part in parts if isinstance(part, IntervalMessage)]
        if not any(peers):
            device.release(packed)
        return parts

    def release_delivered(self) -> None:
        """Free the messages that have arrived."""
        waiting = {id(message.buffer) for message in self._outgoing if not message.taken}
        self._free([message for message in self._outgoing if id(message.buffer) not in waiting])
        self._outgoing = [message for message in self._outgoing if id(message.buffer) in waiting]

    def _free(self, messages: Sequence[IntervalMessage]) -> None:
        for buffer in {id(message.buffer): message.buffer for message in messages}.values():
            self.device.release(buffer)
