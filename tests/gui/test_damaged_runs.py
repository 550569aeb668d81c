"""Runs that are kept: found, taken in, called killed, deleted and restored; damaged ones are shown too."""

import json
import os
import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

import engine
from engine.errors import RunFolderError
from engine.runs.folder.run_folder import RunFolder
from engine.util.text import gap_text, seconds_text, value_text
from gui.app.theme import LIGHT
from gui.runs.library import Library
from gui.runs.notes import RunNote
from gui.window.run_tab import RunTab
from tests.support import counting
from tests.support.app import COUNTING, SAMPLES
from tests.support.interaction import CONTROL, answer, notes_of, solved
from tests.support.needs import POSIX

UNREADABLE = "/" + 300 * "x"  # the system refuses to look there, as it does on a disk that is not connected
RECORDED = sorted(folder.name for folder in (SAMPLES / "recorded").iterdir())


@pytest.mark.few(1)
@pytest.mark.parametrize("name", RECORDED)
def test_a_run_whose_problem_alone_is_damaged_is_shown_from_its_events_and_result(qtbot, tmp_path, name):
    def change(folder):
        content = bytearray((folder / "problem.npz").read_bytes())
        content[len(content) // 2] ^= 0xFF
        (folder / "problem.npz").write_bytes(content)

    tab, said = damaged(qtbot, tmp_path, name, change)
    assert "problem.npz" in tab.banner.text.text()
    assert "without the data of its problem" in tab.banner.text.text()
    assert all("problem.npz" in message for message in said)  # no other trouble
    assert (tab.view.state, tab._incomplete) == (str(tab.panel.result.status), False)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", RECORDED)
def test_a_run_whose_events_are_cut_off_has_the_numbers_of_its_result(qtbot, tmp_path, name):
    def change(folder):
        lines = (folder / "events.jsonl").read_text().splitlines(keepends=True)
        (folder / "events.jsonl").write_text("".join(lines[:3]) + lines[3][:20])

    tab, _ = damaged(qtbot, tmp_path, name, change)
    result, numbers = tab.panel.result, dict(tab.panel.summary())
    assert "is cut off" in tab.banner.text.text()
    assert "come from the result" in tab.banner.text.text()
    assert numbers["State"].partition(",")[0] == tab.view.state == str(result.status)
    assert numbers["Elapsed"] == seconds_text(result.seconds)
    if result.objective is not None:
        assert (numbers["Best"], numbers["Gap"]) == (value_text(result.objective), gap_text(result.gap))


def test_a_run_on_a_disk_that_cannot_be_read_disturbs_nothing(qtbot, open_window, tmp_path):
    with pytest.raises(OSError, match="name too long"):
        Path(UNREADABLE).is_dir()
    library = Library(tmp_path / "home")
    for number, state in enumerate(("interrupted", "optimal", "running")):
        library.save(RunNote(f"run-{number}", UNREADABLE, f"run {number}", solver="knapsack", state=state))
    (tmp_path / "home" / "window.ini").write_text('[General]\nsession="[1, 2]"\n')
    window = open_window()
    assert sorted((note.key, note.state) for note in notes_of(window)) == [
        *(("run-0", "interrupted"), ("run-1", "optimal"), ("run-2", "killed")),
    ]
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
    for path, reason in ((tmp_path, "is not a run folder"), (Path(UNREADABLE), "cannot be read")):
        window.runs.show_folder(path)
        qtbot.waitUntil(lambda reason=reason: reason in window.pane.error.text(), timeout=120_000)
    window.close()
    assert window.session.closed


def damaged(qtbot, tmp_path, name, change):
    """The tab of a recorded run after a change of its folder, complete; what it has logged."""
    folder, said = tmp_path / name, []
    shutil.copytree(SAMPLES / "recorded" / name, folder)
    change(folder)
    tab = RunTab(Library(tmp_path / "home").adopt(folder), LIGHT)
    qtbot.addWidget(tab)
    tab.logged.connect(lambda _level, message: said.append(message))
    tab.open()
    qtbot.waitUntil(lambda: bool(tab.tick()) or tab.complete, timeout=120_000)
    tab.close_sources()
    return tab, said


KNAPSACK = SAMPLES / "recorded" / "knapsack"


def loaded(home):
    library = Library(home)
    library.load()
    return library


@pytest.mark.smoke
def test_runs_are_found_again_taken_in_from_elsewhere_and_called_killed(tmp_path, monkeypatch):
    counting.install(monkeypatch)
    library = Library(tmp_path / "home")
    note = library.new("first / run", solver="counting")
    elsewhere = tmp_path / "elsewhere"
    for folder in (note.path, elsewhere):
        result = engine.solve(counting.Counting(50), run_folder=folder, slice_seconds=0)
    (found,) = loaded(tmp_path / "home").notes
    assert (found.title, found.state, found.best, found.bound) == ("first / run", "optimal", result.objective, 50)
    adopted = library.adopt(elsewhere)
    assert library.adopt(elsewhere) is adopted
    assert (adopted.state, adopted.problem) == ("optimal", "counting to 50")
    library.delete(adopted)
    assert (elsewhere / "run.toml").is_file()  # it is not the library's
    with pytest.raises(RunFolderError):
        library.adopt(tmp_path)
    (note.path / "result.json").unlink()
    events = note.path / "events.jsonl"
    whole = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(b"".join(whole[:-2]) + whole[-2][:10])
    (killed,) = loaded(tmp_path / "home")
    assert (killed.state, killed.seconds > 0, killed.resumable) == ("killed", True, False)
    (note.path / "checkpoint-1.json").write_text("{}")
    assert killed.resumable


@POSIX
def test_a_run_that_goes_on_in_another_window_is_not_called_killed(tmp_path):
    here, there = Library(tmp_path), Library(tmp_path)
    alive = there.new("alive", state="running", window=os.getppid())
    dead = there.new("dead", state="running", window=0)
    here.load()
    assert (here.find(alive.key).state, here.find(dead.key).state) == ("running", "killed")


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({"created": "yesterday"}, False),
        ({"options": 5}, False),
        ({"tags": {"a": 1}}, False),
        ("[" * 200_000, False),
        ({"future": 1}, True),
        ({"state": "running", "window": 10**30}, True),
        ({"seconds": float("inf"), "created": 1e300}, True),
        ({"best": 10**4000, "bound": -(10**4000), "gap": 1e308}, True),
        ({"best": float("nan"), "bound": float("inf"), "gap": float("nan")}, True),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_note_of_wrong_types_is_left_out_and_odd_numbers_hide_nothing(qtbot, open_window, tmp_path, change, kept):
    runs = tmp_path / "home" / "runs"
    for name in ("good", "bad"):
        (runs / name).mkdir(parents=True)
        note = asdict(RunNote(name, str(runs / name), name, created=2.0, state="optimal"))
        changed = name == "bad"
        text = change if changed and isinstance(change, str) else json.dumps(note | change if changed else note)
        (runs / f"{name}.json").write_text(text)
    assert {note.key for note in loaded(tmp_path / "home")} == ({"good", "bad"} if kept else {"good"})
    if kept and "best" in change:
        window = open_window(COUNTING)
        for note in notes_of(window):
            window.run_list.select(note)
            window.run_list.grab()  # paints every row


def test_what_a_kill_has_left_is_removed_after_an_hour(tmp_path):
    library = Library(tmp_path)
    library.save(RunNote("good", str(library.runs / "good"), "good", state="optimal"))
    left = [tmp_path / ".index.json-0123abcd", library.runs / ".good.json-0123abcd", tmp_path / ".unpacking-0123abcd"]
    left[2].mkdir()
    for path in (*left[:2], left[2] / "run.toml"):
        path.write_text("{")
    library.load()
    assert all(path.exists() for path in left)  # another window may be writing them
    for path in left:
        os.utime(path, (0, 0))
    library.load()
    assert not any(path.exists() for path in left)
    assert [path.name for path in library.runs.iterdir()] == ["good.json"]


def test_a_run_whose_result_cannot_be_read_is_not_shown_as_killed(tmp_path):
    shutil.copytree(KNAPSACK, tmp_path / "runs" / "old")
    (tmp_path / "runs" / "old" / "result.npz").write_bytes(b"of another version")
    (note,) = loaded(tmp_path)
    assert (note.state, note.best, note.bound) == ("optimal", 4174458, 4174458)
    assert note.seconds == pytest.approx(RunFolder.open(KNAPSACK).result().seconds, abs=0.1)


def test_folders_without_notes_are_read_once_and_then_found_in_the_index(tmp_path, monkeypatch):
    module = sys.modules[Library.__module__]
    for number in range(5):
        shutil.copytree(KNAPSACK, tmp_path / "runs" / f"run-{number}")
    library = Library(tmp_path)
    monkeypatch.setattr(module, "_START_SECONDS", -1.0)
    library.load()
    assert (len(library.notes), library.incomplete) == (3, True)  # the window is shown meanwhile
    assert library.rescan(lambda _note: False, 60.0)
    assert (len(library.notes), library.incomplete) == (5, False)
    monkeypatch.setattr(module, "described", None)
    monkeypatch.setattr(module, "_START_SECONDS", 60.0)
    assert sorted(note.key for note in loaded(tmp_path)) == [f"run-{number}" for number in range(5)]
    monkeypatch.undo()
    changed = tmp_path / "runs" / "run-3"
    for name in ("result.json", "result.npz"):
        (changed / name).unlink()
    lines = (changed / "events.jsonl").read_bytes().splitlines()
    (changed / "events.jsonl").write_bytes(b"\n".join(lines[:-1]) + b"\n")
    assert loaded(tmp_path).find("run-3").state == "killed"


def test_a_deletion_is_undone(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    library = window.runs._library
    notes = [solved(qtbot, window, counting_files / "small.txt").note for _ in range(2)]
    before = {path.name: path.read_bytes() for path in notes[0].path.iterdir()}
    window.run_list.select(*notes)
    window.runs.delete()
    answer(qtbot, window, "Delete")
    assert (window.run_list.count(), list(library.runs.iterdir())) == (0, [])
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=120_000)
    qtbot.keyClick(window, Qt.Key.Key_Z, CONTROL)
    assert {path.name: path.read_bytes() for path in notes[0].path.iterdir()} == before
    assert {note.key for note in window.run_list.selected()} == {note.key for note in notes}
    assert list((library.home / "trash").iterdir()) == []
    assert not window.actions_by_name["undo_delete"].isEnabled()
    assert [note.state for note in loaded(library.home)] == ["optimal"] * 2


def test_the_trash_is_emptied_after_some_days(tmp_path):
    library = Library(tmp_path)
    places = [library.delete(library.new(name)) for name in ("old", "new")]
    age = time.time() - 86400 * 31  # a day longer than it keeps them
    os.utime(places[0] / "note.json", (age, age))
    Library(tmp_path).load()
    assert [place.exists() for place in places] == [False, True]
