"""A note that is damaged is left out; the others are shown."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from gui.runs.library import Library
from gui.runs.notes import RunNote, read_note


@pytest.mark.parametrize(
    "change",
    [{"created": "yesterday"}, {"created": None}, {"options": 5}, {"tags": {"a": 1}}, {"best": []}, {"key": 3}, None],
)
def test_a_note_with_a_value_of_another_type_is_left_out(change: dict[str, Any] | None, tmp_path: Path) -> None:
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
