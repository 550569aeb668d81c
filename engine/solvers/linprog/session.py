"""A system on the devices for as long as it is needed, and the method at work on it in slices."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.devices import Device, DevicePool
from engine.devices.info import bytes_text
from engine.run import SLICE_SECONDS, Run
from engine.solvers.linprog.device_shard import DeviceShard
from engine.solvers.linprog.interior import InteriorPoint, Measures, Settings
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.shard import ShardData, shard_bytes
from engine.solvers.linprog.sparse import sp
from engine.solvers.linprog.system import PoolSystem, System
from engine.solvers.linprog.unified_shard import device_shard
from engine.solvers.linprog.updates import updates_bytes

__all__ = ["Systems", "count", "iterate", "method_of"]

Vector = NDArray[np.float64]
Counters = dict[str, int | float]


class Systems:
    """A context with a system on the pool, its memory planned first; what it takes goes into ``counters``."""

    def __init__(self, data: ShardData, options: Options, pool: DevicePool, run: Run, counters: Counters) -> None:
        count = min(len(pool), data.n)
        nonzeros = int(data.A.nnz) // count if sp.issparse(data.A) else None
        needed, largest = shard_bytes(data.batch, data.m, -(-data.n // count), data.N - data.n, nonzeros)
        if options.linear_solver == "sherman_morrison":
            needed += updates_bytes(data.m, data.N)
        what = f"a factor of {data.m} x {data.m} ({bytes_text(8 * data.m**2)}) and a matrix of {data.m} x {data.n}"
        advice = "add devices, which share the matrix, or use one with more memory"
        pool.require_memory({member.label: needed for member in pool.members[:count]}, what, advice, largest=largest)
        counters["device_bytes"] = max(int(counters["device_bytes"]), needed)
        provider = None if options.provider == "auto" else options.provider

        def make(device: Device, part: ShardData) -> DeviceShard:
            return device_shard(device, part, provider, run.notice)

        self._system = PoolSystem(data, pool, make)

    def __enter__(self) -> PoolSystem:
        return self._system

    def __exit__(self, *_: object) -> None:
        self._system.close()


def method_of(system: System, b: Vector, options: Options) -> InteriorPoint:
    """The method that the options ask for, before its start."""
    settings = Settings(
        method=options.method,
        correctors=options.correctors,
        step=options.step,
        separate_steps=options.separate_steps,
        tolerance=options.tolerance,
    )
    return InteriorPoint(system, b, settings)


def iterate(method: InteriorPoint, most: int, note: Callable[[Measures], None] | None = None) -> Measures:
    """Iterations for the length of a slice, each noted; the measures of the last point."""
    began = time.perf_counter()
    while True:
        measures = method.measure()
        if note is not None:
            note(measures)
        if (method.done | method.stuck).all() or method.state.iteration >= most:
            return measures
        method.iterate()
        if time.perf_counter() - began >= SLICE_SECONDS:
            return measures


def count(counters: Counters, system: System, method: InteriorPoint) -> None:
    """Add what a method has taken."""
    counters["iterations"] += method.state.iteration
    counters["factorizations"] += system.factorizations
    counters["refinements"] += method.refinements
    if system.update_solves:
        counters["update_solves"] = system.update_solves
        counters["update_residual"] = system.worst_residual
    for name, seconds in system.seconds.items():
        counters[f"seconds_{name}"] = counters.get(f"seconds_{name}", 0.0) + seconds
