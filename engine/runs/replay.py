"""Replay of a recorded run: the same events, passed to the same kind of observers, at their original pace."""

import math
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Literal

from ..events import Event, Notice, Started, StateChanged
from .publisher import Observer

_LOOK_SECONDS = 0.2
"""After this time a waiting replay looks whether it was stopped: a signal just before the wait wakes nobody."""


class Replay:
    """A recorded run, controlled like a live one, at ``speed`` times its pace; 0 or infinity: at once."""

    def __init__(self, events: Iterable[Event], observers: Sequence[Observer], speed: float = 1.0) -> None:
        self._events = events
        self._observers = list(observers)
        self._seconds_per_second = 0.0 if speed == 0 or math.isinf(speed) else 1 / speed
        self._control = threading.Condition()
        self._inserted: deque[Event] = deque()
        self._paused = False
        self._stopped = False
        self._now = 0.0

    def play(self) -> None:
        """Pass every event to the observers; returns after the last one, or when stopped."""
        clock = -math.inf
        for event in self._events:
            begins = isinstance(event, Started) or clock == -math.inf
            pause = 0.0 if begins else max(0.0, event.time - clock) * self._seconds_per_second
            clock = event.time if begins else max(clock, event.time)
            if not self._wait(pause):
                break
            self._now = event.time
            self._emit(event)
        self._emit_inserted()

    def _wait(self, seconds: float) -> bool:
        """Wait, not counting pauses; returns False if the replay was stopped."""
        with self._control:
            while not self._stopped:
                self._emit_inserted()
                began = time.monotonic()
                if self._paused:
                    self._control.wait(_LOOK_SECONDS)
                elif seconds <= 0:
                    return True
                else:
                    self._control.wait(min(seconds, _LOOK_SECONDS))
                    seconds -= time.monotonic() - began
            return False

    def _emit_inserted(self) -> None:
        while self._inserted:
            self._emit(self._inserted.popleft())

    def _emit(self, event: Event) -> None:
        for observer in self._observers:
            observer(event)

    def pause(self) -> None:
        """Pause the replay."""
        with self._control:
            if not self._paused and not self._stopped:
                self._paused = True
                self._insert(StateChanged(time=self._now, state="paused"))

    def resume(self) -> None:
        """Continue after a pause."""
        with self._control:
            if self._paused and not self._stopped:
                self._paused = False
                self._insert(StateChanged(time=self._now, state="running"))

    def stop(self) -> None:
        """End the replay."""
        with self._control:
            self._stopped = True
            self._control.notify_all()

    def notice(self, message: str, level: Literal["info", "warning"] = "info") -> None:
        """Insert a notice among the events."""
        with self._control:
            self._insert(Notice(time=self._now, level=level, message=message))

    def _insert(self, event: Event) -> None:
        """Queue an event for the thread that plays: this one may interrupt it in the middle of another event."""
        self._inserted.append(event)
        self._control.notify_all()
