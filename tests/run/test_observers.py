"""The ready-made observers."""

import io
import math
import sys

import pytest
from rich.console import Console

from engine import events
from engine.runs.observers import EventLog, JsonLines, ProgressBar
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


def test_the_recorder_starts_a_line_of_its_own_after_one_cut_short(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text('{"time":0}\n{"time":1,"ty')
    record = EventLog(path)
    record(metric(2))
    record.close()
    assert path.read_text() == '{"time":0}\n{"time":1,"ty\n' + events.to_json(metric(2)) + "\n"


class Flushed(io.StringIO):
    """Counts flushes, and what was in it at each."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def flush(self):
        self.seen.append(self.getvalue())


@pytest.mark.parametrize("last", [FINISHED, FAILED])
def test_json_lines_are_flushed_one_by_one_and_end_with_the_run(last):
    stream = Flushed()
    lines = JsonLines(stream)
    for event in (STARTED, last, metric(10)):
        lines(event)
    whole = [events.to_json(event) + "\n" for event in (STARTED, last)]
    assert stream.seen == [whole[0], whole[0] + whole[1]]
    assert lines.ended


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


def test_the_bar_shows_the_time_left_with_its_limits():
    last = events.Progress(
        time=2, phase="search", done=3e6, total=4e6, seconds_left=70, seconds_left_low=9, seconds_left_high=400_000
    )
    assert "about 1:10 left (9.0 s to 4.63 days)" in shown(STARTED, last, width=160)
    exact = last.model_copy(update={"seconds_left_low": 70.0, "seconds_left_high": 70.0})
    assert "about 1:10 left " in shown(STARTED, exact, width=160)
    assert "left" not in shown(*STORY)


def test_the_bar_has_no_end_while_the_total_is_unknown():
    assert "3M nodes" in shown(STARTED, events.Progress(time=2, phase="search", done=3e6, total=0, unit="nodes"))


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


def test_notices_stand_above_the_bar():
    output = shown(*STORY, FINISHED)
    assert "3 of [9] items fixed\n" in output
    assert "warning: it is getting late\n" in output


@pytest.mark.parametrize("last", [FINISHED, FAILED])
@pytest.mark.parametrize("width", [40, 80])
def test_the_bar_keeps_to_one_line_on_a_narrow_terminal(width, last):
    output = shown(*STORY, last, width=width)
    assert len(output.rpartition("\r")[2].splitlines()[0]) <= width + 5


def test_a_pause_shows_and_its_clock_stands_still():
    bar = ProgressBar(Console(file=io.StringIO(), force_terminal=True))
    bar(STARTED)
    bar(events.StateChanged(time=3, state="paused"))
    assert bar.elapsed() == bar.elapsed() == 3
    bar(events.StateChanged(time=3, state="running"))
    assert bar.elapsed() > 3
    bar.close()
    bar.close()


def test_where_there_is_no_terminal_only_warnings_are_shown():
    assert shown(*STORY, FINISHED, terminal=False) == "warning: it is getting late\n"


@pytest.mark.parametrize(("forced", "in_sight"), [("", False), ("1", True)])
def test_standard_error_shows_the_bar_if_it_is_taken_for_a_terminal(monkeypatch, forced, in_sight):
    output = io.StringIO()
    monkeypatch.setattr(sys, "stderr", output)
    monkeypatch.setenv("TTY_COMPATIBLE", forced)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    bar = ProgressBar()
    for event in (*STORY, FINISHED):
        bar(event)
    assert "it is getting late" in output.getvalue()
    assert ("4M cells" in output.getvalue()) == in_sight


def test_without_standard_error_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    bar = ProgressBar()
    for event in (*STORY, FINISHED):
        bar(event)


def test_the_bar_shows_how_many_problems_of_a_batch_are_solved():
    progress = [
        events.Progress(time=float(done), phase="problems", done=done, total=3, unit="problems") for done in (0, 1, 3)
    ]
    assert "1/3 problems" in shown(*progress[:2])
    output = io.StringIO()
    bar = ProgressBar(Console(file=output, force_terminal=True, width=120, color_system=None))
    for event in progress:
        bar(event)
    whole = output.getvalue()
    assert "3/3 problems" in whole.rpartition("\r")[2]
    bar.close()
    assert output.getvalue() == whole  # it has given the terminal back
