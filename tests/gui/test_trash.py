"""Deleted runs are in the trash for a while, and come back."""

import os
import time

from PySide6.QtCore import Qt

from gui.runs.library import TRASH_DAYS, Library
from gui.window.runs import _consequence
from tests.support.app import COUNTING
from tests.support.interaction import CONTROL, answer, solved


def test_a_deletion_is_undone(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    notes = [solved(qtbot, window, counting_files / "small.txt").note for _ in range(2)]
    before = {path.relative_to(window.library.runs): path.read_bytes() for path in notes[0].path.iterdir()}
    assert not window.actions_by_name["undo_delete"].isEnabled()
    window.run_list.select(*notes)
    window.runs.delete()
    answer(qtbot, window, "Delete")
    assert window.run_list.count() == 0
    assert list(window.library.runs.iterdir()) == []
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=120_000)
    qtbot.keyClick(window, Qt.Key.Key_Z, CONTROL)
    assert window.run_list.count() == 2
    assert {path.relative_to(window.library.runs): path.read_bytes() for path in notes[0].path.iterdir()} == before
    assert {note.key for note in window.run_list.selected()} == {note.key for note in notes}
    assert list((window.library.home / "trash").iterdir()) == []
    assert not window.actions_by_name["undo_delete"].isEnabled()
    again = Library(window.library.home)
    again.load()
    assert {note.state for note in again} == {"optimal"}


def test_the_trash_is_emptied_after_some_days(tmp_path):
    library = Library(tmp_path)
    places = [library.delete(library.new(name)) for name in ("old", "new")]
    age = time.time() - 86400 * (TRASH_DAYS + 1)
    os.utime(places[0] / "note.json", (age, age))
    Library(tmp_path).load()
    assert [place.exists() for place in places] == [False, True]


def test_the_question_says_what_becomes_of_every_folder():
    assert _consequence(1, 0) == "The run folder is moved to the trash, and deleted after 30 days."
    assert _consequence(2, 1) == (
        "2 run folders are moved to the trash, and deleted after 30 days. "
        "One folder is outside the data folder and kept: the run is only removed from the list."
    )
