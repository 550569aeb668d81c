"""The number of threads that the BLAS libraries of the process use."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["OneThread"]


@functools.cache
def _libraries() -> list[Any]:
    """The BLAS libraries of the process; to be asked for once SciPy's is loaded."""
    found: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return found


class OneThread(contextlib.AbstractContextManager[None]):
    """Lets the BLAS libraries of the process use one thread; threadpoolctl's own context takes ten times as long.

    It may be entered again inside, which does nothing.
    """

    def __init__(self) -> None:
        self._libraries = _libraries()
        self._before: list[int] = []
        self._depth = 0

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._before = [library.get_num_threads() for library in self._libraries]
            self._set([1] * len(self._before))

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._set(self._before)

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """All threads again for a while, if they were taken."""
        inside, self._depth = self._depth, 0
        if inside:
            self._set(self._before)
        try:
            yield
        finally:
            self._depth = inside
            if inside:
                self._set([1] * len(self._before))

    def _set(self, counts: list[int]) -> None:
        for library, count, before in zip(self._libraries, counts, self._before, strict=True):
            if before > 1:
                library.set_num_threads(count)
