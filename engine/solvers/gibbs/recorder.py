"""Draws on their way from a device to the host: recorded in one of two batches while the other is copied."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer, StreamEvent
from engine.numerics.memory import Memory
from engine.solvers.gibbs.chains import WHOLE, Chains, Settings
from engine.solvers.gibbs.rows import Rows

__all__ = ["Recorded", "Recorder"]

Recorded = tuple[list[int], NDArray[np.float64], int]
"""Which iterations the rows are; draws of shape (rows, chains, numbers); factorisations that have failed so far."""


@dataclass
class _Batch:
    """Draws on their way to the host."""

    record: Buffer
    host: NDArray[np.float64]
    failed: NDArray[np.int32]
    done: StreamEvent | None = None
    iterations: list[int] = field(default_factory=list)


class Recorder:
    """Two batches, filled in turn."""

    def __init__(self, memory: Memory, rows: Rows, chains: Chains, settings: Settings) -> None:
        self._device, self._launcher, self._chains, self._settings = memory.device, rows.launcher, chains, settings
        q, keep = rows.layout.columns, settings.keep_scales
        self._columns = q
        self.width = q + WHOLE + (q if keep else 0)
        numbers = settings.batch * settings.chains * self.width
        self._batches = [
            _Batch(memory.empty(numbers), memory.pinned(numbers, np.float64), memory.pinned(1, np.int32))
            for _ in range(2)
        ]
        self._turn = 0

    def begin(self) -> None:
        """Let what is recorded from here on be another batch."""
        self._turn = 1 - self._turn
        self._batches[self._turn].iterations = []

    def record(self, iteration: int) -> None:
        """The chains as they are now."""
        batch, chains, settings = self._batches[self._turn], self._chains, self._settings
        self._launcher.groups(
            "record_draw",
            settings.chains,
            *(chains.beta, chains.whole, chains.local, batch.record, self._columns),
            *(len(batch.iterations), settings.chains, int(settings.keep_scales)),
        )
        batch.iterations.append(iteration)

    def send(self, failed: Buffer) -> None:
        """Begin to copy the batch to the host, with a count of failures."""
        batch = self._batches[self._turn]
        used = len(batch.iterations) * self._settings.chains * self.width
        self._device.get_async(batch.record, batch.host[:used])
        self._device.get_async(failed, batch.failed)
        batch.done = self._device.record_event()

    def collect(self, last: bool) -> Recorded:
        """Wait for the last batch, or for the one before it, and take its draws; none if there are none."""
        batch = self._batches[self._turn if last else 1 - self._turn]
        shape = (len(batch.iterations), self._settings.chains, self.width)
        if batch.done is None:
            return [], np.zeros((0, *shape[1:])), 0
        self._device.synchronize_event(batch.done)
        batch.done = None
        iterations, batch.iterations = batch.iterations, []
        rows = batch.host[: shape[0] * shape[1] * shape[2]].reshape(shape).copy()
        return iterations, rows, int(batch.failed[0])
