"""An hour's run at 10 Hz of 4 devices x 10 metrics (1.44 million points), replayed in the real window.

``python -m tools.bench_long_run [SECONDS OF RUN] [SPEED]`` prints the memory of the process and how long frames
took: the work of a frame, and the longest time in which the window did not answer.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from engine.base.solver import MetricSpec, Solver
from engine.events import Finished, Metric, Started, to_json
from engine.runs.folder.run_folder import RunFolder
from engine.solvers import discover
from tests.support import counting

DEVICES = [f"cuda:{index}" for index in range(4)]
SPECS = tuple(MetricSpec(f"series_{number}", f"Series {number}", "units/s", per_device=True) for number in range(10))
LONG = Solver("long", "Long", (counting.Counting,), counting.Options, counting.solve, metrics=SPECS)


def write_run(folder: Path, seconds: float) -> int:
    """A recorded run of so many seconds; how many events it has."""
    discover()[LONG.name] = LONG
    discover()[counting.SOLVER.name] = counting.SOLVER
    RunFolder.create(folder, counting.Counting(1), {"solver": LONG.name, "options": {}, "settings": {}})
    specs = [vars(spec) for spec in SPECS]
    about = {"solver": LONG.name, "metrics": specs, "devices": DEVICES, "device_names": ["GPU"] * len(DEVICES)}
    started = Started(**(counting.STARTED.model_dump() | about))
    count = 2
    with (folder / "events.jsonl").open("w", encoding="utf-8") as stream:
        stream.write(to_json(started) + "\n")
        for step in range(int(10 * seconds)):
            now = step / 10 + 0.05
            for place, device in enumerate(DEVICES):
                for number, spec in enumerate(SPECS):
                    value = 100 * number + 10 * place + 20 * math.sin(now / (1 + number)) + step * 0.01
                    stream.write(to_json(Metric(time=now, name=spec.name, value=value, device=device)) + "\n")
                    count += 1
        stream.write(to_json(Finished(time=seconds, status="optimal", objective=1, bound=1, gap=0.0)) + "\n")
    return count


def memory() -> tuple[float, float]:
    """What the process holds now, and the most it has held, in MB."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return tuple(int(fields[name].split()[0]) / 1000 for name in ("VmRSS", "VmHWM"))  # type: ignore[return-value]


class Frames:
    """Times a window's frames, and how long its event loop stood still."""

    def __init__(self, window: Any) -> None:
        from PySide6.QtCore import QTimer

        self.frames: list[float] = []
        self.work: list[float] = []
        self.stalls: list[float] = []
        self._last = time.perf_counter()
        former = window._tick

        def tick() -> None:
            began, busy = time.perf_counter(), time.thread_time()
            former()
            self.frames.append(time.perf_counter() - began)
            self.work.append(time.thread_time() - busy)

        window._timer.timeout.disconnect()
        window._timer.timeout.connect(tick)
        self._beat = QTimer(window)
        self._beat.timeout.connect(self._on_beat)
        self._beat.start(2)

    def _on_beat(self) -> None:
        now = time.perf_counter()
        self.stalls.append(now - self._last)
        self._last = now

    def report(self) -> str:
        """Milliseconds: median, 99 % and longest."""

        def text(values: list[float]) -> str:
            order = sorted(values)
            picked = (order[len(order) // 2], order[int(0.99 * (len(order) - 1))], order[-1])
            return " / ".join(f"{1000 * value:.1f}" for value in picked)

        return (
            f"frame {text(self.frames)} ms, of which work {text(self.work)} ms; no answer for {text(self.stalls)} ms "
            "(median / 99 % / longest)"
        )


def main(seconds: float, speed: float) -> None:
    """Write, replay, report."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QEventLoop, QTimer

    from gui.application import make_application
    from gui.window.main import MainWindow

    with tempfile.TemporaryDirectory() as place:
        count = write_run(Path(place) / "run", seconds)
        make_application()
        window = MainWindow(Path(place) / "home")
        window.show()
        loop = QEventLoop()
        window.ready.connect(loop.quit)
        loop.exec()
        before = memory()[0]
        frames = Frames(window)
        began = time.perf_counter()
        window.runs.show_folder(Path(place) / "run", speed)
        while (tab := window.run_tabs.current_run()) is None:
            loop.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        tab.ready.connect(loop.quit)
        QTimer.singleShot(590_000, loop.quit)
        loop.exec()
        now, most = memory()
        print(f"{count} events in {time.perf_counter() - began:.1f} s; {len(frames.frames)} frames; {frames.report()}")
        print(f"memory {before:.0f} MB before, {now:.0f} MB after, {most:.0f} MB at most")
        window.close_now()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 3600.0, float(sys.argv[2]) if len(sys.argv) > 2 else math.inf)
