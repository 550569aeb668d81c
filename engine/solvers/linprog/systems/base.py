"""The linear system of an interior-point iteration, ``A Theta A^T dy = r``: factor, solve, statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ....devices import Buffer, Device
from ....numerics.linear_algebra import LinearAlgebra
from ..forms.standard import ShardData
from ..sparse.factors import Picture

__all__ = ["DenseSystem", "FactorStatistics", "FirstShard", "LinearSystem", "Shards"]

Vector = NDArray[np.float64]
T = TypeVar("T")


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

    def close(self) -> None:
        """End what is at work, and release everything; called from any thread."""


class FirstShard(Protocol):
    """What linear systems use of the shard on the first device, on its thread."""

    device: Device
    algebra: LinearAlgebra
    data: ShardData
    owned: list[Any]

    @property
    def theta(self) -> Buffer:
        """The present theta."""

    def factor(self, relative: float, absolute: float) -> int:
        """Factorise its dense matrix."""

    def solve(self, rhs: Vector) -> Vector:
        """Solve with its dense factor."""


class Shards(Protocol):
    """What linear systems use of all shards."""

    @property
    def is_one(self) -> bool:
        """Whether one shard has all columns."""

    def on_first(self, function: Callable[[Any], T]) -> T:
        """Call a function with the :class:`FirstShard`, on its thread."""

    def get_theta(self) -> Vector:
        """The present theta (N,), on the host."""

    def form_normal(self) -> None:
        """The dense ``A Theta A^T`` on the first shard."""

    def normal(self, p: Vector) -> Vector:
        """``A Theta A^T p`` (m,)."""


class DenseSystem(LinearSystem):
    """Cholesky factors of the dense matrix, by the device's linear algebra."""

    def __init__(self, shards: Shards) -> None:
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
