"""Log-likelihoods of rows and targets drawn anew, and the scikit-learn regressor."""

import warnings
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

import engine
from tests.support.needs import package


def solved(member, family, **options):
    random = np.random.default_rng(6)
    X = random.standard_normal((120, 3)) + np.array([0.0, 50.0, 0.0])
    margin = 1.5 * X[:, 0] - 0.5 * (X[:, 1] - 50)
    y = {
        "probit": margin + random.standard_normal(120) > 0,
        "logit": margin + random.logistic(size=120) > 0,
        "normal": 10.0 + 4.0 * margin + 3.0 * random.standard_normal(120),
        "student": 10.0 + 4.0 * margin + 3.0 * random.standard_t(3.0, 120),
        "ordinal": np.digitize(margin + random.standard_normal(120), [-1.0, 0.4, 1.0]),
    }[family]
    problem = engine.HorseshoeRegression(X, y, family)
    with engine.Engine(devices=[member.info.id]) as owner, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return problem, owner.solve(problem, seed=2, draws=60, warmup=100, chains=2, **options)


def exact(family, problem, arrays, chain, draw, row):
    """The log-likelihood of a row by the definition of the family."""
    beta, y = arrays["beta"][chain, draw], float(problem.y[row])
    margin = beta[0] + problem.X[row] @ beta[1:]
    if family in ("probit", "logit"):
        law = stats.norm if family == "probit" else stats.logistic
        return float(law.logcdf(margin if y else -margin))
    if family == "ordinal":
        bounds = np.concatenate([[-np.inf, 0.0], arrays["thresholds"][chain, draw], [np.inf]]) - margin
        return float(np.log(stats.norm.cdf(bounds[int(y) + 1]) - stats.norm.cdf(bounds[int(y)])))
    sigma = arrays["sigma"][chain, draw]
    return float(stats.norm.logpdf(y, margin, sigma) if family == "normal" else stats.t.logpdf(y, 3.0, margin, sigma))


def test_counts_are_drawn_for_rows_far_from_the_data():
    problem = engine.HorseshoeRegression(np.array([[0.0], [900.0]]), [3, 1], "counts")
    arrays = {
        "names": np.array(["intercept", "x0", "log_tau", "dispersion"]),
        "kept": np.arange(2),
        "beta": np.ones((1, 5, 2)),
        "log_tau": np.zeros((1, 5)),
        "dispersion": np.full((1, 5), 0.1),
    }
    drawn = engine.posterior_predictive(problem, cast(Any, SimpleNamespace(arrays=arrays)))
    assert (drawn[:, :, 0] < 1000).all()
    assert (drawn[:, :, 1] > 1e17).all()


def test_a_run_without_a_draw_is_refused_in_words():
    package("arviz")
    stopped = SimpleNamespace(arrays={}, status=engine.Status.TIME_LIMIT)
    with pytest.raises(engine.InputError, match=r"no draws: the run was stopped before the first one \(time_limit\)"):
        engine.to_arviz(stopped)


@pytest.mark.few(1)
@pytest.mark.parametrize("family", ["probit", "logit", "normal", "student", "ordinal"])
def test_log_likelihoods_and_predictions_are_the_models(device, family):
    problem, result = solved(device, family, **({"degrees": 3.0} if family == "student" else {}))
    values = engine.log_likelihood(problem, result)
    assert values.shape == (2, 60, 120)
    assert values.sum(axis=2) == pytest.approx(result.arrays["lp"], rel=1e-4, abs=1e-3)
    for place in ((0, 3, 5), (1, 59, 119), (0, 0, 0)):
        assert values[place] == pytest.approx(exact(family, problem, result.arrays, *place), rel=1e-8)
    drawn = engine.posterior_predictive(problem, result, seed=1)
    assert drawn.shape == values.shape
    again = engine.posterior_predictive(problem, result, seed=1)
    assert np.array_equal(drawn, again)
    spread = 0.35 * float(np.std(problem.y)) + 0.02
    assert abs(float(drawn.mean()) - float(problem.y.mean())) < spread


@pytest.mark.full
def test_arviz_compares_models_by_them(device, arviz):
    problem, result = solved(device, "normal")
    data = engine.to_arviz(result, problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = arviz.loo(data)
    mean = engine.log_likelihood(problem, result).mean(axis=(0, 1)).sum()
    assert mean - 30 < float(found.elpd_loo if hasattr(found, "elpd_loo") else found.elpd) < mean + 1


def test_draws_of_some_coefficients_are_not_enough(device):
    problem, result = solved(device, "normal", coefficients=["x1"])
    with pytest.raises(engine.errors.InputError, match="solve without the option coefficients"):
        engine.log_likelihood(problem, result)


@pytest.mark.full
def test_the_regressor_is_a_good_citizen_and_predicts(device):
    package("sklearn")
    random = np.random.default_rng(3)
    X = random.standard_normal((300, 5)) * [1, 1e3, 1e-3, 1, 1]
    y = 7.0 + 2.0 * X[:, 0] + 0.002 * X[:, 1] + 0.5 * random.standard_normal(300)
    model = engine.HorseshoeRegressor(devices=[device.info.id], random_state=1, draws=200, warmup=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    mean, deviation = model.predict(X, return_std=True)
    assert model.score(X, y) > 0.95
    assert model.coef_[:2] == pytest.approx([2.0, 0.002], rel=0.1)
    assert 0.4 < model.sigma_ < 0.6
    assert np.abs((y - mean) / deviation).mean() == pytest.approx(np.sqrt(2 / np.pi), abs=0.1)
    with pytest.raises(ValueError, match="family must be"):
        engine.HorseshoeRegressor(family="poisson").fit(X, y)
