"""The desktop app under test, offscreen: a window with a data folder of its own, and files to drop on it."""

import dataclasses
import gc
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import counting
from tests.support.app import COUNTING, MISSING

if not MISSING:
    from PySide6 import QtCore

collect_ignore = [p.name for p in Path(__file__).parent.glob("test_*.py") if p.name != "test_qt.py"] if MISSING else []


@pytest.fixture(autouse=True)
def _own_environment(tmp_path, monkeypatch):
    """No configuration of this machine, and no folder of its user."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "nobody"))


@pytest.fixture(autouse=True, scope="module")
def _garbage_of_a_module():
    """What tests still held when they ended, such as a caught exception with its frames."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _the_session_stays_frozen(monkeypatch):
    """A window that closes would have all that was collected at the start searched for garbage again."""
    if not MISSING:
        nothing = dict.fromkeys(("freeze", "unfreeze"), lambda: None)
        monkeypatch.setattr("gui.app.garbage.gc", SimpleNamespace(**vars(gc) | nothing))


@pytest.fixture(autouse=True)
def _garbage_on_this_thread(_garbage_of_a_module):
    """As in the app: no other thread takes the windows of a test apart, now or in a later test."""
    gc.disable()
    try:
        yield
        if not MISSING and QtCore.QCoreApplication.instance() is not None:
            QtCore.QCoreApplication.sendPostedEvents(None, QtCore.QEvent.Type.DeferredDelete)
        gc.collect(1)
    finally:
        gc.enable()


@pytest.fixture
def counting_files(tmp_path, monkeypatch):
    """A folder with problems of the counting solver, which this process knows too; see ``COUNTING``."""
    monkeypatch.setitem(counting.discover(), counting.SOLVER.name, counting.SOLVER)
    folder = tmp_path / "counts"
    folder.mkdir()
    (folder / "small.txt").write_text(f"count 100 {counting.expected(100)}\n")
    (folder / "endless.txt").write_text("count 1000000000\n")
    (folder / "bad.txt").write_text("count many\n")
    return folder


class _AbacusQuery(QtCore.QObject if not MISSING else object):
    """Finds the abacus, as a child process with the counting solver would; without a child."""

    if not MISSING:
        found = QtCore.Signal(list, dict)
        failed = QtCore.Signal(str)

    def __init__(self, command, parent):
        super().__init__(parent)
        device = {"id": counting.ABACUS.id, **dataclasses.asdict(counting.ABACUS)}
        QtCore.QTimer.singleShot(0, self, lambda: self.found.emit([device], {"cuda": "CUDA is unavailable"}))

    def close(self):
        """Nothing goes on."""


@pytest.fixture
def open_window(qtbot, tmp_path, monkeypatch):
    """``open_window()`` shows a window on ``tmp_path / "home"``, once all it looks for at the start is there."""
    from gui.application import make_application
    from gui.window import main as module

    windows = []
    make_application()

    def show(command=None):
        if command is COUNTING:
            monkeypatch.setattr(module, "DeviceQuery", _AbacusQuery)
        window = module.MainWindow(tmp_path / "home", command)
        windows.append(window)
        with qtbot.waitSignal(window.ready, timeout=120_000):
            window.show()
            window.activateWindow()
        return window

    yield show
    for window in windows:
        window.close_now()
        window.deleteLater()
    qtbot.wait(1)
