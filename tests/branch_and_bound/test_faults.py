"""Devices that fail, are slow or are late in the middle of a search, and checkpoints that are wrong."""

import dataclasses
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import engine
from engine.errors import AuditError, DeviceError, OutOfDeviceMemory, RunFolderError
from engine.events import Metric, Notice
from engine.solvers.branch_and_bound.checkpoint import Incumbent, Progress, audit, restore, save
from engine.solvers.branch_and_bound.intervals import Units, cut
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.search import coordinator
from engine.solvers.branch_and_bound.search.members import Store, WorkerState
from engine.solvers.branch_and_bound.search.sharing import Sharing
from engine.solvers.branch_and_bound.search.worker import SearchWorker
from tests.support.faults import failing
from tests.support.patience import PATIENCE
from tests.support.searching import as_gpu

QUEENS_14 = (365596, 13496479)


@pytest.mark.few(1)
@pytest.mark.parametrize("at_launch", [1, 20, 60])
def test_the_other_devices_finish_the_search_of_one_that_fails(device, at_launch):
    events = []
    name = device.info.id
    with failing(f"{name}#2", at_launch=at_launch) as failures:
        result = engine.solve(engine.Queens(14), devices=[name] * 3, on_event=events.append, ivms=32)
    assert failures[0]
    assert (result.status, result.objective, result.counters["nodes"]) == ("complete", *QUEENS_14)
    notices = [event.message for event in events if isinstance(event, Notice)]
    assert any(message.startswith(f"{name}#2 has failed and is left out") for message in notices)


@pytest.mark.full
def test_a_restore_point_saves_what_was_done_before_a_failure(device, monkeypatch):
    monkeypatch.setattr(coordinator, "_BETWEEN_RESTORE_POINTS", 0.002)
    restored = []
    original = coordinator.Coordinator._restore

    def noted(self):
        original(self)
        restored.append(self.counters["nodes"])

    monkeypatch.setattr(coordinator.Coordinator, "_restore", noted)
    name = device.info.id
    with failing(f"{name}#2", at_launch=600):
        result = engine.solve(engine.Flowshop.taillard(30), devices=[name] * 2, ivms=32, upper_bound=2178)
    (nodes,) = restored
    assert 0 < nodes < 2_415_747
    assert result.counters["nodes"] == 2_415_747


def test_a_search_whose_only_device_fails_keeps_a_checkpoint(device, tmp_path):
    options = {"upper_bound": 2178, "ivms": 32, "checkpoint_interval": 0.02}
    name = device.info.id
    with failing(name, at_launch=100) as failures, pytest.raises(DeviceError, match="fallen off the bus"):
        engine.solve(engine.Flowshop.taillard(30), devices=[name], run_folder=tmp_path / "run", **options)
    assert failures[0]
    resumed = engine.resume(tmp_path / "run", devices=[name])
    assert (resumed.status, resumed.counters["nodes"], resumed.counters["leaves"]) == ("bound_proved", 2_415_747, 32)


def test_a_search_too_large_for_its_device_is_refused_before_it_begins(device, tmp_path):
    problem = engine.Flowshop(np.ones((20, 64), np.int64))
    with pytest.raises(OutOfDeviceMemory, match="set ivms to fewer"):
        engine.solve(problem, devices=[device.info.id] * 200, initial="neh", ivms=1 << 20, run_folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("visited", "improved", "devices"),
    [(11, True, 2), (11, False, 2), (11, True, 1), (11, False, 1), (9, False, 1), (9, False, 2)],
)
def test_nodes_lost_or_visited_twice_are_an_error(visited, improved, devices):
    """But a device may visit what another pruned by a solution that it had not heard of."""
    tree, whole = problem().tree(), cut(6, 0)
    explored = (whole.end.astype(np.int64) - whole.begin).sum(axis=0)
    counters = {"nodes": visited - 2, "leaves": 2, "pushed": 9}
    fine = improved and devices > 1
    with nullcontext() if fine else pytest.raises(AuditError, match=f"{visited} nodes and leaves were visited"):
        audit(tree, explored, Units.none(6), counters, improved, devices, stopped=False)


def problem():
    return engine.Flowshop(np.random.default_rng(3).integers(1, 99, (4, 6)))


def good():
    """A checkpoint of a search that has explored the first two subtrees of six."""
    tree = problem().tree()
    units = cut(6, 1)
    explored = (units.end[:2].astype(np.int64) - units.begin[:2]).sum(axis=0)
    order = np.arange(6)
    value = tree.evaluate(order)
    counters = {"nodes": 3, "leaves": 0, "pushed": 4, "solutions": 0, "steals": 0, "exchanged": 0}
    progress = Progress(units[2:], explored, counters, tree.lower_bound())
    return save(progress, Incumbent(tree, value + 5, value, order, improved=True))


def _swap(arrays):
    arrays["begin"][0], arrays["end"][0] = arrays["end"][0].copy(), arrays["begin"][0].copy()


def _repeat(arrays):
    for name in ("begin", "end", "fresh"):
        arrays[name] = np.concatenate([arrays[name][:1], arrays[name][:-1]])


ARRAYS = {
    "empty intervals": (_swap, "an interval is empty"),
    "the same twice": (_repeat, "two intervals overlap"),
    "one lost": (
        lambda a: [a.update({n: a[n][1:]}) for n in ("begin", "end", "fresh")],
        "covers 600 of the tree's 720",
    ),
    "a digit": (lambda a: a["begin"].__setitem__((0, 5), 1), "a digit of an interval is out of range"),
    "behind the end": (lambda a: a["end"].__setitem__((3, 1), 1), "ends behind the last leaf"),
    "explored twice": (lambda a: a["explored"].__setitem__(0, 3), "covers 840 of the tree's 720 leaves"),
    "level": (lambda a: a["fresh"].__setitem__(0, 9), "a level of an interval is out of range"),
    "solution": (lambda a: a.update(solution=a["solution"][::-1].copy()), "does not have the value"),
    "no permutation": (lambda a: a["solution"].__setitem__(0, 3), "does not have the value"),
    "missing": (lambda a: a.pop("fresh"), "'fresh' is missing"),
}


