"""Initial flowshop schedules: NEH, and iterated greedy.

References
----------
M. Nawaz, E. E. Enscore, I. Ham, "A heuristic algorithm for the m-machine, n-job flow-shop sequencing problem",
Omega 11 (1983) 91-95.
E. Taillard, "Some efficient heuristic methods for the flow shop sequencing problem", European Journal of Operational
Research 47 (1990) 65-74 (all insertions of a job in O(jobs machines)).
R. Ruiz, T. Stuetzle, "A simple and effective iterated greedy algorithm for the permutation flowshop scheduling
problem", European Journal of Operational Research 177 (2007) 2033-2049.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["iterated_greedy", "makespan", "neh"]

_DESTROYED = 4
_TEMPERATURE = 0.4
_WORK = 2_000_000


def makespan(times: NDArray[np.int64], order: Sequence[int] | NDArray[np.int64]) -> int:
    """Completion time of the last job on the last machine; ``times`` has shape (machines, jobs)."""
    done = [0] * len(times)
    for column in times.T[np.asarray(order, np.int64)].tolist():
        at = 0
        for machine, time in enumerate(column):
            at = max(at, done[machine]) + time
            done[machine] = at
    return done[-1]


def _insertions(columns: list[list[int]], order: list[int], job: int) -> NDArray[np.int64]:
    """The makespan of the order with the job put before each position and at the end, shape (len(order) + 1,)."""
    machines = len(columns[0])
    heads = [[0] * machines]
    for other in order:
        at, row = 0, []
        for done, time in zip(heads[-1], columns[other], strict=True):
            at = (at if at > done else done) + time
            row.append(at)
        heads.append(row)
    tails = [[0] * machines]
    for other in reversed(order):
        at, row = 0, []
        for done, time in zip(reversed(tails[-1]), reversed(columns[other]), strict=True):
            at = (at if at > done else done) + time
            row.append(at)
        tails.append(row[::-1])
    head, tail = np.array(heads), np.array(tails[::-1])
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


def _never() -> bool:
    return False


def neh(times: NDArray[np.int64], expired: Callable[[], bool] = _never) -> NDArray[np.int64]:
    """Jobs by decreasing total time, each inserted where the makespan so far is least; shape (jobs,).

    Once ``expired`` returns True, the remaining jobs are appended in that order.
    """
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
    times: NDArray[np.int64], start: NDArray[np.int64], seed: int, expired: Callable[[], bool] = _never
) -> NDArray[np.int64]:
    """Remove a few random jobs, insert each at its best place, improve by insertions, accept at a low temperature.

    Parameters
    ----------
    times : ndarray of int64, shape (machines, jobs)
    start : ndarray of int64, shape (jobs,)
    seed : int
        The same seed gives the same schedule; the number of iterations depends on the instance's size alone.
    expired : callable
        Whether to return the best schedule so far; asked before every insertion of a job.

    Returns
    -------
    ndarray of int64, shape (jobs,)
        The best order seen.
    """
    machines, jobs = times.shape
    columns = times.T.tolist()
    random = np.random.Generator(np.random.PCG64(seed))
    order = start.tolist()
    value = makespan(times, order)
    best, best_value = order, value
    temperature = _TEMPERATURE * float(times.mean()) / 10
    for _ in range(_WORK // (jobs * jobs * machines + 200 * jobs)):
        trial = list(order)
        if expired():
            break
        taken = [trial.pop(int(random.integers(len(trial)))) for _ in range(min(_DESTROYED, jobs - 1))]
        for job in taken:
            trial, trial_value = _inserted(columns, trial, job)
        trial, trial_value = _improved(columns, trial, makespan(times, trial), random, expired)
        worse = trial_value - value
        if worse <= 0 or (temperature > 0 and random.random() < math.exp(-worse / temperature)):
            order, value = trial, trial_value
        if value < best_value:
            best, best_value = order, value
    return np.array(best, np.int64)


def _improved(
    columns: list[list[int]],
    order: list[int],
    value: int,
    random: np.random.Generator,
    expired: Callable[[], bool],
) -> tuple[list[int], int]:
    """Move every job, in random order, to its best place, until a whole round improves nothing or time is up."""
    improving = True
    while improving:
        improving = False
        for job in random.permutation(len(order)).tolist():
            if expired():
                return order, value
            without = [other for other in order if other != job]
            moved, moved_value = _inserted(columns, without, job)
            if moved_value < value:
                order, value, improving = moved, moved_value, True
    return order, value
