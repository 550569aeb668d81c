"""Checkpoints of linear programs: written at a stop, resumed to the same answer, refused when they do not fit."""

from concurrent.futures import Future

import numpy as np
import pytest

import engine
from engine.errors import DeviceError
from engine.generators.linprog import GeneratorOptions, generate
from engine.runs.folder.run_folder import RunFolder
from engine.runs.run import Run
from engine.solvers.linprog import SCHEMA, pdhg, solve
from engine.solvers.linprog.methods import interior
from engine.solvers.linprog.methods import start as racing
from engine.solvers.linprog.methods.highs import HighsMethod
from tests.support.faults import failing

PROBLEM = generate(GeneratorOptions(type="inequalities", m=30, n=60, seed=1))


@pytest.fixture
def stopped(device, tmp_path, monkeypatch):
    """A function that starts a run, stops it at its first metric, and returns its folder."""

    def start(**options):
        folder = tmp_path / "run"
        metric = Run.metric

        def stop(self, name, value, device=None):
            metric(self, name, value, device)
            self.stop()

        with monkeypatch.context() as patched:
            patched.setattr(interior, "SLICE_SECONDS", 0.0)
            patched.setattr(pdhg, "_PERIOD", 4)
            patched.setattr(Run, "metric", stop)
            patched.setattr(racing, "THREAD_NONZEROS", -1)
            patched.setattr(HighsMethod, "_request", lambda self: setattr(self, "future", Future()))
            result = engine.solve(PROBLEM, devices=[device.info.id], run_folder=folder, **options)
        assert result.status == "interrupted"
        return folder

    return start


def assert_totals(resumed, unstopped):
    """Counters, and the history with every number, are those of a run without interruption."""
    for name in ("iterations", "factorizations"):
        assert resumed.counters[name] == unstopped.counters[name]
    found, expected = resumed.arrays["history"], unstopped.arrays["history"]
    assert np.allclose(found[:-1], expected[:-1], rtol=1e-3, atol=1e-6, equal_nan=True)
    assert np.array_equal(np.isnan(found), np.isnan(expected))


@pytest.mark.few(2)
@pytest.mark.parametrize("options", [{"method": "mpc"}, {"method": "pdas"}, {"method": "pdhg"}, {"method": "race"}])
def test_a_stop_writes_a_checkpoint_that_resumes_to_the_optimum(device, stopped, options):
    unstopped = engine.solve(PROBLEM, devices=[device.info.id], **options)
    folder = stopped(**options)
    state = RunFolder.open(folder).checkpoint().state
    assert state.interior or state.pdhg
    result = engine.resume(folder)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(unstopped.objective, rel=1e-6)
    if options["method"] in ("mpc", "pdas"):
        assert_totals(result, unstopped)
        iterations = SCHEMA.column(result, "iteration")
        assert iterations.tolist() == list(range(int(iterations[-1]) + 1))


def test_an_iterate_of_some_iterations_ago_is_saved_with_its_own_count(device, tmp_path, monkeypatch):
    unstopped = engine.solve(PROBLEM, devices=[device.info.id], method="mpc")
    work, report = interior.InteriorMethod._slice, interior.InteriorMethod.report
    kept = []

    def first_kept(self, begin=None):
        found = work(self, begin)
        kept.append(self._kept)
        self._kept = kept[0]
        return found

    def stop_later(self, run):
        report(self, run)
        if len(self.history) >= 4:
            run.stop()

    with monkeypatch.context() as patched:
        patched.setattr(interior, "SLICE_SECONDS", 0.0)
        patched.setattr(interior, "_PATIENCE", -1.0)
        patched.setattr(interior.InteriorMethod, "_is_idle", lambda self: False)  # as in a long iteration
        patched.setattr(interior.InteriorMethod, "_slice", first_kept)
        patched.setattr(interior.InteriorMethod, "report", stop_later)
        engine.solve(PROBLEM, devices=[device.info.id], method="mpc", run_folder=tmp_path / "run")
    state = RunFolder.open(tmp_path / "run").checkpoint().state
    assert state.iteration == state.counters["iterations"] == 1
    assert_totals(engine.resume(tmp_path / "run"), unstopped)


@pytest.mark.parametrize("method", ["mpc", "pdhg"])
def test_a_resumed_run_that_is_stopped_before_its_methods_begin_keeps_their_iterates(stopped, monkeypatch, method):
    folder = stopped(method=method)
    before = RunFolder.open(folder).checkpoint()
    with monkeypatch.context() as patched:
        patched.setattr(solve._Solving, "_judge_initial", lambda self: (self.run.stop(), self.race.poll()))
        engine.resume(folder)
    after = RunFolder.open(folder).checkpoint()
    assert after.state == before.state
    assert after.arrays.keys() == before.arrays.keys()
    assert all(np.array_equal(after.arrays[name], before.arrays[name], equal_nan=True) for name in before.arrays)


def test_a_device_that_fails_ends_the_run_with_its_error(device, tmp_path):
    with engine.Engine(devices=[device.info.id]) as owner, failing(device.info.id, at_launch=6) as failures:
        with pytest.raises(DeviceError):
            owner.solve(PROBLEM, method="mpc", run_folder=tmp_path / "run")
        assert failures[0]
