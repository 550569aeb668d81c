"""Every dashboard on a recorded run: its curves are the events, its pictures the result, live as in replay."""

import base64
import itertools
import re
from html.parser import HTMLParser

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor

from engine.base.solver import MetricSpec
from engine.events import DeviceStatus, Failed, Metric, Started, StateChanged, Trace
from engine.runs.folder.run_folder import RunFolder
from engine.solvers import discover
from gui.app.theme import DARK, LIGHT
from gui.panels import GenericPanel, panel_classes
from gui.plot.listing import Listing
from gui.plot.live import LivePlot
from gui.plot.timeline import LaneTimeline
from gui.report.report import write_report
from tests.support.dashboards import FOLDERS, RECORDED, events_of, figure, ids, panel_of, played, points, values_of


def test_every_solver_with_a_dashboard_has_a_small_recorded_run():
    recorded = {RunFolder.open(folder).description["solver"]: folder for folder in FOLDERS}
    assert set(panel_classes()) & set(discover()) <= set(recorded)
    for solver, folder in recorded.items():
        assert folder.name == solver
        assert sum(path.stat().st_size for path in folder.iterdir()) < 300_000


def test_dashboards_are_found_by_looking_and_others_get_the_generic_one(qtbot):
    for solver in panel_classes():
        panel = panel_of(qtbot, solver)
        assert panel.solver == solver
    panel = panel_of(qtbot, "no such solver")
    assert type(panel) is GenericPanel


@pytest.mark.few(2)
@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_a_dashboard_can_be_looked_at_at_any_moment(qtbot, folder, part):
    panel = played(qtbot, folder, part=part)
    for page in range(panel.pages.count()):
        panel.pages.setCurrentIndex(page)
        qtbot.waitUntil(lambda: not any(one.dirty for one in panel.plots() if one.isVisible()), timeout=120_000)
    panel.set_theme(DARK)
    qtbot.waitUntil(lambda: not any(one.dirty for one in panel.plots() if one.isVisible()), timeout=120_000)
    state = dict(panel.summary())["State"]
    assert (state == "starting") == (part == 0.0)
    if 0 < part < 1:
        assert state == "running"
    if part == 1.0:
        kept = RunFolder.open(folder).result()
        assert kept is not None
        assert state.partition(",")[0] == str(kept.status)


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_all_figures_of_a_finished_run_have_numbers(qtbot, folder):
    panel = played(qtbot, folder)
    for one in panel.plots():
        assert one.table()[1], f"{folder.name}: {one.title}"


@pytest.mark.few(2)
@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_a_run_looks_the_same_however_its_events_are_batched(qtbot, folder):
    one, other = played(qtbot, folder, size=23), played(qtbot, folder, size=10_000)
    assert one.summary() == other.summary()
    for first, second in zip(one.plots(), other.plots(), strict=True):
        assert first.table()[0] == second.table()[0]
        assert [list(row) for row in first.table()[1]] == [list(row) for row in second.table()[1]]


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_the_generic_dashboard_has_a_curve_for_every_series(qtbot, folder):
    panel, events = played(qtbot, folder, solver=""), events_of(folder)
    series = {(event.name, event.device) for event in events if isinstance(event, Metric)}
    specs = {spec.name: spec for spec in panel.run.metrics}
    for name, device in series:
        title = device or (specs[name].title if name in specs else name.replace("_", " "))
        percent = name in specs and specs[name].unit == "share"
        reported = [(time, 100.0 * value if percent else value) for time, value in values_of(events, name, device)]
        assert points(figure(panel, name), title) == reported
        assert not percent or figure(panel, name).unit == "%"
    plotted = {one.key for one in panel.plots()}
    assert {spec.name for spec in panel.run.metrics} <= plotted
    assert {f"trace {event.name}" for event in events if isinstance(event, Trace)} <= plotted


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_the_health_of_devices_is_drawn_as_it_was_reported(qtbot, folder):
    panel = played(qtbot, folder)
    statuses = [event for event in events_of(folder) if isinstance(event, DeviceStatus)]
    assert statuses
    for device in {event.device for event in statuses}:
        own = [event for event in statuses if event.device == device]
        assert points(figure(panel, "busy"), device) == [(event.time, event.busy) for event in own]
        assert points(figure(panel, "device memory"), device) == [(event.time, event.memory_used) for event in own]
        lane = [row for row in figure(panel, "timeline").table()[1] if row[2] == device]
        ends = list(itertools.pairwise([panel.started.time, *(event.time for event in own)]))
        for kind, field in (("at work", "busy"), ("of it, compiling", "compiling")):
            shares = [(begin, end, getattr(one, field) / 100) for (begin, end), one in zip(ends, own, strict=True)]
            assert [(*row[:2], row[4]) for row in lane if row[3] == kind] == shares
        for kind, field in (("host to device", "to_device"), ("device to host", "from_device")):
            copied = [(end - begin) * rate for begin, end, _, what, _, rate in lane if what == kind]
            assert copied == pytest.approx([getattr(one, field) for one in own])


