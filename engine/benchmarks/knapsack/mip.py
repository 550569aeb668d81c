"""Multiple choice and several constraints, beside HiGHS's branch and bound, for ``quintet bench knapsack --highs``."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ...api.engine import Engine
from ...generators.multiple_choice import (
    MultidimensionalOptions,
    MultipleChoiceOptions,
    multidimensional,
    multiple_choice,
)
from ...solvers.knapsack.choice.problems import MultipleChoiceKnapsack
from ...solvers.knapsack.constraints.problem import MultidimensionalKnapsack
from ...util.quirks.highspy_banner import quiet_highs
from ..tables import number_table
from .family import is_proved

ItemProblem = MultipleChoiceKnapsack | MultidimensionalKnapsack


def measure_beside_highs(engine: Engine, limit: float, instances: Path, console: Console) -> bool:
    """Processor seconds of both, and whether both prove the same optimum; also of OR-Library's file, where it is."""
    headings = ("problem", "s", "proved", "HiGHS s", "HiGHS proved", "value", "right")
    table = number_table(f"Processor time, at most {limit:g} s a problem; HiGHS with one thread", headings, ["problem"])
    good = True
    for name, problems in _groups(instances):
        engine.solve(problems[0], time_limit=limit)  # compiles
        ours = theirs = 0.0
        proved, by_highs, value, right = 0, 0, 0.0, True
        for problem in problems:
            began = time.process_time()
            result = engine.solve(problem, time_limit=limit)
            ours += time.process_time() - began
            began = time.process_time()
            is_optimal, optimum = _by_highs(problem, limit)
            theirs += time.process_time() - began
            proved, by_highs = proved + is_proved(problem, result), by_highs + is_optimal
            value += result.objective or 0
            right &= not (is_optimal and is_proved(problem, result)) or abs(optimum - (result.objective or 0)) < 0.5
        good &= right
        count = len(problems)
        row = (f"{ours:.2f}", f"{proved} of {count}", f"{theirs:.2f}", f"{by_highs} of {count}", f"{value:,.0f}")
        table.add_row(name, *row, "yes" if right else "NO")
    console.print(table)
    return good


def _groups(instances: Path) -> Iterator[tuple[str, list[ItemProblem]]]:
    """Problems that share a row of the table."""
    for kind in ("uncorrelated", "weakly-correlated", "strongly-correlated"):
        choice = [
            multiple_choice(MultipleChoiceOptions(type=kind, classes=100, class_size=10, seed=seed))
            for seed in range(5)
        ]
        yield f"multiple choice, 100 classes of 10, {kind}, 5 problems", [*choice]
    for m, n, tightness in ((2, 200, 0.5), (5, 100, 0.25), (5, 100, 0.75), (10, 50, 0.5)):
        options = {"n": n, "constraints": m, "tightness": tightness, "max_weight": 1000}
        rows = [multidimensional(MultidimensionalOptions(**options, seed=seed)) for seed in range(5)]
        yield f"{m} constraints, {n} items, tightness {tightness}, 5 problems", [*rows]
    if instances.is_file():
        first = MultidimensionalKnapsack.read(instances)
        numbers = range(1, first.instances_in_file + 1)
        yield f"{instances.stem} (Chu and Beasley)", [MultidimensionalKnapsack.read(instances, i) for i in numbers]


def _by_highs(problem: ItemProblem, limit: float) -> tuple[bool, float]:
    """Whether HiGHS proves an optimum, and its value in integers."""
    import highspy

    highs = quiet_highs(mip_rel_gap=0.0, mip_abs_gap=0.99, time_limit=limit, threads=1)
    rows = [np.atleast_2d(problem.weights).astype(float)]
    upper = np.atleast_1d(_capacities(problem)).astype(float)
    lower = np.full(len(upper), -np.inf)
    if isinstance(problem, MultipleChoiceKnapsack):
        member = np.zeros((problem.class_count, problem.n))
        member[problem.classes, np.arange(problem.n)] = 1
        rows.append(member)
        lower, upper = (np.append(values, np.ones(problem.class_count)) for values in (lower, upper))
    matrix = np.vstack(rows)
    columns, places = np.nonzero(matrix.T)
    lp: Any = highspy.HighsLp()
    lp.num_col_, lp.num_row_, lp.sense_ = problem.n, len(matrix), highspy.ObjSense.kMaximize
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = problem.profits.astype(float), np.zeros(problem.n), np.ones(problem.n)
    lp.row_lower_, lp.row_upper_ = lower, upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.searchsorted(columns, np.arange(problem.n + 1))
    lp.a_matrix_.index_, lp.a_matrix_.value_ = places, matrix[places, columns]
    lp.integrality_ = [highspy.HighsVarType.kInteger] * problem.n
    highs.passModel(lp)
    highs.run()
    proved = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return proved, float(highs.getInfo().objective_function_value)


def _capacities(problem: ItemProblem) -> Any:
    return problem.capacity if isinstance(problem, MultipleChoiceKnapsack) else problem.capacities
