"""A cluster whose messages are lost, late or repeated at the k-th of them, and whose workers die.

The coordinator, the run and its folder are the product's. The workers search permutations by a table of all leaves, so
that a task takes no time; the clock is virtual.
"""

import functools
import itertools
from random import Random

import numpy as np

from engine.base.division import ClusterInfo
from engine.benchmarks.cluster.simulation import SimulatedTransport
from engine.errors import ClusterError, DeviceError
from engine.execution.dask.coordinator import Coordinator, Timing
from engine.execution.dask.transport import Answered, Left, Lost
from engine.solvers.branch_and_bound.division import DividedSearch, pack, unpack
from engine.solvers.branch_and_bound.intervals import Units, digits_of
from engine.solvers.branch_and_bound.validate import tree_of
from tests.support.searching import aligned, number_of

SEED = 7

_TIMING = Timing(first=1.0, longest=3.0, least=0.2, patience=16.0, backup=8.0, grace=3.0)
_LATE_SECONDS = 40.0
_MOST_LOOKS = 50_000  # for messages, of some hundreds in most histories


class FaultyTransport(SimulatedTransport):
    """Workers whose messages and orders are counted, and fail as a plan says."""

    def __init__(self, count, compute, plan, seed):
        super().__init__(count, compute, seed=seed)
        self._plan = plan

    def submit(self, number, work, seconds, shared):
        """Orders may be lost, or be taken twice."""
        point = self._plan.due("order")
        for _ in range({"lost": 0, "twice": 2}.get(point or "", 1)):
            super().submit(number, work, seconds, shared)

    def messages(self, timeout):
        """What has come, but for what a fault has done to it."""
        if self._plan.due("receive") is not None:
            raise ClusterError("the connection to the scheduler is lost")
        assert self._plan.counts["receive"] < _MOST_LOOKS, "the coordinator does not end"
        found = []
        for message in super().messages(timeout):
            worker = getattr(message, "worker", "")
            if worker in self._avoided:  # it is heard of again
                self._avoided.discard(worker)
                self._labels = None
            point = self._plan.due("message")
            found += [message] if point is None else self._spoilt(point, message, worker)
        return found

    def _spoilt(self, point, message, worker):
        match point:
            case "lost":
                return []
            case "twice":
                return [message, message]
            case "late":
                self._at(_LATE_SECONDS, functools.partial(self._arrived_now, message))
                return []
            case "wrong" if isinstance(message, Answered):
                return [Answered(message.number, worker, _spoilt_answer(message.answer), message.seconds)]
            case "fails" if isinstance(message, Answered):
                return [Lost(message.number, DeviceError("the device has fallen off the bus"), True, worker)]
            case "leaves":
                return [message, Left(worker)]
            case "dies" | "freezes":
                self._struck(self._workers.get(worker), point)
        return [message]

    def _struck(self, worker, point):
        if worker is None or worker.task is None:
            return
        if point == "freezes":
            worker.frozen = True
        else:
            self._kill(worker, worker.task)


def _spoilt_answer(answer):
    """An answer that does not add up."""
    return {**answer, "explored": [answer["explored"][0] + 1, *answer["explored"][1:]]}


@functools.cache
def _permutations(n):
    return list(itertools.permutations(range(n)))


@functools.cache
def _queens(n):
    """How many solutions are before each leaf."""
    whole = [
        len({row + column for column, row in enumerate(p)}) == n == len({row - column for column, row in enumerate(p)})
        for p in _permutations(n)
    ]
    return tuple(itertools.accumulate(whole, initial=0))


class TableWorkers:
    """Tasks of a search, by a table of all leaves."""

    def __init__(self, problem, options, rate):
        self._tree, self._rate = tree_of(problem, options), rate
        self.n = self._tree.items
        self._values = {}

    def compute(self, worker, work, seconds, shared):
        """How long a task takes, and its answer."""
        units = unpack(work["batches"], self.n)
        most = max(1, int(seconds * self._rate))
        done, solutions, left, first = 0, 0, [], False
        upper, best = min(work["upper"], work["upper"] if shared is None else shared), None
        for begin, end in zip(map(number_of, units.begin), map(number_of, units.end), strict=True):
            stop = min(end, begin + most - done)
            first |= begin == 0 and stop > 0
            if self._tree.counts:
                solutions += _queens(self.n)[stop] - _queens(self.n)[begin]
            else:
                for leaf in range(begin, stop):
                    if self._value(leaf) < upper:
                        upper, best = self._value(leaf), leaf
            done += stop - begin
            if stop < end:
                left.append(aligned(stop, end, self.n))
        bound = min(batch["bound"] for batch in work["batches"])
        return 0.1 + done / self._rate, {
            "explored": digits_of(done, self.n).astype(int).tolist(),
            "batches": pack(Units.joined([Units.none(self.n), *left]), bound, 4),
            "counters": {"nodes": done + first, "leaves": 0, "pushed": done, "solutions": solutions},
            "solution": None if best is None else list(_permutations(self.n)[best]),
            "value": upper,
        }

    def _value(self, leaf):
        if leaf not in self._values:
            self._values[leaf] = self._tree.evaluate(np.array(_permutations(self.n)[leaf]))
        return self._values[leaf]


def searched(plan, seed):
    """A solver of permutation problems on three workers."""

    def solve(problem, options, pool, run):
        workers = TableWorkers(problem, options, rate=Random(seed).choice([30.0, 60.0, 120.0]))
        parts = DividedSearch(problem, options, run, ClusterInfo(3, False))
        transport = FaultyTransport(3, workers.compute, plan, seed)
        return Coordinator(transport, run, parts, _TIMING, clock=transport.clock).solve()

    return solve
