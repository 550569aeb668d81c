"""Control of a run in the foreground: Ctrl-C, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, and lines on standard input."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Self

from ..runs.replay import Replay
from ..runs.run import Run

_HANGUP = getattr(signal, "SIGHUP", None)  # the terminal or the connection is gone; none on Windows
_STOPPING = [number for number in (signal.SIGINT, signal.SIGTERM, _HANGUP) if number is not None]
_PAUSING = {
    getattr(signal, name): word for name, word in (("SIGUSR1", "pause"), ("SIGUSR2", "resume")) if hasattr(signal, name)
}


class Controls:
    """Signals and standard input as controls; use it as a context manager around the run.

    The first Ctrl-C, every SIGTERM and SIGHUP stop the run; the second Ctrl-C raises KeyboardInterrupt. While no run is
    attached, Ctrl-C raises KeyboardInterrupt at once, but for a run that is being started (see :meth:`starting`).
    SIGUSR1 pauses a run and SIGUSR2 resumes it, for a window that follows it and is not its parent.
    """

    def __init__(self) -> None:
        self._target: Run | Replay | None = None
        self._stopped = False
        self._interrupts = 0
        self._starting = False
        self._detached = threading.Event()
        self._former: dict[int, Any] = {}

    @property
    def interrupted(self) -> bool:
        return self._stopped

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _STOPPING:
                if number != _HANGUP or signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
                    self._former[number] = signal.signal(number, self._on_signal)
            self._former |= {number: signal.signal(number, self._on_pausing) for number in _PAUSING}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)
        self._former.clear()

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """While a run is being started, which may run before it is attached: the first Ctrl-C stops it, too."""
        self._starting = True
        try:
            yield
        finally:
            self._starting = False

    def attach(self, target: Run | Replay) -> None:
        self._target = target
        if self._stopped:
            target.notice("stopping at the end of this slice")
            target.stop()

    def stop(self) -> None:
        """Stop the run that is attached, or the one that will be."""
        self._stopped = True
        if self._target is not None:
            self._target.stop()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._interrupts += number == signal.SIGINT
        no_run = self._target is None and not self._starting
        if self._interrupts > 1 or (no_run and number == signal.SIGINT):
            raise KeyboardInterrupt
        if self._target is not None and not self._stopped:
            again = "; press Ctrl-C again to abort" if number == signal.SIGINT else ""
            self._target.notice(f"stopping at the end of this slice{again}")
        elif self._starting and not self._stopped and number == signal.SIGINT:  # a job of a cluster may start late
            with contextlib.suppress(OSError, RuntimeError):  # of a write that the signal has interrupted
                print("stopping once the run has started; press Ctrl-C again to abort", file=sys.stderr, flush=True)
        self.stop()

    def _on_pausing(self, number: int, frame: FrameType | None) -> None:
        if self._target is not None:  # on a thread, as this one may have been interrupted where it holds the run's lock
            threading.Thread(target=getattr(self._target, _PAUSING[number]), daemon=True).start()

    def listen(self) -> None:
        """Obey the lines ``pause``, ``resume``, ``stop`` and ``detach`` on standard input from now on.

        The end of standard input is ignored. After ``detach`` the run continues when the reader of its events has gone.
        """
        assert self._target is not None
        threading.Thread(target=self._obey, args=(self._target,), name="quintet-stdin", daemon=True).start()

    def _obey(self, target: Run | Replay) -> None:
        commands = {"pause": target.pause, "resume": target.resume, "stop": target.stop, "detach": self._detach}
        for line in _lines_of_stdin():
            word = line.strip().lower()
            if word in commands:
                commands[word]()
            elif word:
                known = "the commands are pause, resume, stop and detach"
                target.notice(f"unknown line on standard input: {word[:40]!r}; {known}", "warning")

    @property
    def detached(self) -> bool:
        """Whether the run continues though nobody reads its events."""
        return self._detached.is_set()

    def detached_within(self, seconds: float) -> bool:
        """Whether it is detached at once or within some seconds: the reader may be gone before its request is read."""
        return self._detached.wait(seconds)

    def _detach(self) -> None:
        """Leave the terminal and the parent: what is still written to them is lost."""
        self._detached.set()
        with contextlib.suppress(OSError, AttributeError):  # not on Windows; or it leads its group
            os.setsid()
        null = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            with contextlib.suppress(OSError):
                os.dup2(null, stream)
        os.close(null)


def first_line_of_stdin() -> str:
    """The first line of standard input, and not a byte more: what follows is read by others."""
    line = bytearray()
    while (part := os.read(0, 1)) not in (b"", b"\n"):
        line += part
    return line.decode(errors="replace")


def _lines_of_stdin() -> Iterator[str]:
    """Lines as they come, by the file descriptor: a thread in ``sys.stdin`` holds a lock that delays the exit."""
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # there is none, or it is not a file
        if sys.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                yield from sys.stdin
        return
    rest = b""
    with contextlib.suppress(OSError):  # such as a terminal that belongs to another job
        while part := os.read(descriptor, 4096):
            *whole, rest = (rest + part).split(b"\n")
            yield from (line.decode(errors="replace") for line in whole)
    yield rest.decode(errors="replace")
