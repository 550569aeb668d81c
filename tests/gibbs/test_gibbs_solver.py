"""The sampler as a whole: the posterior of the fixture, controls, checkpoints, devices."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import engine
from engine.benchmarks.gibbs.command import follow
from engine.devices import Device, DevicePool
from engine.numerics.linear_algebra import providers
from engine.solvers.gibbs import SOLVER, choice
from engine.solvers.gibbs.device import matrices, programs
from engine.solvers.gibbs.device.matrices import Matrices
from engine.solvers.gibbs.draws.diagnostics import diagnose
from engine.solvers.gibbs.moves import independence
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.posterior import verdict
from tests.support.engines import engine_of
from tests.support.needs import several_devices
from tests.support.samplers import chains_of, sampling, start_of, state_of, stopped_soon


def solve_on(device, problem, devices=1, **options):
    return engine_of(device, devices).solve(problem, **options)


def fixture_data():
    """The data of the fixture, as its file says."""
    random = np.random.default_rng(20240)
    X = random.standard_normal((200, 10))
    beta = np.zeros(10)
    beta[:3] = 1.3, -1, 0.5
    y = X @ beta + random.standard_normal(200) > 0
    assert y.sum() == 88
    assert X.sum() == pytest.approx(-80.35001319190584)
    return X, y


@pytest.mark.few(1)
@pytest.mark.parametrize("kernel", ["gibbs", "px", "hmc"])
def test_the_posterior_is_that_of_independent_samplers(device, shared_data, kernel):
    X, y = fixture_data()
    summary = json.loads((shared_data / "gibbs" / "fixture.json").read_text())["summary"]
    expected = {row["name"]: row for row in summary}
    options = {"chains": 8, "draws": 1000, "warmup": 200, "seed": 3, "keep_scales": True}
    options |= {"standardize": False, "intercept": False}  # as the paper has it
    result = solve_on(device, engine.HorseshoeProbit(X, y), kernel=kernel, **options)
    arrays = result.arrays
    names = [*(f"beta{j}" for j in range(10)), "log_tau", *(f"log_lam{j}" for j in range(10))]
    draws = np.concatenate([arrays["beta"], arrays["log_tau"][:, :, None], arrays["log_lambda"]], axis=2)
    found = diagnose(draws)
    for place, name in enumerate(names):
        error = np.hypot(found.mcse_mean[place], expected[name]["mcse"])
        assert abs(draws[:, :, place].mean() - expected[name]["mean"]) < 4 * error, name
        assert draws[:, :, place].std() == pytest.approx(expected[name]["sd"], rel=0.15), name


def problem_of(rows=700, columns=9, seed=5):
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, columns))
    return engine.HorseshoeProbit(X, X[:, 0] - 0.5 * X[:, 1] + random.standard_normal(rows) > 0)


def draws_of(device, problem, devices=1, **options):
    chosen = {"draws": 40, "warmup": 10, "chains": 3, "seed": 9, **options}
    result = solve_on(device, problem, devices, **chosen)
    return np.concatenate([result.arrays["beta"], result.arrays["log_tau"][:, :, None]], axis=2)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("kernel", "storage"), [("gibbs", "auto"), ("hmc", "auto"), ("cg", "float32"), ("cg", "sparse")]
)
def test_one_two_and_four_devices_make_the_same_draws(device, kernel, storage, monkeypatch):
    problem, options = problem_of(columns=40), {"kernel": kernel, "storage": storage}
    products = 700 * 41**2  # of all rows: what one device leaves to the library, several do
    monkeypatch.setitem(matrices._GRAM_FROM, device.info.capabilities.linear_algebra, products)
    one = draws_of(device, problem, **options)
    for devices, draws in ((2, 40), (4, 6)):
        assert np.array_equal(draws_of(device, problem, devices, draws=draws, **options), one[:, :draws])


@pytest.mark.full
@pytest.mark.parametrize(("kernel", "columns"), [("gibbs", 9), ("hmc", 9), ("cg", 9), ("gibbs", 270), ("hmc", 270)])
def test_devices_that_read_each_others_memory_make_the_same_draws(device, kernel, columns, monkeypatch):
    if not device.submit(lambda running: running.shared_array(running.empty(1, np.float64)) is not None).result():
        pytest.skip("the memory of this device is not the host's")
    problem, meetings = problem_of(400, columns), []
    host = draws_of(device, problem, kernel=kernel, draws=8)

    def copy_from_peer(device, target, source, to, start, count):
        meetings.append(count)
        values = device.shared_array(source)  # any device of this kind sees the same bytes
        assert values is not None
        device.put(values.reshape(-1)[start : start + count], target, to)

    monkeypatch.setattr(DevicePool, "enable_peers", lambda pool: True)
    monkeypatch.setattr(Device, "copy_from_peer", copy_from_peer)
    for devices in (2, 4):
        assert np.array_equal(draws_of(device, problem, devices, kernel=kernel, draws=8), host)
    assert meetings


@pytest.mark.few(1)
@pytest.mark.parametrize("kernel", ["gibbs", "px"])
@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_the_first_iterations_are_those_of_the_reference(device, kernel, storage):
    for rows, columns in ((300, 4), (1000, 37), (150, 210)):
        options = Options(kernel=kernel, chains=3 if storage == "float32" else 1, storage=storage)
        assert follow(device.info, rows, columns, options, steps=50 if columns < 100 else 10) < 1e-4


@pytest.mark.few(1)
@pytest.mark.parametrize("kernel", ["gibbs", "hmc"])
@pytest.mark.parametrize("option", ["streaming", "provider"])
def test_rows_that_are_sent_and_every_provider_of_linear_algebra_make_the_same_chain(device, option, kernel):
    # X'X is added up in other portions, so that it differs by about 1e-16. In 50 iterations this becomes 1e-8, when a
    # coefficient, as float32, is rounded the other way; chains that differ by more come together, they do not part.
    choices = ["never", "always"] if option == "streaming" else device.submit(providers).result()
    draws = [chains_of(device, problem_of(), 50, kernel=kernel, **{option: choice}) for choice in choices]
    starts = [start_of(device, problem_of(), kernel=kernel, **{option: choice}) for choice in choices]
    assert np.ptp(draws[0][:, :, :10], axis=0).min() > 0.01  # the chains move
    for other, (start, _) in zip(draws[1:], starts[1:], strict=True):
        assert np.allclose(other, draws[0], rtol=1e-6, atol=1e-6)
        assert (np.abs(start - starts[0][0]) < 0.05 * starts[0][1]).all()


@pytest.mark.full
@pytest.mark.parametrize(("kernel", "storage"), [("hmc", "float32"), ("hmc", "float16"), ("px", "float32")])
@pytest.mark.parametrize("twice", [21_000, 1])
def test_the_kernels_of_gpus_make_the_same_draws(device, kernel, storage, twice, monkeypatch):
    monkeypatch.setattr(programs, "TWICE", twice)
    own = device.info.capabilities
    gpu = replace(own, simt=True, lanes=1, host_visible_memory=False, shares_host_cores=False, max_block=256)
    gpu = replace(gpu, linear_algebra="kernels")
    problem, draws = problem_of(300, 5), []
    for capabilities in (own, gpu):
        member = SimpleNamespace(info=replace(device.info, capabilities=capabilities))
        with sampling(member, problem.X, problem.y, kernel=kernel, chains=7, storage=storage) as sampler:
            sampler.set_state(state_of(np.linspace(-0.3, 0.4, 42).reshape(7, 6)))
            sampler.advance(0, 12, 0)
            iterations, rows, failed = sampler.collect()
        assert (iterations, failed) == (list(range(12)), 0)
        draws.append(rows)
    assert np.allclose(*draws, rtol=1e-4, atol=1e-5)


def test_backends_agree_over_the_first_iterations():
    found = [info for info in several_devices(2) if info.capabilities.fp64]
    draws, starts = [], []
    for info in found:
        with DevicePool([info]) as pool:
            draws.append(chains_of(pool.members[0], problem_of(), 8, kernel="hmc"))
            starts.append(start_of(pool.members[0], problem_of(), kernel="hmc"))
    for other, (start, _) in zip(draws[1:], starts[1:], strict=True):
        # Backends add up float32 sums in different orders. The difference grows with every trajectory, and the first
        # acceptance that is decided otherwise separates the chains for good; eight draws come long before that.
        assert np.allclose(other, draws[0], rtol=1e-3, atol=1e-4)
        assert (np.abs(start - starts[0][0]) < 0.05 * starts[0][1]).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("kernel", ["gibbs", "hmc", "cg", "student", "latent", "local"])
def test_a_stopped_run_resumes_to_the_same_draws(device, kernel, tmp_path, monkeypatch):
    monkeypatch.setattr(independence, "_FEWEST_COLUMNS", 1)
    problem = problem_of(3000, 20)
    options = {"kernel": kernel, "draws": 300, "warmup": 420, "chains": 2, "seed": 4, "thin": 5}
    if kernel == "student":
        problem = engine.HorseshoeRegression(problem.X, problem.X[:, 0] + problem.X[:, 1], "student")
        options |= {"kernel": "hmc"}
    if kernel == "latent":
        problem, options = problem_of(20, 40), options | {"kernel": "hmc", "draws": 100, "warmup": 120, "thin": 1}
    if kernel == "local":
        monkeypatch.setattr(choice, "_MOST_COLUMNS", 30)
        problem = engine.HorseshoeRegression(problem_of(20, 40).X, np.arange(20.0), "student")
        options |= {"kernel": "gibbs", "draws": 100, "warmup": 120, "thin": 1}
    if kernel == "cg":
        problem, options = problem_of(200), options | {"draws": 100, "warmup": 120, "thin": 2, "keep_scales": True}
    folder = tmp_path / "run"
    owner = engine_of(device)
    whole = owner.solve(problem, **options)
    cut = stopped_soon(lambda: owner.solve(problem, run_folder=folder, **options))
    assert cut.status == "interrupted"
    again = stopped_soon(lambda: owner.resume(folder).wait())
    assert again.status == "interrupted"
    result = owner.resume(folder).wait()
    assert result.status == "complete"
    for name in {"beta", "log_tau", "mean", "quantiles", "sigma", "log_lambda"} & whole.arrays.keys():
        assert np.array_equal(result.arrays[name], whole.arrays[name]), name


def test_a_run_tells_its_phases_traces_and_mixing(device):
    events = []
    solve_on(device, problem_of(), draws=300, warmup=100, coefficients=["x1", "intercept"], on_event=events.append)
    phases = [event.phase for event in events if event.type == "progress"]
    assert list(dict.fromkeys(phases)) == ["columns", "upload of X", "mode", "warm-up", "sampling"]
    traces = [event for event in events if event.type == "trace"]
    assert {event.name for event in traces} == {"log_tau", "x1", "intercept"}
    assert {event.chain for event in traces} == {0, 1, 2, 3}
    metrics = {event.name for event in events if event.type == "metric"}
    assert {"iterations_per_second", "eta"} <= metrics <= {spec.name for spec in SOLVER.metrics}


def test_chosen_coefficients_are_kept_whole_beside_a_summary_of_all(device):
    result = solve_on(device, problem_of(), coefficients=["x3"], draws=30, warmup=0)
    assert result.arrays["beta"].shape == (4, 30, 1)
    assert result.arrays["names"][result.arrays["kept"]].tolist() == ["x3"]
    assert len(result.arrays["mean"]) == 11
    with pytest.raises(engine.OptionError, match=r"there is no coefficient 'x33' \(known: intercept, x0"):
        solve_on(device, problem_of(), coefficients=["x33"])
    few = solve_on(device, problem_of(200, 4), draws=4, warmup=0)
    assert np.isnan(few.arrays["ess_bulk"]).all()
    assert verdict(few) == "there are too few draws to tell whether the chains have mixed"


@pytest.mark.few(1)
@pytest.mark.parametrize("kernel", ["gibbs", "hmc"])
def test_a_chain_keeps_its_coefficients_where_a_factorisation_fails(device, kernel, monkeypatch):
    factorise = Matrices.factorise

    def indefinite(self, built):
        self.device.sync()  # the matrix is built on another stream
        self.device.put(np.array([-1.0]), self.groups[0].matrix)  # of the first chain
        factorise(self, built)

    monkeypatch.setattr(Matrices, "factorise", indefinite)
    notices = []
    chosen = {"kernel": kernel, "draws": 30, "warmup": 0, "chains": 2, "seed": 0, "on_event": notices.append}
    result = solve_on(device, problem_of(200, 4), **chosen)
    assert result.counters["failed_factorisations"] == 30
    assert np.isfinite(result.arrays["beta"]).all()
    failed, good = result.arrays["beta"]
    assert np.ptp(good, axis=0).max() > 0
    message = "its trajectory was rejected" if kernel == "hmc" else "the chain kept its coefficients"
    if kernel == "hmc":  # a joint rescaling of the coefficients and tau needs no factor, and goes on
        failed = failed[:, 1:] / np.linalg.norm(failed[:, 1:], axis=1, keepdims=True)  # the intercept is not rescaled
    assert np.ptp(failed, axis=0).max() < 1e-12
    assert any(message in event.message for event in notices if event.type == "notice")
