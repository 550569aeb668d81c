"""The engine whose runs are on a cluster."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ...api.engine import Engine
from ...api.map import BatchProgress, as_batch, check_options
from ...base.batch import Batch, items_of
from ...base.estimate import Estimate
from ...base.problem import Problem
from ...base.result import Result
from ...base.solver import Solver, SolverOptions
from ...devices import Backend, DeviceInfo, DevicePool
from ...errors import ClusterError, InputError
from ...runs.publisher import Observer, as_observers
from ...runs.run import Run
from ...settings.config import Settings
from ...util.display import Display
from ...util.text import bytes_text
from .batches import solve_items_on
from .connection import Connection, WorkerInfo
from .coordinator import Timing
from .solving import part_options, solve_on_cluster

if TYPE_CHECKING:
    from ...api.option_types import AnyOptions, BatchOptions

__all__ = ["ClusterEngine", "worker_rows"]


class ClusterEngine(Engine):
    """An :class:`engine.Engine` that farms its runs to the workers of a cluster; made by ``Engine(cluster=...)``.

    Parameters
    ----------
    backend, devices : optional
        Of every worker; by default each has its own configuration.
    config_file : path-like, optional
        As for :class:`engine.Engine`; for this process.
    cluster : str, path-like or distributed.Client
        See :class:`engine.execution.dask.connection.Connection`.
    timing : Timing, optional
        Durations of slices and of waiting.
    """

    def __init__(
        self,
        backend: Backend | None = None,
        devices: Sequence[str] | None = None,
        *,
        config_file: str | Path | None = None,
        cluster: Any = None,
        timing: Timing | None = None,
    ) -> None:
        super().__init__(backend, devices, config_file=config_file)
        self._cluster = cluster
        self._timing = timing
        self._connected: Connection | None = None
        self._given: tuple[Backend | None, Sequence[str] | None] = (backend, devices)

    def display(self) -> Display:
        """See :class:`engine.Engine`."""
        return Display(f"Engine on the cluster {self._cluster}")

    def _solved_on_host(self, problem: Problem, **arguments: Any) -> Result | None:
        return None

    def alike(self, other: Engine) -> bool:
        """See :class:`engine.Engine`."""
        return isinstance(other, ClusterEngine) and other._cluster == self._cluster and super().alike(other)

    @property
    def connection(self) -> Connection:
        """The session with the cluster, opened when it is first needed."""
        with self._opening:
            self._require_open()
            if self._connected is None:
                self._connected = Connection(self._cluster, *self._given)
            return self._connected

    def look(self) -> Connection:
        """The session, opened also if the workers cannot be used; ``require_usable`` of it says why.

        Raises
        ------
        engine.errors.ClusterError
            If there is no scheduler, or one that cannot be used.
        """
        with self._opening:
            self._require_open()
            if self._connected is None:
                self._connected = Connection(self._cluster, *self._given, must_be_usable=False)
            return self._connected

    @property
    def workers(self) -> list[WorkerInfo]:
        """The workers, also those that cannot be used."""
        return self.connection.workers

    @functools.cached_property
    def device_infos(self) -> list[DeviceInfo]:
        """The devices of all workers, described."""
        return [info for worker in self.connection.usable for info in worker.devices]

    def close(self, wait: bool = True) -> None:
        """Stop what still runs and leave the cluster."""
        super().close(wait)
        with self._opening:
            connection, self._connected = self._connected, None
        if connection is not None:
            connection.close()

    def map(
        self,
        problems: Problem | str | Path | Iterable[Problem | str | Path],
        *,
        each: Sequence[Mapping[str, Any]] | None = None,
        seeds: Sequence[int] | None = None,
        time_limit: float | None = None,
        on_event: Observer | Sequence[Observer] | None = None,
        **options: Unpack[BatchOptions],
    ) -> Batch:
        """See :func:`engine.map`; what a lost scheduler leaves without a result is a failure."""
        self._require_open()
        items = items_of(problems, each, seeds)
        check_options(items, {name: value for name, value in options.items() if name != "seed"})
        report = BatchProgress(len(items), as_observers(on_event))
        with self._turn:
            entries, fault = solve_items_on(self.connection, items, {**options}, time_limit, report, self._timing)
        self._leave_if_lost(fault)
        interrupted = InputError("the batch was interrupted before this problem was solved")
        return as_batch(items, entries, lambda: fault or interrupted)

    def estimate(
        self,
        problem: Problem,
        *,
        seed: int | None = None,
        time_limit: float | None = None,
        **options: Unpack[AnyOptions],
    ) -> Estimate:
        """Refused: estimates are made in one process. See :class:`engine.Engine`."""
        raise InputError("estimates are made in one process; leave out the cluster")

    def _validate(self, solver: Solver, problem: Problem, options: SolverOptions) -> None:
        """Refuse what does not fit the devices of a worker."""
        self._require_open()
        if solver.validate is not None:
            options = part_options(solver, problem, options)
            for devices in {worker.devices for worker in self.connection.usable}:
                solver.validate(problem, options, devices)

    def _description(self, solver: Solver, options: SolverOptions, settings: Settings) -> dict[str, Any]:
        return {**super()._description(solver, options, settings), "cluster": str(self._cluster)}

    def _open(self, has_begun: bool = False) -> DevicePool:
        with self._opening:
            if self._pool is None:
                if not has_begun:
                    self._require_open()
                self._pool = DevicePool([])
            return self._pool

    def take_devices(self, other: Engine) -> None:
        """Close the other engine: the devices are those of the workers."""
        other.close()

    def _prepare(self, run: Run) -> None:
        self.connection.await_worker()
        workers = self.connection.usable
        run.devices = tuple(worker.label for worker in workers)
        run.device_names = tuple(worker.device_names for worker in workers)
        run.patience = math.inf  # the workers' slices end on time, and then send what they have
        run.execute = lambda run: solve_on_cluster(run, self.connection, self._timing)

    def _ended(self, run: Run) -> None:
        self._leave_if_lost(run.error)

    def _leave_if_lost(self, error: BaseException | None) -> None:
        """Leave a cluster whose connection was lost: the next run connects again."""
        if isinstance(error, ClusterError):
            with self._opening:
                connection, self._connected = self._connected, None
            if connection is not None:
                connection.close()


def worker_rows(workers: Sequence[WorkerInfo]) -> list[tuple[str, str, str, str, str]]:
    """A table of workers and their devices: label, host, device, its name, its memory or what is wrong."""
    rows: list[tuple[str, str, str, str, str]] = []
    for worker in workers:
        rows += [(worker.label, worker.host, info.id, info.name, bytes_text(info.memory)) for info in worker.devices]
        if worker.fault:
            rows.append((worker.label, worker.host, "none", "", worker.fault))
    return rows
