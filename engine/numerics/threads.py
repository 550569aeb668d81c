"""Work that NumPy does without Python's lock, some parts ahead of who takes the results."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from ..devices.host import host_cores

_MOST_THREADS = 16

A = TypeVar("A")
R = TypeVar("R")


def in_order(function: Callable[[A], R], arguments: Iterable[A]) -> Iterator[R]:
    """``map``, by threads that are as many results ahead as there are threads."""
    count = min(_MOST_THREADS, host_cores())
    if count == 1:
        yield from map(function, arguments)
        return
    with ThreadPoolExecutor(count, "quintet-rows") as threads:
        ahead: deque[Future[R]] = deque()
        for argument in arguments:
            ahead.append(threads.submit(function, argument))
            if len(ahead) > count:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
