"""Where X has more columns than rows: matrices of N x N instead of p x p.

:class:`WideMoves` are the kernels ``gibbs`` and ``px``, :class:`LatentTrajectory` a part of the kernel ``hmc``.

A. Bhattacharya, A. Chakraborty, B. K. Mallick, "Fast sampling with Gaussian scale mixture priors in high-dimensional
regression", Biometrika 103 (2016): exact; see ``kernels/gibbs/wide.mako``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer
from engine.devices.recording import Recordings
from engine.numerics.linear_algebra import linear_algebra
from engine.numerics.memory import Memory
from engine.solvers.gibbs.design.layout import SHARDS
from engine.solvers.gibbs.device.chains import Chains, Settings
from engine.solvers.gibbs.device.matrices import PriorBuffers, shared_arguments
from engine.solvers.gibbs.device.programs import Launcher
from engine.solvers.gibbs.device.rows import Rows
from engine.solvers.gibbs.moves.latent import STREAM_LATENT, STREAM_NOISE, STREAM_SCALES

__all__ = ["DiagonalMatrices", "LatentTrajectory", "WideMoves"]

STREAM_VELOCITY, STREAM_VELOCITY_NOISE = 10, 11
"""Streams of random numbers, which the kernel ``hmc`` needs for nothing else where it moves latent normals."""


class DiagonalMatrices:
    """What stands for :class:`engine.solvers.gibbs.device.matrices.Matrices`: the diagonal of X'X alone.

    Parameters
    ----------
    memory : Memory
    rows : Rows
    settings : Settings

    Attributes
    ----------
    scale, prior : Buffer, shape (chains, q)
        Square roots of the prior variances, and their inverses squared.
    diagonal : Buffer
        Zeros, so that ``scale`` is of the prior alone.
    slab : Buffer, shape (q,)
    failed : Buffer of int32
    """

    divided = concurrent = False

    def __init__(self, memory: Memory, rows: Rows, settings: Settings) -> None:
        q, chains = rows.layout.columns, settings.chains
        self._rows = rows
        self.scale, self.prior = memory.empty((chains, q)), memory.empty((chains, q))
        self.diagonal = memory.zeros(q)
        self.slab = memory.put(np.append(np.zeros(rows.design.first), rows.design.slab))
        self.failed = memory.zeros(1, np.int32)
        self._curvature = np.full(q, float(rows.layout.rows))  # columns have mean square 1, or nearly
        self._precision = np.ones(q)

    def close(self) -> None:
        """Nothing to give back."""

    def make_gram(self, weight: Buffer | None) -> NDArray[np.float64]:
        """None: there is no X'X."""
        return np.zeros((0, 0, 0))

    def gram_diagonal(self) -> NDArray[np.float64]:
        """About the diagonal of X'X; shape (q,)."""
        return self._curvature

    def factorise_fixed(self, prior: NDArray[np.float64]) -> None:
        """Take the prior precisions of :meth:`solve_fixed`."""
        self._precision = self._curvature + prior

    def solve_fixed(self, vector: NDArray[np.float64], transposed: bool) -> NDArray[np.float64]:
        """Divide v by the square root of the diagonal of X'X + diag(prior); see :meth:`Matrices.solve_fixed`."""
        return np.asarray(vector / np.sqrt(self._precision))


