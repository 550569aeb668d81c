"""Data that are hard for the sampler: separable, constant, of huge or tiny units, more columns than rows."""

import numpy as np
import pytest

import engine
from tests.support.engines import engine_of


def solved(device, X, y, **options):
    return engine_of(device, 1).solve(engine.HorseshoeProbit(X, y), **{"draws": 150, "warmup": 50, **options})


@pytest.mark.few(1)
@pytest.mark.parametrize("kernel", ["gibbs", "px", "hmc"])
def test_hard_data_have_finite_answers(device, kernel):
    random = np.random.default_rng(8)
    X = random.standard_normal((60, 3))
    duplicated = np.column_stack([X, X[:, 0]])
    hard = {
        "separable": (X, X[:, 0] > 0),
        "a copy of a column": (duplicated, X[:, 0] + random.standard_normal(60) > 0),
        "more columns than rows": (random.standard_normal((20, 50)), np.arange(20) % 2),
        "all ones": (X, np.ones(60, int)),
        "all zeros": (X, np.zeros(60, int)),
        "a column of a million": (X * [1e6, 1, 1] + [5e8, 0, 0], X[:, 0] + random.standard_normal(60) > 0),
    }
    for name, (data, y) in hard.items():
        result = solved(device, data, y, kernel=kernel, draws=60, warmup=40, chains=2)
        assert result.status == "complete", name
        assert np.isfinite(result.arrays["mean"]).all(), name


def test_one_row_and_constant_columns(device):
    with pytest.raises(engine.errors.ProblemError, match="every column of X is constant"):
        solved(device, [[1.0, 2.0]], [1])
    result = solved(device, [[1.0, 2.0]], [1], standardize=False, draws=50)
    assert np.isfinite(result.arrays["mean"]).all()
    random = np.random.default_rng(2)
    X = np.column_stack([np.full(200, 7.0), random.standard_normal(200)])
    notices = []
    result = solved(device, X, X[:, 1] > 0.3 * random.standard_normal(200), on_event=notices.append)
    assert result.arrays["mean"][1] == 0
    assert any("1 column is constant ('x0')" in e.message for e in notices if e.type == "notice")


@pytest.mark.full
def test_a_constant_column_is_sampled_where_there_is_no_intercept(device):
    random = np.random.default_rng(8)
    x = random.standard_normal(500)
    y = 1.0 + 0.7 * x + random.standard_normal(500) > 0
    X = np.column_stack([np.full(500, 4.0), x, np.zeros(500)])
    options = {"draws": 400, "warmup": 100, "seed": 3}
    notices = []
    own = solved(device, X, y, intercept=False, on_event=notices.append, **options)
    other = solved(device, X[:, 1:2], y, **options)
    assert 4.0 * own.arrays["mean"][0] == pytest.approx(other.arrays["mean"][0], abs=0.08)
    assert own.arrays["mean"][1] == pytest.approx(other.arrays["mean"][1], abs=0.08)
    assert own.arrays["mean"][2] == 0
    assert any("1 column is 0 in every row ('x2')" in e.message for e in notices if e.type == "notice")
    with pytest.raises(engine.errors.ProblemError, match="every column of X is 0"):
        solved(device, X[:, 2:], y, intercept=False)


def test_a_shift_and_a_scale_of_a_column_change_nothing_but_its_units(device):
    random = np.random.default_rng(12)
    X = random.standard_normal((400, 2))
    y = X[:, 0] + random.standard_normal(400) > 0
    plain, moved = solved(device, X, y), solved(device, X * [1e6, 1] + [3e8, 0], y)
    assert moved.arrays["mean"][1] * 1e6 == pytest.approx(plain.arrays["mean"][1], rel=1e-3)
    assert moved.arrays["mean"][2] == pytest.approx(plain.arrays["mean"][2], abs=1e-3)


@pytest.mark.parametrize(
    ("X", "family", "options", "message"),
    [
        (1e200, "probit", {}, "column 'x0' has values whose squares are beyond float64"),
        (1e200, "probit", {"standardize": False}, "column 'x0' has values beyond float32 after scaling"),
        (1e6, "probit", {"standardize": False, "storage": "float16"}, "float16 holds values up to 65504; row 0 of col"),
        (1.0, "normal", {}, "y has values whose squares are beyond float64"),
    ],
)
def test_values_too_large_are_refused_by_name(device, X, family, options, message):
    x = np.random.default_rng(1).standard_normal(50)
    problem = engine.HorseshoeRegression(X * x[:, None], 1e200 * x if family == "normal" else x > 0, family)
    with pytest.raises(engine.ProblemError, match=message):
        engine_of(device).solve(problem, **options)
