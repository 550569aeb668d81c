"""Random knapsacks for the sparse table, and what every answer must be."""

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, milp

from engine import Knapsack, MultidimensionalKnapsack, Status
from engine.references.knapsack import optimal_value


@st.composite
def problems(draw):
    """Up to a few hundred tiles: gaps between weights, equal efficiencies, light items, large gains."""
    n = draw(st.integers(2, 40))
    kind = draw(st.sampled_from(["halves", "even", "ratio", "free", "steep"]))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    if kind == "halves":  # as in the instances of Jooken, Leyman and De Causmaecker
        weights = 100_000 // 2 ** random.integers(0, 14, n) + random.integers(1, 60, n)
        profits = weights + random.integers(1, 60, n)
    elif kind == "even":
        weights = 2 * random.integers(1, 3000, n)
        profits = weights + 2 * random.integers(0, 2, n)
    elif kind == "ratio":
        weights = random.integers(1, 4000, n)
        profits = 3 * weights
    elif kind == "steep":
        weights = random.integers(1, 9, n)
        profits = random.integers(1, 10**6, n)
    else:
        weights = random.integers(1, 20_000, n)
        profits = random.integers(1, 10**9, n)
    return Knapsack(profits, weights, draw(st.integers(1, int(weights.sum()))))


def best_of_all(problem):
    """The optimal value: Bellman's with one constraint, else that of the best of all choices."""
    if not isinstance(problem, MultidimensionalKnapsack):
        return optimal_value(problem)
    choices = np.arange(1 << problem.n)[:, None] >> np.arange(problem.n) & 1
    fits = (choices @ problem.weights.T <= problem.capacities).all(axis=1)
    return int((choices @ problem.profits)[fits].max())


def by_highs(problem, *constraints):
    """The optimal value of 0/1 variables, within the capacities and other constraints."""
    several = isinstance(problem, MultidimensionalKnapsack)
    weights, most = (problem.weights, problem.capacities) if several else (problem.weights[None], problem.capacity)
    rows = [LinearConstraint(weights, ub=most), *constraints]
    return round(
        -milp(-problem.profits, constraints=rows, bounds=(0, 1), integrality=1, options={"mip_rel_gap": 0}).fun
    )


def assert_solved(result, problem, value=None):
    """A proved optimum, of the value given or else found independently, with sorted items that have it and fit."""
    assert result.status is Status.OPTIMAL
    assert result.objective == result.bound == (best_of_all(problem) if value is None else value)
    assert (np.diff(result.solution) >= (getattr(problem, "counts", None) is None)).all()
    profit, weights = problem.evaluate(result.solution)
    assert profit == result.objective
    limits = problem.capacities if hasattr(problem, "capacities") else problem.capacity
    assert (np.atleast_1d(weights) <= limits).all()


def assert_optimal(engine, problem, value=None, **options):
    assert_solved(engine.solve(problem, **options), problem, value)


def assert_stopped(result, problem, status=Status.INTERRUPTED):
    """The best so far, with its profit and a bound, of a run that ended for this reason."""
    assert result.status is status
    assert problem.evaluate(result.solution)[0] == result.objective <= result.bound
