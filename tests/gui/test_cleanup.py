"""Windows that are given up: scenes are taken apart in order, and only ever on the thread of the windows."""

import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QThreadPool

from engine.base.solver import MetricSpec
from engine.events import Metric
from gui.app.garbage import Collector
from gui.app.jobs import Job
from gui.app.theme import LIGHT
from gui.panels import RunInfo, panel_for
from gui.plot.live import LivePlot


def watched():
    panel = panel_for(RunInfo("any", (MetricSpec("speed", "Speed", "1/s"),)), LIGHT)
    panel.resize(800, 500)
    panel.show()
    panel.feed([Metric(time=float(k), name="speed", value=k) for k in range(9)])
    return panel


def lines(panel):
    return [figure for figure in panel.plots() if isinstance(figure, LivePlot)]


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["close", "deleteLater"])
def test_a_panel_that_goes_leaves_nothing_in_its_scenes(qtbot, how):
    panel = watched()
    plots = [plot for plot in lines(panel) if plot.isVisible()]
    qtbot.waitUntil(lambda: all(plot.populated for plot in plots), timeout=120_000)
    assert [plot._line.scene() is plot.view.scene() for plot in plots] == [True] * len(plots) != []
    getattr(panel, how)()
    for plot in plots:
        assert (plot.view.scene().items(), plot._line.parentItem(), plot.plot.scene()) == ([], None, None)
    panel.feed([Metric(time=20.0, name="speed", value=1.0)])  # late events do no harm, before its deletion and after
    panel.show()
    QCoreApplication.processEvents()
    panel.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert not any(map(shiboken6.isValid, (panel, *(plot.view for plot in plots))))


def test_garbage_is_collected_on_the_thread_of_the_windows_alone(qtbot, monkeypatch):
    monkeypatch.setattr("gui.app.garbage.gc", gc)

    class Knot:
        def __init__(self):
            self.own = self

    threads, before, collector = set(), gc.get_threshold(), Collector()
    try:
        assert not gc.isenabled()
        gc.set_threshold(100, 2, 2)
        gc.callbacks.append(note := lambda _phase, _what: threads.add(threading.get_ident()))
        found = weakref.ref(Knot())
        worker = threading.Thread(target=lambda: [Knot() for _ in range(5000)])
        worker.start()
        worker.join()
        assert (threads, found() is None) == (set(), False)
        qtbot.waitUntil(lambda: found() is None, timeout=120_000)
        assert threads == {threading.get_ident()}
        collector.freeze()
        assert gc.get_freeze_count() > 0
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*before)
        collector.close()
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)


def test_a_job_that_nobody_keeps_is_done_and_tells_on_the_thread_it_was_made_on(qtbot):
    done = []
    ran = []

    def start(number):
        def work():
            ran.append(threading.get_ident())
            return number

        job = Job(work, lambda value: done.append((value, threading.get_ident())), pytest.fail).start()
        if number % 2:
            job.discard()

    for number in range(200):
        start(number)
    qtbot.waitUntil(lambda: len(done) == 100 and len(ran) == 200, timeout=120_000)
    assert sorted(done) == [(number, threading.get_ident()) for number in range(0, 200, 2)]
    assert threading.get_ident() not in ran
    QThreadPool.globalInstance().waitForDone()
    QCoreApplication.processEvents()
    Job(int, lambda _value: None, pytest.fail).start()
    assert len(Job._active) <= 1


_STUCK = """
import time
from PySide6.QtCore import QThreadPool
from gui.application import finish, make_application
from gui.app.jobs import Job

app = make_application()
job = Job(lambda: time.sleep(600), print, print).start()
while not QThreadPool.globalInstance().activeThreadCount():
    time.sleep(0.01)
finish(100)
print("not reached")
"""


def test_work_that_does_not_end_does_not_keep_the_app_from_ending():
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    ended = subprocess.run(
        [sys.executable, "-c", _STUCK], env=environment, check=False, capture_output=True, text=True, timeout=300
    )
    assert (ended.returncode, ended.stdout) == (0, "")
