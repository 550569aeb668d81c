"""How long it takes from F5 to the first point of a curve, and how long the window does not answer meanwhile.

``python -m tools.bench_start`` loads the sample of each solver in the real window, presses F5 and prints the
seconds until a curve has its first point, for the first run and for a later one, with the longest
piece of work of the window's thread (its own time, so that other load of the machine does not count).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from tools.measuring import ROOT, Measured

SECONDS = 60.0


def main() -> None:
    """Run each sample twice; print a line for each."""
    with Measured() as app:
        chosen = sys.argv[1:] or [path.stem for path in sorted((ROOT / "samples").glob("*.toml"))]
        for name in chosen:
            figures = []
            for _ in range(2):
                load(app, ROOT / "samples" / f"{name}.toml")
                app.wait(6000)  # until a process waits with open devices
                figures.append(first_point(app))
            texts = (f"{seconds:.2f} s (window blocked {1000 * blocked:.0f} ms)" for seconds, blocked in figures)
            print(f"{name}: from F5 to the first point " + ", then ".join(texts))


def load(app: Measured, path: Path) -> None:
    """Load a problem and wait for its form."""
    problems = app.window.problems
    problems.load(path)
    app.wait_until(lambda: problems.ready, SECONDS)


def first_point(app: Measured) -> tuple[float, float]:
    """Seconds from F5 to the first point of a curve, and the longest piece of work; then the run is stopped."""
    app.pieces.clear()
    began = time.perf_counter()
    app.piece(app.window.launcher.start)
    tab = app.window.run_tabs.current_run()
    app.wait_until(lambda: has_points(tab.panel) or not tab.live, SECONDS)
    seconds = time.perf_counter() - began
    app.wait(300)
    tab.stop()
    app.wait_until(lambda: not tab.live and tab.complete, SECONDS)
    blocked = max(app.pieces)
    app.window.run_tabs.close_current()
    return seconds, blocked


def has_points(panel: Any) -> bool:
    """Whether a plot of the dashboard has data."""
    return panel is not None and any(getattr(figure, "curves_have_data", False) for figure in panel.plots())


if __name__ == "__main__":
    main()
