"""Many devices, one tree: who works on which intervals, and when the search is over.

Every device searches in turns on its own thread. Between two turns it takes up intervals that others left for it, and
gives some to those that asked; a device that runs out of work asks another. All this happens under one lock, so that
intervals are in exactly one place at any time: on a device, in the host's store, or in the inbox of a device. The
search is over when there are none anywhere.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.devices import Device, DevicePool, Member
from engine.errors import DeviceError
from engine.run import SLICE_SECONDS, Run
from engine.solvers.branch_and_bound.explorer import Explorer, Found, Parcel, Report, State, Task
from engine.solvers.branch_and_bound.intervals import Units
from engine.solvers.branch_and_bound.kernels import Shapes, shapes_for
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.tree import Tree

__all__ = ["KINDS", "Coordinator"]

_POLL_SECONDS = 0.05
_FEW = 8
_ALMOST_ALL = 4
_KEPT = 4
_SLOW_SLICE = 0.01

KINDS = ("device_device", "device_host", "host_device", "host_host")
"""Who gives to whom when devices share work; the host explores where a CPU is one of the pool's devices."""


@dataclass(eq=False)
class _Worker:
    """A device: its explorer, what it is to take up next, and who asked it for work.

    ``busy`` from the beginning of a turn until its outcome is known; ``waiting`` while a request of its own is open.
    """

    member: Member
    items: int
    explorer: Explorer | None = None
    inbox: Units = field(init=False)
    parcels: list[tuple[_Worker, Parcel]] = field(default_factory=list)
    requests: list[_Worker] = field(default_factory=list)
    served: list[_Worker] = field(default_factory=list)
    waiting: bool = False
    busy: bool = False
    dealt: bool = False
    active: int = 0
    open: float = 0.0
    taken_up: float = 0.0
    explored: float = 0.0
    nodes: int = 0
    rate: float = 0.0
    counters: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inbox = Units.none(self.items)

    @property
    def on_host(self) -> bool:
        """Whether it is a CPU."""
        return self.member.info.capabilities.kind == "cpu"

    @property
    def has_mail(self) -> bool:
        """Whether intervals wait in its inbox."""
        return bool(len(self.inbox) or self.parcels)

    def reads(self, other: _Worker) -> bool:
        """Whether it can copy from the other's memory."""
        infos = (self.member.info, other.member.info)
        return all(info.language == "cuda" and info.capabilities.peer_access for info in infos)


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

    Attributes
    ----------
    explored : ndarray of int64, shape (items,)
        Digit sums by level of all that has been explored, once the search rests.
    counters : dict
        ``nodes``, ``leaves``, ``pushed``, ``solutions``, ``steals``, ``exchanged``, and ``exchanged`` by kind.
    """

    def __init__(self, pool: DevicePool, run: Run, tree: Tree, options: Options, initial: int, units: Units) -> None:
        plans = [shapes_for_member(member, tree, options) for member in pool.members]
        needed = {member.label: plan.bytes_for(tree) for member, plan in zip(pool.members, plans, strict=True)}
        pool.require_memory(needed, f"the search with {plans[0].ivms} IVMs", "set ivms to fewer")
        self._run = run
        self._tree = tree
        self._options = options
        self._initial = initial
        self._store = units
        self._random = np.random.Generator(np.random.PCG64(run.seed))
        self._workers = [_Worker(member, tree.items) for member in pool.members]
        self._mixed = len({worker.on_host for worker in self._workers}) > 1
        self._moved = dict.fromkeys(KINDS, 0)
        self._upper = initial
        self._changed = threading.Condition()
        self._resting = False
        self._reports: list[tuple[_Worker, Report]] = []
        self._threads: list[Future[None]] = []
        self.explored = np.zeros(tree.items, np.int64)

    @property
    def counters(self) -> dict[str, int]:
        """Work done by all devices."""
        names = ("nodes", "leaves", "pushed", "solutions", "steals")
        totals = {name: sum(worker.counters.get(name, 0) for worker in self._workers) for name in names}
        return {**totals, "exchanged": sum(self._moved.values()), **self._moved}

    # --- the search ---------------------------------------------------------------------------------------------

    def run(
        self,
        upper: int,
        improved: Callable[[Found], int],
        keep: Callable[[Units, NDArray[np.int64], dict[str, int]], None],
    ) -> None:
        """Search until nothing is left.

        Parameters
        ----------
        upper : int
            Value of the best solution known.
        improved : callable
            Takes a better leaf, and returns the best value then.
        keep : callable
            Called with the open intervals, the explored levels and the counters when a checkpoint is due.

        Raises
        ------
        engine.run.StopRequested
            When the run must end; :meth:`rest` then gives what is open.
        """
        self._upper = upper
        self._set_going()
        while not all(thread.done() for thread in self._threads):
            self._run.poll()
            if self._run.checkpoint_due():
                units = self._at_rest(improved)
                keep(units, self.explored, self.counters)
                self._set_going()
            with self._changed:
                if not self._reports and not all(thread.done() for thread in self._threads):
                    self._changed.wait(_POLL_SECONDS)
            self._take_in(improved)
            if any(thread.done() and thread.exception() for thread in self._threads):
                break
        self._at_rest(improved)

    def _set_going(self) -> None:
        """Let every device work on its own thread until nothing is left or the search is brought to rest."""
        self._resting = False
        self._threads = [worker.member.submit(self._work, worker) for worker in self._workers]
        for thread in self._threads:
            thread.add_done_callback(self._tell_all)

    def _tell_all(self, _: Future[None]) -> None:
        with self._changed:
            self._changed.notify_all()

    def _work(self, device: Device, worker: _Worker) -> None:
        """Turn after turn; on the device's thread."""
        try:
            ask = None if len(self._workers) == 1 else lambda: self._is_wanted(worker)
            while True:
                with self._changed:
                    task = self._next_task(worker)
                if task is None:
                    return
                if worker.explorer is None:
                    self._enable_peers(device, worker)
                    worker.explorer = Explorer(device, self._tree, self._options, self._initial)
                report = worker.explorer.turn(task, ask)
                with self._changed:
                    self._settle(worker, report)
        except BaseException:
            self._resting = True  # the others need not go on
            raise

    def _is_wanted(self, worker: _Worker) -> bool:
        """Whether a device should end its turn for others; a GPU does not for a CPU."""
        return any(worker.on_host or not asking.on_host for asking in list(worker.requests))

    def _enable_peers(self, device: Device, worker: _Worker) -> None:
        from engine.devices.cuda import CudaDevice

        for other in self._workers:
            if isinstance(device, CudaDevice) and other is not worker and worker.reads(other):
                device.enable_peer(other.member.info.index)

    def _take_in(self, improved: Callable[[Found], int]) -> None:
        """Tell the run what the devices have reported."""
        with self._changed:
            reports, self._reports = self._reports, []
        for worker, report in reports:
            if report.found is not None:
                value = improved(report.found)
                with self._changed:
                    self._upper = min(self._upper, value)
            label = worker.member.label
            seconds = max(report.seconds, 1e-9)
            self._run.metric("active_ivms", report.active, label)
            self._run.metric("stealing_share", report.stealing / seconds, label)
            self._run.metric("steals", report.stolen, label)
            self._run.metric("nodes_per_second", worker.rate, label)
            self._run.metric("explored_here", worker.explored, label)
        if reports:
            self._tell()

    def _tell(self) -> None:
        with self._changed:
            open_share = sum(worker.open + worker.taken_up for worker in self._workers) + _share(self._store)
            for worker in self._workers:
                open_share += _share(worker.inbox) + sum(parcel.share for _, parcel in worker.parcels)
            known = all(worker.explorer is not None or not worker.busy for worker in self._workers)
            moved = dict(self._moved)
        if known:
            self._run.metric("explored_share", max(0.0, 1.0 - open_share))
        self._run.metric("exchanged", sum(moved.values()))
        if len(self._workers) > 1:
            for kind, count in moved.items():
                self._run.metric(f"steals_{kind}", count)
        self._run.progress("search", max(0.0, 1.0 - open_share), 1.0, "of the tree")

    # --- one device's turns; all under the lock -----------------------------------------------------------------

    def _next_task(self, worker: _Worker) -> Task | None:
        """What a device does next, once there is something; None when nothing is left or the search is to rest."""
        worker.busy = False
        while not self._resting:
            if self._run.state == "paused":
                self._changed.wait(_POLL_SECONDS)
                continue
            few = worker.explorer is None or 4 * worker.active < worker.explorer.shapes.ivms
            if few and len(self._store) and not worker.has_mail:
                worker.inbox = self._deal(worker)
            if worker.active or worker.has_mail:
                return self._task(worker)
            for asking in worker.requests:
                asking.waiting = False
            worker.requests = []
            if not len(self._store) and not any(
                other.busy or other.active or other.has_mail for other in self._workers
            ):
                self._changed.notify_all()
                return None
            if not worker.waiting:
                self._ask(worker)
            self._changed.wait(_POLL_SECONDS)
        return None

    def _task(self, worker: _Worker) -> Task:
        if not worker.waiting and self._is_low(worker):
            self._ask(worker)
        units, worker.inbox = worker.inbox, Units.none(self._tree.items)
        parcels, worker.parcels = [parcel for _, parcel in worker.parcels], []
        worker.served, worker.requests = worker.requests, []
        worker.busy = True
        worker.taken_up = _share(units) + sum(parcel.share for parcel in parcels)
        peers = [self._options.sharing == "symmetric" and asking.reads(worker) for asking in worker.served]
        # A CPU beside GPUs must not keep them waiting at the end.
        seconds = _SLOW_SLICE if self._mixed and worker.on_host else SLICE_SECONDS
        return Task(self._upper, units, parcels, self._wanted(worker), peers, seconds)

    def _settle(self, worker: _Worker, report: Report) -> None:
        """Take over what a turn brought."""
        if report.found is not None:
            self._upper = min(self._upper, report.found.value)
        self._store = Units.joined([self._store, report.returned])
        self._hand_on(worker, report)
        rate = (report.nodes - worker.nodes) / max(report.seconds, 1e-9)
        worker.rate = rate if worker.rate == 0 else 0.7 * worker.rate + 0.3 * rate
        given = sum(part.share if isinstance(part, Parcel) else _share(part) for part in report.exported)
        done = worker.open + worker.taken_up - report.open - given - _share(report.returned)
        worker.explored += max(0.0, done)
        worker.taken_up = 0.0
        worker.active, worker.open, worker.nodes = report.active, report.open, report.nodes
        worker.counters = {
            "nodes": report.nodes,
            "leaves": report.leaves,
            "pushed": report.pushed,
            "solutions": report.solutions,
            "steals": report.stolen,
        }
        self._reports.append((worker, report))
        self._changed.notify_all()

    # --- sharing ------------------------------------------------------------------------------------------------

    def _deal(self, worker: _Worker) -> Units:
        """A part of the store.

        At the beginning an even share, but one piece for a CPU beside GPUs, for which some more are kept. Later all of
        it, for one device, and half of it for several.
        """
        slow = self._mixed and worker.on_host
        chosen = np.zeros(len(self._store), np.bool_)
        if slow:
            chosen[:1] = True
        elif len(self._workers) == 1:
            chosen[:] = True
        elif worker.dealt:
            chosen[::2] = True
        else:
            others = [one for one in self._workers if not one.dealt and not (self._mixed and one.on_host)]
            kept = _KEPT * sum(one.on_host for one in self._workers) if self._mixed else 0
            chosen[: max(len(chosen) - kept, 1) : len(others)] = True  # neighbours in the tree are unlike in size
        worker.dealt = True
        dealt, self._store = self._store[np.flatnonzero(chosen)], self._store[np.flatnonzero(~chosen)]
        return dealt

    def _is_low(self, worker: _Worker) -> bool:
        """Whether a device that still works should ask already: few IVMs are left of it, and of others many are."""
        if worker.explorer is None or _FEW * worker.active >= worker.explorer.shapes.ivms or len(self._store):
            return False
        return any(
            other.open > _ALMOST_ALL * worker.open and other.active > worker.active for other in self._others(worker)
        )

    def _others(self, worker: _Worker) -> list[_Worker]:
        return [other for other in self._workers if other is not worker and (other.busy or other.active)]

    def _ask(self, worker: _Worker) -> None:
        """Ask another device for work: the one with most to do, or any (``symmetric``)."""
        others = self._others(worker)
        if not others or len(self._store):
            return
        if self._options.sharing == "symmetric":
            donor = others[int(self._random.integers(len(others)))]
        else:
            donor = max(others, key=lambda other: other.open / (1 + len(other.requests)))
        donor.requests.append(worker)
        worker.waiting = True

    def _wanted(self, donor: _Worker) -> int:
        """How many intervals a device is to split off for those that asked it."""
        wanted = 0.0
        for asking in donor.served:
            if donor.on_host and not asking.on_host:
                share = float(_ALMOST_ALL * donor.active)  # a GPU is through with them sooner
            elif self._options.granularity == "speed" and asking.rate and donor.rate:
                share = 2 * donor.active * asking.rate / (asking.rate + donor.rate)
            else:
                share = float(donor.active)
            ivms = donor.active if asking.explorer is None else asking.explorer.shapes.ivms
            wanted += min(share, ivms)
        return max(1, round(wanted)) if donor.served else 0

    def _hand_on(self, donor: _Worker, report: Report) -> None:
        """Give what was split off to those that asked: to their inboxes, or through the store."""
        for asking in donor.served:
            asking.waiting = False
        for asking, part in zip(donor.served, report.exported, strict=False):
            count = part.count if isinstance(part, Parcel) else len(part)
            sides = ("host" if worker.on_host else "device" for worker in (donor, asking))
            self._moved["_".join(sides)] += count
            if isinstance(part, Parcel):
                asking.parcels.append((donor, part))
            elif self._options.sharing == "symmetric":
                asking.inbox = Units.joined([asking.inbox, part])
            else:
                self._store = Units.joined([self._store, part])
        donor.served = []

    # --- rest ---------------------------------------------------------------------------------------------------

    def rest(self, improved: Callable[[Found], int]) -> Units:
        """Bring the search to rest; all open intervals."""
        return self._at_rest(improved)

    def _at_rest(self, improved: Callable[[Found], int]) -> Units:
        self._halt()
        for thread in self._threads:
            thread.result()
        self._take_in(improved)
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
        return Units.joined([self._store, *(w.inbox for w in self._workers), *(state.open for state in states)])

    def _halt(self) -> None:
        """Wait until every device has ended its turn; open requests are dropped."""
        with self._changed:
            self._resting = True
            self._changed.notify_all()
        wait(self._threads)
        for worker in self._workers:
            worker.requests, worker.waiting, worker.busy = [], False, False

    def close(self) -> None:
        """Give the devices' memory back."""
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


def _release(device: Device, explorer: Explorer) -> None:
    explorer.release()


def _share(units: Units) -> float:
    """Share of all leaves, to the precision of a float."""
    if not len(units):
        return 0.0
    n = units.begin.shape[1]
    levels = units.end.sum(axis=0, dtype=np.int64) - units.begin.sum(axis=0, dtype=np.int64)
    share, weight = 0.0, 1.0
    for depth in range(n):
        weight /= n - depth
        share += float(levels[depth]) * weight
    return share
