"""Claims about pools of fast and slow devices: the fast one never waits for more than a launch of the slow one.

The slow device is the same one listed again, its launches slowed down; it is taken for a CPU, the other for a GPU.
"""

import dataclasses
import threading
import time
from types import SimpleNamespace

import pytest

import engine
from engine.errors import DeviceError
from engine.events import Metric
from engine.solvers.branch_and_bound.intervals import cut
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.search import coordinator
from engine.solvers.branch_and_bound.search.members import Store, WorkerState
from engine.solvers.branch_and_bound.search.sharing import Sharing
from engine.solvers.branch_and_bound.search.worker import SearchWorker
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
def test_a_fast_device_waits_for_a_launch_or_two_of_a_slow_one(device, monkeypatch, sharing):
    asked, waited = [], []
    ask, deliver = Sharing.ask, Sharing.deliver

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
        result = engine_of(device, 2).solve(engine.Queens(rows), sharing=sharing, ivms=32)
        assert (result.objective, result.counters["nodes"]) == BOARDS[rows]
        if waited:
            break
    if not waited and device.info.capabilities.simt:
        pytest.skip("this GPU's searches ended before the fast device had to wait for the slow one")
    assert waited
    assert all(rounds <= 2 for rounds in waited), waited


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
