"""Races are decided by the first answer, whatever the losers do; what they leave behind ends before the next run."""

import dataclasses
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
from engine.solvers.linprog.highs.process import ChildError
from engine.solvers.linprog.highs.threads import start_thread
from engine.solvers.linprog.methods import interior, race, start
from engine.solvers.linprog.methods.base import unchanged
from engine.solvers.linprog.methods.highs import HighsMethod
from engine.solvers.linprog.methods.interior import InteriorMethod
from engine.solvers.linprog.verification.audit import Audit
from tests.support.races import children, no_interior_point, reference, settle, sparse_program

pytestmark = pytest.mark.host


class Blocked:
    """A function that begins, and goes on when the test lets it; ``in_time``: whether it did each time."""

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
    ended, collected = threading.Event(), InteriorMethod.collect

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


def test_a_run_begins_once_the_race_before_has_left_the_devices(owner, monkeypatch):
    blocked, problem = Blocked(interior.iterate), sparse_program(7)
    answer = child.solve(model_of(problem), {"solver": "simplex"})
    with owner.exclusive() as pool:
        free = pool.members[0].allocated_bytes
    with monkeypatch.context() as patched:
        patched.setattr(start, "THREAD_NONZEROS", -1)
        patched.setattr(interior, "iterate", blocked)
        ask = lambda: blocked.begun.wait(30.0) and answer  # noqa: E731
        patched.setattr(HighsMethod, "_request", lambda highs: setattr(highs, "future", start_thread(ask)))
        owner.solve(problem, method="race")
        begun = []
        run = owner.start(problem, method="mpc", on_event=begun.append)
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


def test_our_methods_do_not_wait_for_a_long_presolve(owner, monkeypatch):
    released, events, problem = threading.Event(), [], sparse_program(11, 300, 500)
    presolve = HighsHere._presolve

    def slow(here, *given):
        assert released.wait(30.0)
        return presolve(here, *given)

    monkeypatch.setattr(HighsHere, "_presolve", slow)
    monkeypatch.setattr(start, "host_cores", lambda: 8)
    monkeypatch.setattr(solve, "start_highs_interior", lambda *_: [])
    monkeypatch.setattr(solve, "presolve_patience", lambda *_: 0.1)
    try:
        result = owner.solve(problem, method="race", on_event=events.append)
        assert not released.is_set()
    finally:
        released.set()
    assert result.status == "optimal"
    assert str(result.arrays["racers"][0]) == "interior point"
    assert result.objective == pytest.approx(reference(problem), rel=1e-7)
    assert result.counters["rows"] == problem.m
    assert any(isinstance(event, Notice) and "as given" in event.message for event in events)
    settle(owner)


def test_a_proof_ends_a_race_that_highs_has_given_up(owner, monkeypatch):
    def given_up(here, *_):
        here.presolved.set_exception(ChildError("given up"))
        return {"status": "unknown", "iterations": 7}

    monkeypatch.setattr(HighsHere, "run", given_up)
    no_interior_point(monkeypatch)
    a = np.array([[1.0, 1.0, -1.0], [-2.0, -1.0, 0.5], [1.0, 0.0, 1.0]])
    result = owner.solve(engine.LinearProgram(np.ones(3), A_ub=a, b_ub=[-1.0, 0.5, 0.4]), method="race")
    assert (result.status, result.counters["highs_iterations"]) == ("infeasible", 7)


@pytest.mark.few(1)
@pytest.mark.parametrize(("error", "times"), [(1e-3, 3), (0.9, 1)])
def test_presolve_is_given_up_at_once_where_duals_are_lost(owner, monkeypatch, error, times):
    seen, real = [], race.Race._audited

    def judged(self, one, news):
        found = real(self, one, news)
        if isinstance(one, interior.InteriorMethod) and found.point is not None:
            seen.append(one.restore is not unchanged)
            if len(seen) <= times:
                worse = dataclasses.replace(found.point.audit, dual_infeasibility=error)
                found = dataclasses.replace(found, point=dataclasses.replace(found.point, audit=worse))
        return found

    monkeypatch.setattr(race.Race, "_audited", judged)
    assert owner.solve(sparse_program(12, 300, 500), method="mpc").status == "optimal"
    assert seen == [True] * times + [False]
