"""What a regression takes beside X and y: weights, an offset, columns outside the horseshoe, formulas, par_ratio."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_ndtr

import engine
from engine.solvers.gibbs.device import matrices
from engine.solvers.gibbs.problem import HorseshoeRegression
from tests.support.engines import engine_of
from tests.support.samplers import chains_of, sampling_of

RANDOM = np.random.default_rng(21)
ROWS = 60
X = RANDOM.standard_normal((ROWS, 4))
WEIGHTS, OFFSET = RANDOM.gamma(2.0, 0.6, ROWS), RANDOM.normal(0.3, 0.8, ROWS)
NAMES = ["age", "sex", "gene1", "gene2"]
PENALIZED = np.array([False, True, False, True])
LATENT = X @ [1.0, 0.0, -0.7, 0.0] + OFFSET
TARGETS = {
    "probit": LATENT + RANDOM.standard_normal(ROWS) > 0,
    "logit": LATENT + RANDOM.logistic(size=ROWS) > 0,
    "normal": LATENT + RANDOM.standard_normal(ROWS),
    "student": LATENT + RANDOM.standard_t(4, ROWS),
    "ordinal": np.digitize(LATENT + RANDOM.standard_normal(ROWS), [-0.7, 0.4, 1.1]),
    "counts": RANDOM.poisson(np.exp(np.minimum(LATENT, 4.0))),
}


def problem_of(family, **own):
    return HorseshoeRegression(X, TARGETS[family], family, NAMES, **own)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("family", "kernel", "own"),
    [
        *((family, "hmc", ("weights", "offset", "penalize")) for family in TARGETS),
        ("probit", "gibbs", ("penalize",)),
        ("probit", "px", ("penalize",)),
        ("logit", "cg", ("penalize",)),
    ],
)
def test_draws_fulfil_the_identities_of_their_model_and_not_those_of_another(device, family, kernel, own):
    """Stein's identities of the density that the problem states (:mod:`engine.verification.scores`)."""
    given = {"weights": WEIGHTS, "offset": OFFSET, "penalize": PENALIZED}
    problem = problem_of(family, **{name: given[name] for name in own})
    options = {"kernel": kernel, "draws": 4000, "warmup": 300, "par_ratio": 0.5}
    result = engine_of(device).solve(problem, seed=1, **options)
    assert engine.verify(result, problem, **options).verdict == "verified"
    if "offset" in own:
        for name in ("weights", "offset"):
            other = problem_of(family, **{key: given[key] for key in own if key != name})
            assert engine.verify(result, other, **options).verdict == "refuted"
    assert engine.verify(result, problem, **options | {"par_ratio": 0.01}).verdict == "refuted"


def test_an_offset_is_that_of_the_rest_and_par_ratio_a_scale_of_tau(device):
    rest = HorseshoeRegression(X, TARGETS["normal"] - OFFSET)
    for pair in (
        ((problem_of("normal", offset=OFFSET), {}), (rest, {})),
        ((problem_of("probit"), {"par_ratio": 0.5}), (problem_of("probit"), {"tau_scale": 0.5 / np.sqrt(ROWS)})),
    ):
        results = [engine_of(device).solve(of, seed=1, draws=20, warmup=20, **own) for of, own in pair]
        assert np.array_equal(*(result.arrays["beta"] for result in results))


@pytest.mark.parametrize("own", [{"offset": OFFSET, "penalize": PENALIZED}, {"offset": OFFSET}])
def test_a_sparse_design_has_the_same_score(device, own):
    rows = np.where(np.abs(X) > 0.8, X, 0.0)
    scores = []
    for values, storage in ((rows, "float32"), (sparse.csr_array(rows), "sparse")):
        problem = engine.HorseshoeProbit(values, TARGETS["probit"], **own)
        with sampling_of(device, problem, kernel="hmc", storage=storage, chains=1) as sampler:
            beta = sampler.design.scaled(np.array([0.2, 0.5, -0.3, 0.1, 0.7]))
            scores.append(sampler.score(beta))
    assert scores[0][0] == pytest.approx(scores[1][0], rel=1e-4, abs=1e-4)
    margins = 0.2 + rows @ [0.5, -0.3, 0.1, 0.7] + OFFSET
    assert scores[1][1] == pytest.approx(log_ndtr(np.where(TARGETS["probit"], margins, -margins)).sum(), rel=1e-5)


