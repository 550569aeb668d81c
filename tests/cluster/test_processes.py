"""Worker processes: the answers of one machine, with workers that come, go, freeze and are killed."""

import contextlib
import os
import random
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.base.result import Status
from engine.errors import ClusterWarning, InputError
from engine.events import Metric, Notice
from engine.execution.dask.coordinator import Timing
from engine.execution.dask.executor import Dask
from tests.support.patience import PATIENCE, wait_until

QUICK = Timing(first=0.2, longest=0.5, least=0.1, patience=10.0, backup=4.0, grace=10.0)
"""Short tasks, and a frozen worker is noticed soon."""

LASTING = replace(QUICK, patience=PATIENCE, grace=PATIENCE)
"""Short tasks, and new workers may take long to start."""


def pids(owner):
    return owner.executor.connect().client.run(os.getpid, on_error="ignore")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("problem", "options", "objective", "reason"),
    [
        (engine.Knapsack([60, 100, 120], [10, 20, 30], 50), {"variant": "rows"}, 220, "a run of knapsack cannot"),
        (engine.LinearProgram([-1, -1], A_ub=[[1, 2]], b_ub=[4]), {}, -4, "a run of linprog cannot be divided"),
        (engine.BOA("onemax", 12), {"seed": 3}, 12, "one population is not divided"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, engine.base.problem.Problem) else "",
)
def test_what_is_not_divided_is_solved_whole_by_one_worker(clustered, problem, options, objective, reason):
    seen = []
    with pytest.warns(ClusterWarning, match=f"one worker of the cluster has the whole run.*{reason}"):
        result = clustered.solve(problem, on_event=seen.append, **options)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(objective)
    assert result.devices in (("worker-0",), ("worker-1",))
    assert result.warnings[0].kind == "ClusterWarning"
    assert any(isinstance(event, Notice) and reason in event.message for event in seen)


def test_a_stopped_run_resumes_on_one_machine_and_on_the_cluster(clustered, alone, tmp_path):
    expected = alone.solve(engine.Queens(13))
    folder = tmp_path / "run"
    seen = []
    run = clustered.start(engine.Queens(13), run_folder=folder, on_event=seen.append)
    wait_until(lambda: run.join(0) or any(isinstance(event, Metric) for event in list(seen)))
    run.stop()
    stopped = run.wait()
    assert stopped.status is Status.INTERRUPTED or stopped.objective == 73_712
    assert not clustered.executor.connect().workers[0].fault
    finished = alone.resume(folder).wait()
    assert finished.objective == 73_712
    assert finished.counters["nodes"] == expected.counters["nodes"]

    again = tmp_path / "again"
    limited = alone.solve(engine.Queens(13), run_folder=again, time_limit=0.15)
    result = clustered.resume(again).wait()
    assert limited.status in (Status.TIME_LIMIT, Status.COMPLETE)
    assert result.objective == 73_712
    assert result.counters["nodes"] == expected.counters["nodes"]


@contextlib.contextmanager
def killing(owner, kills, seed, between):
    killed = []
    over = threading.Event()
    chance = random.Random(seed)

    def work():
        while len(killed) < kills and not over.wait(chance.uniform(0.2, 2.0) * between):
            with contextlib.suppress(Exception):  # of the connection to a worker that has just ended
                there = sorted(set(pids(owner).values()) - set(killed))
                if there:
                    killed.append(chance.choice(there))
                    os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join(PATIENCE)


def test_workers_that_are_killed_change_nothing(cpu, alone):
    expected = {n: alone.solve(engine.Queens(n)) for n in (12, 13)}
    kills = 3  # python -m tools.soak.cluster has more
    with (
        engine.Engine(executor=Dask("local:3", "opencl", [cpu], timing=LASTING)) as owner,
        killing(owner, kills, 1, 1.0) as killed,
    ):
        while True:
            before = len(killed)
            for n, wanted in expected.items():
                result = owner.solve(engine.Queens(n))
                assert result.objective == wanted.objective
                assert result.counters["nodes"] == wanted.counters["nodes"]
            if before == kills:
                break


def test_map_has_the_results_of_one_machine_in_order(clustered, alone):
    rng = np.random.default_rng(2)
    problems = []
    for _ in range(30):
        weights = rng.integers(1, 100, 20)
        problems.append(engine.Knapsack(weights + rng.integers(1, 30, 20), weights, int(weights.sum() // 2)))
    problems.insert(7, "nowhere.txt")
    problems.append(engine.LinearProgram([-1, -1], A_ub=[[1, 2]], b_ub=[4]))
    expected, found = alone.map(problems), clustered.map(problems)
    assert [entry.objective for entry in found.results] == [entry.objective for entry in expected.results]
    assert list(found.failures) == [7]
    assert isinstance(found.failures[7].error, InputError)
