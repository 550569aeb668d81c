"""Weights of rows multiply their log-likelihoods, and count in the moments of columns."""

import numpy as np
import pytest
from scipy import sparse

from engine.solvers.gibbs.design.features import column_moments
from engine.solvers.gibbs.families import FAMILIES, constant_of_counts
from engine.solvers.gibbs.problem import HorseshoeRegression
from tests.support.samplers import sampling_of

RANDOM = np.random.default_rng(11)
X = RANDOM.standard_normal((45, 4))
X[:, 3] = X[:, 2] + 0.3 * RANDOM.standard_normal(45)  # a pair ...
X[:, 1] = np.where(np.arange(45) < 6, X[:, 1], 0.0)  # ... and a tail
WEIGHTS = RANDOM.gamma(2.0, 0.6, 45)
FAMILY_NAMES = ("probit", "logit", "normal", "student", "ordinal", "counts")


def target_of(family):
    latent = X[:, 0] + np.random.default_rng(12).standard_normal(45)
    if family in ("normal", "student"):
        return latent
    return np.digitize(latent, [0.0] if family in ("probit", "logit") else [-0.7, 0.4, 1.1])


@pytest.mark.few(1)
@pytest.mark.parametrize(("storage", "weights"), [("float32", None), ("float32", WEIGHTS), ("sparse", WEIGHTS)])
@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_likelihood_and_score_are_sums_with_the_weights(device, family, storage, weights):
    y, factors = target_of(family), np.ones(45) if weights is None else weights
    problem = HorseshoeRegression(X, 17 * y if family == "counts" else y, family, weights=weights)
    auxiliary = np.array([0.2, -0.3]) if family == "ordinal" else np.array([-0.4])[: FAMILIES[family].targeted]
    options = {"standardize": False, "storage": storage, "kernel": "hmc", "chains": 1}
    with sampling_of(device, problem, **options) as sampler:
        sampler.set_auxiliary(auxiliary)

        def value(beta):
            margins = beta[0] + X @ beta[1:]
            if not FAMILIES[family].targeted:
                margins = margins * np.where(problem.y, 1.0, -1.0)
            return float(FAMILIES[family].log_likelihood(margins, problem.y, auxiliary, 4.0) @ factors)

        beta = np.array([0.3, 0.8, -0.5, 0.2, 0.4])
        gradient, found = sampler.score(beta)
        if family == "counts":  # without the terms that the margin is not in
            found += float(constant_of_counts(problem.y, auxiliary) @ factors)
        assert found == pytest.approx(value(beta), rel=3e-6)
        expected = [(value(beta + step) - value(beta - step)) / 2e-5 for step in 1e-5 * np.eye(5)]
        assert gradient == pytest.approx(np.array(expected), rel=3e-4, abs=3e-4)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_weighted_moments_are_those_of_repeated_rows(kind):
    repeats = RANDOM.integers(0, 4, 45)
    expected = np.repeat(X, repeats, axis=0)
    mean, scale = column_moments(kind(X), weights=repeats.astype(float))
    assert mean == pytest.approx(expected.mean(axis=0))
    assert scale == pytest.approx(expected.std(axis=0))
