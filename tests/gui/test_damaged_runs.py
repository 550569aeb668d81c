"""Runs whose files are damaged, or lie on a disk that does not answer, are shown as far as they can be."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from environment import SAMPLES

from gui.app.theme import LIGHT
from gui.runs.library import Library
from gui.runs.tab import RunTab

RECORDED = sorted(folder.name for folder in (SAMPLES / "recorded").iterdir())


@pytest.mark.parametrize("name", RECORDED)
def test_a_run_whose_problem_alone_is_damaged_is_shown_from_its_events_and_result(
    qtbot: Any, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    shutil.copytree(SAMPLES / "recorded" / name, folder)
    content = bytearray((folder / "problem.npz").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (folder / "problem.npz").write_bytes(content)
    tab = RunTab(Library(tmp_path / "home").adopt(folder), LIGHT)
    qtbot.addWidget(tab)
    said: list[str] = []
    tab.logged.connect(lambda _level, message: said.append(message))
    tab.open()
    qtbot.waitUntil(lambda: bool(tab.tick()) or tab.complete, timeout=120_000)
    assert "problem.npz" in tab.banner.text.text()
    assert "without the data of its problem" in tab.banner.text.text()
    assert all("problem.npz" in message for message in said)  # no other trouble
    assert tab.panel is not None
    assert tab.panel.result is not None
    assert tab.summary.state == str(tab.panel.result.status)
    assert not tab._incomplete
    tab.close_sources()
