"""Random knapsacks for the sparse table, and what every answer must be."""

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, milp

import engine
from engine import Knapsack, MultidimensionalKnapsack, Status


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
    """The optimal value of a problem of several constraints, of all choices."""
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
    """A proved optimum, of the value given or else as the verifier finds it, with sorted items that have it and fit."""
    assert result.status is Status.OPTIMAL
    assert (np.diff(result.solution) >= (getattr(problem, "counts", None) is None)).all()
    if value is None and isinstance(problem, MultidimensionalKnapsack):
        value = best_of_all(problem)
    assert result.objective == result.bound == (result.bound if value is None else value)
    found = engine.verify(result, problem)
    assert found.verdict == "verified" if value is None else not found.refuted, found


def assert_optimal(owner, problem, value=None, **options):
    assert_solved(owner.solve(problem, **options), problem, value)


def assert_stopped(result, problem, status=Status.INTERRUPTED):
    """The best so far, with its profit and a bound, of a run that ended for this reason."""
    assert result.status is status
    assert problem.evaluate(result.solution)[0] == result.objective <= result.bound
