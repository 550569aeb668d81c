"""How long work takes on several devices, predicted from a recording of it on one.

The seconds of one device are split into those of kernels whose work is divided, those of kernels that every device
repeats, and the rest, in which the device has no work. With N devices the first are divided by N; the others stay. What
the devices exchange is added: the all-gathers of their threads, and the bytes that each device receives, at the speed
of copies between peers.
"""

import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from ..devices.monitor.timeline import DeviceTimeline
from ..devices.pool.group import Communicator
from .timeline import covered

PEER_BYTES_PER_SECOND = 390e9
"""Measured between two H200 over NVLink, for copies of 64 MB."""

_ROUNDS = 200


class Exchange(NamedTuple):
    """How many all-gathers there are in a case, and the bytes that each receives from the others."""

    rounds: float
    nbytes: float


@dataclass(frozen=True)
class Profile:
    """Seconds of a case on one device: ``divided`` and ``repeated`` work, and ``idle``, when the device has none."""

    divided: float
    repeated: float
    idle: float
    kernels: tuple[tuple[str, float], ...] = ()


def profile_of(
    device: DeviceTimeline, window: tuple[float, float], seconds: float, repeated: Collection[str]
) -> Profile:
    """What a recording on one device says of a case of so many seconds; ``repeated`` kernels are not divided."""
    used = [one for one in device.commands if one.kind != "wait" and window[0] <= one.begin <= window[1]]
    if not used:
        return Profile(0.0, 0.0, seconds)
    first = max(window[0], min(one.begin for one in used))  # where only the last commands were kept
    recorded_window = (first, window[1])
    whole = max(1e-12, window[1] - first)
    busy = covered(((one.begin, one.end) for one in used), recorded_window) / whole
    divided = sum(one.end - one.begin for one in used if one.kind == "kernel" and one.name not in repeated)
    work = max(1e-12, sum(one.end - one.begin for one in used))
    named: dict[str, float] = {}
    for one in used:
        named[one.name] = named.get(one.name, 0.0) + (one.end - one.begin) / work
    share = busy * divided / work
    kernels = tuple(sorted(named.items(), key=lambda entry: -entry[1]))
    return Profile(seconds * share, seconds * (busy - share), seconds * (1 - busy), kernels)


def predicted_seconds(profile: Profile, devices: int, exchange: Exchange, all_gather: float) -> float:
    """Seconds of a case on so many devices."""
    own = profile.divided / devices + profile.repeated + profile.idle
    return own if devices == 1 else own + exchange.rounds * all_gather + exchange.nbytes / PEER_BYTES_PER_SECOND


def all_gather_seconds(threads: int) -> float:
    """Seconds of an all-gather of so many threads, measured here."""
    communicator = Communicator(threads)

    def gather(rank: int) -> None:
        for _ in range(_ROUNDS):
            communicator.all_gather(rank, None)

    others = [threading.Thread(target=gather, args=(rank,)) for rank in range(1, threads)]
    for thread in others:
        thread.start()
    began = time.perf_counter()
    gather(0)
    seconds = (time.perf_counter() - began) / _ROUNDS
    for thread in others:
        thread.join()
    return seconds
