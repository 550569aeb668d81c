"""``solve_batch``: the small ones among many knapsack problems, thousands in one launch."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from engine.devices import DevicePool, WorkerGroup
from engine.results import Result, Status
from engine.solvers.knapsack.batch.packed import Packed
from engine.solvers.knapsack.batch.worker import BatchWorker
from engine.solvers.knapsack.bounded import ZeroOne
from engine.solvers.knapsack.options import Options
from engine.solvers.knapsack.problem import Knapsack
from engine.solvers.knapsack.programs import BatchShapes

__all__ = ["solve_batch"]

_ROUTE = np.array("bounds and a table in local or device memory, one work-group a problem, in a batch")
_ROUTE.setflags(write=False)


def solve_batch(
    pool: DevicePool,
    problems: Sequence[Knapsack],
    options: Options,
    backend: str,
    progress: Callable[[int], None] = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
) -> dict[int, Result]:
    """Solve the small ones of many problems to optimality, distributed over the devices of a pool.

    A problem is small if it has at most :data:`~engine.solvers.knapsack.batch.packed.MOST_ITEMS` items (of those that
    fit and bring profit; a bounded problem as many packs of copies), a capacity of at most
    :data:`~engine.solvers.knapsack.batch.packed.MOST_CAPACITY`, and profits that sum to less than 2^30. If the options
    ask for a certain table, or for profiles, no problem is solved here.

    Parameters
    ----------
    pool : DevicePool
    problems : sequence of Knapsack
    options : Options
    backend : str
        For the results.
    progress : callable
        Called with the number of problems solved so far.
    stopped : callable
        Asked before each launch whether to begin no more.

    Returns
    -------
    dict of int to Result
        Optimal results by index; problems that were not solved here are left out. ``seconds`` are those of the batch.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If a device's share does not fit.
    engine.errors.AuditError
        If items that were found do not add up.
    """
    if not problems or options.variant != "auto" or options.profile or not options.reduce:
        return {}
    began = time.perf_counter()
    packs = {index: ZeroOne.of(problem) for index, problem in enumerate(problems) if problem.counts is not None}
    packed = Packed.of([packs[index].problem if index in packs else problem for index, problem in enumerate(problems)])
    cuts = np.linspace(0, len(packed), len(pool) + 1).astype(int).tolist()
    shares = [packed.part(first, end) for first, end in itertools.pairwise(cuts) if first < end]
    members = pool.members[: len(shares)]
    count = _Count(progress)
    results: dict[int, Result] = {}
    if not shares:
        return results
    arguments = [
        (BatchShapes.of(member.info.capabilities), share) for member, share in zip(members, shares, strict=True)
    ]
    with WorkerGroup(members, BatchWorker, arguments) as workers:
        found = workers.each(BatchWorker.solve, count.add, stopped)
    seconds = time.perf_counter() - began
    for member, share, answers in zip(members, shares, found, strict=True):
        items = share.chosen_items(answers.chosen, np.maximum(answers.profits, 0))
        columns = (share.indices, answers.profits, answers.open_items, answers.cells)
        for index, profit, open_items, cells, solution in zip(
            *(values.tolist() for values in columns), items, strict=True
        ):
            if profit < 0:  # not begun before the stop
                continue
            if index in packs:
                solution = packs[index].original(solution)
            counters: dict[str, int | float] = {
                "items": problems[index].n,
                "items_fixed": problems[index].n - open_items,
                "cells": cells,
            }
            results[index] = Result(
                Status.OPTIMAL,
                profit,
                profit,
                solution if options.items else None,
                seconds,
                backend=backend,
                devices=(member.label,),
                counters=counters,
                arrays={"route": _ROUTE},
            )
    return results


class _Count:
    """How many problems are solved, counted by the threads of several devices."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        self._progress = progress
        self._lock = threading.Lock()
        self._done = 0

    def add(self, count: int) -> None:
        """So many more."""
        with self._lock:
            self._done += count
            self._progress(self._done)
