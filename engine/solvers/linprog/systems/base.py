"""The linear system of an interior-point iteration, ``A Theta A^T dy = r``: factor, solve, statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Device
from ....numerics.linear_algebra import LinearAlgebra
from ..forms.columns import ShardData
from ..sparse.factors import Picture

__all__ = ["FactorStatistics", "FirstShard", "LinearSystem", "Shards"]

Vector = NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True)
class FactorStatistics:
    """What a linear system has done and holds.

    Attributes
    ----------
    nonzeros : int, optional
        Entries of the last sparse factor; None of a dense one.
    fronts, device_bytes : int
        Of a sparse factor on the device.
    picture : tuple of ndarray, optional
        Of a sparse factor: entries and fronts.
    update_solves : int
        Solutions by updates.
    update_residual : float
        Largest relative residual that one of them was accepted with.
    """

    nonzeros: int | None = None
    fronts: int = 0
    device_bytes: int = 0
    picture: Picture | None = None
    update_solves: int = 0
    update_residual: float = 0.0


class LinearSystem(Protocol):
    """``A Theta A^T`` of one program, by whichever factor; used on the thread of the method, but for :meth:`close`."""

    def form(self) -> None:
        """Take the present theta of the shards."""

    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        """Factorise with a diagonal larger by a part, and by an amount, (1,) each; not 0 if it fails."""

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor for a right-hand side (1, m)."""

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

    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
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
        """``A Theta A^T p`` (1, m)."""
