"""The desktop app under test, offscreen: a window with a data folder of its own, and files to drop on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "run"))

import counting

try:
    import pyqtgraph  # noqa: F401
    import pytestqt  # noqa: F401
    from PySide6 import QtSvg, QtTest, QtWidgets  # noqa: F401

    TROUBLE = ""
except ImportError as error:
    TROUBLE = str(error)

collect_ignore_glob = ["test_[!q]*.py"] if TROUBLE else []  # test_qt.py says why

SAMPLES = Path(__file__).parent.parent.parent / "samples"
COUNTING = [sys.executable, "-W", "error", str(Path(counting.__file__).parent / "quintet_counting.py")]


@pytest.fixture(autouse=True)
def _own_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration of this machine, and no folder of its user."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "nobody"))


@pytest.fixture
def counting_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with problems of the counting solver, which this process knows too; see ``COUNTING``."""
    monkeypatch.setitem(counting.discover(), counting.SOLVER.name, counting.SOLVER)
    folder = tmp_path / "counts"
    folder.mkdir()
    (folder / "small.txt").write_text(f"count 100 {counting.expected(100)}\n")
    (folder / "endless.txt").write_text("count 1000000000\n")
    (folder / "bad.txt").write_text("count many\n")
    return folder


@pytest.fixture
def open_window(qtbot: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """``open_window()`` shows a window on ``tmp_path / "home"``, once all it looks for at the start is there."""
    from gui.app import make_application
    from gui.window import MainWindow

    windows: list[MainWindow] = []
    make_application()

    def show(command: list[str] | None = None) -> MainWindow:
        window = MainWindow(tmp_path / "home", command)
        windows.append(window)
        with qtbot.waitSignal(window.settled, timeout=30_000):
            window.resize(1400, 860)
            window.show()
        return window

    yield show
    for window in windows:
        window.quit_now()
        window.deleteLater()
    qtbot.wait(1)
