"""The likelihoods beside probit and logit: formulas, parameters, and that iterations leave the posterior as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from samplers import sampling_of, state_of
from scipy import stats
from test_invariance import mutate

import engine
from engine.devices import DevicePool, Member
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.device.sampler import Sampler
from engine.solvers.gibbs.device.start import find_mode
from engine.solvers.gibbs.device.worker import Worker
from engine.solvers.gibbs.families import FAMILIES, constant_of_counts
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.problem import HorseshoeRegression
from engine.solvers.gibbs.solve import settings_for
from tests.stopping import stop_at

LEVEL = 1e-6
REPLICATES, ITERATIONS = 1200, 3
INTERCEPT_SCALE = 1.5
X = np.array([[1.2, -0.4], [-0.7, 0.9], [0.5, 1.1], [-1.4, -0.2], [0.3, 0.6]])


def targets(family: str, margins: NDArray[np.float64], auxiliary: Any, random: np.random.Generator) -> Any:
    """Targets from the model, by their definition; 3 categories, 4 degrees of freedom."""
    if family == "counts":
        size = np.exp(-2.0 * auxiliary[0])
        factors = random.gamma(size, 1.0 / size, margins.shape)
        return random.poisson(np.exp(np.minimum(margins, 12.0)) * factors).astype(float)
    if family == "ordinal":
        latent = margins + random.standard_normal(margins.shape)
        return (latent > 0).astype(float) + (latent > np.exp(auxiliary[0]))
    noise = random.standard_normal(margins.shape) if family == "normal" else random.standard_t(4.0, margins.shape)
    return margins + np.exp(auxiliary[0]) * noise


def sampler_of(member: Member, problem: HorseshoeRegression, seed: int, pool: DevicePool, **options: Any) -> Sampler:
    chosen = Options(chains=1, provider="kernels", intercept_scale=INTERCEPT_SCALE, **options)
    design = Design.of(problem, chosen)
    return Sampler(pool, design, settings_for(design, chosen, seed))


@pytest.mark.parametrize("family", ["normal", "student", "ordinal", "counts"])
def test_likelihoods_and_scores_are_those_of_the_formulas(device: Member, family: str) -> None:
    random = np.random.default_rng(3)
    auxiliary = np.array([0.4, -0.3]) if family == "ordinal" else np.array([-0.7])
    data = random.standard_normal((70, 4))
    y = random.integers(0, 4, 70) if family in ("ordinal", "counts") else 2.0 * random.standard_normal(70)
    y = 17 * y if family == "counts" else y
    problem = HorseshoeRegression(data, y, family)
    with DevicePool([device.info]) as pool, sampler_of(device, problem, 1, pool, standardize=False) as sampler:
        sampler.set_auxiliary(auxiliary)

        def value(beta: NDArray[np.float64]) -> float:
            margins = beta[0] + data @ beta[1:]
            return float(FAMILIES[family].log_likelihood(margins, problem.y, auxiliary, 4.0).sum())

        beta = np.array([0.3, 0.8, -0.5, 0.2, 1.5])
        gradient, found = sampler.score(beta)
        if family == "counts":  # without the terms that the margin is not in
            found += float(constant_of_counts(problem.y, auxiliary).sum())
        assert found == pytest.approx(value(beta), rel=2e-6)
        steps = 1e-5 * np.eye(5)
        expected = [(value(beta + step) - value(beta - step)) / 2e-5 for step in steps]
        assert gradient == pytest.approx(np.array(expected), rel=2e-4, abs=2e-4)


def test_an_ordinal_target_of_two_categories_is_probit() -> None:
    margins, y = np.linspace(-6, 6, 40), np.arange(40) % 2
    ordinal = FAMILIES["ordinal"].log_likelihood(margins, y, np.zeros(0), 4.0)
    assert ordinal == pytest.approx(stats.norm.logcdf(np.where(y, margins, -margins)), rel=1e-12)


def test_counts_have_a_negative_binomial_distribution() -> None:
    margins, y = np.linspace(-3, 6, 40), np.arange(40.0) ** 2
    for auxiliary in (-1.5, 0.2, 1.0):
        size = np.exp(-2.0 * auxiliary)
        found = FAMILIES["counts"].log_likelihood(margins, y, np.array([auxiliary]), 4.0)
        assert found == pytest.approx(stats.nbinom.logpmf(y, size, size / (size + np.exp(margins))), rel=1e-9)
    limit = FAMILIES["counts"].log_likelihood(margins, y, np.array([-9.0]), 4.0)
    assert limit[:20] == pytest.approx(stats.poisson.logpmf(y, np.exp(margins))[:20], rel=1e-3)


def p_values(member: Member, family: str, seed: int, replicates: int = REPLICATES) -> dict[str, float]:
    """Gandy and Scott's test: every replicate has data of its own, so a chain of its own."""
    random = np.random.default_rng(seed)
    ends: dict[str, list[float]] = {"tau": [], "intercept": [], "beta": [], "auxiliary": []}
    first = np.arange(5.0) if family != "ordinal" else np.array([0, 1, 2, 0, 1])
    # counts of a heavy-tailed prior would often be too large for float32
    tau_scale, options = (0.2, {"prior": "ridge", "tau_scale": 0.2}) if family == "counts" else (1.0, {})
    problem = HorseshoeRegression(X, first, family)
    with (
        DevicePool([member.info]) as pool,
        sampler_of(member, problem, seed, pool, standardize=False, **options) as sampler,
    ):
        sampler.set_auxiliary(np.zeros(1))
        sampler.weigh_at(np.zeros(3))
        sampler.make_gram(weighted=True)
        for number in range(replicates):
            tau, lam = tau_scale * abs(random.standard_cauchy()), np.abs(random.standard_cauchy(2))
            lam = np.ones(2) if family == "counts" else lam
            beta = np.append(INTERCEPT_SCALE * random.standard_normal(), random.standard_normal(2) * lam * tau)
            auxiliary = [
                2.0 * random.standard_normal() if family == "ordinal" else np.log(abs(random.standard_cauchy()))
            ]
            y = targets(family, beta[0] + X @ beta[1:], auxiliary, random)
            state = state_of(beta[None], tau, np.append(1.0, lam)[None])
            state["auxiliary"][:, 0] = auxiliary
            sampler.workers.each(_put_target, y)
            sampler.set_state(state)
            for step in range(ITERATIONS):
                sampler.workers.each(Worker.iterate, ITERATIONS * number + step)
            found = sampler.state()
            precision = float(found["whole"][0, 0])
            ends["tau"].append(precision**-0.5)
            ends["intercept"].append(found["beta"][0, 0] / INTERCEPT_SCALE)
            local = found["local_precision"][0, 1]
            ends["beta"].append(found["beta"][0, 1] * np.sqrt(local * precision))
            ends["auxiliary"].append(float(found["auxiliary"][0, 0]))
    of_auxiliary = stats.norm(scale=2.0).cdf if family == "ordinal" else lambda x: stats.halfcauchy.cdf(np.exp(x))
    of_tau = stats.halfcauchy(scale=tau_scale).cdf
    laws = {"tau": of_tau, "intercept": "norm", "beta": "norm", "auxiliary": of_auxiliary}
    return {name: float(stats.kstest(ends[name], law).pvalue) for name, law in laws.items()}