def test_all_of_it_survives_files_and_predictions(device, tmp_path):
    table = np.column_stack([X, WEIGHTS, OFFSET, TARGETS["counts"]])
    path = tmp_path / "counts.csv"
    np.savetxt(path, table, "%.17g", ",", header=",".join([*NAMES, "w", "o", "y"]), comments="")
    read = HorseshoeRegression.read(path, weights="w", offset="o", unpenalized="age, gene1", family="counts")
    problem = problem_of("counts", weights=WEIGHTS, offset=OFFSET, penalize=["sex", "gene2"])
    again = type(problem).from_arrays(problem.to_arrays(), "again")
    for other in (read, again):
        assert other.names == problem.names
        for name in ("X", "y", "weights", "offset", "penalized"):
            assert np.array_equal(getattr(other, name), getattr(problem, name)), name
    result = engine_of(device).solve(problem, seed=1, draws=50, warmup=50)
    far = problem_of("counts", offset=OFFSET + 2.0)
    mean, larger = (engine.posterior_predictive(of, result, seed=1).mean() for of in (problem, far))
    assert larger == pytest.approx(np.exp(2.0) * mean, rel=0.1)


@pytest.mark.host
def test_matrices_of_chains_may_lie_in_several_buffers(device, monkeypatch):
    whole = chains_of(device, problem_of("probit"), 4, kernel="hmc")
    monkeypatch.setattr(matrices, "_most_matrices", lambda device, q: 1)
    assert np.array_equal(chains_of(device, problem_of("probit"), 4, kernel="hmc"), whole)


RAGGED = [[1.0], [1.0, 2.0], *np.ones(ROWS - 2)]
WRONG = [
    ({"X": RAGGED}, "X must be a matrix of numbers; got lists of several lengths"),
    ({"y": np.ma.array(TARGETS["probit"], mask=np.arange(ROWS) == 3)}, "y must have one value .*; got masked values"),
    ({"y": np.arange(ROWS) % 3}, "y must have two different values; it has 3: 0, 1, 2; Horse"),
    ({"y": ["a"] * ROWS}, "y has one value only, 'a'; write it as 0 or 1"),
    ({"y": [0, 1, 1]}, "y must have one value for each of the 60 rows"),
    ({"X": np.zeros((0, 4)), "y": []}, "X must have rows and columns"),
    ({"y": [None] * ROWS}, "y must hold numbers or words; got NoneType"),
    ({"names": "abcd"}, "names must be a list with a name for each of the 4 columns; got 'abcd'"),
    ({"family": ["probit"]}, r"family must be one of probit, .*; got \['probit'\]"),
    ({"weights": np.append(-1.0, np.ones(59))}, "weights must be finite and at least 0; got -1.0 in row 0"),
    ({"weights": np.zeros(ROWS)}, "all weights are 0"),
    ({"penalize": [True, False]}, r"penalize must have True or False for each of the 4 columns; got shape \(2,\)"),
    ({"penalize": ["age", "height"]}, r"penalize names 'height', which is not a column \(columns: age, sex, gene1"),
    ({"penalize": "age"}, "penalize must be a mask of the columns, True or False for each, or a list of their names"),
    ({"penalize": np.zeros(4, bool)}, "penalize leaves no column inside the horseshoe; one at least must be penalized"),
    ({"offset": np.full(ROWS, np.nan)}, "offset must be finite and at most 1e.06 in size; got nan in"),
]


@pytest.mark.parametrize(("own", "message"), WRONG)
def test_what_does_not_fit_the_data_is_refused(own, message):
    with pytest.raises(engine.ProblemError, match=message):
        HorseshoeRegression(**{"X": X, "y": TARGETS["probit"], "family": "probit", "names": NAMES, **own})


