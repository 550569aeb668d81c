"""Whether the tests of the desktop app can run here at all."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine import cli
from tests.support.app import MISSING
from tests.support.needs import POSIX
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parent.parent.parent
QT = pytest.mark.skipif(bool(MISSING), reason=f"the tests of the desktop app are left out: {MISSING}")


def test_without_qt_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "PySide6", None)
    assert cli.command_line(["gui"]) == 2
    error = capsys.readouterr().err
    assert "PySide6" in error
    assert "Quintet's extra gui has it" in error


@QT
@POSIX
def test_the_command_shows_a_window_that_ends_in_order(tmp_path):
    sample = ROOT / "samples" / "knapsack" / "kplib.txt"
    saying_when_it_runs = (
        "import sys\n"
        "from PySide6.QtCore import QTimer\n"
        "import engine.cli, gui.application\n"
        "make = gui.application.make_application\n"
        "def made(*arguments):\n"
        "    app = make(*arguments)\n"
        "    QTimer.singleShot(0, lambda: print('ready', flush=True))\n"
        "    return app\n"
        "gui.application.make_application = made\n"
        "sys.exit(engine.cli.command_line(sys.argv[1:]))\n"
    )
    words = [sys.executable, "-c", saying_when_it_runs, "gui", "--data", str(tmp_path / "home"), str(sample)]
    child = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGTERM)
        errors = child.communicate(timeout=PATIENCE)[1]
    finally:
        child.kill()
    assert child.returncode == 0, errors
    assert "geometry" in (tmp_path / "home" / "window.ini").read_text()
