"""What comes from elsewhere: exported runs, instances made here, and what other windows do to the same runs."""

import shutil
import stat
import zipfile

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

import engine
from engine.errors import RunFolderError
from engine.formats.source import limited
from engine.runs.folder.run_folder import RunFolder
from gui.runs.archives import unpack_run, write_zip
from gui.runs.library import Library
from tests.support import counting
from tests.support.app import COUNTING, SAMPLES
from tests.support.interaction import CONTROL, drop, load
from tests.support.needs import POSIX

PATIENCE = 120_000
RECORDED = SAMPLES / "recorded" / "knapsack"


@pytest.fixture
def window(open_window, counting_files):
    return open_window(COUNTING)


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


def test_an_exported_run_is_dropped_and_becomes_a_run_of_its_own(qtbot, window, tmp_path):
    write_zip(RECORDED, tmp_path / "run.zip")
    for count in (1, 2):
        drop(window, tmp_path / "run.zip")
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
        (("/run/run.toml",), "", "leads outside its folder"),
        (("run/run.toml", "run/..\\evil"), "", "leads outside its folder"),
        (("run/run.toml",), "run/problem.npz", "leads outside its folder"),
        (("run/run.toml", "run/problem.py"), "", "is code, which no run needs"),
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


def test_a_new_instance_is_made_from_a_form_written_and_opened(qtbot, window, tmp_path):
    window.settings.setValue("folder", str(tmp_path))
    qtbot.keyClick(window, Qt.Key.Key_N, CONTROL)
    dialog = window.problems.dialog
    dialog.activateWindow()  # as a window manager does
    qtbot.waitUntil(dialog.isActiveWindow, timeout=PATIENCE)
    dialog.path.setFocus()
    names = [dialog.kind.itemData(place)[0] for place in range(dialog.kind.count())]
    dialog.kind.setCurrentIndex(names.index("probit"))
    assert dialog.path.text().endswith("probit.csv")
    dialog.kind.setCurrentIndex(names.index("knapsack"))
    for text, valid in (("0", False), ("30", True)):
        dialog.form.editor("n").selectAll()
        qtbot.keyClicks(dialog.form.editor("n"), text)
        assert dialog.make.isEnabled() == valid
    assert dialog.command.text() == f"quintet generate knapsack --n 30 --output {tmp_path / 'knapsack.txt'}"
    for folder in ("no such folder", 300 * "x"):  # the system refuses to look for the second one
        dialog.path.setText(str(tmp_path / folder / "a.txt"))
        assert ("there is no folder" in dialog.error.text(), dialog.make.isEnabled()) == (True, False)
    dialog.path.setText(str(tmp_path / "mine.txt"))
    qtbot.keyClick(dialog.path, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.pane.instance is not None and window.problems.loading is None, timeout=PATIENCE)
    assert window.pane.instance.source == tmp_path / "mine.txt"
    assert engine.Knapsack.read(tmp_path / "mine.txt").n == 30
    assert window.pane.gallery.recent[0] == str(tmp_path / "mine.txt")
    window.problems.new_instance()
    window.problems.dialog.path.setText(str(tmp_path / "mine.txt"))
    assert "will be replaced" in window.problems.dialog.error.text()
    window.problems.dialog.reject()


def test_runs_of_another_window_come_are_renamed_and_go_while_the_selection_stays(
    qtbot, open_window, counting_files, tmp_path
):
    first = finished(tmp_path, "first")
    window, other = open_window(COUNTING), Library(tmp_path / "home")
    own = window.library.find(first.key)
    window.run_list.select(own)
    other.load()
    second = finished(tmp_path, "second")
    qtbot.waitUntil(lambda: window.library.find(second.key) is not None, timeout=PATIENCE)
    assert (window.run_list.count(), window.run_list.selected()) == (2, [own])
    window.runs.open_selected()
    theirs = other.find(first.key)
    theirs.title = "renamed there"
    other.save(theirs)
    qtbot.waitUntil(lambda: own.title == window.tabs.tabText(1) == "renamed there", timeout=PATIENCE)
    other.rescan(lambda _note: False)
    other.delete(other.find(second.key))
    qtbot.waitUntil(lambda: window.library.find(second.key) is None, timeout=PATIENCE)
    assert (window.run_list.count(), window.run_list.selected()) == (1, [own])


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


def test_devices_that_are_ticked_once_or_twice_go_into_the_command(qtbot, window, counting_files):
    load(qtbot, window, counting_files / "small.txt")
    bar = window.tool_bar
    (name,) = bar.boxes
    bar.boxes[name].setChecked(True)
    qtbot.keyClicks(bar.time_limit, "7.5")
    assert window.pane.text.toPlainText().endswith(f"--devices {name} --time-limit 7.5")
    bar.counts[name].setValue(2)
    assert bar.devices.text() == f"{name} ×2"
    window.pane.kind.setCurrentIndex(1)
    qtbot.mouseClick(window.pane.copy, Qt.MouseButton.LeftButton)
    assert f"devices=['{name}', '{name}']" in QGuiApplication.clipboard().text() == window.pane.python_text()
    bar.boxes[name].setChecked(False)
    assert bar.values()["devices"] is None
    bar.set_values({"devices": [name, name, name]})
    assert (bar.boxes[name].isChecked(), bar.counts[name].value()) == (True, 3)
