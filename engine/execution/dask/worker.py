"""What runs on a worker: a plugin that opens the devices once, and the function that computes a task."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import platform
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed import WorkerPlugin, get_worker
from distributed import __version__ as distributed_version

from ...api.engine import Engine
from ...base.division import TaskControl, TaskRunner
from ...errors import ClusterError, DeviceError, QuintetError
from ...util.version import version

if TYPE_CHECKING:
    from distributed import Worker

_IDLE_SECONDS = 120.0


def versions() -> dict[str, str]:
    """Versions that must be the same on all sides, as far as they must be."""
    return {
        "quintet": version(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "distributed": distributed_version,
        "numpy": np.__version__.split(".")[0],
    }


def label_of(name: object) -> str:
    return f"worker-{name}" if isinstance(name, int) else str(name)


def session_name(session: str) -> str:
    """Name of a session's plugin, and of the topic of its events."""
    return f"quintet-{session}"


class SessionPlugin(WorkerPlugin):  # type: ignore[misc]
    """The devices of a worker, for one client; opened when they are first needed, closed after two idle minutes.

    ``session``: identity of the client's session; ``devices``: for every worker, or by worker label; ``interval``:
    seconds between two reports of a task.
    """

    def __init__(self, session: str, backend: str | None, devices: Any, interval: float = 1.0) -> None:
        self.session, self.backend, self.devices, self.interval = session, backend, devices, interval
        self.name = session_name(session)

    async def setup(self, worker: Worker) -> None:
        self.worker = worker
        _leave_interrupts_to(worker.nanny)
        self.label = label_of(worker.name)
        self.engine: Engine | None = None
        self.work = threading.Lock()
        self.making = threading.Lock()
        self.tasks: dict[tuple[str, int], TaskControl] = {}
        self.shared: dict[str, Any] = {}
        self.ended: set[tuple[str, int]] = set()
        self.runners: dict[str, TaskRunner] = {}
        self._used = time.monotonic()
        self._timer: threading.Timer | None = None
        self.description = await asyncio.to_thread(self._describe)
        worker.log_event(session_name(self.session), {"kind": "worker", **self.description})

    async def teardown(self, worker: Worker) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task_control in list(self.tasks.values()):
            task_control.end()
        await asyncio.to_thread(self._close)

    def _own_devices(self) -> list[str] | None:
        if isinstance(self.devices, dict):
            found: list[str] | None = self.devices.get(self.label)
            return found
        return None if self.devices is None else list(self.devices)

    def _describe(self) -> dict[str, Any]:
        """Versions and devices of this worker, or why it has none; the values are pickled for the client."""
        found: dict[str, Any] = {
            "address": self.worker.address,
            "label": self.label,
            "host": platform.node(),
            "versions": versions(),
            "devices": b"",
            "fault": "",
        }
        try:
            self.engine = Engine(self.backend, self._own_devices())
            found["devices"] = pickle.dumps(self.engine.device_infos)
        except QuintetError as error:
            found["fault"] = str(error)
        except Exception as error:
            found["fault"] = f"{type(error).__name__}: {error}"
        return found

    # --- tasks -------------------------------------------------------------------------------------------------

    def compute(self, run: str, number: int, work: bytes, seconds: float, shared: Any) -> dict[str, Any]:
        """Compute one task; what fails is described in what is returned."""
        answer: dict[str, Any] = {"worker": self.label}
        try:
            with self.making:
                runner = self._task_runner(run)
            prepared = runner.prepare(pickle.loads(work))  # noqa: S301
            with self.work:
                began = time.monotonic()
                computed = self._computed(runner, run, number, prepared, seconds, shared)
            answer["seconds"] = time.monotonic() - began
            answer["answer"] = runner.finish(computed)
        except Exception as error:
            answer = {"worker": self.label, **self._failed(run, error)}
        finally:
            self._used = time.monotonic()
        return answer

    def _computed(self, runner: TaskRunner, run: str, number: int, prepared: Any, seconds: float, shared: Any) -> Any:
        """What a task has computed, under the control of the client."""
        control = TaskControl(seconds, lambda values: self.send(run, number, values), self.interval)
        control.shared = self.shared.get(run, shared)
        if (run, number) in self.ended:
            control.end()
        self.tasks[run, number] = control
        self.send(run, number, {})
        stop = threading.Event()
        threading.Thread(target=self._beat, args=(run, number, stop), daemon=True).start()
        try:
            return runner.compute(prepared, control)
        finally:
            stop.set()
            self.tasks.pop((run, number), None)
            self.ended.discard((run, number))

    def _beat(self, run: str, number: int, stop: threading.Event) -> None:
        """Let the client know that the task is in progress."""
        while not stop.wait(max(self.interval, 1.0)):
            self.send(run, number, {})

    def _task_runner(self, run: str) -> TaskRunner:
        found = self.runners.get(run)
        if found is None:
            plugin = self.worker.plugins.get(run_name(run))
            if plugin is None:
                raise ClusterError("the worker does not have the run's problem yet")
            if self.engine is None:
                raise DeviceError(self.description["fault"])
            found = self.runners[run] = plugin.make(self.engine)
            self._close_when_idle()
        return found

    def _failed(self, run: str, error: Exception) -> dict[str, Any]:
        """The error as a message to the client; a device that failed is opened again for the next task."""
        if isinstance(error, DeviceError):
            with self.making, self.work:
                self.leave(run)
                if self.engine is not None:
                    with contextlib.suppress(Exception):
                        self.engine.reopen()
        return {
            "error": f"{type(error).__name__}: {error}" if not isinstance(error, QuintetError) else str(error),
            "device": isinstance(error, DeviceError),
            "kind": type(error).__name__,
        }

    def send(self, run: str, number: int, values: dict[str, Any]) -> None:
        """Report to the client; lost if the worker is closing."""
        with contextlib.suppress(Exception):
            self.worker.log_event(
                session_name(self.session),
                {"kind": "report", "run": run, "number": number, "label": self.label, "values": values},
            )

    def leave(self, run: str) -> None:
        found = self.runners.pop(run, None)
        self.shared.pop(run, None)
        if found is not None:
            with contextlib.suppress(Exception):
                found.close()

    # --- the devices --------------------------------------------------------------------------------------------

    def _close_when_idle(self) -> None:
        """Close the devices once no task has come for a while, as after the client was killed."""
        if self._timer is not None:
            self._timer.cancel()

        def look() -> None:
            if time.monotonic() - self._used > _IDLE_SECONDS and self.work.acquire(blocking=False):
                try:
                    self._close_runs()
                    if self.engine is not None:
                        self.engine.reopen()
                finally:
                    self.work.release()
            else:
                self._close_when_idle()

        self._timer = threading.Timer(_IDLE_SECONDS / 2, look)
        self._timer.daemon = True
        self._timer.start()

    def _close_runs(self) -> None:
        for run in list(self.runners):
            self.leave(run)

    def _close(self) -> None:
        with self.work:
            self._close_runs()
            if self.engine is not None:
                with contextlib.suppress(Exception):
                    self.engine.close()
                self.engine = None


