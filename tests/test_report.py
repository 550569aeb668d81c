"""What pytest prints of these tests."""

import subprocess
import sys

from tests.support.environment import ROOT
from tests.support.patience import PATIENCE


def test_what_fails_is_named_as_it_happens(tmp_path):
    (tmp_path / "test_two.py").write_text("def test_first():\n    assert 0\n\n\ndef test_second():\n    pass\n")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.conftest", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    shown = done.stdout.partition("= FAILURES =")[0]
    assert "test_first (call)" in shown
    assert "test_second" not in shown
