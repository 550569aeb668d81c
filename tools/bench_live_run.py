"""Memory of the window and delays of its event loop during a real run of the Gibbs sampler with seven traces.

``python -m tools.bench_live_run [SECONDS]`` prints a line each minute and one for the whole run. Delays depend on what
else the machine does; the pieces of work are processor time of the window's thread.
"""

from __future__ import annotations

import sys
import time
from array import array

import numpy as np
from PySide6.QtCore import Qt, QTimer

from tools.bench_window import resident
from tools.measuring import ROOT, Measured

BEAT = 5  # milliseconds


def main(seconds: float) -> None:
    """Run the sample for so long."""
    with Measured() as app:
        app.window.resize(1920, 1080)
        problems = app.window.problems
        problems.load(ROOT / "samples" / "gibbs" / "spam.csv")
        app.wait_until(lambda: problems.ready, 60)
        problems.pane.set_values({"draws": 10_000_000}, {})
        app.window.tool_bar.set_values({"time_limit": seconds})
        app.window.launcher.start()
        tab = app.window.run_tabs.current_run()
        app.wait_until(lambda: tab.panel is not None and tab.note.state == "running", 120)
        app.pieces.clear()
        delays, works, last = array("d", [0.0]), array("d"), time.perf_counter()

        def beat() -> None:
            nonlocal last
            delays.append(1000 * (time.perf_counter() - last) - BEAT)
            last = time.perf_counter()

        def report(when: str) -> None:
            works.extend(1000 * seconds for seconds in app.pieces)
            app.pieces.clear()  # else they would be counted as memory of the window
            work, delay = (
                " / ".join(f"{value:.1f}" for value in np.percentile(one, (50, 90, 99, 100))) for one in (works, delays)
            )
            print(
                f"{when}: {resident():.0f} MB, pieces of work {work} ms, no answer for {delay} ms "
                "(median / 90 % / 99 % / longest)",
                flush=True,
            )

        timer = QTimer(app.window, timerType=Qt.TimerType.PreciseTimer)
        timer.timeout.connect(beat)
        timer.start(BEAT)
        began = time.monotonic()
        while tab.live:
            app.wait(int(1000 * min(60, seconds / 4)))
            report(f"{(time.monotonic() - began) / 60:.1f} min")
        app.wait_until(lambda: tab.complete, 120)
        report(f"ended ({tab.note.state})")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 3600.0)
