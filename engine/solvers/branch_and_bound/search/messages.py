"""What a device is given for one turn of searching, and what it reports after it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Device
from ..intervals import Units
from .frontier import FrontierSnapshot


@dataclass(frozen=True)
class Found:
    """A leaf better than all before: its value on the device, and how it was reached."""

    value: int
    path: tuple[int, ...]
    sides: tuple[int, ...]


@dataclass(eq=False)
class IntervalMessage:
    """Units on their way to another device, packed in the memory of the device that gave them away."""

    buffer: Buffer
    start: int
    count: int
    items: int
    share: float  # of all leaves
    taken: bool = False  # set once they have been copied

    def units(self, device: Device) -> Units:
        """The units themselves, read by the device that gave them away."""
        width = 2 * self.items + 1
        return Units.unpacked(device.get(self.buffer, self.start * width, self.count * width), self.items)


@dataclass(frozen=True)
class Sample:
    """A sample of the open nodes, for an estimate of what is left."""

    seed: int
    units: Units | None = None  # intervals that no device has, to be sampled besides a device's own
    weight: float = 1.0  # how many such each of them stands for


@dataclass(frozen=True)
class Task:
    """What a device is to do in a turn."""

    upper: int  # the best value known anywhere
    units: Units  # intervals to take up; those for which no IVM is idle are returned
    messages: Sequence[IntervalMessage] = ()  # more of them
    wanted: int = 0  # intervals to give away
    peers: Sequence[bool] = ()  # of each receiver of these: whether it can read this device's memory
    prompt: bool = False  # whether to give at once, or after one round of searching if there is nothing to give yet
    least: int = 2  # IVMs that must be at work for any to be given away
    return_all: bool = False  # whether to give everything away at once, and to search no more
    seconds: float = 0.05  # of searching
    snapshot: bool = False  # whether to report the open nodes
    profile: bool = False  # and how many there are on each level
    sample: Sample | None = None  # to take at the end of the turn


@dataclass(frozen=True)
class Report:
    """What a turn did; numbers of nodes and the like are since the device was opened."""

    seconds: float
    stealing: float  # part of it between launches of `explore`, from one round; all where it only gave work away
    variant: str
    active: int  # IVMs that still have work
    nodes: int
    leaves: int
    pushed: int  # children not pruned
    solutions: int
    steals: int  # intervals split
    open: float  # share of all leaves that this device still has to explore
    found: Found | None  # the best leaf of this turn, if better than the bound it began with
    returned: Units  # intervals that found no idle IVM
    exported: Sequence[Units | IntervalMessage] = field(default=())  # by receiver
    frontier: FrontierSnapshot | None = None
    remaining: NDArray[np.float64] | None = None  # estimates of the nodes left, unless the sample takes too long
    sampling: float = 0.0  # seconds for it, which are not among `seconds`
    coarseness: float = 1.0  # of its plan
    profile: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class State:
    """A search at rest: its open intervals, and digit sums by level, shape (items,), of what is explored."""

    open: Units
    explored: NDArray[np.int64]
