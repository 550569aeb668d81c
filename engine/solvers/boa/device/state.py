"""What passes between a population on a device and the host: slices of generations, states, and migrants."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..network import Network

__all__ = ["MOST_GENERATIONS", "Ending", "Migrants", "PopulationState", "Slice", "Snapshot"]

MOST_GENERATIONS = 64
"""Generations of a slice, at most."""


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
    """A population as a checkpoint keeps it: bit planes (n, words), keys (N,), status, and the network."""

    planes: NDArray[np.uint32]
    keys: NDArray[np.int64]
    status: NDArray[np.int64]
    network: Network


@dataclass
class Slice:
    """What some generations did: rows of history, mean values where rows do not have them, and seconds by phase.

    ``extra``: evaluations by local search on the host for each row, more than one an individual; empty without any.

    ``is_interrupted``: the last generation (or the initial population) was left undone, because the run is to end.
    ``best``, ``best_key``: genes and key of the best offspring of that generation, where known. ``undone``: evaluations
    of it that are known; less than 0 for an initial population that lacks some.
    """

    history: NDArray[np.int64]
    means: list[float] = field(default_factory=list)
    extra: list[int] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    is_interrupted: bool = False
    best: NDArray[np.uint8] | None = None
    best_key: int | None = None
    undone: int = 0


@dataclass(frozen=True)
class Snapshot:
    """What a population looks like: its last network with the gene of each rank, and the first of its individuals.

    ``planes`` are bit planes, shape (n, 2), or (n, 1) for populations up to 32.
    """

    generation: int
    order: NDArray[np.int32]
    network: Network
    planes: NDArray[np.uint32]
