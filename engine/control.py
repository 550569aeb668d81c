"""Control of what runs in the foreground: Ctrl-C and SIGTERM, and lines on standard input."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Literal, Protocol, Self

__all__ = ["Controllable", "Controls"]


class Controllable(Protocol):
    """What can be paused, resumed, stopped and spoken through: a run, or a replay."""

    def pause(self) -> None:
        """Hold on."""

    def resume(self) -> None:
        """Go on."""

    def stop(self) -> None:
        """End soon, with what there is."""

    def notice(self, message: str, level: Literal["info", "warning"] = "info") -> None:
        """Tell the user something."""


class Controls:
    """The ways a user stops and holds what runs; use it as a context manager around the run.

    The first Ctrl-C and every SIGTERM stop what runs; the second Ctrl-C raises KeyboardInterrupt. While nothing is
    attached, Ctrl-C raises KeyboardInterrupt at once.
    """

    def __init__(self) -> None:
        self._target: Controllable | None = None
        self._stopped = False
        self._interrupts = 0
        self._former: dict[int, Any] = {}

    @property
    def interrupted(self) -> bool:
        """Whether a signal has asked for the end."""
        return self._stopped

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._former[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)
        self._former.clear()

    def attach(self, target: Controllable) -> None:
        """From now on, this is what is controlled."""
        self._target = target
        if self._stopped:
            target.stop()

    def stop(self) -> None:
        """Stop what runs, or what will."""
        self._stopped = True
        if self._target is not None:
            self._target.stop()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._interrupts += number == signal.SIGINT
        if self._interrupts > 1 or (self._target is None and number == signal.SIGINT):
            raise KeyboardInterrupt
        if self._target is not None and not self._stopped:
            again = "; press Ctrl-C again to abort" if number == signal.SIGINT else ""
            self._target.notice(f"stopping at the end of this slice{again}")
        self.stop()

    def listen(self) -> None:
        """Obey the lines ``pause``, ``resume`` and ``stop`` of standard input from now on; its end means nothing."""
        assert self._target is not None
        threading.Thread(target=self._obey, args=(self._target,), name="quintet-stdin", daemon=True).start()

    def _obey(self, target: Controllable) -> None:
        orders = {"pause": target.pause, "resume": target.resume, "stop": target.stop}
        for line in _lines_of_stdin():
            word = line.strip().lower()
            if word in orders:
                orders[word]()
            elif word:
                target.notice(f"unknown line on standard input: {word[:40]!r}; say pause, resume or stop", "warning")


def _lines_of_stdin() -> Iterator[str]:
    """Lines as they come; by the file descriptor, as a lock on ``sys.stdin`` would stand in the way of the exit."""
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # there is none, or it is an object of a test
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
