"""Schedules by iterated greedy search: the chains of one device, turn by turn."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....devices import Device
from ....devices.pool.slices import SliceLength
from ..tree import INFINITY
from .greedy import GreedyChains, greedy_shape

_EXCHANGE_AFTER = 1_000_000  # divided by the square of the jobs: iterations
_NOISE = 0.1


@dataclass(frozen=True)
class Improvement:
    """The best schedule known, and its makespan."""

    value: int
    order: NDArray[np.int64]


class ScheduleSearch:
    """The chains of one device, on its thread."""

    def __init__(self, device: Device, times: NDArray[np.int64], seed: int, rank: int, first_chain: int) -> None:
        shape = greedy_shape(device.capabilities, len(times))
        self._chains = GreedyChains(device, times, shape, seed, first_chain)
        self._count, self._jobs = shape.chains, times.shape[1]
        self._length = SliceLength(1)
        self._iterations = 0
        self._shortest = INFINITY
        totals = times.sum(axis=0)
        random = np.random.default_rng([seed, first_chain])
        noise = 1 + _NOISE * random.standard_normal((shape.chains, len(totals)))
        if rank == 0:
            noise[0] = 1
        self._sequences = np.argsort(-(totals * noise), axis=1, kind="stable")

    def better(self, seconds: float, below: int, halted: Callable[[], bool]) -> tuple[int, tuple[int, ...]] | None:
        """As :meth:`turn`: the value, and the path to a leaf, all in front."""
        found, _ = self.turn(seconds, below, halted)
        return None if found is None else (found.value, tuple(found.order[:-1].tolist()))

    def close(self) -> None:
        """Free the device's memory."""
        self._chains.release()

    def begin(self, known: Improvement | None) -> None:
        """From a schedule that is known, or from those that the chains build from different orders of the jobs."""
        if known is None:
            self._chains.build(self._sequences)
        else:
            self._chains.start(known.order[None], np.array([known.value]))

    def adopt(self, known: Improvement) -> None:
        """Let a chain go on from a schedule that is better than those here; only between two iterations."""
        if self._chains.at_start and known.value < self._shortest:
            self._chains.adopt(known.order, known.value, self._count - 1)

    def turn(
        self, seconds: float, below: int, halted: Callable[[], bool] = lambda: False
    ) -> tuple[Improvement | None, int]:
        """Search for about so many seconds; a schedule that is shorter than ``below``, if any, and the jobs tried."""
        chains, tried = self._chains, 0
        began = time.perf_counter()
        while True:
            steps = min(self._length.amount, chains.steps_left)
            slice_began = time.perf_counter()
            values = chains.advance(steps)
            now = time.perf_counter()
            self._length.took(now - slice_began, steps)
            tried += steps * self._count
            if chains.at_start:
                self._exchange(values)
            if now - began >= seconds or halted():
                break
        leader = int(values.argmin())
        self._shortest = int(values[leader])
        if self._shortest < below:
            return Improvement(self._shortest, chains.best_of(leader)), tried
        return None, tried

    def _exchange(self, values: NDArray[np.int32]) -> None:
        """Every so many iterations the worst quarter of the chains goes on from the best schedule."""
        self._iterations += 1
        if self._iterations % max(2, _EXCHANGE_AFTER // self._jobs**2) or self._count < 4:
            return
        ranked = np.argsort(values, kind="stable")
        sources = np.arange(self._count, dtype=np.int32)
        sources[ranked[-(self._count // 4) :]] = ranked[0]
        self._chains.follow(sources)
