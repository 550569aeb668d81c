"""Moves of the family's own parameters: sixteen points compete, see ``kernels/gibbs/auxiliary.mako``."""

import math
from typing import Any

import numpy as np

from ....devices import Buffer, Launcher
from ....numerics.memory import Memory
from ..design.matrix import Design
from ..device.chains import Chains
from ..device.records import AUXILIARIES, records_of
from ..device.rows import Rows
from ..families import AUXILIARY
from ..options import Settings

STREAM_AUXILIARY = 16  # takes two
_POINTS = 16
_ROWS_A_PART, _MOST_PARTS = 2048, 64


class AuxiliaryMoves:
    """Moves of the auxiliary parameters of all chains; the margins are None where :meth:`move` is not used."""

    def __init__(self, memory: Memory, rows: Rows, chains: Chains, settings: Settings, margins: Buffer | None) -> None:
        self._rows, self._chains, self._settings = rows, chains, settings
        design, layout = rows.design, rows.layout
        self.count = len(design.auxiliary_names())
        if not design.family.targeted:
            return
        shape = records_of(design.problem.family)["shape"]
        self.shape = memory.zeros(chains.count, shape.dtype)
        rows.read_shape(self.shape)
        steps = np.zeros(AUXILIARY)
        problem = design.problem
        found = design.family.steps(problem.y, problem.categories, settings.options.degrees, problem.weights)
        steps[: self.count] = found[: self.count]
        self._parts = max(1, min(_MOST_PARTS, layout.rows // _ROWS_A_PART))
        different = _different(memory, design)
        self.values = different.get("values")
        self._launch = Launcher(
            **{name: weight for name, weight in rows.programs.likelihood.items() if name == "row_weight"},
            auxiliary=chains.auxiliary,
            auxiliary_step=memory.put(steps),
            candidates=memory.empty((chains.count, _POINTS), AUXILIARIES.dtype),
            candidate_shape=memory.zeros((chains.count, _POINTS), shape.dtype),
            chain_shape=self.shape,
            partial=memory.empty(self._parts * chains.count * _POINTS),
            margins=margins,
            target=rows.target,
            pitch=layout.pitch,
            row_count=layout.rows,
            parts=self._parts,
            chains=chains.count,
            auxiliaries=self.count,
            degrees=settings.options.degrees,
            least=design.least_log_sigma,
            log_peak=_log_peak(design.problem.family, settings.options.degrees),
            seed=settings.seed,
            iteration=chains.iteration,
            **different,
        )

    def prime(self) -> None:
        """Let the likelihoods be those of the chains' parameters; to be called when the chains were set."""
        if self._rows.design.family.targeted:
            self._launch(self._rows.programs.auxiliary.shape_likelihoods, self._chains.count, 1)

    def move(self) -> None:
        """One move of every chain; the margins must be those of all rows."""
        programs, chains, launch = self._rows.programs, self._chains.count, self._launch
        numbers = {"stream": self._settings.stream(STREAM_AUXILIARY)}
        launch(programs.auxiliary.propose_auxiliary, chains, _POINTS, **numbers)
        launch(programs.auxiliary.weigh_candidates, self._parts * chains, programs.block)
        launch(programs.auxiliary.choose_auxiliary, chains, 1, **numbers)


def _different(memory: Memory, design: Design) -> dict[str, Any]:
    if design.problem.family != "counts":
        return {}
    values, place = np.unique(design.problem.y, return_inverse=True)
    repeats = np.bincount(place, design.problem.weights)
    buffers = (memory.put(array.astype(np.float64)) for array in (values, repeats))
    return {**dict(zip(("values", "repeats"), buffers, strict=True)), "distinct": len(values)}


def _log_peak(family: str, degrees: float) -> float:
    """The log-density of an error of 0, at sigma 1."""
    if family == "student":
        return math.lgamma(0.5 * degrees + 0.5) - math.lgamma(0.5 * degrees) - 0.5 * math.log(degrees * math.pi)
    return -0.5 * math.log(2.0 * math.pi)
