"""Random knapsacks for the sparse table."""

import numpy as np
from hypothesis import strategies as st

from engine import Knapsack


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
