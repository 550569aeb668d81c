"""The devices of a search as the coordinator sees them: what each has, and which intervals are on their way to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ....devices import Member
from ..intervals import Units
from ..tree import INFINITY
from .messages import IntervalMessage, Report

_BETWEEN_SNAPSHOTS = 1.0  # seconds, of one device
_SNAPSHOT_SHARE = 0.1  # of the time

COUNTED = ("nodes", "leaves", "pushed", "solutions", "steals")
"""What a search counts, since the device was opened."""


@dataclass(eq=False)
class Store:
    """Intervals that the host keeps."""

    units: Units
    bound: int  # a lower bound on all their leaves
    arrivals_bound: int = INFINITY  # and on those that have come since the last snapshot

    def __len__(self) -> int:
        return len(self.units)

    def put(self, units: Units, bound: int) -> None:
        """Add intervals, with a lower bound on their leaves."""
        if len(units):
            self.bound = min(self.bound, bound) if len(self) else bound
            self.arrivals_bound = min(self.arrivals_bound, bound)
            self.units = Units.joined([self.units, units])

    def snapshot(self) -> Units:
        """What is here now, for :meth:`prove`."""
        self.arrivals_bound = INFINITY
        return self.units

    def prove(self, bound: int) -> None:
        """No leaf that was here at the last snapshot is below ``bound``."""
        self.bound = max(self.bound, min(bound, self.arrivals_bound))

    def take(self, chosen: NDArray[np.bool_]) -> Units:
        """Remove the chosen intervals."""
        taken, self.units = self.units[np.flatnonzero(chosen)], self.units[np.flatnonzero(~chosen)]
        return taken


@dataclass(eq=False)
class WorkerState:
    """What the coordinator knows of one device's search."""

    member: Member
    items: int
    index: int = 0  # its place in the pool
    ivms: int = 0  # 0 until it is ready
    inbox: Units = field(init=False)  # on its way to it, on the host
    messages: list[tuple[WorkerState, IntervalMessage]] = field(default_factory=list)  # and in memory of other devices
    requests: list[WorkerState] = field(default_factory=list)
    served: list[WorkerState] = field(default_factory=list)  # those whose requests the present turn answers
    waiting: bool = False  # whether a request of its own is open
    running: bool = False  # whether its thread takes turns, or is on the way to the first
    busy: bool = False  # from the beginning of a turn until its outcome is known
    dealt: bool = False
    snapshot_pending: bool = False
    snapshot_at: float = 0.0
    bound: int = INFINITY  # on all leaves open here, the inbox included
    arrivals_bound: int = INFINITY  # on those that have come since the last snapshot
    variant: str = ""  # empty before its first turn
    active: int = 0
    open: float = 0.0
    taken_up: float = 0.0
    waited: float = 0.0
    explored: float = 0.0
    nodes: int = 0
    rate: float = 0.0  # nodes a second
    full_turns: int = 0  # turns in which half of its IVMs or more had work
    full_rate: float = 0.0  # nodes a second in these
    dropped: bool = False  # whether it is given no more work because it contributes too little
    counters: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inbox = Units.none(self.items)

    @property
    def on_host_cores(self) -> bool:
        """Whether it computes on the host's own cores."""
        return self.member.info.capabilities.shares_host_cores

    @property
    def is_ready(self) -> bool:
        """Whether the device can search."""
        return self.ivms > 0

    @property
    def is_full(self) -> bool:
        """Whether half of its IVMs or more have work."""
        return self.is_ready and 2 * self.active >= self.ivms

    @property
    def incoming(self) -> int:
        """How many intervals wait in its inbox."""
        return len(self.inbox) + sum(message.count for _, message in self.messages)

    @property
    def has_work(self) -> bool:
        """Whether anything is open here."""
        return bool(self.busy or self.active or self.incoming)

    @property
    def open_share(self) -> float:
        """Share of all leaves that is open here."""
        waiting = share_of(self.inbox) + sum(message.share for _, message in self.messages)
        return self.open + self.taken_up + waiting

    def expect(self, bound: int) -> None:
        """Intervals with this lower bound on their leaves are about to come."""
        self.bound = min(self.bound, bound) if self.has_work else bound
        self.arrivals_bound = min(self.arrivals_bound, bound)

    def begin(self, snapshot: bool, now: float) -> tuple[Units, list[IntervalMessage]]:
        """Begin a turn: what it takes up. A snapshot at its end contains that, but nothing that comes later."""
        units, self.inbox = self.inbox, Units.none(self.items)
        messages, self.messages = [message for _, message in self.messages], []
        self.served, self.requests = self.requests, []
        self.busy = True
        self.taken_up = share_of(units) + sum(message.share for message in messages)
        if snapshot:
            self.snapshot_pending, self.snapshot_at, self.arrivals_bound = True, now, INFINITY
        return units, messages

    def end(self, report: Report) -> None:
        """Record the outcome of a turn."""
        if report.nodes > self.nodes or not report.exported:  # not where the turn only gave work away
            rate = (report.nodes - self.nodes) / max(report.seconds, 1e-9)
            self.rate = _averaged(self.rate, rate)
        given = sum(part.share if isinstance(part, IntervalMessage) else share_of(part) for part in report.exported)
        done = self.open + self.taken_up - report.open - given - share_of(report.returned)
        self.explored += max(0.0, done)
        self.taken_up = 0.0
        was_full, searched = self.is_full, report.nodes - self.nodes
        self.active, self.open, self.nodes = report.active, report.open, report.nodes
        self.variant = report.variant
        if was_full and self.is_full and searched:
            self.full_turns += 1
            self.full_rate = _averaged(self.full_rate, searched / max(report.seconds, 1e-9))
        self.counters = {name: getattr(report, name) for name in COUNTED}

    def clear(self) -> None:
        """Forget all intervals and what was done; the device has forgotten them too."""
        self.inbox, self.messages, self.requests, self.served = Units.none(self.items), [], [], []
        self.waiting = self.busy = self.dealt = self.snapshot_pending = False
        self.bound = self.arrivals_bound = INFINITY
        self.active, self.open, self.taken_up, self.explored, self.nodes = 0, 0.0, 0.0, 0.0, 0
        self.counters = {}

    def prove(self, bound: int) -> None:
        """No leaf that was open here at the last snapshot is below ``bound``."""
        self.bound = max(self.bound, min(bound, self.arrivals_bound))
        self.snapshot_pending = False


@dataclass
class SnapshotSchedule:
    """When a snapshot of which device's open nodes is taken: evaluating them keeps the devices' threads waiting."""

    began: float  # when the search began
    _not_before: float = -math.inf

    def is_due(self, worker: WorkerState, workers: Sequence[WorkerState], now: float) -> bool:
        """Whether it is a device's turn: of those with work, its last snapshot is the oldest, and none is pending."""
        if now < self._not_before or now - max(worker.snapshot_at, self.began) < _BETWEEN_SNAPSHOTS:
            return False
        return not any(
            one.snapshot_pending or (one.has_work and one.snapshot_at < worker.snapshot_at) for one in workers
        )

    def note(self, began: float, ended: float) -> None:
        """A snapshot has been evaluated."""
        self._not_before = ended + (ended - began) / _SNAPSHOT_SHARE


def _averaged(before: float, now: float) -> float:
    return now if before == 0 else 0.7 * before + 0.3 * now


def share_of(units: Units) -> float:
    """Share of all leaves, to the precision of a float."""
    return units.length() / math.factorial(units.begin.shape[1])
