"""Words and labels in dashboards: what is waited for, names of columns, tiles, marks and points that are seen whole."""

import numpy as np
import pytest
from PySide6.QtGui import QFontMetricsF, QGuiApplication

from engine.base.solver import MetricSpec
from engine.events import Compiling, Finished, Incumbent, Metric, Progress, StateChanged
from gui.app.theme import LIGHT
from gui.plot.axes import NumberAxis, TimeAxis
from gui.plot.live import LivePlot
from gui.plot.scatter import ScatterPlot
from gui.runs.notes import RunNote
from gui.runs.view import RunView
from tests.support import counting
from tests.support.dashboards import panel_of

STARTED = counting.STARTED


# --- what is waited for -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metrics", [(), (MetricSpec("speed", "Speed", "steps/s"),)], ids=["progress", "metric"])
def test_the_rate_of_a_phase_ends_with_it(metrics):
    summary = RunView()
    summary.take([STARTED.model_copy(update={"metrics": [vars(spec) for spec in metrics]})])
    for tenth in range(20):
        summary.take(
            [
                Progress(time=tenth / 10, phase="warm-up", done=tenth, total=100, unit="steps"),
                *(Metric(time=tenth / 10, name=spec.name, value=3.62) for spec in metrics),
            ]
        )
    assert summary.rate is not None
    summary.take([Compiling(time=2.0, device="opencl:0", template="gibbs/draw", count=3)])
    assert summary.rate is None
    assert summary.phase == "compiling kernels (3)"
    summary.take([Compiling(time=2.0, device="opencl:0", template="gibbs/draw", count=4, usual=10)])
    assert summary.phase == "compiling kernels (4 of about 10)"
    summary.usual_kernels = 3  # of an earlier run
    summary.take([Compiling(time=2.0, device="opencl:0", template="gibbs/draw", count=4, usual=10)])
    assert summary.phase == "compiling kernels (4, usually 3)"


def test_progress_without_a_unit_has_no_rate():
    summary = RunView()
    summary.take([STARTED, *(Progress(time=done, phase="first solution", done=done, total=1) for done in (0.0, 1.0))])
    assert summary.rate is None
    assert summary.fraction == 1.0


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


def test_a_count_has_neither_bound_nor_gap():
    summary, note = RunView(), RunNote("a", "a", "a")
    summary.take([STARTED, Finished(time=1.0, status="complete", objective=365_596, bound=365_596, gap=0.0)])
    note.follow(summary)
    assert (note.best, note.bound, note.gap) == (365_596, None, None)


def test_numbers_beyond_all_prefixes_are_powers_of_ten_on_an_axis(qtbot):
    axis = NumberAxis("left")
    assert axis.tickStrings([0.0, 5e24, 1e25], 1.0, 5e24) == ["0", "0.5·10²⁵", "1.0·10²⁵"]
    assert axis.tickStrings([0.0, 5e16, 1e17], 1.0, 5e16) == ["0", "0.5·10¹⁷", "1.0·10¹⁷"]


def test_texts_of_ticks_differ_and_have_as_many_decimals(qtbot):
    axis = NumberAxis("left")
    ticks = [-18412.00005, -18412.0, -18411.99995]
    assert axis.tickStrings(ticks, 1.0, 5e-5) == ["-18412.00005", "-18412.00000", "-18411.99995"]
    assert NumberAxis("left").tickStrings([1e-5, 1.5e-5], 1.0, 5e-6) == ["1.0·10⁻⁵", "1.5·10⁻⁵"]
    assert NumberAxis("left").tickStrings([5000.0, 10000.0], 1.0, 5000) == ["5k", "10k"]


# --- seen whole ---------------------------------------------------------------------------------------------------


def test_points_on_the_ends_of_an_axis_are_seen_whole(qtbot):
    plot = ScatterPlot("Items", theme=LIGHT, x_title="weight", y_title="profit")
    qtbot.addWidget(plot)
    plot.resize(500, 300)
    plot.show()
    x, y = np.array([0.0, 50.0, 100.0]), np.array([0.0, 20.0, 100.0])
    plot.set_points(x, y)
    plot.refresh()
    qtbot.waitUntil(lambda: plot.populated, timeout=120_000)
    plot.refresh()
    box = plot.plot.getViewBox()
    wide, high = box.viewPixelSize()
    (left, right), (bottom, top) = box.viewRange()
    assert min(x.min() - left, right - x.max()) >= 4 * wide
    assert min(y.min() - bottom, top - y.max()) >= 4 * high


@pytest.mark.few(12)
@pytest.mark.parametrize("begin", [0.0, 11.19, 75.0, 300.0, 3599.99])
@pytest.mark.parametrize("span", [0.008, 0.02, 0.5, 3.0, 90.0, 4000.0])
@pytest.mark.parametrize("size", [120, 300, 900])
def test_texts_of_a_time_axis_differ_and_have_room(qtbot, begin, span, size):
    plot = LivePlot("Population", "s", theme=LIGHT)
    qtbot.addWidget(plot)
    axis = plot.plot.getAxis("bottom")
    assert isinstance(axis, TimeAxis)
    spacing, values = axis.tickValues(begin, begin + span, size)[0]
    texts = axis.tickStrings([float(value) for value in values], 1.0, spacing)
    assert len(set(texts)) == len(texts)
    metrics = QFontMetricsF(axis.style["tickFont"] or QGuiApplication.font())
    assert len(texts) < 2 or spacing / span * size >= max(map(metrics.horizontalAdvance, texts))


@pytest.mark.parametrize(("status", "phase"), [("complete", "done"), ("time_limit", "sampling, 40 of 2,000")])
def test_sampling_that_a_limit_ends_is_not_called_done(qtbot, status, phase):
    panel = panel_of(qtbot, "gibbs", size=(900, 600))
    panel.feed([STARTED, Progress(time=1.0, phase="sampling", done=40, total=2000, unit="iterations")])
    panel.feed([Finished(time=2.0, status=status)])
    assert panel.tile("Phase").value == phase
