"""HiGHS's branch and bound on a problem of some constraints: started, watched, and ended when the run has to end."""

import contextlib
import math
import pickle
import queue
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ....util import processes

_CHILD = Path(__file__).with_name("child.py")
_WAIT_SECONDS = 0.02
_MOST_EXACT = 2**50  # a sum of profits that floating point holds with a margin for the bound


@dataclass(frozen=True)
class IntegerProgram:
    """Maximize ``profits x`` with ``weights x <= capacities`` and integers ``0 <= x <= upper``."""

    profits: NDArray[np.int64]
    weights: NDArray[np.int64]
    capacities: NDArray[np.int64]
    upper: NDArray[np.int64]

    @property
    def is_exact(self) -> bool:
        """Whether HiGHS's floating-point numbers tell neighbouring values and weights apart."""
        sums = [self.profits, *self.weights]
        return all(float(row.astype(np.float64) @ self.upper.astype(np.float64)) < _MOST_EXACT for row in sums)

    def value(self, x: NDArray[np.int64]) -> int | None:
        """The profit of a point, in exact integers; None if it is not feasible."""
        if (x < 0).any() or (x > self.upper).any() or (self.weights @ x > self.capacities).any():
            return None
        return int(self.profits @ x)


class Mip:
    """One search by HiGHS, in a child process; a context manager that ends it on leaving."""

    def __init__(self, program: IntegerProgram, seconds: float, start: NDArray[np.int64] | None = None) -> None:
        self.program = program
        self.best: NDArray[np.int64] | None = None  # the best point found that is feasible in exact integers
        self.objective = -1
        self.bound: int | None = None  # HiGHS's, once it has ended, rounded up where that may matter
        self.ended = False
        self.fault = ""
        self._messages: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        words = [sys.executable, "-P", str(_CHILD)]
        try:
            self._process: processes.ChildProcess | None = processes.ChildProcess(
                words, stderr=DEVNULL, environment=processes.python_environment()
            )
        except OSError as error:
            self._process = None
            self._end(f"its process could not be started: {error}")
            return
        question: dict[str, Any] = {name: getattr(program, name) for name in ("profits", "weights", "capacities")}
        question |= {"upper": program.upper, "start": start, "options": {"time_limit": max(0.0, min(seconds, 1e9))}}
        self._process.on_thread(lambda: self._read(question))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.end()

    def _end(self, fault: str) -> None:
        self.fault = fault
        self._messages.put(("end", {"x": None, "bound": math.nan, "status": "no answer"}))

    def _read(self, question: dict[str, Any]) -> None:
        assert self._process is not None
        sent, received = self._process.stdin, self._process.stdout
        with contextlib.suppress(Exception):  # the process has ended, or was ended
            pickle.dump(question, sent, protocol=pickle.HIGHEST_PROTOCOL)
            sent.flush()
            while True:
                message = pickle.load(received)
                self._messages.put(message)
                if message[0] == "end":
                    return
        self._end("its process has ended")

    def step(self, timeout: float = _WAIT_SECONDS) -> bool:
        """Take over what HiGHS has found within so many seconds; whether it has ended."""
        until = time.monotonic() + timeout
        while not self.ended:
            try:
                kind, content = self._messages.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            if kind == "solution":
                self._improve(content)
                continue
            self.ended = True
            if content["x"] is not None:
                self._improve(content["x"])
            bound = content["bound"]
            if math.isfinite(bound):
                self.bound = max(self.objective, math.floor(bound + 1e-6 + 1e-14 * abs(bound)))
        return self.ended

    def wait(self, poll: Callable[[], None]) -> None:
        """Wait until HiGHS has ended; ``poll`` may raise to end the waiting."""
        while not self.step():
            poll()

    def _improve(self, values: NDArray[np.float64]) -> None:
        x = np.rint(values).astype(np.int64)
        value = self.program.value(x)
        if value is not None and value > self.objective:
            self.best, self.objective = x, value
