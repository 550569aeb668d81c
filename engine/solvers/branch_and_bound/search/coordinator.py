"""Many devices, one tree: who works on which intervals, and when the search is over.

Every device searches in turns on its own thread. Between turns intervals are exchanged under one lock, so that each is
in one place: on a device, in the host's store, or in the inbox of a device. With every set of intervals goes a lower
bound on their leaves; the least is proved. If a device fails, the search returns to the last point at which all
intervals were known (the beginning, a checkpoint, or a restore point in between).
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ....base.context import RunContext
from ....devices import Device, DevicePool
from ....devices.pool.group import WorkerGroup
from ....devices.pool.slices import SLICE_SECONDS
from ....errors import DeviceError
from ..checkpoint import Incumbent
from ..intervals import Units
from ..options import Options
from ..tree import LARGEST_TREE, Tree
from .members import COUNTED, Store, WorkerState
from .messages import Report, Task
from .progress import Remaining
from .reporting import Reporting
from .sharing import Sharing
from .worker import SearchWorker

T = TypeVar("T")

_POLL_SECONDS = 0.05
_SLOW_SLICE = 0.01
HEAD_START = 0.1
_LAST_SNAPSHOT_SECONDS = 0.1
_BETWEEN_RESTORE_POINTS = 30.0
_STATE_SECONDS = 5e-8  # to read one level of one IVM when the search ends


@dataclass(frozen=True)
class _RestorePoint:
    """A whole search at rest: its open intervals, digit sums by level of what is explored, and the counters."""

    units: Units
    explored: NDArray[np.int64]
    counters: dict[str, int] = field(default_factory=dict)


class Coordinator:
    """The search of one run; a context manager that frees the devices.

    ``nodes`` were decomposed in earlier starts of the run. ``explored`` are the digit sums by level, shape (items,), of
    all that has been explored, once the search is halted.
    """

    def __init__(
        self,
        pool: DevicePool,
        run: RunContext,
        tree: Tree,
        options: Options,
        incumbent: Incumbent,
        units: Units,
        bound: int,
        improved: Callable[[], None],
        proved: Callable[[], None] = lambda: None,
        nodes: int = 0,
    ) -> None:
        pool.enable_peers()
        self._incumbent, self._improved = incumbent, improved
        initial = incumbent.initial
        self._run = run
        self._tree = tree
        self._store = Store(units, bound)
        arguments = [(tree, options, initial, run.seed, rank) for rank in range(len(pool))]
        self._group = WorkerGroup(pool.members, SearchWorker, arguments, tolerant=True)
        self._workers = [WorkerState(member, tree.items, index) for index, member in enumerate(pool.members)]
        self._threads: dict[int, Future[Any]] = {}
        self._sharing = Sharing(self._workers, self._store, options, run.seed)
        self._upper = initial
        self._changed = threading.Condition()
        self._halting = False
        self._over = False
        self._closed = False
        self._reports: list[tuple[WorkerState, Report, float]] = []
        self._restore_point = _RestorePoint(units, np.zeros(tree.items, np.int64))
        self._base = self._restore_point
        self._restore_at = self._began = time.perf_counter()
        self._reporting = Reporting(
            *(run, tree, initial, self._workers, self._store, self._sharing, self._changed, bound, nodes),
            upper=lambda: self._upper,
            proved=proved,
        )
        self.explored = np.zeros(tree.items, np.int64)

    @property
    def chosen(self) -> str:
        """What each device that has searched has done it with: how many IVMs, and which variant."""
        used = [worker for worker in self._workers if worker.variant]
        return "; ".join(f"{one.member.label}: {one.variant} with {one.ivms} IVMs" for one in used)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        """Free the devices' memory, but for devices that are not ready yet: they do so by themselves."""
        with self._changed:
            self._closed = True
        self._halt()
        for worker in self._workers:
            if not worker.is_ready:
                self._group.drop_member(worker.index)
        self._group.__exit__(*error)

    @property
    def bound(self) -> int:
        """The bound proved so far; it never falls, and is never above the best value known."""
        return self._reporting.bound

    @property
    def remaining(self) -> Remaining | None:
        """What is left of the search, where that has been estimated."""
        with self._changed:
            return self._reporting.estimate.remaining(self.counters["nodes"])

    @property
    def counters(self) -> dict[str, int]:
        """Work done by all devices."""
        base = self._base.counters
        totals = {
            name: base.get(name, 0) + sum(worker.counters.get(name, 0) for worker in self._workers) for name in COUNTED
        }
        moved = self._sharing.moved
        return {**totals, "exchanged": sum(moved.values()), **moved}

    def run(
        self,
        keep: Callable[[Units, NDArray[np.int64], dict[str, int]], None] | None = None,
        settled: Callable[[], bool] = lambda: False,
    ) -> Units:
        """Search until nothing is left, or what is left does not matter, as ``settled`` says; the open intervals.

        ``keep`` takes open intervals, explored levels and counters for checkpoints.
        """
        self._upper = self._incumbent.initial if self._tree.counts else self._incumbent.value
        self._start_workers()
        while not self._has_ended() and not settled():
            self._run.poll()
            if keep is not None and self._run.checkpoint_due():
                units = self._open_units()
                keep(units, self.explored, self.counters)
                self._start_workers()
            elif len(self._workers) > 1 and time.perf_counter() - self._restore_at > _BETWEEN_RESTORE_POINTS:
                self._open_units()
                self._start_workers()
            with self._changed:
                if not self._reports and not self._has_ended():
                    self._changed.wait(_POLL_SECONDS)
            self._process_reports()
            if self._failures():
                self._halt()
                self._process_reports()
                self._restore()
                self._start_workers()
        units = self._open_units()
        self._reporting.end(self.counters["nodes"], units)
        return units

    def lower_upper(self, value: int) -> None:
        """A solution of this value is known from elsewhere; the devices prune by it from their next turns on."""
        with self._changed:
            self._upper = min(self._upper, value)

    def _has_ended(self) -> bool:
        """Whether nothing is left to search."""
        return self._over or (bool(self._threads) and all(thread.done() for thread in self._threads.values()))

    def _failures(self) -> dict[int, BaseException]:
        """The errors of devices' threads by index."""
        done = {index: thread for index, thread in self._threads.items() if thread.done()}
        return {index: error for index, thread in done.items() if (error := thread.exception()) is not None}

    def _start_workers(self) -> None:
        """Let every device work on its own thread until nothing is left or the search is halted."""
        with self._changed:
            self._halting = False
            halted = [worker for worker in self._workers if not worker.running]
            for worker in halted:
                worker.running = True
        for worker in halted:
            thread = self._threads[worker.index] = self._group.members[worker.index].submit(self._take_turns, worker)
            thread.add_done_callback(self._notify)

    def _notify(self, _: Future[None]) -> None:
        with self._changed:
            self._changed.notify_all()

    def _take_turns(self, _: Device, worker: WorkerState) -> None:
        """Turn after turn of one device, on its thread, until nothing is left or the search is halted."""
        search = self._group.worker(worker.index)
        try:
            ask = (lambda: self._sharing.is_wanted(worker)) if self._sharing.may_be_wanted(worker) else None
            if not worker.is_ready and not (self._joins(worker) and self._open(search, worker)):
                return
            while True:
                with self._changed:
                    task = self._next_task(worker)
                if task is None:
                    return
                report = search.turn(task, ask, lambda: self._halting)
                with self._changed:
                    self._settle(worker, report)
        except BaseException:
            self._halting = True  # the others wait until it is known how to continue
            raise

    def _joins(self, worker: WorkerState) -> bool:
        """Let GPUs begin before the CPUs beside them: a short search is over sooner without these."""
        if not self._sharing.is_slow(worker):
            return True
        with self._changed:
            left = self._began + HEAD_START - time.perf_counter()
            return not self._changed.wait_for(lambda: self._over or self._closed, max(0.0, left))

    def _open(self, search: SearchWorker, worker: WorkerState) -> bool:
        """Make a device ready, before it is given any work that others would have to wait for; False if too late."""
        ivms = search.open(warm_up=len(self._workers) > 1)
        with self._changed:
            if not self._closed:
                worker.ivms = ivms
                levels = self._tree.items * sum(one.ivms for one in self._workers)
                self._run.reserve(_STATE_SECONDS * levels)
                return True
        search.close()
        return False

    # --- what the run is given ----------------------------------------------------------------------------------

    def _process_reports(self) -> None:
        """Publish what the devices have reported."""
        with self._changed:
            reports, self._reports = self._reports, []
        for _, report, _ in reports:
            if report.found is not None:
                if self._incumbent.accept(report.found):
                    self._improved()
                with self._changed:
                    self._upper = min(self._upper, self._incumbent.value)
        self._reporting.publish(reports, self.counters["nodes"])

    # --- one device's turns; all under the lock -----------------------------------------------------------------

    def _next_task(self, worker: WorkerState) -> Task | None:
        """What a device does next, once there is something; None when nothing is left or the search is halted."""
        worker.busy = False
        began = time.perf_counter()
        while not self._halting:
            if self._run.state == "paused":
                self._changed.wait(_POLL_SECONDS)
                began = time.perf_counter()
                continue
            wants = 4 * worker.active < worker.ivms and not worker.incoming
            if wants and len(self._store) and self._sharing.may_take(worker):
                worker.expect(self._store.bound)
                worker.inbox = self._sharing.deal(worker)
            if worker.active or worker.incoming:
                worker.waited = time.perf_counter() - began
                return self._task(worker)
            for asking in worker.requests:
                asking.waiting = False
            worker.requests = []
            if not len(self._store) and not any(other.has_work for other in self._workers):
                self._over = True
                self._changed.notify_all()
                break
            self._reporting.estimate.drop(worker)
            if not worker.waiting:
                self._sharing.ask(worker)
            self._changed.wait(_POLL_SECONDS)
        worker.running = False
        return None

    def _task(self, worker: WorkerState) -> Task:
        if not worker.waiting and self._sharing.is_low(worker):
            self._sharing.ask(worker)
        now = time.perf_counter()
        snapshot = not self._tree.counts and self._reporting.schedule.is_due(worker, self._workers, now)
        sharing, estimate = self._sharing, self._reporting.estimate
        estimate.begin_round(self._workers, now)
        sharing.recall(worker)
        units, messages = worker.begin(snapshot, now)
        return Task(
            self._upper,
            units,
            messages,
            wanted=sharing.wanted(worker),
            peers=sharing.peers(worker),
            prompt=sharing.is_prompt(worker),
            least=sharing.least(worker),
            return_all=sharing.returns_all(worker),
            seconds=_SLOW_SLICE if sharing.is_slow(worker) else SLICE_SECONDS,
            snapshot=snapshot,
            profile=self._reporting.profiles.is_due(worker, now),
            sample=None if self._tree.items > LARGEST_TREE else estimate.sample_for(worker, self._store.units),
        )

    def _settle(self, worker: WorkerState, report: Report) -> None:
        """Record the outcome of a turn."""
        if report.found is not None:
            self._upper = min(self._upper, report.found.value)
        self._store.put(report.returned, worker.bound)
        self._sharing.deliver(worker, report)
        worker.end(report)
        self._sharing.assess(worker)
        self._reporting.estimate.take(worker, report, self._upper, self.counters["nodes"])
        stealing = (report.stealing + worker.waited) / max(report.seconds + worker.waited, 1e-9)
        self._reports.append((worker, report, stealing))
        self._changed.notify_all()

    # --- the search at rest -------------------------------------------------------------------------------------

    def halt(self) -> Units:
        """Halt the search; all open intervals, none if the search was over. The bound is raised once more."""
        units = self._open_units()
        if not len(units):
            self._reporting.end(self.counters["nodes"], units)
        elif not self._tree.counts:
            seconds = _LAST_SNAPSHOT_SECONDS / max(1, len(self._workers))
            for worker in [one for one in self._workers if one.is_ready]:
                try:
                    frontier = self._group.submit(worker.index, SearchWorker.frontier).result()
                except DeviceError:  # the intervals are known; only a better bound is missed
                    continue
                self._reporting.prove(worker, frontier, seconds)
        return units

    def _open_units(self) -> Units:
        """Halt the search, and take a restore point; all open intervals."""
        self._halt()
        self._process_reports()
        while True:
            if self._failures():
                self._restore()
            try:
                units = self._collect()
                break
            except DeviceError:
                if not self._failures():
                    raise
        self._restore_point = _RestorePoint(units, self.explored, {name: self.counters[name] for name in COUNTED})
        self._restore_at = time.perf_counter()
        return units

    def _collect(self) -> Units:
        """All open intervals of a search that is halted; :attr:`explored` is brought up to date."""
        for worker in self._workers:
            for owner, message in worker.messages:
                units = self._ask(owner, SearchWorker.units, message)
                worker.inbox = Units.joined([worker.inbox, units])
                message.taken = True
            worker.messages = []
        states = [self._ask(worker, SearchWorker.state) for worker in self._workers if worker.is_ready]
        nothing = np.zeros(self._tree.items, np.int64)
        self.explored = self._base.explored + sum((state.explored for state in states), nothing)
        return Units.joined([self._store.units, *(w.inbox for w in self._workers), *(state.open for state in states)])

    def _ask(self, worker: WorkerState, method: Callable[..., T], *arguments: object) -> T:
        """Call a method of a device's search; a failure is noted as that of its thread."""
        future: Future[T] = self._group.submit(worker.index, method, *arguments)
        wait([future])
        if future.exception() is not None:
            self._threads[worker.index] = future
        return future.result()

    def _halt(self) -> None:
        """Wait until every device has ended its turn, but for those not ready yet: they have no work."""
        with self._changed:
            self._halting = True
            self._changed.notify_all()
            ready = {worker.index for worker in self._workers if worker.is_ready}
            threads = [thread for index, thread in self._threads.items() if index in ready or thread.done()]
        wait(threads)
        for worker in self._workers:
            worker.requests, worker.waiting, worker.busy = [], False, False

    # --- devices that fail --------------------------------------------------------------------------------------

    def _restore(self) -> None:
        """Return to the restore point, without the devices that have failed; if none is left, raise the error."""
        while failures := self._failures():
            for index, error in failures.items():
                self._drop_worker(index, error)
            for worker in self._workers:
                worker.clear()
                if worker.is_ready:
                    try:
                        self._ask(worker, SearchWorker.discard)
                    except DeviceError:
                        if worker.index not in self._failures():
                            raise
        self._reporting.estimate.forget()
        point = self._base = self._restore_point
        self.explored = point.explored
        self._over = False
        self._store.units, self._store.bound = point.units, min(self.bound, self._upper)
        self._store.arrivals_bound = self._store.bound

    def _drop_worker(self, index: int, error: BaseException) -> None:
        """Remove a device that has failed."""
        worker = next(one for one in self._workers if one.index == index)
        del self._threads[index]
        self._workers.remove(worker)
        if not isinstance(error, DeviceError) or not self._workers:
            self._base = self._restore_point
            for one in [worker, *self._workers]:
                one.clear()
            self.explored, self._store.units = self._base.explored, self._base.units
            raise error
        self._sharing.remove(worker)
        self._group.drop_member(index)
        self._run.notice(
            f"{worker.member.label} has failed and is left out; the search continues on the other devices from the "
            f"last restore point: {error}",
            level="warning",
        )
