"""Small programs: HiGHS's simplex method solves them before a device, a thread or a process is started for them."""

import itertools
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import engine
from engine.errors import DeviceNotFound, OptionError
from engine.solvers.linprog.highs import child
from engine.solvers.linprog.highs.presolve import simplex_here
from tests.support.needs import package

pytestmark = pytest.mark.host

SMALL = {"c": [-1.0, 4.0], "A_ub": [[-3.0, 1.0], [1.0, 2.0]], "b_ub": [6.0, 4.0]}
FREE = [(None, None), (-3.0, None)]


def random_program(m, n, seed):
    random = np.random.default_rng(seed)
    return {"c": random.random(n), "A_ub": -random.random((m, n)), "b_ub": -1.0 - random.random(m)}


def test_nothing_is_started_for_a_small_program():
    script = f"""
import sys, threading, engine
given = {SMALL!r}
assert engine.linprog(**given, bounds={FREE!r}).fun == -22.0
result = engine.solve(engine.LinearProgram(**given, bounds={FREE!r}))
assert (result.backend, result.devices) == ("host", ()), result
assert result.arrays["racers"].tolist() == ["HiGHS simplex"]
assert result.counters["highs_iterations"] >= 0 and result.counters["relative_gap"] < 1e-9
assert threading.enumerate() == [threading.main_thread()]
assert not {{"pyopencl", "pycuda", "multiprocessing.popen_spawn_posix"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_device_that_is_named_is_opened_and_the_result_says_what_solved_the_program(device):
    events = []
    result = engine.solve(engine.LinearProgram(**SMALL, bounds=FREE), devices=[device.info.id], on_event=events.append)
    assert result.devices == (device.info.id,)
    assert result.arrays["racers"].tolist() == ["HiGHS simplex"]
    assert any("HiGHS's simplex method has solved the program" in getattr(event, "message", "") for event in events)
    with pytest.raises(DeviceNotFound):
        engine.linprog(**SMALL, devices=["opencl:77"])


@pytest.mark.parametrize("sparse", [False, True])
def test_answers_of_the_host_one_after_the_other_are_those_of_scipy_and_proved(sparse):
    """One HiGHS instance solves them all, with and without a basis."""
    random, seen = np.random.default_rng(7), set()
    for number in range(24):
        m, n = random.integers(1, 8, 2)
        c, A, b = random.normal(size=n), random.normal(size=(m, n)), random.normal(size=m)
        expected = scipy.optimize.linprog(c, A, b)
        problem = engine.LinearProgram(c, A_ub=sp.csr_array(A) if sparse else A, b_ub=b)
        result = engine.solve(problem, basis=bool(number % 2))
        seen.add(str(result.status))
        assert result.backend == "host"
        assert str(result.status) == {0: "optimal", 2: "infeasible", 3: "unbounded"}[expected.status]
        if expected.status == 0:
            assert (result.objective, result.bound) == pytest.approx((expected.fun, expected.fun), abs=1e-9)
            assert np.allclose(result.arrays["row_duals"], expected.ineqlin.marginals, atol=1e-7)
        found = engine.verify(result, problem)
        assert found.verified, found
        assert not found.refuted, found
    assert len(seen) == 3


def test_time_in_which_the_thread_waits_for_a_processor_does_not_count(monkeypatch):
    looks = itertools.count()

    def kept_waiting(options):
        highs = child.quiet(**options)
        highs.cbSimplexInterrupt += lambda event: time.sleep(0.2 if next(looks) == 0 else 0.0)
        return highs

    monkeypatch.setattr(child, "_kept_highs", kept_waiting)
    given = random_program(40, 60, 3)
    result = engine.solve(engine.LinearProgram(**given))
    assert (result.backend, result.devices) == ("host", ())
    assert result.objective == pytest.approx(scipy.optimize.linprog(**given).fun, rel=1e-9)
    looks = itertools.count()
    limited = simplex_here(engine.LinearProgram(**given), {"time_limit": 0.05}, None, None, None, time_left=0.1)
    assert limited["status"] == "time limit reached"


def test_what_highs_gets_wrong_is_left_to_the_other_methods(monkeypatch):
    simplex = child.simplex
    monkeypatch.setattr(child, "simplex", lambda *given: (found := simplex(*given)) | {"x": found["x"] + 1e-3})
    result = engine.solve(engine.LinearProgram(**SMALL, bounds=FREE))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(-22.0, rel=1e-7)
    assert result.devices


def test_a_similar_program_begins_with_the_basis_of_the_last_one():
    given = random_program(40, 60, 3)
    first = engine.solve(engine.LinearProgram(**given), basis=True)
    basis = (*first.arrays["column_status"].tolist(), *first.arrays["row_status"].tolist())
    given["b_ub"] = given["b_ub"] * 1.001
    changed = engine.LinearProgram(**given)
    anew, warm = engine.solve(changed, presolve=False), engine.solve(changed, initial_basis=basis)
    assert warm.objective == pytest.approx(scipy.optimize.linprog(**given).fun, rel=1e-9)
    assert warm.counters["highs_iterations"] < anew.counters["highs_iterations"]
    nonsense = [0] * len(basis)  # no entry is basic: HiGHS mends it
    assert engine.solve(changed, initial_basis=nonsense).objective == pytest.approx(warm.objective, rel=1e-9)
    for wrong in (basis[1:], (9, *basis[1:])):
        with pytest.raises(OptionError, match="initial_basis must be 100 numbers from 0 to 4"):
            engine.solve(changed, initial_basis=wrong)


def test_cvxpy_begins_with_the_last_basis_of_a_problem(monkeypatch):
    cp = package("cvxpy")
    results = []
    solve = engine.Engine.solve
    monkeypatch.setattr(
        engine.Engine, "solve", lambda self, *a, **o: results.append(solve(self, *a, **o)) or results[-1]
    )
    given = random_program(30, 40, 5)
    x, side = cp.Variable(40, nonneg=True), cp.Parameter(30)
    model = cp.Problem(cp.Minimize(given["c"] @ x), [given["A_ub"] @ x <= side])
    iterations = []
    for factor, warm in ((1.0, True), (1.001, True), (1.002, False)):
        side.value = factor * given["b_ub"]
        found = model.solve(solver=engine.QUINTET, warm_start=warm)
        assert found == pytest.approx(factor * scipy.optimize.linprog(**given).fun, rel=1e-9)
        iterations.append(results[-1].counters["highs_iterations"])
    assert iterations[1] < min(iterations[0], iterations[2])
    assert {result.backend for result in results} == {"host"}
