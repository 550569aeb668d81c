"""What passes between a population on a device and the host: slices of generations, states, and migrants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ....devices import Record
from ..network import Network

MOST_GENERATIONS = 64
"""Generations of a slice, at most."""

TARGET, CONVERGED, STALLED = 1, 2, 3
"""Why a population ends; 0 while it does not."""

STATUS = Record(
    "status",
    reason="i64",
    generation="i64",
    best="i64",
    individual="i64",
    improved="i64",
    worst="i64",
    sum="i64",
    edges="i64",
    open="i64",
    entropy="i64",
    flips="i64",
)
"""The state of a population after a generation: why it ends; best key and its individual; generation of the last
improvement; worst key and sum of all; edges; of the selected, genes not yet fixed and the entropy of all; genes flipped
by local search. A history has one for each generation."""


@dataclass(frozen=True)
class Ending:
    """When the device stops by itself: a key to reach, and how many generations may pass without a better one."""

    target: int | None
    patience: int


@dataclass(frozen=True)
class Migrants:
    """Individuals on their way to another population: bit planes (n, words) and keys (m,)."""

    planes: NDArray[np.uint32]
    keys: NDArray[np.int64]


@dataclass(frozen=True)
class PopulationState:
    """A population as a checkpoint keeps it: bit planes (n, words), keys (N,), :data:`STATUS` (), and the network."""

    planes: NDArray[np.uint32]
    keys: NDArray[np.int64]
    status: NDArray[np.void]
    network: Network


@dataclass
class Slice:
    """What some generations did: rows of history, mean values where rows do not have them, and seconds by phase.

    If the last generation was left undone (``is_interrupted``): the ``best`` of its offspring, where known, and of a
    first population the number of evaluations that are ``missing``.
    """

    history: NDArray[np.void]
    means: list[float] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    is_interrupted: bool = False
    best: NDArray[np.uint8] | None = None
    missing: int = 0

    def extend(self, later: Slice) -> None:
        """Add the generations that followed."""
        self.history = np.concatenate([self.history, later.history])
        self.means = self.means + later.means
        self.seconds = longest([self, later])
        self.is_interrupted, self.missing, self.best = later.is_interrupted, later.missing, later.best


def longest(slices: Iterable[Slice]) -> dict[str, float]:
    """The most seconds that one of some slices has for each phase."""
    seconds: dict[str, float] = {}
    for one in slices:
        for phase, taken in one.seconds.items():
            seconds[phase] = max(taken, seconds.get(phase, 0.0))
    return seconds


@dataclass(frozen=True)
class Snapshot:
    """What a population looks like: its last network with the gene of each rank, and the first of its individuals.

    ``planes`` are bit planes, shape (n, 2), or (n, 1) for populations up to 32.
    """

    generation: int
    order: NDArray[np.int32]
    network: Network
    planes: NDArray[np.uint32]
