"""``quintet standby``: a process with open devices runs the command that it is given."""

import json

import pytest

from engine import events
from engine.api.engine import Engine
from tests.support import counting
from tests.support.patience import PATIENCE


@pytest.fixture
def waiting(spawn):
    return spawn("standby", "--events", "-")


def words(*command):
    return json.dumps([*command, "--events", "-"]) + "\n"


def event_types(text):
    return [events.from_json(line).type for line in text.splitlines()]


def test_the_command_on_standard_input_is_run_and_its_controls_are_obeyed(waiting, tmp_path):
    (tmp_path / "endless.txt").write_text("count 1000000000\n")
    waiting.stdin.write(words("solve", str(tmp_path / "endless.txt")) + "pause\nresume\n")
    waiting.stdin.flush()
    seen = []
    while "progress" not in seen:
        seen += event_types(waiting.stdout.readline())
    output, errors = waiting.communicate("stop\n", PATIENCE)
    assert errors == ""
    assert "started" in seen
    assert event_types(output)[-1] == "finished"
    assert waiting.returncode == 0


def test_without_a_command_it_ends(waiting):
    assert waiting.communicate("", PATIENCE) == ("", "")
    assert waiting.returncode == 0


@pytest.mark.full
def test_an_unreadable_command_and_one_that_fails_are_reported(waiting, tmp_path):
    output, errors = waiting.communicate(words("solve", str(tmp_path / "missing.txt")), PATIENCE)
    assert "missing.txt" in errors
    assert event_types(output) == ["failed"]
    assert waiting.returncode == 2


@pytest.mark.full
def test_a_line_that_is_no_command_is_refused(waiting):
    _, errors = waiting.communicate("solve it\n", PATIENCE)
    assert "standard input must begin with a JSON list" in errors
    assert waiting.returncode == 2


def test_an_engine_takes_over_the_devices_of_another_one(monkeypatch):
    counting.install(monkeypatch)
    first = Engine()
    first.open()
    pool = first.executor.pool()
    with Engine() as second:
        second.adopt_devices(first)
        assert second.executor.pool() is pool
        assert second.solve(counting.Counting(50)).objective == counting.expected(50)
    with pytest.raises(Exception, match="closed"):
        first.open()
