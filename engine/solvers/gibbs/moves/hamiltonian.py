"""The kernel ``hmc``: Hamiltonian Monte Carlo for beta, tau with lambda integrated out, and moves along lines.

An iteration, for all chains at once:

0. with many columns, beta and tau drawn anew as if columns were orthogonal (:mod:`.independence`);
1. beta and tau times a common factor; the small coefficients alone and tau times one; and moves along lines
   (:mod:`engine.solvers.gibbs.design.lines`): all with lambda integrated out, and on the margins X beta;
2. tau given beta with lambda integrated out, then lambda given both;
3. a trajectory of beta given lambda and tau in the metric X'WX + D^-1, one pass over the rows a leapfrog step. W is
   the mean curvature of every row's likelihood over points that the chains of the warm-up have visited.

W, the length of the steps and their number are chosen during the warm-up and then kept. Where the settings say
``latent``, step 3 is a trajectory of the latent normals, or a move of sigma and tau, with beta integrated out, and
needs none of them: see :class:`engine.solvers.gibbs.moves.wide.WideMoves`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Launcher
from ....devices.graph import Recordings
from ....numerics.memory import Memory
from ..design.layout import SHARDS
from ..design.lines import Lines
from ..device.chains import Chains
from ..device.matrices import Group, Matrices, shared_arguments
from ..device.records import CONTROL
from ..device.rows import Rows, some
from ..options import Settings
from ..schema import MOST_STEPS, CheckpointState
from .auxiliary import AuxiliaryMoves
from .independence import IndependenceMoves, are_independent
from .rescale import RescaleMoves, rescale_interval
from .wide import WideMoves

STREAM_SCALES, STREAM_MOMENTUM, STREAM_TRAJECTORY, STREAM_LINES = 1, 10, 11, 12
"""Streams of random numbers; the scales and the lines take two each."""

_TARGET = 0.8
_FIRST_LENGTH = 0.5
_TRAJECTORY = 1.5  # the length of a trajectory; pi / 2 is a quarter of a period of a standard normal
_BESIDE_OTHERS, _MANY = 0.8, 0.5  # the same where such a share of the coefficients and more is drawn anew as well
_FEWEST_STEPS = 2
FIRST_STEPS = 3


class HamiltonianMoves:
    """Iterations of the kernel ``hmc``; G is X'WX."""

    def __init__(self, memory: Memory, rows: Rows, chains: Chains, matrices: Matrices, settings: Settings) -> None:
        self._memory, self._device = memory, memory.device
        self._rows, self._chains, self._matrices, self._settings = rows, chains, matrices, settings
        layout, count = rows.layout, settings.chains
        for name in ("precision", "trajectory", "conditionals", "scales", "lines"):
            getattr(rows.programs, name)  # compiled in the background where the device can
        q, least = layout.columns, max(1, rows.count)
        self._pitch = layout.pitch
        self.partial = rows.partial_sums(memory, count)
        self._shards = memory.empty((SHARDS, count * layout.width))
        self._score = memory.empty((count, layout.width))
        self._origin, self._momentum = memory.empty((count, q)), memory.empty((count, q))
        self._energy, self.control = memory.empty(count), memory.zeros(1, CONTROL.dtype)
        self._margins, self._ends = (memory.empty(count * self._pitch, np.float32) for _ in range(2))
        self.weight, self._curvature = memory.empty(least, np.float32), memory.zeros(least, np.float32)
        program, block = rows.programs.with_long_block("rescale"), rows.programs.long_block
        self.rescale = RescaleMoves(memory, rows, chains, settings, program, block, self._ends, self._sweep_all)
        self.adapting = self.averaging = False  # whether the length of steps is chosen, and curvatures added up
        self.averaged, self.steps = 0, FIRST_STEPS  # points whose curvature was added up; leapfrog steps
        self.latent = WideMoves(memory, rows, chains, matrices, settings) if settings.latent else None
        self.auxiliary = AuxiliaryMoves(memory, rows, chains, settings, self._margins)  # which the passes read
        renewed = not settings.latent and are_independent(q, settings.options)
        self.independence = IndependenceMoves(memory, rows, chains, settings) if renewed else None
        signs = np.zeros(self._pitch, np.float32)
        if rows.design.first:
            signs[: layout.rows] = rows.design.signs(0, layout.rows)
        self.signs = memory.put(signs)
        self._rescale_every = rescale_interval(layout.rows, layout.columns)
        self._no_diagonal = memory.zeros(q)
        self._launch = Launcher(
            **shared_arguments(rows, chains, matrices, settings),
            score=self._score,
            origin=self._origin,
            momentum=self._momentum,
            energy=self._energy,
            margins=self._margins,
            signs=self.signs,
            control=self.control,
            **self.rescale.arguments(),
            **rows.programs.likelihood,
            intercept=int(rows.design.intercept),
        )
        self._recordings = Recordings(self._device)
        self.set_lines(Lines())
        self.restart_control(_FIRST_LENGTH)

    # --- what is chosen before the draws --------------------------------------------------------------------------

    def set_lines(self, lines: Lines) -> None:
        """The lines along which the chains are moved."""
        layout = self._rows.layout
        self._recordings.forget()
        self.lines, self._tries = lines, lines.tries(layout.rows, layout.columns)
        if not lines.count:
            return
        put = self._memory.put
        self._launch.share(
            member_start=put(lines.member_start),
            member_column=put(lines.member_column),
            member_weight=put(lines.member_weight),
            line_intercept=put(lines.intercept),
            row_start=put(lines.row_start),
            row_index=put(some(lines.row_index)),
            row_value=put(some(lines.row_value)),
            nulls=lines.nulls,
            null_tries=self._tries[0],
            pairs=lines.pairs,
            pair_tries=self._tries[1],
            tails=lines.tails,
            tail_tries=self._tries[2],
        )

    def restart_control(self, length: float) -> None:
        """Begin to choose the length of the steps anew, from here."""
        start, control = math.log(length), np.zeros(1, CONTROL.dtype)
        control["log_length"] = control["mean_log_length"] = start
        control["centre"], control["length"], control["accepted"] = math.log(2.0 * length), length, 0.5
        self._device.put(control, self.control)

    def adapt(self, averaging: bool, restart: float | None) -> None:
        """Choose the length of steps, from ``restart`` on if given, and add curvatures up or not."""
        self.adapting, self.averaging = True, averaging
        if restart is not None:
            self.restart_control(restart)

    def choose_steps(self, last: bool) -> tuple[float, int]:
        """The length, and as many steps as make a trajectory; with ``last`` of the averaged length, which is final."""
        control = self._device.get(self.control)
        length = float(math.exp(control["mean_log_length"][0]) if last else control["length"][0])
        many = self.independence is not None and control["log_share"][0] > math.log(_MANY)
        trajectory = _BESIDE_OTHERS if many else _TRAJECTORY
        self.steps = min(MOST_STEPS, max(_FEWEST_STEPS, math.ceil(trajectory / length)))
        if last:
            control["length"] = length
            self._device.put(control, self.control)
            self.adapting = self.averaging = False
        return float(control["length"][0]), self.steps

    def weigh_at(self, beta: NDArray[np.float64]) -> None:
        """Let W be the curvature at one beta."""
        layout, count = self._rows.layout, self._settings.chains
        beta_f32 = np.zeros((count, layout.stride), np.float32)
        beta_f32[:, : layout.columns] = beta
        vector = self._device.put(beta_f32)
        self._pass(vector, self._margins)
        self._device.release(vector)
        self._device.zero(self._curvature)
        self.averaged = 0
        self._add_curvature()
        self.averaged += count
        self.take_weights()

    def margins(self) -> NDArray[np.float64]:
        """The margins of this device's rows for the first chain, as of the last pass."""
        values: NDArray[np.float32] = self._device.get(self._margins, self._rows.first_row, self._rows.count)
        return values.reshape(-1).astype(np.float64)

    def _add_curvature(self) -> None:
        rows, programs = self._rows, self._rows.programs
        here = {"first_row": rows.first_row, "rows": rows.count}
        groups = programs.spread(max(1, rows.count))
        self._launch(programs.trajectory.add_curvature, groups, programs.block, sums=self._curvature, **here)

    def take_weights(self) -> None:
        """Let W be the mean of the curvatures that were added up, and begin another sum."""
        rows, programs = self._rows, self._rows.programs
        programs.trajectory.take_weights(
            programs.spread(max(1, rows.count)),
            programs.block,
            sums=self._curvature,
            weight=self.weight,
            first_row=rows.first_row,
            row_count=rows.layout.rows,
            rows=rows.count,
            share=1.0 / self.averaged,
        )
        self._device.zero(self._curvature)
        self.averaged = 0

    def adapted(self) -> dict[str, Any]:
        """What was chosen so far, of this device's rows, for a checkpoint."""
        device = self._device
        return {
            "weight": device.get(self.weight)[: self._rows.count],
            "curvature": device.get(self._curvature)[: self._rows.count],
            "control": CONTROL.numbers(device.get(self.control))[0],
            "averaged": self.averaged,
            "averaging": self.averaging,
            "adapting": self.adapting,
            "steps": self.steps,
        }

    def restore(self, arrays: dict[str, Any], saved: CheckpointState) -> None:
        """The inverse of :meth:`adapted`, from the arrays of all rows."""
        here = slice(self._rows.first_row, self._rows.first_row + self._rows.count)
        if self._rows.count:
            self._device.put(arrays["weight"][here], self.weight)
            self._device.put(arrays["curvature"][here], self._curvature)
        self._device.put(CONTROL.view(arrays["control"]), self.control)
        self.averaged, self.averaging = saved.averaged, saved.averaging
        self.adapting, self.steps = saved.adapting, saved.steps

    # --- an iteration ---------------------------------------------------------------------------------------------

    def prime(self) -> None:
        """Margins and score at the chains' present points; to be called when the chains were set."""
        self.auxiliary.prime()
        self._pass(self._chains.beta_f32, self._margins)
        self._take_score()

    def iterate(self, step: int) -> None:
        """One iteration of every chain; from the second of its kind on it is played from a recording."""
        rescaled = step % self._rescale_every == 0
        self._chains.set_iteration(step)
        if self._matrices.recordable and (self.latent is None or self.latent.recordable):
            key = rescaled, self.rescale.has_small, self.adapting, self.averaging, self.steps
            self._recordings.run(key, lambda: self._iterate(rescaled))
        else:
            self._iterate(rescaled)
        if self.averaging:
            self.averaged += self._settings.chains

    def _iterate(self, rescaled: bool) -> None:
        """What an iteration gives the device to do; its number is in ``chains.iteration``."""
        chains, matrices = self._chains, self._matrices
        if self.independence is not None:
            self._move_independently(self.independence)
        if rescaled or len(self.lines.row_index) or self.auxiliary.count:
            self._rows.share_margins(self._margins, chains.count)
        if rescaled:
            self.rescale.move(self._launch)
        if self.lines.count:
            self._move_lines()
        if self.latent is not None:
            self._move_latent(self.latent)
            return
        if self.auxiliary.count:
            self.auxiliary.move()
        built = matrices.build_beside(self._draw_scales)
        matrices.factorise(built)
        if rescaled or self.lines.count or self.auxiliary.count:
            self._pass(chains.beta_f32, self._margins)
            self._take_score()
        if self.averaging:
            self._add_curvature()
        matrices.each_group(self._begin)
        for number in range(self.steps):
            self._share((chains.beta, self._rows.layout.columns))
            self._pass(chains.beta_f32, self._ends)
            last = number == self.steps - 1
            matrices.each_group(self._end if last else lambda group: self._advance(group, self._shards, SHARDS, 1.0))
        self._share((chains.beta, self._rows.layout.columns), (chains.chain_state, 1))
        if matrices.divided:
            matrices.share((self._score, self._rows.layout.width))
        self._keep_margins()
        if self.adapting:
            self._rows.programs.trajectory.adapt_step(
                1, 1, control=self.control, chain_state=chains.chain_state, chains=chains.count, target=_TARGET
            )

    def _share(self, *values: tuple[Buffer, int]) -> None:
        """Rows of the owned chains to the other devices; then the float32 copy of beta."""
        if self._matrices.divided:
            self._matrices.share(*values)
            self._chains.round_beta()

    def _pass(self, beta_f32: Buffer, margins: Buffer) -> None:
        """Gradient and log-likelihood of every chain, in ``_shards``, and the margins of this device's rows."""
        count, width = self._settings.chains, self._rows.layout.width
        self._rows.sweep("margins", beta_f32, self.partial, count, margins=margins, pitch=self._pitch)
        self._rows.gather(self.partial, count * width, self._shards)

    def _take_score(self) -> None:
        programs = self._rows.programs
        kernel = programs.trajectory.take_score
        self._launch(kernel, self._chains.count, programs.block, shards=self._shards, shard_count=SHARDS)

    def _sweep_all(self, beta_f32: Buffer, margins: Buffer) -> None:
        """The margins of all rows, on every device."""
        chains = self._chains.count
        self._rows.sweep("margins", beta_f32, self.partial, chains, margins=margins, pitch=self._pitch)
        self._rows.share_margins(margins, chains)

    def _keep_margins(self) -> None:
        """The margins of the points that the chains are at now."""
        rows, programs = self._rows, self._rows.programs
        groups = programs.spread(max(1, rows.count * self._chains.count))
        here = {"first_row": rows.first_row, "rows": rows.count}
        self._launch(programs.trajectory.keep_margins, groups, programs.block, ends=self._ends, **here)

    def _move_independently(self, independence: IndependenceMoves) -> None:
        part = self.rescale.arguments()["part_f32"]
        independence.move(self._launch, self._shards, lambda: self._pass(part, self._ends), self.adapting)
        self._keep_margins()

    def _move_lines(self) -> None:
        size, stream = (self._chains.count, self._rows.programs.block), self._settings.stream(STREAM_LINES)
        self._launch(self._rows.programs.lines.move_lines, *size, stream=stream)

    def _draw_scales(self, **own: Buffer) -> None:
        programs = self._rows.programs
        own_stream = self._settings.stream(STREAM_SCALES)
        self._launch(programs.scales.draw_scales, self._chains.count, programs.block, stream=own_stream, **own)

    def _move_latent(self, latent: WideMoves) -> None:
        """The scales, those of the matrices being deviations of the prior here, then the latent normals and beta."""
        self._draw_scales(diagonal=self._no_diagonal)
        latent.move()
        if self.auxiliary.count:
            self.auxiliary.prime()
        self._pass(self._chains.beta_f32, self._margins)
        latent.report(self._shards)

    # --- a trajectory ---------------------------------------------------------------------------------------------

    def _begin(self, group: Group) -> None:
        programs = self._rows.programs
        own = {"first_chain": group.first, "stream": self._settings.stream(STREAM_MOMENTUM)}
        self._launch(programs.trajectory.begin_trajectory, group.count, programs.block, **own)
        self._advance(group, self._score, 1, 0.5)

    def _end(self, group: Group) -> None:
        self._advance(group, self._shards, SHARDS, 0.0)
        self._launch(
            self._rows.programs.trajectory.end_trajectory,
            group.count,
            self._rows.programs.block,
            rhs=group.rhs,
            shards=self._shards,
            shard_count=SHARDS,
            status=group.status,
            first_chain=group.first,
            stream=self._settings.stream(STREAM_TRAJECTORY),
        )

    def _advance(self, group: Group, score: Buffer, shards: int, share: float) -> None:
        """L^-1 s g; with a share of a step a kick by it and a drift by a step; one launch where one work-item can."""
        trajectory, block, launch = self._rows.programs.trajectory, self._rows.programs.block, self._launch
        size = group.count, block
        own = {"rhs": group.rhs, "first_chain": group.first}
        gradient = {"score": score, "shard_count": shards}
        step = {"share": share, "stream": self._settings.stream(STREAM_TRAJECTORY)}
        if block == 1 and group.algebra.provider == "kernels":
            drifts = int(share > 0.0)
            launch(trajectory.advance_position, *size, L=group.matrix, drifts=drifts, **gradient, **step, **own)
            return
        launch(trajectory.scale_gradient, *size, **gradient, **own)
        group.algebra.solve_lower(group.matrix, group.rhs)
        if share > 0.0:
            launch(trajectory.kick_momentum, *size, **step, **own)
            group.algebra.solve_lower_transposed(group.matrix, group.rhs)
            launch(trajectory.drift_position, *size, stream=step["stream"], **own)
