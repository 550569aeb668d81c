import io
import math
from unittest.mock import Mock

import pytest
from rich.console import Console

from engine import events
from engine.runs.observers import EventLog, ProgressBar
from tests.support.counting import STARTED

pytestmark = pytest.mark.smoke

FINISHED = events.Finished(time=9, status="optimal")
FAILED = events.Failed(time=9, error="KeyError", message="bead", exit_code=1)


def metric(at):
    return events.Metric(time=at, name="x", value=at)


def test_the_recorder_appends_and_every_event_is_on_disk_at_once(tmp_path):
    path = tmp_path / "events.jsonl"
    record = EventLog(path)
    record(STARTED)
    assert path.read_text() == events.to_json(STARTED) + "\n"
    record(FINISHED)
    with pytest.raises(ValueError, match="closed"):
        record(metric(1))
    again = EventLog(path)
    again(FAILED)
    again.close()
    assert [events.from_json(line) for line in path.read_text().splitlines()] == [STARTED, FINISHED, FAILED]


def test_events_wait_until_there_is_room_again(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(EventLog, "MOST_KEPT", 3)
    record, room = EventLog(tmp_path / "e.jsonl"), [30]
    file = record._file

    def write(line):
        if not room:
            raise OSError(28, "No space left on device")
        return file.write(line[: room.pop()])

    record._file = Mock(write=write)
    for at in range(6):
        record(metric(at))
    record._file = file
    record(metric(6))
    record.close()
    cut, *lines = (tmp_path / "e.jsonl").read_text().splitlines()
    assert len(cut) == 30
    notice, *kept = map(events.from_json, lines)
    assert notice.message == "4 events could not be recorded here"
    assert kept == [metric(4), metric(5), metric(6)]
    assert caplog.text.count("events cannot be written") == 1


def test_the_recorder_starts_a_line_of_its_own_after_one_cut_short(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text('{"time":0}\n{"time":1,"ty')
    record = EventLog(path)
    record(metric(2))
    record.close()
    assert path.read_text() == '{"time":0}\n{"time":1,"ty\n' + events.to_json(metric(2)) + "\n"


def shown(*story, width=120, terminal=True):
    stream = io.StringIO()
    bar = ProgressBar(Console(file=stream, force_terminal=terminal, width=width, color_system=None))
    for event in story:
        bar(event)
    bar.close()
    return stream.getvalue()


STORY = (
    STARTED,
    events.Notice(time=0.5, level="info", message="3 of [9] items fixed"),
    events.Progress(time=1, phase="rows", done=1e6, total=4e6, unit="cells"),
    events.Incumbent(time=1.5, objective=123456, bound=130000, gap=0.053),
    events.Notice(time=1.8, level="warning", message="it is getting late"),
    events.Progress(time=2, phase="rows", done=3e6, total=4e6, unit="cells"),
)


def test_the_bar_shows_phase_counts_rate_best_bound_gap_and_seconds():
    last = shown(*STORY, FINISHED).rpartition("\r")[2]
    for part in ("rows", "3M/4M cells", "2M/s", "best 123,456", "bound 130,000", "gap 5.3 %", "9.0 s"):
        assert part in last


def test_names_from_a_recorded_run_drive_no_terminal():
    hostile = "\x1b[2J\x1b]0;title\x07"
    events_of_it = [
        events.Progress(time=1, phase=f"p{hostile}", done=1, total=2, unit=f"u{hostile}"),
        events.Progress(time=2, phase=f"p{hostile}", done=1e308, total=0, unit=hostile, seconds_left=math.nan),
        events.Incumbent(time=3, objective=10**1000, bound=math.nan, gap=math.inf),
    ]
    output = shown(STARTED.model_copy(update={"solver": hostile}), *events_of_it, width=300)
    assert "p\\x1b[2J" in output
    assert "\x1b[2J" not in output
    assert "\x07" not in output


def test_where_there_is_no_terminal_only_warnings_are_shown():
    assert shown(*STORY, FINISHED, terminal=False) == "warning: it is getting late\n"
