"""How much of a running search is left: estimates from samples of its open nodes, taken now and then.

In a round every device with work estimates the nodes that are left below its own open nodes (see
:mod:`engine.solvers.branch_and_bound.search.sampling`). These and the nodes decomposed until then make an estimate of
the whole search. The error of an estimate is in proportion to what was left when it was made: the rounds are averaged
with weights that are inverse to the square of that, and in proportion to the nodes drawn. The limits tighten as the
search proceeds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..intervals import Units
from .members import WorkerState
from .messages import Report, Sample
from .sampling import error_factor

__all__ = ["Remaining", "SearchEstimate"]

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


class SearchEstimate:
    """The rounds of one search, called under the coordinator's lock; times are of ``time.perf_counter``."""

    def __init__(self, began: float, seed: int, items: int) -> None:
        self._items = items
        self._seed = seed
        self._due = began + _FIRST_SECONDS
        self._rounds = 0
        self._round_began = began
        self._upper: int | None = None
        self._asked: dict[WorkerState, bool] = {}
        self._samples: dict[WorkerState, Report] = {}
        self._totals: list[NDArray[np.float64]] = []
        self._left: list[NDArray[np.float64]] = []
        self._nodes: list[int] = []
        self._coarseness: list[float] = []

    def begin_round(self, workers: Sequence[WorkerState], now: float) -> None:
        """Begin a round if one is due: every device that has work is asked at the beginning of its next turn."""
        if now < self._due or (self._asked and now < self._round_began + _PATIENCE):
            return
        self._rounds += 1
        self._round_began = now
        self._asked = {worker: False for worker in workers if worker.has_work}
        self._samples = {}

    def sample_for(self, worker: WorkerState, stored: Units) -> Sample | None:
        """The sample that a device is to take in the turn that begins; None if it is to take none.

        The first device of a round takes that of the intervals which the host keeps (``stored``), too.
        """
        if self._asked.get(worker, True):
            return None
        first = not any(self._asked.values())
        self._asked[worker] = True
        seed = (self._seed << 20 | self._rounds << 8 | worker.index) % 2**64
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
        self._asked, self._samples = {}, {}
        self._forget_rounds()

    def _forget_rounds(self) -> None:
        self._totals, self._left, self._nodes, self._coarseness = [], [], [], []

    def take(self, worker: WorkerState, report: Report, upper: int, nodes: int) -> None:
        """Take a device's sample; with the last of a round, and ``nodes`` decomposed by now, the estimate is revised.

        A better solution makes the search shorter, so the rounds before it do not count any more.
        """
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
        if upper != self._upper:
            self._upper = upper
            self._forget_rounds()
        parts = [float(found.mean()) + 1.0 for found in values]
        coarseness = [sample.coarseness for sample in self._samples.values()]
        self._coarseness.append(float(np.average(coarseness, weights=parts)))
        self._totals.append(nodes - since + left)
        self._left.append(left)
        self._nodes.append(nodes)
        self._asked = {}
        self._due = time.perf_counter() + report.sampling / _SHARE

    def remaining(self, nodes: int) -> Remaining | None:
        """What is left after so many nodes; None before the first estimate."""
        if not self._totals:
            return None
        totals = np.array(self._totals)
        left_then = np.maximum(totals.mean() - np.array(self._nodes), _LEAST_LEFT * nodes + 1.0)
        coarseness = np.array(self._coarseness)
        weights = left_then**-2.0 / coarseness
        weights /= weights.sum()
        whole = float(weights @ totals.mean(axis=1))
        left = max(whole - nodes, _LEAST_LEFT * nodes)
        factor = error_factor(np.array(self._left), self._items, weights, coarseness)
        return Remaining(left, left / factor, left * factor)
