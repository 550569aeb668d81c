"""One worker object on each device of a pool, made, called and closed on its device's thread."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from ...errors import DeviceError, DeviceLost, PeerFailed
from ..device import Device
from ..monitor.timeline import exchanging
from .pool import Member

_ABORTED: Any = object()
W = TypeVar("W")
T = TypeVar("T")
P = ParamSpec("P")


class Communicator:
    """An exchange between the threads of several devices: each gives a value and gets those of all."""

    def __init__(self, size: int) -> None:
        self.size = size
        # Queues of its own for each pair wake a thread in a third of the time that a barrier takes.
        self._queues: list[list[SimpleQueue[Any]]] = [[SimpleQueue() for _ in range(size)] for _ in range(size)]

    def all_gather(self, rank: int, value: T) -> list[T]:
        """What every rank gives, in their order; returns when all have given theirs."""
        for receiver, queues in enumerate(self._queues):
            if receiver != rank:
                queues[rank].put(value)
        with exchanging():
            return [value if sender == rank else self._from(queue) for sender, queue in enumerate(self._queues[rank])]

    def _from(self, queue: SimpleQueue[T]) -> T:
        found = queue.get()
        if found is _ABORTED:
            queue.put(found)  # for whoever asks again
            raise PeerFailed("another device of the pool has failed")
        return found

    def abort(self) -> None:
        """End the waiting for a rank that has failed; see :meth:`WorkerGroup.on_failure`."""
        for queues in self._queues:
            for queue in queues:
                queue.put(_ABORTED)


class WorkerGroup(Generic[W]):
    """Typed workers, one on each member of a pool; a context manager that closes them.

    Methods are passed as functions of the worker's class (``group.each(Worker.step, 3)``), which keeps their types; a
    method that a worker's class overrides is called as overridden.

    If several members fail, the error that came first is raised, after all have ended. While one fails and another
    waits for it, the callbacks of :meth:`on_failure` end the waiting; the :class:`engine.errors.PeerFailed` that it
    ends with is raised only if there is no other error.

    Parameters
    ----------
    members : sequence of Member
    make : callable
        ``make(device, *arguments[i])`` makes the worker of member i, on its thread. A method ``close`` of the worker,
        if it has one, is called there at the end.
    arguments : sequence of tuple, optional
        For each member the further arguments of ``make``.
    tolerant : bool
        Raise :class:`engine.errors.DeviceLost` for a device that failed, for a solver that continues with the others
        (:meth:`drop_member`); otherwise the device's own error is raised.
    """

    def __init__(
        self,
        members: Sequence[Member],
        make: Callable[..., W],
        arguments: Sequence[tuple[Any, ...]] | None = None,
        *,
        tolerant: bool = False,
    ) -> None:
        self.members = list(members)
        self.failed = threading.Event()
        self._tolerant = tolerant
        self._lock = threading.Lock()
        self._errors: list[tuple[int, BaseException]] = []
        self._on_failure: list[Callable[[], None]] = []
        self._workers: dict[int, W] = {}
        given = arguments if arguments is not None else [()] * len(self.members)
        if len(given) != len(self.members):
            raise ValueError(f"{len(self.members)} workers need as many arguments; got {len(given)}")

        def build(device: Device, index: int) -> None:
            with self._reporting(index), device.released_on_error():
                self._workers[index] = make(device, *given[index])

        try:
            self.gather({index: member.submit(build, index) for index, member in enumerate(self.members)})
        except BaseException:
            self._close(quietly=True)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close(quietly=error is not None)

    def __len__(self) -> int:
        return len(self._workers)

    @property
    def alive(self) -> list[int]:
        """Indices of the members that have not been lost."""
        return sorted(self._workers)

    def worker(self, index: int) -> W:
        """The worker object of a member; only what its thread does not change may be read from elsewhere."""
        return self._workers[index]

    def on_failure(self, callback: Callable[[], None]) -> None:
        """Have something called as soon as a member fails, on that member's thread, such as ``Communicator.abort``."""
        self._on_failure.append(callback)

    def submit(
        self, index: int, method: Callable[Concatenate[W, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Call a method of one worker on its thread.

        Parameters
        ----------
        index : int
            The worker's member of the pool.
        method : callable
            A method of the worker's class, or of a base class, unbound.
        *args, **kwargs
            What it is called with.

        Returns
        -------
        Future
            Of what it returns.
        """
        worker = self._workers[index]

        def call(_: Device) -> T:
            with self._reporting(index):
                return _overridden(worker, method)(worker, *args, **kwargs)

        return self.members[index].submit(call)

    def each(self, method: Callable[Concatenate[W, P], T], /, *args: P.args, **kwargs: P.kwargs) -> list[T]:
        """Call a method of every worker with the same arguments; the results in order of the members.

        As :meth:`submit`, and waits.
        """
        futures = {i: self.submit(i, method, *args, **kwargs) for i in self.alive}
        return [result for _, result in sorted(self.gather(futures).items())]

    def map(self, method: Callable[..., T], arguments: Sequence[tuple[Any, ...] | None]) -> list[T | None]:
        """Call a method of each worker with arguments of its own.

        Parameters
        ----------
        method : callable
            A method of the worker's class, unbound.
        arguments : sequence of tuple or None
            One entry for each member of the pool, lost ones included; None leaves a member out, whose result is None.

        Returns
        -------
        list
            The results in order of the members.
        """
        futures = {i: self.submit(i, method, *given) for i in self.alive if (given := arguments[i]) is not None}
        results = self.gather(futures)
        return [results.get(i) for i in range(len(self.members))]

    def first(self, method: Callable[Concatenate[W, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a method of the first worker that is left.

        As :meth:`submit`, and waits.
        """
        index = self.alive[0]
        return self.gather({index: self.submit(index, method, *args, **kwargs)})[index]

    def drop_member(self, index: int) -> None:
        """Go on without a member: its worker is closed, if its device still lets it, and called no more."""
        worker = self._workers.pop(index)
        self.failed.clear()
        self.members[index].submit(lambda _: _closed(worker, quietly=True))

    @contextlib.contextmanager
    def _reporting(self, index: int) -> Iterator[None]:
        """Remember what fails first, and end the waiting of the others."""
        try:
            yield
        except BaseException as error:
            with self._lock:
                self._errors.append((index, error))
            self.failed.set()
            for callback in self._on_failure:
                callback()
            raise

    def gather(self, futures: dict[int, Future[T]]) -> dict[int, T]:
        """Results of :meth:`submit` by member, once all are done, with the group's rules for errors."""
        wait(futures.values())
        failed = {index for index, future in futures.items() if future.exception() is not None}
        if not failed:
            return {index: future.result() for index, future in futures.items()}
        with self._lock:
            errors, self._errors = self._errors, []
        errors = [(i, e) for i, e in errors if i in failed] or [(i, _error_of(futures[i])) for i in sorted(failed)]
        index, error = next(((i, e) for i, e in errors if not isinstance(e, PeerFailed)), errors[0])
        if self._tolerant and isinstance(error, DeviceError):
            results = {i: future.result() for i, future in futures.items() if i not in failed}
            raise DeviceLost(self.members[index].label, index, error, results) from error
        raise error

    def gather_counting(
        self, futures: dict[int, Future[T]], done: SimpleQueue[int], progress: Callable[[int], None]
    ) -> dict[int, T]:
        """As :meth:`gather`; meanwhile ``progress`` gets, on this thread, the sum of what workers put into ``done``."""
        for future in futures.values():
            future.add_done_callback(lambda _: done.put(0))
        total = 0
        while not all(future.done() for future in futures.values()) or not done.empty():
            total += done.get()
            progress(total)
        return self.gather(futures)

    def _close(self, *, quietly: bool) -> None:
        futures = [
            self.members[index].submit(lambda _, worker: _closed(worker, quietly), worker)
            for index, worker in sorted(self._workers.items())
        ]
        self._workers.clear()
        wait(futures)
        for future in futures:
            future.result()


def _error_of(future: Future[Any]) -> BaseException:
    error = future.exception()
    assert error is not None
    return error


def _overridden(worker: Any, method: Callable[..., T]) -> Callable[..., T]:
    """The worker's own version of a method of one of its bases; any other function as it is."""
    name = getattr(method, "__name__", "")
    own: Callable[..., T] | None = getattr(type(worker), name, None)
    inherited = any(vars(base).get(name) is method for base in type(worker).__mro__)
    return own if own is not None and inherited else method


def _closed(worker: Any, quietly: bool) -> None:
    close = getattr(worker, "close", None)
    if close is None:
        return
    try:
        close()
    except Exception:
        if not quietly:
            raise
