"""``quintet solve --host`` and ``quintet resume --host``: a run on another host, over ssh."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from engine import errors, events
from engine.cli import receiving
from engine.cli.remote import solve_there
from engine.execution.hosts import Host, host_named, save_host, saved_hosts
from engine.runs.folder.lock import FolderLock
from engine.runs.folder.run_folder import RunFolder
from engine.settings import config
from tests.support import counting, far_host
from tests.support.environment import with_root
from tests.support.patience import PATIENCE, wait_until
from tests.support.printed import value

pytestmark = [
    pytest.mark.usefixtures("_quiet_surroundings"),
    pytest.mark.skipif(sys.platform == "win32", reason="the program that takes the place of ssh is a shell script"),
]


@pytest.fixture(autouse=True)
def received(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A host with Quintet; where it keeps what it receives."""
    folder = far_host.install(monkeypatch, tmp_path / "far")
    save_host("far", Host(destination="anna@far.example", command=far_host.COMMAND))
    return folder


@pytest.fixture
def start() -> Any:
    """Start ``quintet WORDS --events -``; killed at the end."""
    children: list[subprocess.Popen[str]] = []

    def spawn(*words: str) -> subprocess.Popen[str]:
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [*far_host.COMMAND.split(), *words, "--events", "-"]
        children.append(subprocess.Popen(command, env=with_root(), text=True, **pipes))
        return children[-1]

    yield spawn
    for child in children:
        child.kill()
        child.communicate()


def test_a_run_on_another_host_leaves_its_folder_and_its_answer_here(quintet: Any, received: Path) -> None:
    words = ("solve", "small.txt", "--host", "far", "--run-folder", "r", "--seed", "7", "--step", "9")
    code, output, errors = quintet(*words, "--solution", "s.txt")
    assert (code, errors) == (0, "")
    assert value(output, "objective") == str(counting.expected(100, 7))
    assert value(output, "saved") == "r, s.txt"
    assert Path("far/destinations").read_text() == "anna@far.example\n"
    (there,) = received.iterdir()
    assert (there / "sent").exists()
    folder = RunFolder.open("r")
    assert folder.description["options"]["step"] == 9
    kinds = [event.type for event in folder.events()]
    assert (kinds[0], kinds[-1]) == ("started", "finished")
    assert sorted(path.name for path in Path("r").iterdir() if path.name != "run.lock") == sorted(
        path.name for path in (there / "run").iterdir() if path.name != "run.lock"
    )


@pytest.mark.full
def test_without_a_run_folder_nothing_is_left_here(quintet: Any) -> None:
    before = sorted(Path().iterdir())
    code, output, _ = quintet("solve", "small.txt", "--host", "far", "--json")
    assert code == 0
    assert json.loads(output)["objective"] == counting.expected(100)
    assert sorted(path for path in Path().iterdir() if path.name != "far") == [p for p in before if p.name != "far"]


def test_a_run_is_stopped_there_and_resumed_there_and_here(start: Any, quintet: Any) -> None:
    Path("long.txt").write_text("count 700\n")
    child = start("solve", "long.txt", "--host", "far", "--run-folder", "r", "--hold", "100")
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
def test_sigterm_stops_the_run_there(start: Any) -> None:
    child = start("solve", "endless.txt", "--host", "far", "--run-folder", "r")
    for line in child.stdout:
        if events.from_json(line).type == "progress":
            break
    child.send_signal(signal.SIGTERM)
    output, _ = child.communicate(timeout=PATIENCE)
    assert events.from_json(output.splitlines()[-1]).type == "finished", output.splitlines()[-1]
    assert any(path.name.startswith("checkpoint-") for path in Path("r").iterdir())


@pytest.mark.full
def test_events_of_there_and_notices_of_here_reach_an_observer_one_after_the_other() -> None:
    seen: list[events.Event] = []
    threads = set()

    def observer(event: events.Event) -> None:
        threads.add(threading.get_ident())
        seen.append(event)

    def notices() -> list[str]:
        return [event.message for event in seen if isinstance(event, events.Notice)]

    resolved = config.resolve({"run_folder": "r"})
    with solve_there("far", counting.Counting(10**9), resolved, {}, {}, False) as there:
        there.start([observer])
        wait_until(lambda: any(event.type == "progress" for event in seen))
        for number in range(200):
            there.notice(f"notice {number}")
        wait_until(lambda: len(notices()) == 200)
        there.stop()
        assert there.join(PATIENCE)
        assert there.outcome().status == "interrupted"
    assert notices() == [f"notice {number}" for number in range(200)]
    assert len(threads) == 1
    assert seen[-1].type == "finished"


