"""What the window says of files, options, the queue and its own size is so."""

import threading
import time

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox

from engine.errors import ProblemError
from engine.formats.source import report_read
from engine.solvers import discover
from gui.app.theme import LIGHT
from gui.plot.rows import Interval, IntervalPlot
from gui.problem.form import Form, HelpLine
from gui.window import problems
from tests.support.app import COUNTING, SAMPLES
from tests.support.interaction import load


def test_help_of_every_option_shows_its_whole_text(qtbot):
    for model in {model for solver in discover().values() for model in solver.option_models}:
        form, line = Form(model), HelpLine(4)
        qtbot.addWidget(form)
        qtbot.addWidget(line)
        assert (form.given(), form.errors()) == ({}, [])
        for name in form.names:
            title, text = form.help(name)
            line.show_help(title, text)
            assert "Default: " in text
            assert form.editor(name).accessibleName()
            for shown in (line.text(), form.editor(name).toolTip()):
                document = QTextDocument()
                document.setHtml(shown)
                for bound in ("<", ">"):
                    assert document.toPlainText().count(bound) >= title.count(bound), (model, name)


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


def test_a_window_opens_within_its_screen_and_tips_do_not_cover_the_progress(qtbot, open_window):
    window = open_window(COUNTING)
    room = QApplication.primaryScreen().availableSize()
    assert (window.width() <= room.width(), window.height() <= room.height()) == (True, True)
    window.status.progress.show()
    window.statusBar().showMessage("Pause or resume the run or the replay")
    assert (window.status.progress.isVisible(), window.status.state.isVisible()) == (True, True)


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


def test_a_file_that_cannot_be_used_is_reported_in_the_middle(qtbot, open_window, tmp_path):
    window, wrong = open_window(COUNTING), tmp_path / "wrong.txt"
    home = window.home
    wrong.write_text("hello\n")
    window.problems.load(wrong)
    qtbot.waitUntil(lambda: window.tabs.currentWidget() is home and home.error.isVisible(), timeout=60_000)
    assert window.tabs.tabText(0) == home.error_title.text() == "wrong.txt cannot be used"
    assert [part for part in (str(wrong), "choose its kind") if part not in home.error.text()] == []
    assert window.pane.error.text() == home.error.text()
    assert "BlockingFlowshop" not in home.error.text() + window.log.messages()[-1]
    window.problems.open_problem()
    dialog = window.findChild(QFileDialog)
    dialog.selectNameFilter(dialog.nameFilters()[-1])
    dialog.fileSelected.emit(str(wrong))
    qtbot.waitUntil(lambda: window.problems.loading is None, timeout=60_000)
    assert "cannot tell what kind" not in home.error.text()
    dialog.close()


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


def test_the_delete_key_asks_for_the_selected_run_by_name(qtbot, open_window):
    window = open_window(COUNTING)
    note = window.library.new("mine")
    note.state = "optimal"
    window.run_list.select(note)
    qtbot.keyClick(window.run_list.view, Qt.Key.Key_Delete)
    assert [box.text() for box in window.findChildren(QMessageBox)] == ["Delete “mine”?"]
    window.findChild(QMessageBox).reject()
