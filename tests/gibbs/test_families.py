"""The likelihoods beside probit and logit: formulas, parameters, and that iterations leave the posterior as it is."""

import numpy as np
import pytest
from scipy import stats

import engine
from engine.devices import DevicePool
from engine.solvers.gibbs.begin import find_mode
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.device.sampler import Sampler
from engine.solvers.gibbs.families import FAMILIES
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.problem import HorseshoeRegression
from engine.solvers.gibbs.validate import settings_for
from tests.support.engines import engine_of
from tests.support.invariance import mutate, targets
from tests.support.samplers import sampling_of, state_of

LEVEL = 1e-6
REPLICATES, ITERATIONS = 1200, 3
INTERCEPT_SCALE = 1.5
X = np.array([[1.2, -0.4], [-0.7, 0.9], [0.5, 1.1], [-1.4, -0.2], [0.3, 0.6]])
WIDE = np.array([[1.2, -0.4, 0.3, 0.9], [-0.7, 0.9, 0.8, -0.2], [0.5, 1.1, -1.3, 0.4]])
"""More columns than rows, for the kernel ``gibbs``."""


def test_an_ordinal_target_of_two_categories_is_probit():
    margins, y = np.linspace(-6, 6, 40), np.arange(40) % 2
    ordinal = FAMILIES["ordinal"].log_likelihood(margins, y, np.zeros(0), 4.0)
    assert ordinal == pytest.approx(stats.norm.logcdf(np.where(y, margins, -margins)), rel=1e-12)


def test_counts_have_a_negative_binomial_distribution():
    margins, y = np.linspace(-3, 6, 40), np.arange(40.0) ** 2
    for auxiliary in (-1.5, 0.2, 1.0):
        size = np.exp(-2.0 * auxiliary)
        found = FAMILIES["counts"].log_likelihood(margins, y, np.array([auxiliary]), 4.0)
        assert found == pytest.approx(stats.nbinom.logpmf(y, size, size / (size + np.exp(margins))), rel=1e-9)
    limit = FAMILIES["counts"].log_likelihood(margins, y, np.array([-9.0]), 4.0)
    assert limit[:20] == pytest.approx(stats.poisson.logpmf(y, np.exp(margins))[:20], rel=1e-3)


def p_values(member, family, seed, replicates=REPLICATES, columns=X, ridge=None, kernel="gibbs"):
    """Gandy and Scott's test: every replicate has data of its own, so a chain of its own.

    With ``ridge`` the prior is a ridge of this scale of tau.
    """
    random = np.random.default_rng(seed)
    ends = {"tau": [], "intercept": [], "beta": [], "auxiliary": [], "error": []}
    rows, p = columns.shape
    first = np.arange(rows, dtype=float) if family != "ordinal" else np.array([0, 1, 2, 0, 1])
    # counts of a heavy-tailed prior would often be too large for float32
    tau_scale, options = 1.0, {"chains": 1, "kernel": "hmc", "provider": "kernels", "intercept_scale": INTERCEPT_SCALE}
    ridge = 0.2 if family == "counts" else ridge
    if ridge is not None:
        tau_scale, options = ridge, options | {"prior": "ridge", "tau_scale": ridge}
    if p > rows:
        options["kernel"] = kernel
    problem = HorseshoeRegression(columns, first, family)
    design = Design.of(problem, Options(standardize=False, **options))
    with (
        DevicePool([member.info]) as pool,
        Sampler(pool, design, settings_for(design, Options(standardize=False, **options), seed)) as sampler,
    ):
        sampler.set_auxiliary(np.zeros(1))
        assert sampler.settings.wide == (p > rows and kernel == "gibbs")
        assert sampler.settings.latent == (p > rows and kernel == "hmc")
        if not sampler.settings.wide:
            sampler.weigh_at(np.zeros(1 + p))
            sampler.make_gram(weighted=True)
        for number in range(replicates):
            tau, lam = tau_scale * abs(random.standard_cauchy()), np.abs(random.standard_cauchy(p))
            lam = np.ones(p) if "prior" in options else lam
            beta = np.append(INTERCEPT_SCALE * random.standard_normal(), random.standard_normal(p) * lam * tau)
            law = random.standard_normal if family == "ordinal" else random.standard_cauchy
            auxiliary = [2.0 * law() if family == "ordinal" else np.log(abs(law()))]
            y = targets(family, beta[0] + columns @ beta[1:], auxiliary, random)
            state = state_of(beta[None], tau, np.append(1.0, lam)[None])
            state["auxiliary"][:, 0] = auxiliary
            sampler.workers.each(_put_target, y)
            sampler.set_state(state)
            for step in range(ITERATIONS):
                sampler.workers.each(lambda worker, at=ITERATIONS * number + step: worker.moves.iterate(at))
            found = sampler.state()
            precision = float(found["chain_state"][0, 0])
            ends["tau"].append(precision**-0.5)
            ends["intercept"].append(found["beta"][0, 0] / INTERCEPT_SCALE)
            local = found["local_precision"][0, 1]
            ends["beta"].append(found["beta"][0, 1] * np.sqrt(local * precision))
            ends["auxiliary"].append(float(found["auxiliary"][0, 0]))
            margin = found["beta"][0, 0] + columns[1] @ found["beta"][0, 1:]
            ends["error"].append((y[1] - margin) * np.exp(-ends["auxiliary"][-1]))
    of_auxiliary = stats.norm(scale=2.0).cdf if family == "ordinal" else lambda x: stats.halfcauchy.cdf(np.exp(x))
    of_tau = stats.halfcauchy(scale=tau_scale).cdf
    laws = {"tau": of_tau, "intercept": "norm", "beta": "norm", "auxiliary": of_auxiliary}
    if family in ("normal", "student"):
        laws["error"] = "norm" if family == "normal" else stats.t(4.0).cdf
    return {name: float(stats.kstest(ends[name], law).pvalue) for name, law in laws.items()}


