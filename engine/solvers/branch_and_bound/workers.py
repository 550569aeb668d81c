"""The devices of a search as the coordinator sees them: what each has, and what waits for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.devices import Member
from engine.solvers.branch_and_bound.explorer import Explorer
from engine.solvers.branch_and_bound.intervals import Units
from engine.solvers.branch_and_bound.tree import INFINITY
from engine.solvers.branch_and_bound.turns import Parcel, Report

__all__ = ["Looks", "Store", "Worker", "share_of"]


@dataclass(eq=False)
class Store:
    """Intervals that the host keeps.

    No leaf in them is below ``floor``, and none in those that have come since these were last looked at is below
    ``floor_of_arrivals``.
    """

    units: Units
    floor: int
    floor_of_arrivals: int = INFINITY

    def __len__(self) -> int:
        return len(self.units)

    def put(self, units: Units, floor: int) -> None:
        """Add intervals whose leaves are not below a floor."""
        if len(units):
            self.floor = min(self.floor, floor) if len(self) else floor
            self.floor_of_arrivals = min(self.floor_of_arrivals, floor)
            self.units = Units.joined([self.units, units])

    def look(self) -> Units:
        """What is here now, for :meth:`prove`."""
        self.floor_of_arrivals = INFINITY
        return self.units

    def prove(self, bound: int) -> None:
        """What was here at the last look has no leaf below ``bound``."""
        self.floor = max(self.floor, min(bound, self.floor_of_arrivals))

    def take(self, chosen: NDArray[np.bool_]) -> Units:
        """Remove the chosen intervals."""
        taken, self.units = self.units[np.flatnonzero(chosen)], self.units[np.flatnonzero(~chosen)]
        return taken


@dataclass(eq=False)
class Worker:
    """A device: its explorer, what it is to take up next, and who asked it for work.

    ``going`` while its thread takes turns, or is on the way to the first; ``busy`` from the beginning of a turn until
    its outcome is known; ``waiting`` while a request of its own is open.
    ``full_rate`` is like ``rate``, nodes a second, but of the ``full_turns`` alone in which half of its IVMs or more
    had work; it is ``dismissed`` if that is too little to be worth any work.
    No leaf that is open here, its inbox included, is below ``floor``, and none of what has come since its open nodes
    were last looked at is below ``floor_of_arrivals``.
    """

    member: Member
    items: int
    explorer: Explorer | None = None
    thread: Future[None] | None = None
    inbox: Units = field(init=False)
    parcels: list[tuple[Worker, Parcel]] = field(default_factory=list)
    requests: list[Worker] = field(default_factory=list)
    served: list[Worker] = field(default_factory=list)
    waiting: bool = False
    going: bool = False
    busy: bool = False
    dealt: bool = False
    looking: bool = False
    looked_at: float = 0.0
    floor: int = INFINITY
    floor_of_arrivals: int = INFINITY
    active: int = 0
    open: float = 0.0
    taken_up: float = 0.0
    waited: float = 0.0
    explored: float = 0.0
    nodes: int = 0
    rate: float = 0.0
    full_turns: int = 0
    full_rate: float = 0.0
    dismissed: bool = False
    counters: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inbox = Units.none(self.items)

    @property
    def on_host(self) -> bool:
        """Whether it is a CPU."""
        return self.member.info.capabilities.kind == "cpu"

    @property
    def ivms(self) -> int:
        """How many IVMs it has; none before it is ready."""
        return 0 if self.explorer is None else self.explorer.shapes.ivms

    @property
    def is_full(self) -> bool:
        """Whether half of its IVMs or more have work."""
        return self.explorer is not None and 2 * self.active >= self.ivms

    @property
    def has_mail(self) -> bool:
        """Whether intervals wait in its inbox."""
        return self.coming > 0

    @property
    def coming(self) -> int:
        """How many intervals wait in its inbox."""
        return len(self.inbox) + sum(parcel.count for _, parcel in self.parcels)

    @property
    def has_work(self) -> bool:
        """Whether anything is open here."""
        return bool(self.busy or self.active or self.has_mail)

    @property
    def open_share(self) -> float:
        """Share of all leaves that is open here."""
        waiting = share_of(self.inbox) + sum(parcel.share for _, parcel in self.parcels)
        return self.open + self.taken_up + waiting

    def reads(self, other: Worker) -> bool:
        """Whether it can copy from the other's memory."""
        return self.member.reads(other.member)

    def expect(self, floor: int) -> None:
        """Intervals whose leaves are not below ``floor`` are about to come."""
        self.floor = min(self.floor, floor) if self.has_work else floor
        self.floor_of_arrivals = min(self.floor_of_arrivals, floor)

    def begin(self, look: bool, now: float) -> tuple[Units, list[Parcel]]:
        """Begin a turn: what it takes up. A look at its end sees that, but nothing that comes later."""
        units, self.inbox = self.inbox, Units.none(self.items)
        parcels, self.parcels = [parcel for _, parcel in self.parcels], []
        self.served, self.requests = self.requests, []
        self.busy = True
        self.taken_up = share_of(units) + sum(parcel.share for parcel in parcels)
        if look:
            self.looking, self.looked_at, self.floor_of_arrivals = True, now, INFINITY
        return units, parcels

    def end(self, report: Report) -> None:
        """Take over what a turn brought."""
        if report.nodes > self.nodes or not report.exported:  # not where the turn only gave work away
            rate = (report.nodes - self.nodes) / max(report.seconds, 1e-9)
            self.rate = _averaged(self.rate, rate)
        given = sum(part.share if isinstance(part, Parcel) else share_of(part) for part in report.exported)
        done = self.open + self.taken_up - report.open - given - share_of(report.returned)
        self.explored += max(0.0, done)
        self.taken_up = 0.0
        was_full, searched = self.is_full, report.nodes - self.nodes
        self.active, self.open, self.nodes = report.active, report.open, report.nodes
        if was_full and self.is_full and searched:
            self.full_turns += 1
            self.full_rate = _averaged(self.full_rate, searched / max(report.seconds, 1e-9))
        self.counters = {
            "nodes": report.nodes,
            "leaves": report.leaves,
            "pushed": report.pushed,
            "solutions": report.solutions,
            "steals": report.stolen,
        }

    def prove(self, bound: int) -> None:
        """What was open here at the last look has no leaf below ``bound``."""
        self.floor = max(self.floor, min(bound, self.floor_of_arrivals))
        self.looking = False


@dataclass
class Looks:
    """When the open nodes of which device are looked at: one after another, and for a small share of the time.

    The host looks, and its Python keeps that of the devices' threads waiting.

    Attributes
    ----------
    began : float
        When the search did.
    between : float
        Least seconds between two looks at one device, and before the first.
    share : float
        Part of the time that looks may take.
    """

    began: float
    between: float
    share: float
    _not_before: float = -math.inf

    def is_due(self, worker: Worker, workers: Sequence[Worker], now: float) -> bool:
        """Whether it is a device's turn: of those with work, none was looked at longer ago, and none is at present."""
        if now < self._not_before or now - max(worker.looked_at, self.began) < self.between:
            return False
        return not any(one.looking or (one.has_work and one.looked_at < worker.looked_at) for one in workers)

    def note(self, began: float, ended: float) -> None:
        """A look has taken place."""
        self._not_before = ended + (ended - began) / self.share


def _averaged(before: float, now: float) -> float:
    return now if before == 0 else 0.7 * before + 0.3 * now


def share_of(units: Units) -> float:
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
