"""A multifrontal factor on the first device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ..multifrontal.factor import Multifrontal, matrix_bytes
from ..multifrontal.plan import Plan
from ..multifrontal.symbolic import Fronts, picture_of_fronts
from ..sparse.products import DenseColumns
from .base import FactorStatistics, LinearSystem

if TYPE_CHECKING:
    from ..interior.system import System

Vector = NDArray[np.float64]


def fronts_bytes(dense: DenseColumns, plan: Plan) -> int:
    """Bytes that the factor takes on the device."""
    return plan.nbytes + matrix_bytes(dense.kept.nnz, *dense.kept.shape)


class FrontSystem(LinearSystem):
    """Fronts of the matrix without its dense columns; those by the Sherman-Morrison-Woodbury formula."""

    def __init__(self, shards: System, dense: DenseColumns, fronts: Fronts, plan: Plan) -> None:
        self._shards, self._dense, self._fronts = shards, dense, fronts
        self._bytes = fronts_bytes(dense, plan)

        def make(shard: Any) -> Multifrontal:
            factors = Multifrontal(shard.device, dense.kept, fronts, plan)
            shard.owned.append(factors)
            return factors

        self._factors: Multifrontal = shards.on_first(make)

    @override
    def form(self) -> None:
        factors = self._factors
        if self._shards.is_one:
            self._shards.on_first(lambda shard: factors.form(shard.theta))
        else:
            theta = self._shards.get_theta()
            self._shards.on_first(lambda _: factors.form(theta))

    @override
    def factor(self, relative: float, absolute: float) -> int:
        factors, amounts = self._factors, (relative, absolute)
        if not self._shards.on_first(lambda _: factors.factor(*amounts)):
            return 1
        if self._dense.count:
            self._dense.prepare(self._shards.on_first(lambda _: factors.theta), self._solved)
        return 0

    def _solved(self, rhs: Vector) -> Vector:
        factors = self._factors
        found: Vector = self._shards.on_first(lambda _: factors.solve(rhs))
        return found

    @override
    def solve(self, rhs: Vector) -> Vector:
        return self._dense.correct(self._solved(np.ascontiguousarray(rhs)))

    @override
    def statistics(self) -> FactorStatistics:
        fronts = self._fronts
        return FactorStatistics(fronts.nonzeros, fronts.count, self._bytes, picture_of_fronts(fronts))

    @override
    def close(self) -> None:
        self._factors.cancel()