def _put_target(worker, y):
    worker.device.put(y.astype(np.float32), worker.rows.target)
    if worker.design.problem.family == "counts":
        worker.device.put(y, worker.hamiltonian.auxiliary.values)


WIDER = np.column_stack([WIDE, [-0.6, 0.5, 0.2]])
"""Twice as many columns as rows: the kernel hmc moves sigma and tau with beta integrated out."""

CASES = [
    *((family, {"seed": 5}) for family in ("normal", "student", "ordinal", "counts")),
    *((family, {"columns": WIDE}) for family in ("normal", "student")),
    *(("student", {"columns": WIDE, "ridge": ridge}) for ridge in (0.3, 3.0)),
    *((family, {"columns": WIDER, "kernel": "hmc"}) for family in ("normal", "student")),
]


@pytest.mark.full
@pytest.mark.parametrize(("family", "options"), CASES)
def test_an_iteration_leaves_the_posterior_as_it_is(device, family, options):
    found = p_values(device, family, **{"seed": 6, **options})
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


MUTANTS = {
    "prior of sigma": ("normal", "auxiliary", "density += point->value[k] -", "density += 4.0 * point->value[k] -"),
    "prior of the thresholds": ("ordinal", "auxiliary", "density -= 0.5 * point->", "density -= -0.4 * point->"),
    "log sigma in the likelihood": ("student", "auxiliary", "(f32)(log_peak - point->value[0])", "(f32)log_peak"),
    "threshold of the category above": ("ordinal", "likelihoods", "shape->threshold[(i32)(y + 0.5f)] - x", "30.0f"),
    "small sizes of counts": ("counts", "auxiliary", "y * log(from / r)", "0.0"),
    "repeated counts": ("counts", "auxiliary", "sum${i} += times *", "sum${i} += 0.5 * times *"),
    "logarithm of the size": ("counts", "auxiliary", "log_size = (f32)(-2.0 *", "log_size = (f32)(-1.0 *"),
    "density of the points": ("normal", "auxiliary", "density += partial[", "density -= 0.5 * partial["),
}


WIDE_MUTANTS = {
    "prior of sigma beside wide X": ("normal", "wide_scales", " - log(1.0 + exp(2.0 * log_sigma))", ""),
    "prior of tau": ("normal", "wide_scales", " - 0.5 * log(precision)", ""),
    "intercept's variance with tau": ("normal", "wide_scales", "variance) + intercept_variance)", "variance))"),
    "determinant": ("normal", "wide_scales", "0.5 * x * x + log(", "0.5 * x * x + 0.0 * log("),
    "variances of the old tau": ("normal", "wide", "s *= sqrt(trial", "s += 0.0 * sqrt(trial"),
    "factor of another point": ("normal", "wide_scales", "].accepted)", "].accepted > 2)"),
    "sigma missing in the noise": ("normal", "wide", "* exp(LOG_SIGMA(auxiliary[chain]));", "* 1.0;"),
    "all proposals taken": ("normal", "wide_scales", "density - t->log_density;", "1.0;"),
    "residuals missing in variances": ("student", "wide_scales", "0.5 * (degrees + apart * apart)", "0.5 * degrees"),
    "variances as deviations of the noise": ("student", "wide", "d *= sqrt(spread[at]) *", "d *= spread[at] *"),
    "variances missing in the matrix": ("student", "wide_scales", "? spread[line] *", "?"),
}


@pytest.mark.full
@pytest.mark.parametrize(("mutant", "wide"), [(name, name in WIDE_MUTANTS) for name in (*MUTANTS, *WIDE_MUTANTS)])
def test_a_wrong_formula_is_found(device, mutant, wide, tmp_path, monkeypatch):
    family, *change = (WIDE_MUTANTS if wide else MUTANTS)[mutant]
    mutate(*change, tmp_path, monkeypatch)
    ridge = None if family == "normal" or not wide else 0.3 if "matrix" in mutant else 3.0
    columns, most = (WIDE, 8) if wide else (X, 1)  # most are found with the fewer replicates
    assert any(
        min(p_values(device, family, 5 + wide, number * REPLICATES, columns, ridge).values()) < LEVEL
        for number in (1, 4, 8)
        if number <= most
    )


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
