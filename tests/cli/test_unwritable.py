"""What cannot be written is one sentence and exit code 5; a terminal that goes away stops a run as SIGTERM does."""

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine.runs.folder.run_folder import RunFolder
from tests.support.needs import LINUX, POSIX
from tests.support.patience import wait_until

FULL = Path("/dev/full")
ROOT = Path(__file__).resolve().parents[2]


def quintet(*words, **streams):
    command = [sys.executable, "-m", "engine", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, env=environment, **streams)


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
    items = tmp_path / "items.txt"
    items.write_text("2 5\n3 2\n4 3\n")
    done = quintet("solve", str(items), "--as", "knapsack", "--solution", str(FULL), stdout=subprocess.PIPE)
    assert done.returncode == 5, done.stderr
    assert "objective" in done.stdout
    assert done.stderr == f"error: cannot write the solution to {FULL}: No space left on device\n"
    assert not FULL.is_file()


@LINUX
def test_events_that_cannot_be_written_are_a_warning(board):
    done = quintet("solve", board, "--events", str(FULL), stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert "objective" in done.stdout
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


@POSIX
@pytest.mark.parametrize(
    "ignored", [pytest.param(False, id="terminal"), pytest.param(True, id="nohup", marks=pytest.mark.full)]
)
def test_a_hangup_stops_a_run_with_a_checkpoint_unless_it_is_ignored(tmp_path, ignored):
    path = tmp_path / "board.txt"
    path.write_text("queens 22\n")
    words = [
        sys.executable,
        "-m",
        "engine",
        "solve",
        str(path),
        "--run-folder",
        str(tmp_path / "r"),
        "--time-limit",
        "20" if ignored else "60",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    handling = (lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) if ignored else None
    running = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, preexec_fn=handling)
    events = tmp_path / "r" / "events.jsonl"
    wait_until(lambda: events.exists() and b'"metric"' in events.read_bytes())
    running.send_signal(signal.SIGHUP)
    output = running.communicate(timeout=120)[0]
    assert running.returncode == 0
    assert (b"time limit" in output) == ignored
    assert RunFolder.open(tmp_path / "r").checkpoint() is not None


def test_an_engine_is_not_pickled():
    with engine.Engine() as owner, pytest.raises(TypeError, match="owns open devices: make one in each process"):
        pickle.dumps(owner)
