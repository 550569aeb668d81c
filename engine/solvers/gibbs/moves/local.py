"""lambda of the most promising columns, with beta integrated out, beside wide X: ``kernels/gibbs/wide_local.mako``."""

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Launcher
from ....numerics.linear_algebra import LinearAlgebra
from ....numerics.memory import Memory
from ..device.chains import Chains
from ..device.programs import CHANGES, MOST_LOCAL
from ..device.rows import Rows
from ..options import Settings

STREAM_LOCAL = 18
_PARTNERS = 16
"""Columns, the most correlated with each, that exchange their lambda with it."""


class LocalMoves:
    """Moves of all chains, from the factors of their M and what there is to solve for, z."""

    def __init__(self, memory: Memory, rows: Rows, chains: Chains, settings: Settings) -> None:
        n, inside = rows.layout.rows, rows.layout.columns - rows.design.first
        self.count = count = min(MOST_LOCAL, inside, 2 * n)  # their products take count^3 operations
        self._device, self._programs, self._chains = memory.device, rows.programs, chains.count
        self._program, self._stream = rows.programs.with_long_block("wide_local"), settings.stream(STREAM_LOCAL)
        self._columns = memory.put(rows.design.first + np.arange(count, dtype=np.int32))
        self._gathered, self._sides = memory.empty((count, n)), memory.empty((count + 1, n))
        self._product = memory.empty((count + 1, count + 1))
        self._products = memory.empty((chains.count, count + 1, count + 1))
        self._change = memory.empty((chains.count, count))
        self._past = memory.empty((chains.count, CHANGES, count + 1))
        self._pairs = [memory.empty(_PARTNERS * count, np.int32) for _ in range(2)]
        self._pair_count = 0

    def set_columns(self, columns: NDArray[np.int64], design: Buffer, launch: Launcher) -> None:
        """The columns whose lambda is moved: the first :attr:`count` of these."""
        self._device.put(columns[: self.count].astype(np.int32), self._columns)
        own = {"design": design, "columns": self._columns, "sides": self._gathered, "count": self.count}
        launch(self._program.gather_columns, *self._spread(), **own)
        sides = self._device.get(self._gathered)
        sides /= np.maximum(np.linalg.norm(sides, axis=1, keepdims=True), 1e-300)
        alike = np.abs(sides @ sides.T).round(9)
        np.fill_diagonal(alike, -1.0)
        partners = np.argsort(-alike, axis=1, kind="stable")[:, : min(_PARTNERS, self.count - 1)]
        column_of = np.repeat(np.arange(self.count), partners.shape[1])
        pairs = np.unique(np.sort(np.column_stack([column_of, partners.ravel()]), axis=1), axis=0).astype(np.int32)
        self._pair_count = len(pairs)
        for buffer, column in zip(self._pairs, pairs.T, strict=True):
            self._device.put(np.resize(column, _PARTNERS * self.count), buffer)

    def move(
        self, launch: Launcher, algebra: LinearAlgebra, factors: Buffer, latent: Buffer, products: Buffer, one: Buffer
    ) -> None:
        """Move lambda, and add what comes of it to the ``products`` X D X'; ``one`` is scratch for a chain's."""
        n, count, device = self._gathered.shape[1], self.count, self._device
        size = (count + 1) ** 2
        for chain in range(self._chains):
            device.copy(one, factors, 0, chain * n * n, n * n)
            device.copy(self._sides, self._gathered, 0, 0, count * n)
            device.copy(self._sides, latent, count * n, chain * n, n)
            algebra.solve_lower(one, self._sides)
            algebra.gram(self._sides, None, self._product)
            device.copy(self._products, self._product, chain * size, 0, size)
        own = {"products": self._products, "columns": self._columns, "change": self._change, "count": count}
        own |= {"pair_first": self._pairs[0], "pair_second": self._pairs[1], "pair_count": self._pair_count}
        own["past_changes"] = self._past
        launch(self._program.move_scales, self._chains, self._programs.long_block, stream=self._stream, **own)
        own = {"gathered": self._gathered, "change": self._change, "sides": self._sides, "count": count}
        for chain in range(self._chains):
            launch(self._program.scale_columns, *self._spread(), own_chain=chain, **own)
            device.copy(one, products, 0, chain * n * n, n * n)
            scaled = Buffer(self._sides.handle, self._sides.argument, (count, n), self._sides.dtype)
            algebra.matmul(scaled, self._gathered, one, transpose_a=True, beta=1.0)
            device.copy(products, one, chain * n * n, 0, n * n)

    def _spread(self) -> tuple[int, int]:
        block = self._programs.long_block
        return self._programs.spread(self._gathered.size), block
