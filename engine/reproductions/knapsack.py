"""``quintet reproduce knapsack``: the measurements of Boyer, El Baz and Elkihel's dense dynamic programming on GPUs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..api.engine import Engine
from ..generators.knapsack import GeneratorOptions, generate
from ..references.knapsack import optimal_value, optimum_by_cut_rows
from ..reports.study import Study, run_study
from ..solvers.knapsack.problem import Knapsack

__all__ = ["reproduce"]

TITLE = "Dense dynamic programming for the knapsack problem"
SOURCE = (
    "V. Boyer, D. El Baz, M. Elkihel: Dense dynamic programming on multi GPU; "
    "Solving knapsack problems on GPU, Computers & Operations Research 39 (2012) 42-47."
)
_PAPER = {"serial": 7200.0, "one": 490.0, "two": 257.0, "speedup_one": 14.7, "speedup_two": 28.0}
_LARGEST_NUMPY = 10_000


def reproduce(arguments: list[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    return run_study("knapsack", TITLE, SOURCE, _study, arguments)


def _study(study: Study) -> None:
    rows = _measure_sizes(study)
    _measure_two(study, max(rows))
    _measure_printed_kernel(study)
    _measure_bounds(study, max(rows))


def _instance(n: int) -> Knapsack:
    """The paper's class: w uniform in [1, 1000], p = w + 50, C half the sum of the weights."""
    return generate(GeneratorOptions(type="strongly-correlated", n=n, seed=1))


def _upper_bound(problem: Knapsack) -> int:
    """No solution exceeds the capacity plus 50 for each of the most items that fit; here it is attained."""
    most = int(np.searchsorted(np.cumsum(np.sort(problem.weights)), problem.capacity, side="right"))
    return problem.capacity + 50 * most


def _seconds(engine: Engine, problem: Knapsack, repeat: int = 3, **options: Any) -> tuple[float, bool]:
    """Median time of warm runs (of one, where a run takes seconds), and whether the value is the optimum."""
    times: list[float] = []
    while len(times) <= repeat and sum(times[1:]) < 2.0:  # the first compiles
        began = time.perf_counter()
        result = engine.solve(problem, reduce=False, **options)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:]), result.objective == _upper_bound(problem)


def _measure_sizes(study: Study) -> dict[int, dict[str, float]]:
    """Time by size, for each variant; the paper's kernel is ``rows``."""
    sizes: Sequence[int] = study.pick((1000,), (1000, 2000, 5000, 10_000), (10_000, 20_000, 50_000, 100_000))
    study.section(
        "Time by number of items",
        "w is uniform in [1, 1000], p = w + 50, and C is half the sum of the weights; the value only, without bounds "
        "and reductions. The paper's kernel is one launch per item (rows); tiles and classes fuse several items.",
    )
    found: dict[int, dict[str, float]] = {}
    table = []
    right = True
    for n in sizes:
        problem = _instance(n)
        times: dict[str, float] = {}
        if n <= _LARGEST_NUMPY:
            began = time.perf_counter()
            right &= optimum_by_cut_rows(problem, cut=False) == _upper_bound(problem)
            times["numpy"] = time.perf_counter() - began
        for variant in ("rows", "tiles", "classes"):
            times[variant], good = _seconds(study.engine, problem, variant=variant, items=False)
            right &= good
        times["items"], good = _seconds(study.engine, problem, variant="dense")
        right &= good
        found[n] = times
        paper = f"about {_PAPER['one']:.0f}" if n == 100_000 else ""
        peer = times.get("numpy")
        ratio = "" if peer is None else f"{peer / times['rows']:.1f}"
        table.append(
            (
                n,
                problem.capacity,
                paper,
                *(
                    f"{times[name]:.3f}" if name in times else ""
                    for name in ("numpy", "rows", "tiles", "classes", "items")
                ),
                ratio,
            )
        )
    study.table(
        "Seconds",
        ("n", "C", "paper, 1 GPU", "NumPy rows", "rows", "tiles", "classes", "with items", "NumPy / rows"),
        table,
        "medians of warm runs; the paper used one GPU of a Tesla S1070, and an Intel Xeon 3.0 GHz in serial",
    )
    study.figure(
        "sizes",
        "Seconds by number of items for each kernel",
        lambda axes: _plot(axes, found),
        "Time by number of items; both axes are logarithmic.",
    )
    study.finding("the values are optimal", right, "each value equals the bound C + 50 times the most items that fit")
    ratios = [times["numpy"] / times["rows"] for times in found.values() if "numpy" in times]
    if ratios:
        study.finding(
            f"the paper's kernel is {_PAPER['speedup_one']} times as fast as a serial program",
            max(ratios) >= _PAPER["speedup_one"] if study.profile == "gpu" else None,
            f"at most {max(ratios):.1f} times as fast as NumPy on one core of this machine",
        )
    return found


