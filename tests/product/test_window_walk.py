"""The window under a random walk over its actions, while other windows add and delete runs.

Offscreen, and in a real window of Xvfb where it is.
"""

import contextlib
import gc
import os
import random
import shutil
import subprocess
import sys

import pytest

from tests.support.app import COUNTING, MISSING
from tests.support.environment import ROOT
from tests.support.patience import PATIENCE as SECONDS

if MISSING:
    pytest.skip(MISSING, allow_module_level=True)

from PySide6.QtCore import QAbstractProxyModel, QItemSelectionModel, Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QAbstractItemView, QApplication, QDialog, QMessageBox

from gui.actions.table import SUBMENUS
from gui.application import make_application
from gui.runs.library import Library
from gui.runs.model import NOTE
from gui.window.main import MainWindow

PATIENCE = 120_000
LEFT_OUT = {"quit", "reveal", "queue_hold"}  # which end the window, open the file manager, or start child processes
ABOUT_THE_SELECTION = {"select", "start", "resume_run", "undo_delete"}  # these select what they begin or restore
# The list may follow to the run that is shown:
OF_TABS = {"open_run", "delete", "replay", "next_tab", "previous_tab", "close_tab"}


@pytest.fixture
def window(qtbot, tmp_path, monkeypatch):
    """A window on six runs; no queued run starts."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "nobody"))
    make_application()
    gc.disable()  # as in the app: no other thread takes windows apart
    for number in range(6):
        add_run(tmp_path / "home", number)
    window = MainWindow(tmp_path / "home", COUNTING)
    with qtbot.waitSignal(window.ready, timeout=PATIENCE):
        window.show()
    window.actions_by_name["queue_hold"].trigger()
    yield window
    window.close_now()
    window.deleteLater()
    qtbot.wait(1)
    gc.enable()
    gc.collect(1)


def add_run(home, number):
    """What another window keeps of a run that it has made."""
    other = Library(home)
    other.load()
    note = other.new(f"run {number % 4}", solver="counting", problem="count", source=str(home / "count.txt"))
    note.state, note.best, note.bound = "optimal", float(number), float(number)
    note.sweep = "" if number % 3 else "sweep"
    note.path.mkdir()
    (home / "count.txt").write_text("count 5\n", encoding="utf-8")
    other.save(note)


def delete_run(home, chance):
    other = Library(home)
    other.load()
    if other.notes:
        other.delete(chance.choice(other.notes))


class Walk:
    """Random actions on a window; after each, what must hold."""

    def __init__(self, window, seed, home):
        self.window, self.chance, self.home = window, random.Random(seed), home
        self.done, self.testers = [], {}

    def views(self):
        """The list of runs and, once it was opened, the table."""
        return [part for part in (self.window.run_list, self.window.all_runs.table) if part is not None]

    def selected(self):
        return [{note.key for note in view.selected()} for view in self.views()]

    def step(self):
        """One action of the user or of another window, and its invariants."""
        before, deleted = self.selected(), set()
        kind = self.chance.choice(["action", "action", "action", "select", "add", "delete elsewhere"])
        if kind == "action":
            enabled = [name for name, action in self.window.actions_by_name.items() if action.isEnabled()]
            kind = self.chance.choice(enabled)
            if kind in {*LEFT_OUT, *SUBMENUS}:
                return
            self.window.actions_by_name[kind].trigger()
            deleted = self.close_dialogs(kind)
        elif kind == "select":
            self.select()
        else:
            if kind == "add":
                add_run(self.home, len(self.done))
            else:
                delete_run(self.home, self.chance)
            self.window.runs.rescan()
        self.done.append(kind)
        QApplication.processEvents()
        self.watch_models()
        there = {note.key for note in self.window.library}
        if kind not in ABOUT_THE_SELECTION:
            tab = self.window.run_tabs.current_run() if kind in OF_TABS else None
            for keys, now in zip(before, self.selected(), strict=False):
                if tab is not None and now == {tab.note.key} & there:
                    continue
                kept = (keys - deleted) & there
                added = [note for view in self.views() for note in view.selected() if note.key in now - kept]
                assert kept <= now, f"after {kind}: {self.done}"
                assert all(note.sweep for note in added), f"after {kind}: {self.done}"  # of a sweep that is selected
        self.compare_numbers()

    def select(self):
        view = self.chance.choice(self.views())
        model, selection, flags = view.view.model(), view.view.selectionModel(), QItemSelectionModel.SelectionFlag
        selection.clear()
        for row in range(model.rowCount()):
            if self.chance.random() < 0.4:
                selection.select(model.index(row, 0), flags.Select | flags.Rows)

    def close_dialogs(self, kind):
        """Cancel what has opened, but confirm every second deletion; the keys of the runs that were to be deleted."""
        QApplication.processEvents()
        deleted, targets = set(), self.window.runs.targets()
        for dialog in [one for one in self.window.findChildren(QDialog) if one.isVisible()]:
            if kind == "delete" and isinstance(dialog, QMessageBox):
                notes = [note for note in targets if not note.live]
                assert all(f"“{note.title}”" in dialog.text() for note in notes), dialog.text()
                if self.chance.random() < 0.5:
                    deleted = {note.key for note in notes}
                    next(one for one in dialog.buttons() if one.text() == "Delete").click()
                    continue
            if kind == "set_tags":
                assert all(f"“{note.title}”" in dialog.labelText() for note in targets), dialog.labelText()
            dialog.reject()
        return deleted

    def watch_models(self):
        """Have Qt's tester follow every model of the app, and the proxies over it, from now on."""
        for view in QApplication.allWidgets():
            model = view.model() if isinstance(view, QAbstractItemView) else None
            while model is not None and type(model).__module__.startswith("gui."):
                if model not in self.testers:
                    mode = QAbstractItemModelTester.FailureReportingMode.Warning
                    self.testers[model] = QAbstractItemModelTester(model, mode, self.window)
                model = model.sourceModel() if isinstance(model, QAbstractProxyModel) else None

    def compare_numbers(self):
        """The list and the table say the same of every run."""
        table = self.window.all_runs.table
        if table is None:
            return
        said = {note.key: row for row, note in enumerate(table.shown())}
        listed, shown = self.window.run_list.view.model(), table.view.model()
        tops = [listed.index(row, 0) for row in range(listed.rowCount())]
        for index in (*tops, *(listed.index(row, 0, top) for top in tops for row in range(listed.rowCount(top)))):
            text, note = index.data(Qt.ItemDataRole.AccessibleTextRole), index.data(NOTE)
            if note is not None and note.key in said:
                row = said[note.key]
                cells = {name: shown.index(row, column).data() for column, name in enumerate(table.columns)}
                title = shown.index(row, table.columns.index("title")).data(Qt.ItemDataRole.AccessibleTextRole)
                assert text.startswith(f"{title}, {cells['state']}")
                assert f"best {cells['best']}" in text or not cells["best"]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 7))])
