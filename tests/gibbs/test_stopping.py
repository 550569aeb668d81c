"""Runs without a fixed number of draws end when the chains have mixed; a failing device ends a run with one error."""

import shutil
import time
from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.errors import DeviceError, RunFolderError
from engine.runs.folder.run_folder import RunFolder
from engine.solvers.gibbs import solve as solve_module
from engine.solvers.gibbs.checkpoint import Convergence, checkpoint_of, snapshot_of
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.device.matrices import Matrices
from engine.solvers.gibbs.draws.diagnostics import check_points
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.posterior import verdict
from engine.solvers.gibbs.solve import new_state
from tests.support.engines import engine_of
from tests.support.faults import failing
from tests.support.patience import PATIENCE
from tests.support.stopping import stop_at


def problem_of(rows=300, columns=5):
    random = np.random.default_rng(5)
    X = random.standard_normal((rows, columns))
    return engine.HorseshoeProbit(X, X[:, 0] - 0.5 * X[:, 1] + random.standard_normal(rows) > 0)


def test_sampling_ends_at_the_first_check_that_passes_after_another(device, arviz):
    owner = engine_of(device)
    result = owner.solve(problem_of(), seed=3, ess=300, r_hat=1.02)
    arrays = result.arrays
    assert np.fmin(arrays["ess_bulk"], arrays["ess_tail"]).min() >= 300
    assert arrays["r_hat"].max() <= 1.02
    points = check_points(10_000)
    assert result.counters["draws"] in points[1:]
    values = np.concatenate([arrays["beta"], arrays["log_tau"][:, :, None]], axis=2)
    passed = []
    for count in [n for n in points if n <= result.counters["draws"]]:
        each = [values[:, :count, j] for j in range(values.shape[2])]
        bulk = [float(arviz.ess(one, method="bulk")) for one in each]
        tail = [float(arviz.ess(one, method="tail", prob=(0.05, 0.95))) for one in each]
        passed.append(min(bulk + tail) >= 300 and max(float(arviz.rhat(one)) for one in each) <= 1.02)
    assert passed[-2:] == [True, True]
    assert [True, True] not in [passed[i : i + 2] for i in range(len(passed) - 2)]


def test_a_run_that_does_not_converge_ends_at_its_cap_and_warns(device):
    owner, notices = engine_of(device), []
    result = owner.solve(problem_of(), seed=3, ess=1e6, max_draws=150, on_event=notices.append)
    assert (result.counters["draws"], result.status) == (150, "complete")
    assert any("do not trust the posterior yet" in event.message for event in notices if event.type == "notice")
    with pytest.warns(engine.ConvergenceWarning) as caught:  # the posterior is good, but not what was asked for
        result = owner.solve(problem_of(), seed=3, ess=1e6, r_hat=1.2, max_draws=1000)
    least = f"{result.counters['least_ess']:.0f}"
    text = f"sampling ended before its targets were reached: ess = 1e+06 was asked for and {least} reached"
    assert str(caught[0].message).startswith(text)
    assert verdict(owner.solve(problem_of(), seed=3, ess=500)) is None


@pytest.mark.full
@pytest.mark.parametrize("kernel", ["gibbs", "hmc"])
def test_the_last_device_fails_with_its_error_and_leaves_a_checkpoint(device, kernel, tmp_path):
    problem, folder, owner = problem_of(500, 6), tmp_path / "run", engine_of(device)
    options = {"seed": 4, "draws": 400, "warmup": 100, "kernel": kernel, "chains": 2}
    whole = owner.solve(problem, **options)
    with failing(device.info.id, at_launch=3000) as failures:
        run = owner.start(problem, run_folder=folder, checkpoint_interval=1e-3, **options)
        with pytest.raises(DeviceError, match="fallen off the bus"):
            run.wait(120)
        assert failures[0] > 0
    result = engine_of(device).resume(folder).wait()
    assert np.array_equal(result.arrays["beta"], whole.arrays["beta"])


