"""``quintet standby``: a process with open devices runs the command that it is given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine import events
from engine.api.engine import Engine
from tests.support import counting
from tests.support.patience import PATIENCE


@pytest.fixture
def waiting(spawn: Any) -> Any:
    return spawn("standby", "--events", "-")


def words(*command: str) -> str:
    return json.dumps([*command, "--events", "-"]) + "\n"


def event_types(text: str) -> Sequence[str]:
    return [events.from_json(line).type for line in text.splitlines()]


def test_the_command_on_standard_input_is_run_and_its_controls_are_obeyed(waiting: Any, tmp_path: Path) -> None:
    (tmp_path / "endless.txt").write_text("count 1000000000\n")
    waiting.stdin.write(words("solve", str(tmp_path / "endless.txt")) + "pause\nresume\n")
    waiting.stdin.flush()
    seen: list[str] = []
    while "progress" not in seen:
        seen += event_types(waiting.stdout.readline())
    output, errors = waiting.communicate("stop\n", PATIENCE)
    assert errors == ""
    assert "started" in seen
    assert event_types(output)[-1] == "finished"
    assert waiting.returncode == 0


def test_without_a_command_it_ends(waiting: Any) -> None:
    assert waiting.communicate("", PATIENCE) == ("", "")
    assert waiting.returncode == 0


@pytest.mark.full
def test_an_unreadable_command_and_one_that_fails_are_reported(waiting: Any, tmp_path: Path) -> None:
    output, errors = waiting.communicate(words("solve", str(tmp_path / "missing.txt")), PATIENCE)
    assert "missing.txt" in errors
    assert event_types(output) == ["failed"]
    assert waiting.returncode == 2


@pytest.mark.full
def test_a_line_that_is_no_command_is_refused(waiting: Any) -> None:
    _, errors = waiting.communicate("solve it\n", PATIENCE)
    assert "standard input must begin with a JSON list" in errors
    assert waiting.returncode == 2


def test_an_engine_takes_over_the_devices_of_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
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
