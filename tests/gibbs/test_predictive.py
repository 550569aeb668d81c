from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import engine
from tests.support.engines import engine_of


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
    return problem, engine_of(member).solve(problem, seed=2, draws=60, warmup=100, chains=2, **options)


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
    drawn = engine.posterior_predictive(problem, SimpleNamespace(arrays=arrays))
    assert (drawn[:, :, 0] < 1000).all()
    assert (drawn[:, :, 1] > 1e17).all()


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


def test_draws_of_some_coefficients_are_not_enough(device):
    problem, result = solved(device, "normal", coefficients=["x1"])
    with pytest.raises(engine.InputError, match="solve without the option coefficients"):
        engine.log_likelihood(problem, result)
