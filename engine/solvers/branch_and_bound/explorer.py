"""One device's part of a search: its IVMs, what they do in a slice, and the intervals that come and go.

Everything here runs on the device's own thread.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer, Capabilities, Device
from engine.errors import OptionError
from engine.numerics.scan import Scanner
from engine.solvers.branch_and_bound.intervals import Units, positions
from engine.solvers.branch_and_bound.kernels import (
    CONTROL_WORDS,
    COUNTERS,
    Kernels,
    Shapes,
    as_parallel,
    shapes_for,
)
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.stealing import rounds_of
from engine.solvers.branch_and_bound.tree import Tree

__all__ = ["Explorer", "Found", "Parcel", "Report", "State", "Task"]

_ACTIVE, _THIEVES, _STOLEN, _BY_LEVEL = 0, 3, 4, 8
_MOST_STEPS = 1 << 18
_MOST_ROUNDS = 64
_FEWEST_STEPS = 16
_LAUNCHES = 4
_WHOLE = 1 << 62
_BEFORE_COMPARING = 0.5
_PARALLEL_STEPS = 16
_PARALLEL_POLL = 8


@dataclass(frozen=True)
class Found:
    """A leaf better than all before: its value on the device, and how it was reached."""

    value: int
    path: tuple[int, ...]
    sides: tuple[int, ...]


@dataclass(eq=False)
class Parcel:
    """Units on their way that lie packed in the memory of the device that gave them away.

    ``share`` is the part of all leaves in them; ``taken`` is set once they have been copied.
    """

    buffer: Buffer
    start: int
    count: int
    items: int
    share: float
    taken: bool = False

    def units(self, device: Device) -> Units:
        """The units themselves, read by the device that gave them away."""
        width = 2 * self.items + 1
        return Units.unpacked(device.get(self.buffer, self.start * width, self.count * width), self.items)


@dataclass(frozen=True)
class Task:
    """What a device is to do in a turn.

    Attributes
    ----------
    upper : int
        The best value known anywhere.
    units, parcels : Units, sequence of Parcel
        Intervals to take up; those for which no IVM is idle are returned.
    wanted : int
        How many intervals to give away.
    peers : sequence of bool
        One entry a receiver of these: whether it can read this device's memory.
    seconds : float
        About how long to search.
    """

    upper: int
    units: Units
    parcels: Sequence[Parcel] = ()
    wanted: int = 0
    peers: Sequence[bool] = ()
    seconds: float = 0.05


@dataclass(frozen=True)
class Report:
    """What a turn did.

    Attributes
    ----------
    seconds, stealing : float
        Time of the slice, and the part of it spent between launches of ``explore``, estimated from one round.
    active : int
        IVMs that still have work.
    nodes, leaves, pushed, solutions, stolen : int
        Since the device was opened: decomposed nodes, leaves, children not pruned, solutions counted, intervals split.
    open : float
        Share of all leaves that this device still has to look at.
    found : Found or None
        The best leaf of this turn, if better than the bound it began with.
    returned : Units
        Intervals that found no idle IVM.
    exported : sequence of Units or Parcel
        Intervals given away, by receiver.
    """

    seconds: float
    stealing: float
    active: int
    nodes: int
    leaves: int
    pushed: int
    solutions: int
    stolen: int
    open: float
    found: Found | None
    returned: Units
    exported: Sequence[Units | Parcel] = field(default=())


@dataclass(frozen=True)
class _Children:
    """What ``pte_peb`` needs: where each IVM's children begin, whose and which each is, and both its bounds."""

    scanner: Scanner
    offsets: Buffer
    owners: Buffer
    items: Buffer
    fronts: Buffer
    backs: Buffer
    table: Buffer


@dataclass(frozen=True)
class State:
    """A search at rest: its open intervals, and digit sums by level, shape (items,), of what is explored."""

    open: Units
    explored: NDArray[np.int64]


