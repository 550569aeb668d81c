"""Races are decided by the first answer, whatever the losers do; what they leave behind ends before the next run."""

import dataclasses
import sys
import threading
import time

import numpy as np
import pytest

import engine
from engine.events import Notice
from engine.solvers.linprog import solve
from engine.solvers.linprog.highs import child
from engine.solvers.linprog.highs.model import model_of
from engine.solvers.linprog.highs.presolve import HighsHere, Presolve
from engine.solvers.linprog.highs.process import ChildError, ChildProcess, release_children
from engine.solvers.linprog.highs.threads import start_thread
from engine.solvers.linprog.methods import highs as racer
from engine.solvers.linprog.methods import interior, race, start
from engine.solvers.linprog.methods.base import unchanged
from engine.solvers.linprog.methods.highs import HighsMethod
from engine.solvers.linprog.methods.interior import InteriorMethod
from engine.solvers.linprog.multifrontal.orders import has_metis
from engine.solvers.linprog.verification.audit import Audit
from tests.support.patience import wait_until
from tests.support.races import children, no_interior_point, reference, settle, sparse_program

pytestmark = pytest.mark.host


class Blocked:
    """A function that begins, and goes on only when the test lets it; ``in_time``: whether it did each time."""

    def __init__(self, function):
        self.begun, self.released = threading.Event(), threading.Event()
        self.in_time = []
        self._function = function

    def __call__(self, *given, **named):
        self.begun.set()
        self.in_time.append(self.released.wait(30.0))
        return self._function(*given, **named)


