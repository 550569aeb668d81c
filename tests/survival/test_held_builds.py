import threading

import numpy as np
import pytest

import engine
from engine.base.result import Status
from engine.devices.kernels.program import Program
from engine.errors import DeviceError
from tests.support.patience import PATIENCE

WEIGHTS = np.random.default_rng(3).integers(20, 90, 40)
ROWS = np.random.default_rng(3).uniform(1, 2, (30, 60))
SOLVERS = {
    "knapsack": (engine.Knapsack(WEIGHTS + 7, WEIGHTS, 900), {"reduce": False, "variant": "rows"}, True),
    "flowshop": (engine.Flowshop(np.random.default_rng(3).integers(1, 99, (5, 12))), {}, True),
    "boa": (engine.BOA("trap-5", 60), {"population": 200}, False),
    "linprog": (engine.LinearProgram(-ROWS.max(axis=0), A_ub=ROWS, b_ub=ROWS.sum(axis=1)), {"method": "mpc"}, False),
    "gibbs": (engine.HorseshoeProbit(np.eye(8), np.arange(8) % 2), {}, False),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_no_solver_holds_its_run_while_a_kernel_is_built(device, name, monkeypatch):
    problem, options, has_solution = SOLVERS[name]
    monkeypatch.setattr("engine.runs.run.is_overdue", lambda overdue, cpu, patience: overdue > 0)
    building, released = threading.Event(), threading.Event()

    def build(program, kernel):
        building.set()
        released.wait(PATIENCE)
        raise DeviceError(f"{kernel} is not needed any more")

    monkeypatch.setattr(Program, "kernel", build)
    with engine.Engine(devices=[device.info.id]) as owner:
        run = owner.start(problem, seed=1, **options)
        try:
            assert building.wait(PATIENCE)
            run.stop()
            result = run.outcome(PATIENCE)
        finally:
            released.set()
        with owner.exclusive():  # once the solver has ended
            pass
    assert result.status == Status.INTERRUPTED
    assert (result.solution is not None) == has_solution
    if has_solution:
        problem.check(result)
    else:
        assert result.objective is None
