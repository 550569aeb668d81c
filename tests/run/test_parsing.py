"""Calls that parse Python source survive CPython 3.11's lost count of depth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.runs.folder.storage import read_arrays, write_arrays
from engine.util.parsing import parsed

LOST_COUNT = SystemError("AST constructor recursion depth mismatch (before=84, after=110)")


def failing(*errors: Exception) -> object:
    left = list(errors)

    def function() -> str:
        if left:
            raise left.pop()
        return "parsed"

    return parsed(function)


def test_a_lost_count_is_tried_again_and_nothing_else() -> None:
    assert failing(LOST_COUNT, LOST_COUNT) == "parsed"
    with pytest.raises(SystemError, match="recursion depth"):
        failing(*[LOST_COUNT] * 9)
    with pytest.raises(KeyError):
        failing(KeyError("x"))


def test_a_file_is_not_taken_for_damaged_by_a_lost_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "none": np.zeros((0, 4)),
        "text": np.array("é"),
    }
    write_arrays(tmp_path / "a.npz", given)
    read, left = np.lib.format.read_array_header_1_0, [LOST_COUNT]

    def header(stream: object) -> object:
        if left:
            raise left.pop()
        return read(stream)  # type: ignore[arg-type]

    monkeypatch.setattr(np.lib.format, "read_array_header_1_0", header)
    found = read_arrays(tmp_path / "a.npz")
    assert not left
    assert all(np.array_equal(found[name], given[name]) and found[name].dtype == given[name].dtype for name in given)
