"""Work on many programs that several threads share, a chunk of programs each time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ....devices.host import host_cores
from ....numerics.blas_threads import one_thread

__all__ = ["by_chunks", "places"]

T = TypeVar("T")
_CHUNK = 1 << 17  # numbers of each array in a chunk: they stay in a core's cache
_MOST_THREADS = 8


def by_chunks(function: Callable[[slice], T], count: int, numbers: int) -> list[T]:
    """What a function returns for each chunk of programs, in order."""
    step = max(1, _CHUNK // max(1, numbers))
    chunks = [slice(begin, min(begin + step, count)) for begin in range(0, count, step)]
    workers = min(_MOST_THREADS, host_cores(), len(chunks))
    with one_thread():
        if workers <= 1:
            return [function(chunk) for chunk in chunks]
        with ThreadPoolExecutor(workers) as threads:
            return list(threads.map(function, chunks))


def places(chosen: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """The same places as a slice if they follow each other: nothing is copied then.

    Parameters
    ----------
    chosen : ndarray of int, shape (count,)
    """
    first, last = (int(chosen[0]), int(chosen[-1])) if chosen.size else (0, -1)
    return slice(first, last + 1) if last - first + 1 == chosen.size and (np.diff(chosen) == 1).all() else chosen
