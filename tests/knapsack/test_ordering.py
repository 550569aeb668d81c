"""Orders of items, against sorting all of them by their keys."""

import numpy as np
import pytest

from engine.solvers.knapsack.ordering import by_efficiency, by_weight


@pytest.mark.parametrize(
    ("n", "most"), [(1, 5), (300, 20), (20_000, 3), (20_000, 1000), (20_000, 10**7), (70_000, 300)]
)
def test_orders_are_those_of_sorting_all_items(n, most):
    random = np.random.default_rng(n + most)
    weights = random.integers(1, most, n, endpoint=True)
    profits = random.integers(0, most, n, endpoint=True)
    assert (by_weight(profits, weights) == np.lexsort((-profits, -weights))).all()
    assert (by_efficiency(profits, weights) == np.lexsort((weights, -profits / weights))).all()


@pytest.mark.parametrize("most", [1, 4, 60, 10**12])
def test_equal_keys_keep_the_order_of_the_second_and_of_the_items(most):
    random = np.random.default_rng(most)
    weights = 2 * random.integers(1, most, 9000, endpoint=True)
    profits = 3 * np.where(random.random(9000) < 0.5, weights, random.integers(0, most, 9000, endpoint=True))
    assert (by_weight(profits, weights) == np.lexsort((-profits, -weights))).all()
    assert (by_efficiency(profits, weights) == np.lexsort((weights, -profits / weights))).all()
