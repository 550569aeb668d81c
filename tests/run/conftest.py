from __future__ import annotations

import os
from pathlib import Path

import counting
import pytest


@pytest.fixture(autouse=True)
def _quiet_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration of this machine, and the counting solver on its abacus."""
    for name in list(os.environ):
        if name.startswith("QUINTET_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nobody"))
    monkeypatch.chdir(tmp_path)
    counting.install(monkeypatch)
