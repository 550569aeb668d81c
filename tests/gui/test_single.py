"""A second start of the app on the same data comes to the window that is open."""

import subprocess
import sys

from PySide6.QtCore import QObject

from gui.window.single import Single, show_elsewhere
from tests.support.environment import ROOT

_START = "import sys; from gui.application import run; sys.exit(run(sys.argv[1:]))"


def test_a_second_start_hands_its_files_to_the_open_window(qtbot, tmp_path):
    assert not show_elsewhere(tmp_path, [], None)
    owner, asked = QObject(), []
    single = Single(tmp_path, owner)
    single.asked.connect(lambda paths, kind: asked.append((paths, kind)))
    words = ["a.txt", "--as", "Knapsack", "--data", str(tmp_path)]
    child = subprocess.Popen([sys.executable, "-c", _START, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    qtbot.waitUntil(lambda: child.poll() is not None, timeout=120_000)
    assert (child.returncode, child.communicate()[0]) == (0, "shown in the window that is open\n")
    assert asked == [([ROOT / "a.txt"], "Knapsack")]
    assert not show_elsewhere(tmp_path / "other data", [], None)
