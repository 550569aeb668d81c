"""The number of threads that the BLAS libraries of the process use.

OpenBLAS wakes its threads even for vectors of ten numbers, and they spin for a while afterwards: on a busy machine what
takes a microsecond in one thread takes milliseconds in two.
"""

import contextlib
import functools
import sys
import threading
from types import SimpleNamespace
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> contextlib.AbstractContextManager[None]:
    """BLAS with one thread, in all threads of the process while any of them is inside; for many small operations."""
    return _ONE


def all_threads() -> contextlib.AbstractContextManager[None]:
    """BLAS with all its threads again, whoever is inside :func:`one_thread`; for a large operation."""
    return _ALL


class _Threads:
    """The threads of one library.

    threadpoolctl lets the first thread that asks set the number, and ignores all others, because they would restore
    each other's; here those who want one thread are counted. Libraries that use OpenMP count for each thread.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        self._release = getattr(library, "clear_controlling_thread", lambda force: None)
        self._lock = threading.Lock()
        self._state: Any = (
            threading.local() if getattr(library, "threading_layer", "") == "openmp" else SimpleNamespace()
        )

    def add(self, ones: int, alls: int) -> None:
        """So many more want one thread, or all."""
        with self._lock:
            state = self._state
            before = getattr(state, "ones", 0), getattr(state, "alls", 0)
            state.ones, state.alls = before[0] + ones, before[1] + alls
            was, now = (wanted > 0 and not unwanted for wanted, unwanted in (before, (state.ones, state.alls)))
            if now and not was:
                state.count = self._library.get_num_threads()
            if now != was and state.count > 1:
                self._release(force=True)
                self._library.set_num_threads(1 if now else state.count)
                self._release(force=True)


_FOUND: dict[str, _Threads] = {}  # by the file


@functools.cache
def _libraries(with_scipy: bool) -> tuple[_Threads, ...]:
    """The BLAS libraries of the process; SciPy brings one of its own."""
    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        _FOUND.setdefault(library.filepath, _Threads(library))
    return tuple(_FOUND.values())


class _Wish(contextlib.AbstractContextManager[None]):
    """Counted while it is entered; threadpoolctl's own context takes ten times as long."""

    def __init__(self, ones: int, alls: int) -> None:
        self._ones, self._alls = ones, alls
        self._entered = threading.local()

    def __enter__(self) -> None:
        libraries = _libraries("scipy.linalg._fblas" in sys.modules)
        self._entered.__dict__.setdefault("stack", []).append(libraries)
        for library in libraries:
            library.add(self._ones, self._alls)

    def __exit__(self, *_: object) -> None:
        for library in self._entered.stack.pop():
            library.add(-self._ones, -self._alls)


_ONE, _ALL = _Wish(1, 0), _Wish(0, 1)
