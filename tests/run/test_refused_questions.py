"""What cannot be solved is refused before anything is opened or made, and leaves nothing behind."""

import threading
from dataclasses import replace

import pytest

import engine
from engine.errors import InputError, OptionError, OutOfDeviceMemory, ProblemError
from engine.solvers import discover
from tests.support import counting
from tests.support.counting import Counting


def validate(problem, options, devices):
    if options.step > problem.target:
        raise OptionError(f"step must be at most the target, {problem.target}; got {options.step}")
    if problem.target > devices[0].memory:
        raise OutOfDeviceMemory(f"counting to {problem.target} does not fit {devices[0].id}")


@pytest.fixture(autouse=True)
def _validating_solver(monkeypatch):
    monkeypatch.setitem(discover(), "counting", replace(counting.SOLVER, validate=validate))


@pytest.mark.parametrize(
    ("problem", "arguments", "error"),
    [
        (lambda: Counting(-1), {}, ProblemError),
        (lambda: Counting(50), {"step": 51}, OptionError),
        (lambda: Counting(50), {"step": 0}, OptionError),
        (lambda: Counting(50), {"stepp": 5}, OptionError),
        (lambda: Counting(10**9 + 1), {}, OutOfDeviceMemory),
        (lambda: Counting(50), {"seed": 2**64}, OptionError),
        (lambda: Counting(50), {"time_limit": -1.0}, OptionError),
        (lambda: "fifty", {}, InputError),
    ],
)
def test_a_refused_question_leaves_no_folder_device_or_thread(problem, arguments, error, tmp_path, monkeypatch):
    before = set(threading.enumerate())
    with monkeypatch.context() as patch:
        patch.setattr("engine.api.engine.DevicePool", lambda *_: pytest.fail("opened a device"))
        with pytest.raises(error):
            engine.solve(problem(), run_folder=tmp_path / "a" / "r", **arguments)
    assert list(tmp_path.iterdir()) == []
    assert set(threading.enumerate()) <= before
    assert engine.solve(Counting(50), run_folder=tmp_path / "a" / "r").status == "optimal"


@pytest.mark.parametrize("error", [OutOfDeviceMemory("too large"), OptionError("not here")])
def test_a_run_refused_after_the_devices_were_opened_leaves_no_folder(error, tmp_path, monkeypatch):
    def solve(problem, options, pool, run):
        assert (tmp_path / "r" / "run.toml").exists()
        run.notice("the plan is made")
        raise error

    with monkeypatch.context() as patch:
        patch.setitem(discover(), "counting", replace(counting.SOLVER, solve=solve))
        with pytest.raises(type(error)):
            engine.solve(Counting(50), run_folder=tmp_path / "r")
    assert list(tmp_path.iterdir()) == []
    assert engine.solve(Counting(50), run_folder=tmp_path / "r").status == "optimal"


def test_a_device_failure_carries_the_best_so_far(tmp_path, monkeypatch):
    def solve(problem, options, pool, run):
        run.incumbent(7, 9)
        run.save_checkpoint({}, {"total": 7})
        raise engine.DeviceError("the abacus broke")

    seen = []
    with monkeypatch.context() as patch:
        patch.setitem(discover(), "counting", replace(counting.SOLVER, solve=solve))
        with pytest.raises(engine.DeviceError) as caught:
            engine.solve(Counting(50), run_folder=tmp_path / "r", on_event=seen.append)
    assert (caught.value.best_objective, caught.value.best_bound) == (7, 9)
    assert caught.value.run_folder == str(tmp_path / "r")
    assert (seen[-1].type, seen[-1].objective, seen[-1].bound) == ("failed", 7, 9)
