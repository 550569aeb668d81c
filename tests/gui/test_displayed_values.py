"""What the app displays is true: numbers agree with the result, warnings are visible, estimates are honest."""

import itertools
import json
import os
import shutil
import signal

import pytest

from engine.base.result import Status
from engine.base.solver import MetricSpec
from engine.events import Compiling, DeviceStatus, Finished, Incumbent, Metric, Notice, Progress, Trace, to_json
from engine.solvers import discover
from gui.app.style import state_colour
from gui.app.theme import DARK, LIGHT
from gui.compare import profiles
from gui.compare.tab import CompareTab
from gui.panels import RunInfo, panel_for
from gui.panels.reports import ReportGroup
from gui.plot.live import LivePlot
from gui.report.report import report
from gui.runs.library import Library
from gui.runs.notes import RunNote
from gui.runs.remaining import RemainingTime
from gui.runs.view import NO_SOLUTION, RunView, remaining_text, state_text
from tests.support import counting
from tests.support.app import COUNTING, SAMPLES
from tests.support.dashboards import panel_of
from tests.support.interaction import begin, ended, load
from tests.support.needs import POSIX

STARTED = counting.STARTED


# --- checkpoints and sessions -------------------------------------------------------------------------------------


@POSIX
def test_a_run_is_offered_for_resuming_only_once_it_has_a_checkpoint(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    load(qtbot, window, counting_files / "endless.txt")
    window.pane.form.set_values({"slice_seconds": 3600.0})  # no checkpoint is written before the first slice ends
    tab = begin(qtbot, window)
    os.kill(tab.child.pid, signal.SIGKILL)
    ended(qtbot, tab)
    assert list(tab.note.path.glob("checkpoint*")) == []
    assert "resumable" not in window.available()
    assert "has no checkpoint" in tab.banner.text.text()
    assert not window.actions_by_name["resume_run"].isEnabled()
    window.pane.form.set_values({"slice_seconds": 0.005})
    later = begin(qtbot, window)
    qtbot.waitUntil(lambda: bool(list(later.note.path.glob("checkpoint-*.json"))), timeout=120_000)
    first = min(later.note.path.glob("checkpoint-*.json"))
    assert json.loads(first.read_text())["elapsed"] < 30  # the interval
    os.kill(later.child.pid, signal.SIGKILL)
    ended(qtbot, later)
    assert "resumable" in window.available()
    assert "Resume from checkpoint" in later.banner.text.text()


def test_the_sessions_of_a_resumed_run_are_distinguished_and_not_spliced(qtbot):
    panel = panel_of(qtbot, "", size=(900, 600))

    def part(first, last, sign):
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
    qtbot.waitUntil(lambda: plots["speed"].populated, timeout=120_000)
    assert len(plots["speed"]._session_lines) == 1


# --- warnings -----------------------------------------------------------------------------------------------------


def test_a_result_with_a_warning_is_not_shown_as_good(qtbot):
    message = "the chains have not mixed: R-hat is 1.19 for beta[3]; draw longer, or thin more " + 10 * "and more "
    events = [STARTED, Notice(time=1, level="warning", message=message), Finished(time=2, status="complete")]
    panel = panel_of(qtbot, "gibbs")
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
    summary, note = RunView(), RunNote("a", "a", "a")
    summary.take(events)
    note.follow(summary)
    assert note.warnings == [message]
    assert state_text(note.state, len(note.warnings)) == "complete, 1 warning"
    assert state_colour(LIGHT, note.state, 0) == LIGHT.good
    assert state_colour(LIGHT, note.state, len(note.warnings)) == LIGHT.warning


def test_a_run_taken_in_from_elsewhere_keeps_its_warnings(tmp_path):
    folder = tmp_path / "elsewhere"
    shutil.copytree(SAMPLES / "recorded" / "knapsack", folder)
    lines = (folder / "events.jsonl").read_text().splitlines()
    notices = [Notice(time=1, level=level, message=level) for level in ("warning", "info", "warning")]
    (folder / "events.jsonl").write_text("\n".join([lines[0], *map(to_json, notices), *lines[1:]]) + "\n")
    assert Library(tmp_path).adopt(folder).warnings == ["warning"]


def test_every_status_of_a_result_has_its_colour_and_its_meaning():
    assert {status for status in Status if state_colour(LIGHT, status) == LIGHT.accent} == set()
    assert {status for status in Status if status.excludes_solutions} == set(NO_SOLUTION)
    ended = {status for status in Status if status.excludes_solutions} | {"optimal", "complete"}
    assert set(profiles.SOLVED) == ended


@pytest.mark.parametrize("status", ["infeasible", "unbounded", "bound_proved"])
def test_the_reason_for_having_no_solution_stands_under_the_name_of_the_run(qtbot, status):
    reason = "these rows cannot hold together: r1, r2"
    remark = "presolve: 6 rows and 4 variables reduced to 4 and 3"
    panel = panel_of(qtbot, "linprog")
    panel.show()
    events = [
        STARTED,
        Notice(time=1, level="info", message=remark),
        Metric(time=1, name="duality_gap", value=1e24),
        Finished(time=2, status=status, reason=reason),
    ]
    panel.feed(events)
    assert panel._warning_label.isVisible()
    assert panel._warning_label.text() == f"{state_text(status).capitalize()}: {reason}"
    assert panel.view.warnings == []
    assert {"Gap", "Best"}.isdisjoint(dict(panel.summary()))
    assert panel.tile("State").value == state_text(status)
    assert reason in report(panel)
    summary = RunView()
    summary.take(events)
    assert (summary.message, summary.warnings) == (reason, [])


# --- one source for a number --------------------------------------------------------------------------------------


def test_the_table_and_the_curves_of_a_comparison_agree(qtbot, tmp_path):
    notes = []
    for title, bound in (("one", 2178), ("two", 2150)):
        events = [
            STARTED.model_copy(update={"sense": "minimize"}),
            Incumbent(time=1.0, objective=2200, bound=1916, gap=0.1303),
            Incumbent(time=2.0, objective=2178, bound=1916, gap=0.1203),
            Finished(time=3.0, status="optimal", objective=2178, bound=bound, gap=(2178 - bound) / 2178),
        ]
        (tmp_path / title).mkdir()
        (tmp_path / title / "events.jsonl").write_text("".join(to_json(event) + "\n" for event in events))
        notes.append(RunNote(title, str(tmp_path / title), title))
    tab = CompareTab(notes, LIGHT)
    qtbot.addWidget(tab)
    qtbot.waitUntil(lambda: bool(tab.tick()) or tab.complete, timeout=120_000)
    rows = {tab.table.item(row, 0).text(): row for row in range(tab.table.rowCount())}
    figures = {figure.title: figure for figure in tab.plots()}
    for column, note in enumerate(notes, start=1):
        for row, figure, name in (("best", "Best and bound", "best"), ("bound", "Best and bound", "bound")):
            curve = next(c for c in figures[figure].curves if c.name == f"{note.title} {name}")
            assert tab.table.item(rows[row], column).text() == f"{curve.data.last:,.0f}"
        gap = next(c for c in figures["Gap"].curves if c.name == note.title).data.last
        assert float(tab.table.item(rows["gap"], column).text().split()[0]) == pytest.approx(gap, abs=0.005)


def test_shares_are_in_percent_in_a_comparison_as_in_dashboards(qtbot, tmp_path):
    spec = next(vars(one) for one in discover()["branch_and_bound"].metrics if one.name == "stealing_share")
    begun = STARTED.model_copy(update={"metrics": [dict(spec)]})
    point = Metric(time=1.0, name="stealing_share", value=0.0074, device="opencl:0")
    (tmp_path / "events.jsonl").write_text("".join(to_json(event) + "\n" for event in (begun, point)))
    note = RunNote("a", str(tmp_path), "a", state="time_limit", best=9, bound=7, gap=2 / 9, seconds=4.0)
    tab, panel = CompareTab([note, note], LIGHT), panel_for(RunInfo("", (MetricSpec(**spec),)), LIGHT)
    for widget in (tab, panel):
        qtbot.addWidget(widget)
    panel.feed([begun, point])
    qtbot.waitUntil(lambda: bool(tab.tick()) or tab.complete, timeout=120_000)
    figures = [figure for figure in (*tab.plots(), *panel.plots()) if figure.title == spec["title"]]
    assert [(figure.unit, figure.curves[0].data.last) for figure in figures] == 2 * [("%", pytest.approx(0.74))]
    rows = {tab.table.item(row, 0).text(): tab.table.item(row, 1).text() for row in range(tab.table.rowCount())}
    shown = {name: rows[name] for name in ("state", "best", "bound", "gap", "time")}  # the record has no end
    assert shown == {"state": "time limit", "best": "9", "bound": "7", "gap": "22.22 %", "time": "4.0 s"}


def test_a_limit_is_not_shown_as_progress():
    summary = RunView()
    summary.take([STARTED, Progress(time=1, phase="iterations", done=9, total=300, unit="iterations", limit=True)])
    assert summary.fraction is None
    summary.take([Progress(time=2, phase="items", done=9, total=300, unit="items")])
    assert summary.fraction == 0.03


def test_measures_of_different_moments_are_not_paired():
    received = []
    group = ReportGroup("iteration", lambda x, values: received.append((x, values)))
    group.add(1.0, "gap", 0.5)
    group.add(1.0001, "iteration", 4)
    group.add(2.0, "gap", 0.25)  # its iteration was held back by the throttle
    group.add(3.0, "iteration", 6)
    group.add(3.0, "gap", 0.125)
    group.flush()
    assert received == [(4, {"gap": 0.5}), (6, {"gap": 0.125})]


# --- remaining time -----------------------------------------------------------------------------------------------


def estimates(done, total, end):
    remaining, found = RemainingTime(), []
    for tenth in range(1, int(10 * end)):
        time = tenth / 10
        remaining.add(time, min(total, done(time)), total)
        found.append((time, remaining.estimate()))
    return found


def test_remaining_time_is_a_range_that_holds_for_a_steady_run():
    found = estimates(lambda t: 3.0 * int(10 * t / 3), 1000.0, 100.0)
    shown = [(time, estimate) for time, estimate in found if estimate is not None]
    assert len(shown) > 500
    held = [low - 1 <= 100 - time <= high + 1 for time, (low, high) in shown]
    assert sum(held) > 0.9 * len(held)
    assert found[5][1] is None
    assert remaining_text((40.0, 55.0)) == "40 s to 55 s left"
    assert remaining_text((6e5, 2e6)) == "6.94 days to 23.1 days left"
    assert remaining_text((6e5, 4e6)) == "more than 6.94 days left"
    assert remaining_text((4e6, 2e14)) == "more than a month left"


def test_no_remaining_time_is_shown_for_a_run_that_slows_down():
    # the table grows with the items: the rate falls all the time, and twice the elapsed time would be far too short
    found = estimates(lambda t: 1000 * (t / 100) ** 0.5, 1000.0, 60.0)
    assert all(estimate is None or estimate[1] >= 0.8 * (100 - time) for time, estimate in found)
    slower = estimates(lambda t: 1000 * (1 - 2 ** (-t / 20)), 1000.0, 60.0)
    assert all(estimate is None for time, estimate in slower if time > 20)


def test_an_estimate_begins_anew_with_each_phase():
    summary = RunView()
    steps = [Progress(time=t / 10, phase="a", done=t, total=100) for t in range(60)]
    summary.take([STARTED, *steps])
    assert summary.remaining.estimate() is not None
    summary.take([Progress(time=7.0, phase="b", done=0, total=100)])
    assert summary.remaining.estimate() is None


def test_time_axes_begin_with_the_first_values_and_stay(qtbot):
    panel = panel_of(qtbot, "", (MetricSpec("speed", "Speed"), MetricSpec("later", "Later")), size=(900, 600))
    plots = {figure.key: figure for figure in panel.plots() if isinstance(figure, LivePlot)}

    def begins():
        for plot in plots.values():
            plot.to_image(1.0)
        return {key: plots[key].plot.getViewBox().viewRange()[0][0] for key in ("objective", "speed", "later")}

    def compiling(time):
        return Compiling(time=time, device="opencl:0", template="knapsack/rows", count=1)

    panel.feed([STARTED, Incumbent(time=0.5, objective=7, bound=9), *map(compiling, (0.6, 8.0))])
    panel.feed([DeviceStatus(time=8.1, device="opencl:0", memory_used=1.0)])
    panel.feed([Metric(time=8.5, name="speed", value=1.0)])
    assert begins() == pytest.approx(dict.fromkeys(("objective", "speed", "later"), 8.5))
    x, y = plots["objective"].curves[0].item.getData()
    assert x[0] == pytest.approx(8.5)  # the first solution holds from the left edge on
    assert set(y) == {7.0}
    panel.feed([compiling(20.0), Metric(time=21.0, name="later", value=1.0)])
    panel.feed([Finished(time=22.0, status="complete", objective=7, bound=7, gap=0.0)])
    assert begins() == pytest.approx(dict.fromkeys(("objective", "speed", "later"), 8.5))
    assert plots["device memory"].origin == 0.0  # the devices work while kernels are compiled
