"""``quintet resume`` and ``quintet replay``; in this process."""

from pathlib import Path

import pytest

from engine import events
from tests.support import counting
from tests.support.printed import value

pytestmark = pytest.mark.usefixtures("_quiet_surroundings")


def test_resume_goes_on_to_the_answer(quintet):
    Path("long.txt").write_text("count 500\n")
    assert quintet("solve", "long.txt", "--run-folder", "r", "--time-limit", "0.1", "--step", "11")[0] == 0
    code, output, _ = quintet("resume", "r", "--events", "e.jsonl", "--solution", "s.txt")
    assert code == 0
    assert value(output, "status") == "optimal"
    assert value(output, "objective") == str(counting.expected(500))
    assert value(output, "saved") == "r, s.txt"
    started = events.from_json(Path("e.jsonl").read_text().splitlines()[0])
    assert isinstance(started, events.Started)
    assert started.resumed
    assert started.options["step"] == 11
    code, again, errors = quintet("resume", "r")
    assert (code, errors) == (0, "")
    assert value(again, "objective") == value(output, "objective")


def test_replay_shows_what_the_run_showed(quintet):
    live = quintet("solve", "small.txt", "--run-folder", "r", "--events", "-")[1]
    for speed in ("0", "inf", "20"):
        assert quintet("replay", "r", "--speed", speed, "--events", "-") == (0, live, "")
    code, output, _ = quintet("replay", "r", "--speed", "0")
    assert code == 0
    assert value(output, "objective") == str(counting.expected(100))


def test_a_run_without_events_cannot_be_replayed(quintet):
    quintet("solve", "small.txt", "--run-folder", "r")
    Path("r/events.jsonl").unlink()
    assert quintet("replay", "r") == (2, "", "error: the run in r has no events yet\n")
    Path("r/events.jsonl").write_text('{"type": "star\n\n')
    damaged = f"{Path('r/events.jsonl')} is damaged: none of its lines is an event"
    assert quintet("replay", "r") == (2, "", f"error: {damaged}\n")
