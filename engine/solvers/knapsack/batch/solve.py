"""``solve_batch``: the small ones among many knapsack problems, thousands in one launch."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from ....base.batch import BatchControl
from ....base.result import Result, Status
from ....devices import DevicePool, Member, WorkerGroup
from ..bounded import ZeroOne
from ..options import Options
from ..problem import Knapsack
from ..programs import BatchShapes
from .packed import MOST_CAPACITY, Packed
from .worker import Answers, BatchWorker

__all__ = ["solve_batch"]

_ROUTE = np.array("bounds and a table in local or device memory, one work-group a problem, in a batch")
_ROUTE.setflags(write=False)


def solve_batch(
    problems: Sequence[Knapsack], options: Options, pool: DevicePool, control: BatchControl
) -> dict[int, Result]:
    """Solve the small ones (see :class:`.packed.Packed`) of many problems together, divided among devices."""
    if (
        not problems
        or options.variant != "auto"
        or options.profile
        or not options.reduce
        or options.initial is not None
    ):
        return {}
    began = time.perf_counter()
    packs = {place: ZeroOne.of(problem) for place, problem in enumerate(problems) if _is_packed(problem)}
    packed = Packed.of([packs[place].problem if place in packs else problem for place, problem in enumerate(problems)])
    cuts = np.linspace(0, len(packed), len(pool) + 1).astype(int).tolist()
    shares = [packed.part(first, end) for first, end in itertools.pairwise(cuts) if first < end]
    members = pool.members[: len(shares)]
    answers = _solve_shares(members, shares, control.progress)
    seconds = time.perf_counter() - began
    results: dict[int, Result] = {}
    for member, share, found in zip(members, shares, answers, strict=True):
        columns = (share.indices, found.profits, found.open_items, found.cells)
        solutions = share.chosen_items(found.chosen, found.profits)
        for place, profit, open_items, cells, solution in zip(
            *(values.tolist() for values in columns), solutions, strict=True
        ):
            counters: dict[str, int | float] = {
                "items": problems[place].n,
                "items_fixed": max(0, problems[place].n - open_items),  # at least, as open packs of copies are counted
                "cells": cells,
            }
            if place in packs:
                solution = packs[place].original(solution)
                profit += packs[place].free_profit
            optimum = problems[place].in_units(profit)
            results[place] = Result(
                Status.OPTIMAL,
                optimum,
                optimum,
                solution if options.items else None,
                seconds,
                control.seeds[place],
                control.backend,
                (member.label,),
                counters,
                {"route": _ROUTE},
            )
    return results


def _is_packed(problem: Knapsack) -> bool:
    """Whether the problem stated otherwise is one that a batch can solve: counts, no weight, or smaller weights."""
    if problem.counts is not None or problem.capacity > MOST_CAPACITY:
        return True
    return int(np.count_nonzero(problem.weights)) < problem.n


def _solve_shares(
    members: Sequence[Member], shares: Sequence[Packed], progress: Callable[[int], None]
) -> list[Answers]:
    """The answers of each member's share; ``progress`` is called on this thread."""
    solved: queue.SimpleQueue[int] = queue.SimpleQueue()
    stop = threading.Event()
    shapes = [BatchShapes.of(member.info.capabilities) for member in members]
    with WorkerGroup(members, BatchWorker, list(zip(shapes, shares, strict=True))) as workers:
        futures = {
            index: workers.submit(index, BatchWorker.solve, solved.put, stop.is_set) for index in range(len(members))
        }
        try:
            for future in futures.values():
                future.add_done_callback(lambda _: solved.put(0))
            done = 0
            while not all(future.done() for future in futures.values()) or not solved.empty():
                done += solved.get()
                progress(done)
        except BaseException:
            stop.set()
            raise
        return list(workers.gather(futures).values())
