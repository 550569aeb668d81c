"""The host: bounds are never wrong, the core is exact where it says so, and presolving loses no better solution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import Knapsack
from engine.references.knapsack import optimal_value
from engine.solvers.knapsack.bounds import Relaxation, greedy
from engine.solvers.knapsack.core import search_core
from engine.solvers.knapsack.ordering import by_efficiency, by_weight
from engine.solvers.knapsack.presolve import presolve
from tests.support.examples import examples


@st.composite
def instances(draw):
    n = draw(st.integers(2, 9))
    most = draw(st.sampled_from([5, 9, 100, 10**10]))
    weights = draw(st.lists(st.integers(1, most), min_size=n, max_size=n))
    profits = draw(st.lists(st.integers(1, most), min_size=n, max_size=n))
    capacity = draw(st.integers(max(weights), max(max(weights), sum(weights) - 1)))
    return np.array(profits), np.array(weights), capacity


@given(instances())
def test_bounds_hold_and_every_better_solution_has_the_fixed_choices(instance):
    profits, weights, capacity = instance
    if weights.sum() <= capacity:
        return
    choices = np.arange(1 << len(weights))[:, None] >> np.arange(len(weights)) & 1
    choices = choices[choices @ weights <= capacity]
    values, order = choices @ profits, by_efficiency(profits, weights)
    items = greedy(profits, weights, capacity, order)
    relaxation = Relaxation.at_break_item(profits, weights, capacity, order)
    assert int(weights[items].sum()) <= capacity
    assert profits[items].sum() <= values.max() <= relaxation.bound
    for objective in (int(profits[items].sum()), int(values.max()) - 1):
        taken, left = relaxation.fixed(objective)
        better = choices[values > objective]
        assert better[:, taken].all()
        assert not better[:, left].any()


@pytest.mark.parametrize(
    ("n", "most"), [(1, 5), (300, 20), (20_000, 3), (20_000, 1000), (20_000, 10**7), (70_000, 300), (9000, 10**12)]
)
def test_orders_are_those_of_sorting_all_items(n, most):
    """Equal keys by the second and by their places: half of the second profits have equal efficiencies."""
    random = np.random.default_rng(n + most)
    weights, profits = random.integers(1, most, (2, n), endpoint=True)
    equal = 3 * np.where(random.random(n) < 0.5, 2 * weights, profits - 1)
    for w, p in ((weights, profits - 1), (2 * weights, equal)):
        assert (by_weight(p, w) == np.lexsort((-p, -w))).all()
        assert (by_efficiency(p, w) == np.lexsort((w, -p / w))).all()


@st.composite
def problems(draw):
    """Problems whose items do not all fit, of several correlations."""
    n = draw(st.integers(2, 40))
    largest = draw(st.sampled_from([3, 30, 900]))
    weights = np.array(draw(st.lists(st.integers(1, largest), min_size=n, max_size=n)))
    kind = draw(st.sampled_from(["free", "plus", "minus", "equal", "ratio"]))
    profits = {
        "free": np.array(draw(st.lists(st.integers(0, 1000), min_size=n, max_size=n))),
        "plus": weights + 50,
        "minus": np.maximum(weights - largest // 3, 1),
        "equal": weights,
        "ratio": 7 * weights,
    }[kind]
    return Knapsack(profits, weights, draw(st.integers(1, int(weights.sum()))))


@examples(150)
@given(problem=problems())
def test_presolving_and_the_core_find_the_optimum(problem):
    best = optimal_value(problem)
    reduced = presolve(problem, reduce=True)
    profit, weight = problem.evaluate(reduced.best)
    assert profit == reduced.objective <= best <= reduced.bound
    assert weight <= problem.capacity
    if reduced.solved:
        return
    if reduced.objective < best:  # the open items and those taken still hold the optimum
        open_problem = Knapsack(problem.profits[reduced.open], problem.weights[reduced.open], max(1, reduced.capacity))
        assert optimal_value(open_problem) + int(problem.profits[reduced.taken].sum()) == best
    search_core(problem, reduced, 60.0, lambda: None)
    profit, weight = problem.evaluate(reduced.best)
    assert profit == reduced.objective == reduced.bound == best
    assert weight <= problem.capacity


def test_a_number_of_items_does_not_cut_off_a_solution_better_by_one():
    random = np.random.default_rng(6)
    for number in range(20):  # light items are the best, and at most so many fit; or heavy ones, and at least so many
        weights = random.integers(11, 40, 12)
        problem = Knapsack(weights + (10 if number % 2 else -10), weights, int(weights.sum()) // 2)
        best = optimal_value(problem)
        found = Relaxation.with_cardinality(problem.profits, problem.weights, problem.capacity, best - 1)
        assert found is None or found.bound >= best