def _leave_interrupts_to(nanny: object) -> None:
    """Ignore Ctrl-C in a worker that has a nanny, which ends it: a terminal sends it to all processes."""
    if nanny and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_name(run: str) -> str:
    return f"quintet-run-{run}"


class RunPlugin(WorkerPlugin):  # type: ignore[misc]
    """Problem and options of a run on every worker, also later ones: pickled, what makes a task runner of an engine."""

    def __init__(self, session: str, run: str, content: bytes) -> None:
        self.session, self.run, self.content = session, run, content
        self.name = run_name(run)

    def make(self, engine: Engine) -> TaskRunner:
        made: TaskRunner = pickle.loads(self.content)(engine)  # noqa: S301
        return made

    async def setup(self, worker: Worker) -> None:
        self.worker = worker

    async def teardown(self, worker: Worker) -> None:
        plugin = worker.plugins.get(session_name(self.session))
        if isinstance(plugin, SessionPlugin):
            for (run, _), task_control in list(plugin.tasks.items()):
                if run == self.run:
                    task_control.end()

            def leave() -> None:
                with plugin.work:
                    plugin.leave(self.run)

            await asyncio.to_thread(leave)


def compute(session: str, run: str, number: int, work: bytes, seconds: float, shared: Any) -> dict[str, Any]:
    """Compute a task: the function that Dask calls."""
    plugin = get_worker().plugins.get(session_name(session))
    if not isinstance(plugin, SessionPlugin):
        return {"worker": label_of(get_worker().name), "error": "the worker has not joined the session", "device": True}
    return plugin.compute(run, number, work, seconds, shared)


def control(session: str, run: str, numbers: list[int], shared: Any, has_shared: bool, dask_worker: Any = None) -> None:
    """Tell the tasks of these numbers on this worker to end, and all a new shared value if there is one."""
    plugin = dask_worker.plugins.get(session_name(session))
    if not isinstance(plugin, SessionPlugin):
        return
    if has_shared:
        plugin.shared[run] = shared
        for (owner, _), task_control in list(plugin.tasks.items()):
            if owner == run:
                task_control.shared = shared
    for number in numbers:
        known = plugin.tasks.get((run, number))
        if known is None:
            plugin.ended.add((run, number))
        else:
            known.end()
