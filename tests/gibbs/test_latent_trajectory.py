"""The kernel ``hmc`` where X has more columns than rows: trajectories of the latent normals, with beta integrated out.

That they leave the posterior as it is is tested in ``test_invariance.py``.
"""

import numpy as np
import pytest
from scipy.special import log_ndtr

import engine
from engine.solvers.gibbs.choice import with_kernel
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.validate import settings_for
from tests.support.engines import engine_of


def wide(rows, columns):
    """A probit target of the first three of so many columns, whose values half precision can hold."""
    random = np.random.default_rng(5)
    X = np.round(16.0 * random.standard_normal((rows, columns))) / 16.0
    return engine.HorseshoeProbit(X, X[:, :3] @ [2.0, -2.0, 1.0] + random.standard_normal(rows) > 0)


@pytest.mark.parametrize(
    ("shape", "family", "options", "latent"),
    [
        ((20, 40), "probit", {}, True),
        ((20, 20), "probit", {}, True),  # with the intercept
        ((20, 20), "probit", {"intercept": False}, False),
        ((20, 40), "normal", {}, True),
        ((20, 40), "student", {}, True),
        ((20, 38), "normal", {}, False),
        ((20, 40), "logit", {}, False),
        ((20, 40), "probit", {"storage": "float16"}, False),
        ((20, 40), "probit", {"storage": "sparse"}, False),
        ((20, 40), "probit", {"streaming": "always"}, False),
        ((20, 40), "probit", {"kernel": "px"}, False),
    ],
)
def test_latent_normals_are_moved_where_these_are_few_and_x_is_on_the_device(shape, family, options, latent):
    X = np.random.default_rng(1).standard_normal(shape)
    problem = engine.HorseshoeRegression(X, np.arange(shape[0]) % 2, family=family)
    chosen = with_kernel(problem, Options(**options))
    assert settings_for(Design.of(problem, chosen), chosen, 1).latent == latent


@pytest.mark.full
def test_a_separable_wide_problem_mixes(device):
    result = engine_of(device).solve(wide(60, 160), draws=400, seed=1)
    assert result.counters["least_ess"] > 70  # 27 with trajectories of beta
    assert result.arrays["separating"].size


def test_the_log_likelihood_is_that_of_the_draw(device):
    problem = wide(10, 15)
    arrays = engine_of(device).solve(problem, draws=4, warmup=0, chains=2).arrays
    eta = (arrays["beta"][:, :, :1] + arrays["beta"][:, :, 1:] @ problem.X.T) * np.where(problem.y, 1.0, -1.0)
    np.testing.assert_allclose(arrays["lp"], log_ndtr(eta).sum(axis=2), rtol=1e-4, atol=1e-6)
