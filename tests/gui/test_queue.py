"""The queue and sweeps: made, held, reordered, retried; and what is asked when the window is closed meanwhile."""

import os
import signal

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialogButtonBox, QMessageBox

import engine
from engine.api.sweep import Sweep
from engine.errors import InputError
from engine.solvers import discover
from gui.problem.sweep import SweepDialog, parse_options
from gui.window import session
from tests.support import counting
from tests.support.app import COUNTING
from tests.support.interaction import SHIFT, answer, begin, ended, load, notes_of
from tests.support.needs import POSIX


@pytest.fixture
def window(qtbot, open_window, counting_files):
    shown = open_window(COUNTING)
    load(qtbot, shown, counting_files / "endless.txt")
    return shown


def pressed(qtbot, window):
    qtbot.keyClick(window, Qt.Key.Key_F5)
    return window.tabs.currentWidget()


def all_ended(window, count):
    return len(notes_of(window)) == count and not any(note.live for note in notes_of(window))


def test_run_pressed_three_times_starts_one_after_the_other(qtbot, window):
    first = begin(qtbot, window)
    second, third = pressed(qtbot, window), pressed(qtbot, window)
    assert [tab.note.state for tab in (first, second, third)] == ["running", "queued", "queued"]
    assert window.launcher.queued == [second.note.key, third.note.key]
    qtbot.keyClick(window, Qt.Key.Key_F5, SHIFT)
    assert (third.note.state, third.note.path.exists(), window.launcher.queued) == (
        "cancelled",
        False,
        [second.note.key],
    )
    window.tabs.setCurrentWidget(second)
    window.run_tabs.close_current()
    window.tabs.setCurrentWidget(first)
    window.actions_by_name["stop"].trigger()
    ended(qtbot, first)
    qtbot.waitUntil(lambda: second.view.state == "running", timeout=120_000)  # though its tab is closed


@pytest.mark.full
def test_the_queue_is_held_and_reordered(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    window.actions_by_name["queue_hold"].trigger()
    window.launcher.open_sweep(Sweep((counting_files / "small.txt",), (1, 2, 3, 4)), "four")
    qtbot.waitUntil(lambda: len(window.launcher.queued) == 4, timeout=120_000)
    notes = {note.settings["seed"]: note for note in notes_of(window)}
    seeds = {note.key: seed for seed, note in notes.items()}
    for selected, action, order in (
        ((3, 4), "queue_up", [1, 3, 4, 2]),
        ((3, 4), "queue_up", [3, 4, 1, 2]),
        ((3, 4), "queue_up", [3, 4, 1, 2]),
        ((3,), "queue_down", [4, 3, 1, 2]),
        ((3,), "queue_remove", [4, 1, 2]),
    ):
        window.run_list.select(*(notes[seed] for seed in selected))
        window.actions_by_name[action].trigger()
        assert [seeds[key] for key in window.launcher.queued] == order
    window.actions_by_name["queue_hold"].trigger()
    qtbot.waitUntil(lambda: all_ended(window, 4), timeout=120_000)
    assert [notes[seed].state for seed in (1, 2, 3, 4)] == ["optimal", "optimal", "cancelled", "optimal"]


def test_quitting_says_what_becomes_of_queued_runs(qtbot, window):
    window.actions_by_name["queue_hold"].trigger()
    for _ in range(2):
        window.actions_by_name["start"].trigger()
    window.close()
    box = window.findChildren(QMessageBox)[-1]
    assert box.text() == "2 runs in the queue have not started. Quit?"
    answer(qtbot, window, "Cancel")
    qtbot.wait(50)
    assert (window.isVisible(), len(window.launcher.queued)) == (True, 2)
    window.actions_by_name["queue_hold"].trigger()  # the first of them starts
    qtbot.waitUntil(lambda: len(window.run_tabs.running()) == 1, timeout=120_000)
    window.close()
    assert "The queued run is cancelled in either case" in window.findChildren(QMessageBox)[-1].informativeText()
    answer(qtbot, window, "Stop and quit")
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=120_000)
    assert sorted(note.state for note in notes_of(window)) == ["cancelled", "interrupted"]


def test_a_run_whose_process_still_starts_is_interrupted_by_quitting(qtbot, window, monkeypatch):
    monkeypatch.setattr(session, "_QUIT_PATIENCE", (0.0, 120.0))  # as if the machine were very busy
    window.actions_by_name["start"].trigger()
    window.close()
    answer(qtbot, window, "Stop and quit")
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=120_000)
    assert [(note.state, note.message) for note in notes_of(window)] == [("interrupted", "")]


def test_a_dialog_queues_every_combination(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    load(qtbot, window, counting_files / "small.txt")
    window.actions_by_name["new_sweep"].trigger()
    dialog = window.findChild(SweepDialog)
    queue = dialog.buttons.button(QDialogButtonBox.StandardButton.Ok)
    assert dialog.message.text() == "5 runs"
    dialog.seeds.setText("1-")
    assert (queue.isEnabled(), "seeds must be" in dialog.message.text()) == (False, True)
    dialog.seeds.setText("3")
    dialog.options.setPlainText("stride = 1")
    assert "stride" in dialog.message.text()
    dialog.options.setPlainText("step = 20, 50\n")
    assert dialog.message.text() == "2 runs"
    queue.click()
    qtbot.waitUntil(lambda: all_ended(window, 2), timeout=120_000)
    found = {(note.options["step"], note.seed, note.state, note.best) for note in notes_of(window)}
    assert found == {(step, 3, "optimal", counting.expected(100, 3)) for step in ("20", "50")}
    assert {note.sweep for note in notes_of(window)} == {"sweep of small"}
    assert window.run_tabs.open_runs() == []  # a hundred runs open no hundred tabs


def test_options_of_a_sweep_are_read_line_by_line():
    solvers = discover()
    program, boa = solvers["linprog"].options_model(engine.LinearProgram), solvers["boa"].options_model(engine.BOA)
    text = "max-iterations = 10, 20\n\npresolve = true, off\n initial=None\nunknown = none , true"
    assert parse_options(text, program) == {
        "max_iterations": ["10", "20"],
        "presolve": [True, "off"],
        "initial": [None],
        "unknown": ["none", "true"],
    }
    assert parse_options("local_search = none, steepest", boa) == {"local_search": ["none", "steepest"]}  # its word
    for text in ("a", "a =", "= 3"):
        with pytest.raises(InputError, match="name = value"):
            parse_options(text, program)


@pytest.mark.full
@POSIX
def test_a_killed_run_is_retried_or_loaded_again_with_its_options(qtbot, window):
    window.pane.form.set_values({"slice_seconds": 3600.0})  # no checkpoint is written
    tab = begin(qtbot, window)
    os.kill(tab.child.pid, signal.SIGKILL)
    ended(qtbot, tab)
    assert "Runs > Retry starts it again with the same options" in tab.banner.text.text()
    window.pane.form.set_values({"slice_seconds": 7.0})
    window.actions_by_name["rerun"].trigger()
    qtbot.waitUntil(lambda: window.pane.options().get("slice_seconds") == 3600.0, timeout=120_000)
    window.actions_by_name["retry"].trigger()
    qtbot.waitUntil(lambda: len(window.run_tabs.running()) == 1, timeout=120_000)
    (again,) = window.run_tabs.running()
    assert (again.note.options, again.note.settings) == (tab.note.options, tab.note.settings)
    assert again.note.folder != tab.note.folder
