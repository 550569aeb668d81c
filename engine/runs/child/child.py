"""The child process of :mod:`engine.runs.child.parent`: works one run, and reports to its parent.

Messages are pickled tuples, of a name and its arguments, between this process and its own parent. From the parent:
``begin`` with the whole question, then ``pause``, ``resume`` and ``stop``. To the parent: ``event``, ``checkpoint``,
``alive`` at most once a second, ``left`` if the snippet has not returned, and at last ``result`` or ``error``.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

from ...base.context import Checkpoint
from ...base.result import Result
from ...devices import DevicePool, select
from ...errors import QuintetError
from ...events import Event
from ...solvers import solver_named
from ..question import Fresh, FromCheckpoint, Question
from ..run import Run

__all__ = ["main"]

_PLAIN = (str, int, float, type(None))


class _Parent:
    """The parent process; stands for the run folder, too, which only the parent writes to."""

    path = Path()
    identity = ""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._alive_at = 0.0
        self._newest: Checkpoint | None = None

    def send(self, *message: Any) -> None:
        with self._lock:
            pickle.dump(message, self._stream, protocol=pickle.HIGHEST_PROTOCOL)
            self._stream.flush()

    def alive(self) -> None:
        """Give a sign of life, at most once a second."""
        now = time.monotonic()
        if now - self._alive_at > 1.0:
            self._alive_at = now
            self.send("alive")

    def observe(self, event: Event) -> None:
        self.send("event", event)

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        self.send("checkpoint", checkpoint.arrays, checkpoint.state)
        self._newest = checkpoint

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


def main() -> None:
    """Read the question, work the run, and report; what the snippet prints goes to standard error."""
    _end_with_parent()
    parent = _Parent(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    _, question = pickle.load(requests)
    try:
        parent.send("result", _work(question, parent, requests))
    except QuintetError as error:
        attributes = {name: value for name, value in vars(error).items() if isinstance(value, _PLAIN)}
        parent.send("error", type(error).__name__, str(error), attributes)
    os._exit(0)  # a device thread may hang in the snippet


def _work(question: dict[str, Any], parent: _Parent, requests: BinaryIO) -> Result:
    solver = solver_named(question["solver"])
    kind = next(kind for kind in solver.problems if kind.__name__ == question["problem"])
    problem = kind.from_arrays(question["arrays"], question["name"])
    infos = [info for name in question["devices"] for info in select("auto", [name])]
    pool = DevicePool(infos)
    options = solver.options_model(kind).model_validate(question["options"])
    given = {name: question[name] for name in ("backend", "seed", "time_limit", "checkpoint_interval")}
    restored = question["restored"]
    run = _Run(
        Question(problem, solver, options, **given),
        pool,
        Fresh() if restored is None else FromCheckpoint(restored),
        folder=parent if question["keeps"] else None,
        observers=[parent.observe],
    )
    run.parent = parent
    threading.Thread(target=_obey, args=(run, requests), name="quintet-parent", daemon=True).start()
    run.start()
    result = run.outcome()
    if run.was_left:
        parent.send("left")
    return result


def _obey(run: Run, requests: BinaryIO) -> None:
    """Do what the parent asks for; end with it."""
    actions = {"pause": run.pause, "resume": run.resume, "stop": run.stop}
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            actions[pickle.load(requests)[0]]()
    os._exit(1)


def _end_with_parent() -> None:
    """Ask Linux to end this process with the thread that started it: a snippet may keep every thread busy."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
