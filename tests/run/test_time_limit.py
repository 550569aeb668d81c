"""A run ends at its limit whatever its solver is doing, and what the solver does later changes nothing."""

import threading
from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.base.result import Result, Status
from engine.runs.attempt import GRACE, LONGEST_GRACE, is_overdue
from engine.runs.folder.run_folder import RunFolder
from engine.runs.question import Fresh, Question
from engine.runs.run import Run
from tests.support import counting
from tests.support.counting import Counting
from tests.support.patience import PATIENCE


@pytest.fixture
def phase():
    """What a phase that cannot be interrupted waits for; it ends with the test at the latest."""
    end = threading.Event()
    yield end
    end.set()


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    """Runs that leave a solver as soon as they are overdue."""
    monkeypatch.setattr("engine.runs.run.is_overdue", lambda overdue, cpu, patience: overdue > 0)


def run_in(pool, solve, time_limit=None, **arguments):
    """A started run of a solver made of one function."""

    def call(problem, options, pool, run):
        return solve(run) or Result(Status.OPTIMAL, 1, 1, None)

    solver = replace(counting.SOLVER, solve=call)
    question = Question(Counting(1), solver, counting.Options(), "opencl", time_limit=time_limit)
    return Run(question, pool, Fresh(), **arguments).start()


def waiting(phase):
    """What a solver does that does not notice the end of its run."""
    phase.wait(PATIENCE)


@pytest.fixture
def pool(phase):
    with engine.Engine() as owner:
        yield owner._open()
        phase.set()


def test_a_phase_that_cannot_be_interrupted_does_not_hold_the_run(pool, phase):
    emitted = []
    late = threading.Event()

    def solve(run):
        run.progress("building", 0, 1)
        phase.wait(PATIENCE)
        run.incumbent(3, 4)
        run.notice("too late")
        late.set()

    run = run_in(pool, solve, time_limit=0.01, observers=[emitted.append])
    result = run.wait(PATIENCE)
    assert (result.status, result.objective, result.solution) == (Status.TIME_LIMIT, None, None)
    assert result.reason == "the time limit passed before there was a solution, in the phase 'building'"
    assert not late.is_set()
    count = len(emitted)
    phase.set()
    pool.drain()
    assert late.is_set()
    assert (run.wait() is result, len(emitted)) == (True, count)


def test_the_best_that_was_reported_is_the_answer(pool, phase):
    found = np.array([2, 1, 0])

    def solve(run):
        run.incumbent(9, 5, np.array([0, 1, 2]))
        run.incumbent(7, 5, found)
        run.incumbent(7, 6)
        found[:] = 0
        phase.wait(PATIENCE)

    result = run_in(pool, solve, time_limit=0.01).wait(PATIENCE)
    assert (result.objective, result.bound, result.reason) == (7, 6, "")
    assert result.solution.tolist() == [2, 1, 0]


def test_what_a_solver_offers_goes_before_that(pool, phase):
    def solve(run):
        run.incumbent(9, 5)
        run.offer(lambda status: Result(status, 8, 5, np.array([1]), counters={"steps": 3}))
        phase.wait(PATIENCE)

    result = run_in(pool, solve, time_limit=0.01).wait(PATIENCE)
    assert (result.status, result.objective, result.counters) == (Status.TIME_LIMIT, 8, {"steps": 3})

    def solve_badly(run):
        run.incumbent(9, 5)
        run.offer(lambda status: Result(status, [].pop(), 5, None))
        phase.wait(PATIENCE)

    assert run_in(pool, solve_badly, time_limit=0.01).wait(PATIENCE).objective == 9


def test_a_solver_that_is_left_writes_nothing_and_its_error_is_nobodys(pool, phase, tmp_path):
    folder = RunFolder.create(tmp_path / "run", Counting(1), {"solver": "counting"})
    folder.acquire()

    def solve(run):
        phase.wait(PATIENCE)
        run.save_checkpoint({}, {})
        raise ValueError("late")

    run = run_in(pool, solve, time_limit=0.01, folder=folder)
    assert run.wait(PATIENCE).status == Status.TIME_LIMIT
    before = sorted(path.name for path in (tmp_path / "run").iterdir())
    phase.set()
    pool.drain()
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == before
    assert run.error is None


def test_an_engine_closes_at_once_and_its_devices_when_the_solver_has_ended(phase):
    owner = engine.Engine()
    pool = owner._open()
    members = list(pool.members)
    run = run_in(pool, lambda run: waiting(phase), time_limit=0.01)
    owner._runs.append(run)
    run.wait(PATIENCE)
    owner.close()
    assert pool.members == members  # nothing has been closed yet
    with engine.Engine() as other:
        assert other.solve(Counting(5)).status == "optimal"
    closer = next(thread for thread in threading.enumerate() if thread.name == "quintet-close")
    phase.set()
    closer.join(PATIENCE)
    assert pool.members == []


def test_the_next_run_of_an_engine_begins_when_the_one_before_has_ended(phase):
    with engine.Engine() as owner:
        run_in(owner._open(), lambda run: waiting(phase), time_limit=0.01).wait(PATIENCE)
        following = owner.start(Counting(5), time_limit=PATIENCE)
        assert not following.join(0.05)
        phase.set()
        assert following.wait(PATIENCE).status == "optimal"


def test_a_solver_has_a_moment_of_its_own_cpu_time_to_notice():
    assert not is_overdue(0.5 * GRACE, 2 * GRACE)  # two threads at work
    assert is_overdue(GRACE, GRACE)
    assert not is_overdue(2 * GRACE, 0.5 * GRACE)  # a busy machine
    assert is_overdue(LONGEST_GRACE, 0.0)
    assert not is_overdue(LONGEST_GRACE, LONGEST_GRACE, patience=10 * LONGEST_GRACE)
