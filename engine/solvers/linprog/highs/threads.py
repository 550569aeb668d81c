"""HiGHS in threads of this process. Its calls release the interpreter's lock; not all of them can be stopped."""

import atexit
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
_WAIT_SECONDS = 0.02
_LAST_WAIT = 10.0  # seconds that the end of the program waits for a call that nobody waits for any more


def start_thread(function: Callable[[], T]) -> Future[T]:
    """Call a function in a thread that may be abandoned; NumPy treats floating-point errors as here."""
    future: Future[T] = Future()
    float_errors = np.geterr()

    def run() -> None:
        try:
            with np.errstate(**float_errors):
                found = function()
        except BaseException as error:  # raised where the future is waited for
            future.set_exception(error)
        else:
            future.set_result(found)

    thread = threading.Thread(target=run, name="quintet-highs", daemon=True)
    thread.start()
    atexit.register(thread.join, _LAST_WAIT)  # libraries are unloaded only when it has ended
    future.add_done_callback(lambda _: atexit.unregister(thread.join))
    return future


def call_in_thread(function: Callable[[], T], poll: Callable[[], None], stop: Callable[[], None] = lambda: None) -> T:
    """Call a function in a thread and wait; if ``poll`` raises meanwhile, ``stop`` is called and it is abandoned."""
    future = start_thread(function)
    try:
        return wait_for(future, poll)
    except BaseException:
        stop()
        raise


def wait_for(future: Future[T], poll: Callable[[], None]) -> T:
    """The result of a future; ``poll`` is called meanwhile, and may raise."""
    while not future.done():
        poll()
        wait([future], timeout=_WAIT_SECONDS)
    return future.result()


class _KeptThread:
    """A thread for short calls, kept from one to the next: for each thread that calls it, HiGHS starts several more."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._free = threading.Lock()  # released by the thread
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self, function: Callable[[], T]) -> Future[T]:
        """Call a function in the thread, or in another one if it is busy."""
        if self._process != os.getpid():  # threads do not outlive a fork
            self.__init__()  # type: ignore[misc]
        if not self._free.acquire(blocking=False):
            return start_thread(function)
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="quintet-highs-kept", daemon=True)
            self._thread.start()
            atexit.register(self._end)
        future: Future[T] = Future()
        self._calls.put((function, future))
        return future

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            function, future = call
            try:
                found = function()
            except BaseException as error:  # raised where the future is waited for
                self._free.release()
                future.set_exception(error)
            else:
                self._free.release()
                future.set_result(found)
            del call, function, future  # nothing of the last call is kept

    def _end(self) -> None:
        if self._process == os.getpid() and self._thread is not None:
            self._calls.put(None)
            self._thread.join(_LAST_WAIT)


start_in_kept_thread = _KeptThread().start
"""Call a function that takes little time in a thread that is kept, or in a new one while that is busy."""
