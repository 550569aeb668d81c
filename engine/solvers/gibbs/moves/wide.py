"""Where X has more columns than rows: matrices of N x N instead of p x p.

:class:`WideMoves` are the kernels ``gibbs`` and ``px``, and a part of the kernel ``hmc`` (:meth:`WideMoves.move`).

A. Bhattacharya, A. Chakraborty, B. K. Mallick, "Fast sampling with Gaussian scale mixture priors in high-dimensional
regression", Biometrika 103 (2016): exact; see ``kernels/gibbs/wide.mako``. Of a linear regression sigma and tau are
moved with beta integrated out. So are z and tau of a probit regression by ``hmc``, and by the others with very many
columns.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Launcher
from ....devices.graph import Recordings
from ....numerics.linear_algebra import linear_algebra
from ....numerics.memory import Memory
from ..design.layout import SHARDS
from ..device.chains import Chains
from ..device.matrices import PriorBuffers, shared_arguments
from ..device.records import TRIAL
from ..device.rows import Rows
from ..options import Settings
from .auxiliary import STREAM_AUXILIARY, AuxiliaryMoves
from .latent import STREAM_LATENT, STREAM_NOISE, STREAM_SCALES
from .local import LocalMoves

STREAM_VELOCITY, STREAM_VELOCITY_NOISE = 10, 11
"""Streams of random numbers, which the kernel ``hmc`` needs for nothing else where it moves latent normals."""

_SIGMA, _TAU, _LENGTH = 0, 1, 2  # what a Metropolis step moves: the last is tau and latent normals together
_MOVES = ((_SIGMA, 1.0), (_TAU, 0.15), (_TAU, 0.5), (_SIGMA, 3.0), (_TAU, 0.3), (_TAU, 1.0))
"""The steps of an iteration: of log sigma in 1.7 / sqrt(n), which suits n rows that the columns hardly fit; of log tau.

