"""``quintet`` as a process: standard input, signals, broken pipes."""

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


class ChildEvents:
    """The events of a child, as they come."""

    def __init__(self, child):
        self.child = child
        self.all = []

    def until(self, wanted):
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self.all.append(events.from_json(line))
            if wanted(self.all[-1]):
                return self.all[-1]
        raise AssertionError(f"the event did not come; the last one: {self.all[-1:]}")

    def until_type(self, kind, **fields):
        return self.until(
            lambda event: event.type == kind and all(getattr(event, name) == value for name, value in fields.items())
        )


def say(child, text):
    assert child.stdin is not None
    child.stdin.write(text)
    child.stdin.flush()


def test_lines_on_standard_input_pause_resume_and_stop(spawn):
    child = spawn("solve", "endless.txt", "--events", "-")
    events_of_child = ChildEvents(child)
    events_of_child.until_type("metric")
    say(child, "pause\n")
    paused = events_of_child.until_type("state", state="paused")
    say(child, "hurry up\n")
    notice = events_of_child.until_type("notice")
    assert isinstance(notice, events.Notice)
    assert notice.level == "warning"
    assert (
        notice.message == "unknown line on standard input: 'hurry up'; the commands are pause, resume, stop and detach"
    )
    say(child, "resume\r\n")
    resumed = events_of_child.until_type("state", state="running")
    assert resumed.time == paused.time
    events_of_child.until_type("metric")
    say(child, "st")
    time.sleep(0.05)
    say(child, "op\n")
    finished = events_of_child.until_type("finished")
    assert isinstance(finished, events.Finished)
    assert finished.status == "interrupted"
    assert finished.objective is not None
    output, errors = child.communicate(timeout=PATIENCE)
    assert (child.returncode, output, errors) == (0, "", "")


@pytest.mark.full
def test_a_last_line_without_its_end_counts(spawn):
    child = spawn("solve", "endless.txt", "--events", "-")
    events_of_child = ChildEvents(child)
    events_of_child.until_type("metric")
    say(child, "pause\nresume\nstop")
    assert child.stdin is not None
    child.stdin.close()
    child.stdin = None
    events_of_child.until_type("state", state="stopping")
    events_of_child.until_type("finished", status="interrupted")
    assert child.wait(timeout=PATIENCE) == 0


@pytest.mark.few(1)
@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_stops_and_reports_the_best_so_far(number, spawn):
    child = spawn("solve", "endless.txt", "--run-folder", "r")
    wait_for("incumbent")
    child.send_signal(number)
    output, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0
    assert "interrupted" in output
    assert "Traceback" not in errors
    notices = [event.message for event in recorded() if isinstance(event, events.Notice)]
    assert len([message for message in notices if message.startswith("stopping at the end")]) == 1


@POSIX
def test_a_second_ctrl_c_aborts(spawn):
    child = spawn("solve", "endless.txt", "--run-folder", "r", "--slice-seconds", str(10 * PATIENCE))
    wait_for("started")
    child.send_signal(signal.SIGINT)
    wait_for("state", state="stopping")
    child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=PATIENCE)  # shorter than the slice that is at work
    at_work = [event.message for event in recorded() if isinstance(event, events.Notice)] == [
        "stopping at the end of this slice; press Ctrl-C again to abort"
    ]  # or it was interrupted between its first event and the command's hold of it
    said = "" if at_work else "stopping once the run has started; press Ctrl-C again to abort\n"
    assert (child.returncode, output, errors) == (130, "", f"{said}\nerror: aborted\n")


@pytest.mark.full
@POSIX
def test_ctrl_c_ends_a_replay(spawn):
    spawn("solve", "endless.txt", "--run-folder", "r", "--time-limit", "0.2").communicate(timeout=PATIENCE)
    child = spawn("replay", "r", "--speed", "0.01", "--events", "-")
    ChildEvents(child).until_type("started")
    say(child, "pause\n")
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=PATIENCE)
    assert (child.returncode, errors) == (0, "")


@POSIX
def test_a_reader_that_goes_away_ends_the_run_quietly(spawn):
    child = spawn("solve", "endless.txt", "--events", "-")
    ChildEvents(child).until_type("metric")
    assert child.stdout is not None
    child.stdout.close()
    child.stdout = None
    assert child.wait(timeout=PATIENCE) == 0
    assert child.stderr is not None
    assert child.stderr.read() == ""


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
    done = subprocess.run(
        [sys.executable, str(noisy), "solve", "small.txt", *words],
        env=with_root(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    read = [json.loads(line) for line in done.stdout.splitlines()]
    assert read[-1]["status"] == "optimal"
    assert len(read) == 1 or words[0] == "--events"
    said = ["a library keeps this in its buffer", "driver says hello", "so does python"]
    assert sorted(done.stderr.splitlines()) == said


def wait_for(kind, **fields):
    """Until the run in the folder ``r`` has recorded such an event."""

    def recorded_one():
        events_ = (event for event in recorded() if event.type == kind)
        return any(all(getattr(event, name) == value for name, value in fields.items()) for event in events_)

    wait_until(recorded_one, f"no {kind} was recorded")


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
        ChildEvents(child).until_type("metric")
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
        assert "stopping" not in [event.state for event in recorded() if isinstance(event, events.StateChanged)]
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENCE) == 0
    finally:
        child.kill()
        child.communicate()
    assert json.loads(Path("r/result.json").read_text())["result"]["status"] == "interrupted"
