"""Variant ``pte_peb``: the children of all selected nodes listed by a prefix sum and bounded in parallel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.numerics.scan import Scanner
from engine.solvers.branch_and_bound.ivms import Ivms

__all__ = ["BoundInParallel"]

_STEPS = 16
_POLL = 8


class BoundInParallel:
    """The children of one device's IVMs: where each IVM's begin, whose and which each is, and both its bounds.

    ``table`` is the instance as the functions of this variant read it.
    """

    def __init__(self, ivms: Ivms, table: NDArray[np.int32]) -> None:
        self._ivms = ivms
        most = ivms.shapes.ivms * ivms.tree.items
        self._scanner = Scanner(ivms.device)
        self._offsets = ivms.memory.empty(ivms.shapes.ivms, np.int32)
        self._owners = ivms.memory.empty(most, np.int32)
        self._items = ivms.memory.empty(most, np.uint8)
        self._fronts = ivms.memory.empty(most, np.int32)
        self._backs = ivms.memory.empty(most, np.int32)
        self._table = ivms.memory.put(table)

    def close(self) -> None:
        """Give back what is not the IVMs'."""
        self._scanner.close()

    def explore(self) -> None:
        """Steps until enough IVMs have run out of work, or for as many as a launch would do."""
        on, launch = self._ivms, self._ivms.kernels.launch
        ivms, slots = on.shapes.ivms, on.shapes.slots
        active = 0
        for step in range(min(on.steps, _STEPS)):
            if step % _POLL == 0:  # in between, nobody waits for the device
                active, floor = (int(word) for word in on.device.get(on.control, 0, 2))
                if active == 0 or active < floor:
                    break
            launch("count_children", ivms, on.depths, self._offsets, ivms)
            children = self._scanner.exclusive_unread(self._offsets, self._offsets)
            assert children is not None
            launch(
                "list_children",
                ivms,
                *(on.rows, on.depths, self._offsets, self._owners, self._items, ivms, slots),
            )
            launch(
                "bound_children",
                active * on.tree.items,
                *(on.rows, on.sides, on.depths, self._owners, self._items, self._fronts, self._backs, self._table),
                *(children, slots),
            )
            launch(
                "prune_children",
                ivms,
                *(on.rows, on.sides, on.depths, on.begins, on.ends, on.explored, on.best),
                *(on.found_value, on.found_path, on.found_sides, on.control, on.counters, self._table),
                *(self._offsets, self._fronts, self._backs, on.initial, ivms, slots),
            )
