"""Child processes: how they are started, and how they end, whatever they are doing."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import IO, Any, Self

_GRACE = 2.0
"""Seconds for the threads of a process that may leave others behind which hold its pipes open, as ssh does."""


class ChildProcess:
    """A process with pipes, ended on leaving, with what it has started if in an ``own_group``, which Ctrl-C spares."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        stderr: int | None = None,
        own_group: bool = True,
        environment: dict[str, str] | None = None,
    ) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": stderr}
        self._process = subprocess.Popen(words, env=environment, start_new_session=own_group, **pipes)
        self._own_group = own_group
        self._threads: list[threading.Thread] = []
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.stdin: IO[bytes] = self._process.stdin
        self.stdout: IO[bytes] = self._process.stdout
        self.stderr: IO[bytes] | None = self._process.stderr

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def on_thread(self, function: Callable[[], None]) -> threading.Thread:
        """Call a function on a thread, which has to return once the process has ended."""
        thread = threading.Thread(target=function, name="quintet-child", daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def kill(self) -> int:
        """End the process now; its exit code."""
        self._process.kill()
        return self._process.wait()

    def wait(self, timeout: float | None = None) -> int | None:
        """The exit code once the process has ended; None if it has not, after so many seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout)
        return None

    def end(self) -> None:
        """End the process now, and wait for its threads."""
        if self._own_group and os.name == "posix":  # what it has started, too: it would keep the pipe open
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self.kill()
        for thread in self._threads:
            thread.join(None if self._own_group else _GRACE)
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None and not any(thread.is_alive() for thread in self._threads):
                with contextlib.suppress(OSError):
                    stream.close()


def python_environment() -> dict[str, str]:
    """The environment of a Python process that imports what this one can."""
    return dict(os.environ) | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
