"""One device's rows of a dense design for the kernel ``cg``: passes with vectors of float64."""

from typing import Any

import numpy as np
from typing_extensions import override

from ....devices import Buffer, Launcher
from ....devices.kernels.program import Program
from ..design.layout import chain_groups
from ..options import Settings
from .programs import CONJUGATE_BLOCK, conjugate_constants
from .rows import Rows
from .sparse_programs import column_tiles
from .sparse_rows import Vectors


class ConjugateRows(Rows):
    """Dense rows with the passes of the kernel ``cg``, as :class:`SparseRows` has them.

    The rows are multiplied by their y = +-1 and lie in the units of the design: ``factor`` is 1 and ``centre`` 0.
    """

    @override
    def _extend(self, settings: Settings) -> None:
        super()._extend(settings)
        self.programs.begin_gather("f64")
        layout, memory = self.layout, self._memory
        capabilities = self.device.capabilities
        self._block = CONJUGATE_BLOCK if capabilities.simt else 1
        self._most_groups = 16 * capabilities.compute_units
        self.tiles, self.tile = column_tiles(layout.columns)
        self.factor, self.centre = memory.put(np.ones(layout.columns)), memory.zeros(layout.columns)
        self.signs = memory.put(self.design.of_rows(self.design.signs(0, layout.rows)))
        self._launch = Launcher(
            signs=self.signs,
            first_row=self.first_row,
            row_count=layout.rows,
            rows=self.count,
            strip_rows=layout.strip_rows,
            stride=layout.stride,
            q=layout.columns,
            width=layout.width,
        )

    @staticmethod
    def places(chains: int) -> list[tuple[int, int]]:
        """The first, and the number, of the chains whose coefficients lie side by side, for each chain."""
        return [(chain, 1) for chain in range(chains)]

    def vectors(self, vector: str, betas: int) -> Vectors:
        """The buffers of passes for so many vectors of float64."""
        memory, layout = self._memory, self.layout
        sums = max(1, self.strips) * betas * layout.width
        return Vectors(
            betas,
            memory.zeros(betas * layout.columns),
            memory.zeros(max(1, self.count) * betas),
            memory.zeros(self.tiles * betas),
            memory.empty(1),
            memory.zeros(sums),
        )

    @override
    def sweep(self, mode: Any, beta: Buffer, out: Buffer, betas: int, **arguments: Any) -> None:
        """Its sums may be left in a buffer of float64, as so many numbers of float32."""
        if out.dtype == np.float64:
            out = Buffer(out.handle, out.argument, out.shape, np.dtype(np.float32))
        super().sweep(mode, beta, out, betas, **arguments)

    def spread(self, vectors: Vectors, vector: str, beta: Buffer, stride: int) -> None:
        """Let these be the coefficients."""
        self.device.copy(vectors.coefficients, beta)

    def pass_rows(self, mode: str, vectors: Vectors, vector: str, **arguments: Any) -> None:
        """Margins and weights of the rows, and the strips' sums of the rows times their weights."""
        self._mode = mode
        for block, design in self._each_block():
            groups = min(block.strips * self.layout.strip_rows // 8, self._most_groups)
            for first, count in chain_groups(vectors.betas):
                self._launch(
                    self._program(mode, count).weigh_rows,
                    groups,
                    self._block,
                    design=design,
                    coefficients=vectors.coefficients,
                    weighted=vectors.weighted,
                    strips=block.strips,
                    strip_first=block.first_strip,
                    beta_first=first,
                    **arguments,
                )
                self._add_up("add_rows", first, count, block, design, vectors, vectors.weighted)

    def add_squares(self, vectors: Vectors, weights: Buffer, shards: Buffer) -> None:
        """sum_i w_i x_ij^2 of every column, as SHARDS rows, of float64 weights."""
        for block, design in self._each_block():
            for first, count in chain_groups(vectors.betas):
                self._add_up("add_squares", first, count, block, design, vectors, weights)
        self.gather(vectors.partial, vectors.betas * self.layout.width, shards)

    def _add_up(
        self, name: str, first: int, count: int, block: Any, design: Buffer, vectors: Vectors, summed: Buffer
    ) -> None:
        tiles = 1 if self._block == 1 else -(-self.layout.stride // self._block)
        self._launch(
            getattr(self._program("augment" if name == "add_squares" else self._mode, count), name),
            block.strips * tiles,
            self._block,
            design=design,
            summed=summed,
            partial=vectors.partial,
            strip_first=block.first_strip,
            beta_first=first,
            betas=vectors.betas,
        )

    def _program(self, mode: str, chains: int) -> Program:
        constants = conjugate_constants(self._block, chains, mode, self.design.storage, self.design.problem.family)
        return self.device.program("gibbs/dense_conjugate", **constants)
