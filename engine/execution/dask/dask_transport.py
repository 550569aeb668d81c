"""Tasks of runs as tasks of Dask: submitted without a choice of worker, answers and reports in one queue."""

import contextlib
import itertools
import pickle
import queue
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from distributed import Client, Future, KilledWorker, as_completed
from typing_extensions import override

from ...errors import AuditError, ClusterError, DeviceError, InputError, ProblemError, QuintetError
from .transport import Answered, Left, Lost, Message, Reported, Transport
from .worker import compute, control

_ALIVE_INTERVAL = 1.0
_AVOIDED_SECONDS = 60.0
_RECONNECT_SECONDS = 20.0
_CANDIDATES = 64


class Roster:
    """The workers of a cluster as they come and go; kept up to date by a thread.

    ``wanted``: versions that workers must have; ``describe``: ``describe(addresses)`` asks workers for their
    descriptions; ``replace``: ``replace(count)`` is called about once a second with the number of workers that are
    there; it starts new ones for those that ended, if the cluster was started by this process. ``known``: descriptions
    of workers by address, as :class:`engine.execution.dask.worker.SessionPlugin` makes them; ``departed``: labels of
    the workers that are not there any more, in the order in which that was seen; it only grows.
    """

    def __init__(
        self,
        client: Client,
        wanted: dict[str, str],
        describe: Callable[[list[str]], dict[str, Any]],
        replace: Callable[[int], None] = lambda count: None,
    ) -> None:
        self._client, self._wanted, self._describe, self._replace = client, wanted, describe, replace
        self.known: dict[str, dict[str, Any]] = {}
        self.departed: list[str] = []
        self._alive: set[str] = set()
        self._avoided: dict[str, float] = {}
        self._usable: dict[str, str] | None = None
        self._excludes_some = False
        self._lost_since: float | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="quintet-cluster-roster", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()

    def describe(self, address: str, description: dict[str, Any]) -> None:
        with self._lock:
            self.known[address] = description
            self._alive.add(address)
            self._avoided.pop(address, None)
            self._usable = None

    def fault_of(self, description: dict[str, Any]) -> str:
        """Why a worker cannot be used; empty if it can."""
        if not description["versions"]:
            return str(description["fault"])
        for name, wanted in self._wanted.items():
            found = description["versions"].get(name)
            if found != wanted:
                return f"it has {name} {found}, and this process {wanted}"
        return str(description["fault"])

    def usable(self) -> dict[str, str]:
        """Labels by address of the workers that are there and can be used; not to be changed."""
        with self._lock:
            return self._sorted_out()

    def candidates(self) -> list[str] | None:
        """Addresses that a task may go to without some workers that are there, of many a few at random; else None."""
        with self._lock:
            addresses = list(self._sorted_out())
            if not self._excludes_some or not addresses:
                return None
            return random.sample(addresses, min(len(addresses), _CANDIDATES))

    def _sorted_out(self) -> dict[str, str]:
        """What :meth:`usable` returns, kept until a worker comes, goes, or is avoided; called with the lock."""
        if self._usable is None:
            able = {
                address: str(description["label"])
                for address, description in self.known.items()
                if address in self._alive and not self.fault_of(description)
            }
            trusted = {address: label for address, label in able.items() if address not in self._avoided}
            unknown = sum(address not in self.known for address in self._alive)
            self._usable = trusted or able
            self._excludes_some = len(trusted) + unknown < len(self._alive)
        return self._usable

    def avoid(self, label: str) -> None:
        """Use a worker no more before it is heard of, or some time has passed."""
        with self._lock:
            until = time.monotonic() + _AVOIDED_SECONDS
            self._avoided |= {address: until for address, found in self.known.items() if found["label"] == label}
            self._usable = None

    def heard(self, label: str) -> None:
        """A worker is alive."""
        if self._avoided:
            with self._lock:
                for address, found in self.known.items():
                    if found["label"] == label:
                        self._avoided.pop(address, None)
                self._usable = None

    def require_connection(self) -> None:
        """:class:`engine.errors.ClusterError` if the scheduler has not answered for some time."""
        if self._client.status == "closed":
            raise ClusterError("the connection to the scheduler is lost")
        since = self._lost_since
        if since is not None and time.monotonic() - since > _RECONNECT_SECONDS:
            raise ClusterError(f"the scheduler has not answered for {time.monotonic() - since:.0f} s")

    def _watch(self) -> None:
        while not self._closing.wait(_ALIVE_INTERVAL):
            try:
                if self._client.status != "running":
                    raise OSError("not connected")
                alive = set(self._client.nthreads())
                unknown = self._update(alive)
                self._lost_since = None
                self._replace(len(alive))
                if unknown:  # they have come while nobody listened
                    self._ask(unknown)
            except Exception:
                self._lost_since = self._lost_since or time.monotonic()

    def _update(self, alive: set[str]) -> list[str]:
        """Take over which workers are there; returns those that have not described themselves."""
        with self._lock:
            for address in set(self.known) - alive - self._alive:  # gone, and not described since the last look
                del self.known[address]
            self.departed += [str(self.known[one]["label"]) for one in self._alive - alive if one in self.known]
            now = time.monotonic()
            avoided = {one: until for one, until in self._avoided.items() if one in alive and now < until}
            if alive != self._alive or len(avoided) != len(self._avoided):
                self._usable = None
            self._alive, self._avoided = alive, avoided
            return sorted(alive - set(self.known))

    def _ask(self, addresses: list[str]) -> None:
        """Ask workers what they have; those that do not answer are asked again later."""
        with contextlib.suppress(Exception):
            for address, found in self._describe(addresses).items():
                if isinstance(found, dict):
                    self.describe(address, found)


