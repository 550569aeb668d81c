"""The application object, the arguments of ``quintet gui``, and the handling of unexpected errors."""

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QCoreApplication, QThreadPool
from PySide6.QtWidgets import QApplication

from engine.util.quirks.switch_interval import shorten
from gui.app.garbage import Collector
from gui.app.icons import application_icon
from gui.runs.child import Child
from gui.runs.library import default_home
from gui.window.main import MainWindow
from gui.window.single import Single, show_elsewhere

_PATIENCE = 10_000  # milliseconds


def make_application(arguments: Sequence[str] = ("quintet",)) -> QApplication:
    """The application object, created if there is none."""
    app = QApplication.instance() or QApplication(list(arguments))
    assert isinstance(app, QApplication)
    QCoreApplication.setApplicationName("Quintet")
    QApplication.setDesktopFileName("quintet")
    app.setWindowIcon(application_icon())
    shorten(0.0005)  # a parsing thread must not delay the drawing one
    return app


def run(arguments: Sequence[str]) -> int:
    """Show the window until it is closed; ``arguments`` are files to open, ``--as KIND`` and ``--data DIR``."""
    parser = argparse.ArgumentParser(prog="quintet gui", description="Solve problems in a desktop app.")
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="a problem file, a run folder, or an exported run"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder for runs and settings")
    parser.add_argument("--as", dest="kind", metavar="KIND", help="read the files as this kind of problem")
    given = parser.parse_args(list(arguments))
    app, home = make_application(), given.data or default_home()
    if show_elsewhere(home, given.files, given.kind):
        print("shown in the window that is open")
        return 0
    window = MainWindow(home, standby=True)
    _report_errors(window)

    def open_files(paths: Sequence[Path], kind: str | None) -> None:
        for path in paths:
            window.problems.open_path(path, kind)
        window.raise_()
        window.activateWindow()

    open_files(given.files, given.kind)
    Single(home, window).asked.connect(open_files)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: window.session.stop_and_quit())
    window.show()
    collector = Collector(app)
    window.ready.connect(collector.freeze)
    try:
        code = app.exec()
    finally:
        finish(_PATIENCE)
        collector.close()
    return code


def finish(milliseconds: int) -> None:
    """Wait for work on other threads.

    The process ends here if a disk does not answer, or if runs continue, which the end of their objects would kill.
    """
    pool = QThreadPool.globalInstance()
    pool.clear()
    if not pool.waitForDone(milliseconds) or Child.any_detached():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _report_errors(window: MainWindow) -> None:
    """Report an error in a slot in the log; the window stays open."""

    def hook(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        traceback.print_exception(kind, error, where)
        if isinstance(error, Exception):
            window.log.add(f"internal error: {kind.__name__}: {error} (details on standard error)", "error")

    sys.excepthook = hook
