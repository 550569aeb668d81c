"""Moves of tau and coefficients times a common factor, with lambda integrated out, on the margins X beta."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Launcher
from ....devices.kernels.program import Program
from ....numerics.memory import Memory
from ..device.chains import Chains
from ..device.programs import LONG
from ..device.rows import Rows
from ..options import Settings

STREAM_RESCALE = 14  # takes two
_ROWS_RESCALED = 1 << 14  # rows that a chain visits for this in an iteration, on average
_VALUES = 10_000  # of X, of very many columns: what an iteration does with them takes about as long as a visit


def rescale_interval(rows: int, columns: int) -> int:
    """Every how many iterations coefficients and tau are rescaled."""
    interval = -(-rows // _ROWS_RESCALED)
    return max(1, interval if columns < LONG else min(interval, -(-_VALUES // columns)))


class RescaleMoves:
    """All coefficients inside the horseshoe and tau times a common factor; then the small ones alone and tau."""

    def __init__(
        self,
        memory: Memory,
        rows: Rows,
        chains: Chains,
        settings: Settings,
        program: Program,
        block: int,
        part_margins: Buffer,
        sweep: Callable[[Buffer, Buffer], None],
    ) -> None:
        self._device, self._program, self._sweep = memory.device, program, sweep
        self._size, self._stream = (chains.count, block), settings.stream(STREAM_RESCALE)
        design, layout = rows.design, rows.layout
        self._small, self._part_margins = memory.zeros(layout.columns, np.float32), part_margins
        self._part = memory.zeros((chains.count, layout.stride), np.float32)
        self.has_small = False
        inside = (np.arange(layout.columns) >= design.first).astype(np.float32)
        self._penalized = memory.put(inside) if design.first > design.intercept else None

    def arguments(self) -> dict[str, Buffer]:
        """What the kernels take beside the margins of all columns."""
        return {"member_of_set": self._small, "part_f32": self._part, "part_margins": self._part_margins}

    def set_small(self, small: NDArray[np.bool_]) -> None:
        """The columns whose coefficients are rescaled together with tau, but for the others; shape (q,)."""
        self._device.put(small.astype(np.float32), self._small)
        self.has_small = bool(small.any())

    def move(self, launch: Launcher) -> None:
        """One move of each kind, for every chain."""
        if self._penalized is not None:
            self._take_margins_of(launch, self._penalized)
        kernel, apart = self._program.rescale_chains, int(self._penalized is not None)
        launch(kernel, *self._size, with_all=1, apart=apart, stream=self._stream)
        if self.has_small:
            self._take_margins_of(launch, self._small)
            launch(kernel, *self._size, with_all=0, apart=1, stream=self._stream + 1)

    def _take_margins_of(self, launch: Launcher, columns: Buffer) -> None:
        launch(self._program.round_set, *self._size, member_of_set=columns)
        self._sweep(self._part, self._part_margins)
