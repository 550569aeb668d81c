"""Schedulers and workers in processes of their own, whose environments may differ from this one."""

import contextlib
import json
import os
import signal
import subprocess
import sys

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
    """A worker with a nanny."""
    words = ["distributed.cli.dask_worker", address, "--nworkers", "1", "--nthreads", "2", "--no-dashboard"]
    with started(folder, [*words, "--name", name], first):
        yield


@contextlib.contextmanager
def scheduler(folder, first=""):
    """A scheduler's address, and its process."""
    file = folder / "scheduler.json"
    words = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"]
    with started(folder, [*words, "--scheduler-file", str(file)], first) as child:
        wait_until(lambda: file.exists() and file.read_text().rstrip().endswith("}"), "the scheduler does not start")
        yield json.loads(file.read_text())["address"], child
