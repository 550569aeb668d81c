"""A note that is damaged is left out; the others are shown."""

import json
import os
from dataclasses import asdict

import pytest

from gui.runs.library import Library
from gui.runs.notes import RunNote, read_note


@pytest.mark.parametrize(
    "change",
    [{"created": "yesterday"}, {"created": None}, {"options": 5}, {"tags": {"a": 1}}, {"best": []}, {"key": 3}, None],
)
def test_a_note_with_a_value_of_another_type_is_left_out(change, tmp_path):
    library = Library(tmp_path)
    for name in ("good", "bad"):
        (library.runs / name).mkdir(parents=True)
        content = asdict(RunNote(name, str(library.runs / name), name, created=2.0, state="optimal"))
        if name == "bad" and change is not None:
            content |= change
        text = json.dumps(content) if name == "good" or change is not None else "[" * 200_000
        (library.runs / f"{name}.json").write_text(text)
    with pytest.raises(ValueError, match=r"."):
        read_note(library.runs / "bad.json")
    library.load()
    assert [note.key for note in library.notes] == ["good"]


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
