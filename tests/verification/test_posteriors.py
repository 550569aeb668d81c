"""The checker of posteriors: independent draws from a grid are accepted; altered draws and summaries are refuted."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import exp1, log_expit, log_ndtr

import engine
from engine.base.result import Result, Status
from engine.verification.diagnostics import diagnostics
from engine.verification.scores import DEFAULTS, Model

ROWS, CHAINS, DRAWS = 25, 4, 1000
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(2.0, 3.0, (ROWS, 1))
MARGIN = 0.6 * (X[:, 0] - X.mean()) / X.std()
OPTIONS = {"intercept": False, "standardize": False}


def log_prior(prior, u):
    """The density of a coefficient divided by tau, without constants."""
    k = 0.5 * u**2
    if prior == "horseshoe":
        near = np.minimum(k, 500.0)  # beyond, exp(k) E1(k) is about 1 / k
        return np.where(k > 500.0, -np.log(np.maximum(k, 1.0)), np.log(exp1(near)) + near)
    return -np.abs(u) if prior == "lasso" else -k


PROBLEMS = {
    "probit": (
        engine.HorseshoeProbit(X, MARGIN + RANDOM.normal(size=ROWS) > 0),
        "horseshoe",
        lambda y, m, sigma: log_ndtr(np.where(y > 0, m, -m)),
    ),
    "logit": (
        engine.HorseshoeLogit(X, MARGIN + RANDOM.logistic(size=ROWS) > 0),
        "lasso",
        lambda y, m, sigma: log_expit(np.where(y > 0, m, -m)),
    ),
    "normal": (
        engine.HorseshoeRegression(X, MARGIN + 0.5 * RANDOM.normal(size=ROWS)),
        "ridge",
        lambda y, m, sigma: -0.5 * ((y - m) / sigma) ** 2 - np.log(sigma),
    ),
}


@functools.lru_cache
def sampled(name, seed=1):
    """A problem, and a result with independent draws by a grid over coefficient, log tau and log sigma."""
    problem, prior, likelihood = PROBLEMS[name]
    beta, log_tau = np.linspace(-1.5, 2.0, 301) + 1e-6, np.linspace(-8.0, 6.0, 201)
    log_sigma = np.linspace(-1.6, 0.6, 45) if name == "normal" else np.zeros(1)
    sigma = np.exp(log_sigma)
    of_rows = [
        likelihood(float(y), x * beta[:, None], sigma) for x, y in zip(X[:, 0], problem.y, strict=True)
    ]  # (beta, sigma)
    log_density = np.add.reduce(np.broadcast_arrays(*of_rows))[:, None, :]
    log_density = (
        log_density + (log_prior(prior, beta[:, None] / np.exp(log_tau)) - np.log1p(np.exp(2 * log_tau)))[:, :, None]
    )
    if name == "normal":
        log_density = log_density + log_sigma - np.log1p(sigma**2)
    weights = np.exp(log_density - log_density.max()).ravel()
    random = np.random.default_rng(seed)
    places = np.unravel_index(random.choice(weights.size, CHAINS * DRAWS, p=weights / weights.sum()), log_density.shape)
    jittered = [
        (grid[place] + random.uniform(-0.5, 0.5, place.shape) * (grid[1] - grid[0] if len(grid) > 1 else 0.0)).reshape(
            CHAINS, DRAWS
        )
        for grid, place in zip((beta, log_tau, log_sigma), places, strict=True)
    ]
    arrays = {"beta": jittered[0][:, :, None], "log_tau": jittered[1], "kernel": np.array("hmc, X as float32")}
    if name == "normal":
        arrays["sigma"] = np.exp(jittered[2])
    arrays |= {
        "interval": np.array(0.9),
        "names": np.array(["x0", "log_tau", *(["sigma"] if name == "normal" else [])]),
    }
    return problem, summarized(Result(Status.COMPLETE, None, None, None, arrays=arrays)), {**OPTIONS, "prior": prior}


def drawn(name, seed=1):
    """A problem, a result, and the options of its run."""
    problem, result, options = sampled(name, seed)
    return problem, result, dict(options)


def summarized(result, **changed):
    """The result with its summaries computed from its draws, by the functions that runs use."""
    arrays = {**result.arrays, **changed}
    parts = [arrays["beta"], *(arrays[name][:, :, None] for name in ("log_tau", "sigma") if name in arrays)]
    draws = np.concatenate(parts, axis=2)
    flat, found = draws.reshape(-1, draws.shape[2]), engine.chain_diagnostics(draws)
    arrays |= {name: getattr(found, name) for name in ("r_hat", "ess_bulk", "ess_tail", "mcse_mean")}
    arrays |= {"mean": flat.mean(axis=0), "sd": flat.std(axis=0, ddof=1)}
    arrays["quantiles"] = np.quantile(flat, (0.05, 0.5, 0.95), axis=0).T
    return replace(result, arrays=arrays, solution=arrays["mean"][:1])


@pytest.mark.parametrize("name", PROBLEMS)
def test_draws_from_a_posterior_are_verified(name):
    problem, result, options = drawn(name)
    found = engine.verify(result, problem, **options)
    assert (found.verdict, len(found.verified)) == ("verified", 4), found


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("lie", ["moved", "turned", "narrow", "tau", "other prior"])
def test_draws_from_another_distribution_are_refuted(name, lie):
    """Though all summaries are those of the draws."""
    problem, result, options = drawn(name)
    beta, log_tau = result.arrays["beta"], result.arrays["log_tau"]
    if lie == "moved":
        result = summarized(result, beta=beta + 0.5 * beta.std())
    elif lie == "turned":
        result = summarized(result, beta=-beta)
    elif lie == "narrow":
        result = summarized(result, beta=beta.mean() + 0.7 * (beta - beta.mean()))
    elif lie == "tau":
        result = summarized(result, log_tau=log_tau + 0.5)
    else:
        options["tau_scale"] = 0.3
    found = engine.verify(result, problem, **options)
    assert (found.verdict, found.exit_code) == ("refuted", 4)
    assert len(found.refuted) == 1
    assert "identity" in found.refuted[0]


@pytest.mark.parametrize("summary", ["mean", "sd", "quantiles", "r_hat", "ess_bulk", "ess_tail", "mcse_mean"])
def test_a_wrong_summary_is_refuted(summary):
    problem, result, options = drawn("probit")
    arrays = {**result.arrays, summary: result.arrays[summary] * (1 + 1e-4)}
    assert engine.verify(replace(result, arrays=arrays), problem, **options).verdict == "refuted"


def test_what_cannot_be_checked_is_said():
    problem, result, options = drawn("probit")
    for changes in ({"prior": "regularized"}, {"slab": 1.0}):
        found = engine.verify(result, problem, **{**options, **changes})
        assert (found.verdict, found.refuted) == ("partly verified", ())
    few = summarized(result, beta=result.arrays["beta"][:, :10], log_tau=result.arrays["log_tau"][:, :10])
    assert engine.verify(few, problem, **options).verdict == "partly verified"
    beta = result.arrays["beta"] * np.linspace(0.2, 1.8, CHAINS)[:, None, None]
    found = engine.verify(summarized(result, beta=beta), problem, **options)
    assert "the chains disagree" in found.unverified[0]
    none = Result(Status.TIME_LIMIT, None, None, None)
    assert engine.verify(none, problem, **options).verdict == "not verified"


@pytest.mark.parametrize("count", [4, 5, 6, 51, 300])
def test_diagnostics_agree_with_those_of_runs(count):
    """Chains that are dependent, slow to mix, of numbers with ties, and constant."""
    random = np.random.default_rng(2)
    draws = random.normal(size=(3, count, 4)).cumsum(axis=1) * [0.3, 0.1, 0.0, 3.0] + random.normal(size=(3, count, 4))
    draws[:, :, 1] = np.round(draws[:, :, 1])
    draws[:, :, 2] = 1.5
    own, found = diagnostics(draws), engine.chain_diagnostics(draws)
    for name, values in own.items():
        np.testing.assert_allclose(values, getattr(found, name), rtol=1e-10, err_msg=name)


@pytest.mark.parametrize("family", ["probit", "logit", "normal", "student", "ordinal", "counts"])
def test_scores_are_derivatives_of_the_log_likelihood(family):
    """By central differences of SciPy's distributions: by the margin of each row, and by log sigma."""
    from scipy import stats

    y = {"ordinal": [0, 1, 2, 2, 0], "counts": [0, 3, 1, 8, 2]}.get(family, [0.0, 1.0, 1.0, 0.0, 1.0])
    y, m, step = np.array(y, float), np.array([0.3, -1.2, 2.0, 0.7, -0.4]), 1e-5
    limits = np.array([-np.inf, 0.0, 1.1, np.inf])

    def value(margin, log_shape):
        shape = np.exp(log_shape)
        if family in ("probit", "logit"):
            law = stats.norm if family == "probit" else stats.logistic
            return law.logcdf(np.where(y > 0, margin, -margin))
        if family == "ordinal":
            k = y.astype(int)
            return np.log(stats.norm.cdf(limits[k + 1] - margin) - stats.norm.cdf(limits[k] - margin))
        if family == "counts":
            return stats.nbinom.logpmf(y, 1 / shape, 1 / (1 + shape * np.exp(margin)))
        law = stats.norm() if family == "normal" else stats.t(3.5)
        return law.logpdf((y - margin) / shape) - log_shape

    X = np.eye(5)
    options, zeros, ones = {**DEFAULTS, "degrees": 3.5}, np.zeros(5), np.ones(5)
    model = Model(family, X, y, np.arange(5), zeros, ones, 0.0, 1.0, options, [], ones, zeros, ones > 0)
    own, of_shape = model._slopes(m[:, None], np.array([0.8]), np.array([[1.1]]))
    at = np.log(0.8)
    expected = (value(m + step, at) - value(m - step, at)) / (2 * step)
    np.testing.assert_allclose(own[:, 0], expected, rtol=1e-6, atol=1e-8)
    if family in ("normal", "student"):
        expected = (value(m, at + step) - value(m, at - step)).sum() / (2 * step)
        assert of_shape[0] == pytest.approx(expected, rel=1e-6)


def test_draws_that_are_not_finite_are_refuted():
    problem, result, options = drawn("probit")
    changed = {**result.arrays, "beta": result.arrays["beta"].copy()}
    changed["beta"][1, 2, 0] = np.nan
    assert engine.verify(replace(result, arrays=changed), problem, **options).refuted == ("some draws are not finite",)
