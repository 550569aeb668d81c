"""Native code of the user's is executed in a child process, where the devices share the host's cores.

A C snippet runs inside the process that launches it, where the device is a CPU: a wild pointer ends that process, and
a loop without an end cannot be interrupted. So the whole run is worked in a child, which reports what it finds and is
ended if it does not obey a stop or the time limit. What the child does is in :mod:`engine.runs.child.child`.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ... import errors
from ...base.context import StopRequested
from ...errors import DeviceError, QuintetError, QuintetWarning
from ...events import Compiling, DeviceStatus, Incumbent, Metric, Notice, Progress, Trace
from ..run import Run

if TYPE_CHECKING:
    from ...base.problem import Problem
    from ...base.result import Result
    from ...base.solver import Solver
    from ...devices import DeviceInfo

__all__ = ["WATCHDOG_SECONDS", "needs_isolation", "solve_in_child"]

WATCHDOG_SECONDS = 10.0
"""How long after a stop or the time limit a C snippet may continue before its process is ended."""

SILENCE_SECONDS = 60.0
"""After this time without a message from the process, a warning says that the snippet has not returned."""

_WAIT_SECONDS = 0.05


def needs_isolation(solver: Solver, problem: Problem, devices: Sequence[DeviceInfo]) -> bool:
    """Whether a run is to be worked in a child process: it has C code of the user's, and a device is a CPU.

    A problem of the user's own class stays in this process: its class is not known elsewhere.

    Parameters
    ----------
    solver : Solver
    problem : Problem
    devices : sequence of DeviceInfo
        The devices of the run.
    """
    on_cpu = any(info.capabilities.shares_host_cores for info in devices)
    return on_cpu and problem.native_code is not None and type(problem) in solver.problems


def solve_in_child(run: Run) -> Result:
    """Solve a run's problem in a child process, on devices that the child opens.

    Parameters
    ----------
    run : Run
        Receives the child's events, and gives it the user's requests.

    Raises
    ------
    engine.errors.DeviceError
        If the process ends without an answer, as by a wild pointer, or is ended because the snippet does not return.
    engine.errors.QuintetError
        What ended the run in the child.
    """
    run.patience = 2.0 * WATCHDOG_SECONDS  # the child's run ends on time
    with _Child(run) as child:
        stopped: StopRequested | None = None
        while True:
            stopped = stopped or _stop_requested(run, child)
            _watch(run, child)
            message = child.receive(_WAIT_SECONDS)
            if message is None:
                continue
            if message[0] == "result":
                result: Result = message[1]
                run.problem.check(result)
                if stopped is not None and result.status.stopped:
                    result = replace(result, status=stopped.status)
                return result
            if message[0] == "left":
                run.warn(QuintetWarning("the C snippet had not returned when the run ended; its process was ended"))
                continue
            if message[0] == "error":
                raise _error_of(*message[1:])
            _pass_on(run, *message)


def _stop_requested(run: Run, child: _Child) -> StopRequested | None:
    """Pass pauses and stops on to the child."""
    paused = run.state == "paused"
    if paused:
        child.send("pause")
    try:
        run.poll()
    except StopRequested as request:
        child.send("stop")
        return request
    if paused:
        child.send("resume")
        child.heard_at = time.monotonic()
    return None


def _watch(run: Run, child: _Child) -> None:
    """End a child that does not obey; tell the user of one that gives no sign of life."""
    if run.overdue > WATCHDOG_SECONDS:
        raise DeviceError(
            f"the C snippet did not return within {WATCHDOG_SECONDS:g} s after the run was to end; "
            "its process was ended"
        )
    if not child.is_silent and time.monotonic() - child.heard_at > SILENCE_SECONDS:
        child.is_silent = True
        run.notice(f"the C snippet has not returned for {SILENCE_SECONDS:g} s; stop the run to end it", level="warning")


def _pass_on(run: Run, kind: str, *content: Any) -> None:
    """Do in this process's run what the child's run did."""
    if kind == "checkpoint":
        run.save_checkpoint(*content)
    elif kind == "event":
        event = content[0]
        match event:
            case Metric():
                run.metric(event.name, event.value, event.device)
            case Progress():
                left = (event.seconds_left, event.seconds_left_low, event.seconds_left_high)
                given = None if None in left else left
                run.progress(event.phase, event.done, event.total, event.unit, event.limit, given)  # type: ignore[arg-type]
            case Incumbent():
                run.incumbent(event.objective, event.bound)
                run.emit(event)
            case Trace() | Compiling():
                run.emit(event)
            case Notice():
                run.notice(event.message, event.level)


def _error_of(name: str, message: str, attributes: dict[str, Any]) -> QuintetError:
    """An error of the child's, made again."""
    kind = getattr(errors, name, DeviceError)
    error: QuintetError = kind.__new__(kind)
    Exception.__init__(error, message)
    vars(error).update(attributes)
    return error


class _Child:
    """The child process of one run; a context manager that ends it on leaving, whatever it is doing."""

    def __init__(self, run: Run) -> None:
        program = f"import sys; sys.path[:] = {sys.path!r}; from {__package__}.child import main; main()"
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the parent, which ends its children
            )
        except OSError as error:
            raise DeviceError(f"a process for the C snippet could not be started: {error}") from error
        self._received: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="quintet-child", daemon=True)
        self._reader.start()
        self.heard_at = time.monotonic()
        self.is_silent = False
        self.send(
            "begin",
            {
                "solver": run.solver.name,
                "problem": type(run.problem).__name__,
                "arrays": run.problem.to_arrays(),
                "name": run.problem.name,
                "options": run.options.model_dump(),
                "devices": [member.info.id for member in run.pool.members],
                "backend": run.backend,
                "seed": run.seed,
                "time_limit": None if run.time_limit is None else _elapsed(run) + run.time_left,
                "checkpoint_interval": run.checkpoint_interval,
                "keeps": run.keeps_checkpoints,
                "restored": run.restored,
            },
        )

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_: object) -> None:
        if os.name == "posix":  # what the snippet has started, too: it would keep the pipe open
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def send(self, *message: Any) -> None:
        """Send a message; that the process has ended is noticed by the reader."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            pickle.dump(message, self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def receive(self, timeout: float) -> tuple[Any, ...] | None:
        """The next message that is not only a sign of life; None after so many seconds without any."""
        with contextlib.suppress(queue.Empty):
            message = self._received.get(timeout=timeout)
            if not (message[0] == "event" and isinstance(message[1], DeviceStatus)):  # which a thread of its own sends
                self.heard_at, self.is_silent = time.monotonic(), False
            return None if message[0] == "alive" else message
        return None

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        try:
            while True:
                self._received.put(pickle.load(stream))
        except EOFError:
            pass
        except Exception:  # what it sent cannot be read
            self._process.kill()
        code = self._process.wait()
        self._received.put(("error", "DeviceError", f"the process of the C snippet {_end_of(code)}", {}))


def _elapsed(run: Run) -> float:
    """Seconds that the child's clock begins with."""
    return 0.0 if run.restored is None else run.restored.elapsed


def _end_of(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"ended without an answer (exit code {code})"
    name = str(-code)
    with contextlib.suppress(ValueError):
        name = signal.Signals(-code).name
    return f"was ended by the signal {name}" + (": it accessed memory that is not its own" if name == "SIGSEGV" else "")
