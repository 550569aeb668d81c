"""``quintet reproduce boa``: the measurements of Munawar, Wahib, Munetomo and Akama's BOA on a GPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

from ..base.result import Result
from ..references.boa import ReferenceRun
from ..reports.study import Study, run_study
from ..solvers.boa.fitness.tables import trap
from ..solvers.boa.options import Options, resolve
from ..solvers.boa.problem import BOA

__all__ = ["reproduce"]

TITLE = "The Bayesian optimization algorithm on a GPU"
SOURCE = (
    "A. Munawar, M. Wahib, M. Munetomo, K. Akama: Theoretical and empirical analysis of a GPU based parallel Bayesian "
    "optimization algorithm, PDCAT 2009, 457-462."
)
_SPEEDUP = 13.0
_POPULATION = 4800
SETTING: dict[str, Any] = {
    "population": _POPULATION,
    "selection_fraction": 0.5,
    "max_parents": 3,
    "probabilities": "laplace",
    "local_search": "none",
    "max_generations": 200,
}
"""The paper's setting: N = 4800, half of the individuals selected, up to three parents, 200 generations."""


def reproduce(arguments: list[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    return run_study("boa", TITLE, SOURCE, _study, arguments)


def _study(study: Study) -> None:
    _measure_time(study)
    _measure_success(study)
    _measure_population(study)


def _measure_time(study: Study) -> None:
    """Time of the paper's 200 generations, whatever they come to, and of a generation in NumPy."""
    sizes: Sequence[int] = study.pick((20,), (50, 100, 150, 200), (50, 100, 200, 500, 1000))
    generations: int = study.pick(20, 200, 200)
    study.section(
        "Time",
        f"{generations} generations of trap-5 with {_POPULATION} individuals; runs do not end when the optimum is "
        "found. NumPy is the reference implementation, which draws the same individuals, on one core; it is measured "
        "for up to 100 genes.",
    )
    rows = []
    times: dict[int, float] = {}
    ratios = []
    for n in sizes:
        options = SETTING | {"patience": 1000, "max_generations": generations, "target": n + 1}
        study.engine.solve(BOA("trap-5", n), **options | {"max_generations": 2})
        result = study.engine.solve(BOA("trap-5", n), **options)
        times[n] = result.seconds
        host = _numpy_seconds(n) * generations if n <= 100 else None
        if host is not None:
            ratios.append(host / result.seconds)
        rows.append(
            (
                n,
                f"{result.seconds:.3f}",
                f"{1e3 * result.seconds / generations:.2f}",
                None if host is None else f"{host:.1f}",
                None if host is None else f"{host / result.seconds:.0f}",
            )
        )
    study.table(
        f"{generations} generations",
        ("genes", "seconds", "ms a generation", "NumPy, seconds", "NumPy / device"),
        rows,
        "NumPy's seconds are those of three generations, scaled",
    )
    study.figure("time", "Seconds by number of genes", lambda axes: _plot_time(axes, times), "Time by number of genes.")
    study.finding(
        f"the GPU is up to {_SPEEDUP:.0f} times as fast as a serial program",
        max(ratios) >= _SPEEDUP if study.profile == "gpu" else None,
        f"at most {max(ratios):.0f} times as fast as NumPy on one core; the paper's peer was a program in C++",
    )


def _numpy_seconds(n: int) -> float:
    """Seconds of one generation of the NumPy reference."""
    options = Options.model_validate(SETTING)
    run = ReferenceRun(resolve(options, n, _POPULATION, seed=0), trap(n, 5).keys)
    began = time.perf_counter()
    for _ in range(3):
        run.step()
    return (time.perf_counter() - began) / 3


def _plot_time(axes: Any, times: dict[int, float]) -> None:
    axes.plot(list(times), list(times.values()), marker="o")
    axes.set(xlabel="genes", ylabel="seconds", ylim=(0, None))


def _measure_success(study: Study) -> None:
    """How often the paper's setting finds the optimum, by number of genes."""
    sizes: Sequence[int] = study.pick((20, 40), (50, 60, 80, 100, 120), (50, 60, 80, 100, 120, 150, 200))
    seeds: int = study.pick(2, 10, 20)
    study.section(
        "Success of the paper's setting",
        f"The same setting, ended when the optimum is found, with {seeds} seeds. The paper reports times, and not "
        "whether the searches were successful.",
    )
    solved: dict[int, int] = {}
    rows = []
    for n in sizes:
        results = [study.engine.solve(BOA("trap-5", n), seed=seed, **SETTING) for seed in range(seeds)]
        solved[n] = sum(result.objective == n for result in results)
        best = sorted(float(result.objective or 0) for result in results)
        rows.append(
            (n, f"{solved[n]}/{seeds}", f"{statistics.median(best):.0f}", f"{best[0]:.0f}", _median_time(results))
        )
    study.table(
        f"trap-5, N = {_POPULATION}", ("genes", "solved", "median of best", "worst of best", "median seconds"), rows
    )
    study.figure(
        "success",
        "Share of solved runs by number of genes",
        lambda axes: _plot_success(axes, solved, seeds),
        f"Share of {seeds} runs that find the optimum with {_POPULATION} individuals.",
    )
    failing = [n for n, count in solved.items() if count < seeds]
    study.finding(
        f"{_POPULATION} individuals solve trap-5 of the sizes measured",
        not failing,
        f"all runs succeed up to {max((n for n in solved if n not in failing), default=0)} genes"
        + (f"; with {failing[-1]} genes {solved[failing[-1]]} of {seeds} do" if failing else ""),
    )


def _median_time(results: Sequence[Result]) -> str:
    return f"{statistics.median(result.seconds for result in results):.3f}"


def _plot_success(axes: Any, solved: dict[int, int], seeds: int) -> None:
    axes.plot(list(solved), [count / seeds for count in solved.values()], marker="o")
    axes.set(xlabel="genes", ylabel="share of runs solved", ylim=(-0.02, 1.05))


def _measure_population(study: Study) -> None:
    """What it takes to solve the same functions: the population found by doubling."""
    sizes: Sequence[int] = study.pick((20,), (50, 100, 150, 200), (100, 200, 500, 1000))
    seeds: int = study.pick(1, 3, 5)
    study.section(
        "Population that solves the function",
        "population = auto doubles the population until the optimum is found; the time includes the populations that "
        "were too small.",
    )
    rows = []
    found = 0
    for n in sizes:
        results = [study.engine.solve(BOA("trap-5", n), seed=seed, local_search="none") for seed in range(seeds)]
        good = sum(result.objective == n for result in results)
        found += good
        rows.append(
            (
                n,
                f"{good}/{seeds}",
                f"{statistics.median(result.counters['population'] for result in results):.0f}",
                f"{statistics.median(result.counters['evaluations'] for result in results):.3g}",
                _median_time(results),
            )
        )
    study.table(
        "trap-5, population auto",
        ("genes", "solved", "median population", "median evaluations", "median seconds"),
        rows,
    )
    study.finding(
        "with a population that grows with n, all sizes are solved",
        found == seeds * len(sizes),
        f"{found} of {seeds * len(sizes)} runs find the optimum",
    )
