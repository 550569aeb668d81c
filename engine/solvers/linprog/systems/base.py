"""The linear system of an interior-point iteration, ``A Theta A^T dy = r``: factor, solve, statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ..sparse.factors import Picture

if TYPE_CHECKING:
    from ..interior.system import System

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class FactorStatistics:
    """What a linear system has done and holds."""

    nonzeros: int | None = None  # entries of the last sparse factor; None of a dense one
    fronts: int = 0  # of a sparse factor on the device
    device_bytes: int = 0
    picture: Picture | None = None  # of a sparse factor: entries and fronts
    update_solves: int = 0  # solutions by updates
    update_residual: float = 0.0  # largest relative residual that one of them was accepted with


class LinearSystem(Protocol):
    """``A Theta A^T`` of one program, by whichever factor; used on the thread of the method, but for :meth:`close`."""

    def form(self) -> None:
        """Take the present theta of the shards."""

    def factor(self, relative: float, absolute: float) -> int:
        """Factorise with a diagonal larger by a part, and by an amount; not 0 if it fails."""

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor for a right-hand side (m,)."""

    def statistics(self) -> FactorStatistics:
        """Counts so far; called from any thread."""

    def wait_for_host(self) -> None:
        """Wait for what the host prepares on another thread; nothing by default."""
        return

    def close(self) -> None:
        """End what is at work, and release everything; called from any thread."""


class DenseSystem(LinearSystem):
    """Cholesky factors of the dense matrix, by the device's linear algebra."""

    def __init__(self, shards: System) -> None:
        self._shards = shards

    @override
    def form(self) -> None:
        self._shards.form_normal()

    @override
    def factor(self, relative: float, absolute: float) -> int:
        found: int = self._shards.on_first(lambda shard: shard.factor(relative, absolute))
        return found

    @override
    def solve(self, rhs: Vector) -> Vector:
        found: Vector = self._shards.on_first(lambda shard: shard.solve(rhs))
        return found

    @override
    def statistics(self) -> FactorStatistics:
        return FactorStatistics()

    @override
    def close(self) -> None:
        """The shards own everything."""
