from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import counting


@pytest.fixture(autouse=True)
def _quiet_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration of this machine, and the counting solver on its abacus."""
    counting.quiet_surroundings(monkeypatch, tmp_path)
