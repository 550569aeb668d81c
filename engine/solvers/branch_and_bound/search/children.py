"""Variant ``pte_peb``: the children of all selected nodes, listed by a prefix sum and bounded in parallel."""

import numpy as np

from ....numerics.scan import Scanner
from ..masks import digit_type
from ..tree import DeviceTree
from .ivms import Ivms
from .programs import child_constants_of

_STEPS = 16
_POLL = 8


class ChildBounding:
    """The children of one device's IVMs: where each IVM's begin, whose and which each is, and both its bounds."""

    def __init__(self, ivms: Ivms, functions: DeviceTree) -> None:
        self._ivms = ivms
        constants = child_constants_of(ivms.tree, functions, ivms.shapes)
        self._program = ivms.device.program("branch_and_bound/bound_in_parallel", **constants)
        most = ivms.shapes.ivms * ivms.tree.items
        self._scanner = Scanner(ivms.device)
        memory = ivms.memory
        self._offsets = memory.empty(ivms.shapes.ivms, np.int32)
        ivms.launcher.share(
            counts=self._offsets,
            offsets=self._offsets,
            owners=memory.empty(most, np.int32),
            items=memory.empty(most, digit_type(ivms.tree.items)),
            fronts=memory.empty(most, np.int32),
            backs=memory.empty(most, np.int32),
            table=memory.put(functions.table),
        )

    def close(self) -> None:
        """Give back what does not belong to the IVMs."""
        self._scanner.close()

    def explore(self) -> None:
        """Steps until enough IVMs have run out of work, or for as many as a launch would do."""
        on, program = self._ivms, self._program
        count, active = on.shapes.ivms, 0
        for step in range(min(on.steps, _STEPS)):
            if step % _POLL == 0:  # the host waits for the device in these steps only
                control = on.device.get(on.control)[0]
                active = int(control["active"])
                if active == 0 or active < control["least_active"]:
                    break
            on.per_ivm(program.count_children, ivms=count)
            children = self._scanner.exclusive_unread(self._offsets, self._offsets)
            assert children is not None
            on.per_ivm(program.list_children, ivms=count)
            on.per_ivm(program.bound_children, active * on.tree.items, children=children)
            on.per_ivm(program.prune_children, ivms=count)
