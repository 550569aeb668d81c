"""The IVMs of one device: where they are kept, and the kernels that work on all of them.

Everything here runs on the device's own thread.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer, Device
from engine.numerics.memory import Memory
from engine.solvers.branch_and_bound.intervals import Units, positions
from engine.solvers.branch_and_bound.kernels import CONTROL_WORDS, COUNTERS, Kernels, Shapes
from engine.solvers.branch_and_bound.proof import LEVELS, View
from engine.solvers.branch_and_bound.stealing import rounds_of
from engine.solvers.branch_and_bound.tree import DeviceTree, Tree
from engine.solvers.branch_and_bound.turns import Found, State

__all__ = ["Ivms"]

_WHOLE = 1 << 62


class Ivms:
    """State of the IVMs and of the slots behind them, through which intervals leave.

    Parameters
    ----------
    device : Device
    tree : Tree
    half : DeviceTree
        The tree's functions, as ``kernels`` has them.
    kernels : Kernels
    shapes : Shapes
    initial : int
        The initial upper bound, on which branching depends.
    strategy : str
        Whom idle IVMs steal from.
    trigger : int
        Thousandths of the active IVMs that run out of work before a launch ends for stealing.

    Attributes
    ----------
    steps : int
        Most nodes an IVM decomposes in a launch.
    """

    def __init__(
        self,
        device: Device,
        tree: Tree,
        half: DeviceTree,
        kernels: Kernels,
        shapes: Shapes,
        initial: int,
        strategy: str,
        trigger: int,
    ) -> None:
        self.device = device
        self.tree = tree
        self.kernels = kernels
        self.shapes = shapes
        self.initial = initial
        self.steps = shapes.steps
        self._siblings = strategy == "siblings"
        self._plan = rounds_of(strategy, shapes.ivms)
        self._trigger = trigger
        slots, n = shapes.slots, tree.items
        mask = np.uint64 if n > 32 else np.uint32
        self.memory = memory = Memory(device)
        self.rows = memory.empty((n, slots), mask)
        self.sides = memory.empty(slots, mask)
        self.depths = memory.put(np.full(slots, -1, np.int32))
        self.begins = memory.empty((n, slots), np.uint8)
        self.ends = memory.empty((n, slots), np.uint8)
        self.explored = memory.put(np.zeros((n, slots), np.int32))
        self.best = memory.put(np.array([initial], np.int32))
        self._upper = initial
        self.found_value = memory.put(np.full(slots, initial, np.int32))
        self.found_path = memory.empty((n, slots), np.uint8)
        self.found_sides = memory.empty(slots, mask)
        self.control = memory.put(np.zeros(CONTROL_WORDS, np.int32))
        self.counters = memory.put(np.zeros(COUNTERS, np.uint64))
        self.table = memory.put(half.table if half.together is None else half.together.table)
        whole = math.factorial(n)
        self._weights = memory.put(
            np.array([_WHOLE * math.factorial(n - 1 - level) // whole for level in range(n)], np.uint64)
        )
        self.thieves = memory.empty(slots, np.int32)
        self.victims = memory.empty((n, slots), np.int32)
        self._lengths = memory.empty(slots, np.uint64)
        self._since = memory.empty(slots, np.int32)

    def release(self) -> None:
        """Give the memory back."""
        self.memory.release()

    # --- what they have done ------------------------------------------------------------------------------------

    def active(self) -> int:
        """How many have work."""
        return int(self.device.get(self.control, 0, 1)[0])

    def nodes(self) -> int:
        """Nodes decomposed since the beginning."""
        return int(self.device.get(self.counters, 0, 1)[0])

    def tell_upper(self, upper: int) -> None:
        """Let them prune by a better solution, found elsewhere."""
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
        ivm = int(self.device.get(self.found_value, 0, self.shapes.ivms).argmin())
        value = int(self.device.get(self.found_value, ivm, 1)[0])
        slots = self.shapes.slots
        path = tuple(
            int(self.device.get(self.found_path, level * slots + ivm, 1)[0]) for level in range(self.tree.leaf_depth)
        )
        turned = int(self.device.get(self.found_sides, ivm, 1)[0])
        return Found(value, path, tuple(turned >> level & 1 for level in range(self.tree.leaf_depth)))

    def state(self) -> State:
        """Their intervals, and what is explored, while no kernel runs."""
        units, explored = self._standing()
        return State(units, explored.sum(axis=1, dtype=np.int64))

    def surrender(self) -> Units:
        """Take away all that they still have to do, while no kernel runs."""
        units, explored = self._standing()
        self.device.put(explored, self.explored)
        self.device.put(np.full(self.shapes.ivms, -1, np.int32), self.depths)
        self.device.put(np.zeros(1, np.int32), self.control)
        return units

    def _standing(self) -> tuple[Units, NDArray[np.int32]]:
        """The rests of their intervals, and what they have explored with the beginnings of these."""
        depths = self.device.get(self.depths, 0, self.shapes.ivms)
        explored = self.device.get(self.explored)
        ivms = np.flatnonzero(depths >= 0)
        if not len(ivms):
            return Units.none(self.tree.items), explored
        at = positions(self.device.get(self.rows)[:, ivms], depths[ivms])
        ends = np.ascontiguousarray(self.device.get(self.ends)[:, ivms].T)
        explored[:, ivms] += at.T.astype(np.int32) - self.device.get(self.begins)[:, ivms]
        return Units(at, ends, depths[ivms].astype(np.uint8)), explored

    def view(self) -> View:
        """The open nodes near the root."""
        levels, ivms, slots = min(LEVELS, self.tree.items), self.shapes.ivms, self.shapes.slots
        rows = self.device.get(self.rows, 0, levels * slots).reshape(levels, slots)
        return View(rows[:, :ivms], self.device.get(self.sides, 0, ivms), self.device.get(self.depths, 0, ivms))

    # --- what they do -------------------------------------------------------------------------------------------

    def begin_round(self) -> None:
        """Say from how many active IVMs on the next launch may end early, and how many nodes it may do."""
        shapes = self.shapes
        self.kernels.launch(
            "settle", 1, self.control, self.counters, shapes.ivms, self._trigger, self.steps, shapes.ramp_steps
        )

    def explore(self) -> None:
        """Let every IVM select, branch, bound and prune (variant ``pte``)."""
        shapes = self.shapes
        self.kernels.launch(
            "explore",
            shapes.ivms,
            *(self.rows, self.sides, self.depths, self.begins, self.ends, self.explored, self.best),
            *(self.found_value, self.found_path, self.found_sides, self.control, self.counters, self.table),
            self.initial,
            shapes.ivms,
            shapes.slots,
        )

    def steal(self) -> None:
        """Let the idle ones steal from the others."""
        if self._siblings:
            self.steal_siblings(self.shapes.ivms, collect=True)
            return
        self._measure_lengths()
        for number, step in enumerate(self._plan, 1):
            self.kernels.launch(
                "steal_over",
                self.shapes.ivms,
                *(self.rows, self.sides, self.depths, self.begins, self.ends, self.control, self.counters),
                *(self._weights, self._lengths, self._since),
                *(step.stride, step.radix, step.offset, number, step.shift, self.shapes.ivms, self.shapes.slots),
            )

    def steal_siblings(self, thieves: int, collect: bool) -> None:
        """Give siblings to ``thieves`` IVMs that are idle or, without ``collect``, to slots listed before."""
        shapes = self.shapes
        self.kernels.launch(
            "list_siblings",
            shapes.ivms,
            *(self.rows, self.depths, self.control, self.thieves, self.victims),
            *(int(collect), shapes.ivms, shapes.slots),
        )
        self.kernels.launch(
            "steal_siblings",
            thieves,
            *(self.rows, self.sides, self.depths, self.begins, self.ends, self.control),
            *(self.thieves, self.victims, int(collect), thieves, shapes.slots),
        )

    def _measure_lengths(self) -> None:
        self.kernels.launch(
            "measure",
            self.shapes.ivms,
            *(self.rows, self.depths, self.ends, self._weights, self._lengths, self._since, self.counters),
            *(self.shapes.ivms, self.shapes.slots),
        )

    def measure(self) -> float:
        """Share of all leaves that is still open here."""
        self.settle()
        self._measure_lengths()
        share = int(self.device.get(self.counters, 4, 1)[0]) / _WHOLE
        self.settle()
        return share

    def settle(self) -> None:
        """Clear the lists and sums of the last round."""
        self.kernels.launch("settle", 1, self.control, self.counters, self.shapes.ivms, self._trigger, self.steps, 1)

    def initialize(self, packed: Buffer, targets: Buffer, count: int) -> None:
        """Let the IVMs ``targets`` take up the first ``count`` units of a buffer (see :meth:`Units.packed`)."""
        self.kernels.launch(
            "initialize",
            max(1, count),
            *(self.rows, self.sides, self.depths, self.begins, self.ends, self.explored, self.best),
            *(self.control, self.counters, self.table, packed, targets),
            *(count, self.initial, self.shapes.slots),
        )

    def pack(self, packed: Buffer, count: int, parts: int) -> None:
        """Write what lies in the slots behind the IVMs as units, receiver after receiver; the slots are free then."""
        self.kernels.launch(
            "pack_units",
            max(1, count),
            *(self.depths, self.begins, self.ends, packed, count, parts, self.shapes.ivms, self.shapes.slots),
        )
