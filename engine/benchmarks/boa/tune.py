"""``quintet tune boa``: the smallest population that solves a problem reliably, by bisection over whole runs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from scipy.stats import binomtest

from ...api.engine import Engine
from ...cli.options import own_options, pool_options, run_command, split_options
from ...errors import OptionError
from ...solvers.boa.options import MOST_INDIVIDUALS, Options
from ...solvers.boa.problem import BOA


@dataclass(frozen=True)
class Trial:
    """Runs with one population: how many were solved, and what a solved one took on average."""

    population: int
    solved: int
    runs: int
    evaluations: float
    generations: float
    seconds: float

    @property
    def rate(self) -> float:
        return self.solved / self.runs

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """What the chance of success is likely to be (Wilson's interval)."""
        low, high = binomtest(self.solved, self.runs).proportion_ci(confidence, method="wilson")
        return float(low), float(high)


@dataclass(frozen=True)
class Tuning:
    """What was found: the smallest reliable ``population``, or None; and all trials by population."""

    population: int | None
    trials: tuple[Trial, ...]


def smallest_population(
    problem: BOA,
    engine: Engine,
    *,
    runs: int = 10,
    success_rate: float = 1.0,
    seed: int = 0,
    start: int | None = None,
    most: int = MOST_INDIVIDUALS,
    precision: float = 0.1,
    on_trial: Callable[[Trial], None] | None = None,
    **options: Any,
) -> Tuning:
    """Double the population until it is reliable, then bisect."""
    target = options.get("target", problem.bound)
    if target is None:
        raise OptionError("the optimum of this problem is not known; give a target to tune for")
    if runs < 1 or not 0 < precision < 1 or not 0 < success_rate <= 1 or "population" in options:
        raise OptionError(
            "runs must be at least 1, precision between 0 and 1, success_rate above 0 and up to 1, population not given"
        )
    trials: dict[int, Trial] = {}

    def reliable(population: int) -> bool:
        trial = _try(problem, engine, population, runs, seed, float(target), options)
        trials[population] = trial
        if on_trial is not None:
            on_trial(trial)
        return trial.solved >= success_rate * runs - 1e-9

    low, high = 0, min(most, start or max(64, 4 * problem.n))
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
            continue
        solved += 1
        evaluations += result.counters["evaluations"]
        generations += result.counters["generations"]
        seconds += result.seconds
    each = max(1, solved)
    return Trial(population, solved, runs, evaluations / each, generations / each, seconds / each)


@click.command("boa", help="Find the smallest population that solves PROBLEM, a file or a built-in such as trap-5.")
@click.argument("problem")
@click.option("--genes", type=click.IntRange(1), help="Genes, for a built-in.")
@click.option("--runs", type=click.IntRange(1), default=10, show_default=True, help="Runs of each population.")
@click.option(
    "--success-rate",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="The least share of runs that a reliable population solves.",
)
@click.option("--precision", type=float, default=0.1, show_default=True, help="Where bisection ends, as a fraction.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the first run.")
@pool_options("Devices to use together.")
@click.pass_context
def _command(
    context: click.Context,
    problem: str,
    genes: int | None,
    runs: int,
    success_rate: float,
    precision: float,
    seed: int,
    backend: Any,
    names: list[str] | None,
) -> int:
    console = Console(width=120)
    asked = BOA.read(problem) if genes is None and Path(problem).exists() else BOA(problem, genes)
    console.print(asked.describe())

    def report(trial: Trial) -> None:
        low, high = trial.interval()
        console.print(
            f"population {trial.population:>8,}: {trial.solved}/{trial.runs} solved (95 %: {low:.0%} to {high:.0%}); a "
            f"solved run takes {trial.generations:.1f} generations, {trial.evaluations:.0f} evaluations, "
            f"{trial.seconds:.3f} s"
            if trial.solved
            else f"population {trial.population:>8,}: 0/{trial.runs} solved (95 %: 0% to {high:.0%})"
        )

    with Engine(backend, names) as engine:
        tuning = smallest_population(
            asked,
            engine,
            runs=runs,
            success_rate=success_rate,
            seed=seed,
            precision=precision,
            on_trial=report,
            **context.obj,
        )
    if tuning.population is None:
        console.print(f"no population up to {MOST_INDIVIDUALS:,} solves {success_rate:.0%} of {runs} runs")
        return 4
    found = next(trial for trial in tuning.trials if trial.population == tuning.population)
    console.print(f"{found.population:,} individuals solve {found.solved} of {found.runs}")
    return 0


def tune(arguments: list[str]) -> int:
    """Run the command with command-line arguments, options of the solver among them."""
    rest, options = split_options(arguments, own_options(_command), [Options])
    return run_command(_command, "quintet tune boa", rest, options)
