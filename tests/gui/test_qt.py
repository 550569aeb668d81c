"""Whether the tests of the desktop app can run here at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import TROUBLE

from engine import cli

ROOT = Path(__file__).parent.parent.parent


def test_qt_can_be_loaded() -> None:
    if TROUBLE:
        pytest.skip(f"Qt cannot be loaded, so the tests of the desktop app are left out: {TROUBLE}")


def test_without_qt_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "PySide6", None)
    assert cli.command_line(["gui"]) == 2
    error = capsys.readouterr().err
    assert "PySide6" in error
    assert 'pip install "quintet[gui]"' in error


def test_engine_does_not_import_the_app() -> None:
    code = "import sys, engine, engine.cli; assert not {'gui', 'PySide6'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
