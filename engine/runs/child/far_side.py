"""The process that works a run of another one, its child or on another host; see :mod:`engine.runs.child.messages`."""

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel

from ...base.context import Checkpoint
from ...base.result import Result
from ...base.solver import Solver
from ...devices import DevicePool, backend_of, select
from ...errors import OptionError, QuintetError
from ...events import Event, to_json
from ...settings import config
from ...solvers import solver_named
from ...util import trust
from ..folder.run_folder import class_of
from ..question import Fresh, FromCheckpoint, Question, Start
from ..run import Run
from . import messages
from .messages import FORMAT, Message

_PLAIN = (str, int, float, type(None))
_SHARE_OF_SENDING = 0.05
"""Of the time of a run that its checkpoints may take on their way."""


class _Parent:
    """The process that asks; stands for the run folder, too, which only that process writes to."""

    path = Path()
    identity = ""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._alive_at = 0.0
        self._newest: Checkpoint | None = None
        self.rests_until = 0.0

    def send(self, name: str, arrays: Any = None, **content: Any) -> None:
        with self._lock:
            messages.write(self._stream, {"message": name, **content}, arrays)

    def alive(self) -> None:
        """Give a sign of life, at most once a second."""
        now = time.monotonic()
        if now - self._alive_at > 1.0:
            self._alive_at = now
            self.send("alive")

    def observe(self, event: Event) -> None:
        with self._lock:
            self._stream.write(to_json(event).encode() + b"\n")
            self._stream.flush()

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        began = time.monotonic()
        state = checkpoint.state
        state = state.model_dump() if isinstance(state, BaseModel) else state
        self.send("checkpoint", checkpoint.arrays, state=state)
        self._newest = checkpoint
        now = time.monotonic()
        self.rests_until = now + (now - began) / _SHARE_OF_SENDING

    def checkpoint(self) -> Checkpoint | None:
        return self._newest

    def save_result(self, result: Result) -> None:
        """The parent keeps it."""

    def release(self) -> None:
        """The parent does."""

    def discard(self) -> None:
        """The parent does."""


class _Run(Run):
    """A run that gives a sign of life between slices."""

    parent: _Parent

    def poll(self) -> None:
        self.parent.alive()
        super().poll()

    def checkpoint_due(self) -> bool:
        """Not so often that the way to the parent takes long."""
        return super().checkpoint_due() and time.monotonic() >= self.parent.rests_until


def main(own: bool = True) -> None:
    """Read the question, work the run, and report; what else is printed goes to standard error."""
    if own:
        _end_with_parent()
    parent = _Parent(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    _answer(messages.read(sys.stdin.buffer), parent, sys.stdin.buffer)
    os._exit(0)  # a device thread may hang in the solver


def _answer(question: Message, parent: _Parent, requests: IO[bytes]) -> None:
    """Work the run, and send its result or error."""
    try:
        result = _work(question, parent, requests)
        arrays = result.arrays if result.solution is None else {**result.arrays, "solution": result.solution}
        parent.send("result", arrays, result=result.to_dict())
    except Exception as error:
        attributes = {name: value for name, value in vars(error).items() if isinstance(value, _PLAIN)}
        if not isinstance(error, QuintetError):  # a fault of the program's
            traceback.print_exc()
        parent.send("error", kind=type(error).__name__, text=str(error), attributes=attributes)


def _work(question: Message, parent: _Parent, requests: IO[bytes]) -> Result:
    asked = question.content
    if asked["format"] != FORMAT:
        raise OptionError("the two sides speak different protocols; they need the same version of Quintet")
    solver = solver_named(asked["solver"])
    with trust.allowed(*asked["trusted"]):
        kind = class_of(asked["problem"], solver)
        if kind is None:
            raise OptionError(f"the problem's class {asked['problem']['class']} is not known on the other side")
        try:
            problem = kind.from_arrays(_part(question, "problem"), asked["problem"]["name"])
        except QuintetError as error:  # such as a Python function
            raise OptionError(f"the problem cannot be sent to another process: {error}") from error
    options = solver.options_model(kind).model_validate(asked["options"])
    names = asked["devices"]
    settings = config.resolve({"backend": asked["backend"], "devices": names or None}).settings
    infos = [] if names == [] else select(settings.backend, settings.devices)
    if solver.validate is not None:
        solver.validate(problem, options, infos)
    given = {name: asked[name] for name in ("seed", "time_limit", "checkpoint_interval")}
    run = _Run(
        Question(problem, solver, options, backend_of(infos), **given),
        DevicePool(infos),
        _start(question, solver),
        folder=parent if asked["keeps"] else None,
        observers=[parent.observe],
    )
    run.parent = parent
    threading.Thread(target=_obey, args=(run, requests), name="quintet-parent", daemon=True).start()
    run.start()
    result = run.outcome()
    if run.was_left:
        parent.send("left")
    return result


def _part(question: Message, name: str) -> dict[str, Any]:
    """The arrays of one part of the question."""
    prefix = f"{name}/"
    return {key.removeprefix(prefix): array for key, array in question.arrays.items() if key.startswith(prefix)}


def _start(question: Message, solver: Solver) -> Start:
    before = question.content["restored"]
    if before is None:
        return Fresh()
    arrays, state = _part(question, "restored"), before["state"]
    if solver.schema is not None and solver.schema.checkpoint is not None:
        state = solver.schema.checkpoint.check(arrays, state)
    return FromCheckpoint(Checkpoint(arrays, state, before["elapsed"]))


def _obey(run: Run, requests: IO[bytes]) -> None:
    """Do what the parent asks for; end with it."""
    actions = {b"pause": run.pause, b"resume": run.resume, b"stop": run.stop}
    with contextlib.suppress(OSError, ValueError):
        for line in requests:
            actions.get(line.strip(), run.stop)()
    os._exit(1)


def _end_with_parent() -> None:
    """Ask Linux to end this process with the thread that started it: a snippet may keep every thread busy."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
