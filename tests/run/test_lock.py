"""At most one run writes to a folder, whatever has become of those before, and wherever they ran."""

import json
import os
import socket
import subprocess
import sys

import pytest

import engine.runs.folder.lock
from engine.errors import RunFolderError
from engine.runs.folder.lock import FolderLock, writer_of
from tests.support.environment import with_root
from tests.support.needs import POSIX

HOLDER = """
import sys, time
from pathlib import Path
from engine.runs.folder.lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print("locked", flush=True)
time.sleep(120)
"""


def held_by_another(folder):
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True, env=with_root()
    )
    assert child.stdout.readline() == "locked\n"
    return child


@pytest.fixture(params=[pytest.param("system's lock", marks=POSIX), "file alone"])
def _both_kinds(request, monkeypatch):
    if request.param == "file alone":
        monkeypatch.setattr(engine.runs.folder.lock, "fcntl", None)


@pytest.mark.usefixtures("_both_kinds")
def test_a_second_lock_is_refused_until_the_first_is_released(tmp_path):
    first = FolderLock(tmp_path)
    for _ in range(2):
        with pytest.raises(RunFolderError, match=f"in use by process {os.getpid()} on .*, since 20"):
            FolderLock(tmp_path)
    first.release()
    first.release()
    assert list(tmp_path.iterdir()) == []
    FolderLock(tmp_path).release()


@pytest.mark.usefixtures("_both_kinds")
def test_the_lock_of_a_killed_process_is_taken_over(tmp_path):
    child = held_by_another(tmp_path)
    try:
        with pytest.raises(RunFolderError, match=f"in use by process {child.pid} on"):
            FolderLock(tmp_path)
    finally:
        child.kill()
        child.communicate()
    assert (tmp_path / "run.lock").exists()
    lock = FolderLock(tmp_path)
    assert json.loads((tmp_path / "run.lock").read_text())["pid"] == os.getpid()
    lock.release()


@pytest.mark.parametrize(
    ("owner", "taken"),
    [
        ({}, True),
        ({"pid": "me"}, True),
        ({"pid": 2**22 + 1}, True),
        ({"process_start": 1}, sys.platform == "linux"),
        ({"host": "elsewhere", "pid": 1}, False),
    ],
)
def test_where_the_file_alone_is_the_lock_its_content_decides(owner, taken, tmp_path, monkeypatch):
    monkeypatch.setattr(engine.runs.folder.lock, "fcntl", None)
    FolderLock(tmp_path)  # never released: its process has ended, as far as the content says
    file = tmp_path / "run.lock"
    content = json.loads(file.read_text()) if owner else {}
    file.write_text(json.dumps({**content, **owner}))
    if taken:
        FolderLock(tmp_path).release()
    else:
        with pytest.raises(RunFolderError, match="on elsewhere, since"):
            FolderLock(tmp_path)


@pytest.mark.parametrize("pid", [10**30, 2**31, -1, 0, True, 1.5, "1", None])
def test_a_lock_of_a_process_that_cannot_be_is_nobodys(pid, tmp_path):
    owner = {"host": socket.gethostname(), "pid": pid, "since": "now"}
    (tmp_path / "run.lock").write_text(json.dumps(owner))
    assert writer_of(tmp_path) is None
    FolderLock(tmp_path).release()


@POSIX
def test_a_pipe_in_place_of_the_lock_hangs_nobody(tmp_path):
    os.mkfifo(tmp_path / "run.lock")
    assert writer_of(tmp_path) is None
    with pytest.raises(RunFolderError, match=r"run\.lock in it is no regular file"):
        FolderLock(tmp_path)
