"""Who gives work to whom: dealing out the host's store, asking other devices, and handing intervals on.

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
_ALMOST_ALL = 4
_KEPT = 4

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
        self.moved = dict.fromkeys(KINDS, 0)

    def deal(self, worker: Worker) -> Units:
        """Take a part of the store for a device.

        At the beginning an even share, but one piece for a CPU beside GPUs, for which some more are kept. Later all of
        it, for one device, and half of it for several.
        """
        slow = self.mixed and worker.on_host
        chosen = np.zeros(len(self._store), np.bool_)
        if slow:
            chosen[:1] = True
        elif len(self._workers) == 1:
            chosen[:] = True
        elif worker.dealt:
            chosen[::2] = True
        else:
            others = [one for one in self._workers if not one.dealt and not (self.mixed and one.on_host)]
            kept = _KEPT * sum(one.on_host for one in self._workers) if self.mixed else 0
            chosen[: max(len(chosen) - kept, 1) : len(others)] = True  # neighbours in the tree are unlike in size
        worker.dealt = True
        return self._store.take(chosen)

    def is_low(self, worker: Worker) -> bool:
        """Whether a device that still works should ask already: few IVMs are left of it, and of others many are."""
        if worker.explorer is None or _FEW * worker.active >= worker.explorer.shapes.ivms or len(self._store):
            return False
        return any(
            other.open > _ALMOST_ALL * worker.open and other.active > worker.active for other in self._others(worker)
        )

    def _others(self, worker: Worker) -> list[Worker]:
        return [other for other in self._workers if other is not worker and (other.busy or other.active)]

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
        return any(worker.on_host or not asking.on_host for asking in list(worker.requests))

    def wanted(self, donor: Worker) -> int:
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

    def is_prompt(self, donor: Worker) -> bool:
        """Whether a device gives before it searches: a CPU to GPUs, and any that has plenty.

        With little, it rather searches for a slice, after which more of its IVMs are at work.
        """
        if donor.explorer is None or not donor.served:
            return False
        to_faster = donor.on_host and not all(asking.on_host for asking in donor.served)
        return to_faster or 2 * donor.active >= donor.explorer.shapes.ivms

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
