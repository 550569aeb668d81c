"""Schedulers and workers with other versions, or without Quintet: who it is, in a sentence."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from engine.cli import command_line
from engine.errors import ClusterError
from engine.execution.dask.connection import Connection
from engine.util.version import version
from tests.support.environment import with_root
from tests.support.patience import wait_until

WITHOUT_QUINTET = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ("engine", "quintet"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
"""Python code that runs first in a process which is to have no Quintet."""

OLD_QUINTET = """
import engine.util.version

engine.util.version.version = lambda: "0.0.9"
"""


@contextlib.contextmanager
def started(folder, words, first=""):
    """A process ``python -m WORDS`` in a folder, which runs some code first; killed at the end with its children."""
    own = folder / f"first-{len(list(folder.iterdir()))}"
    own.mkdir()
    (own / "sitecustomize.py").write_text(first)
    child = subprocess.Popen(
        [sys.executable, "-m", *words],
        env=with_root(own),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


@contextlib.contextmanager
def worker(folder, address, name, first=""):
    words = ["distributed.cli.dask_worker", address, "--nworkers", "1", "--nthreads", "2", "--no-dashboard"]
    with started(folder, [*words, "--name", name], first):
        yield


@pytest.fixture
def address():
    """Of a scheduler in this process, without workers."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, processes=False, protocol="tcp://", dashboard_address=":0", silence_logs=50) as made:
        yield made.scheduler_address


def await_workers(address, count):
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        wait_until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == count, "the workers do not start")


def test_workers_with_other_versions_are_shown_and_refused(address, cpu, tmp_path, capsys):
    with (
        worker(tmp_path, address, "a-good"),
        worker(tmp_path, address, "b-old", OLD_QUINTET),
        worker(tmp_path, address, "c-bare", WITHOUT_QUINTET),
    ):
        await_workers(address, 3)
        assert command_line(["devices", "--cluster", address, "--devices", cpu]) == 3
        shown = capsys.readouterr()
        rows = {line.split()[0]: line for line in shown.out.splitlines() if line}
        assert cpu in rows["a-good"]
        assert f"it has quintet 0.0.9, and this process {version()}" in rows["b-old"]
        assert "it has no Quintet" in rows["c-bare"]
        assert "b-old at tcp://" in shown.err
        assert "cannot be used: it has quintet 0.0.9" in shown.err
        with pytest.raises(ClusterError, match=r"b-old at tcp://\S+ cannot be used: .*; use the same versions$"):
            Connection(address)
