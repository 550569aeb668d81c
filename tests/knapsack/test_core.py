"""The search on the host: exact where it says so, never above the optimum, and presolving loses no better solution."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine import Knapsack
from engine.generators.knapsack import GeneratorOptions, generate
from engine.references.knapsack import optimal_value
from engine.solvers.knapsack.bounds import Relaxation, exchange, greedy
from engine.solvers.knapsack.core import Core, search_core
from engine.solvers.knapsack.ordering import by_efficiency
from engine.solvers.knapsack.presolve import presolve
from tests.support.examples import examples


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


@examples(50)
@given(problem=problems())
def test_a_search_without_time_claims_no_proof_and_loses_no_solution(problem):
    profits, weights = problem.profits, np.maximum(problem.weights, 1)
    order = by_efficiency(profits, weights)
    core = Core(profits, weights, problem.capacity, order, 0, 2**40)
    core.run(-1.0)
    if core.solution is not None:
        assert int(profits[core.solution].sum()) == core.objective <= optimal_value(problem)
        assert int(weights[core.solution].sum()) <= problem.capacity
    if core.proved:
        assert core.objective == optimal_value(problem)


@examples(100)
@given(problem=problems())
def test_bounds_with_a_number_of_items_hold_for_every_better_solution(problem):
    fits = problem.weights <= problem.capacity
    profits, weights = problem.profits[fits], problem.weights[fits]
    if not len(profits) or int(weights.sum()) <= problem.capacity or not profits.all():
        return
    order, best = by_efficiency(profits, weights), optimal_value(problem)
    for objective in (int(profits[greedy(profits, weights, problem.capacity, order)].sum()), best - 1):
        found = Relaxation.with_cardinality(profits, weights, problem.capacity, objective)
        assert found is None or best <= max(objective, found.bound)


def test_the_papers_instances_are_proved_by_the_number_of_items():
    """p = w + 50: no more items fit than the lightest, and an exchange of two items fills the capacity."""
    for seed in range(3):
        problem = generate(GeneratorOptions(type="strongly-correlated", n=5000, seed=seed))
        reduced = presolve(problem, reduce=True)
        most = int(np.searchsorted(np.cumsum(np.sort(problem.weights)), problem.capacity, side="right"))
        assert reduced.solved
        assert reduced.objective == problem.capacity + 50 * most


def test_an_exchange_takes_the_best_of_all_small_changes():
    random = np.random.default_rng(3)
    for _ in range(30):
        n = 9
        weights, profits = random.integers(1, 60, n), random.integers(1, 60, n)
        capacity = int(weights.sum()) // 2
        solution = greedy(profits, weights, capacity, by_efficiency(profits, weights))
        found = exchange(profits, weights, capacity, solution, np.zeros(n))
        before = np.isin(np.arange(n), solution)
        best = 0
        for code in range(2**n):
            choice = (code >> np.arange(n)) & 1 == 1
            small = (choice & ~before).sum() <= 2 and (before & ~choice).sum() <= 2
            if small and int(weights[choice].sum()) <= capacity:
                best = max(best, int(profits[choice].sum()))
        assert int(profits[found].sum()) == best
        assert int(weights[found].sum()) <= capacity


def test_a_number_of_items_does_not_cut_off_a_solution_better_by_one():
    random = np.random.default_rng(6)
    for number in range(20):  # light items are the best, and at most so many fit; or heavy ones, and at least so many
        weights = random.integers(11, 40, 12)
        problem = Knapsack(weights + (10 if number % 2 else -10), weights, int(weights.sum()) // 2)
        best = optimal_value(problem)
        found = Relaxation.with_cardinality(problem.profits, problem.weights, problem.capacity, best - 1)
        assert found is None or found.bound >= best
