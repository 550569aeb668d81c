"""The host's bounds, exact integers and never wrong; and orders of items, against sorting all of them by their keys."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.solvers.knapsack.bounds import Relaxation, greedy
from engine.solvers.knapsack.ordering import by_efficiency, by_weight

pytestmark = pytest.mark.smoke


@st.composite
def instances(draw):
    n = draw(st.integers(2, 9))
    most = draw(st.sampled_from([5, 9, 100, 10**10]))
    weights = draw(st.lists(st.integers(1, most), min_size=n, max_size=n))
    profits = draw(st.lists(st.integers(1, most), min_size=n, max_size=n))
    capacity = draw(st.integers(max(weights), max(max(weights), sum(weights) - 1)))
    return np.array(profits), np.array(weights), capacity


def solutions(profits, weights, capacity):
    """Profit and choice of every feasible solution."""
    return [
        (int(np.dot(profits, choice)), choice)
        for choice in itertools.product((0, 1), repeat=len(weights))
        if int(np.dot(weights, choice)) <= capacity
    ]


@given(instances())
def test_the_bound_is_at_least_and_greedy_at_most_the_optimum(instance):
    profits, weights, capacity = instance
    if weights.sum() <= capacity:
        return
    optimum, order = max(solutions(profits, weights, capacity))[0], by_efficiency(profits, weights)
    items = greedy(profits, weights, capacity, order)
    assert int(weights[items].sum()) <= capacity
    assert profits[items].sum() <= optimum <= Relaxation.at_break_item(profits, weights, capacity, order).bound


@given(instances())
def test_every_better_solution_has_the_fixed_choices(instance):
    profits, weights, capacity = instance
    if weights.sum() <= capacity:
        return
    order, known = by_efficiency(profits, weights), solutions(profits, weights, capacity)
    relaxation = Relaxation.at_break_item(profits, weights, capacity, order)
    for objective in (int(profits[greedy(profits, weights, capacity, order)].sum()), max(known)[0] - 1):
        taken, left = relaxation.fixed(objective)
        for profit, choice in known:
            if profit > objective:
                assert all(choice[i] for i in np.flatnonzero(taken))
                assert not any(choice[i] for i in np.flatnonzero(left))


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
