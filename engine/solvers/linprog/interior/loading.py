"""Seconds of phases, and apart from them those in which kernels are built or loaded, which only a first solve takes."""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ....devices import Device, Program

Launch = Callable[..., None]


def launch_new(device: Device, prepare: Callable[[], Launch], **scalars: float) -> Launch:
    """Launch what ``prepare`` returns, and return it; drivers for CPUs compile at a kernel's first launch."""
    before = device.building.compiling
    launch = prepare()
    if device.building.compiling == before:
        launch(**scalars)
        return launch
    device.sync()
    began = time.perf_counter()
    launch(**scalars)
    device.sync()
    device.building.compiling += time.perf_counter() - began
    return launch


def launch_kernel(device: Device, program: Program, entry: str, grid: int, block: int, /, **arguments: Any) -> None:
    """Launch a kernel by its name."""
    launch_new(device, lambda: functools.partial(program.kernel(entry), grid, block, **arguments))


class PhaseSeconds:
    """Seconds of the phases of a method on devices."""

    def __init__(self, phases: Sequence[str], devices: Sequence[Device]) -> None:
        self.seconds = dict.fromkeys([*phases, "kernels"], 0.0)
        self._devices = list(devices)
        self._built = self._building()

    def _building(self) -> float:
        """Devices build at the same time."""
        return max((device.building.compiling for device in self._devices), default=0.0)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the seconds in this context to a phase, but for those in which kernels were built."""
        self._count()
        began = time.perf_counter()
        yield
        self.seconds[name] += max(0.0, time.perf_counter() - began - self._count())

    def _count(self) -> float:
        """Add what was built since the last time; how much that is."""
        before, self._built = self._built, self._building()
        self.seconds["kernels"] += self._built - before
        return self._built - before


def devices_of(shards: Sequence[Any]) -> list[Device]:
    """The devices of shards, those on the host alone left out."""
    return [shard.device for shard in shards if isinstance(getattr(shard, "device", None), Device)]
