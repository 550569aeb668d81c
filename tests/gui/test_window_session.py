"""What the window keeps: runs to open, compare, replay, rename, delete and export; a session to find again."""

import gc
import json
import shutil
import time
import weakref
import zipfile
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QAbstractScrollArea, QInputDialog, QWidget

import engine
from engine.events import Metric, to_json
from engine.runs.folder.run_folder import RunFolder
from engine.util.text import value_text
from gui.app.theme import LIGHT
from gui.compare.tab import CompareTab
from gui.runs.child import Child
from gui.runs.library import Library
from gui.runs.notes import RunNote
from gui.window.bars import ReplayBar
from tests.support import counting
from tests.support.app import COUNTING, SAMPLES
from tests.support.interaction import CONTROL, SHIFT, answer, begin, drop, ended, load, opened, shown, solved


@pytest.fixture
def window(open_window, counting_files):
    return open_window(COUNTING)


@pytest.fixture
def _slow_replays(monkeypatch):
    """Replays take a hundred times longer, so that none ends before it is paused."""
    slow = SimpleNamespace(monotonic=lambda: time.monotonic() / 100)
    monkeypatch.setattr("gui.runs.player.time", slow)


@pytest.fixture
def notes(tmp_path, counting_files):
    """Two runs of the same file that differ in an option, kept from an earlier session."""
    library = Library(tmp_path / "home")
    made = []
    for options in ({"slice_seconds": 0.02, "step": 5}, {"slice_seconds": 0.005}):
        note = library.new("small", solver="counting", source=str(counting_files / "small.txt"), options=options)
        with pytest.MonkeyPatch.context() as patch:
            counting.install(patch)
            engine.solve(counting.Counting.read(counting_files / "small.txt"), run_folder=note.folder, **options)
        made.append(note)
    return made


@pytest.fixture
def tabs(qtbot, notes, window):
    """The two runs, opened."""
    opened = []
    for note in notes:
        window.run_list.select(window.library.find(note.key))
        window.runs.open_selected()
        opened.append(window.tabs.currentWidget())
    qtbot.waitUntil(lambda: all(tab.complete for tab in opened), timeout=120_000)
    return opened


def test_runs_are_kept_across_restarts_with_the_whole_session(qtbot, open_window, tabs, window, counting_files):
    load(qtbot, window, counting_files / "small.txt")
    window.pane.form.set_values({"style": "fancy", "extra": 4, "step": 5})
    window.tool_bar.set_values({"time_limit": 12.5, "devices": ["opencl:0"]})
    window.appearance.choose("dark")
    window.resize(790, 640)
    window.docks["log"].hide()
    window.tabs.setCurrentWidget(tabs[1])
    window.run_tabs.close_current()
    window.tabs.setCurrentWidget(tabs[0])
    first = tabs[0].note
    window.close()
    again = open_window(COUNTING)
    assert {note.state for note in again.library} == {"optimal"}
    assert again.library.find(first.key).best == first.best
    assert (again.width(), again.height()) == (790, 640)
    assert again.docks["log"].isHidden()
    assert again.theme.dark
    assert [tab.note.key for tab in again.run_tabs.open_runs()] == [first.key]
    qtbot.waitUntil(lambda: again.pane.instance is not None, timeout=120_000)
    assert again.pane.options() == {"step": 5, "style": "fancy", "extra": 4}
    assert again.tool_bar.given() == {"time_limit": 12.5, "devices": ["opencl:0"]}
    tab = again.tabs.currentWidget()
    qtbot.waitUntil(lambda: tab.complete, timeout=120_000)
    assert tab.view.best == first.best
    assert "small.txt" in again.pane.gallery.topLevelItem(0).child(0).text(0)


def curve(figure, name):
    found = next(one for one in figure.curves if one.name == name)
    return tuple(points.tolist() for points in found.data.points())


