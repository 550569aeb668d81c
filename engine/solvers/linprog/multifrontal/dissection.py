"""METIS's order by a child process, which can be ended at any time."""

import contextlib
import threading
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..highs.process import ChildError, ChildProcess, give_back, is_ready, new_child
from . import orders

_ORDERED_HERE = 10_000  # entries of A A^T that METIS orders in some hundredths of a second, in which no thread goes on,
_ORDERED_UNLESS_READY = 100_000  # and in less time than a child takes to start


class Dissection:
    """Calls :func:`~engine.solvers.linprog.multifrontal.orders.nested_dissection` until it is closed."""

    def __init__(self) -> None:
        self.process: ChildProcess | None = None
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, m: int, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """The order of METIS, by a child process, which ends if the run does; here if there can be none."""
        self.require_going_on()
        if rows.size > (_ORDERED_HERE if is_ready(orders.__file__) else _ORDERED_UNLESS_READY):
            with contextlib.suppress(ChildError), self._child() as process:
                order = process.request("order", orders.__file__, "nested_dissection", m, rows, columns).result()
                return np.asarray(order)
            self.require_going_on()
        return orders.nested_dissection(m, rows, columns)

    @contextlib.contextmanager
    def _child(self) -> Iterator[ChildProcess]:
        """A child process that :meth:`close` ends; kept for the next run if it has done its work."""
        process = new_child(orders.__file__)
        try:
            with self._lock:
                self.require_going_on()
                self.process = process
            yield process
        except BaseException:
            process.close()
            raise
        with self._lock:
            self.process = None
        give_back(process, orders.__file__)

    def require_going_on(self) -> None:
        """Do nothing, unless it has been closed."""
        if self._closed.is_set():
            raise ChildError("the run has ended")

    @property
    def is_closed(self) -> bool:
        """Whether the run has ended."""
        return self._closed.is_set()

    def close(self) -> None:
        """End what is at work; called from any thread."""
        with self._lock:
            self._closed.set()
            process = self.process
        if process is not None:
            process.close()