def _plot(axes: Any, found: dict[int, dict[str, float]]) -> None:
    for name in ("numpy", "rows", "tiles", "classes"):
        points = [(n, times[name]) for n, times in found.items() if name in times]
        axes.loglog(*zip(*points, strict=True), marker="o", label="NumPy" if name == "numpy" else name)
    axes.set(xlabel="number of items", ylabel="seconds")
    axes.legend(frameon=False)


def _measure_two(study: Study, n: int) -> None:
    """The row shared by two devices; the same device twice where there is only one."""
    problem = _instance(n)
    infos = study.engine.device_infos
    distinct = len(infos) > 1
    if study.profile == "gpu" and not distinct:
        return
    study.section("Two devices", "Each row is divided between the devices, which exchange its borders.")
    pair = [infos[0].id, infos[1].id if distinct else infos[0].id]
    with Engine(devices=pair[:1]) as one, Engine(devices=pair) as two:
        table = []
        ratios = {}
        for variant in ("rows", "tiles", "classes"):
            alone, _ = _seconds(one, problem, variant=variant, items=False)
            shared, right = _seconds(two, problem, variant=variant, items=False, minimum_share=1)
            ratios[variant] = alone / shared
            paper = f"{_PAPER['speedup_two'] / _PAPER['speedup_one']:.2f}" if variant == "rows" else ""
            table.append(
                (variant, f"{alone:.3f}", f"{shared:.3f}", paper, f"{alone / shared:.2f}", "yes" if right else "NO")
            )
    study.table(
        f"n = {n}, seconds",
        ("variant", "one", "two", "paper, ratio", "ratio", "right"),
        table,
        "two devices" if distinct else "one device listed twice: this checks the exchange and cannot be faster",
    )
    if distinct:
        study.finding(
            "two GPUs are 1.9 times as fast as one",
            ratios["rows"] >= 1.85,
            f"{ratios['rows']:.2f} times as fast (rows)",
        )


def _as_printed(problem: Knapsack) -> int:
    """Bellman's recurrence as the paper's kernel has it: cells below the weight are not copied to the other array."""
    old, new = np.zeros((2, problem.capacity + 1), np.int64)
    for profit, weight in zip(problem.profits.tolist(), problem.weights.tolist(), strict=True):
        if weight <= problem.capacity:
            new[weight:] = np.maximum(old[weight:], old[: problem.capacity + 1 - weight] + profit)
            old, new = new, old
    return int(old[-1])


def _measure_printed_kernel(study: Study) -> None:
    """How often the kernel as printed gives a wrong value."""
    study.section(
        "The kernel as printed",
        "The kernel reads one array and writes another, and has no threads for capacities below the item's weight. "
        "Those cells of the second array then keep values from two items before.",
    )
    random = np.random.default_rng(3)
    count = study.pick(50, 300, 300)
    wrong = solver_wrong = 0
    for _ in range(count):
        n = int(random.integers(5, 60))
        weights = random.integers(1, 100, n)
        problem = Knapsack(weights + 10, weights, int(weights.sum() // 2))
        optimum = optimal_value(problem)
        wrong += _as_printed(problem) != optimum
        solver_wrong += study.engine.solve(problem, variant="rows", reduce=False, items=False).objective != optimum
    study.finding(
        "the kernel as printed computes the optimum",
        wrong == 0,
        f"wrong on {wrong} of {count} random instances (NumPy); rows, which copies those cells, on {solver_wrong}",
    )


def _measure_bounds(study: Study, n: int) -> None:
    """The same instance with bounds, which prove it optimal without a table."""
    study.section("With bounds", "Today the paper's instances are proved optimal by a bound on the number of items.")
    problem = _instance(n)
    result = study.engine.solve(problem)
    began = time.perf_counter()
    result = study.engine.solve(problem)
    seconds = time.perf_counter() - began
    study.table(
        f"n = {n}, default options",
        ("seconds", "cells of a table", "status", "value"),
        [(f"{seconds:.3f}", result.counters["cells"], result.status, result.objective)],
    )