def test_tabs_are_compared_curve_over_curve(qtbot, tabs, window):
    notes = [tab.note for tab in tabs]
    window.run_list.select(*notes)
    qtbot.keyClick(window, Qt.Key.Key_D, CONTROL)
    tab = window.tabs.currentWidget()
    assert isinstance(tab, CompareTab)
    assert tab.title.startswith("small: ")
    assert tab.title.count("small") == 1
    qtbot.waitUntil(lambda: tab.complete, timeout=120_000)
    figure = next(figure for figure in tab.plots() if figure.title == "Number reached")
    assert len(figure.curves) == 2
    assert figure.curves[0].dash != figure.curves[1].dash
    assert figure.curves[0].colour != figure.curves[1].colour
    for place, note in enumerate(tab.notes):
        events = [event for event in RunFolder.open(note.folder).events() if event.type == "metric"]
        assert curve(figure, str(place + 1)) == ([e.time for e in events], [e.value for e in events])
    cells = [[tab.table.item(row, column).text() for column in range(3)] for row in range(tab.table.rowCount())]
    assert ["best", *(value_text(note.best) for note in tab.notes)] in cells
    assert ["step", *(str(RunFolder.open(n.folder).description["options"]["step"]) for n in tab.notes)] in cells
    pictures = []
    for theme in ("light", "dark"):
        window.appearance.choose(theme)
        pictures.append(window.tabs.tabIcon(window.tabs.indexOf(tab)).pixmap(16, 16).toImage())
    assert pictures[0] != pictures[1]
    window.run_tabs.close_current()
    assert len(window.run_tabs.opened()) == 2


@pytest.mark.usefixtures("_slow_replays")
def test_a_replay_shows_the_run_again_at_the_speed_that_is_chosen(qtbot, tabs, window):
    tab = tabs[0]
    live = [(c.name, *c.data.points()) for figure in tab.panel.plots() for c in getattr(figure, "curves", [])]
    window.run_list.select(tab.note)
    qtbot.keyClick(window, Qt.Key.Key_F7)
    qtbot.waitUntil(lambda: tab.bar is not None, timeout=120_000)
    bar = tab.bar
    assert tab.player.speed == 1.0
    bar.play.click()
    assert tab.player.paused
    bar.slider.setValue(0)
    half = tab.player.duration / 2
    tab.player.seek(half)
    qtbot.waitUntil(lambda: not tab.player.seeking, timeout=120_000)
    before = [event.time for event in RunFolder.open(tab.note.folder).events() if event.time <= half]
    assert (tab.player.position, tab.panel.time) == (half, before[-1])
    assert tab.view.state == "running"
    bar.speed.setCurrentIndex(bar.speed.findText("at once"))
    bar.play.click()
    qtbot.waitUntil(lambda: tab.complete, timeout=120_000)
    assert tab.view.state == "optimal"
    again = [(c.name, *c.data.points()) for figure in tab.panel.plots() for c in getattr(figure, "curves", [])]
    assert [name for name, *_ in again] == [name for name, *_ in live]
    for (_, x, y), (_, u, v) in zip(live, again, strict=True):
        assert (x.tolist(), y.tolist()) == (u.tolist(), v.tolist())


def test_a_sleeping_tab_is_replayed_once_at_its_speed(qtbot, open_window, tabs, window):
    window.close()
    again = open_window(COUNTING)
    note = again.library.find(tabs[0].note.key)
    tab = again.run_tabs.runs[note.key]
    assert tab.panel is None
    again.run_list.select(note)
    again.runs.replay()
    again.runs.replay()
    qtbot.waitUntil(lambda: tab.bar is not None and tab._job is None, timeout=120_000)
    qtbot.wait(100)
    assert tab.findChildren(ReplayBar) == [tab.bar]
    assert tab.player.speed == 1.0


def test_a_run_with_events_that_cannot_be_shown_does_not_hold_up_others(qtbot, window, tmp_path):
    odd = tmp_path / "odd"
    shutil.copytree(SAMPLES / "recorded" / "boa", odd)
    lines = (odd / "events.jsonl").read_text().splitlines()
    place = next(place for place, line in enumerate(lines) if '"edges"' in line and '"trace"' in line)
    trace = json.loads(lines[place])
    trace["values"] = trace["values"][:1]
    lines[place] = json.dumps(trace)
    (odd / "events.jsonl").write_text("\n".join(lines) + "\n")
    tabs = [opened(qtbot, window, folder) for folder in (odd, SAMPLES / "recorded" / "linprog")]
    qtbot.waitUntil(lambda: all(tab.complete for tab in tabs), timeout=120_000)
    assert [tab.view.state for tab in tabs] == ["optimal", "optimal"]
    assert "shown incompletely" in tabs[0].banner.text.text()
    assert tabs[1].banner.isHidden()


