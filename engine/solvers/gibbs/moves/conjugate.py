"""The kernel ``cg``: latent variables and beta given each other, beta by preconditioned conjugate gradients.

No matrix of the size of X'X is made, so p may be large. The latent variables are those of Polson, Scott and Windle
(2013) for logit, and of Albert and Chib (1993) for probit; see ``kernels/gibbs/conjugate.mako``.
"""

from typing import Any

import numpy as np

from ....devices import Buffer, Launcher
from ....numerics.exchange import Part
from ....numerics.memory import Memory
from ..design.layout import SHARDS
from ..device.chains import Chains
from ..device.conjugate_rows import ConjugateRows
from ..device.matrices import shared_arguments
from ..device.sparse_rows import SparseRows
from ..options import Settings
from .latent import STREAM_LATENT, STREAM_NOISE, STREAM_SCALES
from .rescale import RescaleMoves, rescale_interval
from .wide import DiagonalMatrices

STREAM_ROWS = 7
"""The stream of the rows' noise; those of :mod:`engine.solvers.gibbs.moves.latent` are below."""

MOST_STEPS = 2000
"""Steps of the conjugate gradients after which a chain keeps its coefficients."""

_AT_LEAST, _MORE = 6, 3  # steps before the first look at the errors, and between two looks


class ConjugateMoves:
    """Iterations of the kernel ``cg``."""

    def __init__(
        self,
        memory: Memory,
        rows: SparseRows | ConjugateRows,
        chains: Chains,
        matrices: DiagonalMatrices,
        settings: Settings,
    ) -> None:
        self._memory, self._rows, self._chains, self._settings = memory, rows, chains, settings
        self._device, self._matrices = memory.device, matrices
        count, q = settings.chains, rows.layout.columns
        self.passes = self.steps = 0
        self._shards, self._diagonals = (memory.empty((SHARDS, count * rows.layout.width)) for _ in range(2))
        self._vectors = {name: memory.empty((count, q)) for name in ("residual", "direction", "product", "solution")}
        self._program = memory.device.program("gibbs/conjugate", block=rows.programs.block)
        self._scales = rows.programs.with_long_block("scales")
        self._pitch = rows.layout.pitch
        self._margins, self._part_margins = (memory.zeros(count * self._pitch, np.float32) for _ in range(2))
        program, block = rows.programs.with_long_block("rescale"), rows.programs.long_block
        self.rescale = RescaleMoves(memory, rows, chains, settings, program, block, self._part_margins, self._sweep)
        self._rescale_every = rescale_interval(rows.layout.rows, rows.layout.columns)

    def load(self) -> None:
        """Take what depends on the rows, once these are there."""
        memory, rows, count = self._memory, self._rows, self._settings.chains
        tiles = rows.tiles
        self.omega = memory.zeros(max(1, rows.count) * count)
        self._passed = rows.vectors("f64", count)
        groups = rows.places(count)
        self._errors = memory.empty((2, count, tiles))
        self._launch = Launcher(
            **shared_arguments(rows, self._chains, self._matrices, self._settings),
            **self._vectors,
            shards=self._shards,
            shard_count=SHARDS,
            factor=rows.factor,
            centre=rows.centre,
            diagonals=self._diagonals,
            residual_squares=memory.empty((2, count, tiles)),
            errors=self._errors,
            curvature=memory.empty((count, tiles)),
            group_first=memory.put(np.array([first for first, _ in groups], np.int32)),
            group_count=memory.put(np.array([number for _, number in groups], np.int32)),
            coefficients=self._passed.coefficients,
            offsets=self._passed.offsets,
            failed=self._matrices.failed,
            counts=int(rows.peer is None or rows.peer.number == 0),
            tile=rows.tile,
            tiles=tiles,
            tolerance=self._settings.options.tolerance,
            margins=self._margins,
            signs=rows.signs if rows.design.intercept else memory.zeros(self._pitch + 8, np.float32),
            **self.rescale.arguments(),
        )

    def iterate(self, step: int) -> None:
        """Draw tau and lambda given beta, the latent variables of the rows given beta, and beta given all of these."""
        settings = self._settings
        self._chains.set_iteration(step)
        if step % self._rescale_every == 0:
            self._sweep(self._chains.beta_f32, self._margins)
            self.rescale.move(self._launch)
        size, stream = (settings.chains, self._rows.programs.long_block), settings.stream(STREAM_SCALES)
        self._launch(self._scales.draw_scales, *size, stream=stream)
        self._draw_latent()
        self._each("begin_solution", stream=settings.stream(STREAM_NOISE), step=step)
        number, wanted = 0, max(_AT_LEAST, self.steps)
        while True:
            for _ in range(wanted):
                self._step(number)
                number += 1
            error = self._largest_error(number)
            if error <= settings.options.tolerance or number >= MOST_STEPS or not np.isfinite(error):
                break
            wanted = min(_MORE, MOST_STEPS - number)
        self.steps = max(_AT_LEAST, number - _MORE)
        self._each("finish_solution", number=number)
        self._agree()

    def _sweep(self, beta_f32: Buffer, margins: Buffer) -> None:
        rows, count = self._rows, self._chains.count
        rows.sweep("margins", beta_f32, self._passed.partial, count, margins=margins, pitch=self._pitch)
        rows.share_margins(margins, count)
        self.passes += 1

    def _draw_latent(self) -> None:
        """Omega, X'(u + Omega^1/2 d) in the shards, and the diagonal of X' Omega X."""
        rows, settings, chains = self._rows, self._settings, self._chains
        rows.spread(self._passed, "f64", chains.beta, rows.layout.columns)
        numbers = {"seed": settings.seed, "stream": settings.stream(STREAM_LATENT)}
        self._pass("augment", **numbers, iteration=chains.iteration, noise_stream=settings.stream(STREAM_ROWS))
        rows.add_squares(self._passed, self.omega, self._diagonals)
        self.passes += 1

    def _step(self, number: int) -> None:
        self._each("spread_direction", number=number)
        self._pass("product")
        self._each("apply_matrix")
        self._each("update_solution", number=number)

    def _pass(self, mode: Any, **numbers: Any) -> None:
        rows, chains = self._rows, self._chains.count
        rows.pass_rows(mode, self._passed, "f64", omega=self.omega, **numbers)
        rows.gather(self._passed.partial, chains * rows.layout.width, self._shards)
        self.passes += 1

    def _each(self, name: str, **own: Any) -> None:
        """A kernel of ``conjugate`` for every chain and tile of columns."""
        groups = self._chains.count * self._rows.tiles
        self._launch(getattr(self._program, name), groups, self._rows.programs.block, **own)

    def _largest_error(self, number: int) -> float:
        """The largest bound of a chain's distance from its draw; the same on all devices."""
        self._rows.between()
        squares = self._device.get(self._errors)[number % 2].sum(axis=1)
        largest = float(np.sqrt(squares.max()))
        return largest if self._rows.peer is None else self._rows.peer.largest(largest)

    def _agree(self) -> None:
        """Let every device have the first one's chains, so that differences of rounding do not add up."""
        peer, chains = self._rows.peer, self._chains
        if peer is None:
            return
        q = self._rows.layout.columns
        parts = [(chains.beta, q), (chains.local_precision, q), (chains.chain_state, 1)]
        peer.exchange(*(Part(buffer, 0, chains.count * width * (peer.number == 0)) for buffer, width in parts))
        chains.round_beta()
