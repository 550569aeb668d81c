"""Commands as processes: standard input, signals, broken pipes, and one that waits with open devices."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine import events
from tests.support.environment import with_root
from tests.support.needs import POSIX
from tests.support.patience import PATIENCE, wait_until


def say(child, text):
    child.stdin.write(text)
    child.stdin.flush()


def test_lines_on_standard_input_pause_resume_and_stop(spawn):
    child = spawn("solve", "endless.txt", "--events", "-")
    until = spoken(child)
    until("metric")
    say(child, "pause\n")
    paused = until("state", state="paused")
    say(child, "hurry up\n")
    notice = until("notice", level="warning")
    commands = "the commands are pause, resume, stop and detach"
    assert notice.message == f"unknown line on standard input: 'hurry up'; {commands}"
    say(child, "resume\r\n")
    assert until("state", state="running").time == paused.time
    until("metric")
    say(child, "st")
    time.sleep(0.05)
    say(child, "op\n")
    assert until("finished", status="interrupted").objective is not None
    output, errors = child.communicate(timeout=PATIENCE)
    assert (child.returncode, output, errors) == (0, "", "")


@pytest.mark.few(1)
@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_stops_and_reports_the_best_so_far(number, spawn):
    child = spawn("solve", "endless.txt", "--run-folder", "r")
    wait_for("incumbent")
    child.send_signal(number)
    output, errors = child.communicate(timeout=PATIENCE)
    assert (child.returncode, "interrupted" in output, "Traceback" in errors) == (0, True, False)
    notices = [event.message for event in recorded() if event.type == "notice"]
    assert [message for message in notices if message.startswith("stopping at the end")] == notices[:1]


@POSIX
def test_a_second_ctrl_c_aborts(spawn):
    child = spawn("solve", "endless.txt", "--run-folder", "r", "--slice-seconds", str(10 * PATIENCE))
    wait_for("started")
    child.send_signal(signal.SIGINT)
    wait_for("state", state="stopping")
    child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=PATIENCE)  # shorter than the slice that is at work
    at_work = [event.message for event in recorded() if event.type == "notice"] == [
        "stopping at the end of this slice; press Ctrl-C again to abort"
    ]  # or it was interrupted between its first event and the command's hold of it
    said = "" if at_work else "stopping once the run has started; press Ctrl-C again to abort\n"
    assert (child.returncode, output, errors) == (130, "", f"{said}\nerror: aborted\n")


@POSIX
def test_a_reader_that_goes_away_ends_the_run_quietly(spawn):
    child = spawn("solve", "endless.txt", "--events", "-")
    spoken(child)("metric")
    child.stdout.close()
    child.stdout = None
    assert (child.wait(timeout=PATIENCE), child.stderr.read()) == (0, "")


@pytest.mark.few(1)
@pytest.mark.parametrize("words", [["--events", "-"], ["--json"]])
def test_what_a_driver_prints_does_not_reach_the_reader(words, tmp_path):
    noisy = tmp_path / "noisy.py"
    noisy.write_text(
        "import ctypes, os, runpy, sys\nfrom tests.support import counting\n"
        "def solve(*arguments, original=counting.SOLVER.solve):\n"
        "    os.write(1, b'driver says hello\\n'); print('so does python')\n"
        "    ctypes.CDLL('ucrtbase' if sys.platform == 'win32' else None).puts(b'a library keeps this in its buffer')\n"
        "    return original(*arguments)\n"
        "object.__setattr__(counting.SOLVER, 'solve', solve)\n"
        "runpy.run_module('tests.support.quintet_counting', run_name='__main__')\n"
    )
    command = [sys.executable, str(noisy), "solve", "small.txt", *words]
    pipes = {"capture_output": True, "stdin": subprocess.DEVNULL}
    done = subprocess.run(command, env=with_root(), text=True, timeout=PATIENCE, check=True, **pipes)
    read = [json.loads(line) for line in done.stdout.splitlines()]
    assert read[-1]["status"] == "optimal"
    assert len(read) == 1 or words[0] == "--events"
    said = ["a library keeps this in its buffer", "driver says hello", "so does python"]
    assert sorted(done.stderr.splitlines()) == said


def wait_for(kind, **fields):
    """Until the run in the folder ``r`` has recorded such an event."""
    wait_until(
        lambda: any(e.type == kind and fields.items() <= vars(e).items() for e in recorded()),
        f"no {kind} was recorded",
    )


def recorded():
    """What the run in the folder ``r`` has written; a line without its end is still being written."""
    path = Path("r/events.jsonl")
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [events.from_json(line) for line in lines if line.endswith("\n")]


@pytest.mark.few(1)
@POSIX
@pytest.mark.parametrize("order", ["detach first", "reader gone first"])
def test_a_detached_run_continues_when_the_reader_of_its_events_has_gone(tmp_path, order):
    patient = tmp_path / "patient.py"
    patient.write_text(
        "import runpy\nfrom engine.cli import running\n"
        f"running._UNTIL_DETACHED = {PATIENCE}\n"
        "runpy.run_module('tests.support.quintet_counting', run_name='__main__')\n"
    )
    command = [sys.executable, str(patient), "solve", "endless.txt", "--run-folder", "r", "--events", "-"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    child = subprocess.Popen(command, env=with_root(), text=True, **pipes)
    try:
        spoken(child)("metric")
        if order == "reader gone first":
            child.stdout.close()
            time.sleep(0.3)  # events have met the broken pipe; if not, it is the other order once more
        say(child, "detach\n")
        wait_until(lambda: os.getsid(child.pid) == child.pid, "the process did not leave its session")
        for pipe in (child.stdin, child.stdout, child.stderr):
            pipe.close()
        child.stdin = child.stdout = child.stderr = None
        before = len(recorded())
        wait_until(lambda: len(recorded()) > before + 20 or child.poll() is not None, "the run stands still")
        assert child.poll() is None
        assert "stopping" not in [event.state for event in recorded() if event.type == "state"]
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENCE) == 0
    finally:
        child.kill()
        child.communicate()
    assert json.loads(Path("r/result.json").read_text())["result"]["status"] == "interrupted"


def spoken(child):
    """The events of a child, as they come; ``until`` the one of a type, with these fields."""

    def until(kind, **fields):
        for line in child.stdout:
            event = events.from_json(line)
            if event.type == kind and all(getattr(event, name) == value for name, value in fields.items()):
                return event
        raise AssertionError(f"no event {kind} with {fields}")

    return until


@pytest.fixture
def waiting(spawn):
    return spawn("standby", "--events", "-")


def event_types(text):
    return [events.from_json(line).type for line in text.splitlines()]


def test_the_command_on_standard_input_is_run_and_its_controls_are_obeyed(waiting):
    waiting.stdin.write('["solve", "endless.txt", "--events", "-"]\npause\nresume\n')
    waiting.stdin.flush()
    seen = []
    while "progress" not in seen:
        seen += event_types(waiting.stdout.readline())
    output, errors = waiting.communicate("stop\n", PATIENCE)
    assert (waiting.returncode, errors, event_types(output)[-1]) == (0, "", "finished")


def test_without_a_command_it_ends(waiting):
    assert (*waiting.communicate("", PATIENCE), waiting.returncode) == ("", "", 0)
