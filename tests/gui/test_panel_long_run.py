"""A long run on many devices: memory stays as it is, and a frame has no more to draw than its pixels can show.

What a frame takes is printed, not asserted: that is for a quiet machine to say. The hour itself is marked slow:
``python -m pytest -m full tests/gui/test_panel_long_run.py -s`` prints what it measures.
"""

from __future__ import annotations

import gc
import math
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pytest

from engine.base.solver import MetricSpec
from engine.events import Event, Metric, Started
from gui.app.theme import DARK
from gui.panels import Panel, RunInfo, panel_for
from gui.plot.curves import Line
from gui.plot.live import LivePlot

DEVICES = [f"cuda:{k}" for k in range(4)]
SPECS = tuple(MetricSpec(f"metric_{k}", f"Metric {k}", "units/s", per_device=True) for k in range(10))
HERTZ = 10
MEMORY = 500  # MB of the whole window
ELSE = 200  # MB of the process without the run, at most


def resident() -> float:
    """Memory of this process in MB."""
    with open("/proc/self/status") as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith("VmRSS")) / 1024


def log(seconds: int) -> Any:
    """Batches of a tenth of a second: every metric of every device, noisy about a wave."""
    noise = np.random.default_rng(7).random((seconds * HERTZ, len(SPECS), len(DEVICES)))
    for tick, values in enumerate(noise.tolist()):
        at = tick / HERTZ
        wave = 1 + 0.3 * math.sin(at / 50)
        yield [
            Metric(time=at, name=spec.name, value=1e6 * (k + wave) * (0.8 + 0.4 * values[k][d]), device=device)
            for k, spec in enumerate(SPECS)
            for d, device in enumerate(DEVICES)
        ]


def watched(qtbot: Any) -> Panel:
    """The generic panel of such a run, as large as on a usual screen."""
    panel = panel_for(RunInfo("", SPECS, title="an hour"), DARK)
    qtbot.addWidget(panel)
    panel.resize(1400, 900)
    panel.show()
    start = Started(
        time=0.0,
        solver="any",
        problem="any",
        name="an hour",
        description="four devices, ten metrics",
        sense="maximize",
        options={},
        backend="cuda",
        devices=DEVICES,
        device_names=DEVICES,
        seed=0,
        metrics=[asdict(spec) for spec in SPECS],
    )
    panel.feed([start])
    return panel


@dataclass
class Drawn:
    """What a frame hands to the plots: how many lines and filled bands, of how many points, smooth ones among them."""

    items: int = 0
    points: int = 0
    smooth: int = 0

    def draw(self, x: Any, smooth: bool) -> None:
        self.items += 1
        self.points += len(x)
        self.smooth += smooth


def replay(
    qtbot: Any, monkeypatch: pytest.MonkeyPatch, seconds: int, frames: int
) -> tuple[Panel, list[float], list[Drawn]]:
    """Feed a whole log; at the end, the time of this thread that each of so many frames takes, and what it draws."""
    from PySide6.QtWidgets import QApplication

    panel = watched(qtbot)
    qtbot.wait(50)
    costs: list[float] = []
    work: list[Drawn] = [Drawn()]
    draw = Line.setData

    def counted(line: Line, *points: Any, **look: Any) -> None:
        if points:
            work[-1].draw(points[0], look.get("antialias", False))
        draw(line, *points, **look)

    monkeypatch.setattr(Line, "setData", counted)
    waiting: list[Event] = []
    total = seconds * HERTZ
    for tick, batch in enumerate(log(seconds)):
        if tick < total - frames:  # what a replay at high speed does: many batches at a time
            waiting += batch
            if tick % 600 == 599:
                panel.feed(waiting)
                QApplication.processEvents()
                waiting = []
            continue
        if tick == total - frames:
            qtbot.waitUntil(lambda: all(drawn(plot) for plot in panel.plots()), timeout=30_000)
        work.append(Drawn())
        began = time.thread_time()
        panel.feed([*waiting, *batch])
        QApplication.processEvents()
        costs.append(time.thread_time() - began)
        waiting = []
    return panel, costs[3:], work[4:]


def drawn(plot: Any) -> bool:
    """Whether a plot is out of the way, or made and drawn with what it has: new ones are drawn one after the other."""
    return not plot.isVisible() or (plot.populated and not plot.dirty)


def series_bytes(panel: Panel) -> int:
    return sum(curve.data.nbytes for plot in panel.plots() if isinstance(plot, LivePlot) for curve in plot.curves)


def check(qtbot: Any, monkeypatch: pytest.MonkeyPatch, seconds: int, frames: int) -> None:
    gc.collect()  # what earlier tests have left
    before = resident() if sys.platform == "linux" else 0.0
    panel, costs, work = replay(qtbot, monkeypatch, seconds, frames)
    frame, worst = statistics.median(costs), statistics.quantiles(costs, n=20)[-1]
    memory = resident() if sys.platform == "linux" else 0.0
    print(
        f"\n{seconds} s of {len(DEVICES)} devices x {len(SPECS)} metrics at {HERTZ} Hz: a frame takes "
        f"{1e3 * frame:.1f} ms (95 %: {1e3 * worst:.1f} ms), memory {memory:.0f} MB (before: {before:.0f} MB), "
        f"curves {series_bytes(panel) / 1e6:.1f} MB, {max(frame_work.points for frame_work in work):,} points drawn"
    )
    plots = [plot for plot in panel.plots() if isinstance(plot, LivePlot)]
    curves = [curve for plot in plots for curve in plot.curves]
    assert len(curves) == len(SPECS) * len(DEVICES)
    assert all(curve.data.last_time == pytest.approx(seconds - 1 / HERTZ) for curve in curves)
    assert series_bytes(panel) < 4e6
    assert memory - before < MEMORY - ELSE
    # A line has two points for every three pixels at most, and its band the same there and back.
    most = sum(2 * plot.view.width() * len(plot.curves) for plot in plots if plot.isVisible())
    for frame_work in work:
        assert 0 < frame_work.items <= 2 * len(curves)  # each plot is drawn once
        assert frame_work.points <= most
        assert frame_work.smooth == 0  # so many lines are thin: wide, smooth ones cost a hundred times more


@pytest.mark.full
def test_ten_minutes_of_four_devices_stay_small_and_smooth(qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # the buffers are full after seven minutes, so that later frames cost no more; the hour is in the slow test
    check(qtbot, monkeypatch, 600, 25)


@pytest.mark.full
def test_an_hour_of_four_devices_stays_small_and_smooth(qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check(qtbot, monkeypatch, 3600, 200)