class Explorer:
    """State on one device.

    Parameters
    ----------
    device : Device
    tree : Tree
    options : Options
    initial : int
        The initial upper bound, on which branching depends.
    capabilities : Capabilities, optional
        What kernels and shapes are chosen by, if not the device's own.
    """

    def __init__(
        self, device: Device, tree: Tree, options: Options, initial: int, capabilities: Capabilities | None = None
    ) -> None:
        used_as = capabilities or device.capabilities
        half = tree.device(used_as, device.language)
        self.device = device
        self.tree = tree
        self.initial = initial
        self.shapes: Shapes = shapes_for(used_as, tree, half, options.ivms)
        self.strategy = options.strategy
        self._trigger = max(1, round(options.steal_trigger * 1000))
        parallel = tree.device(as_parallel(used_as), device.language)
        if options.variant == "pte_peb" and not parallel.child_bounds:
            raise OptionError("variant = 'pte_peb' needs a problem whose kernel functions include child_bounds")
        self._variant = options.variant if options.variant != "auto" else "pte"
        self._to_compare = options.variant == "auto" and half.costly and half.together is None and parallel.child_bounds
        self._rates: dict[str, float] = {}
        self._searched = 0.0
        self._mark: tuple[int, float] | None = None
        self._kernels = Kernels(device, tree, half, parallel, self.shapes)
        self._parallel_table = parallel.table
        self._children: _Children | None = None
        self._plan = rounds_of(options.strategy, self.shapes.ivms)
        self._steps, self._rounds = self.shapes.steps, 8
        slots, n = self.shapes.slots, tree.items
        mask = np.uint64 if n > 32 else np.uint32
        self._buffers: list[Buffer] = []
        self._rows = self._empty((n, slots), mask)
        self._sides = self._empty(slots, mask)
        self._depths = self._put(np.full(slots, -1, np.int32))
        self._begins = self._empty((n, slots), np.uint8)
        self._ends = self._empty((n, slots), np.uint8)
        self._explored = self._put(np.zeros((n, slots), np.int32))
        self._best = self._put(np.array([initial], np.int32))
        self._upper = initial
        self._found_value = self._put(np.full(slots, initial, np.int32))
        self._found_path = self._empty((n, slots), np.uint8)
        self._found_sides = self._empty(slots, mask)
        self._control = self._put(np.zeros(CONTROL_WORDS, np.int32))
        self._counters = self._put(np.zeros(COUNTERS, np.uint64))
        self._table = self._put(half.table if half.together is None else half.together.table)
        whole = math.factorial(n)
        self._weights = self._put(
            np.array([_WHOLE * math.factorial(n - 1 - level) // whole for level in range(n)], np.uint64)
        )
        self._thieves = self._empty(slots, np.int32)
        self._victims = self._empty((n, slots), np.int32)
        self._lengths = self._empty(slots, np.uint64)
        self._since = self._empty(slots, np.int32)
        self._outgoing: list[Parcel] = []

    def _empty(self, shape: int | tuple[int, ...], dtype: type) -> Buffer:
        self._buffers.append(self.device.empty(shape, dtype))
        return self._buffers[-1]

    def _put(self, array: NDArray[np.generic]) -> Buffer:
        self._buffers.append(self.device.put(array))
        return self._buffers[-1]

    def release(self) -> None:
        """Give the memory back."""
        if self._children is not None:
            self._children.scanner.close()
        for buffer in [*self._buffers, *(parcel.buffer for parcel in self._outgoing)]:
            self.device.release(buffer)
        self._buffers.clear()
        self._outgoing.clear()

    # --- a turn -------------------------------------------------------------------------------------------------

    def turn(self, task: Task, interrupted: Callable[[], bool] | None = None) -> Report:
        """Take up intervals, search for a while, give some away.

        Parameters
        ----------
        task : Task
        interrupted : callable, optional
            Asked after every round of stealing and searching; where it says so, the turn ends early.
        """
        began = time.perf_counter()
        self._forget_outgoing()
        self._tell_upper(task.upper)
        returned = self._take(task.units, task.parcels)
        stealing = 0.0
        if self._read_active():
            self._compare()
            stealing = self._explore(task.seconds, interrupted)
        active = self._read_active()
        exported = self._export(task.wanted, task.peers) if task.wanted and active > 1 else ()
        remaining = self._measure()
        control = self.device.get(self._control, 0, 8)
        counters = self.device.get(self._counters)
        nodes, leaves, pushed, solutions = (int(value) for value in counters[:4])
        return Report(
            seconds=time.perf_counter() - began,
            stealing=stealing,
            active=active,
            nodes=nodes,
            leaves=leaves,
            pushed=pushed,
            solutions=solutions,
            stolen=int(control[_STOLEN]),
            open=remaining,
            found=self._improvement(),
            returned=returned,
            exported=exported,
        )

    def _read_active(self) -> int:
        return int(self.device.get(self._control, 0, 1)[0])

    def _nodes(self) -> int:
        return int(self.device.get(self._counters, 0, 1)[0])

    def _tell_upper(self, upper: int) -> None:
        if upper < self._upper:
            self._upper = upper
            self.device.put(np.array([upper], np.int32), self._best)

    def _explore(self, seconds: float, interrupted: Callable[[], bool] | None) -> float:
        """Rounds of stealing and searching; returns the seconds spent stealing."""
        before = self._nodes()
        began = time.perf_counter()
        self._steal()
        self.device.sync()
        one = time.perf_counter() - began
        self._search()
        rounds = 1
        while rounds < self._rounds:
            if interrupted is not None:
                self.device.sync()
                if interrupted() or time.perf_counter() - began > 1.5 * seconds:
                    break
            self._steal()
            self._search()
            rounds += 1
        self.device.sync()
        elapsed = time.perf_counter() - began
        self._searched += elapsed
        stealing = min(elapsed, one * rounds)
        self._adapt(elapsed, seconds, self._nodes() - before, rounds)
        return stealing

    def _adapt(self, elapsed: float, seconds: float, nodes: int, rounds: int) -> None:
        """Make the next slice about as long as it should be.

        A launch that nobody ends early should take a part of a slice; where launches end early for stealing, more of
        them fit. IVMs are much faster while few are at work, so only a slice with many tells how fast they are.
        """
        active = self._read_active()
        if 2 * active >= self.shapes.ivms:
            fitting = int(seconds / _LAUNCHES * nodes / (elapsed * active))
            self._steps = max(_FEWEST_STEPS, min(fitting, 2 * self._steps, _MOST_STEPS))
        else:
            self._steps = min(self._steps, self.shapes.steps)
        if elapsed > 1.5 * seconds:
            self._rounds = max(2, rounds // 2)
        elif elapsed < seconds / 2 and rounds == self._rounds:
            self._rounds = min(_MOST_ROUNDS, 2 * self._rounds)

    def _compare(self) -> None:
        """Where both variants may pay: a slice of each once most IVMs are at work, then the faster one."""
        if not self._to_compare or self._searched < _BEFORE_COMPARING:
            return
        nodes = self._nodes()
        if self._mark is not None:
            self._rates[self._variant] = (nodes - self._mark[0]) / max(1e-9, self._searched - self._mark[1])
        if len(self._rates) == 2:
            self._variant = "pte" if self._rates["pte"] >= self._rates["pte_peb"] else "pte_peb"
            self._to_compare = False
        elif self._rates and self._variant == "pte":
            self._variant, self._mark = "pte_peb", None  # whose first slice is spent compiling
            self._steps, self._rounds = _PARALLEL_STEPS, 2
        else:
            self._mark = (nodes, self._searched)

    def _search(self) -> None:
        shapes = self.shapes
        self._kernels.launch(
            "settle", 1, self._control, self._counters, shapes.ivms, self._trigger, self._steps, shapes.ramp_steps
        )
        if self._variant == "pte_peb":
            self._search_in_parallel()
            return
        self._kernels.launch(
            "explore",
            shapes.ivms,
            *(self._rows, self._sides, self._depths, self._begins, self._ends, self._explored, self._best),
            *(self._found_value, self._found_path, self._found_sides, self._control, self._counters, self._table),
            self.initial,
            shapes.ivms,
            shapes.slots,
        )

    def _search_in_parallel(self) -> None:
        """Steps of variant ``pte_peb`` until enough IVMs have run out of work, or for as many as a launch would do."""
        shapes = self.shapes
        if self._children is None:
            most = shapes.ivms * self.tree.items
            self._children = _Children(
                Scanner(self.device),
                self._empty(shapes.ivms, np.int32),
                self._empty(most, np.int32),
                self._empty(most, np.uint8),
                self._empty(most, np.int32),
                self._empty(most, np.int32),
                self._put(self._parallel_table),
            )
        on = self._children
        active = 0
        for step in range(min(self._steps, _PARALLEL_STEPS)):
            if step % _PARALLEL_POLL == 0:  # in between, nobody waits for the device
                active, floor = (int(word) for word in self.device.get(self._control, 0, 2))
                if active == 0 or active < floor:
                    break
            self._kernels.launch("count_children", shapes.ivms, self._depths, on.offsets, shapes.ivms)
            children = on.scanner.exclusive_unread(on.offsets, on.offsets)
            assert children is not None
            self._kernels.launch(
                "list_children",
                shapes.ivms,
                *(self._rows, self._depths, on.offsets, on.owners, on.items, shapes.ivms, shapes.slots),
            )
            self._kernels.launch(
                "bound_children",
                active * self.tree.items,
                *(self._rows, self._sides, self._depths, on.owners, on.items, on.fronts, on.backs, on.table),
                *(children, shapes.slots),
            )
            self._kernels.launch(
                "prune_children",
                shapes.ivms,
                *(self._rows, self._sides, self._depths, self._begins, self._ends, self._explored, self._best),
                *(self._found_value, self._found_path, self._found_sides, self._control, self._counters, on.table),
                *(on.offsets, on.fronts, on.backs, self.initial, shapes.ivms, shapes.slots),
            )

    def _steal(self) -> None:
        if self.strategy == "siblings":
            self._steal_siblings(self.shapes.ivms, collect=True)
            return
        self._measure_lengths()
        for number, step in enumerate(self._plan, 1):
            self._kernels.launch(
                "steal_over",
                self.shapes.ivms,
                *(self._rows, self._sides, self._depths, self._begins, self._ends, self._control, self._counters),
                *(self._weights, self._lengths, self._since),
                *(step.stride, step.radix, step.offset, number, step.shift, self.shapes.ivms, self.shapes.slots),
            )

    def _steal_siblings(self, thieves: int, collect: bool) -> None:
        shapes = self.shapes
        self._kernels.launch(
            "list_siblings",
            shapes.ivms,
            *(self._rows, self._depths, self._control, self._thieves, self._victims),
            *(int(collect), shapes.ivms, shapes.slots),
        )
        self._kernels.launch(
            "steal_siblings",
            thieves,
            *(self._rows, self._sides, self._depths, self._begins, self._ends, self._control),
            *(self._thieves, self._victims, int(collect), thieves, shapes.slots),
        )

    def _measure_lengths(self) -> None:
        self._kernels.launch(
            "measure",
            self.shapes.ivms,
            *(self._rows, self._depths, self._ends, self._weights, self._lengths, self._since, self._counters),
            *(self.shapes.ivms, self.shapes.slots),
        )

    def _measure(self) -> float:
        """Share of all leaves that is still open here."""
        self._settle()
        self._measure_lengths()
        share = int(self.device.get(self._counters, 4, 1)[0]) / _WHOLE
        self._settle()
        return share

    def _settle(self) -> None:
        """Clear the lists and sums of the last round."""
        self._kernels.launch(
            "settle", 1, self._control, self._counters, self.shapes.ivms, self._trigger, self._steps, 1
        )

    def _improvement(self) -> Found | None:
        """The best leaf of the IVMs, if it is better than what was known here."""
        if self.tree.counts:
            return None
        best = int(self.device.get(self._best)[0])
        if best >= self._upper:
            return None
        self._upper = best
        ivm = int(self.device.get(self._found_value, 0, self.shapes.ivms).argmin())
        value = int(self.device.get(self._found_value, ivm, 1)[0])
        slots = self.shapes.slots
        path = tuple(
            int(self.device.get(self._found_path, level * slots + ivm, 1)[0]) for level in range(self.tree.leaf_depth)
        )
        turned = int(self.device.get(self._found_sides, ivm, 1)[0])
        return Found(value, path, tuple(turned >> level & 1 for level in range(self.tree.leaf_depth)))

    # --- intervals ----------------------------------------------------------------------------------------------

    def _take(self, units: Units, parcels: Sequence[Parcel]) -> Units:
        """Let idle IVMs take up intervals; returns those left over."""
        if not len(units) and not parcels:
            return units
        idle = np.flatnonzero(self.device.get(self._depths, 0, self.shapes.ivms) < 0).astype(np.int32)
        left = [units[len(idle) :]]
        if len(idle) and len(units):
            packed = self.device.put(units[: len(idle)].packed())
            self._initialize(packed, idle[: len(units)])
        idle = idle[len(units) :]
        width = 2 * self.tree.items + 1
        for parcel in parcels:
            packed = self.device.empty(parcel.count * width, np.uint8)
            self.device.copy_from_peer(packed, parcel.buffer, 0, parcel.start * width, parcel.count * width)
            if parcel.count > len(idle):
                rest = self.device.get(packed, len(idle) * width)
                left.append(Units.unpacked(rest, self.tree.items))
            self._initialize(packed, idle[: parcel.count])
            idle = idle[parcel.count :]
            parcel.taken = True
        return Units.joined(left)

    def _initialize(self, packed: Buffer, idle: NDArray[np.int32]) -> None:
        """Let IVMs take up the first units of a buffer, and give it back."""
        if len(idle):
            targets = self.device.put(idle)
            self._kernels.launch(
                "initialize",
                len(idle),
                *(self._rows, self._sides, self._depths, self._begins, self._ends, self._explored, self._best),
                *(self._control, self._counters, self._table, packed, targets),
                *(len(idle), self.initial, self.shapes.slots),
            )
            self.device.sync()
            self.device.release(targets)
        self.device.sync()
        self.device.release(packed)

    def _export(self, wanted: int, peers: Sequence[bool]) -> Sequence[Units | Parcel]:
        """Split intervals off and take them away, the largest first as far as open siblings tell."""
        shapes = self.shapes
        open_before = self._measure() if any(peers) else 0.0
        count = 0
        wanted = min(wanted, shapes.exports)
        while count < wanted:
            split = self._split_off(shapes.ivms + count, wanted - count)
            if not split:
                break
            count += split
        self._settle()
        if not count:
            return ()
        share = (open_before - self._measure()) / len(peers) if any(peers) else 0.0
        width = 2 * self.tree.items + 1
        packed = self.device.empty(count * width, np.uint8)
        self._kernels.launch(
            "pack_units",
            count,
            *(self._depths, self._begins, self._ends, packed, count, len(peers), shapes.ivms, shapes.slots),
        )
        self.device.sync()
        parts: list[Units | Parcel] = []
        start = 0
        for index, peer in enumerate(peers):
            size = (count + len(peers) - 1 - index) // len(peers)
            parcel = Parcel(packed, start, size, self.tree.items, share)
            parts.append(parcel if peer else parcel.units(self.device))
            start += size
        self._outgoing += [part for part in parts if isinstance(part, Parcel)]
        if not any(peers):
            self.device.release(packed)
        return parts

    def _split_off(self, slot: int, most: int) -> int:
        """Give the upper half of the siblings of up to ``most`` IVMs to the slots from ``slot`` on; how many did."""
        self._settle()
        self.device.put(np.arange(slot, slot + most, dtype=np.int32), self._thieves)
        self.device.put(np.array([most], np.int32), self._control, _THIEVES)
        self._steal_siblings(most, collect=False)
        return min(most, int(self.device.get(self._control, _BY_LEVEL, max(self.tree.items - 2, 1)).sum()))

    def _forget_outgoing(self) -> None:
        """Give back the memory of parcels that have arrived."""
        waiting = {id(parcel.buffer) for parcel in self._outgoing if not parcel.taken}
        gone = {id(p.buffer): p.buffer for p in self._outgoing if id(p.buffer) not in waiting}
        for buffer in gone.values():
            self.device.release(buffer)
        self._outgoing = [parcel for parcel in self._outgoing if id(parcel.buffer) in waiting]

    def _units(self, depths: NDArray[np.int32], among: NDArray[np.int64]) -> tuple[Units, NDArray[np.int64]]:
        """The open intervals of some slots, and digit sums by level of what these have done since they began."""
        slots = among[depths[among] >= 0]
        if not len(slots):
            return Units.none(self.tree.items), np.zeros(self.tree.items, np.int64)
        at = positions(self.device.get(self._rows)[:, slots], depths[slots])
        ends = self.device.get(self._ends)[:, slots].T
        begins = self.device.get(self._begins)[:, slots].T
        done = at.sum(axis=0, dtype=np.int64) - begins.sum(axis=0, dtype=np.int64)
        return Units(at, np.ascontiguousarray(ends), depths[slots].astype(np.uint8)), done

    def state(self) -> State:
        """The search at rest, unchanged."""
        depths = self.device.get(self._depths)
        units, done = self._units(depths, np.arange(self.shapes.ivms))
        return State(units, self.device.get(self._explored).sum(axis=1, dtype=np.int64) + done)
