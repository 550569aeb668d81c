"""Child processes for libraries whose calls cannot be interrupted, and whose faults must not end this process."""

from __future__ import annotations

import atexit
import contextlib
import pickle
import queue
import sys
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from ....util import processes

_CHILD = Path(__file__).with_name("child.py")
_WAIT_SECONDS = 0.02


class ChildError(Exception):
    """A child process could not be started, or ended without an answer."""


class ChildProcess:
    """A context manager: a child process that answers one request at a time, and is ended on leaving."""

    def __init__(self) -> None:
        words = [sys.executable, "-P", str(_CHILD)]
        try:
            self._process = processes.ChildProcess(words, stderr=DEVNULL, environment=processes.python_environment())
        except OSError as error:
            raise ChildError(f"a child process could not be started: {error}") from error
        self._requests: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._waiting: deque[Future[Any]] = deque()
        self._lock = threading.Lock()  # of `_waiting` and `_ended`
        self._ended = False
        self._process.on_thread(self._read)
        self._process.on_thread(self._write)
        atexit.register(self.close)

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.is_alive

    def close(self) -> None:
        """End the process now, and wait for its threads."""
        atexit.unregister(self.close)
        self._requests.put(None)
        self._process.end()

    def _read(self) -> None:
        try:
            while True:
                answer = pickle.load(self._process.stdout)
                with self._lock:
                    waiting = self._waiting.popleft()
                waiting.set_result(answer)
        except Exception:  # the process has ended, or what it sent cannot be read
            self._process.kill()
        with self._lock:  # no request is added from here on
            self._ended = True
        for waiting in self._waiting:
            waiting.set_exception(ChildError("the child process ended without an answer"))

    def _write(self) -> None:
        try:
            while (request := self._requests.get()) is not None:
                pickle.dump(request, self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
                self._process.stdin.flush()
        except Exception:  # the process has ended, or a request cannot be sent; the reader notices the end
            self._process.kill()

    def request(self, name: str, *arguments: Any) -> Future[Any]:
        """Send a request."""
        answer: Future[Any] = Future()
        with self._lock:
            ended = self._ended
            if not ended:
                self._waiting.append(answer)
                self._requests.put((name, *arguments))
        if ended:
            answer.set_exception(ChildError("the child process has ended"))
        return answer

    def call(self, poll: Callable[[], None], name: str, *arguments: Any) -> Any:
        """Send a request and wait for its answer."""
        answer = self.request(name, *arguments)
        while True:
            poll()
            with contextlib.suppress(TimeoutError):
                return answer.result(timeout=_WAIT_SECONDS)


_ready: defaultdict[str, deque[ChildProcess]] = defaultdict(deque)  # by the module that they have loaded, or ""
_wanted: dict[str, int] = {}
_filling = threading.Lock()


def keep_children(count: int, module: str = "") -> None:
    """Start children that wait for :func:`new_child`: their imports take longer than many a small program."""
    with _filling:
        _wanted[module] = count
        while len(_ready[module]) < count:
            try:
                process = ChildProcess()
            except ChildError:  # the error is raised where one is needed
                return
            if module:
                process.request("load", module)
            _ready[module].append(process)


def is_ready(module: str = "") -> bool:
    """Whether a child waits that has loaded the module."""
    return bool(_ready[module])


def new_child(module: str = "") -> ChildProcess:
    """A child that has started already, if one is ready; else a new one."""
    while True:
        try:
            process = _ready[module].popleft()
        except IndexError:
            return ChildProcess()
        if process.is_alive:
            return process
        process.close()


def give_back(process: ChildProcess, module: str = "") -> None:
    """Keep a child that has answered all requests for the next :func:`new_child`, or end it if enough are ready."""
    with _filling:
        if len(_ready[module]) < _wanted.get(module, 0):
            _ready[module].append(process)
            return
    process.close()


def release_children() -> None:
    """End the children that are ready."""
    with _filling:
        _wanted.clear()
        for ready in _ready.values():
            while ready:
                ready.popleft().close()
