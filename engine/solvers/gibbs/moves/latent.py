"""The kernels ``gibbs`` and ``px``: latent normals and beta given each other, with or without parameter expansion.

Albert and Chib (1993); the expansion is that of Liu and Wu (1999) under the proper prior of beta.
"""

from ....devices import Launcher
from ....devices.graph import Recordings
from ....numerics.memory import Memory
from ..design.layout import SHARDS
from ..device.chains import Chains
from ..device.matrices import Group, Matrices, shared_arguments
from ..device.rows import Rows
from ..options import Settings

STREAM_LATENT, STREAM_SCALES, STREAM_NOISE = 0, 1, 4
"""Streams of random numbers; see ``kernels/common/philox.mako``. The scales and the noise take three each."""


class LatentMoves:
    """Iterations of the kernels ``gibbs`` and ``px``; G is X'X."""

    def __init__(self, memory: Memory, rows: Rows, chains: Chains, matrices: Matrices, settings: Settings) -> None:
        self._rows, self._chains, self._matrices, self._settings = rows, chains, matrices, settings
        width = settings.chains * rows.layout.width
        self.partial = rows.partial_sums(memory, settings.chains)
        self._shards = memory.empty((SHARDS, width))
        self._recordings = Recordings(memory.device)
        self._launch = Launcher(
            **shared_arguments(rows, chains, matrices, settings),
            shards=self._shards,
            shard_count=SHARDS,
            expanded=int(settings.options.kernel == "px"),
        )

    def iterate(self, step: int) -> None:
        """One iteration of every chain; from the second on it is played from a recording."""
        self._chains.set_iteration(step)
        if self._matrices.recordable:
            self._recordings.run("iteration", self._iterate)
        else:
            self._iterate()

    def _iterate(self) -> None:
        """The pass over the rows, and beside it lambda, tau and the factorisations; then beta."""
        rows, layout, settings, matrices = self._rows, self._rows.layout, self._settings, self._matrices
        chains = self._chains
        built = matrices.build_beside(self._draw_scales)
        stream = settings.stream(STREAM_LATENT)
        numbers = {"seed": settings.seed, "stream": stream, "iteration": chains.iteration}
        rows.sweep("draw", chains.beta_f32, self.partial, chains.count, **numbers)
        matrices.factorise(built)
        rows.gather(self.partial, chains.count * layout.width, self._shards)
        matrices.each_group(self._draw_coefficients)
        if matrices.divided:
            matrices.share((chains.beta, layout.columns))
            chains.round_beta()

    def _draw_scales(self) -> None:
        programs = self._rows.programs
        kernel = programs.conditionals.update_scales
        self._launch(kernel, self._chains.count, programs.block, stream=self._settings.stream(STREAM_SCALES))

    def _draw_coefficients(self, group: Group) -> None:
        conditionals, launch = self._rows.programs.conditionals, self._launch
        size = group.count, self._rows.programs.block
        own = {"rhs": group.rhs, "first_chain": group.first}
        launch(conditionals.prepare_solution, *size, **own)
        group.algebra.solve_lower(group.matrix, group.rhs)
        launch(conditionals.add_noise, *size, stream=self._settings.stream(STREAM_NOISE), **own)
        group.algebra.solve_lower_transposed(group.matrix, group.rhs)
        launch(conditionals.finish_coefficients, *size, status=group.status, **own)
