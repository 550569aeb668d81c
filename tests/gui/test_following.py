"""Runs of other processes: followed live, stopped, left running, and shown again at the next start."""

import os
import signal
import subprocess

import pytest

from engine.runs.folder.lock import writer_of
from tests.support.app import COUNTING
from tests.support.environment import with_root
from tests.support.interaction import answer, begin, ended, load, opened
from tests.support.needs import POSIX
from tests.support.patience import PATIENCE, wait_until

pytestmark = POSIX


@pytest.fixture
def elsewhere(tmp_path, counting_files):
    """A run that another process works on, and its folder."""
    folder = tmp_path / "elsewhere" / "run"
    folder.parent.mkdir()
    words = [
        *COUNTING,
        "solve",
        str(counting_files / "endless.txt"),
        "--run-folder",
        str(folder),
        "--time-limit",
        "3600",
    ]
    child = subprocess.Popen(words, env=with_root(), stdout=subprocess.DEVNULL)
    try:
        wait_until((folder / "events.jsonl").is_file)
        yield child, folder
    finally:
        child.kill()
        child.wait()


@pytest.mark.full
def test_a_run_of_another_process_is_followed_and_can_be_stopped(qtbot, open_window, elsewhere):
    child, folder = elsewhere
    window = open_window(COUNTING)
    tab = opened(qtbot, window, folder)
    qtbot.waitUntil(lambda: tab.view.state == "running" and tab.panel.time > 0, timeout=120_000)
    seen = tab.panel.time
    qtbot.waitUntil(lambda: tab.panel.time > seen + 0.2, timeout=120_000)  # live
    assert f"process {child.pid}" in tab.banner.text.text()
    assert window.run_tabs.running() == []  # it is not this window's, which may be closed without a question
    window.actions_by_name["stop"].trigger()
    ended(qtbot, tab)
    assert (tab.note.state, child.wait(PATIENCE)) == ("interrupted", 0)
    assert tab.banner.isHidden()  # it said that the run is in progress elsewhere
    assert (folder / "result.json").is_file()


@pytest.mark.full
def test_a_followed_run_that_is_killed_is_shown_as_killed(qtbot, open_window, elsewhere):
    child, folder = elsewhere
    window = open_window(COUNTING)
    tab = opened(qtbot, window, folder)
    qtbot.waitUntil(lambda: tab.view.state == "running", timeout=120_000)
    child.kill()
    child.wait()
    ended(qtbot, tab)
    assert tab.note.state == "killed"


def test_a_run_that_is_left_running_is_shown_again_at_the_next_start(qtbot, open_window, counting_files):
    first = open_window(COUNTING)
    load(qtbot, first, counting_files / "endless.txt")
    tab = begin(qtbot, first)
    process, key, folder = tab.child.pid, tab.note.key, tab.note.path
    first.close()
    answer(qtbot, first, "Leave running")
    qtbot.waitUntil(lambda: first.session.closed, timeout=120_000)
    os.kill(process, 0)
    owner = writer_of(folder)
    assert owner is not None
    assert owner["pid"] == process
    second = open_window(COUNTING)
    note = second.library.find(key)
    assert note.state == "running"
    second.run_tabs.show_run(note)
    again = second.run_tabs.current_run()
    for state in ("paused", "running"):
        qtbot.waitUntil(second.actions_by_name["pause"].isEnabled, timeout=120_000)
        second.actions_by_name["pause"].trigger()
        qtbot.waitUntil(lambda state=state: again.view.state == state, timeout=120_000)
    os.kill(process, signal.SIGTERM)
    ended(qtbot, again)
    assert note.state == "interrupted"
    assert writer_of(folder) is None
