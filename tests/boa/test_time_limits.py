"""A run that is to end launches little more, in whatever phase it is; counted in launches, not in seconds."""

import numpy as np
import pytest

import engine
from engine.runs.run import Run
from engine.solvers.boa.device import parts as parts_module
from engine.solvers.boa.device.parts import Parts
from tests.support.engines import engine_of


def random_formula(n, clauses):
    random = np.random.default_rng(n)
    literals = [random.choice(n, 3, replace=False) + 1 for _ in range(clauses)]
    return engine.MaxSAT([(three * random.choice([-1, 1], 3)).tolist() for three in literals], n=n)


CASES = {
    "trap": (engine.BOA("trap-5", 200), {"local_search": "none", "population": 2000}),
    "formula": (random_formula(150, 900), {"population": 500, "flips": 20}),
    "hierarchy": (engine.BOA("hiff", 64), {"population": 1000}),
}


@pytest.mark.full
@pytest.mark.parametrize("in_parts", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_little_is_launched_after_a_time_limit(device, monkeypatch, case, in_parts):
    problem, options = CASES[case]
    steps = 64 if in_parts else 2**62  # everything is work in parts, or nothing
    monkeypatch.setattr(parts_module, "_AT_ONCE", {True: steps, False: steps})
    asked, allowed = 0, 0
    launch = Parts.launch

    def counted(parts, function, first, last):
        def one(begin, end):
            nonlocal asked
            asked += 1
            function(begin, end)

        return launch(parts, one, first, last)

    monkeypatch.setattr(Parts, "launch", counted)
    monkeypatch.setattr(Run, "time_left", property(lambda run: float("inf") if asked < allowed else -1.0))
    running = engine_of(device)
    for allowed in (1, 3, 8, 20, 40):
        asked = 0
        result = running.solve(problem, target=1e6, **options)
        solved = result.objective == result.bound  # launches that do everything may get so far
        assert result.status is (engine.Status.OPTIMAL if solved else engine.Status.TIME_LIMIT)
        assert asked <= allowed + 3  # the last of a phase, and phases that have but one
        assert result.objective == problem.evaluate(result.solution[None])[0]
        assert result.counters["evaluations"] > 0


def test_parts_do_not_change_the_result(device, monkeypatch):
    for problem, options in CASES.values():
        whole = engine_of(device).solve(problem, target=1e6, seed=3, max_generations=4, restarts=1, **options)
        with monkeypatch.context() as patch:
            patch.setattr(parts_module, "_AT_ONCE", {True: 64, False: 64})
            parted = engine_of(device).solve(problem, target=1e6, seed=3, max_generations=4, restarts=1, **options)
        assert np.array_equal(whole.arrays["history"], parted.arrays["history"])
        assert np.array_equal(whole.arrays["edges"], parted.arrays["edges"])
