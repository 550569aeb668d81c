"""The Gantt chart of a flowshop schedule."""

import math
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter

from gui.app.theme import Theme, pen_of
from gui.plot.axes import Axis, NumberAxis
from gui.plot.charts import Picture, draw_text
from gui.plot.legend import small_font
from gui.plot.tables import Table

Ints = NDArray[np.int64]


def schedule(times: NDArray[Any], order: NDArray[Any], kind: str = "flowshop") -> tuple[Ints, Ints]:
    """Begin and end of every operation of a permutation flowshop; column k is of job ``order[k]``."""
    sorted_times = np.asarray(times, np.int64)[:, np.asarray(order, np.int64)]
    if kind in ("blocking", "nowait"):
        begin = _begins_without_buffers(sorted_times, kind == "blocking")
        return begin, begin + sorted_times
    end = np.zeros_like(sorted_times)
    ready = np.zeros(sorted_times.shape[1], np.int64)
    for machine, work in enumerate(sorted_times):
        done = np.cumsum(work)  # a job ends when some job before it was ready, and all since then are done
        ready = end[machine] = np.maximum.accumulate(ready - (done - work)) + done
    return end - sorted_times, end


def _begins_without_buffers(times: Ints, blocking: bool) -> Ints:
    """Begin of every operation where jobs cannot wait between machines: on the machine before, or not at all."""
    machines, jobs = times.shape
    begin = np.zeros_like(times)
    free = np.zeros(machines + 1, np.int64)
    for job in range(jobs):
        offset = np.cumsum(times[:, job]) - times[:, job]
        if not blocking:
            begin[:, job] = int((free[:machines] - offset).max()) + offset
            free[:machines] = begin[:, job] + times[:, job]
            continue
        at = int(free[0])
        for machine in range(machines):
            begin[machine, job] = at
            at = max(at + int(times[machine, job]), int(free[machine + 1]))
            free[machine] = at
    return begin


def _hues(count: int, dark: bool) -> list[QColor]:
    """Colours of many things: neighbours differ in hue, and by turns in lightness."""
    golden = 0.61803398875
    levels = (0.62, 0.48, 0.72) if dark else (0.46, 0.58, 0.36)
    return [QColor.fromHslF((0.55 + k * golden) % 1.0, 0.55, levels[k % 3]) for k in range(count)]


class Gantt(Picture):
    """A flowshop's schedule: a row for each machine, a colour for each job; both counted from 0, as in solutions."""

    def __init__(self, theme: Theme) -> None:
        self._begin = self._end = np.zeros((0, 0), np.int64)
        self._order = np.zeros(0, np.int64)
        super().__init__("Schedule", "jobs and machines counted from 0", theme=theme, key="schedule")
        self.hint("The schedule of the best order of jobs is shown once there is one.")

    def make_axes(self) -> dict[str, pg.AxisItem]:
        return {
            "left": Axis("left", title="machine"),
            "bottom": NumberAxis("bottom", title="time (units of the instance)"),
        }

    def populate(self) -> None:
        super().populate()
        self.plot.getViewBox().invertY(True)
        left = self.plot.getAxis("left")
        left.setStyle(tickLength=0, hideOverlappingLabels=False)
        left.set_tick_width(40)

    def show_schedule(self, times: NDArray[Any], order: NDArray[Any], kind: str = "flowshop") -> None:
        """Show the schedule of an order of jobs; ``kind`` as for :func:`schedule`."""
        self._begin, self._end = schedule(times, order, kind)
        self._order = np.asarray(order, np.int64)
        self.hint("")
        self.dirty = True

    def redraw(self) -> None:
        machines = len(self._begin)
        if not machines:
            return
        last = int(self._end.max())
        step = max(1, math.ceil(machines * 15 / max(60, self.view.height() - 30)))
        names = [(m + 0.5, f"M{m}") for m in range(0, machines, step)]
        self.plot.getAxis("left").setTicks([names])
        self.item.set_bounds(QRectF(0, 0, last, machines))
        self.plot.setRange(xRange=(0, last), yRange=(0, machines), padding=0)

    def _paint_content(self, painter: QPainter) -> None:
        machines, jobs = self._begin.shape
        colours = _hues(jobs, self.theme.dark)
        font = small_font()
        painter.setFont(font)
        scale = painter.transform().m11()
        row = abs(painter.transform().m22())
        for m in range(machines):
            for k in range(jobs):
                begin, end, job = int(self._begin[m, k]), int(self._end[m, k]), int(self._order[k])
                rect = QRectF(begin, m + 0.08, end - begin, 0.84)
                painter.fillRect(rect, colours[job])
                painter.setPen(pen_of(self.theme.base, (), 1.0))
                painter.drawRect(rect)
                text = str(job)
                if (end - begin) * scale > 8 + 7 * len(text) and row > 13:
                    light = colours[job].lightnessF() > 0.55
                    draw_text(painter, rect.center(), text, "#101010" if light else "#ffffff")

    def table(self) -> Table:
        machines, jobs = self._begin.shape
        rows = [
            (int(self._order[k]), m, int(self._begin[m, k]), int(self._end[m, k]))
            for k in range(jobs)
            for m in range(machines)
        ]
        return ["job", "machine", "begin", "end"], rows
