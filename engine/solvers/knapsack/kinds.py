"""Which algorithm solves a problem, by its class: items under one constraint, or stages with options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.batch import BatchControl
from engine.devices import DeviceInfo, DevicePool
from engine.devices.variants import Variant
from engine.results import Result
from engine.run import Run
from engine.solvers.knapsack import programs
from engine.solvers.knapsack import solve as one_constraint
from engine.solvers.knapsack.batch import solve as batch
from engine.solvers.knapsack.bits import worker
from engine.solvers.knapsack.choice import solve as choice
from engine.solvers.knapsack.choice import table
from engine.solvers.knapsack.problem import Knapsack

__all__ = ["kernel_variants", "solve", "solve_batch", "validate"]


def solve(problem: Any, options: Any, pool: DevicePool, run: Run) -> Result:
    """Solve a problem of any class of this solver."""
    algorithm = one_constraint.solve if isinstance(problem, Knapsack) else choice.solve
    return algorithm(problem, options, pool, run)


def validate(problem: Any, options: Any, devices: Sequence[DeviceInfo]) -> None:
    """Check what joins a problem of any class, its options and the devices."""
    check = one_constraint.validate if isinstance(problem, Knapsack) else choice.validate
    check(problem, options, devices)


def solve_batch(problems: Sequence[Any], options: Any, pool: DevicePool, control: BatchControl) -> Mapping[int, Result]:
    """Solve problems of one class together, where its algorithm can."""
    together = all(isinstance(problem, Knapsack) for problem in problems)
    return batch.solve_batch(problems, options, pool, control) if together else {}


def kernel_variants() -> Iterator[Variant]:
    """Every template with every set of constants that a device may ask for."""
    yield from programs.kernel_variants()
    yield from table.kernel_variants()
    yield from worker.kernel_variants()
