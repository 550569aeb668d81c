"""Files of odd names work; what cannot be written is one sentence; a terminal that goes away stops a run."""

import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine.cli import command_line
from engine.runs.folder.run_folder import RunFolder
from tests.support.environment import with_root
from tests.support.needs import LINUX, POSIX, package
from tests.support.patience import wait_until

FULL = Path("/dev/full")


def quintet(*words, **streams):
    command = [sys.executable, "-m", "engine", *words]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, env=with_root(), **streams)


@pytest.fixture
def board(tmp_path):
    path = tmp_path / "board.txt"
    path.write_text("queens 4\n")
    return str(path)


@pytest.mark.few(1)
@LINUX
@pytest.mark.parametrize("words", [["solve"], ["solve", "--json"], ["solve", "--events", "-"], ["solvers"]])
def test_a_full_standard_output_is_one_sentence(words, board):
    with FULL.open("w") as full:
        done = quintet(*words, *([board] if "solve" in words else []), stdout=full)
    errors = [line for line in done.stderr.splitlines() if not line.startswith("warning: an observer failed")]
    assert errors == ["error: standard output cannot be written: No space left on device"]
    assert done.returncode == 5


@pytest.mark.full
@LINUX
def test_a_solution_that_cannot_be_written_does_not_hide_the_result(tmp_path):
    (tmp_path / "items.txt").write_text("2 5\n3 2\n4 3\n")
    words = (str(tmp_path / "items.txt"), "--as", "knapsack", "--solution", str(FULL))
    done = quintet("solve", *words, stdout=subprocess.PIPE)
    assert (done.returncode, "objective" in done.stdout, FULL.is_file()) == (5, True, False)
    assert done.stderr == f"error: cannot write the solution to {FULL}: No space left on device\n"


@LINUX
def test_events_that_cannot_be_written_are_a_warning(board):
    done = quintet("solve", board, "--events", str(FULL), stdout=subprocess.PIPE)
    assert (done.returncode, "objective" in done.stdout) == (0, True)
    assert (done.stderr.count("\n"), "No space left on device" in done.stderr) == (1, True)


@POSIX
@pytest.mark.parametrize(
    "ignored", [pytest.param(False, id="terminal"), pytest.param(True, id="nohup", marks=pytest.mark.full)]
)
def test_a_hangup_stops_a_run_with_a_checkpoint_unless_it_is_ignored(tmp_path, ignored):
    (tmp_path / "board.txt").write_text("queens 22\n")
    words = [sys.executable, "-m", "engine", "solve", "board.txt", "--run-folder", "r"]
    words += ["--time-limit", "20" if ignored else "60"]
    handling = (lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) if ignored else None
    about = {"cwd": tmp_path, "env": with_root(), "preexec_fn": handling}
    running = subprocess.Popen(words, stdout=subprocess.PIPE, **about)
    events = tmp_path / "r" / "events.jsonl"
    wait_until(lambda: events.exists() and b'"metric"' in events.read_bytes())
    running.send_signal(signal.SIGHUP)
    output = running.communicate(timeout=120)[0]
    assert (running.returncode, b"time limit" in output) == (0, ignored)
    assert RunFolder.open(tmp_path / "r").checkpoint() is not None


def test_an_engine_is_not_pickled():
    with engine.Engine() as owner, pytest.raises(TypeError, match="owns open devices: make one in each process"):
        pickle.dumps(owner)


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


@LINUX
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


@LINUX
def test_what_is_missing_is_said_in_a_sentence(folder, capfd):
    for words in (["solve", f"no{ODD}"], ["resume", f"no{ODD}"], ["solve", f"{ODD}.txt", "--config", f"no{ODD}"]):
        assert command_line(words) == 2
        assert "\\udcff" in capfd.readouterr().err


@LINUX
def test_runs_are_exported_and_imported_by_the_app(folder):
    archives = package("gui.runs.archives")
    problem = engine.Knapsack.read(folder / f"{ODD}.txt")
    engine.solve(problem, run_folder=folder / f"run{ODD}")
    archives.write_zip(folder / f"run{ODD}", folder / f"{ODD}.zip")
    found = archives.unpack_run(folder / f"{ODD}.zip", folder / "runs")
    assert engine.load(found).objective == 220
