"""Which calls fail: the table of fault points, and a counter of calls that says when one of them is due."""

import threading
from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """A way to fail: the calls that are counted, and whether a run may end for it without an answer."""

    call: str
    ends: bool = True


POINTS = {
    # a call of the driver of a device, which works again afterwards; a lost one never does until the history is over
    "device.launch": Point("launch"),
    "device.allocate": Point("allocate"),
    "device.copy": Point("copy"),
    "device.wait": Point("wait"),
    "device.event": Point("event"),
    "device.build": Point("build"),
    "device.lost": Point("driver", ends=False),
    # a call that changes the disk; a full disk stays so, after a power cut only what was synchronised is left
    "disk.open": Point("open"),
    "disk.write": Point("write"),
    "disk.part": Point("write"),
    "disk.fsync": Point("fsync"),
    "disk.rename": Point("rename"),
    "disk.unlink": Point("unlink"),
    "disk.folder": Point("mkdir"),
    "disk.full": Point("write"),
    "disk.kill": Point("disk"),
    "disk.power": Point("disk"),
    # the user
    "run.stop": Point("poll"),
}
"""Every way to fail, by name; a fault is one of these at the k-th of its calls."""


@dataclass(frozen=True)
class Fault:
    """The ``at``-th call of a point, counted from 1, fails."""

    point: str
    at: int

    def __str__(self):
        return f"{self.point} {self.at}"


class Plan:
    """The faults of one start of a run, which have occurred, and the calls that have been counted."""

    def __init__(self, faults=()):
        self._faults = tuple(faults)
        self._lock = threading.Lock()
        self.counts = Counter()
        self.occurred = []

    def due(self, call):
        """Count a call; the name of the point that is due at it, without its kind."""
        with self._lock:
            self.counts[call] += 1
            for fault in self._faults:
                if POINTS[fault.point].call == call and fault.at == self.counts[call] and fault not in self.occurred:
                    self.occurred.append(fault)
                    return fault.point.partition(".")[2]
        return None

    @property
    def ends(self):
        """Whether one of the faults that have occurred may end the run without an answer."""
        return any(POINTS[fault.point].ends for fault in self.occurred)
