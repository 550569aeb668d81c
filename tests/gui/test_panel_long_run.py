"""A long run on many devices: memory stays as it is, and a frame has no more to draw than its pixels can show.

``python -m tools.bench_long_run`` measures an hour in the real window.
"""

import gc
import math
import sys
from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from engine.base.solver import MetricSpec
from engine.events import Metric
from gui.app.theme import DARK
from gui.plot.curves import Line
from gui.plot.live import LivePlot
from tests.support.counting import STARTED
from tests.support.dashboards import panel_of

DEVICES = [f"cuda:{k}" for k in range(4)]
SPECS = tuple(MetricSpec(f"metric_{k}", f"Metric {k}", "units/s", per_device=True) for k in range(10))
HERTZ, SECONDS, FRAMES = 10, 600, 25  # the buffers of the curves are full after seven minutes
MEMORY = 300  # MB that the run may take


def resident():
    """Memory of this process in MB."""
    with open("/proc/self/status") as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith("VmRSS")) / 1024


def log():
    """Batches of a tenth of a second: every metric of every device, noisy about a wave."""
    noise = np.random.default_rng(7).random((SECONDS * HERTZ, len(SPECS), len(DEVICES)))
    for tick, values in enumerate(noise.tolist()):
        wave = 1 + 0.3 * math.sin(tick / HERTZ / 50)
        yield [
            Metric(
                time=tick / HERTZ, name=spec.name, value=1e6 * (k + wave) * (0.8 + 0.4 * values[k][d]), device=device
            )
            for k, (spec, at) in enumerate(zip(SPECS, values, strict=True))
            for d, device in enumerate(DEVICES)
        ]


@pytest.mark.full
def test_ten_minutes_of_four_devices_stay_small_and_smooth(qtbot, monkeypatch):
    gc.collect()  # what earlier tests have left
    before = resident() if sys.platform == "linux" else 0.0
    panel = panel_of(qtbot, "", SPECS, title="ten minutes", size=(1400, 900), theme=DARK)
    about = {"devices": DEVICES, "device_names": DEVICES, "metrics": [asdict(spec) for spec in SPECS]}
    panel.feed([STARTED.model_copy(update=about)])
    frames, draw = [Counter()], Line.setData

    def counted(line, *points, **look):
        if points:
            frames[-1].update(items=1, points=len(points[0]), smooth=int(look.get("antialias", False)))
        draw(line, *points, **look)

    monkeypatch.setattr(Line, "setData", counted)
    batches = list(log())
    for first in range(0, len(batches) - FRAMES, 600):  # what a replay at high speed does: many batches at a time
        panel.feed([event for batch in batches[first : min(first + 600, len(batches) - FRAMES)] for event in batch])
        QApplication.processEvents()
    plots = [plot for plot in panel.plots() if isinstance(plot, LivePlot)]
    seen = [plot for plot in plots if plot.isVisible()]  # new ones are drawn one after the other
    qtbot.waitUntil(lambda: all(plot.populated and not plot.dirty for plot in seen), timeout=30_000)
    for batch in batches[-FRAMES:]:
        frames.append(Counter())
        panel.feed(batch)
        QApplication.processEvents()
    curves = [curve for plot in plots for curve in plot.curves]
    assert len(curves) == len(SPECS) * len(DEVICES)
    assert all(curve.data.last_time == pytest.approx(SECONDS - 1 / HERTZ) for curve in curves)
    assert sum(curve.data.nbytes for curve in curves) < 4e6
    assert (resident() if sys.platform == "linux" else 0.0) - before < MEMORY
    # A line has two points for every three pixels at most, and its band the same there and back.
    most = sum(2 * plot.view.width() * len(plot.curves) for plot in seen)
    for frame in frames[4:]:
        assert 0 < frame["items"] <= 2 * len(curves)  # each plot is drawn once
        assert frame["points"] <= most
        assert frame["smooth"] == 0  # so many lines are thin: wide, smooth ones cost a hundred times more