def test_a_target_has_the_order_that_its_type_declares():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    order, places = ["low", "never", "mid", "high"], np.arange(ROWS) % 3
    words = np.array(["low", "mid", "high"])[places]
    ordered = pandas.Categorical(words, order, ordered=True)
    for y in (ordered, pandas.Series(ordered), polars.Series(words, dtype=polars.Enum(order))):
        problem = HorseshoeRegression(X, y, "ordinal")
        assert problem.classes == ("low", "mid", "high")
        assert problem.y.tolist() == places.tolist()
        assert HorseshoeRegression.from_arrays(problem.to_arrays(), "kept").y.tolist() == places.tolist()
    for y in (words, pandas.Series(words, dtype="category")):
        assert HorseshoeRegression(X, y, "ordinal").classes == ("high", "low", "mid")
    days = pandas.to_datetime(["2020-01-03", "2020-01-01", "2020-01-02"] * (ROWS // 3)).as_unit("ns")
    assert HorseshoeRegression(X, pandas.Categorical(days, ordered=True), "ordinal").y[:3].tolist() == [2, 0, 1]
    two = engine.HorseshoeProbit(X[places < 2], pandas.Series(ordered[places < 2]))
    assert (two.classes, two.y.tolist()) == (("low", "mid"), (places[places < 2] == 1).tolist())
    assert engine.HorseshoeProbit(X, polars.Series(["yes"] * 30 + ["no"] * 30, dtype=polars.Enum(["yes", "no"]))).y[59]
    pytest.importorskip("formulaic")
    frame = pandas.DataFrame({"pain": ordered, "dose": X[:, 0]})
    assert HorseshoeRegression.from_formula("pain ~ dose", frame, family="ordinal").classes == ("low", "mid", "high")


WIDE = np.random.default_rng(1).standard_normal((8, 30))
OF_OFFSET, OF_WEIGHTS = problem_of("probit", offset=OFFSET), problem_of("probit", weights=WEIGHTS)
OF_WIDE = {family: HorseshoeRegression(WIDE, np.arange(8.0), family) for family in ("normal", "student", "counts")}
REFUSALS = [
    (OF_OFFSET, {"kernel": "px"}, "kernel = px samples no probit regressions with an offset; use kernel = hmc"),
    (OF_OFFSET, {"storage": "float16"}, "storage = float16 would round the offset to three digits"),
    (OF_WEIGHTS, {"kernel": "px"}, "kernel = px draws latent variables"),
    (problem_of("probit"), {"storage": "sparse", "streaming": "always"}, "sends rows of X"),
    (problem_of("logit"), {"kernel": "px"}, "kernel = px samples probit regressions only; use kernel = hmc"),
    (problem_of("ordinal"), {"intercept": False}, "needs its intercept"),
    (problem_of("normal"), {"kernel": "cg"}, "cg samples probit and logit"),
    (OF_WIDE["normal"], {"kernel": "px"}, "px samples probit regressions only; use kernel = gibbs or"),
    (OF_WIDE["counts"], {"kernel": "gibbs"}, "gibbs samples probit, normal and student regressions only"),
    (
        problem_of("normal"),
        {"kernel": "gibbs"},
        "more columns than rows, .*here 5 columns and 60 rows.*use kernel = hmc",
    ),
    (OF_WIDE["normal"], {"kernel": "gibbs", "streaming": "always"}, "more columns than rows, .*streaming = always"),
    (problem_of("probit"), {"kernel": "px", "prior": "regularized"}, "use kernel = hmc for prior = regularized"),
    (problem_of("probit"), {"par_ratio": 0.1, "tau_scale": 0.5}, "par_ratio sets tau_scale; got both, 0.1 and 0.5"),
]


@pytest.mark.parametrize(("problem", "options", "message"), REFUSALS)
def test_options_that_do_not_go_with_each_other_or_the_problem_are_refused(problem, options, message):
    with pytest.raises(engine.OptionError, match=message):
        engine.solve(problem, draws=4, **options)


def test_a_formula_names_its_levels(device):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("formulaic")
    data = pandas.DataFrame(X, columns=NAMES).assign(y=TARGETS["counts"], clinic=list("abc") * 20, time=OFFSET)
    problem = HorseshoeRegression.from_formula(
        "y ~ age + C(clinic)", data, family="counts", offset="time", penalize=["C(clinic)[T.b]", "C(clinic)[T.c]"]
    )
    assert problem.names == ("age", "C(clinic)[T.b]", "C(clinic)[T.c]")
    assert np.array_equal(problem.offset, OFFSET)
    assert problem.penalized.tolist() == [False, True, True]
    assert np.array_equal(problem.X[:, 1], np.array(list("abc") * 20) == "b")
    for formula, message in (
        ("y ~ height", "the formula 'y ~ height' does not fit the columns age, sex, gene1.*height"),
        ("y ~ 0 + age", "the formula leaves the intercept out"),
        ("age", "a formula has a target and terms, as 'y ~ a [+] b'; got 'age'"),
        ("y ~ age +", "the formula 'y ~ age [+]' does not fit"),
    ):
        with pytest.raises(engine.ProblemError, match=message):
            HorseshoeRegression.from_formula(formula, data)
    with pytest.raises(engine.ProblemError, match="weights: there is no column 'w'"):
        HorseshoeRegression.from_formula("y ~ age", data, weights="w")
