"""A run that another process works: a child of this one, or on another host; see :mod:`engine.runs.child.messages`.

C code of the user's is executed in a child process where the devices share the host's cores: a wild pointer ends the
process that launches it, and a loop without an end cannot be interrupted. So the whole run is worked in a child, which
reports what it finds and is ended if it does not obey a stop or the time limit.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import queue
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel

from ... import errors
from ...base.context import StopRequested
from ...base.result import Result, result_class
from ...errors import DeviceError, QuintetError, QuintetWarning
from ...events import DeviceStatus, Event, Failed, Finished, Started, StateChanged, from_json
from ...util.files import read_regular
from ...util.processes import ChildProcess
from ..folder.run_folder import described
from . import messages
from .messages import FORMAT, Message

if TYPE_CHECKING:
    from ...base.problem import Problem
    from ...base.solver import Solver
    from ...devices import DeviceInfo
    from ..run import Run

WATCHDOG_SECONDS = 10.0
"""How long after a stop or the time limit a C snippet may continue before its process is ended."""

SILENCE_SECONDS = 60.0
"""After this time without a message from the process, a warning says that the snippet has not returned."""

_WAIT_SECONDS = 0.05
_OWN = (Started, StateChanged, Finished, Failed)  # the run here has its own


def needs_isolation(solver: Solver, problem: Problem, devices: Sequence[DeviceInfo]) -> bool:
    """Whether a child process works a run: it has C code, no class of the user's own, and a device is a CPU."""
    on_cpu = any(info.capabilities.shares_host_cores for info in devices)
    return on_cpu and problem.native_code is not None and type(problem) in solver.problems


def solve_in_child(run: Run) -> Result:
    """Solve a run's problem in a child process, on devices that the child opens."""
    run.patience = 2.0 * WATCHDOG_SECONDS  # the child's run ends on time
    program = f"import sys; sys.path[:] = {sys.path!r}; from {__package__}.far_side import main; main()"
    try:
        process = ChildProcess([sys.executable, "-P", "-c", program])
    except OSError as error:
        raise DeviceError(f"a process for the C snippet could not be started: {error}") from error
    with FarRun(run, process, lambda code: DeviceError(f"the process of the C snippet {_end_of(code)}")) as far:
        far.ask("auto", [member.info.id for member in run.pool.members])
        return far.result()


