"""What the app displays is true: numbers agree with the result, have one text; warnings are seen; estimates hold."""

import math
import os
import shutil
import signal

import pytest

from engine.base.solver import MetricSpec
from engine.events import (
    Compiling,
    DeviceStatus,
    Finished,
    Incumbent,
    Metric,
    Notice,
    Progress,
    StateChanged,
    Trace,
    to_json,
)
from engine.runs.observers import _best_text
from engine.util.text import rate_text, seconds_text, short_number_text, short_seconds_text, value_text
from gui.app.style import state_colour
from gui.app.theme import DARK, LIGHT
from gui.plot import charts
from gui.plot.axes import NumberAxis, duration
from gui.plot.live import LivePlot
from gui.plot.tables import cell_text
from gui.report.report import report
from gui.runs.columns import column_named
from gui.runs.notes import RunNote, described
from gui.runs.remaining import RemainingTime
from gui.runs.tree import accessible_text
from gui.runs.view import RunView, remaining_text, state_text
from tests.support.app import COUNTING, SAMPLES
from tests.support.counting import STARTED
from tests.support.dashboards import compared, figure, noted, panel_of
from tests.support.interaction import begin, ended, load
from tests.support.needs import POSIX


@POSIX
def test_a_run_is_offered_for_resuming_only_once_it_has_a_checkpoint(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    load(qtbot, window, counting_files / "endless.txt")
    for seconds, resumable, said in ((3600.0, False, "has no checkpoint"), (0.005, True, "Resume from checkpoint")):
        window.pane.form.set_values({"slice_seconds": seconds})  # none is written before the first slice ends
        tab = begin(qtbot, window)
        if resumable:
            qtbot.waitUntil(lambda tab=tab: bool(list(tab.note.path.glob("checkpoint-*.json"))), timeout=120_000)
        os.kill(tab.child.pid, signal.SIGKILL)
        ended(qtbot, tab)
        assert ("resumable" in window.available()) == window.actions_by_name["resume_run"].isEnabled() == resumable
        assert said in tab.banner.text.text()


def test_the_sessions_of_a_resumed_run_are_distinguished_and_not_spliced(qtbot):
    panel = panel_of(qtbot, "", size=(900, 600))

    def part(first, last, sign):
        for step in range(first, last):
            yield Metric(time=step / 10, name="speed", value=sign * step)
            yield Trace(time=step / 10, name="sigma", iteration=100 * step, values=[float(sign * step)])

    resumed = STARTED.model_copy(update={"resumed": True, "time": 2.0})
    panel.feed([STARTED, *(Incumbent(time=at, objective=at) for at in (1.0, 4.0))])
    panel.feed([*part(0, 50, 1), resumed, *part(20, 30, -1)])
    assert panel.view.best == 1.0  # the other was found after the checkpoint
    for key, marked, last in (("speed", 2.0, 20), ("trace sigma", 2000.0, 19)):
        plot = figure(panel, key)
        x, y = (values.tolist() for values in plot.curves[0].data.points())
        assert x == sorted(x)
        assert y == [*range(last + 1), *range(-20, -30, -1)]
        assert plot.sessions == [marked]
    speed = figure(panel, "speed")
    qtbot.waitUntil(lambda: speed.populated, timeout=120_000)
    assert len(speed._session_lines) == 1


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
    assert message.strip() in report(panel)
    panel.set_theme(DARK)
    assert tile.colour == DARK.warning
    view, note = RunView(), RunNote("a", "a", "a")
    view.take(events)
    note.follow(view)
    assert (note.warnings, state_text(note.state, 1)) == ([message], "complete, 1 warning")
    assert [state_colour(LIGHT, note.state, count) for count in (0, 1)] == [LIGHT.good, LIGHT.warning]


@pytest.mark.parametrize("status", ["infeasible", "unbounded", "bound_proved"])
def test_the_reason_for_having_no_solution_stands_under_the_name_of_the_run(qtbot, status):
    reason = "these rows cannot hold together: r1, r2"
    panel = panel_of(qtbot, "linprog")
    panel.show()
    panel.feed(
        [
            STARTED,
            Notice(time=1, level="info", message="presolve: 6 rows and 4 variables reduced to 4 and 3"),
            Metric(time=1, name="duality_gap", value=1e24),
            Finished(time=2, status=status, reason=reason),
        ]
    )
    assert panel._warning_label.isVisible()
    assert panel._warning_label.text() == f"{state_text(status).capitalize()}: {reason}"
    assert (panel.view.message, panel.view.warnings) == (reason, [])
    assert {"Gap", "Best"}.isdisjoint(dict(panel.summary()))
    assert panel.tile("State").value == state_text(status)
    assert reason in report(panel)


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


def test_an_estimate_begins_anew_with_each_phase_and_a_limit_is_no_progress():
    view = RunView()
    view.take([STARTED, *(Progress(time=t / 10, phase="a", done=t, total=100) for t in range(60))])
    assert view.remaining.estimate() is not None
    view.take([Progress(time=7.0, phase="b", done=9, total=300)])
    assert (view.remaining.estimate(), view.fraction) == (None, 0.03)
    view.take([Progress(time=8.0, phase="iterations", done=9, total=300, limit=True)])
    assert view.fraction is None


@pytest.mark.parametrize("metrics", [(), (MetricSpec("speed", "Speed", "steps/s"),)], ids=["progress", "metric"])
def test_the_rate_of_a_phase_ends_with_it(metrics):
    view, compiling = RunView(), {"device": "opencl:0", "template": "gibbs/draw"}
    view.take([STARTED.model_copy(update={"metrics": [vars(spec) for spec in metrics]})])
    for tenth in range(20):
        view.take([Progress(time=tenth / 10, phase="warm-up", done=tenth, total=100, unit="steps")])
        view.take([Metric(time=tenth / 10, name=spec.name, value=6.0, device=f"cuda:{tenth % 2}") for spec in metrics])
    assert view.rate.value == pytest.approx(12.0 if metrics else 10.0)  # of both devices
    view.take([Compiling(time=2.0, **compiling, count=3)])
    assert (view.rate, view.phase) == (None, "compiling kernels (3)")
    view.take([Compiling(time=2.0, **compiling, count=4, usual=10)])
    assert view.phase == "compiling kernels (4 of about 10)"
    view.usual_kernels = 3  # of an earlier run
    view.take([Compiling(time=2.0, **compiling, count=4, usual=10)])
    assert view.phase == "compiling kernels (4, usually 3)"


def test_what_a_search_expects_is_a_limit_while_better_solutions_come():
    view = RunView()
    expected = {"seconds_left": 2649.0, "seconds_left_low": 2649.0, "seconds_left_high": 16_053.0}
    view.take([STARTED.model_copy(update={"sense": "minimize"}), StateChanged(time=0.0, state="running")])
    view.take([Incumbent(time=at, objective=2300 - at, bound=1916, gap=0.2) for at in (0.1, 2.0, 6.0)])
    view.take([Progress(time=6.2, phase="search", done=1e7, total=1e10, unit="nodes", **expected)])
    assert (view.remaining_text, view.fraction, view.progress_text) == ("at most 4:27:33 left", None, "")
    view.take([Progress(time=7.0, phase="search", done=1e7, total=1e20, unit="nodes", seconds_left=1e12)])
    assert view.remaining_text == ""
    view.take([Progress(time=13.0, phase="search", done=2e7, total=1e10, unit="nodes", **expected)])
    assert (view.remaining_text, view.fraction) == ("44:09 to 4:27:33 left", 2e-3)


def test_texts_of_ticks_differ_and_have_as_many_decimals(qtbot):
    axis = NumberAxis("left")
    for ticks, spacing, texts in (
        ([-18412.00005, -18412.0, -18411.99995], 5e-5, ["-18412.00005", "-18412.00000", "-18411.99995"]),
        ([1e-5, 1.5e-5], 5e-6, ["1.0·10⁻⁵", "1.5·10⁻⁵"]),
        ([5000.0, 10000.0], 5000, ["5k", "10k"]),
        ([0.0, 5e24, 1e25], 5e24, ["0", "0.5·10²⁵", "1.0·10²⁵"]),
    ):
        assert axis.tickStrings(ticks, 1.0, spacing) == texts


def test_a_count_has_neither_bound_nor_gap_and_progress_without_a_unit_no_rate():
    view, note = RunView(), RunNote("a", "a", "a")
    view.take([STARTED, *(Progress(time=done, phase="first solution", done=done, total=1) for done in (0.0, 1.0))])
    assert (view.rate, view.fraction) == (None, 1.0)
    view.take([Finished(time=1.0, status="complete", objective=365_596, bound=365_596, gap=0.0)])
    note.follow(view)
    assert (note.best, note.bound, note.gap) == (365_596, None, None)


BEGUN = STARTED.model_copy(update={"sense": "minimize"})
GAPS = {0.1234567: "12.35 %", 0.0: "0 %", 7.349e-9: "< 0.001 %", 0.00012346: "0.01235 %", 0.05: "5 %", 20.0: "> 1000 %"}


@pytest.mark.parametrize(("gap", "text"), GAPS.items())
def test_a_gap(qtbot, tmp_path, gap, text):
    best = Incumbent(time=1.0, objective=2178, bound=1916, gap=gap)
    events = [BEGUN, best, Finished(time=2.0, status="time_limit", objective=2178, bound=1916, gap=gap)]
    panel, note, view = panel_of(qtbot, "knapsack"), noted(tmp_path, "a", events), RunView()
    panel.feed(events)
    view.take(events)
    note.follow(view)
    assert figure(panel, "objective").unit.endswith(f"gap {text}")
    assert dict(panel.summary())["Gap"] == column_named("gap").text(note) == text
    assert f"gap {text}" in accessible_text(note, note.title)
    assert _best_text(best, wide=True) == f"best 2,178  bound 1,916  gap {text}"
    assert compared(qtbot, [note, note])[2]["gap"] == [text, text]


def test_a_share_is_all_only_when_it_is(qtbot, monkeypatch):
    texts = {
        0.35974: "36 %",
        0.0002228: "0.0223 %",
        0.5: "50 %",
        0.99996: "99.9960 %",
        1 - 1e-9: "> 99.9999 %",
        1.0: "100 %",
        0.0: "0 %",
    }
    written = []
    monkeypatch.setattr(charts, "draw_text", lambda _painter, _at, text, *_: written.append(text))
    panel = panel_of(qtbot, "branch_and_bound")
    panel.resize(900, 600)
    for share, text in texts.items():
        panel.feed([Metric(time=1.0, name="explored_share", value=share)])
        written.clear()
        figure(panel, "explored").to_image(1.0)
        assert dict(panel.summary())["Leaves explored"] == written[-1] == text


def test_numbers_have_one_form(qtbot):
    panel = panel_of(qtbot, "branch_and_bound")
    assert figure(panel, "nodes_per_second").value_text(5.94e6) == short_number_text(5.94e6) == "5.94M"
    assert rate_text((5.94e6, "nodes/s")) == "5.94M nodes/s"
    assert [cell_text(value) for value in (12_345_678.0, 65_586.4, 0.00123456)] == ["12,345,678", "65,586", "0.0012346"]
    assert [value_text(v) for v in (None, 1234567, 0.5, 3.0)] == ["–", "1,234,567", "0.5", "3"]
    texts = ["0.0 s", "0.012 s", "0.1 s", "1.3 s", "1:01", "1:01:01"]
    assert [seconds_text(v) for v in (0, 0.0123, 0.1, 1.26, 61, 3661)] == texts
    assert [duration(3729), duration(65), duration(0.25, 0.05)] == ["1:02:09", "1:05", "0.25 s"]
    assert [short_seconds_text(0.00085), short_seconds_text(3.21)] == ["850 µs", "3.21 s"]
    assert [short_number_text(value) for value in (math.nan, 999.96e6, 0.00123)] == ["–", "1G", "0.00123"]
    counters = {"certificate_reach": 3e300, "nodes": 12345}
    note = RunNote("a", "a", "a", counters=counters)
    assert [column_named(f"counter.{name}").text(note) for name in counters] == ["unlimited", "12,345"]


def test_a_run_taken_in_from_elsewhere_keeps_its_warnings(tmp_path):
    folder = tmp_path / "elsewhere"
    shutil.copytree(SAMPLES / "recorded" / "knapsack", folder)
    lines = (folder / "events.jsonl").read_text().splitlines()
    notices = [Notice(time=1, level=level, message=level) for level in ("warning", "info", "warning")]
    (folder / "events.jsonl").write_text("\n".join([lines[0], *map(to_json, notices), *lines[1:]]) + "\n")
    assert described(folder, "a", LIGHT.good).warnings == ["warning"]