class WideMoves:
    """Iterations of the kernels ``gibbs`` and ``px``; M = X D X' + I of every chain is made and factorised in each.

    Parameters
    ----------
    memory : Memory
    rows : Rows
        On one device, and not streamed.
    chains : Chains
    matrices : DiagonalMatrices or Matrices
    settings : Settings
    """

    def __init__(self, memory: Memory, rows: Rows, chains: Chains, matrices: PriorBuffers, settings: Settings) -> None:
        self._rows, self._chains, self._settings = rows, chains, settings
        self._device, layout, count = memory.device, rows.layout, settings.chains
        q, n, width = layout.columns, layout.rows, layout.width
        self._pitch = layout.strips * layout.strip_rows
        self._algebra = linear_algebra(memory.device, settings.provider)  # type: ignore[arg-type]
        self.partial = rows.partial_sums(memory, count)
        self._shards = memory.empty((SHARDS, count * width))
        self._margins = memory.zeros(count * self._pitch, np.float32)
        self._latent, self._solution = memory.empty((count, n)), memory.empty((count, n))
        self._matrix, self._status = memory.empty((count, n, n)), memory.empty(count, np.int32)
        self._variance = memory.empty((count, layout.stride))
        self._one_matrix, self._one_variance = memory.empty((n, n)), memory.empty(layout.stride)
        self._prior_narrow = memory.empty((count, layout.stride), np.float32)
        self._recordings = Recordings(memory.device)
        self._launch = Launcher(
            **{
                **shared_arguments(rows, chains, matrices, settings),
                "margins": self._margins,
                "weights": self._margins,
                "latent": self._latent,
                "solution": self._solution,
                "matrix": self._matrix,
                "status": self._status,
                "variance": self._variance,
                "prior_draw": memory.empty((count, q)),
                "prior_narrow": self._prior_narrow,
                "shards": self._shards,
                "shard_count": SHARDS,
                "expanded": int(settings.kernel == "px"),
                "failed": matrices.failed,
                "count": count,
            }
        )

    def close(self) -> None:
        """Give scratch memory of the linear algebra back."""
        self._algebra.close()

    @property
    def recordable(self) -> bool:
        """Whether iterations can be recorded: libraries cannot."""
        return self._algebra.provider == "kernels"

    def prime(self) -> None:
        """Nothing of an iteration depends on the one before but the chains' state."""

    def iterate(self, step: int) -> None:
        """One iteration of every chain; from the second on it is played from a recording."""
        self._chains.set_iteration(step)
        if self.recordable:
            self._recordings.run("iteration", self._iterate)
        else:
            self._iterate()

    def _iterate(self) -> None:
        """Draw lambda and tau, then z, then beta by the factor of M."""
        programs, chains = self._rows.programs, self._chains
        one, launch, stream = (chains.count, programs.block), self._launch, self._settings.stream
        every = programs.spread(self._pitch * chains.count), programs.block
        launch(programs.conditionals.update_scales, *one, stream=stream(STREAM_SCALES))
        self._sweep("margins", chains.narrow)
        launch(programs.wide.spread_latent, *every, stream=stream(STREAM_LATENT))
        launch(programs.wide.draw_prior, *one, stream=stream(STREAM_NOISE))
        self._make_matrices()
        launch(programs.wide.add_identity, *one)
        self._factorise()
        self._algebra.solve_lower(self._matrix, self._solution)
        self._draw_coefficients()

    def _draw_coefficients(self) -> None:
        """Beta given z, from the draw of the prior."""
        rows, programs, chains = self._rows, self._rows.programs, self._chains
        one, launch, stream = (chains.count, programs.block), self._launch, self._settings.stream
        every = programs.spread(self._pitch * chains.count), programs.block
        self._sweep("margins", self._prior_narrow)
        launch(programs.wide.prepare_wide, *one, stream=stream(STREAM_NOISE))
        self._algebra.solve_lower(self._matrix, self._solution)
        self._algebra.solve_lower_transposed(self._matrix, self._solution)
        launch(programs.wide.spread_weights, *every)
        self._sweep("combine", chains.narrow)
        rows.gather(self.partial, chains.count * rows.layout.width, self._shards)
        launch(programs.wide.finish_wide, *one)

    def _make_matrices(self) -> None:
        """X D X' of every chain."""
        layout, count = self._rows.layout, self._chains.count
        n, stride, device = layout.rows, layout.stride, self._device
        (block,) = self._rows.blocks
        assert block.buffer is not None
        design = Buffer(block.buffer.handle, block.buffer.argument, (n, stride), block.buffer.dtype)
        for chain in range(count):
            device.copy(self._one_variance, self._variance, 0, chain * stride, stride)
            self._algebra.gram(design, self._one_variance, self._one_matrix)
            device.copy(self._matrix, self._one_matrix, chain * n * n, 0, n * n)

    def _factorise(self) -> None:
        """The Cholesky factors of the chains' matrices."""
        self._algebra.cholesky(self._matrix, self._status)
        self._launch(self._rows.programs.precision.count_failures, 1, 1)

    def _sweep(self, mode: Any, beta: Buffer) -> None:
        count = self._chains.count
        self._rows.sweep(mode, beta, self.partial, count, margins=self._margins, pitch=self._pitch)


class LatentTrajectory(WideMoves):
    """A trajectory of the latent normals of a probit regression with beta integrated out, then beta given them.

    See ``kernels/gibbs/wide.mako``. Beta keeps its distribution given lambda and tau.

    Parameters
    ----------
    memory : Memory
    rows : Rows
        On one device, and not streamed.
    chains : Chains
    matrices : Matrices
    settings : Settings
    """

    def __init__(self, memory: Memory, rows: Rows, chains: Chains, matrices: PriorBuffers, settings: Settings) -> None:
        super().__init__(memory, rows, chains, matrices, settings)
        n = rows.layout.rows
        self._launch.share(velocity=memory.empty((chains.count, n)), covariance=memory.empty((chains.count, n, n)))

    def move(self, margins: Buffer) -> None:
        """Draw z and beta.

        Parameters
        ----------
        margins : Buffer of float32
            X beta of every chain.
        """
        wide, chains, spread = self._rows.programs.wide, self._chains, self._rows.programs.spread
        one, launch, stream = (chains.count, self._rows.programs.block), self._launch, self._settings.stream
        n, block = self._rows.layout.rows, self._rows.programs.block
        every = spread(self._pitch * chains.count), block
        launch(wide.spread_latent, *every, margins=margins, stream=stream(STREAM_LATENT))
        launch(wide.draw_prior, *one, stream=stream(STREAM_VELOCITY))
        self._sweep("margins", self._prior_narrow)
        self._make_matrices()
        launch(wide.spread_covariance, spread(n * n * chains.count), block)
        self._factorise()
        launch(wide.reflect_latent, *one, stream=stream(STREAM_VELOCITY_NOISE))
        launch(wide.draw_prior, *one, stream=stream(STREAM_NOISE))
        self._draw_coefficients()

    def report(self, shards: Buffer) -> None:
        """Let the chains' numbers have the log-likelihood of a pass, whose sums are in ``shards``."""
        self._launch(self._rows.programs.wide.report_wide, self._chains.count, self._rows.programs.block, shards=shards)