@pytest.mark.full
def test_an_observer_that_raises_is_dropped_and_the_run_there_goes_on() -> None:
    def clumsy(event: events.Event) -> None:
        raise ValueError("I spilled it")

    seen: list[events.Event] = []
    with solve_there("far", counting.Counting(100), config.resolve({}), {}, {}, False) as there:
        there.start([clumsy, seen.append])
        assert there.join(PATIENCE)
        assert there.outcome().objective == counting.expected(100)
    (notice,) = [event for event in seen if isinstance(event, events.Notice)]
    assert "ValueError: I spilled it" in notice.message


def test_a_connection_that_ends_is_an_error_that_names_the_folder_there(
    start: Any, received: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = start("solve", "endless.txt", "--host", "far", "--run-folder", "r")
    for line in child.stdout:
        if events.from_json(line).type == "progress":
            break
    (there,) = received.iterdir()
    owner = json.loads((there / "run" / "run.lock").read_text())
    os.kill(owner["pid"], signal.SIGKILL)
    output, errors = child.communicate(timeout=PATIENCE)
    failed = events.from_json(output.splitlines()[-1])
    assert isinstance(failed, events.Failed)
    assert child.returncode == failed.exit_code == 3
    assert failed.message.startswith("the connection to far was lost")
    assert str(there / "run") in failed.message
    assert failed.message in errors


def test_nothing_stays_open_when_the_other_side_does_not_listen() -> None:
    save_host("deaf", Host(destination="anna@far.example", command="false"))
    with solve_there("deaf", counting.Counting(100), config.resolve({}), {}, {}, False) as there:
        there.start([])
        assert there.join(PATIENCE)
        there.pause()  # to a process that has ended
        with pytest.raises(errors.DeviceError, match="deaf"):
            there.outcome()
    streams = there._process.stdin, there._process.stdout, there._process.stderr
    assert all(stream is not None and stream.closed for stream in streams)


@pytest.mark.full
def test_what_fails_there_fails_here_with_its_message(quintet: Any) -> None:
    code, output, errors = quintet("solve", "small.txt", "--host", "far", "--trouble", "device")
    assert (code, output) == (3, "")
    assert errors == "error: the abacus broke\n"
    code, output, errors = quintet("solve", "small.txt", "--host", "far", "--devices", "gpu", "--run-folder", "r")
    assert (code, output) == (2, "")
    assert errors.startswith("error: no device 'gpu'; this machine has opencl:0")
    assert not Path("r").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--host", "nowhere"], 3, "Quintet cannot be started on nowhere: ssh: Could not resolve hostname nowhere"),
        (["--host", "bare"], 3, "Quintet cannot be started on bare (started with: no-such-program receive): "),
        (["--host", "-oProxyCommand=x"], 2, "destination must "),
        (["--host", "wrong"], 2, "unknown host 'comand'; did you mean 'command'?"),
        (["--host", "far", "--cluster", "local:2"], 2, "--host far and --cluster local:2 are two places to run"),
        (["--host", "far", "--stile", "x"], 2, "unknown option '--stile'"),
        (["--host", "far", "--step", "0"], 2, "step must be at least 1"),
    ],
)
def test_mistakes_are_one_sentence(words: list[str], code: int, message: str, quintet: Any) -> None:
    save_host("bare", Host(destination="bare", command="no-such-program"))
    path = save_host("wrong", Host(destination="wrong"))
    path.write_text('comand = "quintet"\n')
    got, output, errors = quintet("solve", "small.txt", *words)
    assert (got, output) == (code, "")
    assert errors.startswith(f"error: {message}")
    assert len(errors.splitlines()) == 1


def test_the_devices_of_a_host_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    from engine import cli

    assert cli.command_line(["devices", "--host", "far", "--json"]) == 0
    output = capfd.readouterr().out
    assert json.loads(output[output.index("{") :])["devices"][0]["name"] == "Abacus 3000"
    assert cli.command_line(["devices", "--host", "nowhere"]) == 3
    assert "Could not resolve hostname" in capfd.readouterr().err


def test_hosts_are_saved_and_found_by_name() -> None:
    saved = save_host("two", Host(destination="a@b", command='say "quintet"'))
    assert saved_hosts()["two"] == saved
    assert host_named("two") == Host(destination="a@b", command='say "quintet"')
    assert host_named("user@elsewhere") == Host(destination="user@elsewhere")


def test_what_was_kept_long_enough_is_removed_unless_a_run_writes_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *_, **__: str(tmp_path))
    root = tmp_path / "received"
    kept = {"sent": 2, "lost": 20, "lost long ago": 40, "at work": 40}  # days
    for name in kept:
        (root / name / "run").mkdir(parents=True)
    (root / "sent" / "sent").touch()
    lock = FolderLock(root / "at work" / "run")
    for name, days in kept.items():
        then = time.time() - days * 86400
        os.utime(root / name, (then, then))
    new = receiving._place()
    lock.release()
    assert {place.name for place in root.iterdir()} == {"lost", "at work", new.name}
