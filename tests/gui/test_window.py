"""The window, used like a person would: files dropped, fields changed, real runs through real child processes."""

import os
import signal

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLineEdit

import engine
from engine.generators.branch_and_bound import write_flowshop
from engine.runs.folder.run_folder import RunFolder
from tests.support.app import COUNTING, SAMPLES
from tests.support.interaction import SHIFT, begin, drop, ended, load
from tests.support.needs import POSIX


def test_a_dropped_file_runs_to_its_optimum_with_a_changed_option(qtbot, open_window, tmp_path):
    window = open_window()
    write_flowshop(engine.Flowshop.taillard(1), tmp_path / "ta001.txt")
    load(qtbot, window, tmp_path / "ta001.txt")
    assert "20 jobs, 5 machines" in window.pane.about.text()
    field = window.pane.form.editor("initial")
    assert isinstance(field, QComboBox)
    field.setFocus()
    qtbot.keyClicks(field, "neh")
    assert "--initial neh" in window.pane.text.toPlainText()
    tab = begin(qtbot, window)
    assert tab.note.state in ("running", "optimal")
    ended(qtbot, tab)
    assert (tab.note.state, tab.note.best, tab.note.bound) == ("optimal", 1278, 1278)
    kept = RunFolder.open(tab.note.folder)
    assert kept.description["options"]["initial"] == "neh"
    assert kept.result().objective == 1278
    assert window.run_list.count() == 1
    assert window.status.state.text() == "optimal"


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


@POSIX
def test_a_child_killed_from_outside_is_reported_and_the_window_lives(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    load(qtbot, window, counting_files / "endless.txt")
    tab = begin(qtbot, window)
    os.kill(tab.child.pid, signal.SIGKILL)
    ended(qtbot, tab)
    assert tab.note.state == "killed"
    assert tab.banner.isVisible()
    assert "ended unexpectedly" in tab.banner.text.text()
    assert any("ended unexpectedly" in line for line in window.log.messages())
    load(qtbot, window, counting_files / "small.txt")
    again = begin(qtbot, window)
    ended(qtbot, again)
    assert again.note.state == "optimal"


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


def test_a_bad_file_is_reported_with_file_line_and_rule(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    drop(window, counting_files / "bad.txt")
    qtbot.waitUntil(lambda: window.pane.error.isVisible(), timeout=120_000)
    message = window.pane.error.text()
    assert "a count must be a whole number" in message
    assert "bad.txt, line 1" in message
    assert not window.actions_by_name["start"].isEnabled()


def test_a_wrong_option_is_reported_under_its_field_and_does_not_run(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    load(qtbot, window, counting_files / "small.txt")
    step = window.pane.form.editor("step")
    assert isinstance(step, QLineEdit)
    step.selectAll()
    qtbot.keyClicks(step, "0")
    complaint = window.pane.form._editors["step"].error_label
    qtbot.waitUntil(complaint.isVisible, timeout=120_000)
    assert "step must be at least 1; got 0" in complaint.text()
    qtbot.keyClick(window, Qt.Key.Key_F5)
    assert window.run_tabs.opened() == []
    qtbot.mouseClick(window.pane.form._editors["step"].reset, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not complaint.isVisible(), timeout=120_000)
    assert window.pane.form.given() == {}
