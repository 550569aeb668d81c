import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from engine.numerics.lbfgs import minimize


@pytest.mark.parametrize("size", [2, 10, 60])
def test_a_curved_valley_is_followed_to_its_end(size):
    start = np.tile([-1.2, 1.0], size // 2)
    found = minimize(lambda x: (rosen(x), rosen_der(x)), start, 1000, 1e-8, 0.0)
    assert found == pytest.approx(np.ones(size), abs=1e-6)


@pytest.mark.parametrize("evaluations", range(1, 12))
def test_a_search_that_is_stopped_returns_no_point_worse_than_its_start(evaluations):
    taken = []

    def steep(x):  # log(0) far out, and steps of length 1 that overshoot
        taken.append(x)
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(100.0 * x @ x - np.log(2.0 - x).sum()), 200.0 * x + 1.0 / (2.0 - x)

    start = np.full(3, 1.5)
    found = minimize(steep, start, 100, 1e-9, 0.0, lambda: len(taken) >= evaluations)
    assert len(taken) <= evaluations
    assert steep(found)[0] <= steep(start)[0]
