"""Seconds of phases: what builds kernels is apart."""

from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np

import engine
from engine.solvers.linprog import solve
from engine.solvers.linprog.interior import loading
from engine.solvers.linprog.methods import start
from engine.solvers.linprog.methods.highs import HighsMethod
from tests.support.races import sparse_program


def test_a_first_solve_has_its_kernels_apart(device):
    random = np.random.default_rng(0)
    a = random.random((20, 40))
    program = engine.LinearProgram(-random.random(40), A_ub=a, b_ub=a.sum(axis=1))
    with engine.Engine(devices=[device.info.id]) as owner:
        first, second = (owner.solve(program, method="mpc").counters for _ in range(2))
    assert first["seconds_kernels"] > 0.0 == second["seconds_kernels"]
    assert second["seconds_products"] > 0.0


def test_the_head_start_of_highs_is_no_preparation(device, monkeypatch):
    now = [100.0]

    def takes(seconds, function):
        def slow(*given, **named):
            now[0] += seconds
            return function(*given, **named)

        return slow

    monkeypatch.setattr(start, "THREAD_NONZEROS", -1)
    monkeypatch.setattr(HighsMethod, "_request", lambda self: setattr(self, "future", Future()))
    monkeypatch.setattr(solve, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(solve._Solving, "_await_highs", takes(50.0, lambda *_: None))
    monkeypatch.setattr(solve, "Presolve", takes(2.0, solve.Presolve))
    monkeypatch.setattr(solve, "prepare", takes(1.0, solve.prepare))
    with engine.Engine(devices=[device.info.id]) as owner:
        result = owner.solve(sparse_program(7), method="race")
    assert result.arrays["racers"][0] in ("interior point", "pdhg")
    assert result.counters["seconds_prepare"] == 3.0


def test_what_is_built_in_a_phase_and_its_first_launch_are_not_that_phase(monkeypatch):
    now = [100.0]
    device = SimpleNamespace(building=SimpleNamespace(compiling=5.0), sync=lambda: None)

    def takes(seconds):
        now[0] += seconds

    def build():
        takes(2.0)
        device.building.compiling += 2.0
        return lambda: takes(0.5)

    monkeypatch.setattr(loading.time, "perf_counter", lambda: now[0])
    phases, launches = loading.PhaseSeconds(("products", "form"), [device]), loading.Launches(device)
    launches.run("outside of any phase", build)
    with phases.phase("products"):
        takes(1.0)
        launches.run("first", build)
    with phases.phase("form"):
        launches.run("first", build)
        launches.run("other", lambda: lambda: takes(0.25))
    assert phases.seconds == {"products": 1.0, "form": 0.75, "kernels": 5.0}
