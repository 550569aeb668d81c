"""Which algorithm solves a problem, by its class: items under one constraint or several, or stages with options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...base.solver import LazyImport
from .choice.problems import MultipleChoiceKnapsack
from .constraints.problem import MultidimensionalKnapsack
from .problem import Knapsack

if TYPE_CHECKING:
    from ...base.batch import BatchControl
    from ...base.context import RunContext
    from ...base.result import Result
    from ...devices import DeviceInfo, DevicePool
    from ...devices.kernels.variants import Variant

__all__ = ["kernel_variants", "solve", "solve_batch", "validate"]

_MODULES = {Knapsack: "solve", MultidimensionalKnapsack: "constraints.solve", MultipleChoiceKnapsack: "choice.solve"}


def _module(problem: Any) -> str:
    """Where a problem's algorithm is; it is imported when the first problem of its kind is solved."""
    return next(f"{__package__}.{module}" for kind, module in _MODULES.items() if isinstance(problem, kind))


def solve(problem: Any, options: Any, pool: DevicePool, run: RunContext) -> Result:
    """Solve a problem of any class of this solver.

    Parameters
    ----------
    problem : Problem
    options : SolverOptions
        The model for its class.
    pool : DevicePool
    run : RunContext
    """
    result: Result = LazyImport(_module(problem), "solve")(problem, options, pool, run)
    return result


def validate(problem: Any, options: Any, devices: Sequence[DeviceInfo]) -> None:
    """Check what joins a problem of any class, its options and the devices.

    Parameters
    ----------
    problem : Problem
    options : SolverOptions
        The model for its class.
    devices : sequence of DeviceInfo
    """
    LazyImport(_module(problem), "validate")(problem, options, devices)


def solve_batch(problems: Sequence[Any], options: Any, pool: DevicePool, control: BatchControl) -> Mapping[int, Result]:
    """Solve problems of one class together, where its algorithm can.

    Parameters
    ----------
    problems : sequence of Problem
    options : SolverOptions
    pool : DevicePool
    control : BatchControl

    Returns
    -------
    mapping of int to Result
        By place; what is missing is to be solved alone.
    """
    if not all(isinstance(problem, Knapsack) for problem in problems):
        return {}
    solve_together = LazyImport(f"{__package__}.batch.solve", "solve_batch")
    results: dict[int, Result] = solve_together(problems, options, pool, control)
    return results


def kernel_variants() -> Iterator[Variant]:
    """Every template with every set of constants that a device may ask for."""
    for module in ("programs", "choice.table", "bits.worker", "constraints.worker"):
        yield from LazyImport(f"{__package__}.{module}", "kernel_variants")()
