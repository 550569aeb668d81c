import math
import threading
import time
from concurrent.futures import Future, wait
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import engine
from engine.events import Notice
from engine.generators.linprog import GeneratorOptions, generate
from engine.solvers.linprog import solve
from engine.solvers.linprog.highs import child
from engine.solvers.linprog.highs.model import model_of
from engine.solvers.linprog.highs.presolve import HighsHere, Presolve
from engine.solvers.linprog.highs.process import ChildError
from engine.solvers.linprog.highs.threads import start_thread
from engine.solvers.linprog.methods import at_once, interior, start
from engine.solvers.linprog.methods import highs as racer
from engine.solvers.linprog.methods.base import MethodUpdate
from engine.solvers.linprog.methods.highs import HighsMethod
from engine.solvers.linprog.methods.pdhg import PdhgMethod
from engine.solvers.linprog.methods.race import Race
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.validate import method_for
from engine.solvers.linprog.verification.audit import audit
from engine.solvers.linprog.verification.mending import mended
from engine.solvers.linprog.verification.outcome import AuditedPoint
from tests.support.faults import failing
from tests.support.patience import PATIENCE, wait_until
from tests.support.races import children, no_interior_point, settle, solved, sparse_program

pytestmark = pytest.mark.host


@pytest.fixture
def no_head_start(monkeypatch):
    """Let HiGHS work in child processes, and decide nothing before all have begun: small programs are solved before."""
    monkeypatch.setattr(start, "THREAD_NONZEROS", -1)
    monkeypatch.setattr(solve, "FIRST_WAIT", 0.0)
    monkeypatch.setattr(start, "head_start", lambda *_: 0.0)
    monkeypatch.setattr(Race, "poll_updates", lambda self, *futures: (self.poll(), wait(futures, 0.05)))


@pytest.mark.usefixtures("no_head_start")
def test_a_race_ends_with_an_audited_optimum_and_its_winner(owner):
    for seed in range(3):
        problem = sparse_program(seed)
        before = children()
        result = solved(owner, problem)
        assert audit(problem, result.solution, result.arrays["row_duals"]).error <= 1e-6
        assert {"interior point", "HiGHS simplex"} <= set(result.arrays["racers"].tolist())
        assert result.arrays["racer_errors"][0] <= 1e-6
        settle(owner)
        assert children() <= before


@pytest.mark.parametrize("patience", [60.0, 0.0])
def test_devices_are_opened_only_for_what_highs_has_not_solved_meanwhile(monkeypatch, patience):
    monkeypatch.setattr(at_once, "_NONZEROS", -1)
    monkeypatch.setattr(at_once, "_PATIENCE", patience)
    with engine.Engine() as closed:
        result = solved(closed, sparse_program(3), method="auto")
        assert closed.is_open == (patience == 0.0)
    assert (result.backend == "host") == (patience > 0.0)
    assert patience == 0.0 or result.arrays["racer_outcomes"][0] == "won"


@pytest.mark.usefixtures("no_head_start")
def test_a_wrong_claim_of_highs_is_not_believed(owner, monkeypatch):

    class Liar(HighsMethod):
        """HiGHS that calls everything infeasible and returns a point that is not optimal."""

        def collect(self):
            x, y = super().collect().point
            return MethodUpdate(point=(1.1 * x, y), original=True, final=True, farkas=np.ones(y.size), ended=True)

    monkeypatch.setattr(start, "HighsMethod", Liar)
    assert solved(owner, sparse_program(4)).arrays["racers"][0] == "interior point"


@pytest.mark.usefixtures("no_head_start")
def test_a_device_that_fails_in_a_race_leaves_it_to_the_others(device, monkeypatch):
    problem, race = sparse_program(5, 200, 300), solve._Solving._race
    with engine.Engine(devices=[device.info.id]) as owner, failing(device.info.id, at_launch=1) as failures:

        def race_once_it_failed(solving):
            wait_until(lambda: failures[0] > 0)
            race(solving)

        monkeypatch.setattr(solve._Solving, "_race", race_once_it_failed)
        result = solved(owner, problem, presolve=False)
    assert str(result.arrays["racers"][0]).startswith("HiGHS")


@pytest.mark.usefixtures("no_head_start")
def test_without_highs_the_race_goes_on(owner, monkeypatch):
    def missing(*_, **__):
        raise ChildError("no processes today")

    monkeypatch.setattr(racer, "new_child", missing)
    events = []
    solved(owner, sparse_program(6), on_event=events.append)
    assert any(isinstance(event, Notice) and "no processes today" in event.message for event in events)


def test_auto_is_a_race_for_large_sparse_programs_only():
    small, dense = sparse_program(0), engine.LinearProgram(np.ones(3), A_ub=np.ones((2, 3)), b_ub=[1.0, 1.0])
    large = engine.LinearProgram(np.ones(3000), A_ub=sp.eye_array(3000), b_ub=np.ones(3000))
    assert [method_for(problem, Options()) for problem in (small, dense, large)] == ["mpc", "mpc", "race"]
    assert method_for(large, Options(method="pdhg")) == "pdhg"


@pytest.mark.usefixtures("no_head_start")
def test_a_time_limit_ends_highs_at_once(owner, monkeypatch):
    no_interior_point(monkeypatch)
    monkeypatch.setattr(HighsMethod, "_request", lambda self: setattr(self, "future", Future()))
    before, began = children(), time.monotonic()
    monkeypatch.setattr(start, "host_cores", lambda: 1)
    result = owner.solve(sparse_program(8), method="race", time_limit=0.3)
    assert result.status == "time_limit"
    assert time.monotonic() - began < PATIENCE  # the future never comes
    settle(owner)
    assert children() <= before


