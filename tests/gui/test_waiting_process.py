"""The process with open devices that waits for the next run."""

import pytest

from engine.util.memory import free_memory
from gui.problem import standby
from tests.support.app import COUNTING
from tests.support.interaction import begin, ended, load, solved


@pytest.fixture
def window(open_window):
    shown = open_window(COUNTING)
    shown.launcher.standby.enabled = True
    return shown


def test_a_run_uses_the_process_that_waits_and_another_one_waits_afterwards(qtbot, window, counting_files):
    waiting = window.launcher.standby
    load(qtbot, window, counting_files / "small.txt")
    qtbot.waitUntil(lambda: waiting.waiting, timeout=120_000)
    process = waiting._child.pid
    tab = begin(qtbot, window)
    ended(qtbot, tab)
    assert tab.note.state == "optimal"
    assert tab.child.words[0] == "solve"
    assert tab.note.path.joinpath("result.json").is_file()
    qtbot.waitUntil(lambda: waiting.waiting, timeout=120_000)
    assert waiting._child.pid != process


def test_other_devices_need_another_process(qtbot, window, counting_files):
    waiting = window.launcher.standby
    load(qtbot, window, counting_files / "small.txt")
    qtbot.waitUntil(lambda: waiting.waiting, timeout=120_000)
    first = waiting._child.pid
    window.tool_bar.set_values({"backend": "opencl"})
    window.tool_bar.changed.emit()
    qtbot.waitUntil(lambda: waiting.waiting and waiting._child.pid != first, timeout=120_000)
    assert waiting._child.words == ["standby", "--backend", "opencl"]


@pytest.mark.full
def test_a_process_that_died_meanwhile_is_replaced(qtbot, window, counting_files):
    waiting = window.launcher.standby
    load(qtbot, window, counting_files / "small.txt")
    qtbot.waitUntil(lambda: waiting.waiting, timeout=120_000)
    waiting._child.kill()
    qtbot.waitUntil(lambda: not waiting.waiting, timeout=120_000)
    assert solved(qtbot, window, counting_files / "small.txt").note.state == "optimal"


def test_without_memory_no_process_waits(qtbot, window, counting_files, monkeypatch, tmp_path):
    table = tmp_path / "meminfo"
    table.write_text("MemTotal: 8000000 kB\nMemAvailable: 900000 kB\n")
    assert free_memory(table) == 900_000 * 1024
    assert free_memory(tmp_path / "missing") is None
    monkeypatch.setattr(standby, "free_memory", lambda: free_memory(table))
    load(qtbot, window, counting_files / "small.txt")
    qtbot.wait(1500)
    assert not window.launcher.standby.waiting
