"""``quintet solve --host`` and ``quintet resume --host``: a run on another host, over ssh."""

import json
import os
import signal
import threading
from pathlib import Path

import pytest

import engine
from engine import cli, errors, events
from engine.execution.hosts import Host, save_host
from engine.runs.folder.run_folder import RunFolder
from tests.support import counting, far_host
from tests.support.needs import POSIX
from tests.support.patience import PATIENCE, wait_until
from tests.support.printed import value

pytestmark = POSIX


@pytest.fixture(autouse=True)
def _host(monkeypatch, tmp_path):
    """A host with Quintet."""
    far_host.install(monkeypatch, tmp_path / "far")
    save_host("far", Host(destination="anna@far.example", command=far_host.COMMAND))


def test_a_run_on_another_host_leaves_its_folder_and_its_answer_here(quintet):
    words = ("solve", "small.txt", "--host", "far", "--run-folder", "r", "--seed", "7", "--step", "9")
    code, output, errors = quintet(*words, "--solution", "s.txt")
    assert (code, errors, value(output, "saved")) == (0, "", "r, s.txt")
    assert value(output, "objective") == str(counting.expected(100, 7))
    assert Path("far/destinations").read_text() == "anna@far.example\n"
    assert RunFolder.open("r").description["options"]["step"] == 9
    seen = list(RunFolder.open("r").events())
    assert (seen[0].type, seen[0].device_names, seen[-1].type) == ("started", ["Abacus 3000"], "finished")
    assert {event.device for event in seen if event.type == "metric"} == {"opencl:0"}


@pytest.mark.parametrize("how", ["line", pytest.param("SIGTERM", marks=pytest.mark.full)])
def test_a_run_is_stopped_there_and_resumed_there_and_here(spawn, quintet, how):
    Path("long.txt").write_text("count 700\n")
    words = ("--host", "far", "--run-folder", "r", "--hold", "100", "--events", "-")
    child = begun(spawn("solve", "long.txt", *words))
    if how == "SIGTERM":
        child.send_signal(signal.SIGTERM)
    output, errors = child.communicate("stop\n" if how == "line" else None, PATIENCE)
    assert (child.returncode, errors) == (0, "")
    assert events.from_json(output.splitlines()[-1]).status == "interrupted"
    code, output, _ = quintet("resume", "r", "--host", "far", "--time-limit", "0.2")
    assert (code, value(output, "status")) == (0, "time limit")
    code, output, _ = quintet("resume", "r", "--time-limit", str(PATIENCE))
    assert (code, value(output, "objective")) == (0, str(counting.expected(700)))
    assert [event.type for event in RunFolder.open("r").events()].count("started") == 3


def test_from_python_a_run_there_is_one_as_here(tmp_path):
    """The same result and stream; stop, pause and resume; an observer that raises is dropped."""
    seen, threads = [], set()

    def clumsy(event):
        raise ValueError("I spilled it")

    def observer(event):
        threads.add(threading.get_ident())
        seen.append(event)

    arguments = {"seed": 3, "step": 20, "slice_seconds": 0.001}
    here = engine.solve(counting.Counting(100), devices=["opencl:0"], **arguments)
    with engine.Engine(host="far") as owner:
        there = owner.solve(counting.Counting(100), **arguments)
        same = ("status", "objective", "bound", "counters", "seed", "backend", "devices")
        assert [getattr(there, name) for name in same] == [getattr(here, name) for name in same]
        assert there.solution.tolist() == here.solution.tolist()
        watched = {"run_folder": tmp_path / "r", "on_event": [clumsy, observer]}
        run = owner.start(counting.Counting(700), hold=100, **watched, **arguments)
        wait_until(lambda: any(event.type == "progress" and event.done >= 100 for event in seen))
        run.pause()
        run.resume()
        run.stop()
        assert run.wait().status == "interrupted"
    assert engine.resume(tmp_path / "r", host="far").objective == counting.expected(700, 3)
    assert (seen[0].type, seen[-1].type, len(threads)) == ("started", "finished", 1)
    assert any(event.type == "notice" and "ValueError: I spilled it" in event.message for event in seen)


