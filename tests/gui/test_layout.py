"""The window at several sizes: dashboards have most of the width, nothing is outside, panes come back."""

import pytest
from PySide6.QtCore import Qt

from tests.support.app import COUNTING, SAMPLES
from tests.support.interaction import opened


@pytest.mark.few(1)
@pytest.mark.parametrize("problem", [False, True], ids=["empty", "with a problem"])
def test_dashboards_have_most_of_a_small_window(qtbot, open_window, problem):
    window = open_window(COUNTING)
    window.resize(1024, 700)
    tab = opened(qtbot, window, SAMPLES / "recorded" / "knapsack")
    if problem:
        window.problems.load(SAMPLES / "knapsack" / "strongly-1000.txt")
        qtbot.waitUntil(lambda: window.problems.ready, timeout=120_000)
        window.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: tab.complete and window.dock_layout.compact, timeout=120_000)
    qtbot.waitUntil(lambda: window.tabs.width() >= 0.6 * window.width(), timeout=120_000)
    assert (window.width(), window.height()) == (1024, 700)
    for part in (window.tool_bar, window.tabs, window.statusBar(), tab.panel.pages, window.pane):
        shown = part.rect().translated(part.mapTo(window, part.rect().topLeft()))
        assert window.rect().contains(shown), part
    for name in ("start", "pause", "stop", "find_command", "switch_theme"):
        button = window.tool_bar.widgetForAction(window.actions_by_name[name])
        assert button.isVisible(), name
        assert window.tool_bar.rect().contains(button.geometry()), name
    bar = window.tool_bar
    for setting in (bar.time_limit, bar.backend, bar.devices, bar.place):
        assert setting.isVisible()
        assert bar.rect().contains(setting.geometry())
    assert tab.panel.pages.height() >= 0.6 * window.height()
    assert not window.log.isVisible()
    window.focus_log()
    assert window.log.isVisible()
    window.docks["log"].hide()
    window.log.add("it is broken", "error")
    assert window.statusBar().currentMessage() == "it is broken"
    window.focus_runs()
    qtbot.waitUntil(window.run_list.view.isVisible, timeout=120_000)
    assert not window.pane.visibleRegion().boundingRect().isValid()
    window.problems.focus()
    qtbot.waitUntil(lambda: window.pane.visibleRegion().boundingRect().isValid(), timeout=120_000)


def test_the_run_list_returns_to_its_side_in_a_wide_window(qtbot, open_window):
    window = open_window(COUNTING)
    areas = []
    for width in (1440, 1000, 1440):
        window.resize(width, 900)
        qtbot.waitUntil(lambda width=width: window.dock_layout.compact == (width < 1250), timeout=120_000)
        areas.append(window.dockWidgetArea(window.docks["runs"]))
        assert window.docks["problem"].isVisible() or window.docks["runs"].isVisible()
    left, right = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
    assert areas == [right, left, right]
    assert window.run_list.isVisible()


def test_a_pane_that_was_moved_by_hand_stays(qtbot, open_window):
    window = open_window(COUNTING)
    window.resize(1440, 900)
    bottom = Qt.DockWidgetArea.BottomDockWidgetArea
    window.addDockWidget(bottom, window.docks["runs"])
    window.resize(1000, 900)
    qtbot.wait(50)
    assert window.dockWidgetArea(window.docks["runs"]) == bottom
