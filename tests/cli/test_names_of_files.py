"""Names of files whose bytes are not UTF-8: everything works with them, and JSON stays JSON in UTF-8."""

import json
import os

import pytest

import engine
from engine.cli import command_line
from tests.support.needs import LINUX, package

pytestmark = LINUX
ODD = os.fsdecode(b"odd\xff")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / ODD).mkdir()
    (tmp_path / ODD / f"{ODD}.txt").write_text("3 50\n60 10\n100 20\n120 30\n")
    monkeypatch.chdir(tmp_path / ODD)
    return tmp_path / ODD


def said(capfd, *words):
    """What a command that succeeds prints; it is UTF-8 without anything that JSON cannot hold."""
    capfd.readouterr()
    assert command_line(list(words)) == 0
    text = capfd.readouterr().out
    for line in text.splitlines() if "--json" in words else ():
        json.dumps(json.loads(line), ensure_ascii=False).encode()
    return text


def test_a_run_is_solved_kept_resumed_replayed_and_verified(folder, capfd):
    places = ("--run-folder", f"run{ODD}", "--solution", f"solution{ODD}.json", "--events", f"events{ODD}")
    assert '"saved": ["runodd?", "solutionodd?.json"]' in said(capfd, "solve", f"{ODD}.txt", "--json", *places)
    assert json.loads((folder / f"solution{ODD}.json").read_bytes())["problem"] == "odd?"
    for line in (folder / f"events{ODD}").read_bytes().splitlines():
        json.loads(line)
    for command in ("resume", "replay", "verify"):
        said(capfd, command, f"run{ODD}", *(() if command == "replay" else ("--json",)))
    assert engine.load(folder / f"run{ODD}").objective == 220
    assert engine.RunFolder.open(folder / f"run{ODD}").problem().name == "odd?"


def test_what_is_missing_is_said_in_a_sentence(folder, capfd):
    for words in (["solve", f"no{ODD}"], ["resume", f"no{ODD}"], ["solve", f"{ODD}.txt", "--config", f"no{ODD}"]):
        assert command_line(words) == 2
        assert "\\udcff" in capfd.readouterr().err


def test_runs_are_exported_and_imported_by_the_app(folder):
    archives = package("gui.runs.archives")
    problem = engine.Knapsack.read(folder / f"{ODD}.txt")
    engine.solve(problem, run_folder=folder / f"run{ODD}")
    archives.write_zip(folder / f"run{ODD}", folder / f"{ODD}.zip")
    found = archives.unpack_run(folder / f"{ODD}.zip", folder / "runs")
    assert engine.load(found).objective == 220