_PLACES = {
    "presolve": (solve, "Presolve"),
    "standard form": (solve, "prepare"),
    "plan": (solve, "open_system"),
    "iteration": (interior, "iterate"),
    "way back": (Presolve, "restore"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("place", _PLACES)
def test_highs_decides_a_race_whatever_the_others_do(owner, monkeypatch, place):
    """HiGHS answers once another racer is busy there, which ends only after the result is there."""
    where, name = _PLACES[place]
    blocked, problem = Blocked(getattr(where, name)), sparse_program(7, 200, 300)
    answer = child.solve(model_of(problem), {"solver": "simplex"})

    def request(highs):
        highs.future = start_thread(lambda: answer if blocked.begun.wait(30.0) else answer | {"x": np.zeros(0)})

    def method(*given, **named):  # a class looks up methods only on functions
        return blocked(*given, **named)

    monkeypatch.setattr(start, "THREAD_NONZEROS", -1)
    monkeypatch.setattr(start, "host_cores", lambda: 8)
    monkeypatch.setattr(HighsMethod, "_request", request)
    monkeypatch.setattr(where, name, method)
    before = children()
    try:
        result = owner.solve(problem, method="race")
    finally:
        blocked.released.set()
    assert result.status == "optimal"
    assert str(result.arrays["racers"][0]).startswith("HiGHS")
    settle(owner)
    assert blocked.in_time
    assert all(blocked.in_time)
    assert children() <= before


def test_a_race_does_not_wait_long_to_better_a_good_point(owner, monkeypatch):
    """HiGHS has no answer; the interior-point method's is good, but never as good as the tolerance."""
    error = Audit.error.fget
    monkeypatch.setattr(Audit, "error", property(lambda audit: max(1e-7, error(audit))))
    ended = threading.Event()

    collected = InteriorMethod.collect

    def collect(method):
        update = collected(method)
        return update if update.point is None else dataclasses.replace(update, final=True, ended=True)

    monkeypatch.setattr(InteriorMethod, "collect", collect)

    def request(highs):
        highs.future = start_thread(lambda: {"status": "not set", "iterations": ended.wait(30.0)})

    monkeypatch.setattr(start, "THREAD_NONZEROS", -1)
    monkeypatch.setattr(start, "host_cores", lambda: 8)
    monkeypatch.setattr(HighsMethod, "_request", request)
    monkeypatch.setattr(HighsMethod, "close", lambda highs: ended.set())
    problem = sparse_program(7)
    began = time.perf_counter()
    result = owner.solve(problem, method="race")
    assert time.perf_counter() - began < 20.0
    assert result.status == "optimal"
    assert result.arrays["racers"][0] == "interior point"
    assert result.objective == pytest.approx(reference(problem), rel=1e-6)
    settle(owner)


def test_a_race_finds_its_child_processes_ready(device, monkeypatch):
    monkeypatch.setattr(start, "host_cores", lambda: 8)
    monkeypatch.setattr(solve, "FIRST_WAIT", -1.0)
    monkeypatch.setattr(racer, "new_child", taken := Blocked(racer.new_child))
    taken.released.set()
    made = []
    begin = ChildProcess.__init__
    monkeypatch.setattr(ChildProcess, "__init__", lambda process: (made.append(process), begin(process))[1])
    release_children()
    before = children()
    with engine.Engine(devices=[device.info.id]) as owner:
        for _ in range(2):
            assert owner.solve(sparse_program(7), method="race").status == "optimal"
            with owner.exclusive():
                wait_until(lambda: len(children() - before) == 2 + has_metis())  # others may be ending
        assert len(taken.in_time) == 4
        for process in made:  # the last ones have not been taken
            process._process.kill()
            process._process.wait()
        assert owner.solve(sparse_program(7), method="race").status == "optimal"
    assert children() <= before


def test_a_run_begins_once_the_race_before_has_left_the_devices(owner, monkeypatch):
    blocked, problem = Blocked(interior.iterate), sparse_program(7)
    answer = child.solve(model_of(problem), {"solver": "simplex"})
    with owner.exclusive() as pool:
        free = pool.members[0].allocated_bytes
    with monkeypatch.context() as patched:
        patched.setattr(start, "THREAD_NONZEROS", -1)
        patched.setattr(interior, "iterate", blocked)
        patched.setattr(
            HighsMethod,
            "_request",
            lambda highs: setattr(highs, "future", start_thread(lambda: blocked.begun.wait(30.0) and answer)),
        )
        owner.solve(problem, method="race")
        begun = []
        run = owner.start(problem, method="mpc", on_event=lambda event: begun.append(event.time))
        assert not run.join(0.2)
        assert begun == []
        blocked.released.set()
    assert run.wait().status == "optimal"
    settle(owner)
    assert pool.members[0].allocated_bytes == free
    assert blocked.in_time == [True]


def test_a_point_of_highs_that_is_being_audited_when_the_time_is_over_is_kept(owner, monkeypatch):
    no_interior_point(monkeypatch)
    audited, stopping = race.AuditedPoint.of, threading.Event()

    def late(*given):
        stopping.wait(30.0)
        return audited(*given)

    monkeypatch.setattr(race, "_LAST_AUDITS", 30.0)
    monkeypatch.setattr(race.AuditedPoint, "of", late)
    last = race.Race.take_last_outcomes
    monkeypatch.setattr(race.Race, "take_last_outcomes", lambda self: (stopping.set(), last(self)))
    problem = sparse_program(8)
    result = owner.solve(problem, method="race", time_limit=0.5)
    assert stopping.is_set()
    assert result.status == "optimal"
    assert result.objective == pytest.approx(reference(problem), rel=1e-6)


def test_threads_change_promptly_during_a_race(owner, monkeypatch):
    """An audit beside a thread that computes waits for it whenever it has given the interpreter's lock away."""
    intervals = []
    judged = race.Race._audited
    monkeypatch.setattr(
        race.Race, "_audited", lambda *given: (intervals.append(sys.getswitchinterval()), judged(*given))[1]
    )
    before = sys.getswitchinterval()
    assert owner.solve(sparse_program(7), method="race").status == "optimal"
    assert owner.solve(sparse_program(7), method="mpc").status == "optimal"
    assert intervals[0] <= min(before, 2e-4)
    assert intervals[-1] == sys.getswitchinterval() == before


def test_our_methods_do_not_wait_for_a_long_presolve(owner, monkeypatch):
    released, messages, problem = threading.Event(), [], sparse_program(11, 300, 500)
    presolve = HighsHere._presolve

    def slow(here, *given):
        assert released.wait(30.0)
        return presolve(here, *given)

    monkeypatch.setattr(HighsHere, "_presolve", slow)
    monkeypatch.setattr(start, "host_cores", lambda: 8)
    monkeypatch.setattr(solve, "start_highs_interior", lambda *_: [])
    monkeypatch.setattr(solve, "presolve_patience", lambda *_: 0.1)
    try:
        result = owner.solve(
            problem, method="race", on_event=lambda e: messages.append(e.message) if isinstance(e, Notice) else None
        )
        assert not released.is_set()
    finally:
        released.set()
    assert result.status == "optimal"
    assert str(result.arrays["racers"][0]) == "interior point"
    assert result.objective == pytest.approx(reference(problem), rel=1e-7)
    assert result.counters["rows"] == problem.m
    assert any("as given" in message for message in messages)
    settle(owner)


def judged_worse(monkeypatch, errors):
    """The first points of the interior-point method have these errors; iteration of all judged, and if presolved."""
    seen = []
    real = race.Race._audited

    def judged(self, one, news):
        found = real(self, one, news)
        if isinstance(one, interior.InteriorMethod) and found.point is not None:
            seen.append((one.method.state.iteration, one.restore is not unchanged))
            if errors:
                worse = dataclasses.replace(found.point.audit, dual_infeasibility=errors.pop(0))
                found = dataclasses.replace(found, point=dataclasses.replace(found.point, audit=worse))
        return found

    monkeypatch.setattr(race.Race, "_audited", judged)
    return seen


def test_a_proof_ends_a_race_that_highs_has_given_up(owner, monkeypatch):
    def given_up(here, *_):
        here.presolved.set_exception(ChildError("given up"))
        return {"status": "unknown", "iterations": 7}

    monkeypatch.setattr(HighsHere, "run", given_up)
    no_interior_point(monkeypatch)
    a = np.array([[1.0, 1.0, -1.0], [-2.0, -1.0, 0.5], [1.0, 0.0, 1.0]])
    result = owner.solve(engine.LinearProgram(np.ones(3), A_ub=a, b_ub=[-1.0, 0.5, 0.4]), method="race")
    assert (result.status, result.counters["highs_iterations"]) == ("infeasible", 7)


def test_a_refused_point_is_not_offered_again(owner, monkeypatch):
    seen = judged_worse(monkeypatch, [1e-3, 1e-3])
    result = owner.solve(sparse_program(12, 300, 500), method="mpc", presolve=False)
    assert result.status == "optimal"
    assert len(seen) == 3
    assert seen[0][0] < seen[1][0] < seen[2][0]


@pytest.mark.few(1)
@pytest.mark.parametrize(("error", "times"), [(1e-3, 3), (0.9, 1)])
def test_presolve_is_given_up_at_once_where_duals_are_lost(owner, monkeypatch, error, times):
    seen = judged_worse(monkeypatch, [error] * times)
    result = owner.solve(sparse_program(12, 300, 500), method="mpc")
    assert result.status == "optimal"
    assert [presolved for _, presolved in seen] == [True] * times + [False]
