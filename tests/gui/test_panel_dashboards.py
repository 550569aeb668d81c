"""Every dashboard on a recorded run: its curves are the events, its pictures the result, live as in replay."""

import base64
import html
import itertools
import re

import pytest

from engine.events import DeviceStatus, Failed, Metric, Trace
from engine.runs.folder.run_folder import RunFolder
from engine.solvers import discover
from gui.app.theme import DARK
from gui.panels import GenericPanel, panel_classes
from gui.plot.listing import Listing
from gui.report.report import write_report
from tests.support.dashboards import FOLDERS, events_of, figure, ids, panel_of, played, points, values_of


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


@pytest.mark.few(1)
@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_a_report_is_one_file_with_every_picture(qtbot, tmp_path, folder):
    panel = played(qtbot, folder, theme=DARK)
    write_report(panel, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    pictures = re.findall(r'<img[^>]* src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert len(pictures) == sum(one.pictured and bool(one.table()[1]) for one in panel.plots()) >= 6
    assert all(base64.b64decode(picture).startswith(b"<?xml") for picture in pictures)
    assert len(re.findall(r"(href|src)=", page)) == len(pictures)  # nothing is elsewhere
    assert all(html.escape(value, quote=False) in page for _, value in panel.summary())
    assert panel.theme is DARK


def test_every_solver_has_a_dashboard_of_its_own_and_a_small_recorded_run(qtbot):
    recorded = {RunFolder.open(folder).description["solver"]: folder for folder in FOLDERS}
    assert set(panel_classes()) & set(discover()) <= set(recorded)
    for solver, folder in recorded.items():
        assert folder.name == solver == panel_of(qtbot, solver).solver
        assert sum(path.stat().st_size for path in folder.iterdir()) < 300_000
    assert type(panel_of(qtbot, "no such solver")) is GenericPanel


@pytest.mark.few(4)
@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_a_dashboard_can_be_looked_at_at_any_moment_and_every_figure_has_numbers_at_the_end(qtbot, folder, part):
    panel = played(qtbot, folder, part=part)
    for page in range(panel.pages.count()):
        panel.pages.setCurrentIndex(page)
        qtbot.waitUntil(lambda: not any(one.dirty for one in panel.plots() if one.isVisible()), timeout=120_000)
    panel.set_theme(DARK)
    qtbot.waitUntil(lambda: not any(one.dirty for one in panel.plots() if one.isVisible()), timeout=120_000)
    state = dict(panel.summary())["State"].partition(",")[0]
    status = str(RunFolder.open(folder).result().status)
    assert state == {0.0: "starting", 0.5: "running", 1.0: status}[part]
    assert [one.title for one in panel.plots() if part == 1.0 and not one.table()[1]] == []
    for one in panel.plots():
        assert one.accessibleName() == one.title
        assert isinstance(one, Listing) or one.data_button.accessibleName()


def test_a_failure_is_said(qtbot):
    panel = panel_of(qtbot, "knapsack")
    panel.feed([Failed(time=2.0, error="DeviceError", message="the device is gone", exit_code=3)])
    assert (dict(panel.summary())["State"], panel.view.message) == ("failed", "the device is gone")
