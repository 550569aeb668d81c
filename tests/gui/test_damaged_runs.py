"""Runs whose files are damaged, or lie on a disk that does not answer, are shown as far as they can be."""

import json
import shutil
import socket
from pathlib import Path

import pytest

from engine.util.text import gap_text, seconds_text, value_text
from gui.app.theme import LIGHT
from gui.problem.new_instance import NewInstance
from gui.runs.library import Library
from gui.runs.notes import RunNote
from gui.window.run_tab import RunTab
from tests.support.app import SAMPLES

UNREADABLE = "/" + 300 * "x"  # the system refuses to look there, as it does on a disk that is not connected
RECORDED = sorted(folder.name for folder in (SAMPLES / "recorded").iterdir())


@pytest.mark.few(1)
@pytest.mark.parametrize("name", RECORDED)
def test_a_run_whose_problem_alone_is_damaged_is_shown_from_its_events_and_result(qtbot, tmp_path, name):
    folder = tmp_path / name
    shutil.copytree(SAMPLES / "recorded" / name, folder)
    content = bytearray((folder / "problem.npz").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (folder / "problem.npz").write_bytes(content)
    tab = RunTab(Library(tmp_path / "home").adopt(folder), LIGHT)
    qtbot.addWidget(tab)
    said = []
    tab.logged.connect(lambda _level, message: said.append(message))
    tab.open()
    qtbot.waitUntil(lambda: bool(tab.tick()) or tab.complete, timeout=120_000)
    assert "problem.npz" in tab.banner.text.text()
    assert "without the data of its problem" in tab.banner.text.text()
    assert all("problem.npz" in message for message in said)  # no other trouble
    assert tab.panel is not None
    assert tab.panel.result is not None
    assert tab.view.state == str(tab.panel.result.status)
    assert not tab._incomplete
    tab.close_sources()


@pytest.mark.few(1)
@pytest.mark.parametrize("name", RECORDED)
def test_a_run_whose_events_are_cut_off_has_the_numbers_of_its_result(qtbot, tmp_path, name):
    folder = tmp_path / name
    shutil.copytree(SAMPLES / "recorded" / name, folder)
    lines = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    (folder / "events.jsonl").write_text("".join(lines[:3]) + lines[3][:20])
    tab = RunTab(Library(tmp_path / "home").adopt(folder), LIGHT)
    qtbot.addWidget(tab)
    tab.open()
    qtbot.waitUntil(lambda: bool(tab.tick()) or tab.complete, timeout=120_000)
    assert tab.panel is not None
    result = tab.panel.result
    assert result is not None
    assert "is cut off" in tab.banner.text.text()
    assert "come from the result" in tab.banner.text.text()
    numbers = dict(tab.panel.summary())
    assert numbers["State"].partition(",")[0] == tab.view.state == str(result.status)
    assert numbers["Elapsed"] == seconds_text(result.seconds)
    if result.objective is not None:
        assert numbers["Best"] == value_text(result.objective)
        assert numbers["Gap"] == gap_text(result.gap)
    if name == "branch_and_bound":
        assert "Leaves explored" not in numbers
        assert tab.panel.explored._hint_text == "the run reported no such values"
    tab.close_sources()


def test_a_run_on_a_disk_that_cannot_be_read_disturbs_nothing(qtbot, open_window, tmp_path):
    with pytest.raises(OSError, match="name too long"):
        Path(UNREADABLE).is_dir()
    library = Library(tmp_path / "home")
    for number, state in enumerate(("interrupted", "optimal", "running")):
        library.save(RunNote(f"run-{number}", UNREADABLE, f"run {number}", solver="knapsack", state=state))
    (tmp_path / "home" / "window.ini").write_text('[General]\nsession="[1, 2]"\n')
    window = open_window()
    assert {note.key: note.state for note in window.library} == {
        "run-0": "interrupted",
        "run-1": "optimal",
        "run-2": "killed",
    }
    for note in list(window.library):
        window.run_list.select(note)
        assert not {"folder", "replayable", "resumable"} & window.available()
        window.runs.rerun()
    window.runs.open_selected()
    tab = window.run_tabs.current_run()
    qtbot.waitUntil(lambda: tab.complete, timeout=120_000)
    assert "cannot be read" in tab.banner.text.text()
    window.launcher.retry()
    window.runs.rescan()
    window.close()
    assert window.session.closed


def test_a_folder_that_is_no_run_is_refused_in_the_problem_pane(qtbot, open_window, tmp_path):
    window = open_window()
    for path, reason in ((tmp_path, "is not a run folder"), (Path(UNREADABLE), "cannot be read")):
        window.runs.show_folder(path)
        qtbot.waitUntil(lambda reason=reason: reason in window.pane.error.text(), timeout=120_000)
    assert window.run_tabs.opened() == []
    assert list(window.library) == []


def test_a_file_name_that_the_system_refuses_is_refused_in_the_dialog(qtbot, tmp_path):
    from PySide6.QtWidgets import QWidget

    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = NewInstance(tmp_path, parent)
    assert dialog.make.isEnabled()
    dialog.path.setText(f"{UNREADABLE}/new.txt")
    assert not dialog.make.isEnabled()
    assert "there is no folder" in dialog.error.text()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "odd",
    [
        {"state": "running", "window": 10**30},
        {"state": "running", "window": -1},
        {"seconds": float("nan")},
        {"seconds": float("inf"), "created": 1e300},
        {"best": 10**4000, "bound": -(10**4000), "gap": 1e308},
        {"best": float("nan"), "bound": float("inf"), "gap": float("nan")},
    ],
)
def test_numbers_in_a_note_that_cannot_be_hide_nothing(qtbot, open_window, tmp_path, odd):
    runs = tmp_path / "home" / "runs"
    runs.mkdir(parents=True)
    sound = {"folder": UNREADABLE, "title": "t", "state": "interrupted"}
    (runs / "odd.json").write_text(json.dumps({"key": "odd", **sound, **odd}))
    (runs / "sound.json").write_text(json.dumps({"key": "sound", **sound}))
    window = open_window()
    assert {note.key for note in window.library} == {"odd", "sound"}
    for note in list(window.library):
        window.run_list.select(note)
        window.run_list.grab()  # paints every row


def test_a_damaged_folder_is_shown_as_damaged_and_hides_nothing(qtbot, open_window, tmp_path):
    runs = tmp_path / "home" / "runs"
    for name in ("damaged", "locked", "sound"):
        shutil.copytree(SAMPLES / "recorded" / RECORDED[0], runs / name)
    (runs / "damaged" / "run.toml").write_text("options = 5")
    (runs / "locked" / "run.lock").write_text(json.dumps({"host": socket.gethostname(), "pid": 10**30}))
    window = open_window()
    notes = {note.key: note for note in window.library}
    assert set(notes) == {"damaged", "locked", "sound"}
    assert notes["damaged"].state == "failed"
    assert "run.toml was written by an early version" in notes["damaged"].message
    assert notes["locked"].state == notes["sound"].state == "optimal"
    window.run_list.select(notes["damaged"])
    window.runs.open_selected()
    tab = window.run_tabs.current_run()
    qtbot.waitUntil(lambda: tab.complete, timeout=120_000)
    assert "run.toml" in tab.banner.text.text()
