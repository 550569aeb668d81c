"""Who gives work to whom: dealing out the host's store, asking other devices, and handing intervals on.

A CPU beside GPUs, much slower than they are, must never keep one of them waiting. A GPU gives to it after a slice, only
while most of its IVMs have work, and knows nothing of its requests before; the CPU gives everything back in one go, all
its IVMs', as soon as a GPU runs low, and gets more only when that one is full again. If it turns out to be slower than
its part in this is worth, it is dismissed.

Everything here is called under the coordinator's lock.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.solvers.branch_and_bound.intervals import Units
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.turns import Parcel, Report
from engine.solvers.branch_and_bound.workers import Store, Worker

__all__ = ["KINDS", "Sharing"]

_FEW = 8
_MUCH_MORE = 4
_TURNS_TO_JUDGE = 20
_WORTH_WORK = 0.02

KINDS = ("device_device", "device_host", "host_device", "host_host")
"""Who gives to whom when devices share work; the host explores where a CPU is one of the pool's devices."""


class Sharing:
    """The rules of one search.

    Attributes
    ----------
    mixed : bool
        Whether CPUs work beside GPUs.
    moved : dict
        Intervals that went from device to device, by :data:`KINDS`.
    """

    def __init__(self, workers: Sequence[Worker], store: Store, options: Options, seed: int) -> None:
        self._workers = workers
        self._store = store
        self._options = options
        self._random = np.random.Generator(np.random.PCG64(seed))
        self.mixed = len({worker.on_host for worker in workers}) > 1
        self._fast = [worker for worker in workers if not self.is_slow(worker)]
        self.moved = dict.fromkeys(KINDS, 0)

    def is_slow(self, worker: Worker) -> bool:
        """Whether a device is a CPU beside GPUs."""
        return self.mixed and worker.on_host

    def may_take(self, worker: Worker) -> bool:
        """Whether a device may take from the store now: a CPU only what no GPU that is ready has need of."""
        if not self.is_slow(worker):
            return True
        return not worker.dismissed and all(one.explorer is None or one.is_full for one in self._fast)

    def deal(self, worker: Worker) -> Units:
        """Take a part of the store for a device.

        At the beginning an even share; later all of it, for one device, and half of it for several. CPUs beside GPUs do
        not count there, and take no more than they have IVMs.
        """
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

    def is_low(self, worker: Worker) -> bool:
        """Whether a device that still works should ask already: few IVMs are left of it, and of others many are.

        What a CPU beside it has is asked for in any case.
        """
        if _FEW * (worker.active + worker.coming) >= worker.ivms or len(self._store):
            return False
        return any(
            (other.open > _MUCH_MORE * worker.open and other.active > worker.active)
            or (self.is_slow(other) and not self.is_slow(worker))
            for other in self._others(worker)
        )

    def _others(self, worker: Worker) -> list[Worker]:
        others = [other for other in self._workers if other is not worker and (other.busy or other.active)]
        if self.is_slow(worker):
            return [] if worker.dismissed else [other for other in others if other.is_full]
        return others

    def ask(self, worker: Worker) -> None:
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

    def is_wanted(self, worker: Worker) -> bool:
        """Whether a device should end its turn for others; a GPU does not for a CPU."""
        return any(self._counts(worker, asking) for asking in list(worker.requests))

    def may_be_wanted(self, worker: Worker) -> bool:
        """Whether there is any device for which this one should end its turn."""
        return any(self._counts(worker, other) for other in self._workers if other is not worker)

    def _counts(self, donor: Worker, asking: Worker) -> bool:
        return self.is_slow(donor) or not self.is_slow(asking)

    def wanted(self, donor: Worker) -> int:
        """How many intervals a device is to split off for those that asked it."""
        wanted = 0.0
        for asking in donor.served:
            if self._options.granularity == "speed" and asking.rate and donor.rate:
                share = 2 * donor.active * asking.rate / (asking.rate + donor.rate)
            else:
                share = float(donor.active)
            wanted += min(share, donor.active if asking.explorer is None else asking.ivms)
        return max(1, round(wanted)) if donor.served else 0

    def is_prompt(self, donor: Worker) -> bool:
        """Whether a device gives before it searches: if it has plenty, and not for CPUs alone beside GPUs.

        With little, it rather searches for a slice, after which more of its IVMs are at work.
        """
        return donor.is_full and any(self._counts(donor, asking) for asking in donor.served)

    def least(self, donor: Worker) -> int:
        """How many of a device's IVMs must be at work for it to give: two, or half of a GPU's for CPUs alone."""
        to_slow = bool(donor.served) and not any(self._counts(donor, asking) for asking in donor.served)
        return max(2, -(-donor.ivms // 2)) if to_slow else 2

    def surrenders(self, donor: Worker) -> bool:
        """Whether a device gives everything away: a CPU to a GPU."""
        return self.is_slow(donor) and any(not self.is_slow(asking) for asking in donor.served)

    def judge(self, worker: Worker) -> None:
        """Dismiss a CPU that is hardly faster than nothing beside the GPUs, once all their speeds are known.

        What it has, it gives to them in its next turn.
        """
        if not self.is_slow(worker) or worker.full_turns < _TURNS_TO_JUDGE or worker.dismissed:
            return
        rates = [one.full_rate for one in self._fast if one.full_turns]
        worker.dismissed = len(rates) == len(self._fast) and worker.full_rate < _WORTH_WORK * sum(rates)

    def recall(self, worker: Worker) -> None:
        """Let a dismissed device that still has work be asked for it by all the GPUs."""
        if worker.dismissed:
            worker.requests = [*self._fast, *(one for one in worker.requests if self.is_slow(one))]

    def peers(self, donor: Worker) -> list[bool]:
        """Which of those that asked a device fetch their intervals from its memory."""
        return [self._options.sharing == "symmetric" and asking.reads(donor) for asking in donor.served]

    def hand_on(self, donor: Worker, report: Report) -> None:
        """Give what was split off to those that asked: to their inboxes, or through the store."""
        for asking in donor.served:
            asking.waiting = False
        for asking, part in zip(donor.served, report.exported, strict=False):
            count = part.count if isinstance(part, Parcel) else len(part)
            sides = ("host" if worker.on_host else "device" for worker in (donor, asking))
            self.moved["_".join(sides)] += count
            if isinstance(part, Units) and self._options.sharing == "farmer":
                self._store.put(part, donor.floor)
                continue
            asking.expect(donor.floor)
            if isinstance(part, Parcel):
                asking.parcels.append((donor, part))
            else:
                asking.inbox = Units.joined([asking.inbox, part])
        donor.served = []
