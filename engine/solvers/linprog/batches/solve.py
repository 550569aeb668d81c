"""Batches: linear programs that take every step of the interior-point method together.

They are dense ones of equal shape, or sparse ones of equal pattern.
"""

from __future__ import annotations

import hashlib
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.result import Result, Status
from ....devices import Device, DevicePool, Member
from ..forms.standard import Prepared, prepare, shard_data
from ..interior.dense_columns import DenseColumns
from ..interior.driver import add_counters, iterate, new_method
from ..interior.host_memory import make_shard
from ..interior.method import LEAST_GOAL, InteriorPoint
from ..interior.products import MAPPED_PRODUCTS, lower_pattern
from ..interior.shard import shard_bytes, with_slacks
from ..interior.sparse_cholesky import is_nearly_dense
from ..interior.system import System
from ..multifrontal.ordering import best_tree
from ..options import Options
from ..problem import LinearProgram, sp
from ..verification.outcome import AuditedPoint
from .equations import PatternEquations
from .stack import Stack

MADE_DENSE = 40_000  # entries, zeros counted, up to which sparse programs are batched as dense ones
_PATTERN = 4  # programs of equal pattern from which they are solved together
_LARGEST = 100_000  # nonzeros of such a program: one that has more fills a device, or the host's cores, alone
_HOST_WORK, _GPU_WORK = 1e6, 1e8  # multiplications of a factor of one that is not solved faster alone
_TOGETHER = 2_000_000  # nonzeros of the programs that are solved at a time
_LATE = 2  # times the iterations of half of them, after which the others are left
_STACKED = 8  # programs of equal shape from which they are prepared and audited together

__all__ = ["MADE_DENSE", "BatchEntry", "batches", "solve_batch"]


@dataclass(frozen=True)
class BatchEntry:
    """A program of a batch, its index among all programs, and where it is in a stack."""

    index: int
    prepared: Prepared
    stack: Stack | None = None
    position: int = 0


def batches(problems: Sequence[LinearProgram], options: Options, gpu: bool = False) -> Iterator[list[BatchEntry]]:
    """Programs grouped by what they share in standard form; empty ones are left out.

    Dense and small sparse programs share their shape, other sparse ones their pattern.

    Parameters
    ----------
    problems : sequence of LinearProgram
    options : Options
    gpu : bool
        Whether the devices are GPUs: sparse factors may then take more work.
    """
    if options.linear_solver in ("auto", "cholesky"):
        yield from _dense_batches(problems, options)
    if options.linear_solver in ("auto", "sparse_cholesky", "multifrontal") and options.provider == "auto":
        yield from _sparse_batches(problems, options, gpu)


def _sparse_batches(problems: Sequence[LinearProgram], options: Options, gpu: bool) -> Iterator[list[BatchEntry]]:
    """Sparse programs of equal pattern that are not made dense."""
    chosen = options.linear_solver != "auto"
    small, work = (0, np.inf) if chosen else (MADE_DENSE, _GPU_WORK if gpu else _HOST_WORK)
    shapes: dict[tuple[int, int, int], list[int]] = {}
    for index, problem in enumerate(problems):
        if problem.is_sparse and problem.m * problem.n > small and problem.nonzeros <= _LARGEST:
            shapes.setdefault((problem.m, problem.n, problem.nonzeros), []).append(index)
    for indices in shapes.values():
        found: dict[bytes, list[BatchEntry]] = {}
        judged: dict[bytes, bool] = {}
        for index in indices if len(indices) >= _PATTERN else ():
            prepared = prepare(problems[index], scale=options.scale)
            if isinstance(prepared, Prepared) and prepared.standard.m and prepared.standard.n:
                pattern = _pattern(prepared)
                if pattern not in judged:
                    judged[pattern] = _is_worth_while(prepared, work)
                found.setdefault(pattern, []).append(BatchEntry(index, prepared))
            if judged and not any(judged.values()):  # not worth the preparation of the others
                break
        for pattern, entries in found.items():
            if len(entries) >= _PATTERN and judged[pattern]:
                most = _at_once(entries[0].prepared, gpu)
                yield from (entries[begin : begin + most] for begin in range(0, len(entries), most))


