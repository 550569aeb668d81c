"""Playing a recorded run again: the same events, to the same kind of observers, at the pace they came."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Literal

from engine.events import Event, Notice, Started, StateChanged
from engine.run import Observer

__all__ = ["Replay"]


class Replay:
    """A recorded run that can be paused, resumed and stopped like a live one.

    Parameters
    ----------
    events : iterable of Event
        In the order they were recorded. There is no wait before one that begins a sitting.
    observers : sequence of callables
        Called with each event, on the thread that calls :meth:`play`.
    speed : float
        1 is as it was, 2 twice as fast; 0 or infinity is at once.
    """

    def __init__(self, events: Iterable[Event], observers: Sequence[Observer], speed: float = 1.0) -> None:
        self._events = events
        self._observers = list(observers)
        self._seconds_per_second = 0.0 if speed == 0 or math.isinf(speed) else 1 / speed
        self._control = threading.Condition()
        self._asides: deque[Event] = deque()
        self._paused = False
        self._stopped = False
        self._now = 0.0

    def play(self) -> None:
        """Show every event; returns after the last, or when stopped."""
        clock = -math.inf
        for event in self._events:
            begins = isinstance(event, Started) or clock == -math.inf
            pause = 0.0 if begins else max(0.0, event.time - clock) * self._seconds_per_second
            clock = event.time if begins else max(clock, event.time)
            if not self._wait(pause):
                break
            self._now = event.time
            self._tell(event)
        self._tell_asides()

    def _wait(self, seconds: float) -> bool:
        """Let the time pass, pauses left out; whether to go on."""
        with self._control:
            while not self._stopped:
                self._tell_asides()
                began = time.monotonic()
                if self._paused:
                    self._control.wait()
                elif seconds <= 0:
                    return True
                else:
                    self._control.wait(seconds)
                    seconds -= time.monotonic() - began
            return False

    def _tell_asides(self) -> None:
        while self._asides:
            self._tell(self._asides.popleft())

    def _tell(self, event: Event) -> None:
        for observer in self._observers:
            observer(event)

    def pause(self) -> None:
        """Hold on."""
        with self._control:
            if not self._paused and not self._stopped:
                self._paused = True
                self._put_in(StateChanged(time=self._now, state="paused"))

    def resume(self) -> None:
        """Go on."""
        with self._control:
            if self._paused and not self._stopped:
                self._paused = False
                self._put_in(StateChanged(time=self._now, state="running"))

    def stop(self) -> None:
        """Show no more."""
        with self._control:
            self._stopped = True
            self._control.notify_all()

    def notice(self, message: str, level: Literal["info", "warning"] = "info") -> None:
        """Put a remark among the events."""
        with self._control:
            self._put_in(Notice(time=self._now, level=level, message=message))

    def _put_in(self, event: Event) -> None:
        """For the thread that plays to tell; never told here, which may be in the middle of telling another."""
        self._asides.append(event)
        self._control.notify_all()
