"""Who gives work to whom: dealing out the host's store, asking other devices, and handing intervals on.

A CPU beside GPUs must never keep one of them waiting: a GPU gives to it only at the end of a slice, while most of its
own IVMs have work; the CPU returns all its intervals as soon as a GPU runs low. CPUs that contribute less than 2 % of
the pool's node rate are dropped. Everything here is called under the coordinator's lock.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..intervals import Units
from ..options import Options
from .members import Store, WorkerState
from .messages import IntervalMessage, Report

_FEW = 8
_MUCH_MORE = 4
_TURNS_TO_ASSESS = 20
_LEAST_SHARE = 0.02

KINDS = ("device_device", "device_host", "host_device", "host_host")
"""Who gives to whom when devices share work; "host" is a device that computes on the host's cores."""


class Sharing:
    """The rules of one search; ``moved`` counts intervals that went from device to device, by :data:`KINDS`."""

    def __init__(self, workers: Sequence[WorkerState], store: Store, options: Options, seed: int) -> None:
        self._workers = list(workers)
        self._store = store
        self._options = options
        self._random = np.random.Generator(np.random.PCG64(seed))
        self.moved = dict.fromkeys(KINDS, 0)
        self._classify()

    def _classify(self) -> None:
        self.mixed = len({worker.on_host_cores for worker in self._workers}) > 1
        self._fast = [worker for worker in self._workers if not self.is_slow(worker)]

    def remove(self, worker: WorkerState) -> None:
        """Go on without a device that was lost."""
        self._workers.remove(worker)
        self._classify()

    def is_slow(self, worker: WorkerState) -> bool:
        """Whether a device is a CPU beside GPUs."""
        return self.mixed and worker.on_host_cores

    def may_take(self, worker: WorkerState) -> bool:
        """Whether a device may take from the store now: a CPU only what no GPU that is ready has need of."""
        if not self.is_slow(worker):
            return True
        return not worker.dropped and all(not one.is_ready or one.is_full for one in self._fast)

    def deal(self, worker: WorkerState) -> Units:
        """A device's part of the store: an even share at first, later half; all if it is the only one but for CPUs."""
        chosen = np.zeros(len(self._store), np.bool_)
        if self.is_slow(worker):
            chosen[: worker.ivms - worker.active] = True
        elif len(self._fast) == 1:
            chosen[:] = True
        elif worker.dealt:
            chosen[::2] = True
        else:
            others = [one for one in self._fast if not one.dealt]
            chosen[:: len(others)] = True  # neighbours in the tree are unlike in size
        worker.dealt = True
        return self._store.take(chosen)

    def is_low(self, worker: WorkerState) -> bool:
        """Whether a device that still works should ask already: it has little, and another much more or is a CPU."""
        if _FEW * (worker.active + worker.incoming) >= worker.ivms or len(self._store):
            return False
        return any(
            (other.open > _MUCH_MORE * worker.open and other.active > worker.active)
            or (self.is_slow(other) and not self.is_slow(worker))
            for other in self._others(worker)
        )

    def _others(self, worker: WorkerState) -> list[WorkerState]:
        others = [other for other in self._workers if other is not worker and (other.busy or other.active)]
        if self.is_slow(worker):
            return [] if worker.dropped else [other for other in others if other.is_full]
        return others

    def ask(self, worker: WorkerState) -> None:
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

    def is_wanted(self, worker: WorkerState) -> bool:
        """Whether a device should end its turn for others; a GPU does not for a CPU."""
        return any(self._counts(worker, asking) for asking in list(worker.requests))

    def may_be_wanted(self, worker: WorkerState) -> bool:
        """Whether there is any device for which this one should end its turn."""
        return any(self._counts(worker, other) for other in self._workers if other is not worker)

    def _counts(self, donor: WorkerState, asking: WorkerState) -> bool:
        return self.is_slow(donor) or not self.is_slow(asking)

    def wanted(self, donor: WorkerState) -> int:
        """How many intervals a device is to split off for those that asked it."""
        wanted = sum(min(donor.active, asking.ivms or donor.active) for asking in donor.served)
        return max(1, wanted) if donor.served else 0

    def is_prompt(self, donor: WorkerState) -> bool:
        """Whether a device gives before it searches: most of its IVMs have work, and not only CPUs ask."""
        return donor.is_full and any(self._counts(donor, asking) for asking in donor.served)

    def least(self, donor: WorkerState) -> int:
        """How many of a device's IVMs must be at work for it to give: two, or half of a GPU's for CPUs alone."""
        to_slow = bool(donor.served) and not any(self._counts(donor, asking) for asking in donor.served)
        return max(2, -(-donor.ivms // 2)) if to_slow else 2

    def returns_all(self, donor: WorkerState) -> bool:
        """Whether a device gives everything away: a CPU to a GPU."""
        return self.is_slow(donor) and any(not self.is_slow(asking) for asking in donor.served)

    def assess(self, worker: WorkerState) -> None:
        """Drop a CPU that contributes too little beside the GPUs, once all their node rates are known."""
        if not self.is_slow(worker) or worker.full_turns < _TURNS_TO_ASSESS or worker.dropped:
            return
        rates = [one.full_rate for one in self._fast if one.full_turns]
        worker.dropped = len(rates) == len(self._fast) and worker.full_rate < _LEAST_SHARE * sum(rates)

    def recall(self, worker: WorkerState) -> None:
        """Let a dropped device that still has work be asked for it by all the GPUs."""
        if worker.dropped:
            worker.requests = [*self._fast, *(one for one in worker.requests if self.is_slow(one))]

    def peers(self, donor: WorkerState) -> list[bool]:
        """Which of those that asked a device fetch their intervals from its memory."""
        return [self._options.sharing == "symmetric" and one.member.reads(donor.member) for one in donor.served]

    def deliver(self, donor: WorkerState, report: Report) -> None:
        """Give the intervals that were split off to those that asked: to their inboxes, or through the store."""
        for asking in donor.served:
            asking.waiting = False
        for asking, part in zip(donor.served, report.exported, strict=False):
            count = part.count if isinstance(part, IntervalMessage) else len(part)
            sides = ("host" if worker.on_host_cores else "device" for worker in (donor, asking))
            self.moved["_".join(sides)] += count
            if isinstance(part, Units) and self._options.sharing == "farmer":
                self._store.put(part, donor.bound)
                continue
            asking.expect(donor.bound)
            if isinstance(part, IntervalMessage):
                asking.messages.append((donor, part))
            else:
                asking.inbox = Units.joined([asking.inbox, part])
        donor.served = []
