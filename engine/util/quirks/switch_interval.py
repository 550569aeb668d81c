"""Python threads that are changed often enough, against CPython's interval of 5 ms (seen in 3.11).

A thread that comes back from a wait for its device asks for the interpreter's lock, and gets it when the thread that
has it is asked to let go: after the switch interval. Beside a thread that computes in Python, a wait takes 4.0 ms so,
and 0.5 ms with an interval of 0.1 ms (two cores). The interval is the process's. Not needed where the interpreter has
no such lock (free-threaded builds).
"""

import contextlib
import sys
import threading


def shorten(seconds: float) -> None:
    """Let threads be changed at least this often."""
    if sys.getswitchinterval() > seconds:
        sys.setswitchinterval(seconds)


class _PromptThreads(contextlib.AbstractContextManager[None]):
    """An interval of 0.1 ms, put back when the last of those who asked for it has left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = sys.getswitchinterval()
            shorten(1e-4)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                sys.setswitchinterval(self._before)


PROMPT_THREADS = _PromptThreads()
