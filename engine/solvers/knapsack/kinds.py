"""Which algorithm solves a problem, by its class: items under one constraint or several, or stages with options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .constraints.problem import MultidimensionalKnapsack
from .problem import Knapsack

if TYPE_CHECKING:
    from types import ModuleType

    from ...base.batch import BatchControl
    from ...base.context import RunContext
    from ...base.result import Result
    from ...devices import DeviceInfo, DevicePool
    from ...devices.kernels.variants import Variant

__all__ = ["kernel_variants", "solve", "solve_batch", "validate"]


def _method(problem: Any) -> ModuleType:
    """The algorithm for a problem, imported when the first of its class is solved."""
    if isinstance(problem, Knapsack):
        from . import solve as single

        return single
    if isinstance(problem, MultidimensionalKnapsack):
        from .constraints import solve as constrained

        return constrained
    from .choice import solve as chosen

    return chosen


def solve(problem: Any, options: Any, pool: DevicePool, run: RunContext) -> Result:
    """Solve a problem of any class of this solver."""
    result: Result = _method(problem).solve(problem, options, pool, run)
    return result


def validate(problem: Any, options: Any, devices: Sequence[DeviceInfo]) -> None:
    """Check what joins a problem of any class, its options and the devices."""
    _method(problem).validate(problem, options, devices)


def solve_batch(problems: Sequence[Any], options: Any, pool: DevicePool, control: BatchControl) -> Mapping[int, Result]:
    """Solve problems of one class together, where its algorithm can: results by place, without the others."""
    if not all(isinstance(problem, Knapsack) for problem in problems):
        return {}
    from .batch.solve import solve_batch as solve_together

    return solve_together(problems, options, pool, control)


def kernel_variants() -> Iterator[Variant]:
    """Every template with every set of constants that a device may ask for."""
    from . import programs
    from .bits import worker as bits
    from .choice import table
    from .constraints import worker as constraints

    for module in (programs, table, bits, constraints):
        yield from module.kernel_variants()
