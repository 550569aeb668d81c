"""Equal items, items without weight, capacity 0 and common divisors: what problems are before anything is searched."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from engine import Knapsack
from engine.solvers.knapsack.mip.process import IntegerProgram, Mip
from tests.support.examples import examples
from tests.support.knapsacks import assert_solved


def drawn(kinds, n, largest, seed):
    """Each item is one of a few kinds."""
    random = np.random.default_rng(seed)
    weights, profits = random.integers(1, largest, (2, kinds))
    kind = random.integers(0, kinds, n)
    return Knapsack(profits[kind], weights[kind], int(weights[kind].sum()) // 2)


def spanner(n, largest, seed):
    """Pisinger (2005), strongly correlated, v = 2, m = 10: each item is a multiple of one of two."""
    random = np.random.default_rng(seed)
    weights = -(-2 * random.integers(1, largest, 2, endpoint=True) // 10)
    chosen, multiple = random.integers(0, 2, n), random.integers(1, 10, n, endpoint=True)
    weights = weights[chosen] * multiple
    return Knapsack(weights + largest // 50 * multiple, weights, int(weights.sum()) // 2)


def optimum(problem):
    """By HiGHS, with one integer for each kind of item."""
    pairs, counts = np.unique(np.stack([problem.profits, problem.weights]), axis=1, return_counts=True)
    rows = LinearConstraint(pairs[1:], ub=problem.capacity)
    found = milp(-pairs[0], constraints=rows, bounds=Bounds(0, counts), integrality=1, options={"mip_rel_gap": 0.0})
    return round(-found.fun)


@pytest.mark.parametrize("problem", [drawn(15, 20_000, 10_000, 1), spanner(20_000, 1000, 0)])
def test_many_items_of_few_kinds_are_solved_without_a_table(one_device, problem):
    result = one_device.solve(problem, time_limit=60)
    assert_solved(result, problem, optimum(problem))
    assert "table" not in str(result.arrays["route"])


def test_a_run_of_merged_items_begins_from_a_given_solution_and_resumes(one_device, tmp_path):
    problem = drawn(6, 500, 100_000, 3)
    best = one_device.solve(problem).solution
    again = one_device.solve(problem, initial=tuple(best.tolist()), time_limit=1e-9, run_folder=tmp_path / "run")
    value = optimum(problem)
    assert again.objective == value
    assert_solved(one_device.resume(tmp_path / "run", time_limit=None).wait(), problem, value)


@examples(40)
@given(
    kinds=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), min_size=1, max_size=4),
    which=st.lists(st.integers(0, 3), max_size=12),
    capacity=st.integers(0, 40),
    factor=st.integers(1, 3),
    counts=st.booleans(),
)
def test_small_problems_and_their_profiles_are_verified(one_device, kinds, which, capacity, factor, counts):
    items = [kinds[kind % len(kinds)] for kind in which]
    profits, weights = [p for p, _ in items], [factor * w for _, w in items]
    problem = Knapsack(profits, weights, capacity)
    if counts:
        number = [sum(kind % len(kinds) == place for kind in which) for place in range(len(kinds))]
        problem = Knapsack([p for p, _ in kinds], [factor * w for _, w in kinds], capacity, counts=number)
    whole = one_device.solve(problem, profile=True, variant="rows", reduce=False)
    for result in (one_device.solve(problem), whole, one_device.map([problem])[0]):
        assert_solved(result, problem)
    assert len(whole.arrays["profile"]) == capacity + 1


def test_a_search_by_highs_is_ended_when_the_run_must_end():
    random = np.random.default_rng(0)
    weights = random.integers(1000, 100_000, (30, 200))
    program = IntegerProgram(weights.sum(axis=0), weights, weights.sum(axis=1) // 2, np.ones(200, np.int64))

    def stop():
        if mip.objective > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Mip(program, 1000.0) as mip:  # which would take days
        mip.wait(stop)
    assert mip.objective == program.value(mip.best) > 0
    assert not mip._process.is_alive
