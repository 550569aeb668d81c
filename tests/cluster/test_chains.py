import time
import warnings

import numpy as np
import pytest

import engine
from engine.base.division import ClusterInfo, TaskControl
from engine.benchmarks.cluster.simulation import Mishaps, SimulatedTransport
from engine.devices import DevicePool
from engine.execution.dask.coordinator import Coordinator, Timing
from engine.solvers.gibbs.division import DividedSampling, SamplingTasks
from engine.solvers.gibbs.options import Options
from tests.support.owner import Owner

FULL = pytest.mark.full
TIMING = Timing(first=0.05, longest=0.05, least=0.0, patience=5.0)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 9))
    X[:, 3] = rng.random(150) < 0.05  # few informative rows
    y = X[:, 0] - X[:, 1] + rng.normal(size=150) > 0
    return engine.HorseshoeProbit(X, y)


def divided(problem, options, infos):
    owner, tasks = Owner(), {}
    owner.seed = 3
    with DevicePool(infos) as pool:

        def compute(worker, work, seconds, shared):
            if worker not in tasks:
                tasks[worker] = SamplingTasks(problem, options, owner.seed, pool)
            began = time.monotonic()
            answer = tasks[worker].compute(work, TaskControl(min(seconds, 1.0)))
            return time.monotonic() - began, answer

        parts = DividedSampling(problem, options, owner, ClusterInfo(3, False))
        transport = SimulatedTransport(3, compute, mishaps=Mishaps(killed=0.2, twice=0.2, restart=0.05))
        result = Coordinator(transport, owner, parts, TIMING, clock=transport.clock).solve()
        for one in tasks.values():
            one.close()
    return result


@pytest.mark.parametrize(
    "given",
    [
        {"kernel": "px", "draws": 30, "warmup": 0, "chains": 2, "thin": 3},
        pytest.param({"kernel": "gibbs", "draws": 60, "warmup": 70, "chains": 5}, marks=FULL),
        pytest.param({"kernel": "hmc", "draws": 60, "warmup": 110, "chains": 3}, marks=FULL),
        pytest.param({"kernel": "hmc", "warmup": 100, "ess": 60.0, "r_hat": 1.1, "keep_scales": True}, marks=FULL),
        pytest.param({"kernel": "cg", "draws": 30, "warmup": 60, "chains": 3}, marks=FULL),
    ],
    ids=lambda given: given["kernel"],
)
def test_draws_are_those_of_one_machine(problem, alone, given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", engine.ConvergenceWarning)
        expected = alone.solve(problem, seed=3, **given)
    result = divided(problem, Options(**given), alone.device_infos)
    for name in expected.arrays.keys() | result.arrays.keys():
        np.testing.assert_array_equal(result.arrays[name], expected.arrays[name], name)
    assert result.counters["draws"] == expected.counters["draws"]
    if given["kernel"] != "cg":  # whose solutions take as many steps as the slowest chain beside them
        assert result.counters["passes"] == expected.counters["passes"]
