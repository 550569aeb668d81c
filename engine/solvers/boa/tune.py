"""The smallest population that solves a problem reliably, by bisection over whole runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.api import Engine
from engine.errors import OptionError
from engine.solvers.boa.options import MOST_INDIVIDUALS
from engine.solvers.boa.problem import BOA

__all__ = ["Trial", "Tuning", "smallest_population"]


@dataclass(frozen=True)
class Trial:
    """Runs with one population: how many were solved, and what a solved one took on average."""

    population: int
    solved: int
    runs: int
    evaluations: float
    generations: float
    seconds: float


@dataclass(frozen=True)
class Tuning:
    """What was found: the smallest ``population`` with every run solved, or None; and all trials by population."""

    population: int | None
    trials: tuple[Trial, ...]


def smallest_population(
    problem: BOA,
    engine: Engine,
    *,
    runs: int = 10,
    seed: int = 0,
    start: int | None = None,
    most: int = MOST_INDIVIDUALS,
    precision: float = 0.1,
    on_trial: Callable[[Trial], None] | None = None,
    **options: Any,
) -> Tuning:
    """Double the population until all runs are solved, then bisect.

    Parameters
    ----------
    problem : BOA
        Its optimum must be known, or a ``target`` be among the options.
    engine : Engine
    runs : int
        Runs a population, with the seeds ``seed``, ``seed + 1``, ...; a population fails with the first run not solved.
    start, most : int
        The first population, 4 n (at least 64) by default, and the largest to try.
    precision : float
        Bisection ends when the populations on either side differ by this fraction.
    on_trial : callable, optional
        Told each trial.
    **options
        Of the solver.

    Returns
    -------
    Tuning

    Raises
    ------
    OptionError
        If nothing says when a run is solved, or a number makes no sense.
    """
    target = options.get("target", problem.optimum)
    if target is None:
        raise OptionError("the optimum of this problem is not known; give a target to tune for")
    if runs < 1 or not 0 < precision < 1 or "population" in options:
        raise OptionError("runs must be at least 1, precision between 0 and 1, and population not given")
    trials: dict[int, Trial] = {}

    def reliable(population: int) -> bool:
        trial = _try(problem, engine, population, runs, seed, float(target), options)
        trials[population] = trial
        if on_trial is not None:
            on_trial(trial)
        return trial.solved == runs

    low, high = 0, start or max(64, 4 * problem.n)
    while not reliable(high):
        low = high
        if high >= most:
            return Tuning(None, tuple(sorted(trials.values(), key=lambda trial: trial.population)))
        high = min(2 * high, most)
    while high - low > max(1, precision * high) and low + high > 16:
        middle = (low + high) // 2
        if middle < 8:
            break
        low, high = (low, middle) if reliable(middle) else (middle, high)
    return Tuning(high, tuple(sorted(trials.values(), key=lambda trial: trial.population)))


def _try(
    problem: BOA, engine: Engine, population: int, runs: int, seed: int, target: float, options: dict[str, Any]
) -> Trial:
    evaluations = generations = seconds = 0.0
    solved = 0
    for number in range(runs):
        result = engine.solve(problem, seed=seed + number, population=population, **options)
        value = result.objective
        if value is None or (value > target if problem.sense == "minimize" else value < target):
            break
        solved += 1
        evaluations += result.counters["evaluations"]
        generations += result.counters["generations"]
        seconds += result.seconds
    each = max(1, solved)
    return Trial(population, solved, number + 1, evaluations / each, generations / each, seconds / each)
