"""Runs on another host, over ssh, where ``quintet receive`` works them; see :mod:`engine.runs.child.messages`."""

import math
import shutil
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence

from typing_extensions import override

from ..base.problem import Problem
from ..base.result import Result
from ..base.solver import Solver, SolverOptions
from ..devices import Backend, DeviceInfo
from ..errors import DeviceError
from ..runs.child.far_run import FarRun
from ..runs.executor import Executor
from ..runs.run import Run
from ..util.files import reason_of
from ..util.processes import ChildProcess
from ..util.text import printable
from .hosts import host_named, ssh_words

_MOST_LINES = 50  # of standard error
_GRACE = 2.0  # seconds for the process of ssh to end


class Ssh(Executor):
    """Another host with Quintet over ssh: a saved one, or ``[USER@]HOST``; see :mod:`engine.execution.hosts`."""

    def __init__(self, name: str, backend: Backend | None = None, devices: Sequence[str] | None = None) -> None:
        self._name, self._host, self._given = name, host_named(name), (backend, devices)
        self._far: FarRun | None = None
        self._process: ChildProcess | None = None
        self._errors: deque[str] = deque(maxlen=_MOST_LINES)
        self._has_begun = False

    @property
    def device_infos(self) -> list[DeviceInfo]:
        """None: they are known on the host. A run has their names once it has begun."""
        return []

    def describe(self) -> dict[str, str]:
        return {"host": self._name}

    @override
    def validate(self, solver: Solver, problem: Problem, options: SolverOptions) -> None:
        """The host does, before the run begins."""

    @override
    def begin(self, run: Run) -> None:
        """Connect, and wait until the run has begun there."""
        run.patience = math.inf  # it ends on time there
        self._errors.clear()
        self._has_begun = False
        self._process = process = _connected(ssh_words(self._host, "receive"))
        reading = process.on_thread(lambda: self._read_errors(process))
        self._far = FarRun(run, process, lambda code: self._lost(code, reading))
        self._far.ask(*self._given)
        started = self._far.started()
        self._has_begun = True
        run.backend, run.devices, run.device_names = (
            started.backend,
            tuple(started.devices),
            tuple(started.device_names),
        )

    def execute(self, run: Run) -> Result:
        assert self._far is not None
        return self._far.result()

    def ended(self, run: Run) -> None:
        if self._process is not None:
            self._process.wait(_GRACE)
            self._process.end()
        self._far = self._process = None

    def _read_errors(self, process: ChildProcess) -> None:
        """Keep the last lines of standard error, and show warnings at once; errors arrive as messages, too."""
        assert process.stderr is not None
        for line in process.stderr:
            text = printable(line.decode(errors="replace").rstrip())
            if text.startswith("warning: "):
                print(text, file=sys.stderr, flush=True)
            elif text:
                self._errors.append(text)

    def _lost(self, code: int, reading: threading.Thread) -> DeviceError:
        """The error for a connection that ends before the run, with what is said last on standard error."""
        reading.join(_GRACE)
        detail = f": {self._errors[-1]}" if self._errors else ""
        if self._has_begun:
            return DeviceError(f"the connection to {self._name} was lost{detail}; the run there has ended")
        hint = "" if code == 255 else f" (started with: {self._host.command} receive)"
        return DeviceError(f"Quintet cannot be started on {self._name}{hint}{detail}")


def _connected(words: list[str]) -> ChildProcess:
    """The process of ssh, which does not end at Ctrl-C: it has to pass on the request to stop."""
    if shutil.which(words[0]) is None:
        raise DeviceError("the program ssh is not installed; it connects to other hosts")
    if sys.platform != "win32":
        words = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *words]
    try:
        return ChildProcess(words, stderr=subprocess.PIPE, own_group=False)
    except OSError as error:
        raise DeviceError(f"ssh cannot be started: {reason_of(error)}") from error
