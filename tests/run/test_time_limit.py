"""A run ends at its limit whatever its solver is doing, and what the solver does later changes nothing."""

import threading

import numpy as np
import pytest

import engine
from engine.base.result import Result, Status
from engine.runs.attempt import is_overdue
from tests.support.counting import Counting, start_function
from tests.support.patience import PATIENCE


class Phase(threading.Event):
    """What a phase that cannot be interrupted waits for."""

    def __init__(self):
        super().__init__()
        self.entered = threading.Event()

    def wait_in(self, run=None):
        self.entered.set()
        self.wait(PATIENCE)


@pytest.fixture
def phase():
    """It ends with the test at the latest."""
    end = Phase()
    yield end
    end.set()


@pytest.fixture(autouse=True)
def hurried(phase, monkeypatch):
    """Runs that leave a solver as soon as they are overdue and it is in the phase."""
    monkeypatch.setattr("engine.runs.run.is_overdue", lambda overdue, *_: overdue > 0 and phase.entered.is_set())


@pytest.fixture
def owner(phase):
    with engine.Engine() as owner:
        yield owner
        phase.set()


@pytest.mark.parametrize(
    ("overdue", "cpu", "patience", "is_left"),
    [(0.19, 9, 0.2, False), (0.2, 0.2, 0.2, True), (4.9, 0.19, 0.2, False), (5, 0, 0.2, True), (6, 0, 7, False)],
)
def test_a_solver_is_left_once_it_had_its_processor_time_or_five_seconds(overdue, cpu, patience, is_left):
    assert is_overdue(overdue, cpu, patience) is is_left


def test_a_phase_that_cannot_be_interrupted_does_not_hold_the_run(owner, phase):
    emitted = []
    late = threading.Event()

    def solve(run):
        run.progress("building", 0, 1)
        phase.wait_in()
        run.incumbent(3, 4)
        run.notice("too late")
        late.set()

    run = start_function(owner, solve, time_limit=0.01, on_event=[emitted.append])
    result = run.wait(PATIENCE)
    assert (result.status, result.objective, result.solution) == (Status.TIME_LIMIT, None, None)
    assert result.reason == "the time limit passed before there was a solution, in the phase 'building'"
    assert not late.is_set()
    count = len(emitted)
    phase.set()
    owner.executor.pool().drain()
    assert late.is_set()
    assert (run.wait() is result, len(emitted)) == (True, count)


def test_the_best_that_was_reported_is_the_answer(owner, phase):
    found = np.array([2, 1, 0])

    def solve(run):
        run.incumbent(9, 5, np.array([0, 1, 2]))
        run.incumbent(7, 5, found)
        run.incumbent(7, 6)
        found[:] = 0
        phase.wait_in()

    result = start_function(owner, solve, time_limit=0.01).wait(PATIENCE)
    assert (result.objective, result.bound, result.reason) == (7, 6, "")
    assert result.solution.tolist() == [2, 1, 0]


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_solver_offers_goes_before_that_unless_it_fails(owner, phase, fails):
    def offered(status):
        return Result(status, [].pop() if fails else 8, 5, np.array([1]), counters={"steps": 3})

    def solve(run):
        run.incumbent(9, 5)
        run.offer(offered)
        phase.wait_in()

    result = start_function(owner, solve, time_limit=0.01).wait(PATIENCE)
    assert (result.status, result.objective) == (Status.TIME_LIMIT, 9 if fails else 8)
    assert ("steps" in result.counters) != fails


def test_a_solver_that_is_left_writes_nothing_and_its_error_is_nobodys(owner, phase, tmp_path):
    def solve(run):
        phase.wait_in()
        run.save_checkpoint({}, {})
        raise ValueError("late")

    run = start_function(owner, solve, time_limit=0.01, run_folder=tmp_path / "run")
    assert run.wait(PATIENCE).status == Status.TIME_LIMIT
    before = sorted(path.name for path in (tmp_path / "run").iterdir())
    phase.set()
    owner.executor.pool().drain()
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == before
    assert run.error is None


def test_an_engine_closes_at_once_and_its_devices_when_the_solver_has_ended(phase):
    owner = engine.Engine()
    pool = owner._open()
    members = list(pool.members)
    run = start_function(owner, phase.wait_in, time_limit=0.01)
    run.wait(PATIENCE)
    owner.close()
    assert pool.members == members  # nothing has been closed yet
    with engine.Engine() as other:
        assert other.solve(Counting(5)).status == "optimal"
    closer = next(thread for thread in threading.enumerate() if thread.name == "quintet-close")
    phase.set()
    closer.join(PATIENCE)
    assert pool.members == []
