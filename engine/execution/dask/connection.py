"""A connection to a cluster: by address, client, number of local processes, or a file; and what its workers have."""

import contextlib
import itertools
import os
import pickle
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from distributed import Client

from ...devices import DeviceInfo
from ...errors import ClusterError, InputError
from ...util.files import reason_of
from ...util.version import version
from ..hosts import saved_clusters
from . import jobs
from .dask_transport import DaskTransport, Roster
from .worker import RunPlugin, SessionPlugin, label_of, session_name, versions

_CONNECT_SECONDS = 15.0
_ANSWER_SECONDS = 60.0
_PROBLEM_SECONDS = 15.0
_LEAVE_SECONDS = 5.0
_START_SECONDS = 60.0
_REPORTS_A_SECOND = 200
_ATTEMPTS = 10
_INSTALL = f"install Quintet {version()} there"


@dataclass(frozen=True)
class WorkerInfo:
    label: str
    address: str
    host: str
    devices: tuple[DeviceInfo, ...]  # those that it computes on
    versions: dict[str, str]
    fault: str  # why it cannot be used; empty if it can

    @property
    def device_names(self) -> str:
        return ", ".join(info.name for info in self.devices)


class Connection:
    """A session with a cluster: its client, and the plugin that opens the devices of every worker.

    ``given``: ``tcp://HOST:PORT``, ``tls://HOST:PORT``, ``local:N``, the path of a TOML file, the name of one in the
    user's configuration folder (``clusters/NAME.toml``), or a client; ``backend``, ``devices``: for every worker,
    instead of its own configuration. The workers of ``local:N`` share the devices in turn. ``must_be_usable``: whether
    :meth:`require_usable` is called; without, the workers are known, and why they cannot be used.
    """

    def __init__(
        self, given: Any, backend: str | None = None, devices: Sequence[str] | None = None, must_be_usable: bool = True
    ) -> None:
        self.session = uuid.uuid4().hex[:12]
        self.warnings: list[str] = []
        self._start_seconds = _START_SECONDS
        self._closing = contextlib.ExitStack()
        self._forgetting: list[threading.Thread] = []
        self._transports: dict[str, DaskTransport] = {}
        self._numbers = itertools.count()
        if isinstance(given, str) and given in (saved := saved_clusters()):
            given = saved[given]
        try:
            self.client = self._connect(given)
            own: Any = None if devices is None else list(devices)
            if _is_local(given):
                own = _in_turn(backend, devices, _count_of(given))
            replace = getattr(self.client.cluster, "replacement", lambda count: None)
            self._roster = Roster(self.client, versions(), self._descriptions, replace)
            self._interval = max(1.0, len(self.client.nthreads()) / _REPORTS_A_SECOND)
            self._require_scheduler()
            self._join(SessionPlugin(self.session, backend, own, self._interval))
            if must_be_usable:
                self.require_usable()
            self._roster.start()
            self._closing.callback(self._roster.close)
        except BaseException:
            self._closing.close()
            raise

    def close(self) -> None:
        """End the session; a client that was given stays open."""
        self._closing.close()

    # --- connecting -----------------------------------------------------------------------------------------------

    def _connect(self, given: Any) -> Client:
        if isinstance(given, Client):
            if given.asynchronous:
                raise InputError("the client is asynchronous; a cluster takes one made without asynchronous=True")
            if given.status != "running":
                raise ClusterError(f"the client is not connected: its status is {given.status}")
            self._note_security(given.scheduler.address, may_be_open=True)
            return given
        insecure = os.environ.get("QUINTET_INSECURE", "") not in ("", "0")
        if isinstance(given, Path) or (isinstance(given, str) and given.endswith(".toml")):
            target: Any = jobs.open_cluster(Path(given), self._closing, insecure)
            insecure = insecure or jobs.read_file(Path(given)).insecure
        elif _is_local(given):
            target = jobs.local_cluster(_count_of(given), self._closing)
        elif isinstance(given, str) and "://" in given:
            target = given
        else:
            raise InputError(
                "a cluster must be tcp://HOST:PORT, tls://HOST:PORT, local:N, a TOML file, the name of a saved one, "
                f"or a client; got {given!r}{_as_address(given)}"
            )
        if isinstance(target, str):
            _require_reachable(target)
            self._note_security(target, may_be_open=insecure)
        try:
            client = Client(target, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
            raise ClusterError(f"cannot connect to the scheduler {target}: {_reason(error)}") from error
        self._closing.callback(_quietly, lambda: client.close(timeout=5))
        if client.cluster is not None:
            self._await_first(client, getattr(target, "wait_seconds", None))
        return client

    def _await_first(self, client: Client, job_seconds: float | None) -> None:
        """Wait for the first worker of a cluster that was started here: that of a job so many seconds."""
        if job_seconds is not None:
            self._start_seconds = job_seconds
            self._note_security(client.scheduler.address, may_be_open=True, is_open=True)
        try:
            client.wait_for_workers(1, timeout=self._start_seconds)
        except TimeoutError as error:
            if job_seconds is not None:
                raise ClusterError(
                    f"no job has started in {job_seconds:.0f} s; the cluster's file can set a longer `wait`"
                ) from error

    def _note_security(self, address: str, may_be_open: bool, is_open: bool = False) -> None:
        """Refuse a connection that is not encrypted and leaves this host, or warn of it where it is allowed."""
        parts = urlsplit(address)
        if parts.scheme in ("tls", "inproc") or (not is_open and _is_here(parts.hostname or "")):
            return
        danger = (
            f"the connection to {address} is not encrypted, and anyone who can reach that address can execute code on "
            "the cluster and on this computer; configure TLS and use a tls:// address"
        )
        if not may_be_open:
            raise InputError(
                f"{danger}, or allow it: insecure = true in a cluster's file, --insecure, QUINTET_INSECURE=1"
            )
        self.warnings.append(danger)

    def _join(self, plugin: SessionPlugin) -> None:
        """Register the plugin, and learn what every worker has."""
        self.client.subscribe_topic(session_name(self.session), self._event)
        self._closing.callback(_quietly, lambda: self.client.unsubscribe_topic(session_name(self.session)))
        self._closing.callback(_quietly, lambda: self._timely(self._leave, _LEAVE_SECONDS))
        self._closing.callback(self._await_forgetting)
        try:
            try:
                self._register(plugin, _ANSWER_SECONDS)
            except Exception as error:
                if not _lacks_quintet(error):
                    raise
                self._describe_those_without()
            found = self._descriptions([], _ANSWER_SECONDS)
        except TooLate as error:
            if self._roster.known:  # those that are not frozen have described themselves
                self.warnings.append(f"some workers of the cluster have not answered for {_ANSWER_SECONDS:.0f} s")
                return
            raise ClusterError(f"the workers of the cluster have not answered for {_ANSWER_SECONDS:.0f} s") from error
        except Exception as error:
            raise ClusterError(f"the cluster cannot be used: {_reason(error)}") from error
        for address, description in found.items():
            self._roster.describe(address, description)

    def _require_scheduler(self) -> None:
        """ClusterError for a scheduler, which unpickles tasks, that has other versions or no Quintet."""
        where = f"the scheduler at {self.client.scheduler.address}"
        try:
            found = self._timely(lambda: self.client.run_on_scheduler(versions), _ANSWER_SECONDS)
        except TooLate as error:
            raise ClusterError(f"{where} has not answered for {_ANSWER_SECONDS:.0f} s") from error
        except Exception as error:
            if not _lacks_quintet(error):
                raise ClusterError(f"{where} cannot be used: {_reason(error)}") from error
            raise ClusterError(f"{where} cannot be used: {_without_quintet(error)}; {_INSTALL}") from error
        for name, value in versions().items():
            if found.get(name) != value:
                fault = f"it has {name} {found.get(name)}, and this process {value}"
                raise ClusterError(f"{where} cannot be used: {fault}; use the same versions")

    def _describe_those_without(self) -> None:
        """Take workers that cannot import Quintet, and so cannot describe themselves, into the roster."""
        answers = self._timely(lambda: self.client.run(versions, on_error="return"), _ANSWER_SECONDS)
        names = {address: one["name"] for address, one in self.client.scheduler_info(n_workers=-1)["workers"].items()}
        for address, answer in answers.items():
            if isinstance(answer, BaseException) and _lacks_quintet(answer):
                description: dict[str, Any] = {
                    "label": label_of(names.get(address, address)),
                    "host": urlsplit(address).hostname or "",
                    "versions": {},
                    "devices": b"",
                    "fault": _without_quintet(answer),
                }
                self._roster.describe(address, description)
        deadline = time.monotonic() + _PROBLEM_SECONDS  # the scheduler has not waited for the other workers
        while set(answers) - set(self._roster.known) and time.monotonic() < deadline:
            time.sleep(0.1)

    def _descriptions(self, addresses: list[str], seconds: float = _PROBLEM_SECONDS) -> dict[str, Any]:
        """What workers have, by address; those that do not answer are left out."""

        def ask() -> Any:
            return self.client.run(_describe, self.session, workers=addresses or None, on_error="ignore")

        found: dict[str, Any] = self._timely(ask, seconds)
        return {address: description for address, description in found.items() if description is not None}

    def _forget_later(self, name: str) -> None:
        """Unregister a plugin without waiting for workers that may be frozen; :meth:`close` waits a little."""
        thread = threading.Thread(
            target=_quietly, args=(lambda: self.client.unregister_worker_plugin(name),), daemon=True
        )
        thread.start()
        self._forgetting = [*(one for one in self._forgetting if one.is_alive()), thread]

    def _await_forgetting(self) -> None:
        deadline = time.monotonic() + _LEAVE_SECONDS
        for thread in self._forgetting:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _register(self, plugin: Any, seconds: float) -> None:
        """Register a plugin; once more if a worker is lost meanwhile."""
        for attempt in range(_ATTEMPTS):
            try:
                self._timely(lambda: self.client.register_plugin(plugin), seconds)
                return
            except TooLate:
                raise
            except OSError:  # of the connection to a worker
                if attempt == _ATTEMPTS - 1 or self.client.status != "running":
                    raise
                time.sleep(0.5)

    def _leave(self) -> None:
        self.client.unregister_worker_plugin(session_name(self.session))

    def _timely(self, call: Callable[[], Any], seconds: float) -> Any:
        """The result of a call that may never return; TimeoutError after so many seconds."""
        with _threads() as threads:
            return threads.submit(call).result(timeout=seconds)

    def require_usable(self) -> None:
        """Refuse a cluster without usable workers, or with workers of other versions."""
        workers = self.workers
        if not workers:
            raise ClusterError("the cluster has no workers; start some (dask worker ADDRESS) and try again")
        good = [one for one in workers if not one.fault]
        differing = [one for one in workers if _differ(one.versions)]
        if differing:
            one = differing[0]
            mend = "use the same versions" if one.versions else _INSTALL
            raise ClusterError(f"{one.label} at {one.address} cannot be used: {one.fault}; {mend}")
        if not good:
            raise ClusterError(f"no worker has a usable device; {workers[0].label}: {workers[0].fault}")
        self.warnings += [f"{one.label} at {one.address} is not used: {one.fault}" for one in workers if one.fault]

    # --- events ---------------------------------------------------------------------------------------------------

    def _event(self, event: Any) -> None:
        """An event of a worker; on the client's thread."""
        message = event[1]
        if message["kind"] == "worker":
            self._roster.describe(message["address"], message)
        else:
            transport = self._transports.get(message["run"])
            if transport is not None:
                transport.reported(message)

    # --- what the workers have ------------------------------------------------------------------------------------

    @property
    def workers(self) -> list[WorkerInfo]:
        """The workers that are there, also those that cannot be used."""
        return [
            WorkerInfo(
                label=found["label"],
                address=address,
                host=found["host"],
                devices=tuple(pickle.loads(found["devices"])) if found["devices"] else (),  # noqa: S301
                versions=dict(found["versions"]),
                fault=self._roster.fault_of(found),
            )
            for address, found in sorted(dict(self._roster.known).items(), key=lambda pair: str(pair[1]["label"]))
        ]

    @property
    def usable(self) -> list[WorkerInfo]:
        return [worker for worker in self.workers if not worker.fault]

    def await_worker(self) -> None:
        """Wait for a worker that tasks can be given to, if all are gone at the moment."""
        deadline = time.monotonic() + self._start_seconds
        while not self._roster.usable():
            self._roster.require_connection()
            if time.monotonic() > deadline:
                raise ClusterError(f"the cluster has had no workers for {self._start_seconds:.0f} s")
            time.sleep(0.1)

    # --- runs -----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def run(self, make: Callable[[Any], Any]) -> Iterator[DaskTransport]:
        """A way to the workers for one run, whose task runner is ``make(engine)`` on each of them."""
        import cloudpickle

        run = f"{self.session}-{next(self._numbers)}"
        plugin = RunPlugin(self.session, run, cloudpickle.dumps(make))
        try:
            self._register(plugin, _PROBLEM_SECONDS)
        except TooLate:  # a frozen worker; the others have it
            pass
        except Exception as error:
            raise ClusterError(f"the problem cannot be sent to the workers: {_reason(error)}") from error
        transport = self._transports[run] = DaskTransport(self.client, self.session, run, self._roster, self._interval)
        try:
            yield transport
        finally:
            del self._transports[run]
            transport.close()
            self._forget_later(plugin.name)


def _describe(session: str, dask_worker: Any = None) -> Any:
    """The description that a worker's plugin has made, None if it has not yet; on the worker."""
    plugin = dask_worker.plugins.get(session_name(session))
    return None if plugin is None else getattr(plugin, "description", None)


def _lacks_quintet(error: BaseException) -> bool:
    """Whether a process could not import what it was sent; Dask may have wrapped the error."""
    text = str(error)
    return isinstance(error, ImportError) or "No module named" in text or "Can't get attribute" in text


def _without_quintet(error: BaseException) -> str:
    missing = re.search(r"No module named \W?'([\w.]+)", str(error))
    if missing is None:
        return "it has another version of Quintet"
    is_ours = missing[1].partition(".")[0] in ("engine", "quintet")
    return "it has no Quintet" if is_ours else f"it has no module {missing[1]}"


def _differ(found: dict[str, str]) -> bool:
    return any(found.get(name) != value for name, value in versions().items())


def _is_local(given: Any) -> bool:
    """Whether it says ``local:N``; a file may be called ``local.toml``."""
    return isinstance(given, str) and given.startswith("local:") and not given.endswith(".toml")


def _as_address(given: Any) -> str:
    """A suggestion for ``HOST:PORT``."""
    is_address = isinstance(given, str) and re.fullmatch(r"[^\s:/]+:\d+", given)
    return f"; did you mean tcp://{given}?" if is_address else ""


def _count_of(given: str) -> int:
    name, _, count = given.partition(":")
    if name != "local" or not (count.isdigit() and 1 <= int(count) <= 256):
        raise InputError(f"a local cluster must be local:N, with N worker processes from 1 to 256; got {given!r}")
    return int(count)


def _in_turn(backend: str | None, devices: Sequence[str] | None, count: int) -> dict[str, list[str]]:
    """The devices of this host, dealt out to so many local workers."""
    from ...api.engine import Engine

    owner = Engine(backend, devices)
    ids = [info.id for info in owner.device_infos]
    if len(ids) < count:
        return {f"worker-{number}": [ids[number % len(ids)]] for number in range(count)}
    return {f"worker-{number}": ids[number::count] for number in range(count)}


def _require_reachable(address: str) -> None:
    """:class:`engine.errors.ClusterError` for an address whose host has no name, or that needs certificates."""
    from distributed.security import Security

    try:
        parts = urlsplit(address)
        if parts.scheme in ("tcp", "tls") and (parts.hostname is None or parts.port is None):
            raise ValueError("it must be HOST:PORT")
    except ValueError as error:
        raise InputError(f"{address} is not the address of a scheduler: {error}") from error
    if parts.scheme == "tls":
        try:
            context = Security().get_connection_args("client").get("ssl_context")
        except OSError as error:  # ssl.SSLError is one
            raise ClusterError(f"the certificates for {address} cannot be read: {_reason(error)}") from error
        if context is None:
            raise ClusterError(
                f"{address} needs certificates: name them in Dask's configuration (distributed.comm.tls) or in the "
                "table [tls] of a cluster's TOML file"
            )
    if parts.scheme in ("tcp", "tls"):
        try:
            socket.getaddrinfo(parts.hostname, parts.port)
        except OSError as error:
            raise ClusterError(f"cannot connect to the scheduler {address}: {reason_of(error)}") from error


def _is_here(host: str) -> bool:
    if host in ("localhost", "127.0.0.1", "::1", socket.gethostname()):
        return True
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
        own = {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None)}
    except OSError:
        return False
    return all(str(address).startswith("127.") or address == "::1" or address in own for address in found)


@contextlib.contextmanager
def _threads() -> Iterator[ThreadPoolExecutor]:
    """One thread, which is left behind if it does not end."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="quintet-cluster")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _quietly(call: Callable[[], Any]) -> None:
    with contextlib.suppress(Exception):
        call()


def _reason(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    if text and isinstance(error, OSError):
        first = text[0]
        return first if first[:2].isupper() else first[0].lower() + first[1:]  # TLS stays
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