def test_a_resumed_run_is_compared_without_cutting_the_other(qtbot, tmp_path):
    notes = []
    for title in ("a longer title", "a"):  # read in this order
        points = [Metric(time=t / 10, name="at", value=t) for t in range(1, 41)]
        started = counting.STARTED
        resumed = [] if not notes else [started.model_copy(update={"time": 1.0, "resumed": True})]
        (tmp_path / title).mkdir()
        events = (started, *points, *resumed)
        (tmp_path / title / "events.jsonl").write_text("".join(to_json(event) + "\n" for event in events))
        notes.append(RunNote(title, str(tmp_path / title), title))
    tab = CompareTab(notes, LIGHT)
    qtbot.addWidget(tab)
    qtbot.waitUntil(lambda: bool(tab.tick()) or tab.complete, timeout=120_000)
    (at,) = (figure for figure in tab.plots() if figure.title == "At")
    assert [curve.data.last_time for curve in at.curves if curve.name == "a"] == [1.0]
    assert [curve.data.last_time for curve in at.curves if curve.name == "a longer title"] == [4.0]


def test_a_file_that_is_chosen_before_the_last_was_read_takes_its_place(qtbot, window, counting_files):
    window.problems.load(counting_files / "small.txt")
    window.problems.load(counting_files / "endless.txt")
    qtbot.waitUntil(lambda: window.problems.loading is None, timeout=120_000)
    assert window.pane.instance.path.name == "endless.txt"
    assert window.jobs.pending == []


def test_a_run_is_renamed_run_again_with_changes_and_deleted(qtbot, tabs, window, counting_files):
    note = tabs[0].note
    load(qtbot, window, counting_files / "endless.txt")
    window.run_list.select(note)
    qtbot.keyClick(window, Qt.Key.Key_F2)
    dialog = window.findChild(QInputDialog)
    dialog.setTextValue("by fives")
    dialog.accept()
    assert window.tabs.tabText(window.tabs.indexOf(tabs[0])) == "by fives"
    assert json.loads((window.library.runs / f"{note.key}.json").read_text())["title"] == "by fives"
    note.title = "R&D, a run with a very long name, seed 17"
    window.run_tabs.update_titles()
    assert window.tabs.tabText(window.tabs.indexOf(tabs[0])) == "R&&D, a run with a…e, seed 17"
    assert window.minimumSizeHint().width() <= 1024
    note.title = "by fives"
    window.run_tabs.update_titles()
    qtbot.keyClick(window, Qt.Key.Key_R, CONTROL | SHIFT)
    qtbot.waitUntil(
        lambda: window.pane.title.text() == "small" and window.pane.options() == note.options, timeout=120_000
    )
    assert note.options == {"step": 5, "slice_seconds": 0.02}
    window.activateWindow()  # as a window manager does when a dialog has closed
    qtbot.waitUntil(window.isActiveWindow, timeout=120_000)
    window.run_list.select(note)
    qtbot.keyClick(window, Qt.Key.Key_3, CONTROL)
    qtbot.keyClick(window.run_list.view, Qt.Key.Key_Delete, SHIFT)
    answer(qtbot, window, "Delete")
    assert not note.path.exists()
    assert [entry.key for entry in window.library] == [tabs[1].note.key]
    assert window.run_list.count() == 1
    assert len(window.run_tabs.opened()) == 1


