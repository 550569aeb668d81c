"""Linear programs on several devices, for ``quintet bench linprog --scaling``.

The interior-point method divides the columns of A among the devices; the first one factorises. PDHG uses one device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...base.result import Result
from ...generators.linprog import GeneratorOptions, generate
from ...reports.scaling import ScalingCase, mapping_case, rounded, solving_case
from ...reports.scaling_model import Exchange
from ...solvers.linprog.problem import LinearProgram

__all__ = ["scaling_cases"]

_ROUNDS = 12  # of an iteration
_REPEATED = ("factor_panel", "factor_diagonal", "solve_panel", "solve_lower", "solve_lower_transposed", "mirror")


def scaling_cases(quick: bool) -> Iterator[ScalingCase]:
    """Dense programs and a batch.

    Parameters
    ----------
    quick : bool
        Seconds on a CPU; otherwise seconds on a GPU.
    """
    for m, n in ((150, 400),) if quick else ((4000, 16_000), (10_000, 20_000)):
        yield _case(m, n)
    count = 16 if quick else 4000
    yield mapping_case(
        f"batch of {count}",
        lambda: [generate(GeneratorOptions(m=20, n=40, seed=seed)) for seed in range(count)],
        {"method": "mpc"},
    )


def _case(m: int, n: int) -> ScalingCase:
    def exchange(result: Result) -> Callable[[int], Exchange]:
        iterations = float(result.counters["iterations"])
        return lambda devices: Exchange(_ROUNDS * iterations, iterations * (devices - 1) * 4.0 * m * m)

    def problem() -> LinearProgram:
        return generate(GeneratorOptions(m=m, n=n, seed=1))

    return solving_case(
        f"dense {m} x {n}",
        problem,
        {"method": "mpc"},
        _answer,
        warm={"time_limit": 0.5},
        exchange=exchange,
        repeated=_REPEATED,
    )


def _answer(result: Result) -> Mapping[str, Any]:
    return {"status": str(result.status), "objective": rounded(result.objective)}
