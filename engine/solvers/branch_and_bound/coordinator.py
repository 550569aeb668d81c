"""Many devices, one tree: who works on which intervals, and when the search is over.

Every device searches in turns on its own thread. Between two turns it takes up intervals that others left for it, and
gives some to those that asked; a device that runs out of work asks another. All this happens under one lock, so that
intervals are in exactly one place at any time: on a device, in the host's store, or in the inbox of a device. The
search is over when there are none anywhere, even if a device is not ready yet.

Wherever intervals are, a floor is known that none of their leaves is below. It goes with them, and rises where a
device's open nodes are looked at; the least of all floors is proved.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait

import numpy as np
from numpy.typing import NDArray

from engine.devices import Device, DevicePool, Member
from engine.errors import DeviceError
from engine.run import SLICE_SECONDS, Run
from engine.solvers.branch_and_bound.explorer import Explorer
from engine.solvers.branch_and_bound.intervals import Units
from engine.solvers.branch_and_bound.kernels import Shapes, shapes_for
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.proof import UnitBounds, View, proven_bound
from engine.solvers.branch_and_bound.sharing import Sharing
from engine.solvers.branch_and_bound.tree import Tree
from engine.solvers.branch_and_bound.turns import Found, Parcel, Report, State, Task
from engine.solvers.branch_and_bound.workers import Looks, Store, Worker, share_of

__all__ = ["Coordinator"]

_POLL_SECONDS = 0.05
_SLOW_SLICE = 0.01
_HEAD_START = 0.1
_BETWEEN_LOOKS = 1.0
_LOOKING_SECONDS = 0.02
_LAST_LOOKING_SECONDS = 0.1
_LOOKING_SHARE = 0.1


class Coordinator:
    """The search of one run.

    Parameters
    ----------
    pool : DevicePool
    run : Run
    tree : Tree
    options : Options
    initial : int
        The initial upper bound.
    units : Units
        What is to be searched.
    bound : int
        A proven bound on its leaves.

    Attributes
    ----------
    bound : int
        The bound proved so far; it never falls, and is never above the best value known.
    explored : ndarray of int64, shape (items,)
        Digit sums by level of all that has been explored, once the search rests.
    counters : dict
        ``nodes``, ``leaves``, ``pushed``, ``solutions``, ``steals``, ``exchanged``, and ``exchanged`` by kind.
    """

    def __init__(
        self, pool: DevicePool, run: Run, tree: Tree, options: Options, initial: int, units: Units, bound: int
    ) -> None:
        plans = [shapes_for_member(member, tree, options) for member in pool.members]
        needed = {member.label: plan.bytes_for(tree) for member, plan in zip(pool.members, plans, strict=True)}
        pool.require_memory(needed, f"the search with {plans[0].ivms} IVMs", "set ivms to fewer")
        pool.enable_peers()
        self._run = run
        self._tree = tree
        self._options = options
        self._initial = initial
        self._store = Store(units, bound)
        self._unit_bounds = UnitBounds(tree, initial)
        self._workers = [Worker(member, tree.items) for member in pool.members]
        self._sharing = Sharing(self._workers, self._store, options, run.seed)
        self._upper = initial
        self._changed = threading.Condition()
        self._resting = False
        self._over = False
        self._closed = False
        self._told_of: list[Worker] = []
        self._reports: list[tuple[Worker, Report, float]] = []
        self._began = time.perf_counter()
        self._looks = Looks(self._began, _BETWEEN_LOOKS, _LOOKING_SHARE)
        self.bound = bound
        self.explored = np.zeros(tree.items, np.int64)

    @property
    def counters(self) -> dict[str, int]:
        """Work done by all devices."""
        names = ("nodes", "leaves", "pushed", "solutions", "steals")
        totals = {name: sum(worker.counters.get(name, 0) for worker in self._workers) for name in names}
        moved = self._sharing.moved
        return {**totals, "exchanged": sum(moved.values()), **moved}

    # --- the search ---------------------------------------------------------------------------------------------

    def run(
        self,
        upper: int,
        improved: Callable[[Found], int],
        proved: Callable[[int], None],
        keep: Callable[[Units, NDArray[np.int64], dict[str, int]], None],
    ) -> None:
        """Search until nothing is left.

        Parameters
        ----------
        upper : int
            Value of the best solution known.
        improved : callable
            Takes a better leaf, and returns the best value then.
        proved : callable
            Takes a better bound.
        keep : callable
            Called with the open intervals, the explored levels and the counters when a checkpoint is due.

        Raises
        ------
        engine.run.StopRequested
            When the run must end; :meth:`rest` then gives what is open.
        """
        self._upper = upper
        self._set_going()
        while not self._has_ended():
            self._run.poll()
            if self._run.checkpoint_due():
                units = self._at_rest(improved, proved)
                keep(units, self.explored, self.counters)
                self._set_going()
            with self._changed:
                if not self._reports and not self._has_ended():
                    self._changed.wait(_POLL_SECONDS)
            self._take_in(improved, proved)
        self._at_rest(improved, proved)

    def _has_ended(self) -> bool:
        """Whether nothing is left, or a device has failed."""
        threads = [worker.thread for worker in self._workers if worker.thread is not None]
        return self._over or all(t.done() for t in threads) or any(t.done() and t.exception() for t in threads)

    def _set_going(self) -> None:
        """Let every device work on its own thread until nothing is left or the search is brought to rest."""
        with self._changed:
            self._resting = False
            at_rest = [worker for worker in self._workers if not worker.going]
            for worker in at_rest:
                worker.going = True
        for worker in at_rest:
            worker.thread = worker.member.submit(self._work, worker)
            worker.thread.add_done_callback(self._tell_all)

    def _tell_all(self, _: Future[None]) -> None:
        with self._changed:
            self._changed.notify_all()

    def _work(self, device: Device, worker: Worker) -> None:
        """Turn after turn; on the device's thread."""
        try:
            ask = (lambda: self._sharing.is_wanted(worker)) if self._sharing.may_be_wanted(worker) else None
            if worker.explorer is None and not (self._joins(worker) and self._open(device, worker)):
                return
            assert worker.explorer is not None
            while True:
                with self._changed:
                    task = self._next_task(worker)
                if task is None:
                    return
                report = worker.explorer.turn(task, ask)
                with self._changed:
                    self._settle(worker, report)
        except BaseException:
            self._resting = True  # the others need not go on
            raise

    def _joins(self, worker: Worker) -> bool:
        """Let GPUs begin before the CPUs beside them: a short search is over sooner without these."""
        if not self._sharing.is_slow(worker):
            return True
        with self._changed:
            left = self._began + _HEAD_START - time.perf_counter()
            return not self._changed.wait_for(lambda: self._over or self._closed, max(0.0, left))

    def _open(self, device: Device, worker: Worker) -> bool:
        """Make a device ready, before it is given any work that others would have to wait for; False if too late."""
        explorer = Explorer(device, self._tree, self._options, self._initial)
        if len(self._workers) > 1:
            explorer.warm_up()
        with self._changed:
            if not self._closed:
                worker.explorer = explorer
                return True
        explorer.release()
        return False

    # --- what the run is told -----------------------------------------------------------------------------------

    def _take_in(self, improved: Callable[[Found], int], proved: Callable[[int], None]) -> None:
        """Tell the run what the devices have reported."""
        with self._changed:
            reports, self._reports = self._reports, []
        for worker, report, stealing in reports:
            if report.found is not None:
                value = improved(report.found)
                with self._changed:
                    self._upper = min(self._upper, value)
            label = worker.member.label
            self._run.metric("active_ivms", report.active, label)
            self._run.metric("stealing_share", stealing, label)
            self._run.metric("steals", report.stolen, label)
            self._run.metric("nodes_per_second", worker.rate, label)
            self._run.metric("explored_here", worker.explored, label)
        self._tell_of_dismissals()
        if reports:
            self._tell()
        for worker, report, _ in reports:
            if report.view is not None:
                self._prove(worker, report.view, _LOOKING_SECONDS, proved)

    def _tell_of_dismissals(self) -> None:
        with self._changed:
            dismissed = [worker for worker in self._workers if worker.dismissed and worker not in self._told_of]
            self._told_of += dismissed
        for worker in dismissed:
            part = worker.full_rate / max(1e-9, sum(one.full_rate for one in self._workers))
            self._run.notice(
                f"{worker.member.label} searches at {100 * part:.1f} % of the pool's speed; it is given no more work"
            )

    def _tell(self) -> None:
        with self._changed:
            open_share = sum(worker.open_share for worker in self._workers) + share_of(self._store.units)
            moved = dict(self._sharing.moved)
        self._run.metric("explored_share", max(0.0, 1.0 - open_share))
        self._run.metric("exchanged", sum(moved.values()))
        if len(self._workers) > 1:
            for kind, count in moved.items():
                self._run.metric(f"steals_{kind}", count)
        self._run.progress("search", max(0.0, 1.0 - open_share), 1.0, "of the tree")

    def _prove(self, worker: Worker, view: View, seconds: float, proved: Callable[[int], None]) -> None:
        """Raise the floor of a device by its open nodes, that of the store, and with these, perhaps, the bound."""
        began = time.perf_counter()
        with self._changed:
            units = self._store.look()
        kept = self._unit_bounds.proven_bound(units, seconds)
        bound = proven_bound(self._tree, view, seconds)
        if bound is None:
            return
        with self._changed:
            self._looks.note(began, time.perf_counter())
            worker.prove(bound)
            if kept is not None:
                self._store.prove(kept)
            floors = [one.floor for one in self._workers if one.has_work]
            if len(self._store):
                floors.append(self._store.floor)
            least = min([self._upper, *floors])
        if least > self.bound:
            self.bound = least
            proved(least)

    # --- one device's turns; all under the lock -----------------------------------------------------------------

    def _next_task(self, worker: Worker) -> Task | None:
        """What a device does next, once there is something; None when nothing is left or the search is to rest."""
        worker.busy = False
        assert worker.explorer is not None
        began = time.perf_counter()
        while not self._resting:
            if self._run.state == "paused":
                self._changed.wait(_POLL_SECONDS)
                began = time.perf_counter()
                continue
            wants = 4 * worker.active < worker.ivms and not worker.has_mail
            if wants and len(self._store) and self._sharing.may_take(worker):
                worker.expect(self._store.floor)
                worker.inbox = self._sharing.deal(worker)
            if worker.active or worker.has_mail:
                worker.waited = time.perf_counter() - began
                return self._task(worker)
            for asking in worker.requests:
                asking.waiting = False
            worker.requests = []
            if not len(self._store) and not any(other.has_work for other in self._workers):
                self._over = True
                self._changed.notify_all()
                break
            if not worker.waiting:
                self._sharing.ask(worker)
            self._changed.wait(_POLL_SECONDS)
        worker.going = False
        return None

    def _task(self, worker: Worker) -> Task:
        if not worker.waiting and self._sharing.is_low(worker):
            self._sharing.ask(worker)
        now = time.perf_counter()
        look = not self._tree.counts and self._looks.is_due(worker, self._workers, now)
        sharing = self._sharing
        sharing.recall(worker)
        units, parcels = worker.begin(look, now)
        return Task(
            self._upper,
            units,
            parcels,
            wanted=sharing.wanted(worker),
            peers=sharing.peers(worker),
            prompt=sharing.is_prompt(worker),
            least=sharing.least(worker),
            surrender=sharing.surrenders(worker),
            seconds=_SLOW_SLICE if sharing.is_slow(worker) else SLICE_SECONDS,
            look=look,
        )

    def _settle(self, worker: Worker, report: Report) -> None:
        """Take over what a turn brought."""
        if report.found is not None:
            self._upper = min(self._upper, report.found.value)
        self._store.put(report.returned, worker.floor)
        self._sharing.hand_on(worker, report)
        worker.end(report)
        self._sharing.judge(worker)
        stealing = (report.stealing + worker.waited) / max(report.seconds + worker.waited, 1e-9)
        self._reports.append((worker, report, stealing))
        self._changed.notify_all()

    # --- rest ---------------------------------------------------------------------------------------------------

    def rest(self, improved: Callable[[Found], int], proved: Callable[[int], None]) -> Units:
        """Bring the search to rest; all open intervals. Every device's open nodes are looked at once more."""
        units = self._at_rest(improved, proved)
        if not self._tree.counts:
            for worker in self._workers:
                if worker.explorer is not None:
                    view = worker.member.submit(_view, worker.explorer).result()
                    self._prove(worker, view, _LAST_LOOKING_SECONDS / len(self._workers), proved)
        return units

    def _at_rest(self, improved: Callable[[Found], int], proved: Callable[[int], None]) -> Units:
        for worker in self._halt():
            assert worker.thread is not None
            worker.thread.result()
        self._take_in(improved, proved)
        for worker in self._workers:
            for owner, parcel in worker.parcels:
                units = owner.member.submit(_units, parcel).result()
                worker.inbox = Units.joined([worker.inbox, units])
                parcel.taken = True
            worker.parcels = []
        states = [
            worker.member.submit(_state, worker.explorer).result()
            for worker in self._workers
            if worker.explorer is not None
        ]
        self.explored = sum((state.explored for state in states), np.zeros(self._tree.items, np.int64))
        return Units.joined([self._store.units, *(w.inbox for w in self._workers), *(state.open for state in states)])

    def _halt(self) -> list[Worker]:
        """Wait until every device has ended its turn, and return these; open requests are dropped.

        A device that is not ready yet is not waited for: it has no work, and ends by itself.
        """
        with self._changed:
            self._resting = True
            self._changed.notify_all()
            halted = [w for w in self._workers if w.thread is not None and (w.explorer is not None or w.thread.done())]
        wait([worker.thread for worker in halted if worker.thread is not None])
        for worker in self._workers:
            worker.requests, worker.waiting, worker.busy = [], False, False
        return halted

    def close(self) -> None:
        """Give the devices' memory back."""
        with self._changed:
            self._closed = True
        self._halt()
        for worker in self._workers:
            if worker.explorer is not None:
                with contextlib.suppress(DeviceError):  # a device that failed has told so, and is closed as a whole
                    worker.member.submit(_release, worker.explorer).result()


def shapes_for_member(member: Member, tree: Tree, options: Options) -> Shapes:
    """The shapes that a member of a pool will search in."""
    capabilities = member.info.capabilities
    return shapes_for(capabilities, tree, tree.device(capabilities, member.info.language), options.ivms)


def _units(device: Device, parcel: Parcel) -> Units:
    return parcel.units(device)


def _state(device: Device, explorer: Explorer) -> State:
    return explorer.state()


def _view(device: Device, explorer: Explorer) -> View:
    return explorer.view()


def _release(device: Device, explorer: Explorer) -> None:
    explorer.release()
