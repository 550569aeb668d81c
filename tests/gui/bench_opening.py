"""How long the window does not answer while recorded runs are opened and their pages turned.

``python tests/gui/bench_opening.py`` opens each recorded run several times in the real window and prints, for each, the
longest single piece of work of the window's thread (its own time, so that other load of the machine does not count).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEvent, QEventLoop, QObject, QTimer  # noqa: E402 - the platform is chosen before
from PySide6.QtWidgets import QApplication  # noqa: E402

TIMES = 5


class Timed(QApplication):
    """Notes how long each event takes that the event loop hands out."""

    depth = 0
    pieces: list[float]

    def notify(self, receiver: QObject, event: QEvent) -> bool:
        """Hand the event out."""
        self.depth += 1
        began = time.thread_time()
        try:
            return super().notify(receiver, event)
        finally:
            self.depth -= 1
            if self.depth == 0:
                self.pieces.append(time.thread_time() - began)


def main() -> None:
    """Open, turn pages, close; print milliseconds."""
    app = Timed([])
    app.pieces = []
    from gui.app.application import make_application
    from gui.app.garbage import Collector
    from gui.window.main import MainWindow

    make_application()
    loop = QEventLoop()

    def wait(milliseconds: int) -> None:
        QTimer.singleShot(milliseconds, loop.quit)
        loop.exec()

    def longest(work: Any, milliseconds: int) -> float:
        app.pieces.clear()
        began = time.thread_time()
        work()
        own = time.thread_time() - began
        wait(milliseconds)
        return 1000 * max(own, *app.pieces)

    with tempfile.TemporaryDirectory() as home:
        window = MainWindow(Path(home))
        collector = Collector(app)
        window.ready.connect(collector.freeze)
        window.ready.connect(loop.quit)
        window.show()
        loop.exec()
        wait(500)
        for folder in sorted((ROOT / "samples" / "recorded").iterdir()):
            opened, turned = [], []
            for _ in range(TIMES):
                opened.append(longest(lambda folder=folder: window.runs.show_folder(folder), 1000))
                pages = window.tabs.currentWidget().panel.pages
                for page in range(1, pages.count()):
                    turned.append(longest(lambda pages=pages, page=page: pages.setCurrentIndex(page), 300))
                window.run_tabs.close_current()
                wait(100)
            order = sorted(opened[1:])
            print(
                f"{folder.name}: opened for the first time {opened[0]:.0f} ms, later {order[len(order) // 2]:.0f} ms "
                f"(worst {order[-1]:.0f}); a page turned {sorted(turned)[len(turned) // 2]:.0f} ms "
                f"(worst {max(turned):.0f})"
            )
        window.close_now()
        collector.close()


if __name__ == "__main__":
    main()
