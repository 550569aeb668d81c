"""``quintet reproduce knapsack``: the measurements of Boyer, El Baz and Elkihel's dense dynamic programming on GPUs."""

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..api.engine import Engine
from ..generators.knapsack import GeneratorOptions, generate
from ..references.knapsack import optimal_value, optimum_by_cut_rows
from ..reports.study import Study
from ..solvers.knapsack.problem import Knapsack
from . import serial
from .papers import Paper

_VARIANTS = ("rows", "tiles", "classes")
_TYPES = ("uncorrelated", "weakly-correlated", "strongly-correlated", "subset-sum")

Times = dict[float, dict[str, float]]


def reproduce(arguments: list[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    return Paper.named("knapsack").run(_study, arguments)


def _study(study: Study, paper: Paper) -> None:
    study.missing = "" if serial.compiler() else serial.NO_COMPILER
    infos = study.engine.device_infos
    pair = [infos[0].id, infos[min(1, len(infos) - 1)].id]
    with Engine(devices=pair[:1]) as one, Engine(devices=pair) as two:
        times = _measure_sizes(study, paper, one, two if len(infos) > 1 else None)
        if serial.compiler() is not None:
            _judge_serial(study, paper, times, len(infos) > 1)
        _judge_devices(study, times, len(infos) > 1)
        _measure_weights(study, one)
        _measure_rules(study, one, two)
    _measure_bounds(study, int(max(times)))


def _instance(n: int, seed: int, kind: Any = "strongly-correlated") -> Knapsack:
    """The paper's class: w uniform in [1, 1000], p = w + 50, C half the sum of the weights."""
    return generate(GeneratorOptions(type=kind, n=n, seed=seed))


def _upper_bound(problem: Knapsack) -> int:
    """No solution exceeds the capacity plus 50 for each of the most items that fit; here it is attained."""
    most = int(np.searchsorted(np.cumsum(np.sort(problem.weights)), problem.capacity, side="right"))
    return problem.capacity + 50 * most


def _seconds(engine: Engine, problem: Knapsack, **options: Any) -> tuple[float, int]:
    """Time of a run without bounds and reductions, and the value."""
    began = time.perf_counter()
    result = engine.solve(problem, reduce=False, **options)
    return time.perf_counter() - began, int(result.objective or 0)


def _measure_sizes(study: Study, paper: Paper, one: Engine, two: Engine | None) -> Times:
    """Table I and Figure 5: time by size; the paper's kernel is ``rows``."""
    sizes: Sequence[int] = study.pick((1000, 2000), (1000, 2000, 5000), paper.points["sizes"])
    limit: float = study.pick(0.6, 6.0, 1.0)  # seconds of a serial table
    many, few = study.pick((2, 1), (10, 3), (10, 3))  # instances of each size, for rows and for the other variants
    study.section(
        "Table I and Figure 5: time by number of items",
        "w is uniform in [1, 1000], p = w + 50, and C is half the sum of the weights; the value only, without bounds "
        "and reductions. The paper's kernel is one launch per item (rows); tiles and classes fuse several items. The "
        f"serial program is the paper's Algorithm 1 in C ({serial.compiler() or 'no C compiler here: left out'}; -O2, "
        "one thread, CPU seconds); of tables that take long the first items are measured, and scaled by the "
        "number of cells (one of the last items takes up to a quarter longer, so these times are low). The paper used "
        "a Xeon 3.0 GHz and GPUs of a Tesla S1070; its Figures 1 to 4 are drawings. Ours, beyond the paper: a ring of "
        "devices exchanges the borders of a row from GPU to GPU where they can read each other's memory, not through "
        "the CPU.",
    )
    found: Times = {n: {} for n in sizes}
    wrong = runs = 0
    measured: dict[str, tuple[Engine, dict[str, Any]]] = {name: (one, {"variant": name}) for name in _VARIANTS}
    if two is not None:
        measured |= {f"{name}, two": (two, {"variant": name, "minimum_share": 1}) for name in _VARIANTS}
    rows = []
    for at, n in enumerate(sizes):
        times, problems = found[n], [_instance(n, study.seed + each) for each in range(many)]
        if serial.compiler() is not None:
            first = problems[0]
            _, times["serial"] = serial.knapsack_rows(first.weights, first.profits, first.capacity, limit)
        for name, (engine, options) in measured.items():
            _seconds(engine, problems[0], items=False, **options)  # compiles
            chosen = problems if options["variant"] == "rows" else problems[:few]
            taken = [_seconds(engine, problem, items=False, **options) for problem in chosen]
            times[name] = statistics.fmean(seconds for seconds, _ in taken)
            wrong += sum(value != _upper_bound(problem) for (_, value), problem in zip(taken, chosen, strict=True))
            runs += len(chosen)
        published = study.profile == "gpu"
        rows.append(
            (
                f"{n:,}",
                *(paper.points[key][at] if published else None for key in ("speedup_one", "speedup_two")),
                *(_ratio(times, name) for name in ("rows", "rows, two", "classes")),
                *(f"{times[name]:.3f}" if name in times else None for name in ("serial", *_VARIANTS)),
                f"{times['rows, two']:.3f}" if two else None,
            )
        )
    study.table(
        "Speed-up over the serial program, and seconds",
        (
            *("n", "paper, 1 GPU", "paper, 2 GPUs", "rows, 1 device", "rows, 2 devices", "classes, 1 device"),
            *("serial s", "rows s", "tiles s", "classes s", "rows s, 2 devices"),
        ),
        rows,
        f"means of {many} instances (the paper: 10), of tiles and classes {few}; of the serial program the first alone",
    )
    hours = 3600 * paper.points["serial_hours"]
    curves = {name: {n: times[name] for n, times in found.items() if name in times} for name in ("serial", *measured)}
    curves["paper: serial, more than 2 h for 100,000"] = {100_000: hours}
    for devices in ("one", "two"):
        of = zip(paper.points["sizes"], paper.points[f"speedup_{devices}"], strict=True)
        curves[f"paper: {devices} GPU{'s' * (devices == 'two')}, from 2 h and Table I"] = {
            n: hours * (n / 1e5) ** 2 / ratio for n, ratio in of
        }
    caption = (
        "Figure 5 is an image that is lost in our text; its points here follow from two hours for n = 100,000, a time "
        "that grows with the square of n, and Table I."
    )
    study.curves("sizes", "Seconds by number of items, the paper's and ours", curves, "items", "seconds", caption)
    study.judge(
        "optimal", wrong == 0, f"{runs - wrong} of {runs} values equal the bound C + 50 times the most items that fit"
    )
    return found


def _ratio(times: dict[str, float], name: str) -> str | None:
    return f"{times['serial'] / times[name]:.1f}" if "serial" in times and name in times else None


def _judge_devices(study: Study, times: Times, distinct: bool) -> None:
    sizes = list(times)
    if not distinct:
        for key in ("two", "efficiency", "cores"):
            study.judge(key, None, "one GPU on this machine; docs/internals/several-devices.md has two and four")
        return
    pairs = [times[n]["rows"] / times[n]["rows, two"] for n in sizes]
    others = {name: [times[n][name] / times[n][f"{name}, two"] for n in sizes] for name in ("tiles", "classes")}
    seen = f"rows {pairs[-1]:.2f} times as fast as one with n = {sizes[-1]:,}; " + ", ".join(
        f"{name} {ratios[-1]:.2f}" for name, ratios in others.items()
    )
    study.judge("cores", pairs[-1] > 1, f"two devices are {pairs[-1]:.2f} times as fast as one with n = {sizes[-1]:,}")
    study.judge("efficiency", pairs[-1] >= 1.85, f"{seen} (ours to call it little: 1.85)")


def _judge_serial(study: Study, paper: Paper, times: Times, distinct: bool) -> None:
    """What is compared with the serial program."""
    sizes = list(times)
    peer = times[sizes[-1]]["serial"]
    one, two = (
        [times[n]["serial"] / times[n][name] for n in sizes if name in times[n]] for name in ("rows", "rows, two")
    )
    study.judge("one", min(one) >= min(paper.points["speedup_one"]), f"rows: {_listed(one)}")
    study.judge("grows", one[-1] > one[0], f"from {one[0]:.0f} to {one[-1]:.0f}")
    large = [n for n in sizes if n >= 40_000] or sizes
    ratios = one[-len(large) :]
    seen = f"from {min(ratios):.0f} to {max(ratios):.0f} with n = {large[0]:,} to {large[-1]:,}"
    study.judge("stable", None, f"{seen}; the serial times are scaled from the first items, which is not exact enough")
    hours = f"{peer * (100_000 / sizes[-1]) ** 2 / 3600:.1f} hours here"
    study.judge("two_hours", None, f"{hours}, on a processor of another age, at the rate of n = {sizes[-1]:,}")
    if distinct:
        study.judge("two", two[-1] >= paper.points["speedup_two"][-1], f"rows: {_listed(two)}")
    _judge_order(study)


def _listed(ratios: Sequence[float]) -> str:
    return ", ".join(f"{ratio:.0f}" for ratio in ratios)


def _judge_order(study: Study) -> None:
    """The order of the serial time, from whole tables."""
    sizes: Sequence[int] = study.pick((250, 500), (500, 1000, 2000), (500, 1000, 2000))
    taken = []
    for n in sizes:
        problem = _instance(n, study.seed)
        value, seconds = serial.knapsack_rows(problem.weights, problem.profits, problem.capacity)
        taken.append(seconds if value == _upper_bound(problem) else float("nan"))
    order = float(np.polyfit(np.log(sizes), np.log(taken), 1)[0])
    seen = (
        f"the serial time grows with n to the power {order:.2f}, and C with n; Algorithm 1 as printed keeps less, one "
        "row of C + 1 values"
    )
    study.judge("quadratic", abs(order - 2) < 0.2, seen)


def _measure_weights(study: Study, one: Engine) -> None:
    """Times by type of correlation, and by alignment."""
    n, few = study.pick((500, 100), (2000, 300), (10_000, 2000))
    study.section(
        "Correlation and alignment",
        f"n = {n:,}, the paper's kernel (rows), best of three runs; the values for all capacities, so that no type is "
        f"solved by its bounds and all fill the same table. Reads are compared with {few:,} items of larger weights, "
        "whose rows take longer than a launch.",
    )
    problems = {kind: _instance(n, study.seed, kind) for kind in _TYPES}
    random = np.random.default_rng(study.seed)
    aligned = 32 * random.integers(1, 1024, few)
    unaligned = aligned + 1
    aligned[0] = 1  # else all weights would be divided by 32
    for name, weights in (("weights of 32 j", aligned), ("weights of 32 j + 1", unaligned)):
        problems[name] = Knapsack(weights + 50, weights, int(weights.sum() // 2))
    per_cell, filled = {}, {}
    rows = []
    for name, problem in problems.items():
        runs = [one.solve(problem, reduce=False, variant="rows", items=False, profile=True) for _ in range(3)]
        taken, cells = min(run.seconds for run in runs), runs[0].counters["cells"]
        filled[name] = cells
        per_cell[name] = taken / cells
        rows.append((name, f"{problem.capacity:,}", f"{cells:.4g}", f"{taken:.4f}", f"{1e12 * per_cell[name]:.2f}"))
    study.table("Seconds", ("instance", "C", "cells", "s", "ps a cell"), rows)
    kinds = [per_cell[kind] for kind in _TYPES]
    seen = (
        f"all fill {filled[_TYPES[0]]:.4g} cells; one takes {1e12 * min(kinds):.2f} to {1e12 * max(kinds):.2f} ps, "
        f"{100 * (max(kinds) / min(kinds) - 1):.0f} % apart (ours to judge by the cells: the paper names no measure)"
    )
    study.judge("insensitive", len({filled[kind] for kind in _TYPES}) == 1, seen)
    ratio = per_cell["weights of 32 j + 1"] / per_cell["weights of 32 j"]
    study.judge(
        "coalesced", ratio > 1.1, f"unaligned reads take {ratio:.2f} times as long (ours to call it slower: 1.1)"
    )


def _as_printed(problem: Knapsack, offset: bool, copied: bool) -> int:
    """Algorithms 2 and 3 with one GPU; ``offset``: threads begin at c_min; ``copied``: f_output is, else they swap."""
    old, new = np.zeros((2, problem.capacity + 1), np.int64)
    later = int(problem.weights.sum())
    for profit, weight in zip(problem.profits.tolist(), problem.weights.tolist(), strict=True):
        later -= weight
        low = max(problem.capacity - later, weight)
        end = problem.capacity + 1 - (0 if offset else low)
        if low < end:
            new[low:end] = np.maximum(old[low:end], old[low - weight : end - weight] + profit)
        old, new = (new.copy(), new) if copied else (new, old)
    return int(old[-1])


def _small(study: Study) -> Iterator[tuple[Knapsack, int]]:
    """Small instances with their optima."""
    random = np.random.default_rng(study.seed + 2)
    for _ in range(study.pick(50, 300, 150)):
        weights = random.integers(1, 100, int(random.integers(5, 60)))
        problem = Knapsack(weights + 10, weights, int(weights.sum() // 2))
        yield problem, optimal_value(problem)


def _cells(weights: NDArray[np.int64], capacity: int) -> int:
    """Cells that Toth's rule leaves."""
    later = int(weights.sum()) - np.cumsum(weights)
    return int(np.maximum(0, capacity + 1 - np.maximum(capacity - later, weights)).sum())


def _measure_rules(study: Study, one: Engine, two: Engine) -> None:
    """Proposition 1, the exchange, and the kernel as printed, on small random instances."""
    study.section(
        "Rules, on small random instances",
        "As printed, the paper's kernel creates c_max - c_min threads and numbers them from 0, not from c_min: large "
        "capacities have none. Even so corrected it has no threads for capacities below the item's weight. If the two "
        "arrays change places after each item, those cells keep values from two items before; if f_output is copied "
        "to f_input, as the assignment in Algorithm 2 can be read, they are right. The optima are Bellman's.",
    )
    wrong = dict.fromkeys(("printed", "swapped", "copied", "toth", "rows", "two"), 0)
    saved = []
    instances = list(_small(study))
    for at, (problem, optimum) in enumerate(instances):
        wrong["printed"] += _as_printed(problem, offset=False, copied=True) != optimum
        wrong["swapped"] += _as_printed(problem, offset=True, copied=False) != optimum
        wrong["copied"] += _as_printed(problem, offset=True, copied=True) != optimum
        wrong["toth"] += optimum_by_cut_rows(problem) != optimum
        wrong["rows"] += _seconds(one, problem, variant="rows", items=False)[1] != optimum
        if at % 5 == 0:
            wrong["two"] += _seconds(two, problem, variant="rows", items=False, minimum_share=1)[1] != optimum
        saved.append(1 - _cells(problem.weights, problem.capacity) / (problem.n * (problem.capacity + 1)))
    count = len(instances)
    seen = f"wrong on {wrong['toth']} of {count}; {100 * statistics.fmean(saved):.0f} % of the cells are left out"
    study.judge("toth", wrong["toth"] == 0, seen)
    study.judge(
        "exchange",
        wrong["two"] == 0,
        f"wrong on {wrong['two']} of {-(-count // 5)} with two devices (or one, listed twice)",
    )
    seen = (
        f"wrong on {wrong['printed']} of {count}; with threads from c_min on it is wrong on {wrong['swapped']} if the "
        f"arrays change places and {wrong['copied']} if one is copied; rows, which copies the cells that need it, on "
        f"{wrong['rows']}"
    )
    study.judge("printed", wrong["printed"] == 0, seen)


def _measure_bounds(study: Study, n: int) -> None:
    """The same instance with bounds, which prove it optimal without a table."""
    study.section("With bounds", "Today the paper's instances are proved optimal by a bound on the number of items.")
    problem = _instance(n, study.seed)
    study.engine.solve(problem)
    began = time.perf_counter()
    result = study.engine.solve(problem)
    row = (f"{time.perf_counter() - began:.3f}", result.counters["cells"], result.status, result.objective)
    study.table(f"n = {n}, default options", ("seconds", "cells of a table", "status", "value"), [row])