@pytest.mark.parametrize("fault", ARRAYS)
def test_a_checkpoint_with_a_wrong_array_is_refused(fault):
    arrays, state = good()
    arrays = {name: array.copy() for name, array in arrays.items()}
    change, message = ARRAYS[fault]
    change(arrays)
    with pytest.raises(RunFolderError, match=message):
        restore(problem().tree(), arrays, state)


STATES = [
    ({"value": 1}, "contradict|does not have"),
    ({"bound": 10**6}, "contradict each other"),
    ({"counters": {"nodes": -4}}, "counters"),
    ({"has_solution": False}, "does not belong"),
]


@pytest.mark.parametrize(("change", "message"), STATES)
def test_a_checkpoint_with_a_wrong_state_or_of_another_size_is_refused(change, message):
    arrays, state = good()
    with pytest.raises(RunFolderError, match=message):
        restore(problem().tree(), arrays, {**state, **change})
    with pytest.raises(RunFolderError, match="not one of a problem with 7 items"):
        restore(engine.Flowshop(np.ones((3, 7), np.int64)).tree(), arrays, state)


def is_slow(worker):
    return worker.member.label.endswith("#2")


@pytest.mark.parametrize(("nodes_per_second", "is_dropped"), [(1.9e7, True), (2.1e7, False)])
def test_a_slow_device_is_judged_once_both_speeds_are_known(nodes_per_second, is_dropped):
    def described(on_host):
        return SimpleNamespace(info=SimpleNamespace(capabilities=SimpleNamespace(shares_host_cores=on_host)))

    gpu, cpu = (WorkerState(described(on_host), 12) for on_host in (False, True))
    gpu.ivms = cpu.ivms = 64
    gpu.active, cpu.active, cpu.full_rate, gpu.full_rate = 64, 64, nodes_per_second, 1e9
    sharing = Sharing([gpu, cpu], Store(cut(12, 1), 0), Options(), seed=0)
    for cpu.full_turns, gpu.full_turns in ((19, 5), (20, 0)):
        sharing.assess(cpu)
        assert not cpu.dropped
    gpu.full_turns = 1
    sharing.assess(cpu)
    sharing.assess(gpu)
    assert (cpu.dropped, gpu.dropped) == (is_dropped, False)
    assert sharing.may_take(cpu) is not is_dropped
    sharing.recall(cpu)
    cpu.begin(snapshot=False, now=0.0)
    assert sharing.returns_all(cpu) is is_dropped
    assert (gpu in cpu.served) is is_dropped


def test_a_short_search_is_over_before_a_slow_device_joins(device, monkeypatch):
    monkeypatch.setattr(WorkerState, "on_host_cores", property(is_slow))
    monkeypatch.setattr(coordinator, "HEAD_START", 300.0)
    events = []
    with engine.Engine(devices=[device.info.id] * 2) as running:
        for rows, solutions, nodes in ((11, 2680, 89878), (12, 14200, 420995)):
            result = running.start(engine.Queens(rows), on_event=events.append).wait(PATIENCE)
            assert (result.objective, result.counters["nodes"]) == (solutions, nodes)
    devices = {event.device for event in events if isinstance(event, Metric) and event.name == "active_ivms"}
    assert devices == {device.info.id}


@pytest.mark.cpu  # which stands for both
@pytest.mark.parametrize("sharing", ["symmetric", "farmer"])
def test_kernels_for_gpus_and_for_cpus_share_a_search(device, monkeypatch, sharing):
    gpu = dataclasses.replace(device.info, capabilities=as_gpu(device))
    monkeypatch.setattr("engine.runs.executor.select", lambda *_: [gpu, device.info])
    monkeypatch.setattr(coordinator, "HEAD_START", 0.0)
    with engine.Engine() as running:
        counted = running.start(engine.Queens(12), sharing=sharing).wait(PATIENCE)
        assert (counted.objective, counted.counters["nodes"]) == (14200, 420995)


@pytest.fixture
def held_up(monkeypatch):
    """The second device of a pool is not ready before this is set."""
    released = threading.Event()
    warm_up = SearchWorker.warm_up

    def late(self):
        if threading.current_thread().name.partition("_")[0].endswith("#2"):
            assert released.wait(PATIENCE)
        warm_up(self)

    monkeypatch.setattr(SearchWorker, "warm_up", late)
    yield released
    released.set()


def test_a_run_ends_without_a_device_that_is_not_ready(device, held_up):
    events = []
    with engine.Engine(devices=[device.info.id] * 2) as running:
        run = running.start(engine.Queens(11), on_event=events.append)
        result = run.wait(PATIENCE)
        assert (result.objective, result.counters["nodes"]) == (2680, 89878)
        assert not held_up.is_set()
        held_up.set()
        again = running.start(engine.Queens(12)).wait(PATIENCE)
        assert (again.objective, again.counters["nodes"]) == (14200, 420995)
    devices = {event.device for event in events if isinstance(event, Metric) and event.name == "active_ivms"}
    assert devices == {device.info.id}


def test_devices_that_all_fail_before_they_are_ready_fail_the_run(device, monkeypatch):
    def fail(self, warm_up):
        raise DeviceError("no such instruction")

    monkeypatch.setattr(SearchWorker, "open", fail)
    with pytest.raises(DeviceError, match="no such instruction"):
        engine.solve(engine.Queens(9), devices=[device.info.id] * 2)