def test_a_stopped_run_continues_from_its_checkpoint(qtbot, window, counting_files, monkeypatch):
    (counting_files / "long.txt").write_text(f"count 400 {counting.expected(400)}\n")
    load(qtbot, window, counting_files / "long.txt")
    window.pane.form.set_values({"hold": 100})
    tab = begin(qtbot, window)
    qtbot.waitUntil(lambda: tab.view.done > 50, timeout=120_000)
    window.actions_by_name["stop"].trigger()
    ended(qtbot, tab)
    assert tab.note.state == "interrupted"
    silent, take = [True], Child.take
    monkeypatch.setattr(Child, "take", lambda child, most: [] if silent else take(child, most))
    window.launcher.resume()
    window.launcher.resume()  # pressed twice
    qtbot.waitUntil(lambda: not window.jobs.pending, timeout=120_000)
    qtbot.waitUntil(
        lambda: window.tabs.currentWidget() is not tab and len(window.run_tabs.opened()) == 1, timeout=120_000
    )
    again = window.tabs.currentWidget()
    qtbot.waitUntil(lambda: again.panel is not None and again.player is None, timeout=120_000)
    assert (again.view.state, dict(again.panel.summary())["State"]) == ("starting", "starting")
    silent.clear()  # what the process reports arrives from now on
    ended(qtbot, again)
    assert again.note is tab.note
    assert (again.note.state, again.note.best) == ("optimal", counting.expected(400))
    assert len([e for e in RunFolder.open(again.note.folder).events() if e.type == "started"]) == 2


def test_a_recorded_run_can_be_dropped_on_the_window(qtbot, tabs, window, tmp_path):
    moved = tmp_path / "moved"
    window.exports.write_zip(tabs[0].note, tmp_path / "run.zip")
    qtbot.waitUntil((tmp_path / "run.zip").is_file, timeout=120_000)
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        archive.extractall(moved)
    (folder,) = moved.iterdir()
    drop(window, folder)
    tab = shown(qtbot, window, folder)
    qtbot.waitUntil(lambda: tab.complete, timeout=120_000)
    assert tab.note.folder == str(folder)
    assert tab.note.best == tabs[0].note.best


def test_a_recorded_sample_is_replayed_at_its_speed(qtbot, window):
    folder = SAMPLES / "recorded" / "knapsack"
    window.problems.pane.replay_requested.emit(folder)
    tab = shown(qtbot, window, folder)
    qtbot.waitUntil(lambda: tab.player is not None, timeout=120_000)
    assert tab.player.speed == 1.0


def test_every_plot_is_exported_as_picture_drawing_and_table(qtbot, tabs, window, tmp_path):
    for kind in ("png", "svg", "pdf", "csv"):
        window.exports.write_plots(kind, tmp_path / kind)
        filled = [plot for plot in tabs[1].panel.plots() if plot.table()[1]]
        wanted = [plot for plot in filled if kind == "csv" or plot.pictured]
        assert len(list((tmp_path / kind).glob(f"*.{kind}"))) == len(wanted)
    (table,) = (tmp_path / "csv").glob("*number-reached.csv")
    rows = table.read_text().splitlines()
    assert float(rows[-1].split(",")[1]) == 100
    (drawing,) = (tmp_path / "svg").glob("*number-reached.svg")
    assert "<svg" in drawing.read_text()[:500]
    window.exports.write_report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Number reached" in page
    assert page.count("<img") >= 2


def test_a_tab_closed_while_its_run_goes_on_leaves_the_run_alone(qtbot, window, counting_files):
    load(qtbot, window, counting_files / "endless.txt")
    tab = begin(qtbot, window)
    qtbot.keyClick(window, Qt.Key.Key_W, CONTROL)
    assert window.run_tabs.opened() == []
    assert tab.live
    window.run_list.select(tab.note)
    window.actions_by_name["open_run"].trigger()
    assert window.tabs.currentWidget() is tab
    window.actions_by_name["stop"].trigger()
    ended(qtbot, tab)
    assert tab.note.state == "interrupted"


def test_quitting_asks_stops_the_runs_and_closes(qtbot, window, counting_files):
    load(qtbot, window, counting_files / "endless.txt")
    tab = begin(qtbot, window)
    window.close()
    assert window.isVisible()
    answer(qtbot, window, "Cancel")
    qtbot.wait(100)
    assert window.isVisible()
    assert tab.live
    window.close()
    answer(qtbot, window, "Stop and quit")
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=120_000)
    assert RunFolder.open(tab.note.folder).result().status == "interrupted"
    assert json.loads((window.library.runs / f"{tab.note.key}.json").read_text())["state"] == "interrupted"


