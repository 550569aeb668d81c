"""A recorded run plays again as it was."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from counting import STARTED, Counting

import engine
from engine import events
from engine.folder import RunFolder
from engine.replay import Replay


def story(*times: float) -> list[events.Event]:
    return [events.Metric(time=at, name="x", value=index) for index, at in enumerate(times)]


@pytest.mark.parametrize("speed", [0, float("inf"), 50.0])
def test_a_replay_gives_the_events_of_the_run(tmp_path: Path, speed: float) -> None:
    live: list[events.Event] = []
    engine.solve(Counting(300), run_folder=tmp_path / "r", on_event=live.append)
    again: list[events.Event] = []
    Replay(RunFolder.open(tmp_path / "r").events(), [again.append], speed).play()
    assert again == live
    assert len(live) > 5


def test_the_pace_is_as_it_was_times_the_speed() -> None:
    seen: list[float] = []
    began = time.monotonic()
    events_twice = [*story(5.0, 5.4, 5.2, 5.6), STARTED.model_copy(update={"time": 1.0}), *story(1.4)]
    Replay(events_twice, [lambda event: seen.append(time.monotonic() - began)], 2.0).play()
    wanted = [0.0, 0.2, 0.2, 0.3, 0.3, 0.5]
    assert all(target <= at < target + 0.15 for at, target in zip(seen, wanted, strict=True))


def test_a_replay_can_be_paused_resumed_and_stopped() -> None:
    seen: list[events.Event] = []
    replay = Replay(story(*(step / 100 for step in range(1000))), [seen.append])
    thread = threading.Thread(target=replay.play)
    thread.start()
    time.sleep(0.1)
    replay.pause()
    replay.pause()
    time.sleep(0.05)
    told = len(seen)
    time.sleep(0.1)
    assert len(seen) == told
    assert seen[-1].type == "state"
    replay.resume()
    replay.notice("hello")
    time.sleep(0.1)
    replay.stop()
    thread.join(5)
    assert not thread.is_alive()
    assert told < len(seen) < 200
    asides = [event for event in seen if not isinstance(event, events.Metric)]
    assert [event.type for event in asides] == ["state", "state", "notice"]
