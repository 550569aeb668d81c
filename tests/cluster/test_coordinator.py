"""The coordinator with simulated workers that die, freeze and answer twice: every task counts once."""

import time
from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.base.division import ClusterInfo, TaskControl
from engine.benchmarks.cluster.command import simulate
from engine.benchmarks.cluster.simulation import Mishaps, SimulatedTransport
from engine.devices import DevicePool
from engine.errors import AuditError, ClusterError
from engine.execution.dask.coordinator import Coordinator, Timing
from engine.solvers.branch_and_bound.division import DividedSearch, SearchTasks
from engine.solvers.branch_and_bound.options import Options
from tests.support.owner import Owner

TIMING = Timing(first=0.01, longest=0.01, least=0.0, patience=2.0, grace=5.0)


class Tasks:
    """Real tasks of a search on one device, each in real time, on the simulation's clock."""

    def __init__(self, problem, options, pool):
        self._worker = SearchTasks(problem, options, 0, pool)

    def compute(self, worker, work, seconds, shared):
        control = TaskControl(seconds)
        control.shared = shared
        began = time.monotonic()
        answer = self._worker.finish(self._worker.compute(self._worker.prepare(work), control))
        return time.monotonic() - began, answer


def coordinated(problem, options, workers, compute, timing=TIMING, **transport):
    """A coordinator of simulated workers, the run that it works for, and the way to the workers."""
    owner, way = Owner(), SimulatedTransport(workers, compute, **transport)
    parts = DividedSearch(problem, options, owner, ClusterInfo(workers, False))
    return Coordinator(way, owner, parts, timing, clock=way.clock), owner, way


def test_slices_that_are_lost_delayed_or_answered_twice_count_once(cpu, alone):
    problem, options = engine.Queens(13), Options(ivms=16)
    with DevicePool(alone.device_infos) as pool:
        mishaps = Mishaps(killed=0.25, frozen=0.01, twice=0.2, restart=0.02)
        compute = Tasks(problem, options, pool).compute
        coordinator, _, transport = coordinated(problem, options, 5, compute, mishaps=mishaps)
        result = coordinator.solve()
    expected = alone.solve(problem)
    assert (result.objective, result.counters["nodes"]) == (expected.objective, expected.counters["nodes"])
    assert transport.killed + coordinator.statistics.repeated > 0  # how many tasks there are depends on the processor


def test_an_answer_that_does_not_add_up_is_computed_again_and_then_an_error(cpu, alone):
    problem = engine.Queens(8)
    wrong = [0]

    with DevicePool(alone.device_infos) as pool:
        tasks = Tasks(problem, Options(), pool)

        def compute(worker, work, seconds, shared):
            took, answer = tasks.compute(worker, work, seconds, shared)
            if wrong[0]:
                wrong[0] -= 1
                answer["explored"] = (np.array(answer["explored"]) + 1).tolist()
            return took, answer

        for faults, fails in ((1, False), (100, True)):
            wrong[0] = faults
            timing = replace(TIMING, least=1e9)  # no task is asked to end early
            coordinator, owner, _ = coordinated(problem, Options(), 2, compute, timing)
            if fails:
                with pytest.raises(AuditError, match="leaves was answered with"):
                    coordinator.solve()
            else:
                assert coordinator.solve().objective == 92
                assert "computed again" in owner.notices[0]


def test_without_workers_the_run_ends_with_a_checkpoint_after_some_patience(cpu):
    def compute(worker, work, seconds, shared):
        raise AssertionError("no task is finished here")

    mishaps = Mishaps(killed=1.0, restart=1e9)
    coordinator, owner, _ = coordinated(engine.Queens(9), Options(), 1, compute, mishaps=mishaps)
    with pytest.raises(ClusterError, match="no workers"):
        coordinator.solve()
    arrays, _ = owner.saved[-1]
    assert len(arrays["begin"]) >= 1


def test_a_hundred_simulated_workers_are_busy_and_cost_little():
    found = simulate(100, 4, 1000, Mishaps(killed=0.01, frozen=0.001, twice=0.01), seed=1)
    assert found["busy"] > 0.75
    assert found["killed"] > 5
    assert found["repeated"] >= found["killed"]
