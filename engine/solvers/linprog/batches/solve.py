"""A family of small dense programs, distributed over the devices of a pool, with its audits."""

import queue
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from ....base.result import Result, Status
from ....devices import DevicePool
from ....devices.host import host_cores
from ....devices.pool.group import WorkerGroup
from ..interior.driver import Counters
from ..methods.at_once import winner_arrays
from ..options import Options
from ..problem import LinearProgram
from ..verification.verdict import Verdict, judge_by_highs
from .family import Family
from .results import Solved
from .together import TogetherWorker, together_bytes


def solve_family(
    pool: DevicePool, family: Family, options: Options, backend: str, progress: Callable[[int], None]
) -> Solved:
    """Solve all programs of a family whose shape :func:`~engine.solvers.linprog.batches.together.fits`."""
    began = time.perf_counter()
    members = pool.members[: max(1, min(len(pool), len(family)))]
    m, n = family.A.shape[1:]
    shares = [np.arange(rank, len(family), len(members)) for rank in range(len(members))]
    sizes = [
        together_bytes(member.info.capabilities, share.size, m, n, family.shared)
        for member, share in zip(members, shares, strict=True)
    ]
    pool.require_memory(
        {member.label: size for member, size in zip(members, sizes, strict=True)},
        "the batch",
        "add devices, or use one with more memory",
    )
    scales = family.scales() if options.scale else (np.ones((1, m)), np.ones((1, n)))
    found: queue.SimpleQueue[int] = queue.SimpleQueue()
    given = (family, scales, options.tolerance, options.max_iterations)
    with WorkerGroup(members, TogetherWorker, [given] * len(members)) as group:
        futures = {
            rank: group.submit(rank, TogetherWorker.solve, share, found.put) for rank, share in enumerate(shares)
        }
        points = group.gather_counting(futures, found, progress)
    order = np.argsort(np.concatenate(shares))
    x, y, iterations = (np.concatenate([points[rank][place] for rank in sorted(points)])[order] for place in range(3))
    x, y, audits = family.audit(x, y)
    return Solved(
        family=family,
        x=x,
        y=y,
        audits=audits,
        iterations=iterations,
        good=audits.error <= options.tolerance,
        seconds=time.perf_counter() - began,
        device_bytes=max(sizes),
        backend=backend,
        devices=tuple(member.label for member in members),
    )


_LARGEST, _LARGEST_SPARSE = 20_000, 100_000  # nonzeros: HiGHS then takes less time than a single solving on a device
_MOST_THREADS = 8


def solved_by_highs(
    programs: Mapping[int, Callable[[], LinearProgram]], options: Options
) -> Iterator[tuple[int, Result]]:
    """Solve programs with several threads; the results, as they are known, that are optima or have certificates."""
    threads = ThreadPoolExecutor(max(1, min(_MOST_THREADS, host_cores())))
    try:
        solved = threads.map(lambda make: _solved(make(), options), programs.values())
        yield from ((index, found) for index, found in zip(programs, solved, strict=True) if found is not None)
    finally:
        threads.shutdown(cancel_futures=True)


def _solved(problem: LinearProgram, options: Options) -> Result | None:
    if problem.nonzeros > (_LARGEST_SPARSE if problem.is_sparse else _LARGEST):
        return None
    began = time.perf_counter()
    verdict = Verdict(problem, options.acceptable)
    judge_by_highs(problem, verdict, lambda: None)
    if verdict.proof is None and not verdict.best_is(options.tolerance):
        return None
    counters: Counters = {"rows": problem.m, "variables": problem.n}
    result = replace(verdict.result(Status.ITERATION_LIMIT, options, counters), seconds=time.perf_counter() - began)
    result.arrays.update(winner_arrays(verdict, "HiGHS simplex alone, in a batch", ["HiGHS simplex"]))
    return result
