"""``quintet solve --host`` and ``quintet resume --host``: a run on another host, over ssh."""

import importlib.util
import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

import engine
from engine import errors, events
from engine.execution.hosts import Host, host_named, save_host, saved_hosts
from engine.runs.folder.run_folder import RunFolder
from tests.support import counting, far_host
from tests.support.needs import POSIX
from tests.support.patience import PATIENCE, wait_until
from tests.support.printed import value

pytestmark = [pytest.mark.usefixtures("_quiet_surroundings"), POSIX]


@pytest.fixture(autouse=True)
def _host(monkeypatch, tmp_path):
    """A host with Quintet."""
    far_host.install(monkeypatch, tmp_path / "far")
    save_host("far", Host(destination="anna@far.example", command=far_host.COMMAND))


def test_a_run_on_another_host_leaves_its_folder_and_its_answer_here(quintet):
    words = ("solve", "small.txt", "--host", "far", "--run-folder", "r", "--seed", "7", "--step", "9")
    code, output, errors = quintet(*words, "--solution", "s.txt")
    assert (code, errors) == (0, "")
    assert value(output, "objective") == str(counting.expected(100, 7))
    assert value(output, "saved") == "r, s.txt"
    assert Path("far/destinations").read_text() == "anna@far.example\n"
    folder = RunFolder.open("r")
    assert folder.description["options"]["step"] == 9
    seen = list(folder.events())
    assert (seen[0].type, seen[-1].type) == ("started", "finished")
    assert seen[0].device_names == ["Abacus 3000"]
    assert {event.device for event in seen if event.type == "metric"} == {"opencl:0"}


def test_a_run_is_stopped_there_and_resumed_there_and_here(spawn, quintet):
    Path("long.txt").write_text("count 700\n")
    child = spawn("solve", "long.txt", "--host", "far", "--run-folder", "r", "--hold", "100", "--events", "-")
    for line in child.stdout:
        if events.from_json(line).type == "progress":
            break
    output, errors = child.communicate("stop\n", PATIENCE)
    last = events.from_json(output.splitlines()[-1])
    assert (child.returncode, errors) == (0, "")
    assert isinstance(last, events.Finished)
    assert last.status == "interrupted"
    code, output, _ = quintet("resume", "r", "--host", "far", "--time-limit", "0.2")
    assert (code, value(output, "status")) == (0, "time limit")
    code, output, _ = quintet("resume", "r", "--time-limit", str(PATIENCE))
    assert code == 0
    assert value(output, "objective") == str(counting.expected(700))
    kinds = [event.type for event in RunFolder.open("r").events()]
    assert kinds.count("started") == 3


@pytest.mark.full
def test_sigterm_stops_the_run_there(spawn):
    child = spawn("solve", "endless.txt", "--host", "far", "--run-folder", "r", "--events", "-")
    for line in child.stdout:
        if events.from_json(line).type == "progress":
            break
    child.send_signal(signal.SIGTERM)
    output, _ = child.communicate(timeout=PATIENCE)
    assert events.from_json(output.splitlines()[-1]).type == "finished", output.splitlines()[-1]
    assert any(path.name.startswith("checkpoint-") for path in Path("r").iterdir())


def test_from_python_a_run_there_is_one_as_here(tmp_path):
    """The same result and stream; stop, pause and resume; an observer that raises is dropped."""
    seen = []
    threads = set()

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
        run = owner.start(
            counting.Counting(700), hold=100, run_folder=tmp_path / "r", on_event=[clumsy, observer], **arguments
        )
        wait_until(lambda: any(event.type == "progress" and event.done >= 100 for event in seen))
        run.pause()
        run.resume()
        run.stop()
        assert run.wait().status == "interrupted"
    assert engine.resume(tmp_path / "r", host="far").objective == counting.expected(700, 3)
    kinds = [event.type for event in seen]
    assert (kinds[0], kinds[-1]) == ("started", "finished")
    assert any(isinstance(event, events.Notice) and "ValueError: I spilled it" in event.message for event in seen)
    assert len(threads) == 1


@pytest.mark.full
def test_a_class_of_the_users_own_is_executed_there_if_its_file_is_the_same(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("from tests.support.counting import Counting\n\nclass Mine(Counting):\n    kind = 'mine'\n")
    spec = importlib.util.spec_from_file_location("mine", file)
    assert spec is not None
    assert spec.loader is not None
    sys.modules["mine"] = mine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mine)
    try:
        with engine.Engine(host="far") as owner:
            assert owner.solve(mine.Mine(20)).objective == counting.expected(20)
            with pytest.raises(errors.OptionError, match="cannot be sent to another process: the fitness"):
                owner.solve(engine.BOA(lambda bits: bits.sum(axis=1), 12))
    finally:
        del sys.modules["mine"]


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
    child = spawn(
        "solve", "long.txt", "--host", "far", "--run-folder", "r", "--checkpoint-interval", "0.05", "--events", "-"
    )
    for line in child.stdout:
        if events.from_json(line).type == "started":
            break
    wait_until(lambda: any(Path("r").glob("checkpoint-*.json")))
    os.kill(int(Path("far/process").read_text()), signal.SIGKILL)
    output, errors = child.communicate(timeout=PATIENCE)
    failed = events.from_json(output.splitlines()[-1])
    assert isinstance(failed, events.Failed)
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
    from engine import cli

    assert cli.command_line(["devices", "--host", "far", "--json"]) == 0
    output = capfd.readouterr().out
    assert json.loads(output[output.index("{") :])["devices"][0]["name"] == "Abacus 3000"
    assert cli.command_line(["devices", "--host", "nowhere"]) == 3
    assert "Could not resolve hostname" in capfd.readouterr().err


def test_hosts_are_saved_and_found_by_name():
    saved = save_host("two", Host(destination="a@b", command='say "quintet"'))
    assert saved_hosts()["two"] == saved
    assert host_named("two") == Host(destination="a@b", command='say "quintet"')
    assert host_named("user@elsewhere") == Host(destination="user@elsewhere")