def test_a_lane_says_what_is_known_of_a_device_and_stays_blank_elsewhere(qtbot):
    timeline = LaneTimeline("Timeline", theme=LIGHT)
    qtbot.addWidget(timeline)
    timeline.add_share("gpu", "stealing", 4.0, 0.2, since=3.0)
    timeline.add_share("gpu", "at work", 4.0, 0.5, since=3.0)
    timeline.add_share("gpu", "at work", 5.0, 0.0)
    timeline.add_share("late", "at work", 5.0, 1.0)  # since when is not known
    timeline.complete()
    timeline.resize(900, 500)
    picture = timeline.to_image(1.0)
    lane, ground = timeline.plot.getViewBox(), QColor(LIGHT.base)

    def at(time, place):
        point = timeline.view.mapFromScene(lane.mapViewToScene(QPointF(time, place)))
        top = picture.height() - timeline.view.height()
        return picture.pixelColor(point.x() + 8, point.y() + top)

    assert at(2.13, 0.57) == at(4.43, 1.4) == ground
    assert [at(3.57, 0.47), at(3.57, 0.62)] == [QColor(LIGHT.colour(0)), QColor(LIGHT.colour(4))]
    assert at(3.57, 0.2) == at(4.43, 0.57) == QColor(LIGHT.grid)
    assert [row[:3] for row in timeline.table()[1]] == [(3.0, 4.0, "gpu")] * 2 + [(4.0, 5.0, "gpu")]


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self):
        super().__init__()
        self.images = []
        self.links = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "img":
            self.images.append(values["src"] or "")
        self.links += [value for name, value in attrs if name in ("href", "src") and value and tag != "img"]

    def handle_data(self, data):
        self.text += data


@pytest.mark.few(1)
@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_a_report_is_one_file_with_every_picture(qtbot, tmp_path, folder):
    panel = played(qtbot, folder, theme=DARK)
    write_report(panel, tmp_path / "report.html")
    page = Page()
    page.feed((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.links == []
    assert len(page.images) == sum(one.pictured and bool(one.table()[1]) for one in panel.plots()) >= 6
    for source in page.images:
        head, _, data = source.partition(",")
        assert head == "data:image/svg+xml;base64"
        assert base64.b64decode(data).startswith(b"<?xml")
    for _, value in panel.summary():
        assert value in page.text
    assert panel.theme is DARK


def test_a_page_is_scrolled_only_where_its_figures_cannot_be_lower(qtbot):
    panel = played(qtbot, RECORDED / "knapsack")
    panel.resize(820, 300)
    page = panel.pages.widget(0)
    bar = page.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0, timeout=120_000)
    around, two_rows = 300 - page.viewport().height(), 2 * panel.plots()[0].minimumHeight() + 18
    panel.resize(820, around + two_rows + 2)
    qtbot.waitUntil(lambda: bar.maximum() == 0, timeout=120_000)


def test_a_resumed_run_goes_on_from_its_checkpoint(qtbot):
    panel = panel_of(qtbot, "", (MetricSpec("speed", "Speed"),))
    start = next(event for event in events_of(RECORDED / "knapsack") if isinstance(event, Started))
    metric = [Metric(time=k / 10, name="speed", value=k) for k in range(100)]
    again = [Metric(time=5 + k / 10, name="speed", value=-k) for k in range(1, 5)]
    panel.feed([start, *metric, start.model_copy(update={"resumed": True, "time": 5.0}), *again])
    values = [value for _, value in points(figure(panel, "speed"), "Speed")]
    assert values == [*range(51), -1, -2, -3, -4]


def test_states_and_failures_are_said(qtbot):
    panel = panel_of(qtbot, "knapsack")
    panel.feed([StateChanged(time=1.0, state="paused")])
    assert dict(panel.summary())["State"] == "paused"
    panel.feed([Failed(time=2.0, error="DeviceError", message="the device is gone", exit_code=3)])
    assert dict(panel.summary())["State"] == "failed"


def test_a_hidden_page_is_not_drawn_until_it_is_seen(qtbot, monkeypatch):
    drawn = []
    redraw = LivePlot.redraw
    monkeypatch.setattr(LivePlot, "redraw", lambda self: (drawn.append(self.title), redraw(self))[1])
    panel = played(qtbot, RECORDED / "knapsack", part=0.5)
    hidden = [one.title for one in panel.plots() if isinstance(one, LivePlot) and not one.isVisible()]
    assert hidden
    assert not set(hidden) & set(drawn)
    assert not any(one.populated for one in panel.plots() if one.title in hidden)
    panel.pages.setCurrentIndex(1)
    qtbot.waitUntil(lambda: "Exchanged between devices" in drawn, timeout=120_000)


def test_metrics_that_are_not_declared_are_shown_too(qtbot):
    panel = panel_of(qtbot, "", ())
    panel.feed([Metric(time=1.0, name="luck_so_far", value=7.0)])
    assert points(figure(panel, "luck_so_far"), "Luck so far") == [(1.0, 7.0)]


def test_curves_of_the_network_and_listing_names_are_accessible(qtbot):
    panel = played(qtbot, RECORDED / "boa")
    for one in panel.plots():
        assert one.accessibleName() == one.title
        assert one.menu_button.accessibleName()
        assert isinstance(one, Listing) or one.data_button.accessibleName()
    assert not re.search(r"\d", panel.pages.accessibleName())


def test_a_narrow_page_has_fewer_columns_and_never_scrolls_sideways(qtbot):
    panel = played(qtbot, RECORDED / "branch_and_bound", part=0.5)
    page = panel.pages.currentWidget()
    for width, columns in ((1100, 3), (640, 2), (380, 1)):
        panel.resize(width, 700)

        def fits(columns=columns):
            places = {page.grid.getItemPosition(place)[1] for place in range(page.grid.count())}
            assert max(places) == columns - 1
            assert page.widget().width() <= page.viewport().width()

        qtbot.waitUntil(fits, timeout=120_000)


def test_lanes_of_the_timeline_are_in_the_order_of_the_pool(qtbot):
    timeline = played(qtbot, RECORDED / "knapsack").device_page.timeline
    assert list(timeline._lanes) == ["opencl:0", "opencl:1"]