Each takes a Cholesky factor, which is little beside X D X'; two steps instead of six leave a third of the effective
draws of tau and sigma.
"""
_PROBIT_MOVES = ((_LENGTH, 1.0), (_TAU, 0.15), (_TAU, 0.5), (_LENGTH, 0.3), (_TAU, 0.3), (_TAU, 1.0))


class DiagonalMatrices:
    """What stands for ``Matrices``: the diagonal of X'X alone; ``scale`` is of the prior alone."""

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
    """Iterations of gibbs and px on one device: M = X D X' + V of every chain is made and factorised in each."""

    def __init__(self, memory: Memory, rows: Rows, chains: Chains, matrices: PriorBuffers, settings: Settings) -> None:
        self._rows, self._chains, self._settings = rows, chains, settings
        self._device, layout, count = memory.device, rows.layout, settings.chains
        q, n, stride = layout.columns, layout.rows, layout.stride
        self._linear = rows.design.family.targeted
        self.local = LocalMoves(memory, rows, chains, settings) if settings.local else None
        self._collapsed = self._linear or settings.local or settings.latent
        self._algebra = linear_algebra(memory.device, settings.provider)
        self._algebra.between = rows.between
        self._margins, self._prior_draw = memory.zeros((count, n)), memory.empty((count, q))
        self._latent, self._solution = memory.empty((count, n)), memory.empty((count, n))
        self._matrix, self._status = memory.empty((count, n, n)), memory.empty(count, np.int32)
        self._recordings = Recordings(memory.device)
        self._variance = memory.empty((count, stride))
        self._one_matrix, self._one_variance = memory.empty((n, n)), memory.empty(stride)
        self.auxiliary = AuxiliaryMoves(memory, rows, chains, settings, None)
        programs = rows.programs
        self._wide = programs.variant("wide", linear=self._collapsed)
        if self._collapsed:
            self._draw_scales = programs.with_long_block("scales").draw_scales  # tau with lambda integrated out
        else:
            self._draw_scales = programs.with_long_block("conditionals").update_scales
        self._launch = Launcher(
            **{
                **shared_arguments(rows, chains, matrices, settings),
                "margins": self._margins,
                "latent": self._latent,
                "solution": self._solution,
                "matrix": self._matrix,
                "status": self._status,
                "variance": self._variance,
                "prior_draw": self._prior_draw,
                "shards": memory.empty((SHARDS, count * stride)),
                "shard_count": SHARDS,
                "width": stride,
                "expanded": int(settings.options.kernel == "px"),
                "failed": matrices.failed,
                "count": count,
            }
        )
        if self._collapsed:
            self._product, self._trial = memory.empty((count, n, n)), memory.empty((count, n, n))
            self._trial_status = memory.empty(count, np.int32)
            moves_tau = not rows.design.slab.any() and not rows.design.unpenalized
            self._scale_moves = [
                (which, min(1.0, size * 1.7 * n**-0.5) if which == _SIGMA else size)
                for which, size in (_MOVES if self._linear else _PROBIT_MOVES)
                if which == _SIGMA or moves_tau
            ]
            self._launch.share(
                target=rows.target if self._linear else None,
                spread=memory.put(np.ones((count, n))),
                velocity=None if self._linear else memory.empty((count, n)),
                trial=memory.zeros(count, TRIAL.dtype),
                product=self._product,
                trial_matrix=self._trial,
                auxiliary=chains.auxiliary,
                degrees=settings.options.degrees,
                least=rows.design.least_log_sigma,
                intercept_variance=rows.design.intercept / settings.options.intercept_scale**-2,
            )

    def close(self) -> None:
        """Give scratch memory of the linear algebra back."""
        self._algebra.close()

    @property
    def recordable(self) -> bool:
        """Whether iterations can be recorded: libraries cannot."""
        return self._algebra.provider == "kernels"

    def iterate(self, step: int) -> None:
        """One iteration of every chain; from the second on it is played from a recording."""
        self._chains.set_iteration(step)
        if self.recordable:
            self._recordings.run("iteration", self._iterate)
        else:
            self._iterate()

    def _iterate(self) -> None:
        programs, stream = self._rows.programs, self._settings.stream(STREAM_SCALES)
        self._launch(self._draw_scales, self._chains.count, programs.long_block, stream=stream)
        self.move()

    def move(self) -> None:
        """Draw z, or sigma and tau once more, given lambda and tau, then beta by the factor of M."""
        self._each(self._wide.spread_variance, self._variance.size)
        if self._collapsed:
            self._move_collapsed()
        else:
            self._draw_latent()
            self._make_products(self._matrix)
            kernel = self._rows.programs.wide_latent.add_identity
            self._launch(kernel, self._chains.count, self._rows.programs.block)
            self._factorise(self._matrix, self._status)
            self._algebra.solve_lower(self._matrix, self._solution)
        self._draw_coefficients()

    def report(self, shards: Buffer) -> None:
        """Let the chains' numbers have the log-likelihood of a pass of ``hmc``, whose sums are in ``shards``."""
        block, width = self._rows.programs.block, self._rows.layout.width
        self._launch(self._wide.report_wide, self._chains.count, block, shards=shards, width=width)

    def _move_collapsed(self) -> None:
        """Z or the variances of errors, then what moves with beta integrated out; leaves the factor of M."""
        self._draw_errors()
        self._make_products(self._product)
        self._launch(self._rows.programs.wide_scales.begin_trial, self._chains.count, 1)
        if not self._linear:
            self._move_latent()
        if self.local is not None:
            self._factorise_present()
            own = self._latent, self._product, self._one_matrix
            self.local.move(self._launch, self._algebra, self._matrix, *own)
        self._move_scales()

    def _move_latent(self) -> None:
        """The trajectory of the latent normals."""
        programs, stream, n = self._rows.programs, self._settings.stream, self._rows.layout.rows
        self._each(self._wide.draw_prior, self._prior_draw.size, stream=stream(STREAM_VELOCITY))
        self._multiply(self._prior_draw)
        latent, size, block = programs.wide_latent, n * n * self._chains.count, programs.block
        self._launch(latent.spread_covariance, programs.spread(size), block, covariance=self._trial)
        own = {"covariance": self._trial, "stream": stream(STREAM_VELOCITY_NOISE)}
        self._launch(latent.reflect_latent, self._chains.count, block, **own)
        self._restart_solution()

    def _draw_coefficients(self) -> None:
        wide, stream = self._wide, self._settings.stream(STREAM_NOISE)
        self._each(wide.draw_prior, self._prior_draw.size, stream=stream)
        self._multiply(self._prior_draw)
        self._launch(wide.prepare_wide, self._chains.count, self._rows.programs.block, stream=stream)
        self._algebra.solve(self._matrix, self._solution)
        self._multiply_columns()
        self._each(wide.finish_wide, self._prior_draw.size)

    def _each(self, kernel: Any, items: int, **own: Any) -> None:
        programs = self._rows.programs
        self._launch(kernel, programs.spread(items), programs.block, **own)

    @property
    def _design(self) -> Buffer:
        """X as it is stored, all rows of it, padding left out."""
        (block,) = self._rows.blocks
        assert block.buffer is not None
        shape = self._rows.layout.rows, self._rows.layout.stride
        return Buffer(block.buffer.handle, block.buffer.argument, shape, block.buffer.dtype)

    def _multiply(self, vector: Buffer) -> None:
        """The margins of a vector of every chain, shape (chains, q)."""
        programs, groups = self._rows.programs, self._rows.layout.rows * self._chains.count
        self._launch(self._wide.multiply_rows, groups, programs.block, design=self._design, vector=vector)

    def _multiply_columns(self) -> None:
        """X'w of every chain, part by part of the rows."""
        programs, stride = self._rows.programs, self._rows.layout.stride
        groups = -(-stride // programs.wide_columns) * SHARDS * self._chains.count
        self._launch(self._wide.multiply_columns, groups, programs.block, design=self._design)

    def _make_products(self, out: Buffer) -> None:
        layout, device, design = self._rows.layout, self._device, self._design
        n, stride = layout.rows, layout.stride
        for chain in range(self._chains.count):
            device.copy(self._one_variance, self._variance, 0, chain * stride, stride)
            self._algebra.gram(design, self._one_variance, self._one_matrix)
            device.copy(out, self._one_matrix, chain * n * n, 0, n * n)

    def _factorise(self, matrix: Buffer, status: Buffer) -> None:
        self._algebra.cholesky(matrix, status)
        if status is self._status:
            self._launch(self._rows.programs.precision.count_failures, 1, 1)

    # --- z, and what moves with beta integrated out ---------------------------------------------------------------

    def _draw_latent(self) -> None:
        """The latent normals given beta."""
        self._multiply(self._chains.beta)
        kernel, stream = self._rows.programs.wide_latent.spread_latent, self._settings.stream(STREAM_LATENT)
        self._each(kernel, self._latent.size, stream=stream)

    def _draw_errors(self) -> None:
        """The targets, or latent normals, and how much larger the variance of each row's error is than sigma^2."""
        if not self._linear:
            self._draw_latent()
            return
        if self._rows.design.problem.family == "student":
            self._multiply(self._chains.beta)
        stream = self._settings.stream(STREAM_LATENT)
        self._each(self._rows.programs.wide_scales.spread_target, self._latent.size, stream=stream)

    def _build(self, matrix: Buffer) -> None:
        """M of the proposed points."""
        programs, groups = self._rows.programs, self._rows.layout.rows * self._chains.count
        self._launch(programs.wide_scales.build_matrix, groups, programs.block, design=self._design, matrix=matrix)

    def _factorise_present(self) -> None:
        """M and its factor where the chains are."""
        self._build(self._matrix)
        self._factorise(self._matrix, self._status)

    def _move_scales(self) -> None:
        """Sigma and tau with beta integrated out, and the factor of M where the chains are then."""
        scales, launch, count = self._rows.programs.wide_scales, self._launch, self._chains.count
        block = self._rows.programs.block
        numbers = {"stream": self._settings.stream(STREAM_AUXILIARY)}
        self._factorise_present()
        self._algebra.solve_lower(self._matrix, self._solution)
        first = {"which": -1, "number": 0, **numbers}
        launch(scales.weigh_scale, count, block, matrix=self._matrix, status=self._status, **first)
        for number, (which, size) in enumerate(self._scale_moves):
            own = {"which": which, "number": number, **numbers}
            launch(scales.propose_scale, count, 1, size=size, **own)
            self._build(self._trial)
            self._restart_solution()
            self._factorise(self._trial, self._trial_status)
            self._algebra.solve_lower(self._trial, self._solution)
            launch(scales.weigh_scale, count, block, matrix=self._trial, status=self._trial_status, **own)
            launch(scales.take_trial, self._rows.layout.rows * count, block)
        if self._settings.options.kernel == "px":  # the expansion takes that of the point that was taken
            self._restart_solution()
            self._algebra.solve_lower(self._matrix, self._solution)

    def _restart_solution(self) -> None:
        self._device.copy(self._solution, self._latent, 0, 0, self._latent.size)

    # --- the start ------------------------------------------------------------------------------------------------

    def set_promising(self, columns: NDArray[np.int64]) -> None:
        """The columns in the order in which their lambda deserves moves of its own."""
        if self.local is not None:
            self.local.set_columns(columns, self._design, self._launch)

    def margins_at(self, beta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The margins of all rows at one beta; shape (rows,)."""
        vector = self._device.put(np.tile(beta, (self._chains.count, 1)))
        self._multiply(vector)
        self._device.release(vector)
        values: NDArray[np.float64] = self._device.get(self._margins)[0]
        return values
