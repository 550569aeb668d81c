"""One population on several devices, for ``quintet bench boa --scaling``."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...base.result import Result
from ...reports.scaling import ScalingCase, mapping_case, solving_case
from ...reports.scaling_model import Exchange
from ...solvers.boa.problem import BOA

_ROUNDS = 6  # of a generation
_REPEATED = (
    "count_pairs",
    "select_best",
    "summarise",
    "plan_levels",
    "make_probabilities",
    "open_nodes",
    "draw_population",
)


def scaling_cases(quick: bool) -> Iterator[ScalingCase]:
    """What shows how several devices share a population: a number of generations, the same on any of them."""
    for genes, population in ((60, 2000),) if quick else ((2000, 600_000), (5000, 1_250_000)):
        yield _case(genes, population, 3 if quick else 40)
    count, genes = (4, 30) if quick else (64, 200)
    options = {"local_search": "none", "population": 600 if quick else 30_000, "max_parents": 4}
    yield mapping_case(f"batch of {count}", lambda: [BOA("trap-5", genes) for _ in range(count)], options, warm=2)


def _case(genes: int, population: int, generations: int) -> ScalingCase:
    given: dict[str, Any] = {
        "population": population,
        "max_parents": 4,
        "selection_fraction": 0.2,
        "local_search": "none",
        "max_generations": generations,
        "patience": generations,
        "target": genes + 1,
        "share": "always",
    }
    planes = (1.0 + 0.2 + 0.8) * population * genes / 8  # of the population, of those chosen and of the offspring

    def exchange(result: Result) -> Callable[[int], Exchange]:
        done = float(result.counters["generations"])
        return lambda devices: Exchange(_ROUNDS * done, planes * done * (devices - 1) / devices)

    def exchanged(result: Result, devices: int) -> float:
        if all(name.startswith("cuda") for name in result.devices):  # they read each other's memory
            return planes * result.counters["generations"] * (devices - 1)
        offspring = 0.8 * population * genes / 8  # of every device to the host, and back
        return 2 * devices * offspring * result.counters["generations"] if devices > 1 else 0.0

    name = f"trap-5, {genes} genes, N = {population:,}"
    return solving_case(
        name,
        lambda: BOA("trap-5", genes),
        given,
        _answer,
        warm={"max_generations": 1},
        exchange=exchange,
        exchanged=exchanged,
        repeated=_REPEATED,
    )


def _answer(result: Result) -> Mapping[str, Any]:
    counters = result.counters
    return {
        "objective": result.objective,
        "generations": counters["generations"],
        "edges": counters["edges"],
        "evaluations": counters["evaluations"],
    }
