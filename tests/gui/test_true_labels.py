"""What the window says of files, options, the queue and its own size is so."""

import threading
import time

from PySide6.QtCore import QSize, Qt

from engine.errors import ProblemError
from engine.formats.source import report_read
from gui.app.theme import LIGHT
from gui.plot.rows import Interval, IntervalPlot
from gui.window import problems
from tests.support.app import COUNTING, SAMPLES
from tests.support.interaction import load


def test_every_row_of_a_forest_plot_has_its_name_on_the_screen_and_in_exports(qtbot):
    plot = IntervalPlot("Coefficients", theme=LIGHT)
    qtbot.addWidget(plot)
    plot.resize(500, 300)
    plot.put([Interval(f"column {k}", 1.0 / (k + 1), (0.0, 1.0), (-1.0, 2.0)) for k in range(40)])
    plot.show()
    plot.refresh()
    image = plot.to_image(1.0, QSize(700, 300))
    ticks = plot.plot.getAxis("left")._tickLevels[0]
    assert [text for _, text in ticks] == [f"column {k}" for k in range(40)]
    assert min(plot.height(), image.height()) >= 40 * 13


def test_the_gallery_highlights_what_is_loaded_and_paths_are_of_the_named_file(qtbot, open_window, tmp_path):
    window = open_window()
    gallery, pane = window.pane.gallery, window.pane
    load(qtbot, window, SAMPLES / "knapsack" / "strongly-1000.txt")
    assert [item.text(0) for item in gallery.selectedItems()] == ["strongly-1000"]
    other = tmp_path / "mine.txt"
    other.write_text((SAMPLES / "knapsack" / "strongly-1000.txt").read_text())
    pane.show_loading(other)
    assert (pane.where.toolTip(), gallery.selectedItems()) == (str(other), [])
    load(qtbot, window, SAMPLES / "linprog.toml")
    assert [item.text(0) for item in gallery.selectedItems()] == ["blend"]


def test_reading_a_file_can_be_cancelled(qtbot, open_window):
    window = open_window(COUNTING)
    window.problems.load(SAMPLES / "knapsack" / "strongly-1000.txt")
    assert window.pane.cancel.isVisible()
    window.problems.read.emit("strongly-1000.txt", 0.43)
    assert (window.home.title, window.home.error.text()) == ("Reading strongly-1000.txt", "43 %")
    qtbot.mouseClick(window.pane.cancel, Qt.MouseButton.LeftButton)
    assert window.problems.loading is None
    qtbot.waitUntil(lambda: not window.jobs.pending, timeout=60_000)
    assert (window.pane.instance, window.pane.cancel.isVisible()) == (None, False)
    assert (window.pane.title.text(), window.home.title) == ("No problem chosen", "Start")


def test_what_is_being_read_ends_with_the_window(open_window, monkeypatch):
    window, ended = open_window(COUNTING), threading.Event()

    def read(*_):
        try:
            for _ in range(2000):
                report_read(1, 2)
                time.sleep(0.01)
        except ProblemError:
            ended.set()
            raise

    monkeypatch.setattr(problems, "read_instance", read)
    window.problems.load(SAMPLES / "knapsack" / "strongly-1000.txt")
    window.close_now()
    assert ended.wait(30)


def test_a_held_queue_is_seen_and_a_queued_run_says_so(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    load(qtbot, window, counting_files / "small.txt")
    window.actions_by_name["queue_hold"].trigger()
    qtbot.keyClick(window, Qt.Key.Key_F5)
    tab = window.tabs.currentWidget()
    assert (tab.note.state, "queue is held" in tab._waiting.text()) == ("queued", True)
    assert window.run_list.held.isVisible()
    assert "1 run" in window.run_list.held.text()
    qtbot.mouseClick(window.run_list.held, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: tab.complete and not tab.live, timeout=60_000)
    assert not window.run_list.held.isVisible()
    assert not window.actions_by_name["queue_hold"].isChecked()
