"""What a device is given for one turn of searching, and what it reports after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Device
from ..intervals import Units
from .frontier import FrontierSnapshot

__all__ = ["Found", "IntervalMessage", "Report", "Sample", "State", "Task"]


@dataclass(frozen=True)
class Found:
    """A leaf better than all before: its value on the device, and how it was reached."""

    value: int
    path: tuple[int, ...]
    sides: tuple[int, ...]


@dataclass(eq=False)
class IntervalMessage:
    """Units on their way to another device, packed in the memory of the device that gave them away.

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
class Sample:
    """A sample of the open nodes, for an estimate of what is left.

    ``units`` are intervals that no device has, to be sampled besides a device's own; each stands for ``weight`` such.
    """

    seed: int
    units: Units | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class Task:
    """What a device is to do in a turn.

    Attributes
    ----------
    upper : int
        The best value known anywhere.
    units, messages : Units, sequence of IntervalMessage
        Intervals to take up; those for which no IVM is idle are returned.
    wanted : int
        How many intervals to give away.
    peers : sequence of bool
        One entry a receiver of these: whether it can read this device's memory.
    prompt : bool
        Whether to give them away at once, or after a single round of searching if there is nothing to give yet.
    least : int
        How many IVMs must be at work for any to be given away.
    return_all : bool
        Whether to give everything away at once, and to search no more.
    seconds : float
        About how long to search.
    snapshot : bool
        Whether the report is to contain a snapshot of the open nodes.
    profile : bool
        Whether it is to contain the number of open nodes on each level.
    sample : Sample or None
        The sample of the open nodes to take at the end of the turn.
    """

    upper: int
    units: Units
    messages: Sequence[IntervalMessage] = ()
    wanted: int = 0
    peers: Sequence[bool] = ()
    prompt: bool = False
    least: int = 2
    return_all: bool = False
    seconds: float = 0.05
    snapshot: bool = False
    profile: bool = False
    sample: Sample | None = None


@dataclass(frozen=True)
class Report:
    """What a turn did.

    Attributes
    ----------
    seconds, stealing : float
        Time of the turn, and the part of it spent between launches of ``explore``, estimated from one round, or all
        of it where the turn only gave work away.
    active : int
        IVMs that still have work.
    nodes, leaves, pushed, solutions, stolen : int
        Since the device was opened: decomposed nodes, leaves, children not pruned, solutions counted, intervals split.
    open : float
        Share of all leaves that this device still has to explore.
    found : Found or None
        The best leaf of this turn, if better than the bound it began with.
    returned : Units
        Intervals that found no idle IVM.
    exported : sequence of Units or IntervalMessage
        Intervals given away, by receiver.
    frontier : FrontierSnapshot or None
        The open nodes at the end of the turn, where the task asked for them.
    remaining : ndarray of float64 or None
        Independent estimates of the nodes that are left then, where the task asked for a sample that does not take too
        long.
    sampling : float
        Seconds that the sample took, which are not among ``seconds``.
    variant : str
        The variant that searches.
    coarseness : float
        Of the sample (see :meth:`~engine.solvers.branch_and_bound.search.sampling.SamplePlan.coarseness`).
    profile : ndarray of float64 or None
        The open nodes by level, where the task asked for them.
    """

    seconds: float
    stealing: float
    variant: str
    active: int
    nodes: int
    leaves: int
    pushed: int
    solutions: int
    stolen: int
    open: float
    found: Found | None
    returned: Units
    exported: Sequence[Units | IntervalMessage] = field(default=())
    frontier: FrontierSnapshot | None = None
    remaining: NDArray[np.float64] | None = None
    sampling: float = 0.0
    coarseness: float = 1.0
    profile: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class State:
    """A search at rest: its open intervals, and digit sums by level, shape (items,), of what is explored."""

    open: Units
    explored: NDArray[np.int64]
