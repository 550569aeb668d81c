"""Measurements of batches of small problems, of subset sums, and of choices, for ``quintet bench knapsack``."""

from functools import partial
from typing import Any

import numpy as np
from rich.console import Console

from ...api.engine import Engine
from ...base.problem import Problem
from ...base.result import Result, Status
from ...generators.knapsack import GeneratorOptions, generate
from ...generators.multiple_choice import (
    MultidimensionalOptions,
    MultipleChoiceOptions,
    multidimensional,
    multiple_choice,
)
from ...solvers.knapsack.problem import Knapsack
from ..tables import median_seconds, number_table

_CHECKED = 20  # problems of a batch that are solved alone as well
_KINDS: tuple[tuple[Any, int], ...] = (
    ("uncorrelated", 100),
    ("uncorrelated", 200),
    ("weakly-correlated", 200),
    ("strongly-correlated", 100),
    ("strongly-correlated", 200),
    ("inverse-strongly-correlated", 200),
    ("subset-sum", 200),
)


def measure_batches(engine: Engine, count: int, repeat: int, console: Console) -> bool:
    """Problems a second through ``engine.map``, of several classes, with their items; a sample is solved alone too."""
    good = True
    headings = ("class", "n", "mean capacity", "problems/s", "mean cells", "by bounds alone", "right")
    table = number_table(f"engine.map of {count} problems with R = 1000, medians of {repeat}", headings, ["class"])
    for kind, n in _KINDS:
        problems = [generate(GeneratorOptions(type=kind, n=n, seed=seed)) for seed in range(count)]
        seconds, batch = median_seconds(partial(engine.map, problems), repeat)
        right = len(batch.results) == count and all(is_proved(p, r) for p, r in zip(problems, batch, strict=True))
        for place in range(0, count, max(1, count // _CHECKED)):
            right &= engine.solve(problems[place]).objective == batch.results[place].objective
        good &= right
        cells = np.array([result.counters["cells"] for result in batch.results])
        table.add_row(
            kind,
            str(n),
            f"{np.mean([problem.capacity for problem in problems]):,.0f}",
            f"{count / seconds:,.0f}",
            f"{cells.mean():.3g}",
            f"{100 * (cells == 0).mean():.0f} %",
            "yes" if right else "NO",
        )
    console.print(table)
    return good


def measure_family(engine: Engine, n: int, repeat: int, console: Console) -> bool:
    """Subset sums by bits and by the dense table, multiple choice, and two constraints, each proved."""
    random = np.random.default_rng(1)
    even = 2 * random.integers(1, 501, n)
    odd = int(even.sum()) // 4 * 2 + 1
    sums = Knapsack(even, even, odd, f"even weights, odd capacity, n = {n}")
    pairs = [MultidimensionalOptions(n=size, max_weight=most, seed=1) for size, most in ((200, 20), (100, 100))]
    classes = [
        MultipleChoiceOptions(type=kind, classes=200, class_size=20, seed=1)
        for kind in ("uncorrelated", "weakly-correlated", "strongly-correlated")
    ]
    runs: list[tuple[Problem, dict[str, Any]]] = [
        (sums, {"variant": "bits", "reduce": False}),
        (sums, {"variant": "dense", "reduce": False}),
        *((multiple_choice(options), {}) for options in classes),
        *((multidimensional(options), {"variant": "table"}) for options in pairs),
    ]
    good = True
    headings = ("problem", "options", "seconds", "cells", "cells/s", "value", "right")
    table = number_table(f"Related problems, items included: medians of {repeat}", headings, headings[:2])
    for problem, options in runs:
        seconds, result = median_seconds(partial(engine.solve, problem, **options), repeat)
        right = is_proved(problem, result) and (problem is not sums or result.objective == odd - 1)
        good &= right
        cells = result.counters.get("cells", 0)
        named = ", ".join(f"{name} = {value}" for name, value in options.items())
        row = (problem.name, named, f"{seconds:.3f}", f"{cells:.3g}", f"{cells / seconds:.3g}", f"{result.objective:,}")
        table.add_row(*row, "yes" if right else "NO")
    console.print(table)
    return good


def is_proved(problem: Any, result: Any) -> bool:
    """Whether a result is optimal, and its items add up to its value."""
    if not isinstance(result, Result) or result.status is not Status.OPTIMAL or result.solution is None:
        return False
    return bool(problem.evaluate(result.solution)[0] == result.objective == result.bound)
