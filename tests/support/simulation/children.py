"""A process that dies: the child of a run with code of the user's, which is a thread here."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from types import SimpleNamespace
from unittest import mock

from engine.devices import DevicePool
from engine.runs.child import far_side, messages
from engine.util import processes
from tests.support.simulation.plan import Plan


class _Died(BaseException):
    """Ends the thread of a child."""


class _Parent(far_side._Parent):
    """Sends until the child dies."""

    def __init__(self, stream, child):
        super().__init__(stream)
        self._child = child

    def send(self, name, arrays=None, **content):
        if self._child.returncode is not None:
            raise _Died
        point = self._child.plan.due("report")
        if point is None:
            with contextlib.suppress(OSError, ValueError):
                super().send(name, arrays, **content)
            return
        if point == "garbles":
            with contextlib.suppress(OSError, ValueError):
                self._stream.write(json.dumps({"message": name, "arrays": {"x": ["<i8", [2]]}}).encode() + b"\n1234")
                self._stream.flush()
        self._child.die(-signal.SIGSEGV)
        raise _Died


class _Process:
    """Stands for ``subprocess.Popen``."""

    plan: Plan
    started: list[_Process]
    pid = 2**22 + 1  # of nobody
    stderr = None

    def __init__(self, *_, **__):
        if self.plan.due("child") is not None:
            raise OSError(11, "Resource temporarily unavailable")
        ours, theirs = os.pipe(), os.pipe()
        self.stdin, self._requests = os.fdopen(ours[1], "wb"), os.fdopen(ours[0], "rb")
        self.stdout, self._answers = os.fdopen(theirs[0], "rb"), os.fdopen(theirs[1], "wb")
        self.returncode = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._main, name="quintet-simulated-child", daemon=True)
        self._thread.start()
        self.started.append(self)

    def join(self):
        """Wait for the thread, after the parent has closed its ends."""
        self._thread.join(60)
        assert not self._thread.is_alive(), "a child hangs"
        for stream in (self.stdin, self.stdout, self._answers, self._requests):
            with contextlib.suppress(OSError, ValueError):
                stream.close()

    def _main(self):
        parent = _Parent(self._answers, self)
        with contextlib.suppress(_Died, EOFError):
            far_side._answer(messages.read(self._requests), parent, self._requests)
        self.die(0)

    def die(self, code):
        if self.returncode is None:
            self.returncode = code
            with contextlib.suppress(OSError, ValueError):
                self._answers.close()
            self._ended.set()

    def kill(self):
        self.die(-signal.SIGKILL)

    def wait(self, timeout=None):
        self._ended.wait(timeout)
        return self.returncode


def _obey(run, requests):
    """As the child's own, but for the end of the process."""
    actions = {b"pause\n": run.pause, b"resume\n": run.resume, b"stop\n": run.stop}
    with contextlib.suppress(OSError, ValueError):
        for line in requests:
            actions[line]()
    run.stop()


@contextlib.contextmanager
def children(plan):
    """While inside, what would be worked in a process is worked on a thread."""
    pools = []

    def opened(infos):
        pools.append(DevicePool(infos))
        return pools[-1]

    kind = type("_Planned", (_Process,), {"plan": plan, "started": []})
    with (
        mock.patch.object(processes, "subprocess", SimpleNamespace(Popen=kind, PIPE=None, TimeoutExpired=TimeoutError)),
        mock.patch.multiple(far_side, _obey=_obey, DevicePool=opened),
    ):
        yield
        for child in kind.started:
            child.join()
    for pool in pools:
        pool.close()
