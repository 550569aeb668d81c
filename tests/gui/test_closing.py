"""What is asked when the window is closed, and how a run that was killed is started again."""

import os
import signal

import pytest
from PySide6.QtWidgets import QMessageBox

from gui.window import session
from tests.support.app import COUNTING
from tests.support.interaction import answer, begin, ended, load
from tests.support.needs import POSIX


@pytest.fixture
def window(open_window):
    return open_window(COUNTING)


def test_quitting_says_what_becomes_of_queued_runs(qtbot, window, counting_files):
    load(qtbot, window, counting_files / "endless.txt")
    window.actions_by_name["queue_hold"].trigger()
    for _ in range(2):
        window.actions_by_name["start"].trigger()
    assert len(window.launcher.queued) == 2
    window.close()
    assert window.isVisible()
    box = window.findChildren(QMessageBox)[-1]
    assert box.text() == "2 runs in the queue have not started. Quit?"
    assert "cancelled" in box.informativeText()
    answer(qtbot, window, "Cancel")
    qtbot.wait(50)
    assert window.isVisible()
    assert len(window.launcher.queued) == 2
    window.actions_by_name["queue_hold"].trigger()  # the first of them starts
    qtbot.waitUntil(lambda: len(window.run_tabs.running()) == 1, timeout=120_000)
    window.close()
    box = window.findChildren(QMessageBox)[-1]
    assert "A run is in progress" in box.text()
    assert "The queued run is cancelled in either case" in box.informativeText()
    answer(qtbot, window, "Stop and quit")
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=120_000)
    assert sorted(note.state for note in window.library.notes) == ["cancelled", "interrupted"]


def test_a_run_whose_process_still_starts_is_interrupted_by_quitting(qtbot, window, counting_files, monkeypatch):
    monkeypatch.setattr(session, "_QUIT_PATIENCE", (0.0, 120.0))  # as if the machine were very busy
    load(qtbot, window, counting_files / "endless.txt")
    window.actions_by_name["start"].trigger()
    window.close()
    answer(qtbot, window, "Stop and quit")
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=120_000)
    assert [(note.state, note.message) for note in window.library.notes] == [("interrupted", "")]


def test_queued_runs_alone_do_not_keep_the_window_open(qtbot, window, counting_files):
    load(qtbot, window, counting_files / "endless.txt")
    window.actions_by_name["queue_hold"].trigger()
    window.actions_by_name["start"].trigger()
    window.close()
    answer(qtbot, window, "Quit")
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=120_000)
    assert [note.state for note in window.library.notes] == ["cancelled"]


@pytest.mark.full
@POSIX
def test_a_killed_run_without_a_checkpoint_is_started_again_as_its_banner_says(qtbot, window, counting_files):
    load(qtbot, window, counting_files / "endless.txt")
    window.pane.form.set_values({"slice_seconds": 3600.0})
    tab = begin(qtbot, window)
    os.kill(tab.child.pid, signal.SIGKILL)
    ended(qtbot, tab)
    assert "Runs > Retry starts it again with the same options" in tab.banner.text.text()
    assert "Run again with changes loads its problem and options into the form" in tab.banner.text.text()
    window.pane.form.set_values({"slice_seconds": 7.0})
    window.actions_by_name["rerun"].trigger()
    qtbot.waitUntil(lambda: window.pane.options().get("slice_seconds") == 3600.0, timeout=120_000)
    assert window.run_tabs.running() == []
    assert window.actions_by_name["retry"].isEnabled()
    window.actions_by_name["retry"].trigger()
    qtbot.waitUntil(lambda: len(window.run_tabs.running()) == 1, timeout=120_000)
    (again,) = window.run_tabs.running()
    assert again.note.options == tab.note.options