@pytest.mark.few(1)
@pytest.mark.parametrize("launch", [1, 3000])
@pytest.mark.parametrize("lost", [1, 2])
@pytest.mark.parametrize("kernel", ["gibbs", "hmc", "cg"])
def test_the_chains_go_on_without_a_device_that_fails(device, kernel, lost, launch, monkeypatch):
    monkeypatch.setattr(solve_module, "_SNAPSHOT_INTERVAL", 0.0)
    problem = problem_of(500, 6)
    options = {"seed": 4, "draws": 400, "warmup": 100, "kernel": kernel, "chains": 2}
    whole = engine_of(device).solve(problem, **options)
    name, events = device.info.id, []
    with (
        engine.Engine(devices=[name] * 3) as owner,
        failing(name if lost == 1 else f"{name}#{lost}", at_launch=launch) as failures,
    ):
        result = owner.solve(problem, on_event=events.append, **options)
    assert failures[0] > 0
    assert result.status == "complete"
    for array in ("beta", "log_tau", "quantiles"):
        assert np.array_equal(result.arrays[array], whole.arrays[array]), array
    notices = [event.message for event in events if event.type == "notice" and "was lost" in event.message]
    assert len(notices) == 1
    assert ("begin again" if launch == 1 else "go on from iteration") in notices[0]


def as_of_conjugate_gradients(arrays, state):
    state["kernel"] = "cg"
    for name in ("weight", "curvature", "control", "mode_auxiliary"):
        del arrays[name]


def test_a_checkpoint_that_cannot_be_of_this_run_is_refused(device, tmp_path):
    options = {"kernel": "hmc", "seed": 4, "draws": 5000, "warmup": 50, "chains": 2}
    owner = engine_of(device)
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, lambda event: event.type == "progress" and event.phase == "sampling" and event.done > 110)
        assert owner.solve(problem_of(), run_folder=tmp_path / "stopped", **options).status == "interrupted"
    for fault, change in (
        ("another kernel", as_of_conjugate_gradients),
        ("not above 0", lambda arrays, state: arrays["chain_state"].fill(0.0)),
        ("does not match the iteration", lambda arrays, state: state.update(iteration=0)),
        ("weights", lambda arrays, state: arrays["weight"].fill(-1.0)),
        ("shares of small", lambda arrays, state: arrays["small"].fill(1.5)),
        ("other moments", lambda arrays, state: arrays["draws.draws_all"].flat.__setitem__(5, 9.0)),
    ):
        folder = tmp_path / fault
        shutil.copytree(tmp_path / "stopped", folder)
        opened = RunFolder.open(folder)
        checkpoint = opened.checkpoint()
        arrays = {name: np.array(array) for name, array in checkpoint.arrays.items()}
        state = checkpoint.state if isinstance(checkpoint.state, dict) else checkpoint.state.model_dump()
        change(arrays, state)
        opened.acquire()
        opened.save_checkpoint(type(checkpoint)(arrays, state, checkpoint.elapsed))
        opened.release()
        with pytest.raises(RunFolderError, match=fault):
            owner.resume(folder).wait()


def test_a_checkpoint_keeps_the_checks_that_were_passed():
    state = new_state(Design.of(problem_of(), Options(kernel="gibbs")), Options(kernel="gibbs"))
    state = replace(state, iteration=7, failed=2, passes=3, convergence=Convergence(passed=1))
    kept = {"kernel": "latent", "iteration": 7, "passed": 1, "failed": 2, "passes": 3, "exchanged_bytes": 5}
    assert checkpoint_of(state, snapshot_of(state, {}, {}), 5)[1] == kept


def until_stopped(rows):
    """What takes longer than a run may."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        rows.between()
    raise AssertionError("nobody ends it")


@pytest.mark.few(1)
@pytest.mark.parametrize("work", ["make_gram", "factorise_fixed"])
def test_a_time_limit_ends_the_large_products_and_factors_of_the_start(device, monkeypatch, work):
    monkeypatch.setattr(Matrices, work, lambda self, *_: until_stopped(self._rows))
    monkeypatch.setattr("engine.runs.run.is_overdue", lambda overdue, cpu, patience: overdue > PATIENCE)
    monkeypatch.setattr("engine.runs.run.OFFERED_GRACE", PATIENCE)
    assert engine_of(device).solve(problem_of(), time_limit=0.2).status == "time_limit"
    monkeypatch.undo()
    assert engine_of(device).solve(problem_of(), draws=5, warmup=5).status == "complete"
