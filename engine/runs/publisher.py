"""Delivery of a run's events to its observers, on threads of their own, so that no observer slows the run.

The event log of the run folder has a queue and a thread for itself: whatever the other observers do, the events are
recorded. An observer that raises is reported to the others and not called again. One that does not return for
:data:`PATIENCE` seconds after the run's last event no longer delays the end.
"""

import contextlib
import logging
import queue
import threading
import time
import traceback
from collections.abc import Callable, Sequence

from ..errors import OptionError
from ..events import Event, Failed, Finished

Observer = Callable[[Event], None]

PATIENCE = 30.0
"""Seconds without progress after which the end of a run no longer waits for its observers."""

_LOG = logging.getLogger("quintet")
_HERE = threading.local()


def as_observers(on_event: Observer | Sequence[Observer] | None) -> list[Observer]:
    """The argument ``on_event`` as a list."""
    if on_event is None:
        return []
    found = [on_event] if callable(on_event) else on_event
    if not isinstance(found, Sequence) or not all(callable(observer) for observer in found):
        raise OptionError(f"on_event must be a callable, or a sequence of callables; got {on_event!r}")
    return list(found)


def works_for(turn: object) -> None:
    """Have this thread known as one that runs with this :attr:`Publisher.turn` need in order to end."""
    _HERE.turn = turn


def require_other_thread(turn: object) -> None:
    """``RuntimeError`` on a thread that works for a run: an observer's, or a solver's, with the user's functions."""
    if getattr(_HERE, "turn", None) is turn:
        raise RuntimeError(
            "an observer or a function of a problem cannot wait for a run of the engine that calls it, nor use or "
            "close that engine's devices: the run ends only after they have returned; another engine can be used there"
        )


class Publisher:
    """The observers of one run.

    ``observers``: called in turn with each event, on one thread; ``event_log``: called with each event on a thread of
    its own; ``report``: called when an observer has failed, with a message and whether the run's last event has been
    published: only if not may it publish an event about it. ``turn``: identifies the engine that the run belongs to;
    see :func:`require_other_thread`.
    """

    def __init__(
        self, observers: Sequence[Observer], event_log: Observer | None, report: Callable[[str, bool], None]
    ) -> None:
        groups = [[event_log]] if event_log is not None else []
        if observers:
            groups.append(list(observers))
        self.turn: object = None
        self._deliveries = [_Delivery(group, self, report) for group in groups]

    def __bool__(self) -> bool:
        """Whether there is an observer at all."""
        return bool(self._deliveries)

    def start(self) -> None:
        """Begin to deliver."""
        for delivery in self._deliveries:
            delivery.start()

    def publish(self, event: Event) -> None:
        """Hand an event to every observer; returns at once."""
        for delivery in self._deliveries:
            delivery.queue.put(event)

    def call_at(self, moment: float, function: Callable[[], None]) -> None:
        """Call a function once, on a thread of delivery, when ``time.monotonic()`` has come to ``moment``."""
        if self._deliveries:
            self._deliveries[0].call_at(moment, function)

    def close(self) -> None:
        """Wait until every observer has had every event, or makes no progress."""
        for delivery in self._deliveries:
            delivery.close()


class _Delivery:
    """One queue, its thread, and the observers that are called on it."""

    def __init__(self, observers: list[Observer], publisher: Publisher, report: Callable[[str, bool], None]) -> None:
        self.queue: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._observers = observers
        self._publisher = publisher
        self._report = report
        self._delivered = 0
        self._lock = threading.Lock()
        self._due: tuple[float, Callable[[], None]] | None = None
        self._thread = threading.Thread(target=self._deliver, name="quintet-events", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def call_at(self, moment: float, function: Callable[[], None]) -> None:
        with self._lock:
            self._due = (moment, function)

    def close(self) -> None:
        """Wait for the thread as long as it makes progress."""
        with self._lock:
            self._due = None
        if self._thread.ident is None:
            return
        self.queue.put(None)
        before = -1
        while self._thread.is_alive() and self._delivered != before:
            before = self._delivered
            self._thread.join(PATIENCE)
        if self._thread.is_alive():
            _LOG.warning(f"an observer has not returned for {PATIENCE:g} s; the run ends without it")

    def _next(self) -> Event | None:
        """The next event; what is due is called meanwhile."""
        while True:
            with self._lock:
                due = self._due
            if due is None:
                return self.queue.get()
            left = due[0] - time.monotonic()
            if left > 0:
                with contextlib.suppress(queue.Empty):
                    return self.queue.get(timeout=left)
            with self._lock:
                due, self._due = self._due, None
            if due is not None:
                due[1]()

    def _deliver(self) -> None:
        works_for(self._publisher.turn)
        while (event := self._next()) is not None:
            for observer in list(self._observers):
                try:
                    observer(event)
                except BaseException as error:  # SystemExit too: it must not end this thread
                    self._observers.remove(observer)
                    self._complain(event, error)
                self._delivered += 1

    def _complain(self, event: Event, error: BaseException) -> None:
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = (
            f"an observer failed and is not called again: {type(error).__name__}: {error} "
            f"({where.filename}, line {where.lineno})"
        )
        late = isinstance(event, (Finished, Failed))
        if late:
            _LOG.warning(message)
        self._report(message, late)
