"""Claims about pools of fast and slow devices: the fast one never waits for more than a launch of the slow one.

The slow device is the same one listed again, its launches slowed down; it is taken for a CPU, the other for a GPU.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import engine
from engine.devices import Member
from engine.errors import DeviceError
from engine.events import Event, Metric
from engine.solvers.branch_and_bound import coordinator
from engine.solvers.branch_and_bound.explorer import Explorer
from engine.solvers.branch_and_bound.sharing import Sharing
from engine.solvers.branch_and_bound.turns import Report
from engine.solvers.branch_and_bound.workers import Worker

LAUNCH = 0.02  # seconds by which every launch of the slow device is longer


def is_slow(worker: Worker) -> bool:
    return worker.member.label.endswith("#2")


class Slow(Explorer):
    """Rounds of a second device take longer; how many it has done."""

    rounds = 0

    def _search(self) -> None:
        super()._search()
        if threading.current_thread().name.partition("_")[0].endswith("#2"):
            Slow.rounds += 1
            time.sleep(LAUNCH)


@pytest.fixture
def slow_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second device of a pool is slow, and taken for a CPU beside a GPU."""
    Slow.rounds = 0
    monkeypatch.setattr(Worker, "on_host", property(is_slow))
    monkeypatch.setattr(coordinator, "Explorer", Slow)
    monkeypatch.setattr(coordinator, "_SLOW_SLICE", 1.0)  # so that a slice is many launches


@pytest.mark.usefixtures("slow_second")
@pytest.mark.parametrize("sharing", ["symmetric", "farmer"])
@pytest.mark.parametrize("seed", range(2))
def test_a_fast_device_waits_for_a_launch_or_two_of_a_slow_one(
    device: Member, monkeypatch: pytest.MonkeyPatch, sharing: str, seed: int
) -> None:
    asked: list[int] = []
    waited: list[int] = []
    ask: Callable[..., None] = Sharing.ask
    hand_on: Callable[..., None] = Sharing.hand_on

    def noted_ask(self: Sharing, worker: Worker) -> None:
        ask(self, worker)
        if worker.waiting and not is_slow(worker) and not worker.active:
            asked.append(Slow.rounds)

    def noted_hand_on(self: Sharing, donor: Worker, report: Report) -> None:
        if is_slow(donor) and donor.served and asked:
            waited.append(Slow.rounds - asked[-1])
            asked.clear()
        hand_on(self, donor, report)

    monkeypatch.setattr(Sharing, "ask", noted_ask)
    monkeypatch.setattr(Sharing, "hand_on", noted_hand_on)
    result = engine.solve(engine.Queens(13), devices=[device.info.id] * 2, sharing=sharing, seed=seed)
    assert (result.objective, result.counters["nodes"]) == (73712, 2490838)
    assert all(rounds <= 2 for rounds in waited), waited


@pytest.fixture
def held_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The second device of a pool is not ready before this is set."""
    released = threading.Event()
    warm_up = Explorer.warm_up

    def late(self: Explorer) -> None:
        if threading.current_thread().name.partition("_")[0].endswith("#2"):
            assert released.wait(60)
        warm_up(self)

    monkeypatch.setattr(Explorer, "warm_up", late)
    yield released
    released.set()


def test_a_run_ends_without_a_device_that_is_not_ready(device: Member, held_up: threading.Event) -> None:
    told: list[Event] = []
    with engine.Engine(devices=[device.info.id] * 2) as running:
        run = running.start(engine.Queens(11), on_event=told.append)
        result = run.wait(30)
        assert (result.objective, result.counters["nodes"]) == (2680, 89878)
        assert not held_up.is_set()
        held_up.set()
        again = running.start(engine.Queens(12)).wait(30)
        assert (again.objective, again.counters["nodes"]) == (14200, 420995)
    devices = {event.device for event in told if isinstance(event, Metric) and event.name == "active_ivms"}
    assert devices == {device.info.id}


def test_a_run_that_is_stopped_does_not_wait_for_a_device_that_is_not_ready(
    device: Member, held_up: threading.Event, tmp_path: Any
) -> None:
    options: dict[str, Any] = {"upper_bound": 2200, "run_folder": tmp_path / "run", "ivms": 32}
    with engine.Engine(devices=[device.info.id] * 2) as running:
        at_work = threading.Event()

        def note(event: Event) -> None:
            if isinstance(event, Metric):
                at_work.set()

        run = running.start(engine.Flowshop.taillard(28), on_event=note, **options)
        assert at_work.wait(30)
        run.stop()
        stopped = run.wait(30)
        assert not held_up.is_set()
        held_up.set()
    assert stopped.status in ("interrupted", "infeasible")
    if stopped.status == "interrupted":
        resumed = engine.resume(tmp_path / "run", devices=[device.info.id] * 2)
        assert (resumed.status, resumed.counters["nodes"]) == ("infeasible", 12_869_872)


def test_a_device_that_fails_before_it_is_ready_fails_the_run(device: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Explorer) -> None:
        raise DeviceError("no such instruction")

    monkeypatch.setattr(Explorer, "warm_up", fail)
    with pytest.raises(DeviceError, match="no such instruction"):
        engine.solve(engine.Queens(9), devices=[device.info.id] * 2)


def test_work_goes_on_where_a_device_is_late(device: Member, held_up: threading.Event, tmp_path: Any) -> None:
    """Checkpoints bring a search to rest and set it going; a device that becomes ready meanwhile takes part."""
    told: list[Event] = []
    with engine.Engine(devices=[device.info.id] * 2) as running:

        def note(event: Event) -> None:
            told.append(event)
            if len(told) == 12:
                held_up.set()

        run = running.start(
            engine.Queens(14), on_event=note, run_folder=tmp_path / "run", checkpoint_interval=0.01, ivms=32
        )
        result = run.wait(60)
    assert (result.objective, result.counters["nodes"]) == (365596, 13496479)
