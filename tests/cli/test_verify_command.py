"""``quintet verify`` of run folders: sentences, exit codes, archives, and folders that are damaged."""

import importlib
import json
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.cli import command_line
from engine.runs.folder.run_folder import RunFolder

KNAPSACK = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)
INTEGERS = engine.LinearProgram([-1, -2], A_ub=[[1, 1], [1, 3]], b_ub=[4, 6.5], integrality=1)


@pytest.fixture
def folder(tmp_path):
    """A run folder as a run leaves it, made without a device."""
    return made(tmp_path / "run", KNAPSACK, engine.solve(KNAPSACK))


def made(path, problem, result):
    solver = "linprog" if isinstance(problem, engine.LinearProgram) else "knapsack"
    run = RunFolder.create(path, problem, {"solver": solver, "options": {}})
    if result is not None:
        run.save_result(result)
    return path


def forged(folder, **changes):
    """The result with changes, and with digests that are right."""
    run = RunFolder.open(folder)
    found = run.result()
    run.save_result(replace(found, **changes))


def test_a_run_folder_and_its_archive_are_verified(folder, capsys):
    assert command_line(["verify", str(folder)]) == 0
    sentences = capsys.readouterr().out.splitlines()
    assert sentences[0] == f"{folder}: verified"
    assert "  verified: their profit is 220" in sentences
    for archive in (
        shutil.make_archive(str(folder.parent / "inside"), "zip", folder.parent, folder.name),
        shutil.make_archive(str(folder.parent / "flat"), "zip", folder),
    ):
        assert command_line(["verify", archive, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["verdict"], found["refuted"], len(found["verified"])) == ("verified", [], 4)


def test_exit_codes_say_what_is_refuted_and_what_is_not_verified(folder, tmp_path, capsys):
    partly = made(tmp_path / "partly", INTEGERS, engine.solve(INTEGERS))
    assert command_line(["verify", str(folder), str(partly)]) == 6
    assert "  not verified: that nothing is better than -5.0" in capsys.readouterr().out
    forged(folder, objective=221, bound=221)
    assert command_line(["verify", str(partly), str(folder), str(partly)]) == 4
    assert "  refuted: their profit is 220, but the objective says 221" in capsys.readouterr().out
    forged(folder, objective=220, bound=220, solution=np.array([0, 2]))
    assert engine.verify(folder).verdict == "refuted"


def test_folders_without_an_answer_or_damaged_are_refused(folder, tmp_path, capsys, monkeypatch):
    def refusal(path):
        assert command_line(["verify", str(path)]) == 2
        return capsys.readouterr().err

    open_run = made(tmp_path / "open", KNAPSACK, None)
    assert "has no result yet" in refusal(open_run)
    (folder / "result.npz").write_bytes(b"none")
    assert "does not match its digest" in refusal(folder)
    assert "is not a run folder" in refusal(tmp_path)
    assert "must hold one run folder" in refusal(
        shutil.make_archive(str(tmp_path / "no"), "zip", open_run, "problem.npz")
    )
    whole = shutil.make_archive(str(tmp_path / "whole"), "zip", open_run)
    monkeypatch.setattr("engine.verification.reading.limit", lambda: 100)
    assert "is larger than 100 bytes" in refusal(whole)


def test_the_code_of_a_problem_class_is_not_executed(tmp_path, monkeypatch):
    source = tmp_path / "quintet_test_mine.py"
    source.write_text("import engine\nclass Mine(engine.Knapsack):\n    pass\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(source.stem)
    run = made(tmp_path / "run", module.Mine([60, 100, 120], [10, 20, 30], 50), engine.solve(KNAPSACK))
    del sys.modules[source.stem]
    source.write_text("raise SystemExit('executed')\n", encoding="utf-8")
    before = sorted(path.name for path in run.iterdir())
    assert command_line(["verify", str(run)]) == 6
    assert sorted(path.name for path in run.iterdir()) == before
