"""The kernels ``gibbs`` and ``px``: latent normals and beta given each other, with or without parameter expansion.

Albert and Chib (1993); the expansion is that of Liu and Wu (1999) under the proper prior of beta.
"""

from __future__ import annotations

import numpy as np

from engine.numerics.memory import Memory
from engine.solvers.gibbs.design.layout import SHARDS
from engine.solvers.gibbs.device.chains import Chains, Settings
from engine.solvers.gibbs.device.matrices import Group, Matrices
from engine.solvers.gibbs.device.rows import Rows

__all__ = ["STREAM_LATENT", "STREAM_NOISE", "STREAM_SCALES", "LatentMoves"]

STREAM_LATENT, STREAM_SCALES, STREAM_NOISE = 0, 1, 4
"""Streams of random numbers; see ``kernels/common/philox.mako``. The scales take three, the noise two."""


class LatentMoves:
    """Iterations of the kernels ``gibbs`` and ``px``; G is X'X."""

    def __init__(self, memory: Memory, rows: Rows, chains: Chains, matrices: Matrices, settings: Settings) -> None:
        self._rows, self._chains, self._matrices, self._settings = rows, chains, matrices, settings
        width = settings.chains * rows.layout.width
        self.partial = memory.empty(max(1, rows.strips) * width, np.float32)
        self._shards = memory.empty((SHARDS, width))

    def prime(self) -> None:
        """Nothing of an iteration depends on the one before but the chains' state."""

    def iterate(self, step: int) -> None:
        """The pass over the rows, and beside it lambda, tau and the factorisations; then beta."""
        rows, layout, settings, matrices = self._rows, self._rows.layout, self._settings, self._matrices
        chains = self._chains
        built = matrices.build_beside(lambda: self._draw_scales(step))
        numbers = {"seed": settings.seed, "stream": STREAM_LATENT, "step": step}
        rows.sweep("draw", chains.narrow, self.partial, chains.count, **numbers)
        matrices.factorise(built)
        rows.gather(self.partial, chains.count * layout.width, self._shards)
        matrices.each_group(lambda group: self._draw_coefficients(group, step))
        if matrices.divided:
            matrices.share((chains.beta, layout.columns))
            chains.narrow_beta()

    def _draw_scales(self, step: int) -> None:
        programs, settings, chains = self._rows.programs, self._settings, self._chains
        programs.conditionals.update_scales(
            chains.count,
            programs.block,
            beta=chains.beta,
            local_precision=chains.local_precision,
            nu=chains.nu,
            whole=chains.whole,
            scale=self._matrices.scale,
            prior=self._matrices.prior,
            diagonal=self._matrices.diagonal,
            slab=self._matrices.slab,
            q=self._rows.layout.columns,
            first=self._rows.design.first,
            first_prior=settings.prior_precision,
            inverse_width=settings.tau_scale**-2,
            seed=settings.seed,
            stream=STREAM_SCALES,
            step=step,
        )

    def _draw_coefficients(self, group: Group, step: int) -> None:
        """beta of a group's chains given the latent normals."""
        layout, settings, chains = self._rows.layout, self._settings, self._chains
        conditionals, block = self._rows.programs.conditionals, self._rows.programs.block
        q, scale = layout.columns, self._matrices.scale
        sums = {
            "shards": self._shards,
            "shard_count": SHARDS,
            "chains": chains.count,
            "width": layout.width,
            "rhs": group.rhs,
            "q": q,
            "first_chain": group.first,
        }
        conditionals.prepare_solution(group.count, block, scale=scale, **sums)
        group.algebra.solve_lower(group.matrix, group.rhs)
        conditionals.add_noise(
            group.count,
            block,
            row_count=layout.rows,
            whole=chains.whole,
            expanded=int(settings.kernel == "px"),
            seed=settings.seed,
            stream=STREAM_NOISE,
            step=step,
            **sums,
        )
        group.algebra.solve_lower_transposed(group.matrix, group.rhs)
        conditionals.finish_coefficients(
            group.count,
            block,
            rhs=group.rhs,
            scale=scale,
            beta=chains.beta,
            status=group.status,
            narrow=chains.narrow,
            q=q,
            stride=layout.stride,
            first_chain=group.first,
        )
