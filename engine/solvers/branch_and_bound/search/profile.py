"""How many open nodes a search has on each level of the tree, about once a second."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ....base.context import RunContext
from ..masks import bytes_for
from .frontier import FrontierSnapshot
from .ivms import Ivms
from .members import WorkerState

NAME = "open_nodes_by_level"
"""Of the trace: its values are the open nodes of each level, the root's first."""

_BETWEEN = 1.0
_BYTES = 1 << 21
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
"""How many bits of a byte are set."""


def depth_profile(ivms: Ivms, random: np.random.Generator) -> NDArray[np.float64]:
    """The open nodes of a device, shape (leaf_depth,); of many IVMs estimated from some neighbours."""
    levels, count = ivms.tree.leaf_depth, ivms.shapes.ivms
    depths = ivms.working_depths()
    most = max(1, _BYTES // (max(1, levels) * bytes_for(ivms.tree.items)))
    begin = int(random.integers(0, count - most + 1)) if most < count else 0
    part = ivms.frontier(levels, begin, min(most, count))
    looked_at = int((part.depths >= 0).sum())
    scale = int((depths >= 0).sum()) / looked_at if looked_at else 1.0
    return scale * open_nodes_by_level(part, levels)


def open_nodes_by_level(frontier: FrontierSnapshot, levels: int) -> NDArray[np.float64]:
    """The nodes that IVMs decompose next, and their siblings still to be visited, shape (levels,)."""
    found = np.zeros(levels)
    depths = frontier.depths
    for level in range(levels):
        if level == 0:
            found[0] = (depths == 0).sum()
            continue
        rows = frontier.rows[level - 1, depths >= level]
        chosen = (depths[depths >= level] > level) & rows.any(axis=-1)
        found[level] = int(_BITS[rows.view(np.uint8)].sum(dtype=np.int64)) - int(chosen.sum())
    return found


@dataclasses.dataclass
class DepthProfiles:
    """The open nodes of all devices by level, as they were when each was last asked."""

    began: float
    _asked: dict[WorkerState, float] = dataclasses.field(default_factory=dict)
    _found: dict[WorkerState, NDArray[np.float64]] = dataclasses.field(default_factory=dict)
    _published: int = 0

    def is_due(self, worker: WorkerState, now: float) -> bool:
        """Whether a device is to report its open nodes at the end of a turn that begins now."""
        due = now - self._asked.get(worker, self.began) >= _BETWEEN
        if due:
            self._asked[worker] = now
        return due

    def take(self, worker: WorkerState, active: int, profile: NDArray[np.float64] | None, run: RunContext) -> None:
        """Note what a device with so many ``active`` IVMs has reported, and publish the sum."""
        if not active:
            self._found.pop(worker, None)
        elif profile is not None:
            self._found[worker] = profile
            total = np.sum(list(self._found.values()), axis=0)
            run.trace(NAME, self._published, total.round().tolist())
            self._published += 1
