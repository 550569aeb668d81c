"""Runs on the workers of a Dask cluster."""

import math
import threading
from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from ...api.map import BatchProgress, Entries
from ...base.batch import Item
from ...base.problem import Problem
from ...base.result import Result
from ...base.solver import Solver, SolverOptions
from ...devices import Backend, DeviceInfo
from ...errors import ClusterError, QuintetError
from ...runs.executor import Executor
from ...runs.run import Run
from ...util.text import bytes_text
from .batches import solve_items_on
from .connection import Connection, WorkerInfo
from .coordinator import Timing
from .solving import part_options, solve_on_cluster


class Dask(Executor):
    """The workers of a cluster (see :class:`.connection.Connection`), among which a run is divided."""

    def __init__(
        self,
        cluster: Any,
        backend: Backend | None = None,
        devices: Sequence[str] | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._cluster, self._given, self._timing = cluster, (backend, devices), timing
        self._connected: Connection | None = None
        self._connecting = threading.RLock()

    def connect(self, must_be_usable: bool = True) -> Connection:
        """The session with the cluster, opened when it is first needed."""
        with self._connecting:
            if self._connected is None:
                self._connected = Connection(self._cluster, *self._given, must_be_usable=must_be_usable)
            return self._connected

    @property
    def device_infos(self) -> list[DeviceInfo]:
        return [info for worker in self.connect().usable for info in worker.devices]

    def describe(self) -> dict[str, str]:
        return {"cluster": str(self._cluster)}

    @override
    def validate(self, solver: Solver, problem: Problem[Any], options: SolverOptions) -> None:
        if solver.validate is not None:
            options = part_options(solver, problem, options)
            for devices in {worker.devices for worker in self.connect().usable}:
                solver.validate(problem, options, devices)

    def prepare(self, run: Run) -> None:
        """Wait for a worker, and name those that there are."""
        self.connect().await_worker()
        workers = self.connect().usable
        run.devices = tuple(worker.label for worker in workers)
        run.device_names = tuple(worker.device_names for worker in workers)
        run.patience = math.inf  # the workers' tasks end on time, and then send what they have

    def execute(self, run: Run) -> Result:
        """Divide a run among the workers; one has it whole if it cannot be divided."""
        return solve_on_cluster(run, self.connect(), self._timing)

    @override
    def solve_items(
        self, items: Sequence[Item], common: dict[str, Any], time_limit: float | None, report: BatchProgress
    ) -> tuple[Entries, QuintetError | None]:
        """Give the workers groups of problems; what a lost scheduler leaves without a result is a failure."""
        entries, fault = solve_items_on(self.connect(), items, common, time_limit, report, self._timing)
        self._leave_if_lost(fault)
        return entries, fault

    def ended(self, run: Run) -> None:
        """Leave a cluster whose connection was lost."""
        self._leave_if_lost(run.error)

    def close(self, stopped: bool = False) -> None:
        """Leave the cluster; the next run connects again."""
        with self._connecting:
            connection, self._connected = self._connected, None
        if connection is not None:
            connection.close()

    def _leave_if_lost(self, error: BaseException | None) -> None:
        if isinstance(error, ClusterError):
            self.close()


def worker_rows(workers: Sequence[WorkerInfo]) -> list[tuple[str, str, str, str, str]]:
    """A table of workers and their devices: label, host, device, its name, its memory or what is wrong."""
    rows: list[tuple[str, str, str, str, str]] = []
    for worker in workers:
        rows += [(worker.label, worker.host, info.id, info.name, bytes_text(info.memory)) for info in worker.devices]
        if worker.fault:
            rows.append((worker.label, worker.host, "none", "", worker.fault))
    return rows
