"""A dense factor on the first device."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from .base import FactorStatistics, LinearSystem, Shards

__all__ = ["DenseSystem"]

Vector = NDArray[np.float64]


class DenseSystem(LinearSystem):
    """Cholesky factors of the dense matrix, by the device's linear algebra."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards

    @override
    def form(self) -> None:
        self._shards.form_normal()

    @override
    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        found: NDArray[np.int32] = self._shards.on_first(lambda shard: shard.factor(relative, absolute))
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
