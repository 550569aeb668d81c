"""The window, used like a person would: files dropped, options changed, runs compared, replayed, exported, kept."""

import json
import os
import shutil
import signal
import time
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QAbstractScrollArea, QInputDialog, QWidget

import engine
from engine.runs.folder.run_folder import RunFolder
from gui.compare.tab import CompareTab
from gui.runs.child import Child
from gui.runs.library import Library
from tests.support import counting
from tests.support.app import COUNTING, SAMPLES
from tests.support.interaction import CONTROL, SHIFT, answer, begin, drop, ended, load, opened
from tests.support.needs import POSIX


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


def test_tabs_are_compared_curve_over_curve(qtbot, tabs, window):
    window.run_list.select(*(tab.note for tab in tabs))
    qtbot.keyClick(window, Qt.Key.Key_D, CONTROL)
    tab = window.tabs.currentWidget()
    assert (isinstance(tab, CompareTab), tab.title.count("small")) == (True, 1)
    qtbot.waitUntil(lambda: tab.complete, timeout=120_000)
    figure = next(figure for figure in tab.plots() if figure.title == "Number reached")
    assert len({(curve.colour, curve.dash) for curve in figure.curves}) == 2
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

    def curves():
        shown = [(c.name, *c.data.points()) for figure in tab.panel.plots() for c in getattr(figure, "curves", [])]
        return [(name, x.tolist(), y.tolist()) for name, x, y in shown]

    live = curves()
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
    assert (tab.player.position, tab.panel.time, tab.view.state) == (half, before[-1], "running")
    bar.speed.setCurrentIndex(bar.speed.findText("at once"))
    bar.play.click()
    qtbot.waitUntil(lambda: tab.complete, timeout=120_000)
    assert tab.view.state == "optimal"
    assert curves() == live


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
    dialog.setTextValue("R&D, a run with a very long name, seed 17")
    dialog.accept()
    assert window.tabs.tabText(window.tabs.indexOf(tabs[0])) == "R&&D, a run with a…e, seed 17"
    assert window.minimumSizeHint().width() <= 1024
    assert json.loads(note.path.with_name(f"{note.key}.json").read_text())["title"] == note.title
    qtbot.keyClick(window, Qt.Key.Key_R, CONTROL | SHIFT)
    qtbot.waitUntil(
        lambda: window.pane.title.text() == "small" and window.pane.options() == note.options, timeout=120_000
    )
    window.activateWindow()  # as a window manager does when a dialog has closed
    qtbot.waitUntil(window.isActiveWindow, timeout=120_000)
    window.run_list.select(note)
    qtbot.keyClick(window, Qt.Key.Key_3, CONTROL)
    qtbot.keyClick(window.run_list.view, Qt.Key.Key_Delete, SHIFT)
    answer(qtbot, window, "Delete")
    assert not note.path.exists()
    assert [entry.key for entry in window.library] == [tabs[1].note.key]
    assert window.run_list.count() == len(window.run_tabs.opened()) == 1


def test_a_stopped_run_continues_from_its_checkpoint(qtbot, window, counting_files, monkeypatch):
    (counting_files / "long.txt").write_text(f"count 400 {counting.expected(400)}\n")
    load(qtbot, window, counting_files / "long.txt")
    window.pane.form.set_values({"hold": 100})
    tab = begin(qtbot, window)
    qtbot.waitUntil(lambda: tab.view.done > 50, timeout=120_000)
    window.actions_by_name["stop"].trigger()
    ended(qtbot, tab)
    silent, take = [True], Child.take
    monkeypatch.setattr(Child, "take", lambda child, most: [] if silent else take(child, most))
    window.launcher.resume()
    window.launcher.resume()  # pressed twice
    qtbot.waitUntil(lambda: not window.jobs.pending, timeout=120_000)
    qtbot.waitUntil(lambda: window.tabs.currentWidget() is not tab, timeout=120_000)
    (again,) = window.run_tabs.opened()
    qtbot.waitUntil(lambda: again.panel is not None and again.player is None, timeout=120_000)
    assert (again.view.state, dict(again.panel.summary())["State"]) == ("starting", "starting")
    silent.clear()  # what the process reports arrives from now on
    ended(qtbot, again)
    assert (again.note.state, again.note.best) == ("optimal", counting.expected(400))
    assert len([e for e in RunFolder.open(again.note.folder).events() if e.type == "started"]) == 2


def test_every_plot_is_exported_as_picture_drawing_and_table(qtbot, tabs, window, tmp_path):
    filled = [plot for plot in tabs[1].panel.plots() if plot.table()[1]]
    for kind in ("png", "svg", "pdf", "csv"):
        window.exports.write_plots(kind, tmp_path / kind)
        wanted = [plot for plot in filled if kind == "csv" or plot.pictured]
        assert len(list((tmp_path / kind).glob(f"*.{kind}"))) == len(wanted)
    (table,) = (tmp_path / "csv").glob("*number-reached.csv")
    assert float(table.read_text().splitlines()[-1].split(",")[1]) == 100
    window.exports.write_report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text().count("<img") >= 2


