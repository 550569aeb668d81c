"""Opening a run or an instance executes nothing that the user has not allowed."""

import importlib
import sys
from pathlib import Path

import pytest

import engine
from engine.errors import RunFolderError, UntrustedCode
from engine.runs.folder.run_folder import RunFolder, foreign_code, read_problem
from engine.util.trust import remember

SOURCE = """
from pathlib import Path
from tests.support.counting import Counting
Path("executed.txt").write_text("yes")
class Mine(Counting):
    pass
"""


@pytest.fixture
def run_of_mine(tmp_path, monkeypatch):
    """A run on a class of a user's own, in a process that has not loaded it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_for_trust.py").write_text(SOURCE)
    mine = importlib.import_module("mine_for_trust")
    engine.solve(mine.Mine(60), run_folder=tmp_path / "r", hold=30, time_limit=0.05)
    for name in ("mine_for_trust", "quintet_problem_mine_for_trust"):
        sys.modules.pop(name, None)
    Path("executed.txt").unlink()
    return tmp_path / "r"


def forget():
    sys.modules.pop("quintet_problem_mine_for_trust", None)


def executed():
    return Path("executed.txt").exists()


def test_a_run_on_a_class_of_ones_own_asks_before_it_executes_it(run_of_mine):
    openings = [
        lambda: RunFolder.open(run_of_mine).problem(),
        lambda: read_problem(run_of_mine),
        lambda: engine.resume(run_of_mine),
    ]
    for opening in openings:
        with pytest.raises(UntrustedCode, match=r"mine_for_trust.py contains Python code .* --trust or trust=True"):
            opening()
    RunFolder.open(run_of_mine).result()
    code = foreign_code(run_of_mine)
    assert (code.kind, code.where, code.text) == ("Python", str(Path("mine_for_trust.py").absolute()), SOURCE)
    assert not executed()
    assert engine.resume(run_of_mine, trust=True).objective is not None
    assert executed()


def test_what_was_allowed_is_remembered_for_exactly_that_code(run_of_mine):
    code = foreign_code(run_of_mine)
    remember(code)
    assert foreign_code(run_of_mine) is None
    assert executed()
    forget()
    Path("executed.txt").unlink()
    Path("mine_for_trust.py").write_text(SOURCE + "\n")
    with pytest.raises(UntrustedCode):
        read_problem(run_of_mine)
    assert not executed()


def test_a_module_that_no_file_names_is_not_imported(run_of_mine):
    folder = RunFolder.open(run_of_mine)
    folder.description["problem"] = {**folder.description["problem"], "module": "mine_for_trust"}
    del folder.description["problem"]["file"]
    for trust in (False, True):  # its code, which could be another every time, cannot be shown
        with pytest.raises(RunFolderError, match="of the module mine_for_trust, which has no file"):
            folder.problem(trust=trust)
    assert not executed()
    folder.description["problem"].update({"class": "Path", "module": "pathlib"})
    with pytest.raises(RunFolderError, match="the class Path of the module pathlib, which has no file"):
        folder.problem(trust=True)


def test_a_snippet_in_a_file_asks_too(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    file = tmp_path / "x.boa"
    file.write_text("boa snippet n=20\nfor (int i = 0; i < N; i++) fitness += BIT(i);\n")
    with pytest.raises(UntrustedCode, match=r"x\.boa contains C code") as caught:
        read_problem(file)
    assert caught.value.code.text.startswith("for (int i")
    with pytest.raises(UntrustedCode):
        engine.BOA.read(file)
    assert read_problem(file, trust=True).describe()
    assert read_problem(file).describe()
    assert engine.BOA.read(file).native_code is not None
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "x.boa"))  # nothing can be remembered there
    file.write_text("boa snippet n=20\nfitness = BIT(4);\n")
    assert read_problem(file, trust=True).describe()
    with pytest.raises(UntrustedCode):
        read_problem(file)
