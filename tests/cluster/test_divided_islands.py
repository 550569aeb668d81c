import time

import numpy as np
import pytest

import engine
from engine.base.division import ClusterInfo, TaskControl
from engine.benchmarks.cluster.simulation import Mishaps, SimulatedTransport
from engine.devices import DevicePool
from engine.execution.dask.coordinator import Timing
from engine.execution.dask.rounds import RoundCaller
from engine.solvers.boa.division import IslandTasks, solve_divided
from engine.solvers.boa.options import Options
from tests.support.owner import Owner

TIMING = Timing(first=0.05, longest=0.05, least=1e9, patience=5.0)


def divided(problem, options, infos, owner):
    tasks = {}
    with DevicePool(infos) as pool:

        def compute(worker, work, seconds, shared):
            if worker not in tasks:
                tasks[worker] = IslandTasks(problem, options, 0, pool)
            began = time.monotonic()
            answer = tasks[worker].compute(work, TaskControl(seconds))
            return time.monotonic() - began, answer

        transport = SimulatedTransport(3, compute, mishaps=Mishaps(killed=0.6, twice=0.2, restart=0.02))
        rounds = RoundCaller(transport, owner, TIMING, clock=transport.clock)
        result = solve_divided(problem, options, owner, ClusterInfo(3, False), rounds)
        for one in tasks.values():
            one.close()
    return result, transport


@pytest.mark.parametrize(
    "given",
    [
        {"islands": 3, "population": 64, "migration_interval": 2, "local_search": "none"},
        pytest.param({"islands": 4, "population": 48, "migration_interval": 5}, marks=pytest.mark.full),
    ],
)
def test_islands_have_the_trajectory_of_one_machine(cpu, alone, given):
    problem = engine.BOA("trap-5", 40)
    expected = alone.solve(problem, seed=4, max_generations=25, **given)
    owner = Owner()
    owner.seed = 4
    result, transport = divided(problem, Options(max_generations=25, **given), alone.device_infos, owner)
    assert (result.status, result.objective) == (expected.status, expected.objective)
    for name in ("history", "population", "order", "edges"):
        assert np.array_equal(result.arrays[name], expected.arrays[name]), name
    assert result.counters == expected.counters
    assert transport.killed > 0