def test_light_and_dark_reach_every_part_and_the_system_is_followed(qtbot, tabs, window):
    def is_dark(widget):
        image = widget.grab().toImage()
        places = [(x, y) for x in range(5, image.width(), 23) for y in range(5, image.height(), 19)]
        return sum(QColor(image.pixel(x, y)).lightness() for x, y in places) / len(places) < 110

    tab = window.tabs.currentWidget()
    for name in ("light", "dark"):
        window.appearance.choose(name)
        assert QGuiApplication.palette().color(QPalette.ColorRole.Window).name() == window.theme.window
        parts = (window, window.pane, window.run_list, window.log, tab.panel, window.tool_bar)
        assert [is_dark(part) for part in parts] == [name == "dark"] * len(parts)
    hints = QGuiApplication.styleHints()
    window.appearance.choose("system")
    try:
        hints.setColorScheme(Qt.ColorScheme.Dark)
        assert window.theme.dark == (hints.colorScheme() == Qt.ColorScheme.Dark)
    finally:
        hints.unsetColorScheme()


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


def test_a_run_is_paused_resumed_and_stopped(qtbot, open_window, tmp_path):
    window = open_window()
    board = tmp_path / "queens-18.txt"
    board.write_text((SAMPLES / "branch_and_bound" / "queens-14.txt").read_text().replace("14", "18"))
    load(qtbot, window, board)
    tab = begin(qtbot, window)
    assert window.actions_by_name["pause"].isEnabled()
    qtbot.waitUntil(lambda: "nodes/s" in window.status.rate.text(), timeout=120_000)
    qtbot.keyClick(window, Qt.Key.Key_F6)
    qtbot.waitUntil(lambda: tab.paused, timeout=120_000)
    qtbot.waitUntil(lambda: window.status.rate.text() == "", timeout=120_000)
    assert window.actions_by_name["pause"].text() == "&Resume"
    qtbot.wait(300)
    nodes = tab.panel.time
    qtbot.wait(500)
    assert tab.panel.time == nodes
    qtbot.keyClick(window, Qt.Key.Key_F6)
    qtbot.waitUntil(lambda: tab.view.state == "running" and tab.panel.time > nodes, timeout=120_000)
    qtbot.keyClick(window, Qt.Key.Key_F5, SHIFT)
    ended(qtbot, tab)
    assert tab.note.state == "interrupted"
    assert RunFolder.open(tab.note.folder).checkpoint() is not None
    assert "resumable" in window.available()


@pytest.mark.full
@POSIX
def test_stop_ends_even_a_child_that_hangs(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    window.launcher.patience = (0.3, 0.3)
    load(qtbot, window, counting_files / "endless.txt")
    tab = begin(qtbot, window)
    os.kill(tab.child.pid, signal.SIGSTOP)
    steps = []
    tab.child.stopping.connect(steps.append)
    window.actions_by_name["stop"].trigger()
    ended(qtbot, tab)
    assert steps == ["stop requested", "SIGTERM sent", "SIGKILL sent"]
    assert tab.note.state == "killed"
    assert "did not stop when asked" in tab.note.message


def test_what_is_wrong_with_a_file_or_an_option_is_said_and_nothing_runs(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    drop(window, counting_files / "bad.txt")
    qtbot.waitUntil(lambda: window.pane.error.isVisible(), timeout=120_000)
    assert "a count must be a whole number" in window.pane.error.text()
    assert "bad.txt, line 1" in window.pane.error.text() == window.home.error.text()
    assert window.tabs.tabText(0) == window.home.error_title.text() == "bad.txt cannot be used"
    assert not window.actions_by_name["start"].isEnabled()
    load(qtbot, window, counting_files / "small.txt")
    window.pane.form.editor("step").selectAll()
    qtbot.keyClicks(window.pane.form.editor("step"), "0")
    field = window.pane.form._editors["step"]
    qtbot.waitUntil(field.error_label.isVisible, timeout=120_000)
    assert "step must be at least 1; got 0" in field.error_label.text()
    qtbot.keyClick(window, Qt.Key.Key_F5)
    assert window.run_tabs.opened() == []
    qtbot.mouseClick(field.reset, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not field.error_label.isVisible(), timeout=120_000)
    assert window.pane.form.given() == {}


def test_the_log_is_filtered_by_level_and_words(qtbot, window, counting_files):
    drop(window, counting_files / "bad.txt")
    qtbot.waitUntil(lambda: any("whole number" in line for line in window.log.messages()), timeout=120_000)
    everything = window.log.messages()
    window.log.level.setCurrentIndex(2)
    assert window.log.messages() == [line for line in everything if "whole number" in line]
    window.log.level.setCurrentIndex(0)
    qtbot.keyClicks(window.log.filter, "number bad.txt")
    assert len(window.log.messages()) == 1
