"""A solver's call on a thread of its own, so that a run can end on time while the solver cannot be interrupted.

A kernel that is being compiled, a first launch, a factorisation or a pass of the host over the data ends when it ends.
A run whose time is over waits a moment for the solver to notice; then it returns what it knows, and the thread is left
to end by itself: the next run of the engine begins once it has, and so does the end of the process.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")

GRACE = 0.2
"""Seconds, and seconds of the process's CPU time, that a solver has to notice that its run must end."""

SAVING_GRACE = 1.0
"""The same for one that has noticed it, and saves what it has in a run folder."""

LONGEST_GRACE = 5.0
"""Seconds, on a machine that gives the process less CPU time."""

OFFERED_GRACE = 0.4
"""The same where the solver has offered what it knows, and nothing is to be saved."""


class Attempt(Generic[T]):
    """A call on a thread of its own, where ``at_end`` is called when ``future``, of what it returns, is done."""

    def __init__(self, function: Callable[[], T], at_end: Callable[[], None]) -> None:
        self.future: Future[T] = Future()
        self._function, self._at_end = function, at_end
        self._thread = threading.Thread(target=self._work, name="quintet-solver", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self.future.set_result(self._function())
        except BaseException as error:  # raised where the future is asked
            self.future.set_exception(error)
        finally:
            self._at_end()

    @property
    def is_current(self) -> bool:
        """Whether this is the thread of the function."""
        return threading.current_thread() is self._thread


def is_overdue(overdue: float, cpu: float, patience: float = GRACE) -> bool:
    """Whether a solver that has not returned is left."""
    return overdue >= patience and (cpu >= patience or overdue >= max(patience, LONGEST_GRACE))
