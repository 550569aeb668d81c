import threading
import time

import pytest

from engine import events
from engine.runs.replay import Replay
from tests.support.counting import STARTED
from tests.support.patience import PATIENCE, wait_until


def story(*times):
    return [events.Metric(time=at, name="x", value=index) for index, at in enumerate(times)]


def test_the_pace_is_as_it_was_times_the_speed(monkeypatch):
    waits = []
    monkeypatch.setattr(Replay, "_wait", lambda self, seconds: waits.append(seconds) or True)
    events_twice = [*story(5.0, 5.4, 5.2, 5.6), STARTED.model_copy(update={"time": 1.0}), *story(1.4)]
    seen = []
    Replay(events_twice, [seen.append], 2.0).play()
    assert waits == pytest.approx([0.0, 0.2, 0.0, 0.1, 0.0, 0.2])
    assert seen == events_twice


def test_a_replay_can_be_paused_resumed_and_stopped():
    seen = []
    replay = Replay(story(*(step / 20 for step in range(4000))), [seen.append])
    thread = threading.Thread(target=replay.play)
    thread.start()
    wait_until(lambda: len(seen) > 5)
    replay.pause()
    replay.pause()
    wait_until(lambda: seen[-1].type == "state")
    at_pause = len(seen)
    time.sleep(0.1)
    assert len(seen) == at_pause
    replay.resume()
    replay.notice("hello")
    wait_until(lambda: len(seen) > at_pause + 5)
    replay.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert at_pause < len(seen) < 4000
    asides = [event for event in seen if not isinstance(event, events.Metric)]
    assert [event.type for event in asides] == ["state", "state", "notice"]
