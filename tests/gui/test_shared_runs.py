"""What comes from elsewhere: exported runs, instances made here, and what other windows do to the same runs."""

import os
import shutil
import stat
import zipfile

import pytest
from PySide6.QtCore import Qt

import engine
from engine.errors import RunFolderError
from engine.formats.source import limited
from engine.runs.folder.run_folder import RunFolder
from gui.problem.new_instance import make_instance
from gui.runs.archives import unpack_run, write_zip
from gui.runs.library import Library
from tests.support import counting
from tests.support.app import COUNTING, SAMPLES
from tests.support.interaction import CONTROL, SHIFT, begin, drop, ended, load, opened
from tests.support.needs import POSIX

PATIENCE = 120_000
RECORDED = SAMPLES / "recorded" / "knapsack"


@pytest.fixture
def window(open_window, counting_files):
    return open_window(COUNTING)


@pytest.fixture
def exported(tmp_path):
    """A recorded run as a zip."""
    write_zip(RECORDED, tmp_path / "run.zip")
    return tmp_path / "run.zip"


def finished(tmp_path, title="small", home="home"):
    """A run of the counting solver, kept in a library as another window would."""
    library = Library(tmp_path / home)
    library.load()
    source = tmp_path / "counts" / "small.txt"
    note = library.new(title, solver="counting", source=str(source), options={"step": 5})
    with pytest.MonkeyPatch.context() as patch:
        counting.install(patch)
        engine.solve(counting.Counting.read(source), run_folder=note.folder, step=5)
    note.state = "optimal"
    library.save(note)
    return note


# --- archives -----------------------------------------------------------------------------------------------------


def test_an_exported_run_is_dropped_and_becomes_a_run_of_its_own(qtbot, window, exported, tmp_path):
    for count in (1, 2):
        drop(window, exported)
        qtbot.waitUntil(lambda count=count: len(window.run_tabs.opened()) == count, timeout=PATIENCE)
    tabs = window.run_tabs.opened()
    qtbot.waitUntil(lambda: all(tab.complete for tab in tabs), timeout=PATIENCE)
    assert {tab.note.path.name for tab in tabs} == {"knapsack", "knapsack-2"}
    assert all(tab.note.path.parent == window.library.runs for tab in tabs)
    for tab in tabs:
        for path in RECORDED.iterdir():
            assert (tab.note.path / path.name).read_bytes() == path.read_bytes()
    assert not list(window.library.home.glob(".unpacking*"))
    assert tabs[0].view.best == RunFolder.open(RECORDED).result().objective


def packed(path, *names, link=""):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, (RECORDED / "run.toml").read_bytes())
        if link:
            entry = zipfile.ZipInfo(link)
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(entry, "/etc/passwd")
    return path


@pytest.mark.parametrize(
    ("names", "link", "said"),
    [
        (("run/run.toml", "run/../../evil"), "", "leads outside its folder"),
        (("run/run.toml", "."), "", "leads outside its folder"),
        (("/run/run.toml",), "", "leads outside its folder"),
        (("run/run.toml", "run/..\\evil"), "", "leads outside its folder"),
        (("run/run.toml",), "run/problem.npz", "leads outside its folder"),
        (("run/run.toml", "run/problem.py"), "", "is code, which no run needs"),
        (("run/run.toml", "run/problem.PY"), "", "is code, which no run needs"),
        (("run/run.toml", "run/problem.py. "), "", "is code, which no run needs"),
        (("a/run.toml", "b/run.toml"), "", "holds no run"),
        (("run/notes.txt",), "", "holds no run"),
        (("run/run.toml",), "", "problem.npz is missing"),
    ],
)
def test_an_archive_that_is_no_run_is_refused_and_leaves_nothing(tmp_path, names, link, said):
    archive = packed(tmp_path / "odd.zip", *names, link=link)
    runs = tmp_path / "home" / "runs"
    with pytest.raises(RunFolderError, match=said) as refusal:
        unpack_run(archive, runs)
    assert "odd.zip" in str(refusal.value)
    assert "unpacking" not in str(refusal.value)
    assert list(runs.iterdir()) == []
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["odd.zip"]


