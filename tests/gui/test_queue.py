"""The queue: so many runs at once, the others in their order."""

import pytest
from PySide6.QtCore import Qt

from gui.window.preferences import Preferences
from tests.support.app import COUNTING
from tests.support.interaction import SHIFT, begin, ended, load


@pytest.fixture
def window(qtbot, open_window, counting_files):
    shown = open_window(COUNTING)
    load(qtbot, shown, counting_files / "endless.txt")
    return shown


def pressed(qtbot, window):
    qtbot.keyClick(window, Qt.Key.Key_F5)
    return window.tabs.currentWidget()


def test_run_pressed_three_times_starts_one_after_the_other(qtbot, window):
    first = begin(qtbot, window)
    second, third = pressed(qtbot, window), pressed(qtbot, window)
    assert [tab.note.state for tab in (first, second, third)] == ["running", "queued", "queued"]
    assert window.run_tabs.running() == [first]
    assert window.launcher.queued == [second.note.key, third.note.key]
    assert window.status.state.text() == "queued"
    window.tabs.setCurrentWidget(first)
    window.actions_by_name["stop"].trigger()
    ended(qtbot, first)
    qtbot.waitUntil(lambda: second.view.state == "running", timeout=120_000)
    assert third.note.state == "queued"
    window.tabs.setCurrentWidget(third)
    qtbot.keyClick(window, Qt.Key.Key_F5, SHIFT)
    assert (third.note.state, third.live, window.launcher.queued) == ("cancelled", False, [])
    assert not third.note.path.exists()
    window.tabs.setCurrentWidget(second)
    window.actions_by_name["stop"].trigger()
    ended(qtbot, second)
    qtbot.wait(100)
    assert window.run_tabs.running() == []


@pytest.mark.full
def test_the_number_of_runs_at_once_is_asked_for_and_kept(qtbot, window):
    first = begin(qtbot, window)
    second = pressed(qtbot, window)
    assert second.queued
    window.actions_by_name["preferences"].trigger()
    dialog = window.findChild(Preferences)
    assert dialog.at_once.value() == 1
    dialog.at_once.setValue(2)
    qtbot.waitUntil(lambda: second.view.state == "running", timeout=120_000)
    assert window.run_tabs.running() == [first, second]
    assert window.launcher.most_at_once == int(window.settings.value("runs_at_once")) == 2


@pytest.mark.full
def test_a_queued_run_starts_though_its_tab_is_closed(qtbot, window, counting_files):
    first = begin(qtbot, window)
    second = pressed(qtbot, window)
    window.run_tabs.close_current()
    assert second not in window.run_tabs.opened()
    window.tabs.setCurrentWidget(first)
    window.actions_by_name["stop"].trigger()
    ended(qtbot, first)
    qtbot.waitUntil(lambda: second.view.state == "running", timeout=120_000)
