"""Knapsack problems on several devices, for ``quintet bench knapsack --scaling``."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...base.result import Result
from ...generators.knapsack import GeneratorOptions, InstanceType, generate
from ...reports.scaling import ScalingCase, mapping_case, solving_case
from ...reports.scaling_model import Exchange
from ...solvers.knapsack.problem import Knapsack

_REACH = 3e5  # about the weight between two exchanges of the dense table
_MOVED = 0.03  # about the share of a sparse table's cells that two devices exchange


def scaling_cases(quick: bool) -> Iterator[ScalingCase]:
    """What shows how several devices share a table: the dense one by variants, the sparse one, and a batch."""
    for n in (3000,) if quick else (100_000, 400_000):
        problem = _made("strongly-correlated", n, 1000)
        for variant in ("tiles", "auto"):
            options: dict[str, Any] = {"variant": variant, "reduce": False, "items": False}
            if quick:
                options["minimum_share"] = 1000
            yield _case(f"n = {n} {variant}", problem, options)
        yield _case(f"n = {n} items", problem, {"reduce": False, **({"minimum_share": 1000} if quick else {})})
    n, most = (300, 10**6) if quick else (2000, 10**8)
    sparse = {"variant": "sparse", "reduce": False}
    yield _case(f"sparse, n = {n}", _made("weakly-correlated", n, most), sparse, _exchange_of_tiles(n))
    count = 64 if quick else 20_000
    yield mapping_case(
        f"batch of {count}",
        lambda: [generate(GeneratorOptions(type="strongly-correlated", n=100, seed=seed)) for seed in range(count)],
        {},
    )


def _made(kind: InstanceType, n: int, most: int) -> Callable[[], Knapsack]:
    return lambda: generate(GeneratorOptions(type=kind, n=n, max_weight=most, seed=1))


def _exchange_of_tiles(n: int) -> Callable[[Result], Callable[[int], Exchange]]:
    return lambda result: lambda devices: Exchange(2 * n, _MOVED * 4 * result.counters["cells"])


def _case(
    name: str,
    problem: Callable[[], Knapsack],
    given: Mapping[str, Any],
    tiles: Callable[[Result], Callable[[int], Exchange]] | None = None,
) -> ScalingCase:
    def exchange(result: Result) -> Callable[[int], Exchange]:
        weight = float(problem().weights.sum())
        return lambda devices: Exchange(weight / _REACH, 4 * weight)

    return solving_case(
        name,
        problem,
        given,
        _answer,
        warm={"time_limit": 1.0},
        exchange=tiles or exchange,
        repeated=("trace_tiles", "trace_rows", "trace", "trace_step"),
    )


def _answer(result: Result) -> Mapping[str, Any]:
    return {"objective": result.objective, "status": str(result.status)}