def _put_target(worker: Worker, y: NDArray[np.float64]) -> None:
    worker.device.put(y.astype(np.float32), worker.rows.target)
    if worker.design.problem.family == "counts":
        worker.device.put(y, worker.hamiltonian.auxiliary.values)


@pytest.mark.parametrize("family", ["normal", "student", "ordinal", "counts"])
def test_an_iteration_leaves_the_posterior_as_it_is(device: Member, family: str) -> None:
    found = p_values(device, family, 5)
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


MUTANTS = {
    "prior of sigma": ("normal", "auxiliary", "density += point[k] -", "density += 4.0 * point[k] -"),
    "prior of the thresholds": ("ordinal", "auxiliary", "density -= 0.5 * point[k]", "density -= -0.4 * point[k]"),
    "log sigma in the likelihood": ("student", "auxiliary", "(f32)(offset - point[0])", "(f32)offset"),
    "threshold of the category above": ("ordinal", "likelihoods", "shape[(i32)(y + 0.5f) + 1] - x", "30.0f"),
    "small sizes of counts": ("counts", "auxiliary", "y * log(from / r)", "0.0"),
    "repeated counts": ("counts", "auxiliary", "sum${i} += times *", "sum${i} += 0.5 * times *"),
    "logarithm of the size": ("counts", "auxiliary", "shape[1] = (f32)(-2.0 *", "shape[1] = (f32)(-1.0 *"),
    "density of the points": ("normal", "auxiliary", "density += partial[", "density -= 0.5 * partial["),
}


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_formula_is_found(device: Member, mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family, template, right, wrong = MUTANTS[mutant]
    mutate(template, right, wrong, tmp_path, monkeypatch)
    assert min(p_values(device, family, 5).values()) < LEVEL


def linear(rows: int = 600, seed: int = 2) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    data = random.standard_normal((rows, 6)) * [1, 10, 0.1, 1, 1, 1] + 5.0
    return data, 40.0 + 3.0 * data[:, 0] - 0.4 * data[:, 1] + 2.0 * random.standard_normal(rows)


def test_a_linear_regression_finds_its_coefficients_in_the_units_of_the_data(device: Member) -> None:
    data, y = linear()
    with engine.Engine(devices=[device.info.id]) as owner:
        result = owner.solve(HorseshoeRegression(data, y), seed=3, draws=300)
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
    assert result.arrays["lp"][0, 5] == pytest.approx(
        exact, rel=1e-2
    )  # of the end of the trajectory, before sigma moves


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
def test_as_many_columns_as_rows_do_not_begin_at_a_sigma_of_nothing(
    device: Member, columns: int, family: str, unit: float, options: dict[str, Any]
) -> None:
    random = np.random.default_rng(0)
    data = random.standard_normal((30, columns))
    y = unit * (data[:, :3] @ [3.0, -2.0, 1.5] + random.standard_normal(30))
    with sampling_of(device, HorseshoeRegression(data, y, family), chains=1, **options) as sampler:
        sampler.make_gram(weighted=False)
        _, _, auxiliary = find_mode(sampler, 0.01, 1.0, lambda step: None)
        sigma = float(np.exp(auxiliary[0])) * sampler.design.target_scale
    assert 0.2 * y.std() < sigma < y.std()


def test_counts_find_their_coefficients_and_their_dispersion(device: Member) -> None:
    random = np.random.default_rng(6)
    data = random.standard_normal((500, 6)) * [1, 10, 0.1, 1, 1, 1] + 2.0
    mean = np.exp(1.0 + 0.6 * data[:, 0] - 0.05 * data[:, 1])
    problem = HorseshoeRegression(data, random.poisson(mean * random.gamma(2.0, 0.5, 500)), "counts")
    with engine.Engine(devices=[device.info.id]) as owner:
        result = owner.solve(problem, seed=3, draws=300)
    rows = {row.name: row for row in result.summary}
    for name, value in {"intercept": 1.0, "x0": 0.6, "x1": -0.05, "dispersion": 0.5}.items():
        assert rows[name].mean == pytest.approx(value, abs=4.0 * rows[name].sd), name
    assert [rows[name].survives for name in ("x0", "x3", "dispersion")] == [True, False, False]
    assert rows["dispersion"].r_hat < 1.05
    exact = engine.log_likelihood(problem, result)[0, 5].sum()
    assert result.arrays["lp"][0, 5] == pytest.approx(exact, rel=1e-5)
    replicated = engine.posterior_predictive(problem, result, seed=1)
    assert replicated.mean() == pytest.approx(problem.y.mean(), rel=0.2)


def test_devices_and_resumed_runs_make_the_same_draws(
    device: Member, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data, y = linear(2000)
    options: dict[str, Any] = {"seed": 4, "draws": 60, "warmup": 60, "chains": 2}
    with engine.Engine(devices=[device.info.id]) as owner:
        whole = owner.solve(HorseshoeRegression(data, y, "student"), **options)
        folder = tmp_path / "run"
        with monkeypatch.context() as patch:
            stop_at(patch, lambda event: event.type == "progress" and event.phase == "sampling")
            stopped = owner.solve(HorseshoeRegression(data, y, "student"), run_folder=folder, **options)
        assert stopped.status == "interrupted"
        again = owner.resume(folder).wait()
    with engine.Engine(devices=[device.info.id] * 2) as owner:
        both = owner.solve(HorseshoeRegression(data, y, "student"), **options)
    for result in (again, both):
        assert np.array_equal(result.arrays["sigma"], whole.arrays["sigma"])
        assert np.array_equal(result.arrays["beta"], whole.arrays["beta"])


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
def test_a_target_that_is_not_of_the_family_is_refused(y: Any, family: str, message: str) -> None:
    with pytest.raises(engine.errors.ProblemError, match=message):
        HorseshoeRegression(np.arange(8.0).reshape(4, 2), y, family)


def test_only_hmc_samples_them_and_an_ordinal_target_needs_an_intercept(device: Member) -> None:
    problem = HorseshoeRegression(X, [0, 1, 2, 1, 0], "ordinal")
    with engine.Engine(devices=[device.info.id]) as owner:
        with pytest.raises(engine.errors.OptionError, match="kernel = px samples probit regressions only"):
            owner.solve(problem, kernel="px")
        with pytest.raises(engine.errors.OptionError, match="needs its intercept"):
            owner.solve(problem, intercept=False)
