"""What the app displays is true: numbers agree with the result, warnings are visible, estimates are honest."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from pathlib import Path
from typing import Any

import counting
import pytest
from environment import COUNTING, SAMPLES
from interaction import begin, ended, load

from engine.events import Finished, Incumbent, Metric, Notice, Progress, Trace, to_json
from engine.folder import RunFolder
from gui.app.style import state_colour
from gui.app.theme import DARK, LIGHT
from gui.compare.tab import CompareTab
from gui.panels import RunInfo, panel_for
from gui.plot.live import LivePlot
from gui.report.report import report
from gui.runs.library import Library, RunNote
from gui.runs.remaining import RemainingTime
from gui.runs.summary import Summary, remaining_text, state_text

STARTED = counting.STARTED
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


# --- checkpoints and sessions -------------------------------------------------------------------------------------


@POSIX
def test_a_run_is_offered_for_resuming_only_once_it_has_a_checkpoint(
    qtbot: Any, open_window: Any, counting_files: Path
) -> None:
    window = open_window(COUNTING)
    load(qtbot, window, counting_files / "endless.txt")
    tab = begin(qtbot, window)
    os.kill(tab.child.pid, signal.SIGKILL)
    ended(qtbot, tab)
    assert list(tab.note.path.glob("checkpoint*")) == []
    assert "resumable" not in window.available()
    assert "has no checkpoint" in tab.banner.text.text()
    assert not window.actions_by_name["resume_run"].isEnabled()
    later = begin(qtbot, window)
    qtbot.waitUntil(lambda: bool(list(later.note.path.glob("checkpoint-*.json"))), timeout=60_000)
    assert later.summary.seconds < 15  # the interval is 30 s
    os.kill(later.child.pid, signal.SIGKILL)
    ended(qtbot, later)
    assert "resumable" in window.available()
    assert "Resume from checkpoint" in later.banner.text.text()


def test_the_sessions_of_a_resumed_run_are_told_apart_and_not_spliced(qtbot: Any) -> None:
    panel = panel_for(RunInfo(""), LIGHT)
    qtbot.addWidget(panel)
    panel.resize(900, 600)
    panel.show()

    def part(first: int, last: int, sign: int) -> list[Any]:
        steps = range(first, last)
        return [
            event
            for step in steps
            for event in (
                Metric(time=step / 10, name="speed", value=sign * step),
                Trace(time=step / 10, name="sigma", iteration=100 * step, values=[float(sign * step)]),
            )
        ]

    resumed = STARTED.model_copy(update={"resumed": True, "time": 2.0})
    panel.feed([STARTED, *part(0, 50, 1), resumed, *part(20, 30, -1)])
    plots = {figure.key: figure for figure in panel.plots() if isinstance(figure, LivePlot)}
    for key, marked in (("speed", 2.0), ("trace sigma", 2000.0)):
        x, y = plots[key].curves[0].data.points()
        assert all(a <= b for a, b in itertools.pairwise(x.tolist()))
        assert [value for value in y.tolist() if value > 0] == list(range(1, 21 if key == "speed" else 20))
        assert [value for value in y.tolist() if value < 0] == [-step for step in range(20, 30)]
        assert plots[key].sessions == [marked]
    qtbot.waitUntil(lambda: plots["speed"].populated, timeout=30_000)
    assert len(plots["speed"]._session_lines) == 1


# --- warnings -----------------------------------------------------------------------------------------------------


def test_a_result_with_a_warning_is_not_shown_as_good(qtbot: Any) -> None:
    message = "the chains have not mixed: R-hat is 1.19 for beta[3]; draw longer, or thin more " + 10 * "and more "
    events = [STARTED, Notice(time=1, level="warning", message=message), Finished(time=2, status="complete")]
    panel = panel_for(RunInfo("gibbs"), LIGHT)
    qtbot.addWidget(panel)
    panel.show()
    panel.feed([*events[:2], events[1], *events[2:]])
    tile = panel.tile("State")
    assert (tile.value, tile.colour) == ("complete, 1 warning", LIGHT.warning)
    assert panel._warning_label.isVisible()
    assert message in panel._warning_label.text()
    assert panel._warning_label.wordWrap()
    assert message.strip() in report(panel)
    panel.set_theme(DARK)
    assert tile.colour == DARK.warning
    summary, note = Summary(), RunNote("a", "a", "a")
    summary.take(events)
    note.follow(summary)
    assert note.warnings == [message]
    assert state_text(note.state, len(note.warnings)) == "complete, 1 warning"
    assert state_colour(LIGHT, note.state, 0) == LIGHT.good
    assert state_colour(LIGHT, note.state, len(note.warnings)) == LIGHT.warning


def test_a_run_taken_in_from_elsewhere_keeps_its_warnings(tmp_path: Path) -> None:
    recorded = SAMPLES / "recorded" / "gibbs"
    note = Library(tmp_path).adopt(recorded)
    warnings = [e.message for e in RunFolder.open(recorded).events() if e.type == "notice" and e.level == "warning"]
    assert note.warnings == warnings != []


@pytest.mark.parametrize("status", ["infeasible", "unbounded"])
def test_the_reason_for_having_no_solution_stands_under_the_name_of_the_run(qtbot: Any, status: str) -> None:
    reason = "row r2: activities are at least 5, its upper bound is 3"
    panel = panel_for(RunInfo("linprog"), LIGHT)
    qtbot.addWidget(panel)
    panel.show()
    events = [STARTED, Notice(time=1, level="info", message=reason), Finished(time=2, status=status)]
    panel.feed(events)
    assert panel._warning_label.isVisible()
    assert reason in panel._warning_label.text()
    assert panel.tile("State").value == status
    summary = Summary()
    summary.take(events)
    assert summary.message == reason


# --- one source for a number --------------------------------------------------------------------------------------


def test_the_table_and_the_curves_of_a_comparison_agree(qtbot: Any, tmp_path: Path) -> None:
    notes = []
    for title, bound in (("one", 2178), ("two", 2150)):
        events = [
            STARTED,
            Incumbent(time=1.0, objective=2200, bound=1916, gap=0.1303),
            Incumbent(time=2.0, objective=2178, bound=1916, gap=0.1203),
            Finished(time=3.0, status="optimal", objective=2178, bound=bound, gap=(2178 - bound) / 2178),
        ]
        (tmp_path / title).mkdir()
        (tmp_path / title / "events.jsonl").write_text("".join(to_json(event) + "\n" for event in events))
        notes.append(RunNote(title, str(tmp_path / title), title))
    tab = CompareTab(notes, LIGHT)
    qtbot.addWidget(tab)
    qtbot.waitUntil(lambda: bool(tab.tick()) or tab.complete, timeout=30_000)
    rows = {tab.table.item(row, 0).text(): row for row in range(tab.table.rowCount())}
    figures = {figure.title: figure for figure in tab.plots()}
    for column, note in enumerate(notes, start=1):
        for row, figure, name in (("best", "Best and bound", "best"), ("bound", "Best and bound", "bound")):
            curve = next(c for c in figures[figure].curves if c.name == f"{note.title} {name}")
            assert tab.table.item(rows[row], column).text() == f"{curve.data.last:,.0f}"
        gap = next(c for c in figures["Gap"].curves if c.name == note.title).data.last
        assert float(tab.table.item(rows["gap"], column).text().split()[0]) == pytest.approx(gap, abs=0.005)


# --- remaining time -----------------------------------------------------------------------------------------------


def estimates(done: Any, total: float, end: float) -> list[tuple[float, tuple[float, float] | None]]:
    remaining, found = RemainingTime(), []
    for tenth in range(1, int(10 * end)):
        time = tenth / 10
        remaining.add(time, min(total, done(time)), total)
        found.append((time, remaining.estimate()))
    return found


def test_remaining_time_is_a_range_that_holds_for_a_steady_run() -> None:
    found = estimates(lambda t: 3.0 * int(10 * t / 3), 1000.0, 100.0)
    shown = [(time, estimate) for time, estimate in found if estimate is not None]
    assert len(shown) > 500
    held = [low - 1 <= 100 - time <= high + 1 for time, (low, high) in shown]
    assert sum(held) > 0.9 * len(held)
    assert found[5][1] is None
    assert remaining_text((40.0, 55.0)) == "40 s to 55 s left"


def test_no_remaining_time_is_shown_for_a_run_that_slows_down() -> None:
    # the table grows with the items: the rate falls all the time, and twice the elapsed time would be far too short
    found = estimates(lambda t: 1000 * (t / 100) ** 0.5, 1000.0, 60.0)
    assert all(estimate is None or estimate[1] >= 0.8 * (100 - time) for time, estimate in found)
    slower = estimates(lambda t: 1000 * (1 - 2 ** (-t / 20)), 1000.0, 60.0)
    assert all(estimate is None for time, estimate in slower if time > 20)


def test_an_estimate_begins_anew_with_each_phase() -> None:
    summary = Summary()
    steps = [Progress(time=t / 10, phase="a", done=t, total=100) for t in range(60)]
    summary.take([STARTED, *steps])
    assert summary.remaining.estimate() is not None
    summary.take([Progress(time=7.0, phase="b", done=0, total=100)])
    assert summary.remaining.estimate() is None
