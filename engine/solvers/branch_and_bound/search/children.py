"""Variant ``pte_peb``: the children of all selected nodes, listed by a prefix sum and bounded in parallel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....devices.kernels.program import Program
from ....numerics.scan import Scanner
from .ivms import Ivms

__all__ = ["ChildBounding"]

_STEPS = 16
_POLL = 8


class ChildBounding:
    """The children of one device's IVMs: where each IVM's begin, whose and which each is, and both its bounds.

    Parameters
    ----------
    ivms : Ivms
    program : Program
        Of ``bound_in_parallel.mako``.
    table : ndarray of int32
        The instance, as the functions of this variant read it.
    """

    def __init__(self, ivms: Ivms, program: Program, table: NDArray[np.int32]) -> None:
        self._ivms = ivms
        most = ivms.shapes.ivms * ivms.tree.items
        self._scanner = Scanner(ivms.device)
        self._offsets = ivms.memory.empty(ivms.shapes.ivms, np.int32)
        owners = ivms.memory.empty(most, np.int32)
        items = ivms.memory.empty(most, np.uint8)
        fronts = ivms.memory.empty(most, np.int32)
        backs = ivms.memory.empty(most, np.int32)
        on_device = ivms.memory.put(table)
        count, slots = ivms.shapes.ivms, ivms.shapes.slots
        self._count_children = program.count_children.bind(depths=ivms.depths, counts=self._offsets, ivms=count)
        self._list_children = program.list_children.bind(
            rows=ivms.rows,
            depths=ivms.depths,
            offsets=self._offsets,
            owners=owners,
            items=items,
            ivms=count,
            slots=slots,
        )
        self._bound_children = program.bound_children.bind(
            rows=ivms.rows,
            sides=ivms.sides,
            depths=ivms.depths,
            owners=owners,
            items=items,
            fronts=fronts,
            backs=backs,
            table=on_device,
            slots=slots,
        )
        self._prune_children = program.prune_children.bind(
            rows=ivms.rows,
            sides=ivms.sides,
            depths=ivms.depths,
            begins=ivms.begins,
            ends=ivms.ends,
            explored=ivms.explored,
            best=ivms.best,
            leaf_values=ivms.leaf_values,
            leaf_paths=ivms.leaf_paths,
            leaf_sides=ivms.leaf_sides,
            control=ivms.control,
            counters=ivms.counters,
            table=on_device,
            offsets=self._offsets,
            fronts=fronts,
            backs=backs,
            initial=ivms.initial,
            ivms=count,
            slots=slots,
        )

    def close(self) -> None:
        """Give back what does not belong to the IVMs."""
        self._scanner.close()

    def explore(self) -> None:
        """Steps until enough IVMs have run out of work, or for as many as a launch would do."""
        on, block = self._ivms, self._ivms.shapes.block
        groups = on.programs.groups(on.shapes.ivms)
        active = 0
        for step in range(min(on.steps, _STEPS)):
            if step % _POLL == 0:  # the host waits for the device in these steps only
                active, least = (int(word) for word in on.device.get(on.control, 0, 2))
                if active == 0 or active < least:
                    break
            self._count_children(groups, block)
            children = self._scanner.exclusive_unread(self._offsets, self._offsets)
            assert children is not None
            self._list_children(groups, block)
            self._bound_children(on.programs.groups(active * on.tree.items), block, children=children)
            self._prune_children(groups, block)