def test_an_archive_that_unpacks_to_more_than_the_limit_is_refused_before_it_is_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run/run.toml", (RECORDED / "run.toml").read_bytes())
        archive.writestr("run/events.jsonl", bytes(1 << 22))
    with limited(1 << 20), pytest.raises(RunFolderError, match=r"it holds 4\.2 MB; the limit is 1\.0 MB"):
        unpack_run(tmp_path / "bomb.zip", tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


def test_an_archive_with_a_name_that_is_no_text_is_reported_in_a_sentence(tmp_path):
    archive = packed(tmp_path / "odd.zip", "run/run.toml", "run/é.txt")
    archive.write_bytes(archive.read_bytes().replace("é".encode(), b"\xff\xff"))
    with pytest.raises(RunFolderError, match="is no zip archive that can be read"):
        unpack_run(archive, tmp_path / "runs")


@POSIX
def test_what_a_folder_links_to_is_not_exported(tmp_path):
    shutil.copytree(RECORDED, tmp_path / "run")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "run" / "notes.txt").symlink_to(tmp_path / "secret")
    write_zip(tmp_path / "run", tmp_path / "run.zip")
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        assert "run/run.toml" in archive.namelist()
        assert "run/notes.txt" not in archive.namelist()


def test_a_file_that_is_no_archive_is_reported_in_a_sentence(qtbot, window, tmp_path):
    (tmp_path / "broken.zip").write_bytes(b"PK nothing")
    drop(window, tmp_path / "broken.zip")
    qtbot.waitUntil(lambda: window.pane.error.isVisible(), timeout=PATIENCE)
    assert "is no zip archive that can be read" in window.pane.error.text()
    assert window.run_tabs.opened() == []


# --- instances ----------------------------------------------------------------------------------------------------


def test_a_new_instance_is_made_from_a_form_written_and_opened(qtbot, window, tmp_path):
    window.settings.setValue("folder", str(tmp_path))
    qtbot.keyClick(window, Qt.Key.Key_N, CONTROL)
    dialog = window.problems.dialog
    dialog.activateWindow()  # as a window manager does
    qtbot.waitUntil(dialog.isActiveWindow, timeout=PATIENCE)
    dialog.path.setFocus()
    names = [dialog.kind.itemData(place)[0] for place in range(dialog.kind.count())]
    assert {"knapsack", "flowshop", "atsp", "nk", "probit", "linprog"} <= set(names)
    dialog.kind.setCurrentIndex(names.index("probit"))
    assert dialog.path.text().endswith("probit.csv")
    dialog.kind.setCurrentIndex(names.index("knapsack"))
    assert dialog.path.text() == str(tmp_path / "knapsack.txt")
    count = dialog.form.editor("n")
    count.selectAll()
    qtbot.keyClicks(count, "0")
    assert not dialog.make.isEnabled()
    count.selectAll()
    qtbot.keyClicks(count, "30")
    assert dialog.command.text() == f"quintet generate knapsack --n 30 --output {tmp_path / 'knapsack.txt'}"
    assert dialog.make.isEnabled()
    dialog.path.setText(str(tmp_path / "no such folder" / "a.txt"))
    assert "there is no folder" in dialog.error.text()
    assert not dialog.make.isEnabled()
    dialog.path.setText(str(tmp_path / "mine.txt"))
    qtbot.keyClick(dialog.path, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.pane.instance is not None and window.problems.loading is None, timeout=PATIENCE)
    assert window.pane.instance.source == tmp_path / "mine.txt"
    assert "30 items" in window.pane.about.text()
    assert engine.Knapsack.read(tmp_path / "mine.txt").n == 30
    assert window.pane.gallery.recent[0] == str(tmp_path / "mine.txt")


def test_every_kind_is_made_with_its_ending_and_read_again(qtbot, window, tmp_path):
    window.settings.setValue("folder", str(tmp_path))
    window.problems.new_instance()
    dialog = window.problems.dialog
    for place in range(dialog.kind.count()):
        dialog.kind.setCurrentIndex(place)
        if dialog.typed is not None:
            continue
        order = dialog.request()
        assert engine.runs.folder.run_folder.read_problem(make_instance(order)).describe()
    dialog._on_kind()
    assert dialog.error.text() == ""  # another name is suggested for what is there
    dialog.path.setText(str(order.path))
    assert "will be replaced" in dialog.error.text()
    dialog.reject()


# --- problems that runs keep --------------------------------------------------------------------------------------


