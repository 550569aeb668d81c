"""Diagnostics agree with ArviZ, tell mixed chains from others, and go to ArviZ with the draws."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2, kstest

import engine
from engine.solvers.gibbs.draws.diagnostics import diagnose, mixing_of
from engine.solvers.gibbs.draws.store import Draws
from engine.solvers.gibbs.posterior import Posterior, verdict
from tests.support.engines import engine_of


def chains(shape, rho, seed=1):
    """Autoregressions of three kinds: normal, lognormal, and one chain apart."""
    noise = np.random.default_rng(seed).standard_normal((*shape, 3))
    draws = np.zeros_like(noise)
    for step in range(1, shape[1]):
        draws[:, step] = rho * draws[:, step - 1] + noise[:, step]
    draws[:, :, 1] = np.exp(draws[:, :, 1])
    draws[0, :, 2] += 1
    return draws


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.95, -0.6])
@pytest.mark.parametrize("shape", [(4, 500), (4, 101), (2, 50), (8, 9)])
def test_every_diagnostic_is_arvizs(arviz, shape, rho):
    draws = chains(shape, rho)
    found = diagnose(draws)
    for j in range(3):
        one = draws[:, :, j]
        assert found.r_hat[j] == pytest.approx(float(arviz.rhat(one)))
        assert found.ess_bulk[j] == pytest.approx(float(arviz.ess(one, method="bulk")))
        assert found.ess_tail[j] == pytest.approx(float(arviz.ess(one, method="tail", prob=(0.05, 0.95))))
        assert found.mcse_mean[j] == pytest.approx(float(arviz.mcse(one)))
    assert np.isnan(diagnose(np.ones((2, 20, 1))).r_hat).all()  # nothing moves
    assert np.isnan(diagnose(np.ones((2, 3, 1))).ess_bulk).all()  # too few


def test_moments_taken_batch_by_batch_are_those_of_all_draws_and_come_back_from_arrays():
    rows = np.random.default_rng(2).standard_normal((37, 3, 5)) * 3 + 7
    draws = Draws.none(3, 5, np.array([4, 1]), 1 << 30)
    for part in np.split(rows, [1, 1, 9, 20]):
        draws = draws.with_rows(part)
    mean, sd = draws.overall()
    assert mean == pytest.approx(rows.mean(axis=(0, 1)))
    assert sd == pytest.approx(rows.reshape(-1, 5).std(axis=0, ddof=1))
    again = Draws.none(3, 5, np.array([4, 1]), 1 << 30).with_arrays(draws.arrays())
    for one in (draws, again):
        assert np.array_equal(one.all(), rows.transpose(1, 0, 2))
        assert np.array_equal(one.some(), rows.transpose(1, 0, 2)[:, :, [4, 1]])
    assert np.array_equal(draws.tail(np.array([2]), 10), rows[-10:].transpose(1, 0, 2)[:, :, [2]])


def test_draws_that_do_not_fit_are_thinned_evenly():
    rows = np.arange(200.0).reshape(100, 1, 2)
    draws = Draws.none(1, 2, None, 8 * 2 * 30)
    earlier = []
    for part in np.array_split(rows, 7):
        draws = draws.with_rows(part)
        earlier.append(draws)
    assert [one.every for one in earlier] == [1, 1, 2, 2, 4, 4, 4]
    again = Draws.none(1, 2, None, 8 * 2 * 30).with_arrays(earlier[1].arrays())  # from before they were thinned
    assert np.array_equal(again.all()[0], rows[:30, 0])
    assert again.is_whole()
    assert np.array_equal(draws.all()[0], rows[::4, 0])
    assert draws.overall()[0] == pytest.approx([99.0, 100.0])


@pytest.mark.filterwarnings("ignore")
def test_results_go_to_arviz_with_their_names(arviz, monkeypatch):
    random = np.random.default_rng(3)
    X = random.standard_normal((100, 3))
    problem = engine.HorseshoeProbit(X, X[:, 0] > 0.1, names=["a", "b", "c"])
    result = engine.solve(problem, draws=50, warmup=20, chains=2, keep_scales=True, backend="opencl")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "arviz", None)
        with pytest.raises(ModuleNotFoundError, match=r"to_arviz needs the package arviz.*extra statistics"):
            engine.to_arviz(result)
    with pytest.raises(engine.InputError, match=r"no draws: the run was stopped before the first one \(time_limit\)"):
        engine.to_arviz(SimpleNamespace(arrays={}, status=engine.Status.TIME_LIMIT))
    data = engine.to_arviz(result, problem, row_names=[f"r{row}" for row in range(100)])
    assert data.posterior["beta"].shape == (2, 50, 4)
    assert data.posterior["beta"].coords["coefficient"].values.tolist() == ["intercept", "a", "b", "c"]
    assert data.posterior["log_lambda"].shape == (2, 50, 3)
    assert set(data.sample_stats) == {"lp", "acceptance_rate", "energy", "diverging", "jumps"}
    assert not data.sample_stats["diverging"].any()
    assert np.array_equal(data.constant_data["X"].sel(row="r7", column="b"), X[7, 1])
    assert bool(data.observed_data["y"].sel(row="r7")) == bool(X[7, 0] > 0.1)
    assert data.log_likelihood["y"].dims == ("chain", "draw", "row")
    with pytest.raises(engine.InputError, match="a name for each of the 100 rows; got 2"):
        engine.to_arviz(result, row_names=["a", "b"])
    assert data.attrs["seed"] == 0
    assert np.array_equal(data.posterior["beta"], result.arrays["beta"])


@pytest.mark.parametrize("version", ["0.23.4", "1.3.0"])
def test_either_generation_of_arviz_is_called_as_it_wants(version, monkeypatch):
    calls = []

    def from_dict(*arguments, **names):
        calls.append((arguments, names))
        return SimpleNamespace(attrs={})

    fake = SimpleNamespace(__version__=version, from_dict=from_dict)
    monkeypatch.setitem(sys.modules, "arviz", fake)
    problem = engine.HorseshoeProbit(np.random.default_rng(3).standard_normal((20, 2)), np.arange(20) % 2)
    result = engine.solve(problem, draws=8, warmup=0, chains=2, backend="opencl")
    assert engine.to_arviz(result).attrs["inference_library"] == "quintet"
    ((arguments, names),) = calls
    assert np.array_equal(names["coords"].pop("row"), np.arange(20))
    groups = arguments[0] if version.startswith("1") else {name: names.pop(name) for name in list(names)[:3]}
    assert len(arguments) == int(version.startswith("1"))  # a mapping of groups; groups by name before 1.0
    assert set(groups) == {"posterior", "observed_data", "sample_stats"}
    assert np.array_equal(groups["posterior"]["beta"], result.arrays["beta"])
    assert names["coords"] == {"coefficient": ["intercept", "x0", "x1"]}
    assert names["dims"] == {"beta": ["coefficient"], "y": ["row"]}


def test_the_energy_of_a_trajectory_is_the_density_of_its_end_and_of_the_momenta(device):
    random = np.random.default_rng(5)
    X = random.standard_normal((150, 4))
    problem = engine.HorseshoeLogit(X, X[:, 0] + random.logistic(size=150) > 0)
    options = {"standardize": False, "intercept": False, "keep_scales": True, "warmup": 100, "draws": 500}
    arrays = engine_of(device, 1).solve(problem, kernel="hmc", seed=3, **options).arrays
    log_precision = -2.0 * (arrays["log_tau"][:, :, None] + arrays["log_lambda"])
    prior = 0.5 * (arrays["beta"] ** 2 * np.exp(log_precision) - log_precision).sum(axis=2)
    momenta = 2.0 * (arrays["energy"] + arrays["lp"] - prior)  # the squares of four standard normal variates
    assert kstest(momenta[:, ::5].ravel(), chi2(4).cdf).pvalue > 1e-3


@pytest.mark.parametrize("apart", [False, True])  # the same number in all chains, or one of its own in each
def test_a_coefficient_that_never_moves_has_not_mixed(apart):
    rows = np.random.default_rng(7).normal(size=(500, 4, 3))  # an intercept and two coefficients
    others = np.exp(np.random.default_rng(8).normal(size=(500, 4, 8)))
    statistics = Draws.none(4, 8, None, 1 << 20).with_rows(others)
    for value, good in ((0.0, True), (0.1, False)):  # a coefficient that is not sampled is 0
        rows[:, :, 1] = value * (np.arange(4) if apart else 1)
        draws = Draws.none(4, 3, None, 1 << 20).with_rows(rows)
        found = mixing_of(draws, statistics)
        assert found.reaches(1000, 1.02) == good
        assert (1 in found.watched) != good
        of_each = diagnose(draws.all())
        arrays = {name: np.asarray(getattr(of_each, name)) for name in ("r_hat", "ess_bulk", "ess_tail")}
        arrays |= {"mean": draws.overall()[0], "names": np.array(["intercept", "a", "b"])}
        warning = str(verdict(Posterior("complete", None, None, None, counters={"chains": 4}, arrays=arrays)))
        expected = "None" if good else "the draws of a are worth 4 " if apart else "a never changed; allow more draws"
        assert expected in warning
