"""A family of small dense programs, distributed over the devices of a pool, with its audits."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable

import numpy as np

from ....devices import DevicePool
from ....devices.pool.group import WorkerGroup
from ..options import Options
from .audits import audit_family
from .family import Family
from .results import Solved
from .together import TogetherWorker, together_bytes

__all__ = ["solve_family"]


def solve_family(
    pool: DevicePool, family: Family, options: Options, backend: str, progress: Callable[[int], None]
) -> Solved:
    """Solve all programs of a family whose shape :func:`~engine.solvers.linprog.batches.together.fits`.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If a device's share does not fit.
    """
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
        for future in futures.values():
            future.add_done_callback(lambda _: found.put(0))
        done = 0
        while not all(future.done() for future in futures.values()) or not found.empty():
            done += found.get()
            progress(done)
        points = group.gather(futures)
    chosen = np.concatenate(shares)
    order = np.argsort(chosen)
    x, y, iterations = (np.concatenate([points[rank][place] for rank in sorted(points)])[order] for place in range(3))
    audits = audit_family(family, chosen[order], x, y)
    return Solved(
        family=family,
        chosen=chosen[order],
        audits=audits,
        iterations=iterations,
        good=audits.error <= options.tolerance,
        seconds=time.perf_counter() - began,
        device_bytes=max(sizes),
        backend=backend,
        devices=tuple(member.label for member in members),
    )