def test_a_time_limit_returns_where_the_simplex_method_is(owner, monkeypatch):
    no_interior_point(monkeypatch)
    solve_it = child.Presolved.solve

    def until_stopped(self):
        while not self._stopped:
            time.sleep(0.01)
        return solve_it(self)

    monkeypatch.setattr(child.Presolved, "solve", until_stopped)
    monkeypatch.setattr(racer, "_LAST_POINT", 30.0)
    monkeypatch.setattr(start, "host_cores", lambda: 1)
    problem = sparse_program(8)
    result = owner.solve(problem, method="race", time_limit=0.5)
    assert result.status == "time_limit"
    activities = problem.A @ result.solution
    outside = np.maximum(problem.row_lower - activities, activities - problem.row_upper)
    assert outside.max() > 0.0
    assert result.counters["primal_infeasibility"] > 0.0
    assert result.objective == pytest.approx(problem.c @ result.solution)
    settle(owner)


@pytest.mark.few(1)
@pytest.mark.parametrize("alone", [0.0, 60.0])
def test_pdhg_begins_before_an_interior_point_whose_factors_would_take_minutes(owner, monkeypatch, alone):
    """PageRank, which it solves in some hundred iterations; the interior-point method begins where it does not."""
    monkeypatch.setattr(solve, "is_out_of_reach", lambda *_: True)
    monkeypatch.setattr(solve, "_ALONE_SECONDS", alone)
    monkeypatch.setattr(solve, "start_highs_simplex", lambda *_: [])
    monkeypatch.setattr(solve, "start_highs_interior", lambda *_: [])
    problem = generate(GeneratorOptions(type="pagerank", m=3000, n=9000, seed=1))
    racers = solved(owner, problem).arrays["racers"].tolist()
    assert "pdhg" in racers
    assert ("interior point" in racers) == (alone == 0.0)
    assert racers[0] == "pdhg" or not alone


@pytest.mark.parametrize("left", [0.0, math.inf])
def test_pdhg_has_a_gpu_until_the_interior_point_method_is_ready_and_longer_where_it_is_near(owner, monkeypatch, left):
    monkeypatch.setattr(solve, "tries_pdhg", lambda race: not race.is_decided)
    monkeypatch.setattr(solve, "start_highs_simplex", lambda *_: [])
    monkeypatch.setattr(solve, "start_highs_interior", lambda *_: [])
    monkeypatch.setattr(solve, "is_presolved", lambda _: False)
    monkeypatch.setattr(start, "_PART_SOON", 1e6)
    monkeypatch.setattr(PdhgMethod, "seconds_left", left)
    kind = "staircase" if left else "pagerank"  # which PDHG does not solve before the other method begins, and does
    racers = solved(owner, generate(GeneratorOptions(type=kind, m=3000, n=9000, seed=1))).arrays["racers"].tolist()
    assert "pdhg" in racers
    assert ("interior point" in racers) == (left > 0.0)


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
        result = solved(owner, problem, on_event=events.append)
        assert not released.is_set()
    finally:
        released.set()
    assert str(result.arrays["racers"][0]) == "interior point"
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


@pytest.mark.parametrize("kind", ["transport", "multicommodity"])
def test_lost_duals_are_found_again_from_the_values(kind):
    problem = generate(GeneratorOptions(type=kind, m=120, n=400, seed=3))
    found = child.solve(model_of(problem), {"solver": "ipm", "run_crossover": "off", "ipm_optimality_tolerance": 1e-9})
    x, y = found["x"], found["row_duals"]
    y[np.argsort(-np.abs(y))[:40:8]] = 0.0
    lost = AuditedPoint.of(problem, x, y)
    assert lost.audit.error > 1e-3
    assert mended(problem, lost, 1e-6).audit.error <= 1e-6
    assert mended(problem, lost, np.inf) is lost


@pytest.mark.parametrize(("cores", "until"), [(1, 1.0), (2, 0.1), (4, 0.1), (8, 0.0)])
def test_few_cores_are_left_to_highs_and_others_are_not_kept_waiting(monkeypatch, cores, until):
    """Of a program that HiGHS cannot have solved in its first moments."""
    waited, paused, interior = [0.0], [], object.__new__(start.HighsInteriorThread)
    interior._child, interior.here = None, SimpleNamespace(interior_left=math.inf, pause_interior=paused.append)
    member = SimpleNamespace(info=SimpleNamespace(capabilities=SimpleNamespace(shares_host_cores=True)))
    raced = SimpleNamespace(
        pool=SimpleNamespace(members=[member]),
        run=SimpleNamespace(time_left=np.inf),
        problem=SimpleNamespace(nonzeros=start.SOON_NONZEROS + 1),
        methods=[interior],
        is_decided=False,
        run_concurrently=lambda call: call(),
    )
    monkeypatch.setattr(start, "host_cores", lambda: cores)
    monkeypatch.setattr(start, "own_seconds", lambda *_: 1.0)
    monkeypatch.setattr(start, "has_hipo", lambda: False)
    start.leave_cores_to_highs(raced, None, 0.0, waited.append, True)
    assert (max(waited), paused) == (until, [4.0] if cores == 2 else [])
