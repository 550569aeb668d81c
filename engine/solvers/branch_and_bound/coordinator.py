"""Many devices, one tree: who works on which intervals, and when the search is over.

Every device works in turns on its own thread. Between turns the host deals intervals, and has devices that still have
work give some away to those that have none. Intervals are in exactly one place at any time: on a device, in the host's
store, or in the inbox of a device; the search is over when there are none anywhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.devices import Device, DevicePool, Member
from engine.errors import DeviceError
from engine.run import SLICE_SECONDS, Run
from engine.solvers.branch_and_bound.explorer import Explorer, Found, Report, State
from engine.solvers.branch_and_bound.intervals import Units
from engine.solvers.branch_and_bound.kernels import Shapes, shapes_for
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.tree import Tree

__all__ = ["Coordinator"]

_SHORT_SLICE = 0.02
_POLL_SECONDS = 0.1


@dataclass
class _Worker:
    """A device: its explorer, its turn in progress, what it is to take up next, and who asked it for work."""

    member: Member
    items: int
    explorer: Explorer | None = None
    turn: Future[Report] | None = None
    inbox: Units = field(init=False)
    requests: list[_Worker] = field(default_factory=list)
    served: list[_Worker] = field(default_factory=list)
    waiting: bool = False
    active: int = 0
    open: float = 0.0
    taken_up: float = 0.0
    explored: float = 0.0
    nodes: int = 0
    rate: float = 0.0
    counters: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inbox = Units.none(self.items)


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
        ``nodes``, ``leaves``, ``pushed``, ``solutions``, ``steals``, ``exchanged``.
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
        self._slice = SLICE_SECONDS if len(self._workers) == 1 else _SHORT_SLICE
        self._exchanged = 0
        self._upper = initial
        self.explored = np.zeros(tree.items, np.int64)

    @property
    def counters(self) -> dict[str, int]:
        """Work done by all devices."""
        names = ("nodes", "leaves", "pushed", "solutions", "steals")
        totals = {name: sum(worker.counters.get(name, 0) for worker in self._workers) for name in names}
        return {**totals, "exchanged": self._exchanged}

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
        while True:
            self._run.poll()
            if self._run.checkpoint_due():
                units = self._at_rest(improved)
                keep(units, self.explored, self.counters)
            self._ask()
            busy = {worker.turn for worker in self._workers if self._begin_turn(worker) and worker.turn}
            if not busy:
                break
            wait(busy, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for worker in self._workers:
                if worker.turn is not None and worker.turn.done():
                    self._end_turn(worker, improved)
            self._tell()
        self._at_rest(improved)

    def _begin_turn(self, worker: _Worker) -> bool:
        """Start a device's next turn if there is anything to do for it; whether it is in a turn."""
        if worker.turn is not None:
            return True
        few = worker.explorer is None or 4 * worker.active < worker.explorer.shapes.ivms
        if few and len(self._store) and not len(worker.inbox):
            worker.inbox = self._deal()
        if worker.active == 0 and not len(worker.inbox):
            return False
        units, worker.inbox = worker.inbox, Units.none(self._tree.items)
        worker.waiting = False
        worker.taken_up = _share(units)
        worker.served, worker.requests = worker.requests, []
        wanted = self._wanted(worker)
        worker.turn = worker.member.submit(self._turn, worker, self._upper, units, wanted, self._slice)
        return True

    def _turn(self, device: Device, worker: _Worker, upper: int, units: Units, wanted: int, seconds: float) -> Report:
        if worker.explorer is None:
            worker.explorer = Explorer(device, self._tree, self._options, self._initial)
        return worker.explorer.turn(upper, units, wanted, seconds)

    def _end_turn(self, worker: _Worker, improved: Callable[[Found], int]) -> None:
        """Take over what a turn brought."""
        assert worker.turn is not None
        report, worker.turn = worker.turn.result(), None
        if report.found is not None:
            self._upper = min(self._upper, improved(report.found))
        self._store = Units.joined([self._store, report.returned])
        self._hand_on(worker, report.exported)
        share = (report.nodes - worker.nodes) / max(report.seconds, 1e-9)
        worker.rate = share if worker.rate == 0 else 0.7 * worker.rate + 0.3 * share
        given = _share(report.exported) + _share(report.returned)
        worker.explored += max(0.0, worker.open + worker.taken_up - report.open - given)
        worker.taken_up = 0.0
        worker.active, worker.open, worker.nodes = report.active, report.open, report.nodes
        worker.counters = {
            "nodes": report.nodes,
            "leaves": report.leaves,
            "pushed": report.pushed,
            "solutions": report.solutions,
            "steals": report.stolen,
        }
        label = worker.member.label
        self._run.metric("active_ivms", report.active, label)
        self._run.metric("nodes_per_second", share, label)
        self._run.metric("stealing_share", report.stealing / max(report.seconds, 1e-9), label)
        self._run.metric("steals", report.stolen, label)
        self._run.metric("explored_here", worker.explored, label)

    def _tell(self) -> None:
        open_share = sum(worker.open + worker.taken_up for worker in self._workers)
        moving = [self._store, *(worker.inbox for worker in self._workers)]
        open_share += sum(float(_share(units)) for units in moving)
        if all(worker.turn is None or worker.explorer is not None for worker in self._workers):
            self._run.metric("explored_share", max(0.0, 1.0 - open_share))
        self._run.metric("exchanged", self._exchanged)
        self._run.progress("search", max(0.0, 1.0 - open_share), 1.0, "of the tree")

    # --- sharing ------------------------------------------------------------------------------------------------

    def _deal(self) -> Units:
        """A part of the store: all for one device, for several half of an even share."""
        count = len(self._store)
        if len(self._workers) > 1:
            count = -(-count // (2 * len(self._workers)))
        dealt, self._store = self._store[:count], self._store[count:]
        return dealt

    def _ask(self) -> None:
        """Let devices without work ask another for some: the one with most to do, or any (``symmetric``)."""
        if len(self._store):
            return
        for worker in self._workers:
            if worker.turn is not None or worker.active or len(worker.inbox) or worker.waiting:
                continue
            others = [other for other in self._workers if other is not worker and (other.active > 1 or other.turn)]
            if not others:
                continue
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
            if self._options.granularity == "speed" and asking.rate and donor.rate:
                wanted += 2 * donor.active * asking.rate / (asking.rate + donor.rate)
            else:
                wanted += donor.active
        return max(1, round(wanted)) if donor.served else 0

    def _hand_on(self, donor: _Worker, exported: Units) -> None:
        """Give what was split off to those that asked: their fair shares, or through the store."""
        self._exchanged += len(exported)
        for index, asking in enumerate(donor.served):
            asking.waiting = False
            if self._options.sharing == "symmetric":
                part = exported[index :: len(donor.served)]
                asking.inbox = Units.joined([asking.inbox, part])
        if donor.served and self._options.sharing == "farmer":
            self._store = Units.joined([self._store, exported])
        donor.served = []

    # --- rest ---------------------------------------------------------------------------------------------------

    def rest(self, improved: Callable[[Found], int]) -> Units:
        """Bring the search to rest; all open intervals."""
        return self._at_rest(improved)

    def _at_rest(self, improved: Callable[[Found], int]) -> Units:
        wait([worker.turn for worker in self._workers if worker.turn is not None])
        for worker in self._workers:
            if worker.turn is not None:
                self._end_turn(worker, improved)
        states = [
            worker.member.submit(_state, worker.explorer).result()
            for worker in self._workers
            if worker.explorer is not None
        ]
        self.explored = sum((state.explored for state in states), np.zeros(self._tree.items, np.int64))
        return Units.joined([self._store, *(w.inbox for w in self._workers), *(state.open for state in states)])

    def close(self) -> None:
        """Give the devices' memory back."""
        wait([worker.turn for worker in self._workers if worker.turn is not None])
        for worker in self._workers:
            if worker.explorer is not None:
                with contextlib.suppress(DeviceError):  # a device that failed has told so, and is closed as a whole
                    worker.member.submit(_release, worker.explorer).result()


def shapes_for_member(member: Member, tree: Tree, options: Options) -> Shapes:
    """The shapes that a member of a pool will search in."""
    capabilities = member.info.capabilities
    return shapes_for(capabilities, tree, tree.device(capabilities, member.info.language), options.ivms)


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
