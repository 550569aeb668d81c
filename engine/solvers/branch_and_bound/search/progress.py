"""How much of a running search is left: rounds of samples of its open nodes, averaged by what was left at each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..intervals import Units
from .members import WorkerState
from .messages import Report, Sample
from .sampling import error_factor

_FIRST_SECONDS = 1.0
_SHARE = 0.05
_PATIENCE = 5.0
_RETRY = 1.0
_LEAST_LEFT = 0.01
_STORED = 512


@dataclass(frozen=True)
class Remaining:
    """Nodes that are left, and the limits that they are between with a probability of about 80 %."""

    nodes: float
    low: float
    high: float

    def seconds(self, rate: float) -> tuple[float, float, float]:
        """The time that they take at a node rate, in nodes a second: of the estimate, and of its limits."""
        return self.nodes / rate, self.low / rate, self.high / rate


class _Round(NamedTuple):
    left: NDArray[np.float64]  # estimates of the nodes that were left, one a pass
    nodes: int  # decomposed when the last sample was taken
    sampled_at: int  # and when each device took its own
    coarseness: float


class SearchEstimate:
    """The rounds of one search, called under the coordinator's lock; times are of ``time.perf_counter``."""

    def __init__(self, began: float, seed: int, items: int) -> None:
        self._items = items
        self._seed = seed
        self._due = began + _FIRST_SECONDS
        self._begun = 0
        self._round_began = began
        self._upper: int | None = None
        self._asked: dict[WorkerState, bool] = {}
        self._samples: dict[WorkerState, Report] = {}
        self._rounds: list[_Round] = []

    def begin_round(self, workers: Sequence[WorkerState], now: float) -> None:
        """Begin a round if one is due: every device that has work is asked at the beginning of its next turn."""
        if now < self._due or (self._asked and now < self._round_began + _PATIENCE):
            return
        self._begun += 1
        self._round_began = now
        self._asked = {worker: False for worker in workers if worker.has_work}
        self._samples = {}

    def sample_for(self, worker: WorkerState, stored: Units) -> Sample | None:
        """The sample to take in a turn, if any; the first device's has some of those that the host has stored."""
        if self._asked.get(worker, True):
            return None
        first = not any(self._asked.values())
        self._asked[worker] = True
        seed = (self._seed << 20 | self._begun << 8 | worker.index) % 2**64
        if not first or not len(stored):
            return Sample(seed)
        count = min(len(stored), _STORED)
        chosen = np.random.Generator(np.random.PCG64(seed)).choice(len(stored), count, replace=False)
        return Sample(seed, stored[chosen], len(stored) / count)

    def drop(self, worker: WorkerState) -> None:
        """A device has no work to take a sample of."""
        if worker not in self._samples:
            self._asked.pop(worker, None)

    def forget(self) -> None:
        """Begin again: the search has returned to an earlier state."""
        self._asked, self._samples, self._rounds = {}, {}, []

    def take(self, worker: WorkerState, report: Report, upper: int, nodes: int) -> None:
        """Take a device's sample; the last of a round, with ``nodes`` decomposed by now, revises the estimate."""
        if worker not in self._asked or not self._asked[worker] or worker in self._samples:
            return
        if report.remaining is None:  # a sample would take it too long, so it has little of the work
            del self._asked[worker]
            self._due = time.perf_counter() + _RETRY
        else:
            self._samples[worker] = report
        if not self._samples or not self._asked.keys() <= self._samples.keys():
            return
        values = [np.asarray(sample.remaining) for sample in self._samples.values()]
        left = sum(values, np.zeros(1))
        since = sum(one.nodes - sample.nodes for one, sample in self._samples.items())
        if upper != self._upper:  # the search is shorter: the rounds before do not count any more
            self._upper, self._rounds = upper, []
        parts = [float(found.mean()) + 1.0 for found in values]
        coarseness = [sample.coarseness for sample in self._samples.values()]
        self._rounds.append(_Round(left, nodes, nodes - since, float(np.average(coarseness, weights=parts))))
        self._asked = {}
        self._due = time.perf_counter() + report.sampling / _SHARE

    def remaining(self, nodes: int) -> Remaining | None:
        """What is left after so many nodes; None before the first estimate."""
        if not self._rounds:
            return None
        totals = np.array([one.sampled_at + one.left for one in self._rounds])
        left_then = np.maximum(totals.mean() - [one.nodes for one in self._rounds], _LEAST_LEFT * nodes + 1.0)
        coarseness = np.array([one.coarseness for one in self._rounds])
        weights = left_then**-2.0 / coarseness
        weights /= weights.sum()
        whole = float(weights @ totals.mean(axis=1))
        left = max(whole - nodes, _LEAST_LEFT * nodes)
        factor = error_factor(np.array([one.left for one in self._rounds]), self._items, weights, coarseness)
        return Remaining(left, left / factor, left * factor)
