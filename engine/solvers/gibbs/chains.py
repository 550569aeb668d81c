"""What a chain is, on a device: its state, and the settings its iterations need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.numerics.memory import Memory
from engine.solvers.gibbs.options import KernelName
from engine.solvers.gibbs.rows import Rows

__all__ = ["REPORT", "STATE", "WHOLE", "Chains", "Settings"]

STATE = ("beta", "local", "nu", "whole")
"""What a chain is: beta, lambda^-2 and nu^-1 of shape (chains, q), and tau^-2, xi^-1 among (chains, 8) numbers."""

REPORT = ("tau_precision", "xi_rate", "expansion", "log_likelihood", "slice_tries", "rescale_tries", "", "")
"""What the 8 numbers of a draw are."""

WHOLE = len(REPORT)


@dataclass(frozen=True)
class Settings:
    """What the iterations of a run need to know.

    ``prior_precision`` is that of the intercept; ``tau_scale`` the half-Cauchy's; ``provider`` None for the best.
    """

    kernel: KernelName
    chains: int
    seed: int
    prior_precision: float
    tau_scale: float
    keep_scales: bool
    provider: str | None
    streaming: str
    batch: int
    thin: int


class Chains:
    """The state of all chains. ``narrow`` is beta once more, as float32 rows of the design's stride."""

    def __init__(self, memory: Memory, rows: Rows, settings: Settings) -> None:
        self._rows, self.count = rows, settings.chains
        q, chains = rows.layout.columns, settings.chains
        self.beta, self.local, self.nu = (memory.empty((chains, q)) for _ in range(3))
        self.whole = memory.empty((chains, WHOLE))
        self.narrow = memory.zeros((chains, rows.layout.stride), np.float32)

    def set_state(self, state: dict[str, NDArray[np.float64]]) -> None:
        """Every chain from the host; see :data:`STATE`."""
        layout = self._rows.layout
        for name in STATE:
            self._rows.device.put(np.ascontiguousarray(state[name], np.float64), getattr(self, name))
        arguments = (self.beta, self.narrow, layout.columns, layout.stride, 0)
        self._rows.launcher.groups("narrow_coefficients", self.count, *arguments)

    def state(self) -> dict[str, NDArray[np.float64]]:
        """Every chain, on the host."""
        return {name: self._rows.device.get(getattr(self, name)) for name in STATE}
