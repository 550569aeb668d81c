"""Claims about pools of fast and slow devices: the fast one never waits for more than a launch of the slow one.

The slow device is the same one listed again, its launches slowed down; it is taken for a CPU, the other for a GPU.
"""

import dataclasses
import math
import threading
import time
from types import SimpleNamespace

import pytest

import engine
from engine.errors import DeviceError
from engine.events import Metric, Notice
from engine.solvers.branch_and_bound.intervals import Units, cut, length_of_levels
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.search import coordinator
from engine.solvers.branch_and_bound.search import sharing as sharing_rules
from engine.solvers.branch_and_bound.search.members import Store, WorkerState
from engine.solvers.branch_and_bound.search.messages import Task
from engine.solvers.branch_and_bound.search.sharing import Sharing
from engine.solvers.branch_and_bound.search.worker import SearchWorker
from engine.solvers.branch_and_bound.tree import INFINITY
from tests.support.engines import engine_of
from tests.support.patience import PATIENCE
from tests.support.searching import as_gpu

LAUNCH = 0.02  # seconds by which every launch of the slow device is longer


def is_slow(worker):
    return worker.member.label.endswith("#2")


class Slow(SearchWorker):
    """Rounds of a second device take longer; how many it has done."""

    rounds = 0

    def _search(self):
        super()._search()
        if threading.current_thread().name.partition("_")[0].endswith("#2"):
            Slow.rounds += 1
            time.sleep(LAUNCH)


@pytest.fixture
def slow_second(monkeypatch):
    """The second device of a pool is slow, and taken for a CPU beside a GPU."""
    Slow.rounds = 0
    monkeypatch.setattr(WorkerState, "on_host_cores", property(is_slow))
    monkeypatch.setattr(coordinator, "SearchWorker", Slow)
    monkeypatch.setattr(coordinator, "_SLOW_SLICE", 1.0)  # so that a slice is many launches
    monkeypatch.setattr(coordinator, "_HEAD_START", 0.0)


BOARDS = {14: (365_596, 13_496_479), 15: (2_279_184, 90_634_738), 16: (14_772_512, 563_208_896)}  # solutions, nodes


def lasting(device):
    """Boards on which 32 IVMs work longer and longer than a launch of the slow device takes.

    A search may end before what a test waits for. A GPU rounds 32 up to 128 IVMs and needs a few launches for 14
    queens, so that the slow device may have no turn; a row more makes six times the nodes.
    """
    return (14, 15, 15, 16) if device.info.capabilities.simt else (14, 14, 14, 14, *[15] * 8)


@pytest.mark.few(1)
@pytest.mark.usefixtures("slow_second")
@pytest.mark.parametrize("sharing", ["symmetric", "farmer"])
@pytest.mark.parametrize("seed", range(2))
def test_a_fast_device_waits_for_a_launch_or_two_of_a_slow_one(device, monkeypatch, sharing, seed):
    asked = []
    waited = []
    ask = Sharing.ask
    deliver = Sharing.deliver

    def noted_ask(self, worker):
        ask(self, worker)
        if worker.waiting and not is_slow(worker) and not worker.active:
            asked.append(Slow.rounds)

    def noted_deliver(self, donor, report):
        if is_slow(donor) and donor.served and asked:
            waited.append(Slow.rounds - asked[-1])
            asked.clear()
        deliver(self, donor, report)

    monkeypatch.setattr(Sharing, "ask", noted_ask)
    monkeypatch.setattr(Sharing, "deliver", noted_deliver)
    for rows in lasting(device):
        result = engine_of(device, 2).solve(engine.Queens(rows), sharing=sharing, seed=seed, ivms=32)
        assert (result.objective, result.counters["nodes"]) == BOARDS[rows]
        if waited:
            break
    if not waited and device.info.capabilities.simt:
        pytest.skip("this GPU's searches ended before the fast device had to wait for the slow one")
    assert waited
    assert all(rounds <= 2 for rounds in waited), waited


@pytest.mark.usefixtures("slow_second")
@pytest.mark.parametrize("sharing", ["symmetric", "farmer"])
def test_a_slow_device_gives_all_its_work_back_when_a_fast_one_runs_low(device, monkeypatch, sharing):
    given = []
    left = []
    turn = Slow.turn

    def noted(self, task, *stops):
        report = turn(self, task, *stops)
        if task.return_all:
            given.append(sum(len(part) for part in report.exported if isinstance(part, Units)))
            left.append(report.active)
        return report

    monkeypatch.setattr(Slow, "turn", noted)
    for rows in lasting(device):
        given.clear()
        result = engine_of(device, 2).solve(engine.Queens(rows), sharing=sharing, ivms=32)
        assert (result.objective, result.counters["nodes"]) == BOARDS[rows]
        if sum(given):
            break
    assert sum(given)
    assert all(active == 0 for active in left)
    assert result.counters["exchanged_intervals"] >= sum(given)