@pytest.mark.full
def test_a_run_whose_file_is_gone_is_run_again_from_the_copy_it_keeps(qtbot, open_window, counting_files, tmp_path):
    note = finished(tmp_path)
    (counting_files / "small.txt").unlink()
    window = open_window(COUNTING)
    window.run_list.select(window.library.find(note.key))
    qtbot.keyClick(window, Qt.Key.Key_R, CONTROL | SHIFT)
    qtbot.waitUntil(lambda: window.pane.instance is not None and window.pane.options() != {}, timeout=PATIENCE)
    assert window.pane.options() == {"step": 5}
    assert f"quintet solve {note.path}" in window.pane.command_text()
    assert "engine.RunFolder.open" in window.pane.python_text()
    tab = begin(qtbot, window)
    ended(qtbot, tab)
    assert (tab.note.state, tab.note.best) == ("optimal", counting.expected(100))
    assert window.pane.gallery.recent == []
    (note.path / "problem.npz").unlink()
    window.run_list.select(window.library.find(note.key))
    window.runs.rerun()
    assert any("the run folder has no copy" in line for line in window.log.messages())


# --- two windows --------------------------------------------------------------------------------------------------


def test_runs_of_another_window_come_are_renamed_and_go_while_the_selection_stays(
    qtbot, open_window, counting_files, tmp_path
):
    first = finished(tmp_path, "first")
    window = open_window(COUNTING)
    own = window.library.find(first.key)
    window.run_list.select(own)
    other = Library(tmp_path / "home")
    other.load()
    second = finished(tmp_path, "second")
    qtbot.waitUntil(lambda: window.library.find(second.key) is not None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: window.library.find(second.key).state == "optimal", timeout=PATIENCE)
    assert window.run_list.count() == 2
    assert window.run_list.selected() == [own]
    window.runs.open_selected()
    theirs = other.find(first.key)
    theirs.title = "renamed there"
    other.save(theirs)
    qtbot.waitUntil(lambda: own.title == "renamed there", timeout=PATIENCE)
    assert window.tabs.tabText(1) == "renamed there"
    assert window.run_list.selected() == [own]
    other.rescan(lambda _note: False)
    other.delete(other.find(second.key))
    qtbot.waitUntil(lambda: window.library.find(second.key) is None, timeout=PATIENCE)
    assert window.run_list.count() == 1
    assert window.run_list.selected() == [own]


@POSIX
def test_a_run_that_goes_on_in_another_window_is_not_called_killed(tmp_path):
    here, there = Library(tmp_path / "home"), Library(tmp_path / "home")
    alive = there.new("alive", state="running", window=os.getppid())
    dead = there.new("dead", state="running", window=0)
    here.load()
    assert here.find(alive.key).state == "running"
    assert here.find(dead.key).state == "killed"


# --- actions and devices ------------------------------------------------------------------------------------------


def test_a_replay_at_its_end_offers_to_play_again(qtbot, window):
    tab = opened(qtbot, window, RECORDED)
    qtbot.waitUntil(lambda: tab.complete, timeout=PATIENCE)
    pause = window.actions_by_name["pause"]
    assert (pause.text(), pause.isEnabled()) == ("&Play again", True)
    tab.bar.speed.setCurrentIndex(0)
    pause.trigger()
    assert pause.text() == "&Pause"
    assert tab.player.position < tab.player.duration
    tab.bar.play.click()
    assert pause.text() == "&Resume"
    load(qtbot, window, SAMPLES / "knapsack" / "strongly-1000.txt")
    qtbot.keyClick(window, Qt.Key.Key_K, CONTROL)
    texts = window.help.palette.texts()
    for action in window.actions_by_name.values():
        if action.objectName() != "find_command":
            assert action.text().replace("&", "").rstrip("…") in texts
    assert window.help.palette.list.topLevelItem(0).isDisabled() is False
    window.help.palette.reject()


def test_a_device_is_held_twice_by_a_pool(qtbot, window):
    bar = window.tool_bar
    (name,) = bar.boxes
    assert not bar.counts[name].isEnabled()
    bar.boxes[name].setChecked(True)
    bar.counts[name].setValue(2)
    assert bar.values()["devices"] == [name, name]
    assert bar.devices.text() == f"{name} ×2"
    bar.boxes[name].setChecked(False)
    assert bar.values()["devices"] is None
    bar.set_values({"devices": [name, name, name]})
    assert (bar.boxes[name].isChecked(), bar.counts[name].value()) == (True, 3)


def test_a_run_whose_folder_is_deleted_meanwhile_says_that_its_result_is_not_kept(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    load(qtbot, window, counting_files / "endless.txt")
    window.launcher.start()
    tab = window.run_tabs.current_run()
    qtbot.waitUntil(lambda: tab.view.state == "running" and tab.note.path.exists(), timeout=60_000)
    shutil.rmtree(tab.note.path)
    window.launcher.stop()
    qtbot.waitUntil(lambda: tab.complete, timeout=60_000)
    assert (tab.note.state, "was deleted" in tab.banner.text.text()) == ("interrupted", True)
