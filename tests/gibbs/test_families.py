"""The likelihoods beside probit and logit: formulas, parameters, and targets that are refused."""

import numpy as np
import pytest
from scipy import stats

import engine
from engine.solvers.gibbs.begin import find_mode
from engine.solvers.gibbs.families import FAMILIES
from engine.solvers.gibbs.problem import HorseshoeRegression
from tests.support.engines import engine_of
from tests.support.samplers import sampling_of


def test_counts_have_a_negative_binomial_distribution():
    margins, y = np.linspace(-3, 6, 40), np.arange(40.0) ** 2
    for auxiliary in (-1.5, 0.2, 1.0):
        size = np.exp(-2.0 * auxiliary)
        found = FAMILIES["counts"].log_likelihood(margins, y, np.array([auxiliary]), 4.0)
        assert found == pytest.approx(stats.nbinom.logpmf(y, size, size / (size + np.exp(margins))), rel=1e-9)
    limit = FAMILIES["counts"].log_likelihood(margins, y, np.array([-9.0]), 4.0)
    assert limit[:20] == pytest.approx(stats.poisson.logpmf(y, np.exp(margins))[:20], rel=1e-3)


def linear(rows=600, seed=2):
    random = np.random.default_rng(seed)
    data = random.standard_normal((rows, 6)) * [1, 10, 0.1, 1, 1, 1] + 5.0
    return data, 40.0 + 3.0 * data[:, 0] - 0.4 * data[:, 1] + 2.0 * random.standard_normal(rows)


def test_a_linear_regression_finds_its_coefficients_in_the_units_of_the_data(device):
    data, y = linear()
    result = engine_of(device).solve(HorseshoeRegression(data, y), seed=3, draws=300)
    expected, *_ = np.linalg.lstsq(np.column_stack([np.ones(len(y)), data]), y, rcond=None)
    rows = {row.name: row for row in result.summary}
    assert result.solution.shape == (7,)
    for name, value in zip(("x0", "x1"), expected[1:3], strict=True):
        assert rows[name].mean == pytest.approx(value, abs=2.5 * rows[name].sd)
        assert rows[name].survives
    assert rows["sigma"].mean == pytest.approx(2.0, rel=0.15)
    assert not rows["sigma"].survives
    beta = result.arrays["beta"][0, 5]
    exact = stats.norm.logpdf(y, beta[0] + data @ beta[1:], result.arrays["sigma"][0, 5]).sum()
    assert result.arrays["lp"][0, 5] == pytest.approx(exact, rel=1e-2)  # before sigma moves


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("columns", "family", "unit", "options"),
    [
        (50, "normal", 1.0, {}),
        (50, "normal", 1.0, {"intercept": False}),
        (50, "normal", 1e3, {"standardize": False}),
        (50, "student", 1.0, {}),
        (29, "normal", 1e-3, {"standardize": False}),  # and the intercept
    ],
)
def test_as_many_columns_as_rows_do_not_begin_at_a_sigma_of_nothing(device, columns, family, unit, options):
    random = np.random.default_rng(0)
    data = random.standard_normal((30, columns))
    y = unit * (data[:, :3] @ [3.0, -2.0, 1.5] + random.standard_normal(30))
    with sampling_of(device, HorseshoeRegression(data, y, family), chains=1, **options) as sampler:
        sampler.make_gram(weighted=False)
        _, _, auxiliary = find_mode(sampler, lambda step: None)
        sigma = float(np.exp(auxiliary[0])) * sampler.design.target_scale
    assert 0.2 * y.std() < sigma < y.std()


@pytest.mark.few(1)
@pytest.mark.parametrize("family", ["normal", "student"])
def test_a_target_without_errors_is_fitted_to_the_rounding_of_float32(device, family):
    data = np.repeat([[1.0, 3.0], [2.0, 1.0], [3.0, 3.0], [4.0, 1.0]], 4, axis=0)
    problem = HorseshoeRegression(data, 5.0 - 2.0 * data[:, 1], family)
    result = engine_of(device).solve(problem, seed=1, warmup=100, draws=100)
    assert result.solution == pytest.approx([5.0, 0.0, -2.0], abs=1e-4)
    assert 1e-6 < result.arrays["sigma"].min() < result.arrays["sigma"].max() < 1e-4


@pytest.mark.parametrize(
    ("y", "family", "message"),
    [
        ([1.0, 2.0, np.nan, 4.0], "normal", "y must be finite; got nan in row 2"),
        (["a", "b", "c", "a"], "normal", "y must hold numbers"),
        ([3, 3, 3, 3], "student", "y is 3 in every row"),
        ([1, 1, 1, 1], "ordinal", "2 to 16 different values for the family ordinal; it has 1"),
        ([1, 2, 3, 4], "probit", "y must have two different values"),
        ([1, 2, 0.5, 4], "counts", "y must be whole numbers from 0 to 1,000,000; got 0.5 in row 2"),
        ([0, 0, 0, 0], "counts", "y is 0 in every row"),
        ([1, 2, 3, 4], "poisson", "family must be one of probit, logit, normal, .*counts; got 'poisson'"),
    ],
)
def test_a_target_that_is_not_of_the_family_is_refused(y, family, message):
    with pytest.raises(engine.errors.ProblemError, match=message):
        HorseshoeRegression(np.arange(8.0).reshape(4, 2), y, family)
