import pytest

from tests.support import counting


@pytest.fixture(autouse=True)
def _quiet_surroundings(monkeypatch, tmp_path):
    """No configuration of this machine, and the counting solver on its abacus."""
    counting.quiet_surroundings(monkeypatch, tmp_path)