def test_light_and_dark_reach_every_part_and_the_system_is_followed(qtbot, tabs, window):
    def ground():
        return QGuiApplication.palette().color(QPalette.ColorRole.Window).name()

    def picture_is_dark(widget):
        image = widget.grab().toImage()
        places = [(x, y) for x in range(5, image.width(), 23) for y in range(5, image.height(), 19)]
        return sum(QColor(image.pixel(x, y)).lightness() for x, y in places) / len(places) < 110

    tab = window.tabs.currentWidget()
    for name in ("light", "dark"):
        window.appearance.choose(name)
        assert ground() == window.theme.window
        parts = (window, window.pane, window.run_list, window.log, tab.panel, window.tool_bar)
        assert [picture_is_dark(part) for part in parts] == [name == "dark"] * len(parts)
    hints = QGuiApplication.styleHints()
    window.appearance.choose("system")
    try:
        hints.setColorScheme(Qt.ColorScheme.Dark)
        assert window.theme.dark == (hints.colorScheme() == Qt.ColorScheme.Dark)
    finally:
        hints.unsetColorScheme()
    qtbot.keyClick(window, Qt.Key.Key_T, CONTROL)
    assert window.appearance.choice in ("light", "dark")


def test_the_log_is_filtered_by_level_and_words(qtbot, window, counting_files):
    drop(window, counting_files / "bad.txt")
    qtbot.waitUntil(lambda: any("whole number" in line for line in window.log.messages()), timeout=120_000)
    everything = len(window.log.messages())
    window.log.level.setCurrentIndex(2)
    assert window.log.messages() == [line for line in window.log.messages() if "whole number" in line]
    window.log.level.setCurrentIndex(0)
    qtbot.keyClicks(window.log.filter, "number bad.txt")
    assert len(window.log.messages()) == 1
    window.log.filter.clear()
    assert len(window.log.messages()) == everything
    for number in range(6000):
        window.log.add(str(number))
    assert len(window.log.messages()) <= 5000
    assert window.log.messages()[-1] == "5999"


def test_everything_that_takes_the_focus_has_a_name(qtbot, tabs, window):
    nameless = [
        widget
        for widget in window.findChildren(QWidget)
        if widget.isVisible()
        and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not widget.accessibleName()
        and not getattr(widget, "text", str)()
        and not widget.objectName().startswith("qt_")
        and not isinstance(widget.parent(), QAbstractScrollArea)
    ]
    assert [(type(w).__name__, type(w.parent()).__name__) for w in nameless] == []


def test_backend_and_devices_that_are_ticked_go_into_the_command(qtbot, open_window):
    window = open_window()
    load(qtbot, window, SAMPLES / "knapsack" / "strongly-1000.txt")
    name = next(iter(window.tool_bar.boxes))
    window.tool_bar.boxes[name].setChecked(True)
    qtbot.keyClicks(window.tool_bar.time_limit, "7.5")
    text = window.pane.text.toPlainText()
    assert f"--devices {name}" in text
    assert "--time-limit 7.5" in text
    window.pane.kind.setCurrentIndex(1)
    assert f"devices=['{name}']" in window.pane.text.toPlainText()
    qtbot.mouseClick(window.pane.copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == window.pane.python_text()


@pytest.mark.full
def test_a_tab_that_is_closed_is_forgotten(qtbot, notes, window, counting_files):
    shown = []

    def close():
        shown.append(weakref.ref(window.tabs.currentWidget()))
        window.run_tabs.close_current()

    window.run_list.select(window.library.find(notes[0].key))
    window.runs.open_selected()
    qtbot.waitUntil(lambda: window.tabs.currentWidget().complete, timeout=120_000)
    close()
    window.run_list.select(*(window.library.find(note.key) for note in notes))
    window.runs.compare()
    qtbot.waitUntil(lambda: window.tabs.currentWidget().complete, timeout=120_000)
    close()
    solved(qtbot, window, counting_files / "small.txt")
    close()
    qtbot.wait(50)
    gc.collect()
    assert [reference() for reference in shown] == [None] * 3
