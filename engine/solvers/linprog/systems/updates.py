"""The paper's linear system: updates of ``(A A^T)^-1`` by one column after another, or in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from .base import FactorStatistics, LinearSystem, Shards
from .dense import DenseSystem
from .sherman_morrison import ShermanMorrison

__all__ = ["UpdateSystem"]

Vector = NDArray[np.float64]
_RESIDUAL = 1e-6  # largest relative residual of the updates at which a direction is used
_REFINEMENTS = 2  # of a solution by updates, before its residual is judged


class UpdateSystem(LinearSystem):
    """Sherman-Morrison updates while they are accurate, then Cholesky factors; theta = 1 needs no update.

    Parameters
    ----------
    shards : Shards
        One shard.
    block : int
        Columns of one update.
    warn : callable
        Called with a sentence when the updates are given up.
    """

    def __init__(self, shards: Shards, block: int, warn: Callable[[str], None]) -> None:
        self._shards, self._block, self._warn = shards, block, warn
        self._dense = DenseSystem(shards)
        self._updates: ShermanMorrison | None = None
        self._is_given_up = self._is_dense = False
        self._theta: Vector = np.zeros(0)
        self._regularisation: tuple[Vector, Vector] = np.zeros(1), np.zeros(1)
        self._solves, self._residual = 0, 0.0

    @override
    def form(self) -> None:
        self._theta = self._shards.get_theta()
        self._is_dense = self._is_given_up or bool((self._theta == 1.0).all())
        if self._is_dense:
            self._dense.form()

    @override
    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        self._regularisation = relative, absolute
        if self._is_dense:
            return self._dense.factor(relative, absolute)
        if self._updates is None:
            self._updates = self._shards.on_first(self._begin)
            if not self._updates.sound:
                return self._give_up("A A^T is not positive definite")
        updates = self._updates
        self._shards.on_first(lambda _: updates.update(self._theta))
        return np.zeros(1, np.int32)

    def _begin(self, shard: Any) -> ShermanMorrison:
        data = shard.data
        dense = np.asarray(data.A[0]) if isinstance(data.A, np.ndarray) else data.A.toarray()
        slacks = np.zeros((data.slack_rows.size, data.m))
        slacks[np.arange(data.slack_rows.size), data.slack_rows] = data.slack_signs
        updates = ShermanMorrison(shard.device, shard.algebra, np.concatenate([dense.T, slacks]), self._block)
        shard.owned.append(updates)
        return updates

    def _give_up(self, reason: str) -> NDArray[np.int32]:
        self._is_given_up = True
        self._warn(f"{reason}: Cholesky factors are used from here on")
        self.form()
        return self._dense.factor(*self._regularisation)

    @override
    def solve(self, rhs: Vector) -> Vector:
        if self._is_dense:
            return self._dense.solve(rhs)
        updates = self._updates
        assert updates is not None

        def by_updates(values: Vector) -> Vector:
            found: Vector = self._shards.on_first(lambda _: updates.solve(values[0])[None])
            return found

        size = max(float(np.abs(rhs).max(initial=0.0)), 1e-300)
        found = by_updates(rhs)
        best, least = found, np.inf
        for step in range(_REFINEMENTS + 1):
            residual = rhs - self._shards.normal(found)
            error = float(np.abs(residual).max(initial=0.0)) / size
            if not np.isfinite(error) or error >= least:
                break
            best, least = found, error
            if error < 1e-12 or step == _REFINEMENTS:
                break
            found = found + by_updates(residual)
        self._solves += 1
        if least <= _RESIDUAL:
            self._residual = max(self._residual, least)
            return best
        self._give_up(f"the updates left a relative residual of {least:.1e} after {_REFINEMENTS} refinements")
        return self._dense.solve(rhs)

    @override
    def statistics(self) -> FactorStatistics:
        return FactorStatistics(update_solves=self._solves, update_residual=self._residual)

    @override
    def close(self) -> None:
        """The shard owns everything."""
