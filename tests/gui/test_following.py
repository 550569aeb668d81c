"""Runs elsewhere: of other processes, on a cluster, on another host; followed, stopped, left running."""

import os
import signal

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialogButtonBox

from engine.runs.folder.lock import writer_of
from gui.problem.command_line import resume_words
from gui.window.places import HostDialog
from tests.support import counting, far_host
from tests.support.app import COUNTING
from tests.support.interaction import answer, begin, ended, load, solved
from tests.support.needs import POSIX

pytestmark = POSIX


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


@pytest.fixture
def window(open_window, counting_files):
    return open_window(COUNTING)


@pytest.mark.full
@POSIX
def test_a_host_is_added_tried_and_used(qtbot, monkeypatch, tmp_path, window, counting_files):
    far_host.install(monkeypatch, tmp_path / "far")
    bar = window.tool_bar
    bar.place.activated.emit(bar.place.findText("Add a host…"))
    dialog = window.findChildren(HostDialog)[-1]
    qtbot.keyClicks(dialog.destination, "anna@far.example")
    for command, said in (("no-such-program", "could not be started there"), (far_host.COMMAND, "Abacus")):
        dialog.command.setText(command)
        qtbot.mouseClick(dialog.connect_button, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda said=said: said in dialog.state.text(), timeout=120_000)
    dialog.name.setText("far")
    qtbot.mouseClick(dialog.buttons.button(QDialogButtonBox.StandardButton.Save), Qt.MouseButton.LeftButton)
    assert (bar.place.currentText(), bar.given()["host"]) == ("ssh:far", "far")
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=120_000)
    tab = solved(qtbot, window, counting_files / "small.txt")
    assert "--host far" in window.pane.command_text()
    assert (tab.note.state, tab.note.best) == ("optimal", counting.expected(100))
    assert (tab.note.path / "result.json").is_file()


def test_the_chosen_cluster_is_in_the_command_and_the_code_and_comes_back_with_the_run(qtbot, window, counting_files):
    bar, small = window.tool_bar, counting_files / "small.txt"
    load(qtbot, window, small)
    base = bar.values()
    assert "cluster" not in bar.given()
    bar.place.setCurrentText("tcp://host:8786")
    assert bar.given()["cluster"] == "tcp://host:8786"
    assert "--cluster tcp://host:8786" in window.pane.command_text()
    assert "cluster='tcp://host:8786'" in window.pane.python_text()
    for settings in ({"cluster": "local:2", "time_limit": 1234567.5}, {}, {"host": "far"}):
        window.problems.load_with_options(small, {}, settings)
        qtbot.waitUntil(lambda settings=settings: bar.values() == {**base, **settings}, timeout=120_000)
    assert resume_words("runs/one", {"cluster": "local:2", "seed": 3}) == ["resume", "runs/one", "--cluster", "local:2"]
    assert resume_words("runs/one", {"host": "far"}) == ["resume", "runs/one", "--host", "far"]
