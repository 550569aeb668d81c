"""Data that are hard for the sampler: separable, constant, of huge or tiny units, more columns than rows."""

import warnings

import numpy as np
import pytest

import engine
from engine.cli import command_line
from tests.support.engines import engine_of


def solved(device, X, y, **options):
    return engine_of(device).solve(engine.HorseshoeProbit(X, y), **{"draws": 150, "warmup": 50, **options})


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


SHORT = {"draws": 60, "warmup": 60, "seed": 1}


def warnings_of(device, problem, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engine_of(device).solve(problem, **SHORT, **options)
    return [str(one.message) for one in caught if issubclass(one.category, engine.DataWarning)]


def test_separated_classes_are_a_python_warning_with_columns(device):
    names = ["a", "b", "c"]
    X = np.random.default_rng(2).standard_normal((80, 3))
    problem = engine.HorseshoeLogit(X, X[:, 0] + X[:, 1] > 0, names=names)
    assert warnings_of(device, problem, prior="regularized") == []
    (found,) = warnings_of(device, problem)
    assert found.startswith("a combination of columns separates the classes")
    assert "'a'" in found
    assert "'b'" in found
    X = np.random.default_rng(2).normal([0.5, 0.0, 0.0], size=(80, 3))
    (found,) = warnings_of(device, engine.HorseshoeProbit(X, X[:, 0] > 0.0, names=names))
    assert found.startswith("a combination of columns and the intercept separates the classes")
    assert "coefficients: 'a')" in found
    assert warnings_of(device, engine.HorseshoeProbit(X, X[:, 0] + X[:, 1:].sum(1) ** 2 > 0.5, names=names)) == []


def test_the_command_line_prints_constant_and_rare_columns_by_name(tmp_path, capsys):
    """A number, a flag that is set in rows of one class only, and a constant."""
    random = np.random.default_rng(1)
    number, flag = random.standard_normal(120), np.arange(120) < 8
    y, file = flag | (number + random.standard_normal(120) > 0), tmp_path / "rare.csv"
    np.savetxt(
        file, np.column_stack([number, flag, np.full(120, 3.0), y]), "%g", ",", header="a,flag,const,y", comments=""
    )
    assert command_line(["solve", str(file), "--draws", "60", "--warmup", "60", "--backend", "opencl"]) == 0
    errors = capsys.readouterr().err
    for text in ("warning: 1 column is constant ('const')", "warning: 1 column ('flag') has an unusual value"):
        assert errors.count(text) == 1


@pytest.mark.parametrize("apart", [1e-4, 1e-5])  # the second is collinear in float32
def test_a_mode_that_chains_miss_between_near_copies_is_a_warning(device, apart):
    random = np.random.default_rng(3)
    X = random.standard_normal((400, 4))
    margin = 2.0 * X[:, 0] + X[:, 2] + random.logistic(size=400)
    copies = X.copy()
    copies[:, 1] = X[:, 0] + apart * X[:, 1]
    names = ["dose", "copy", "age", "other"]
    for effect, expected in ((2.0, 1), (0.0, 0)):
        found = warnings_of(device, engine.HorseshoeLogit(copies, margin + effect * X[:, 1] > 0, names=names))
        assert len(found) == expected
        assert all(text.startswith("'dose' and 'copy' are nearly copies of each other") for text in found)