class DaskTransport(Transport):
    """The way to the workers of one run; see :class:`engine.execution.dask.transport.Transport`."""

    def __init__(self, client: Client, session: str, run: str, roster: Roster, interval: float) -> None:
        self.interval = interval
        self._client, self._session, self._run, self._roster = client, session, run, roster
        self._departed = len(roster.departed)
        self._queue: queue.Queue[Message] = queue.Queue()
        self._futures: dict[int, list[Future]] = {}
        self._numbers: dict[str, int] = {}
        self._attempts: dict[int, int] = {}
        self._keys = itertools.count()
        self._done = as_completed([], loop=client.loop, with_results=True, raise_errors=False)
        self._closed = threading.Event()
        self._submitted = threading.Event()
        self._pump = threading.Thread(target=self._collect, name="quintet-cluster-answers", daemon=True)
        self._pump.start()

    def close(self) -> None:
        self._closed.set()
        self._submitted.set()
        for number in list(self._futures):
            self.forget(number)

    @override
    def workers(self) -> list[str]:
        return list(self._roster.usable().values())

    @override
    def submit(self, number: int, work: Any, seconds: float, shared: Any) -> None:
        attempt = self._attempts[number] = self._attempts.get(number, 0) + 1
        key = f"quintet-{self._run}-{number}-{attempt}-{next(self._keys)}"
        addresses = self._roster.candidates()
        arguments = (self._session, self._run, number, pickle.dumps(work), seconds, shared)
        try:
            future = self._client.submit(compute, *arguments, key=key, pure=False, workers=addresses)
        except Exception as error:
            self._queue.put(Lost(number, error, fault=False))
            return
        self._numbers[key] = number
        self._futures.setdefault(number, []).append(future)
        self._done.add(future)
        self._submitted.set()

    @override
    def messages(self, timeout: float) -> list[Message]:
        found: list[Message] = []
        with contextlib.suppress(queue.Empty):
            found.append(self._queue.get(timeout=timeout))
            while True:
                found.append(self._queue.get_nowait())
        departed = self._roster.departed[self._departed :]
        self._departed += len(departed)
        found += map(Left, departed)
        self._roster.require_connection()
        return found

    def reported(self, event: dict[str, Any]) -> None:
        """A report has come; on the client's thread."""
        self._roster.heard(event["label"])
        self._queue.put(Reported(int(event["number"]), event["label"], dict(event["values"])))

    @override
    def share(self, value: Any) -> None:
        self._report([], value, True)

    @override
    def end(self, numbers: list[int]) -> None:
        if numbers:
            self._report(numbers, None, False)

    def _report(self, numbers: list[int], shared: Any, has_shared: bool) -> None:
        """Call :func:`control` on every worker, on a thread of its own: a frozen worker does not answer."""

        def call() -> None:
            with contextlib.suppress(Exception):
                self._client.run(control, self._session, self._run, numbers, shared, has_shared, on_error="ignore")

        threading.Thread(target=call, name="quintet-cluster-control", daemon=True).start()

    @override
    def forget(self, number: int) -> None:
        self._attempts.pop(number, None)
        for future in self._futures.pop(number, []):
            self._numbers.pop(future.key, None)
            with contextlib.suppress(Exception):
                future.cancel(reason="answered")

    @override
    def avoid(self, worker: str) -> None:
        self._roster.avoid(worker)

    # --- the thread that collects answers -------------------------------------------------------------------------

    def _collect(self) -> None:
        while not self._closed.is_set():
            self._submitted.clear()
            try:
                future, result = next(self._done)
            except StopIteration:  # nothing is out
                self._submitted.wait(_ALIVE_INTERVAL)
                continue
            except Exception:
                if self._closed.wait(0.1):
                    return
                continue
            number = self._numbers.get(future.key)
            if number is not None:
                self._queue.put(self._message(number, future, result))

    def _message(self, number: int, future: Future, result: Any) -> Message:
        if future.status == "finished" and isinstance(result, dict):
            worker = str(result["worker"])
            if "answer" in result:
                return Answered(number, worker, result["answer"], float(result["seconds"]))
            return Lost(number, _error_of(result), fault="kind" in result, worker=worker)
        error = result[1] if isinstance(result, tuple) and len(result) > 1 else result
        if isinstance(error, KilledWorker):
            return Lost(number, ClusterError("its workers were lost"), fault=False)
        if not isinstance(error, Exception):
            error = ClusterError(f"the task was {future.status}")
        is_fault = future.status == "error"
        return Lost(number, error if isinstance(error, QuintetError) else ClusterError(str(error)), fault=is_fault)


def _error_of(result: dict[str, Any]) -> Exception:
    kinds = {kind.__name__: kind for kind in (AuditError, DeviceError, InputError, ProblemError)}
    kind = kinds.get(result.get("kind", ""), DeviceError if result.get("device") else ClusterError)
    return kind(f"{result['error']} (on {result['worker']})")
