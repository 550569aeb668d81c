"""Initial flowshop schedules: NEH, with all insertions of a job in O(jobs machines), and iterated greedy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

_SEARCHES = 16
_DESTROYED = 3
_TEMPERATURE = 0.4
_EXCHANGE_AFTER = 20
_WORK = 2_000_000
_MOST_ITERATIONS = 400  # of a few jobs, whose iterations take as long as those of ten


def makespan(times: NDArray[np.int64], order: Sequence[int] | NDArray[np.int64]) -> int:
    """Completion time of the last job on the last machine; ``times`` has shape (machines, jobs)."""
    return _completions(times.T[np.asarray(order, np.int64)].tolist(), len(times))[-1][-1]


def advanced(done: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """When each machine is done after one more job, of one or of several schedules; shape (machines, ...) all."""
    sums = np.cumsum(times, axis=0)
    return np.asarray(np.maximum.accumulate(done - (sums - times), axis=0) + sums)


def _completions(columns: Sequence[list[int]], machines: int) -> list[list[int]]:
    """When each machine is done with the first jobs, given by their times, from none of them on."""
    rows = [[0] * machines]
    for column in columns:
        at, row = 0, []
        for done, time in zip(rows[-1], column, strict=True):
            at = (at if at > done else done) + time
            row.append(at)
        rows.append(row)
    return rows


def _insertions(columns: list[list[int]], order: list[int], job: int) -> NDArray[np.int64]:
    """The makespan of the order with the job put before each position and at the end, shape (len(order) + 1,)."""
    machines = len(columns[job])
    head = np.array(_completions([columns[other] for other in order], machines))
    tail = np.array(_completions([columns[other][::-1] for other in reversed(order)], machines))[::-1, ::-1]
    reach = np.zeros(len(order) + 1, np.int64)
    longest = reach.copy()
    for machine, time in enumerate(columns[job]):
        reach = np.maximum(reach, head[:, machine]) + time
        longest = np.maximum(longest, reach + tail[:, machine])
    return longest


def _inserted(columns: list[list[int]], order: list[int], job: int) -> tuple[list[int], int]:
    """The order with the job at its best place, the first of equals, and the makespan."""
    values = _insertions(columns, order, job)
    place = int(values.argmin())
    return [*order[:place], job, *order[place:]], int(values[place])


def neh(times: NDArray[np.int64], expired: Callable[[], bool] = lambda: False) -> NDArray[np.int64]:
    """Jobs by falling total time, each inserted at its best place, or appended once time is up; shape (jobs,)."""
    columns = times.T.tolist()
    order: list[int] = []
    jobs = np.argsort(-times.sum(axis=0), kind="stable").tolist()
    for place, job in enumerate(jobs):
        if expired():
            order += jobs[place:]
            break
        order, _ = _inserted(columns, order, job)
    return np.array(order, np.int64)


def iterated_greedy(
    times: NDArray[np.int64], start: NDArray[np.int64], seed: int, expired: Callable[[], bool] = lambda: False
) -> NDArray[np.int64]:
    """Searches side by side: remove random jobs, insert each at its best place, improve, accept; a number of times."""
    machines, jobs = times.shape
    random = np.random.Generator(np.random.PCG64(seed))
    search = _Searches(times, np.tile(start, (_SEARCHES, 1)), random, expired)
    temperature = max(1e-9, _TEMPERATURE * float(times.mean()) / 10)
    best, values = search.orders.copy(), search.values.copy()
    iterations = min(_MOST_ITERATIONS, max(2, _WORK // (jobs * (jobs * (40 + machines)))))
    for iteration in range(1, iterations + 1):
        if expired() or jobs < 2:
            break
        before, before_values = search.orders, search.values
        search.destroy_and_construct(min(_DESTROYED, jobs - 1))
        search.improve()
        better = search.values < values
        best[better], values[better] = search.orders[better], search.values[better]
        worse = np.maximum(0, search.values - before_values)
        rejected = random.random(_SEARCHES) >= np.exp(-worse / temperature)
        search.orders = np.where(rejected[:, None], before, search.orders)
        search.values = np.where(rejected, before_values, search.values)
        if iteration % _EXCHANGE_AFTER == 0:
            behind = np.argsort(values, kind="stable")[-(_SEARCHES // 4) :]
            leader = int(values.argmin())
            search.orders[behind], search.values[behind] = best[leader], values[leader]
    return np.asarray(best[int(values.argmin())])


class _Searches:
    """Schedules of several searches, shape (searches, jobs), and their makespans; every step is one for all."""

    def __init__(
        self,
        times: NDArray[np.int64],
        orders: NDArray[np.int64],
        random: np.random.Generator,
        expired: Callable[[], bool],
    ) -> None:
        self.orders = orders
        self.values = np.full(len(orders), makespan(times, orders[0]), np.int64)
        self._random = random
        self._expired = expired
        self._forward = _Chain(np.ascontiguousarray(times.T))
        self._backward = _Chain(np.ascontiguousarray(times[::-1].T))

    def destroy_and_construct(self, count: int) -> None:
        """Remove random jobs, and insert each at its best place."""
        searches, jobs = self.orders.shape
        shuffled = self._random.permuted(np.tile(np.arange(jobs), (searches, 1)), axis=1)
        taken = np.take_along_axis(self.orders, shuffled[:, :count], axis=1)
        left = np.take_along_axis(self.orders, np.sort(shuffled[:, count:], axis=1), axis=1)
        for index in range(count):
            left, self.values = self._inserted(left, taken[:, index])
        self.orders = left

    def improve(self) -> None:
        """Move every job, in random order, to its best place, where that is better or, at random, as good."""
        searches, jobs = self.orders.shape
        sequence = self._random.permuted(np.tile(np.arange(jobs), (searches, 1)), axis=1)
        for index in range(jobs):
            if self._expired():
                return
            job = sequence[:, index]
            without = self.orders[self.orders != job[:, None]].reshape(searches, jobs - 1)
            moved, values = self._inserted(without, job)
            kept = values <= self.values
            self.orders = np.where(kept[:, None], moved, self.orders)
            self.values = np.where(kept, values, self.values)

    def _inserted(
        self, orders: NDArray[np.int64], job: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each order with its job at its best place, of equals a random one, and the makespans."""
        searches, placed = orders.shape
        heads = self._forward.completions(orders)
        tails = self._backward.completions(orders[:, ::-1])[::-1, :, ::-1]
        values = (self._forward.after(heads, job) + tails).max(axis=2)
        ties = values * 2.0 + self._random.random(values.shape)  # the same order as the values, which are whole
        place = ties.argmin(axis=0)
        columns = np.arange(placed + 1)
        source = np.clip(columns - (columns > place[:, None]), 0, max(0, placed - 1))
        made = np.take_along_axis(orders, source, axis=1) if placed else np.empty((searches, 1), np.int64)
        rows = np.arange(searches)
        made[rows, place] = job
        return made, values[place, rows]


class _Chain:
    """Completion times of many schedules: as :func:`advanced`, with the sums of all jobs' times made once."""

    def __init__(self, columns: NDArray[np.int64]) -> None:
        self._sums = np.cumsum(columns, axis=1)
        self._before = self._sums - columns

    def after(self, done: NDArray[np.int64], job: NDArray[np.int64]) -> NDArray[np.int64]:
        """When each machine is done with a job too; ``done`` of shape (..., searches, machines)."""
        reach: NDArray[np.int64] = np.maximum.accumulate(done - self._before[job], axis=-1)
        reach += self._sums[job]
        return reach

    def completions(self, orders: NDArray[np.int64]) -> NDArray[np.int64]:
        """When each machine is done with the first jobs of each order, shape (jobs + 1, searches, machines)."""
        searches, jobs = orders.shape
        done = np.zeros((jobs + 1, searches, self._sums.shape[1]), np.int64)
        for place in range(jobs):
            done[place + 1] = self.after(done[place], orders[:, place])
        return done