@pytest.mark.full
@pytest.mark.usefixtures("slow_second")
def test_a_device_that_contributes_too_little_is_dropped(device, monkeypatch):
    monkeypatch.setattr(coordinator, "_SLOW_SLICE", 0.001)
    monkeypatch.setattr(sharing_rules, "_TURNS_TO_ASSESS", 1)
    monkeypatch.setattr(sharing_rules, "_LEAST_SHARE", 1e9)  # however fast it is
    taken_after = []
    events = []
    begin = WorkerState.begin

    def noted(self, snapshot, now):
        if self.dropped:
            taken_after.append(self.incoming)
        return begin(self, snapshot, now)

    monkeypatch.setattr(WorkerState, "begin", noted)
    for rows, expected in BOARDS.items():  # until it lasts long enough
        result = engine_of(device, 2).solve(engine.Queens(rows), ivms=32, on_event=events.append)
        assert (result.objective, result.counters["nodes"]) == expected
        notices = [event.message for event in events if isinstance(event, Notice)]
        if notices:
            break
    assert len(notices) == 1
    assert notices[0].endswith("% of the pool's node rate; it gets no more work")
    assert taken_after
    assert sum(taken_after) == 0


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
    monkeypatch.setattr(coordinator, "_HEAD_START", 300.0)
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
    monkeypatch.setattr(coordinator, "_HEAD_START", 0.0)
    with engine.Engine() as running:
        counted = running.start(engine.Queens(12), sharing=sharing).wait(PATIENCE)
        assert (counted.objective, counted.counters["nodes"]) == (14200, 420995)


def test_what_is_surrendered_is_searched_elsewhere_to_the_same_counts(device):
    slow = not device.info.capabilities.simt  # a GPU's first turn may be all of a smaller board
    rows, *counts = (13, 2_490_838, 73_712) if slow else (15, 90_634_738, 2_279_184)
    tree = engine.Queens(rows).tree("auto", "auto")

    def work(running):
        first = SearchWorker(running, tree, Options(ivms=32), INFINITY)
        left = cut(tree.items, 1)
        report = first.turn(Task(INFINITY, left, seconds=1e-6))
        assert report.active
        given = first.turn(Task(INFINITY, report.returned, peers=[False, False], return_all=True))
        assert (given.active, given.open) == (0, 0.0)
        assert len(given.exported) == 2
        parts = [part for part in given.exported if isinstance(part, Units)]
        again = first.turn(Task(INFINITY, Units.none(tree.items), peers=[False], return_all=True))
        assert again.exported == ()
        second = SearchWorker(running, tree, Options(ivms=48), INFINITY)
        left = Units.joined([given.returned, *parts])
        while True:
            report = second.turn(Task(INFINITY, left, seconds=0.01))
            left = report.returned
            if not report.active and not len(left):
                break
        explored = [length_of_levels(one.state().explored) for one in (first, second)]
        first.close()
        second.close()
        assert sum(explored) == math.factorial(tree.items)
        return [(one.nodes, one.solutions) for one in (given, report)]

    found = device.submit(work).result()
    assert [sum(column) for column in zip(*found, strict=True)] == counts


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


@pytest.mark.full
def test_a_run_that_is_stopped_does_not_wait_for_a_device_that_is_not_ready(device, held_up, tmp_path):
    options = {"upper_bound": 2178, "run_folder": tmp_path / "run", "ivms": 32}
    with engine.Engine(devices=[device.info.id] * 2) as running:
        at_work = threading.Event()

        def note(event):
            if isinstance(event, Metric):
                at_work.set()

        run = running.start(engine.Flowshop.taillard(30), on_event=note, **options)
        assert at_work.wait(PATIENCE)
        run.stop()
        stopped = run.wait(PATIENCE)
        assert not held_up.is_set()
        held_up.set()
    assert stopped.status in ("interrupted", "bound_proved")
    if stopped.status == "interrupted":
        resumed = engine.resume(tmp_path / "run", devices=[device.info.id] * 2)
        assert (resumed.status, resumed.counters["nodes"]) == ("bound_proved", 2_415_747)


def test_devices_that_all_fail_before_they_are_ready_fail_the_run(device, monkeypatch):
    def fail(self, warm_up):
        raise DeviceError("no such instruction")

    monkeypatch.setattr(SearchWorker, "open", fail)
    with pytest.raises(DeviceError, match="no such instruction"):
        engine.solve(engine.Queens(9), devices=[device.info.id] * 2)


def test_work_goes_on_where_a_device_is_late(device, held_up, tmp_path):
    """Checkpoints bring a search to rest and set it going; a device that becomes ready meanwhile takes part."""
    events = []
    with engine.Engine(devices=[device.info.id] * 2) as running:

        def note(event):
            events.append(event)
            if len(events) == 12:
                held_up.set()

        run = running.start(
            engine.Queens(14), on_event=note, run_folder=tmp_path / "run", checkpoint_interval=0.01, ivms=32
        )
        result = run.wait(PATIENCE)
    assert (result.objective, result.counters["nodes"]) == (365596, 13496479)
