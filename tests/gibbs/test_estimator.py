"""The classifier is a good citizen of scikit-learn."""

import warnings

import numpy as np
import pytest
from scipy.special import ndtr

import engine

pytest.importorskip("sklearn")

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = {"draws": 60, "warmup": 40, "chains": 2, "random_state": 2}


def checks():
    """scikit-learn's own checks, on estimators quick enough for them."""
    quick = {"warmup": 30, "chains": 2, "random_state": 0}
    return [
        pytest.param(estimator, check, id=f"{getattr(check, 'func', check).__name__}-{type(estimator).__name__}")
        for model in (engine.HorseshoeClassifier(draws=60, **quick), engine.HorseshoeRegressor(draws=60, **quick))
        for estimator, check in estimator_checks_generator(model)
    ]


@pytest.mark.few(3)
@pytest.mark.parametrize(("estimator", "check"), checks())
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_probabilities_are_means_over_the_draws():
    random = np.random.default_rng(3)
    X = random.standard_normal((300, 4)) * [1, 10, 0.1, 1] + [0, 100, 0, -3]
    y = np.where(X[:, 0] + 0.1 * (X[:, 1] - 100) + random.standard_normal(300) > 0, "yes", "no")
    fitted = engine.HorseshoeProbitClassifier(draws=200, warmup=100, random_state=1).fit(X, y)
    beta = fitted.result_.arrays["beta"].reshape(-1, 5)
    expected = ndtr(beta[:, :1] + beta[:, 1:] @ X.T).mean(axis=0)
    assert fitted.predict_proba(X)[:, 1] == pytest.approx(expected)
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert (fitted.predict(X) == y).mean() > 0.75
    assert fitted.coef_[0] == pytest.approx(beta.mean(axis=0)[1:])
    assert abs(fitted.coef_[0, 1] / fitted.coef_[0, 0] - 0.1) < 0.05


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(3))
def test_a_default_fit_on_easy_data_does_not_warn(seed):
    random = np.random.default_rng(seed)
    X = random.standard_normal((60, 3))
    y = X[:, 0] - X[:, 1] + random.standard_normal(60) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = engine.HorseshoeClassifier(random_state=seed).fit(X, y)
    assert fitted.coef_[0, 0] > 0 > fitted.coef_[0, 1]


def test_a_fit_warns_in_the_classes_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.warns(ConvergenceWarning, match=r"do not trust the posterior yet: .*allow more draws"):
        engine.HorseshoeProbitClassifier(draws=20, warmup=0, chains=2, random_state=1).fit(X, X[:, 0] > 0)
    with pytest.warns(engine.DataWarning, match="a combination of columns separates the classes") as caught:
        engine.HorseshoeClassifier(draws=20, warmup=20, random_state=1).fit(X, X[:, 0] > 0)
    assert [one.category for one in caught].count(engine.ConvergenceWarning) == 0


@pytest.mark.parametrize("base", [engine.HorseshoeClassifier, engine.HorseshoeRegressor])
def test_a_subclass_may_have_parameters_of_its_own(base):
    class Own(base):
        """Fewer of the parameters, and another one."""

        def __init__(self, draws=100, own=1):
            super().__init__(draws=draws)
            self.own = own

    made = Own(draws=7)
    assert made.get_params() == {"draws": 7, "own": 1}
    assert (made.draws, made.thin, set(base().get_params()) - set(vars(made))) == (7, base().thin, set())


@pytest.mark.full
def test_each_of_three_classes_is_reported_from_the_others():
    random = np.random.default_rng(8)
    X = random.standard_normal((90, 2))
    y = np.array(["a", "b", "c"])[np.argmax(X @ [[2, -1, -1], [0, 2, -2]] + random.gumbel(size=(90, 3)), axis=1)]
    with pytest.raises(ValueError, match="family must be 'probit' or 'logit'; got 'cloglog'"):
        engine.HorseshoeClassifier(family="cloglog").fit(X, y)
    fitted = engine.HorseshoeClassifier(**QUICK).fit(X, y)
    assert (fitted.coef_.shape, fitted.intercept_.shape, len(fitted.results_)) == ((3, 2), (3,), 3)
    draws = [result.arrays["beta"].reshape(-1, 3) for result in fitted.results_]
    alone = np.column_stack([ndtr(beta[:, :1] + beta[:, 1:] @ X.T).mean(axis=0) for beta in draws])
    found = fitted.predict_proba(X)
    assert found == pytest.approx(alone / alone.sum(axis=1, keepdims=True))
    assert (fitted.predict(X) == y).mean() > 0.6
    assert fitted.coef_[0, 0] > 0 > fitted.coef_[2, 1]  # as the classes were made


@pytest.mark.full
@pytest.mark.parametrize("family", ["normal", "counts", "ordinal"])
def test_regressors_predict_the_moments_of_the_predictive_distribution(family):
    random = np.random.default_rng(11)
    X = random.standard_normal((120, 2)) * [1, 1e3]
    target = {
        "normal": 7.0 + 2.0 * X[:, 0] + 0.002 * X[:, 1] + 0.5 * random.standard_normal(120),
        "counts": random.poisson(np.exp(X[:, 0] + 1)),
        "ordinal": np.digitize(X[:, 0], [-1, 0.5]),
    }[family]
    fitted = engine.HorseshoeRegressor(family=family, **(QUICK | {"draws": 200})).fit(X, target)
    problem = engine.HorseshoeRegression(X, target, family)
    drawn = engine.posterior_predictive(problem, fitted.result_, seed=1).reshape(-1, 120)
    mean, sd = fitted.predict(X, return_std=True)
    z = (drawn.mean(axis=0) - mean) / np.maximum(drawn.std(axis=0), 0.05) * np.sqrt(len(drawn))
    assert (z**2).mean() < 2
    assert np.median(sd / np.maximum(drawn.std(axis=0), 1e-3)) == pytest.approx(1, abs=0.1)
    assert fitted.score(X, target) > 0.4
    if family == "normal":
        assert fitted.coef_ == pytest.approx([2.0, 0.002], rel=0.1)
        assert 0.4 < fitted.sigma_ < 0.6