def test_errors_from_there_have_their_class_here(tmp_path):
    with engine.Engine(host="far") as owner:
        with pytest.raises(errors.DeviceError, match="the abacus broke"):
            owner.solve(counting.Counting(100), trouble="device")
        with pytest.raises(errors.OptionError, match="step must be at least 1"):
            owner.solve(counting.Counting(100), step=0)
    with pytest.raises(errors.DeviceNotFound, match="no device 'gpu'; this machine has opencl:0"):
        engine.solve(counting.Counting(100), host="far", devices=["gpu"], run_folder=tmp_path / "r")
    assert not (tmp_path / "r").exists()
    with pytest.raises(errors.InputError, match="runs work in one place: give one of cluster, host, executor; got"):
        engine.Engine(cluster="local:2", host="far")


def test_a_connection_that_ends_is_an_error_and_the_checkpoint_is_here(spawn, quintet, tmp_path):
    Path("long.txt").write_text("count 700\n")
    words = ("--host", "far", "--run-folder", "r", "--checkpoint-interval", "0.05", "--hold", "690", "--events", "-")
    child = begun(spawn("solve", "long.txt", *words), "started")
    wait_until(lambda: any(Path("r").glob("checkpoint-*.json")))
    os.kill(int(Path("far/process").read_text()), signal.SIGKILL)
    output, errors = child.communicate(timeout=PATIENCE)
    failed = events.from_json(output.splitlines()[-1])
    assert child.returncode == failed.exit_code == 3
    assert failed.message.startswith("the connection to far was lost")
    assert failed.message in errors
    assert "to resume: quintet resume r" in errors
    code, output, _ = quintet("resume", "r")
    assert (code, value(output, "objective")) == (0, str(counting.expected(700)))


def test_nothing_stays_open_when_the_other_side_does_not_listen():
    save_host("deaf", Host(destination="anna@far.example", command="false"))
    before = threading.active_count()
    with engine.Engine(host="deaf") as owner:
        with pytest.raises(errors.DeviceError, match="Quintet cannot be started on deaf"):
            owner.solve(counting.Counting(100))
        assert owner.executor._process is None
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--host", "nowhere"], 3, "Quintet cannot be started on nowhere: ssh: Could not resolve hostname nowhere"),
        (["--host", "bare"], 3, "Quintet cannot be started on bare (started with: no-such-program receive): "),
        (["--host", "-oProxyCommand=x"], 2, "destination must "),
        (["--host", "wrong"], 2, "unknown host 'comand'; did you mean 'command'?"),
        (["--host", "far", "--cluster", "local:2"], 2, "runs work in one place: give one of cluster, host, executor"),
        (["--host", "far", "--stile", "x"], 2, "unknown option '--stile'"),
        (["--host", "far", "--step", "0"], 2, "step must be at least 1"),
    ],
)
def test_mistakes_are_one_sentence(words, code, message, quintet):
    save_host("bare", Host(destination="bare", command="no-such-program"))
    path = save_host("wrong", Host(destination="wrong"))
    path.write_text('comand = "quintet"\n')
    got, output, errors = quintet("solve", "small.txt", *words)
    assert (got, output) == (code, "")
    assert errors.startswith(f"error: {message}")
    assert len(errors.splitlines()) == 1


def test_the_devices_of_a_host_are_listed(capfd):
    assert cli.command_line(["devices", "--host", "far", "--json"]) == 0
    output = capfd.readouterr().out
    assert json.loads(output[output.index("{") :])["devices"][0]["name"] == "Abacus 3000"


def begun(child, kind="progress"):
    """Read the events of a child up to the first of this type."""
    while events.from_json(child.stdout.readline()).type != kind:
        pass
    return child
