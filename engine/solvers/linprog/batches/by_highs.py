"""Small programs that a device has left without an answer, solved by HiGHS on the host."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from ....base.result import Result, Status
from ....devices.host import host_cores
from ..interior.driver import Counters
from ..options import Options
from ..problem import LinearProgram
from ..verification.by_highs import judge_by_highs
from ..verification.verdict import Verdict

__all__ = ["solved_by_highs"]

_LARGEST, _LARGEST_SPARSE = 20_000, 100_000  # nonzeros: HiGHS then takes less time than a single solving on a device
_MOST_THREADS = 8


def solved_by_highs(
    programs: Mapping[int, Callable[[], LinearProgram]], options: Options
) -> Iterator[tuple[int, Result]]:
    """Solve programs with several threads; the results as they are known, of those that have an answer.

    An answer is an optimum that passes the audit, or *infeasible* or *unbounded* with a checked certificate.
    """
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
    error = np.nan if verdict.proof is not None or verdict.best is None else verdict.best.audit.error
    result.arrays["method"] = np.array("HiGHS simplex alone, in a batch")
    result.arrays["racers"] = np.array(["HiGHS simplex"])
    result.arrays["racer_outcomes"], result.arrays["racer_errors"] = np.array(["won"]), np.array([error])
    return result
