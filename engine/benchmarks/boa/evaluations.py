"""Evaluations that a black box needs to its optimum, and what the search itself takes, for ``quintet bench boa``."""

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from ...solvers.boa.fitness import Fitness
from ...solvers.boa.fitness.landscapes import random_ising, random_nk
from ...solvers.boa.fitness.tables import built_in
from ...solvers.boa.pyramid import BitSearch
from .hard import satisfiable_clauses

_MOST = 1_000_000
_BATCH = 64
Values = Callable[[NDArray[np.uint8]], NDArray[np.int64]]


def measure_evaluations(quick: bool, runs: int, console: Console) -> bool:
    """Median of the evaluations to the optimum, each seed with an instance of its own; whether all reached it."""
    table = Table("function", "n", "reached", "median", "most", "microseconds", title=f"evaluations, {runs} seeds")
    good = True
    for name, instance, n in _functions(quick):
        needed, seconds = [], 0.0
        for seed in range(runs):
            evaluations, own = _climb(*_values(instance(seed), n), n, seed)
            needed.append(evaluations)
            seconds += own
        reached = sum(count < _MOST for count in needed)
        good &= reached == runs
        table.add_row(
            *(name, f"{n}", f"{reached}/{runs}", f"{statistics.median(needed):,.0f}", f"{max(needed):,}"),
            f"{1e6 * seconds / sum(needed):.1f}",
        )
    console.print(table)
    console.print("microseconds: CPU time of the search for an evaluation, without the function")
    values, optimum = _values(_fixed("trap-5", 100, 0), 100)
    evaluations, own = _climb(values, optimum + 1, 100, 0, parallel=_BATCH, most=20_000 if quick else 200_000)
    console.print(f"trap-5, n = 100, {_BATCH} strings or more a call: {1e6 * own / evaluations:.1f} microseconds")
    return good


def _climb(values: Values, optimum: int, n: int, seed: int, parallel: int = 1, most: int = _MOST) -> tuple[int, float]:
    """Evaluations to the optimum, and CPU seconds without those of the function."""
    search = BitSearch(n, seed=seed, parallel=parallel)
    asked: list[NDArray[np.uint8]] = []
    began = time.process_time()
    while search.evaluations < most and (search.best_value is None or search.best_value < optimum):
        asked.append(search.ask())
        search.tell(asked[-1], values(asked[-1]))
    searched = time.process_time()
    for strings in asked:
        values(strings)
    return search.evaluations, max(0.0, 2 * searched - began - time.process_time())


def _functions(quick: bool) -> Iterator[tuple[str, Callable[[int], Fitness | None], int]]:
    """Names, what gives the function of a seed (None: leading ones), and sizes."""
    for name, n in (("onemax", 100), ("leading ones", 100), ("trap-5", 100), ("deceptive-3", 99)):
        yield name, partial(_fixed, name, n), n
    if quick:
        return
    for name, n in (("trap-5", 300), ("hiff", 128)):
        yield name, partial(_fixed, name, n), n
    yield "NK, k = 4, adjacent", partial(random_nk, 50, 4, 1), 50
    yield "spin glass, 10 x 10", partial(random_ising, 10), 100
    yield "MAX-SAT, 4.26 clauses a variable", lambda seed: satisfiable_clauses(50, seed).fitness, 50


def _fixed(name: str, n: int, seed: int) -> Fitness | None:
    return None if name == "leading ones" else built_in(name, n)


def _values(fitness: Fitness | None, n: int) -> tuple[Values, int]:
    """A function to maximise, and its optimum."""
    if fitness is None:
        return lambda bits: np.asarray(np.cumprod(bits, axis=1, dtype=np.int64).sum(axis=1)), n
    assert fitness.best_key is not None
    return fitness.keys, fitness.best_key
