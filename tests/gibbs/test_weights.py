"""Weights of rows multiply their log-likelihoods: formulas, moves, moments, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import engine
from engine.devices import Member
from engine.solvers.gibbs.design.features import column_moments
from engine.solvers.gibbs.design.lines import find_lines
from engine.solvers.gibbs.families import FAMILIES, constant_of_counts
from engine.solvers.gibbs.problem import HorseshoeRegression
from tests.support.samplers import sampling_of, state_of

RANDOM = np.random.default_rng(11)
X = RANDOM.standard_normal((45, 4))
X[:, 3] = X[:, 2] + 0.3 * RANDOM.standard_normal(45)  # a pair ...
X[:, 1] = np.where(np.arange(45) < 6, X[:, 1], 0.0)  # ... and a tail
WEIGHTS = RANDOM.gamma(2.0, 0.6, 45)
FAMILY_NAMES = ("probit", "logit", "normal", "student", "ordinal", "counts")


def target_of(family: str) -> NDArray[Any]:
    latent = X[:, 0] + np.random.default_rng(12).standard_normal(45)
    if family in ("normal", "student"):
        return latent
    return np.digitize(latent, [0.0] if family in ("probit", "logit") else [-0.7, 0.4, 1.1])


@pytest.mark.few(1)
@pytest.mark.parametrize("storage", ["float32", "sparse"])
@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_likelihood_and_score_are_sums_with_the_weights(device: Member, family: str, storage: str) -> None:
    problem = HorseshoeRegression(X, target_of(family), family, weights=WEIGHTS)
    auxiliary = np.array([0.2, -0.3]) if family == "ordinal" else np.array([-0.4])[: FAMILIES[family].targeted]
    options: dict[str, Any] = {"standardize": False, "storage": storage, "kernel": "hmc", "chains": 1}
    with sampling_of(device, problem, **options) as sampler:
        sampler.set_auxiliary(auxiliary)

        def value(beta: NDArray[np.float64]) -> float:
            margins = beta[0] + X @ beta[1:]
            if not FAMILIES[family].targeted:
                margins = margins * np.where(problem.y, 1.0, -1.0)
            return float(FAMILIES[family].log_likelihood(margins, problem.y, auxiliary, 4.0) @ WEIGHTS)

        beta = np.array([0.3, 0.8, -0.5, 0.2, 0.4])
        gradient, found = sampler.score(beta)
        if family == "counts":  # without the terms that the margin is not in
            found += float(constant_of_counts(problem.y, auxiliary) @ WEIGHTS)
        assert found == pytest.approx(value(beta), rel=3e-6)
        expected = [(value(beta + step) - value(beta - step)) / 2e-5 for step in 1e-5 * np.eye(5)]
        assert gradient == pytest.approx(np.array(expected), rel=3e-4, abs=3e-4)


def chains_of(member: Member, problem: HorseshoeRegression, storage: str) -> NDArray[np.float64]:
    """Draws of three chains, from a given point, with all moves of the kernel hmc."""
    options: dict[str, Any] = {"chains": 3, "kernel": "hmc", "storage": storage}
    with sampling_of(member, problem, 9, **options) as sampler:
        sampler.make_gram(weighted=False)
        gram = sampler.gram()
        lines = find_lines(sampler.design, gram, sampler.weigh_at(np.zeros(5)))
        assert min(lines.pairs, lines.tails) > 0
        sampler.set_lines(lines)
        sampler.set_small(np.array([False, False, True, True, False]))
        sampler.make_gram(weighted=True)
        sampler.set_state(state_of(np.linspace(-0.3, 0.4, 15).reshape(3, -1), tau=0.3))
        sampler.adapt(averaging=True)
        sampler.advance(0, 6, 0)
        sampler.take_weights()  # the curvature at the chains' points
        sampler.collect()
        sampler.advance(6, 6, 0)
        _, rows, _ = sampler.collect()
    return rows


@pytest.mark.full
@pytest.mark.parametrize("storage", ["float32", "sparse"])
@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_rows_in_parts_whose_weights_add_up_give_the_same_draws(device: Member, family: str, storage: str) -> None:
    y = target_of(family)
    weighted = chains_of(device, HorseshoeRegression(X, y, family, weights=WEIGHTS), storage)
    share = np.random.default_rng(13).random(45)
    parts = np.concatenate([share * WEIGHTS, (1.0 - share) * WEIGHTS])
    in_parts = HorseshoeRegression(np.vstack([X, X]), np.append(y, y), family, weights=parts)
    assert chains_of(device, in_parts, storage) == pytest.approx(weighted, rel=2e-2, abs=2e-2)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_weighted_moments_are_those_of_repeated_rows(kind: Any) -> None:
    repeats = RANDOM.integers(0, 4, 45)
    expected = np.repeat(X, repeats, axis=0)
    mean, scale = column_moments(kind(X), weights=repeats.astype(float))
    assert mean == pytest.approx(expected.mean(axis=0))
    assert scale == pytest.approx(expected.std(axis=0))


def test_a_weighted_regression_is_that_of_repeated_rows(device: Member) -> None:
    repeats = np.random.default_rng(14).integers(0, 4, 45)
    y = target_of("normal")
    whole = HorseshoeRegression(np.repeat(X, repeats, axis=0), np.repeat(y, repeats), "normal")
    weighted = HorseshoeRegression(X, y, "normal", weights=repeats)
    again = type(weighted).from_arrays(weighted.to_arrays(), "again")
    with engine.Engine(devices=[device.info.id]) as owner:
        one, other = (owner.solve(problem, seed=1, draws=300, warmup=100) for problem in (whole, again))
    for name in ("mean", "sd"):
        difference = (one.arrays[name] - other.arrays[name]) / one.arrays["sd"]
        assert np.abs(difference).max() < 0.3
    assert one.arrays["lp"].mean() == pytest.approx(other.arrays["lp"].mean(), abs=1.0)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"weights must be a number for each of the 45 rows; got float64 \(2,\)"),
        (np.where(np.arange(45) == 3, -1.0, 1.0), r"weights must be finite and at least 0; got -1.0"),
        (np.full(45, np.inf), "weights must be finite and at least 0; got inf"),
        (np.zeros(45), "all weights are 0"),
    ],
)
def test_wrong_weights_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(engine.ProblemError, match=message):
        engine.HorseshoeProbit(X, target_of("probit"), weights=weights)


@pytest.mark.parametrize("kernel", ["gibbs", "px", "cg"])
def test_kernels_with_latent_variables_refuse_weights(kernel: str) -> None:
    problem = engine.HorseshoeProbit(X, target_of("probit"), weights=WEIGHTS)
    with pytest.raises(engine.OptionError, match=f"kernel = {kernel} draws latent variables, which rows with weights"):
        engine.solve(problem, kernel=kernel, draws=10)