def test_the_selection_stays_with_its_runs_and_models_keep_their_contract(window, seed, tmp_path, qtlog):
    walk = Walk(window, seed, tmp_path / "home")
    window.actions_by_name["run_table"].trigger()
    walk.watch_models()
    for _ in range(80):
        walk.step()
    assert len(walk.testers) >= 4
    assert [record.message for record in qtlog.records if "FAIL!" in record.message] == []


@contextlib.contextmanager
def xvfb():
    """The environment of processes whose windows are on a display of Xvfb; without one the test is left out."""
    server = shutil.which("Xvfb")
    if server is None:
        pytest.skip("Xvfb is not installed")
    reader, writer = os.pipe()
    words = [server, "-displayfd", str(writer), "-screen", "0", "1280x900x24", "-nolisten", "tcp"]
    process = subprocess.Popen(words, pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    try:
        with open(reader, encoding="ascii") as stream:
            display = stream.readline().strip()
        environment = os.environ | {"DISPLAY": f":{display}", "QT_QPA_PLATFORM": "xcb"}
        code = "from PySide6.QtWidgets import QApplication; QApplication([])"
        opened = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=SECONDS
        )
        if opened.returncode:
            pytest.skip(f"Qt cannot open a window on Xvfb: {opened.stderr.strip().splitlines()[0]}")
        yield environment
    finally:
        process.terminate()
        process.wait()


@pytest.mark.full
def test_the_same_holds_in_a_real_window():
    test = f"{__file__}::{test_the_selection_stays_with_its_runs_and_models_keep_their_contract.__name__}[1]"
    with xvfb() as environment:
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
        done = subprocess.run(
            words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=5 * SECONDS, check=False
        )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
