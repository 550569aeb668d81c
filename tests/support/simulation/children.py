"""Processes that die: the child of a run with code of the user's, on a thread here, and those that run HiGHS."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

from engine.devices import DevicePool
from engine.errors import QuintetError
from engine.runs.child import child as isolated_child
from engine.runs.child import parent as isolation
from engine.solvers.knapsack.mip import process as mip
from engine.solvers.linprog.highs import process as highs
from tests.support.simulation.plan import Plan

__all__ = ["children", "helpers"]


class _Died(BaseException):
    """Ends the thread of a child."""


class _Parent(isolated_child._Parent):
    """Sends until the child dies."""

    def __init__(self, stream: Any, child: _Process) -> None:
        super().__init__(stream)
        self._child = child

    def send(self, *message: Any) -> None:
        if self._child.returncode is not None:
            raise _Died
        point = self._child.plan.due("report")
        if point is None:
            with contextlib.suppress(OSError, ValueError):
                super().send(*message)
            return
        if point == "garbles":
            with contextlib.suppress(OSError, ValueError):
                self._stream.write(pickle.dumps(message)[:-3])
                self._stream.flush()
        self._child.die(-signal.SIGSEGV)
        raise _Died


class _Process:
    """Stands for ``subprocess.Popen``."""

    plan: Plan
    started: list[_Process]
    pid = 2**22 + 1  # of nobody

    def __init__(self, *_: Any, **__: Any) -> None:
        if self.plan.due("child") is not None:
            raise OSError(11, "Resource temporarily unavailable")
        ours, theirs = os.pipe(), os.pipe()
        self.stdin, self._requests = os.fdopen(ours[1], "wb"), os.fdopen(ours[0], "rb")
        self.stdout, self._answers = os.fdopen(theirs[0], "rb"), os.fdopen(theirs[1], "wb")
        self.returncode: int | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._main, name="quintet-simulated-child", daemon=True)
        self._thread.start()
        self.started.append(self)

    def join(self) -> None:
        """Wait for the thread, after the parent has closed its ends."""
        self._thread.join(60)
        assert not self._thread.is_alive(), "a child hangs"
        for stream in (self.stdin, self.stdout, self._answers, self._requests):
            with contextlib.suppress(OSError, ValueError):
                stream.close()

    def _main(self) -> None:
        parent = _Parent(self._answers, self)
        try:
            _, question = pickle.load(self._requests)
            try:
                parent.send("result", isolated_child._work(question, parent, self._requests))
            except QuintetError as error:
                parent.send("error", type(error).__name__, str(error), {})
        except (_Died, EOFError):
            pass
        self.die(0)

    def die(self, code: int) -> None:
        if self.returncode is None:
            self.returncode = code
            with contextlib.suppress(OSError, ValueError):
                self._answers.close()
            self._ended.set()

    def kill(self) -> None:
        self.die(-signal.SIGKILL)

    def wait(self) -> int:
        self._ended.wait()
        assert self.returncode is not None
        return self.returncode


def _obey(run: Any, requests: Any) -> None:
    """As the child's own, but for the end of the process."""
    actions = {"pause": run.pause, "resume": run.resume, "stop": run.stop}
    with contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
        while True:
            actions[pickle.load(requests)[0]]()
    run.stop()


@contextlib.contextmanager
def children(plan: Plan) -> Iterator[None]:
    """While inside, what would be worked in a process is worked on a thread."""
    pools: list[Any] = []

    def opened(infos: Any) -> Any:
        pools.append(DevicePool(infos))
        return pools[-1]

    kind = type("_Planned", (_Process,), {"plan": plan, "started": []})
    with (
        mock.patch.object(isolation, "subprocess", SimpleNamespace(Popen=kind, PIPE=None)),
        mock.patch.multiple(isolated_child, _obey=_obey, DevicePool=opened),
    ):
        yield
        for child in kind.started:
            child.join()
    for pool in pools:
        pool.close()


class _Mortal:
    """The output of a process that is killed when it is read for the k-th time."""

    def __init__(self, process: Any, plan: Plan) -> None:
        self._process, self._plan, self._stream = process, plan, process.stdout

    def _look(self) -> None:
        if self._plan.due("answer") is not None:
            self._process.kill()
            self._process.wait()

    def read(self, size: int = -1) -> Any:
        self._look()
        return self._stream.read(size)

    def readline(self) -> Any:
        self._look()
        return self._stream.readline()

    def close(self) -> None:
        self._stream.close()


@contextlib.contextmanager
def helpers(plan: Plan) -> Iterator[None]:
    """While inside, processes that run HiGHS die."""

    def started(*arguments: Any, **named: Any) -> Any:
        if plan.due("helper") is not None:
            raise OSError(11, "Resource temporarily unavailable")
        made = subprocess.Popen(*arguments, **named)
        made.stdout = _Mortal(made, plan)  # type: ignore[assignment]
        return made

    fake = SimpleNamespace(Popen=started, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)
    with mock.patch.object(highs, "subprocess", fake), mock.patch.object(mip, "subprocess", fake):
        yield
        highs.release_children()
