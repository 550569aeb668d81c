"""The moves of the kernel ``ellipse``: slices along curves through every chain's point, on stored vectors X beta.

A Gaussian stands in for the likelihood in the first; it is made of slopes and curvatures of the rows, at one point or
averaged over points, and must not change once draws are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer
from engine.numerics.memory import Memory
from engine.solvers.gibbs.chains import Chains, Settings
from engine.solvers.gibbs.kernels import STRETCHES
from engine.solvers.gibbs.layout import SHARDS
from engine.solvers.gibbs.rows import Rows

__all__ = ["Slices"]

ELLIPSE, RESCALE, STRETCH = 0, 1, 2
STREAM_SLICE = 6  # then RESCALE's
STREAM_STRETCH = 16
_STRETCH_WIDTH = 4.0
_MOST_TRIES = 40
_NUMBERS = 16  # of a slice; see moves.mako
_MOST_SERIAL = 1 << 16  # values of X beta, of all chains, up to which one core a chain is best


class Slices:
    """Vectors of the size of the rows, for every chain, and the moves along them.

    Attributes
    ----------
    middle, along : Buffer
        The stand-in's conditional mean M, and a draw N about it: what spans an ellipse; (chains, q).
    lines_narrow : Buffer
        The same as float32 rows of the design's stride, all M before all N.
    """

    def __init__(self, memory: Memory, rows: Rows, chains: Chains, settings: Settings) -> None:
        self._rows, self._chains, self._settings = rows, chains, settings
        self._device, self._launcher, self._layout = memory.device, rows.launcher, rows.layout
        q, count, least = self._layout.columns, settings.chains, max(1, rows.count)
        self.eta = memory.empty(count * least, np.float32)
        self.lines = memory.zeros((2 * count + 1 + STRETCHES) * least, np.float32)
        self.slope, self.weight = (memory.empty(least, np.float32) for _ in range(2))
        self.lines_narrow = memory.zeros((2 * count, self._layout.stride), np.float32)
        self.middle, self.along = memory.empty((count, q)), memory.empty((count, q))
        self._slice = memory.empty((count, _NUMBERS))
        self._shift = memory.put(np.append(np.zeros(rows.design.first), rows.design.shift))
        tries = self._launcher.tries
        self._places = memory.empty(count * 3 * (tries + 1), np.float32)
        self._weighed = memory.empty(max(1, rows.strips) * count * (tries + 1))
        self._weighed_shards = memory.empty((SHARDS, count * (tries + 1)))
        self._partial = memory.empty(max(1, rows.strips) * self._layout.width, np.float32)
        self.reference = memory.empty((SHARDS, self._layout.width))
        self._averages = memory.empty(3 * least, np.float32)
        self.averaging, self.averaged = False, 0
        self.rescale_width = 3.0
        cpu = self._device.capabilities.kind == "cpu"
        enough = count >= self._device.capabilities.compute_units or count * rows.count <= _MOST_SERIAL
        self._serial = cpu and rows.party is None and enough
        self.restart_averages()

    # --- the stand-in for the likelihood --------------------------------------------------------------------------

    def refer_to(self, beta: NDArray[np.float64]) -> None:
        """Let the stand-in have the likelihood's slope and curvature at one beta."""
        narrow = np.zeros(self._layout.stride, np.float32)
        narrow[: self._layout.columns] = beta
        vector = self._device.put(narrow)
        self._rows.sweep("project", vector, self.eta, 1)
        self._device.release(vector)
        self.restart_averages()
        self._gather_reference(1)
        self.refer_to_averages()

    def restart_averages(self) -> None:
        """Forget what was averaged of the chains' points."""
        self._device.zero(self._averages)
        self.averaged = 0

    def _gather_reference(self, chains: int) -> None:
        rows = self._rows.count
        self._launcher.spread("gather_reference", max(1, rows), self.eta, self._averages, rows, chains)
        self.averaged += chains

    def refer_to_averages(self) -> None:
        """Let the stand-in have the mean slope and curvature over what was averaged."""
        rows = self._rows
        arguments = (self._averages, self.slope, self.weight, rows.first_row, self._layout.rows, rows.count)
        self._launcher.spread("make_reference", max(1, rows.count), *arguments, 1.0 / self.averaged)
        self.restart_averages()

    def linear_term(self) -> None:
        """X'a, a the slopes of the stand-in's rows: what its Gaussian's mean comes from."""
        self._rows.sweep("combine", self.slope, self._partial, 1)
        self._rows.gather("f32", self._partial, self._layout.width, self.reference)

    def reference_rows(self) -> dict[str, NDArray[Any]]:
        """The stand-in and the averages of this device's rows, for a checkpoint."""
        device = self._device
        arrays = {"slope": device.get(self.slope), "weight": device.get(self.weight)}
        return {**arrays, "averages": device.get(self._averages).reshape(3, -1)}

    def set_reference_rows(self, arrays: dict[str, NDArray[Any]], averaged: int, averaging: bool) -> None:
        """The inverse of :meth:`reference_rows`, from the arrays of all rows."""
        here = slice(self._rows.first_row, self._rows.first_row + max(1, self._rows.count))
        self._device.put(arrays["slope"][here], self.slope)
        self._device.put(arrays["weight"][here], self.weight)
        self._device.put(arrays["averages"][:, here].reshape(-1), self._averages)
        self.averaged, self.averaging = averaged, averaging

    # --- the moves ------------------------------------------------------------------------------------------------

    def take_intercept(self) -> None:
        """The intercept's column as the line that does not change; zeros if there is none."""
        if self._rows.design.first:
            self._rows.take_columns([0], self.lines, 2 * self._settings.chains)

    def _columns_of(self, step: int) -> list[int]:
        """Columns that are stretched in an iteration: all in turn."""
        first, begin = self._rows.design.first, step // 2 * STRETCHES
        return [first + (begin + i) % (self._layout.columns - first) for i in range(STRETCHES)]

    def move(self, step: int) -> None:
        """An ellipse through M and N, a rescaling, and the stretches, of every chain."""
        chains, columns = self._settings.chains, self._columns_of(step)
        self._rows.sweep("project", self.lines_narrow, self.lines, 2 * chains)
        self._rows.sweep("project", self._chains.narrow, self.eta, chains)
        self._rows.take_columns(columns, self.lines, 2 * chains + 1)
        if self._serial:
            self._move_serially(step, columns)
        else:
            self._slice_rows(ELLIPSE, STREAM_SLICE, step)
            self._slice_rows(RESCALE, STREAM_SLICE + 1, step)
            for turn, column in enumerate(columns):
                self._slice_rows(STRETCH, STREAM_STRETCH + turn, step, column, turn)
        if self.averaging:
            self._gather_reference(chains)

    def _move_serially(self, step: int, columns: list[int]) -> None:
        """All slices of an iteration in one launch, a core to a chain."""
        rows, chains, layout, settings = self._rows, self._chains, self._layout, self._settings
        self._launcher.groups(
            "slice_chains",
            settings.chains,
            *(self._slice, chains.beta, chains.whole, chains.local, chains.narrow, self.middle, self.along),
            *(self.eta, self.lines, self.slope, self.weight, self._shift, rows.bounds),
            *(layout.rows, rows.count, layout.strip_rows, settings.chains, layout.columns, layout.stride),
            *(rows.design.first, self.rescale_width, _STRETCH_WIDTH, settings.prior_precision, settings.tau_scale**-2),
            *(settings.seed, STREAM_SLICE, STREAM_STRETCH, step, *columns),
        )

    def _slice_rows(self, move: int, stream: int, step: int, column: int = 0, turn: int = 0) -> None:
        """One slice of every chain by passes over all rows, and the move to the point it chose."""
        rows, state, launcher = self._rows, self._chains, self._launcher
        layout, settings = self._layout, self._settings
        q, chains, tries, inside = layout.columns, settings.chains, launcher.tries, rows.design.first
        width = _STRETCH_WIDTH if move == STRETCH else self.rescale_width
        inverse_width = settings.tau_scale**-2
        random = (settings.seed, stream, step)
        chain: tuple[Buffer | int, ...] = (state.beta, state.whole, state.local, self._shift, q, inside, column)
        for first in range(0, _MOST_TRIES, tries):
            launcher.groups(
                "propose_points",
                chains,
                *(self._slice, self._places, *chain, first, move, width, inverse_width, *random),
            )
            launcher.groups(
                "weigh_points",
                min(rows.strips * chains, 1 << 20),
                *(self.eta, self.lines, self.slope, self.weight, self._places, self._slice, self._weighed),
                *(rows.first_row, layout.rows, rows.count, rows.strips, layout.strip_rows, chains, move, turn),
            )
            rows.gather("f64", self._weighed, chains * (tries + 1), self._weighed_shards)
            launcher.groups(
                "choose_point",
                chains,
                *(self._weighed_shards, SHARDS, chains, self._slice, *chain, first, move),
                *(settings.prior_precision, inverse_width, *random),
            )
            if self._device.get(self._slice)[:, 4].all():  # costs less than the launches of another pass
                break
        arguments = (self.eta, self.lines, self._slice, rows.count, chains, move, turn)
        launcher.spread("move_rows", max(1, rows.count), *arguments)
        launcher.groups(
            "move_coefficients",
            chains,
            *(state.beta, self.middle, self.along, self._slice, state.whole, state.local, state.narrow),
            *(q, layout.stride, inside, column, move, inverse_width, *random),
        )