def _at_once(prepared: Prepared, gpu: bool) -> int:
    """How many programs of a pattern are solved at a time; the host keeps the products of their entries."""
    matrix = prepared.standard.A
    most = _TOGETHER // max(1, int(matrix.nnz))
    if not gpu:
        most = min(most, MAPPED_PRODUCTS // max(1, int((np.bincount(matrix.indices) ** 2).sum())))
    return max(_PATTERN, most)


def _pattern(prepared: Prepared) -> bytes:
    """What programs must have in common to share an analysis."""
    standard = prepared.standard
    standard.A.sort_indices()
    parts = np.array(standard.A.shape), standard.A.indptr, standard.A.indices, standard.sign
    return b"".join(hashlib.blake2b(np.ascontiguousarray(part).tobytes()).digest() for part in parts)


def _is_worth_while(prepared: Prepared, work: float) -> bool:
    """Whether no column is left out of a sparse factor, and it takes at most so many multiplications."""
    data = shard_data([prepared.standard])
    columns = sp.csc_array(with_slacks(data))
    if is_nearly_dense(data) or DenseColumns(columns).count:
        return False
    pattern = lower_pattern(columns)
    return best_tree(pattern.indices, pattern.indptr).multiplications <= work


def _dense_batches(problems: Sequence[LinearProgram], options: Options) -> Iterator[list[BatchEntry]]:
    shapes: dict[tuple[int, int], list[int]] = {}
    problems = [problem.to_dense() if problem.m * problem.n <= MADE_DENSE else problem for problem in problems]
    for index, problem in enumerate(problems):
        if not problem.is_sparse:
            shapes.setdefault((problem.m, problem.n), []).append(index)
    found: dict[Any, list[BatchEntry]] = {}
    for indices in shapes.values():
        for entry in _entries(problems, indices, options):
            standard = entry.prepared.standard
            key = (standard.m, standard.n, standard.sign.tobytes(), id(entry.stack))
            found.setdefault(key, []).append(entry)
    yield from found.values()


def _entries(problems: Sequence[LinearProgram], indices: Sequence[int], options: Options) -> Iterator[BatchEntry]:
    """Programs of equal shape in standard form; those without rows or variables are left out."""
    chosen = [problems[index] for index in indices]
    stacked = len(chosen) >= _STACKED and chosen[0].m > 0
    stack = Stack(chosen) if stacked else None
    for position, found in enumerate(stack.prepared(options.scale) if stack else [None] * len(chosen)):
        if found is not None:
            yield BatchEntry(indices[position], found, stack, position)
            continue
        alone = prepare(chosen[position], scale=options.scale)
        if isinstance(alone, Prepared) and alone.standard.m and alone.standard.n:
            yield BatchEntry(indices[position], alone)


def solve_batch(
    pool: DevicePool, batch: list[BatchEntry], options: Options, backend: str, progress: Callable[[int], None]
) -> dict[int, Result]:
    """Solve the programs of a batch, distributed evenly over the devices of a pool.

    Parameters
    ----------
    pool : DevicePool
    batch : list of BatchEntry
    options : Options
    backend : str
        For the results.
    progress : callable
        Called with the number of optima found so far.

    Returns
    -------
    dict of int to Result
        The optima by index; programs without one are left out.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If a device's share does not fit.
    """
    began = time.perf_counter()
    shares = [batch[rank :: len(pool)] for rank in range(min(len(pool), len(batch)))]
    members = pool.members[: len(shares)]
    sizes = [_share_bytes(share) for share in shares]
    pool.require_memory(
        {member.label: needed for member, (needed, _) in zip(members, sizes, strict=True)},
        "the batch",
        "pass fewer programs at once, or add devices",
        largest=max(largest for _, largest in sizes),
    )
    found: queue.SimpleQueue[int] = queue.SimpleQueue()
    tasks: list[Future[dict[int, Result]]] = [
        member.submit(_solve_share, share, options, needed, found.put)
        for member, share, (needed, _) in zip(members, shares, sizes, strict=True)
    ]
    results: dict[int, Result] = {}
    for done in _counted(tasks, found):
        progress(done)
    for task in tasks:
        results |= task.result()
    seconds = time.perf_counter() - began
    return {
        index: replace(result, seconds=seconds, backend=backend, devices=_labels(pool.members))
        for index, result in results.items()
    }


def _labels(members: Sequence[Member]) -> tuple[str, ...]:
    return tuple(member.label for member in members)


def _counted(tasks: Sequence[Future[Any]], found: queue.SimpleQueue[int]) -> Iterator[int]:
    """The number of optima found so far, repeatedly until all tasks have ended."""
    for task in tasks:
        task.add_done_callback(lambda _: found.put(0))
    done = 0
    while not all(task.done() for task in tasks) or not found.empty():
        done += found.get()
        yield done


def _share_bytes(share: list[BatchEntry]) -> tuple[int, int]:
    standard = share[0].prepared.standard
    if sp.issparse(standard.A):
        slacks, nonzeros = int((standard.sign != 0).sum()), len(share) * standard.A.nnz
        return shard_bytes(len(share), 0, standard.n, slacks, nonzeros)
    return shard_bytes(len(share), standard.m, standard.n, int((standard.sign != 0).sum()), None)


def _solve_share(
    device: Device, share: list[BatchEntry], options: Options, device_bytes: int, progress: Callable[[int], None]
) -> dict[int, Result]:
    """Solve a share on the device's thread; ``progress`` is called with the number of new optima after each slice."""
    standards = [entry.prepared.standard for entry in share]
    data = shard_data(standards)
    provider = None if options.provider == "auto" else options.provider
    shard = make_shard(device, data, provider)
    try:
        system = System(data, [shard])
        sparse = sp.issparse(standards[0].A)
        equations = PatternEquations(data, shard, options.linear_solver) if sparse else None
        if equations is not None:
            shard.owned.append(equations)
            system.normal_equations = equations
        with shard.session():
            method = new_method(system, np.stack([standard.b for standard in standards]), options)
            if equations is not None:
                equations.is_idle = lambda: method.done | method.stuck
            method.start()
            answers, iterations = _optima(share, method, options, progress)
    finally:
        shard.close()
    results = {}
    for k, answer in answers.items():
        names = "iterations", "factorizations", "refinements", "device_bytes"
        counters: dict[str, int | float] = dict.fromkeys(names, 0)
        add_counters(counters, system, method)
        counters["iterations"] = int(iterations[k])
        counters["device_bytes"] = max(device_bytes, counters["device_bytes"])
        counters |= {"rows": data.m, "variables": data.n}
        problem = share[k].prepared.problem
        result = answer.result(problem, options, Status.ITERATION_LIMIT, counters)
        result.arrays["method"] = np.array("mpc, in a batch")
        if result.status is Status.OPTIMAL:
            results[share[k].index] = result
    return results


def _optima(
    share: list[BatchEntry], method: InteriorPoint, options: Options, progress: Callable[[int], None]
) -> tuple[dict[int, AuditedPoint], NDArray[np.int64]]:
    """The audited points of the programs that reach their goal, and the iterations of each."""
    answers: dict[int, AuditedPoint] = {}
    iterations = np.zeros(len(share), np.int64)
    decided = np.zeros(len(share), bool)
    most = options.max_iterations

    def note(_: object) -> None:
        iterations[~(method.done | method.stuck)] = method.state.iteration + 1

    while True:
        iterate(method, most, note)
        new = method.done & ~decided
        if new.any():
            x = method.system.get_point()[0]
            chosen = np.flatnonzero(new)
            points = _audited(share, chosen, x[chosen], method.state.y[chosen])
            for k, point in zip(chosen.tolist(), points, strict=True):
                answers[k] = point
                decided[k] = answers[k].audit.error <= options.tolerance or method.goal[k] <= LEAST_GOAL
                if not decided[k]:  # good enough in standard form, not for the program as given
                    method.goal[k] *= 0.1
            progress(int((new & decided).sum()))
        if sp.issparse(share[0].prepared.standard.A) and 2 * int(decided.sum()) >= len(share):
            most = min(most, _LATE * method.state.iteration)  # the few that take longer are solved apart
        if (decided | method.stuck).all() or method.state.iteration >= most:
            return answers, iterations


def _audited(
    share: list[BatchEntry], chosen: NDArray[np.int64], x: NDArray[np.float64], y: NDArray[np.float64]
) -> list[AuditedPoint]:
    """Audits of the points (count, N), (count, m) of some entries."""
    n, stack = share[0].prepared.standard.n, share[0].stack
    if stack is not None:
        positions = np.array([share[k].position for k in chosen.tolist()])
        return stack.audited(positions, x[:, :n], y)
    return [
        AuditedPoint.of(share[k].prepared.problem, *share[k].prepared.from_standard(x[i, :n], y[i]))
        for i, k in enumerate(chosen.tolist())
    ]
