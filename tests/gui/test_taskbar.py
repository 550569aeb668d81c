"""Progress in the taskbar: what is sent over the session bus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gui.app.taskbar import TaskbarProgress
from tests.support.app import COUNTING
from tests.support.interaction import begin, ended, load
from tests.support.needs import package

package("PySide6.QtDBus")


class Bus:
    """Keeps what is sent."""

    def __init__(self, connected: bool = True) -> None:
        self.connected = connected
        self.sent: list[tuple[float, bool]] = []

    def isConnected(self) -> bool:
        return self.connected

    def send(self, message: Any) -> bool:
        assert (message.interface(), message.member()) == ("com.canonical.Unity.LauncherEntry", "Update")
        entry, properties = message.arguments()
        assert entry == "application://quintet.desktop"
        self.sent.append((properties["progress"], properties["progress-visible"]))
        return True


def test_progress_is_sent_in_hundredths_and_removed() -> None:
    bus = Bus()
    taskbar = TaskbarProgress(bus)
    for fraction in (None, 0.25, 0.2502, 0.26, 1.5, None, None):
        taskbar.show(fraction)
    assert bus.sent == [(0.25, True), (0.26, True), (1.0, True), (0.0, False)]


def test_without_a_bus_nothing_is_tried_again() -> None:
    bus = Bus(connected=False)
    taskbar = TaskbarProgress(bus)
    taskbar.show(0.5)
    bus.connected = True
    taskbar.show(0.6)
    assert bus.sent == []


@pytest.mark.full
def test_a_run_shows_its_progress(qtbot: Any, open_window: Any, counting_files: Path) -> None:
    window = open_window(COUNTING)
    bus = Bus()
    window.notices.taskbar = TaskbarProgress(bus)
    (counting_files / "long.txt").write_text("count 2000\n")
    load(qtbot, window, counting_files / "long.txt")
    window.pane.form.set_values({"hold": 1000})
    tab = begin(qtbot, window)
    qtbot.waitUntil(lambda: any(0.4 < share < 1 for share, _ in bus.sent), timeout=120_000)
    window.actions_by_name["stop"].trigger()
    ended(qtbot, tab)
    qtbot.waitUntil(lambda: bool(bus.sent) and bus.sent[-1] == (0.0, False), timeout=120_000)
    shares = [share for share, visible in bus.sent if visible]
    assert shares == sorted(shares)