class FarRun:
    """A run here, and the process that works it, ended on leaving; ``lost(code)`` is the error if it is gone."""

    def __init__(self, run: Run, process: ChildProcess, lost: Callable[[int], DeviceError]) -> None:
        self._run, self._process, self._lost = run, process, lost
        self._received: queue.SimpleQueue[Message | DeviceError] = queue.SimpleQueue()
        self._heard_at, self._is_silent = time.monotonic(), False
        self._stopped: StopRequested | None = None
        process.on_thread(self._read)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.end()

    def ask(self, backend: str | None, devices: Sequence[str] | None) -> None:
        """Send the question, for the other side's devices of these names; by default as it is configured."""
        run = self._run
        arrays = {f"problem/{name}": array for name, array in run.problem.to_arrays().items()}
        before, restored, worked = run.restored, None, 0.0
        if before is not None:
            arrays |= {f"restored/{name}": array for name, array in before.arrays.items()}
            state = before.state.model_dump() if isinstance(before.state, BaseModel) else before.state
            worked = before.elapsed
            restored = {"state": state, "elapsed": worked}
        question = {
            "message": "begin",
            "format": FORMAT,
            "solver": run.solver.name,
            "problem": described(run.problem),
            "trusted": _digests(run.problem),
            "options": run.options.model_dump(mode="json"),
            "backend": backend,
            "devices": None if devices is None else list(devices),
            "seed": run.seed,
            "time_limit": None if run.time_limit is None else worked + run.time_left,
            "checkpoint_interval": run.checkpoint_interval,
            "keeps": run.keeps_checkpoints,
            "restored": restored,
        }
        with contextlib.suppress(OSError, ValueError):  # the reader notices that the process has ended
            messages.write(self._process.stdin, question, arrays)

    def started(self) -> Started:
        """Wait until the run has begun on the other side."""
        asked = False
        while True:
            if self._run.state == "stopping" and not asked:
                asked = True
                self._send(b"stop")
            message = self._receive()
            if message is not None:
                event = self._taken(message)
                if isinstance(event, Started):
                    return event

    def result(self) -> Result:
        """Follow the run until its result."""
        run = self._run
        while True:
            self._obey()
            self._watch()
            message = self._receive()
            if message is not None and isinstance(found := self._taken(message), Result):
                run.problem.check(found)
                if self._stopped is not None and found.status.stopped:
                    found = replace(found, status=self._stopped.status)
                for warning in found.warnings:
                    run.warn(getattr(errors, warning.kind, QuintetWarning)(warning.message), late=True)
                return found

    def _obey(self) -> None:
        """Pass pauses and stops on."""
        if self._stopped is not None:
            return
        paused = self._run.state == "paused"
        if paused:
            self._send(b"pause")
        try:
            self._run.poll()
        except StopRequested as request:
            self._send(b"stop")
            self._stopped = request
            return
        if paused:
            self._send(b"resume")
            self._heard_at = time.monotonic()

    def _watch(self) -> None:
        """End a snippet that does not obey; tell the user of one that gives no sign of life."""
        run = self._run
        if run.problem.native_code is None:
            return
        if run.overdue > WATCHDOG_SECONDS:
            raise DeviceError(
                f"the C snippet did not return within {WATCHDOG_SECONDS:g} s after the run was to end; "
                "its process was ended"
            )
        if not self._is_silent and time.monotonic() - self._heard_at > SILENCE_SECONDS:
            self._is_silent = True
            text = f"the C snippet has not returned for {SILENCE_SECONDS:g} s; stop the run to end it"
            run.notice(text, level="warning")

    def _taken(self, message: Message) -> Event | Result | None:
        """Do in the run here what has happened on the other side; the event or result, if it is one."""
        content, run = message.content, self._run
        if message.name == "event":
            event = from_json(json.dumps(content))
            if not isinstance(event, _OWN) and not (isinstance(event, DeviceStatus) and run.pool.members):
                run.pass_on(event)
            return event
        if message.name == "checkpoint":
            run.save_checkpoint(message.arrays, content["state"])
        elif message.name == "left" and run.problem.native_code is not None:
            run.warn(QuintetWarning("the C snippet had not returned when the run ended; its process was ended"))
        elif message.name == "error":
            raise _error_of(content["kind"], content["text"], content["attributes"])
        elif message.name == "result":
            kind = result_class(type(run.problem))
            found = Result.from_dict(content["result"], message.arrays)
            return kind(**{field.name: getattr(found, field.name) for field in fields(found)})
        return None

    def _send(self, word: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(word + b"\n")
            self._process.stdin.flush()

    def _receive(self) -> Message | None:
        """The next message; None after a moment without any."""
        with contextlib.suppress(queue.Empty):
            message = self._received.get(timeout=_WAIT_SECONDS)
            if isinstance(message, DeviceError):
                raise message
            if message.content.get("type") != "device_status":  # which a thread of its own sends
                self._heard_at, self._is_silent = time.monotonic(), False
            return message
        return None

    def _read(self) -> None:
        try:
            while True:
                self._received.put(messages.read(self._process.stdout))
        except EOFError:
            pass
        except Exception:  # what it sent cannot be read
            self._process.kill()
        code = self._process.wait()
        self._received.put(self._lost(-1 if code is None else code))


def _digests(problem: Problem) -> list[str]:
    """The digests of the code that a problem brings: the user has run it here, so it may be executed there."""
    code = [] if problem.native_code is None else [problem.native_code.encode()]
    file = described(problem).get("file")
    if file is not None:
        with contextlib.suppress(OSError):
            code.append(read_regular(Path(file)))
    return [hashlib.sha256(content).hexdigest() for content in code]


def _error_of(name: str, message: str, attributes: dict[str, Any]) -> QuintetError:
    """An error of the other side, made again."""
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, QuintetError)):
        return QuintetError(f"{name}: {message}")
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    vars(error).update(attributes)
    return error


def _end_of(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"ended without an answer (exit code {code})"
    name = str(-code)
    with contextlib.suppress(ValueError):
        name = signal.Signals(-code).name
    return f"was ended by the signal {name}" + (": it accessed memory that is not its own" if name == "SIGSEGV" else "")
