"""Iterated greedy search on one device: many chains, step by step."""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Capabilities, Device
from ..problems.flowshop_heuristics import makespan

MOST_JOBS, MOST_MACHINES = 2000, 100
"""The largest instances whose schedules are improved without a tree."""

_REMOVED = 2
_TEMPERATURE = 0.7
_QUANTILES, _LEAPS = 4096, 256
_WARP, _LANES = 32, 16
_CHAINS_PER_UNIT = 8
_CHAINS_PER_CORE = 2
_NONE = 2**31 - 1


@dataclass(frozen=True)
class GreedyShape:
    """How chains are laid out on a device."""

    each: int  # machines of a work-item
    width: int  # work-items of a chain; a power of two
    lanes: int  # work-items of a group
    chains: int  # a multiple of those of a group
    vectors: int = 0  # of machines, on CPUs

    def stride(self, machines: int) -> int:
        """Times of a job, with those of machines beyond the last."""
        return machines if self.vectors else -(-machines // self.each) * self.each

    def tail_words(self, jobs: int, machines: int) -> int:
        """Numbers that a chain's tails take."""
        if self.vectors:
            return 2 * (jobs + 16 * self.vectors + 1) * 16 * self.vectors
        return (jobs + -(-machines // self.each)) * self.width * self.each

    def bytes_for(self, jobs: int, machines: int) -> int:
        """Device memory of a search."""
        return self.chains * (4 * self.tail_words(jobs, machines) + 8 * jobs + 44) + 4 * jobs * self.stride(machines)


def greedy_shape(capabilities: Capabilities, machines: int) -> GreedyShape:
    """A chain a work-item on CPUs; on GPUs as many work-items as there are machines, or half as many above 32."""
    if not capabilities.simt:
        return GreedyShape(machines, 1, 1, capabilities.compute_units * _CHAINS_PER_CORE, -(-machines // _LANES))
    each = -(-machines // _WARP)
    width = 1 << (-(-machines // each) - 1).bit_length()
    per_group = _WARP // width
    groups = capabilities.compute_units * _CHAINS_PER_UNIT
    return GreedyShape(each, width, _WARP, groups * per_group)


@functools.cache
def _leaps(jobs: int) -> NDArray[np.int32]:
    """Numbers coprime to ``jobs``, whose multiples modulo ``jobs`` are all jobs in a scattered order."""
    found = [leap for leap in range(1, jobs + 1) if math.gcd(leap, jobs) == 1]
    return np.array([found[(index * 7919) % len(found)] for index in range(_LEAPS)], np.int32)


def _thresholds(temperature: float) -> NDArray[np.int32]:
    """Quantiles of the exponential distribution: Metropolis' rule accepts what is longer by at most such a value."""
    middles = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    return np.floor(-temperature * np.log(middles)).astype(np.int32)


class GreedyChains:
    """The chains of one device, on its thread; the same seed gives the same schedules, whatever the slices are."""

    def __init__(
        self, device: Device, times: NDArray[np.int64], shape: GreedyShape, seed: int, first_chain: int = 0
    ) -> None:
        self.device, self.shape = device, shape
        machines, self.jobs = times.shape
        self.period = 2 * self.jobs + _REMOVED
        self.step, self._building = 0, False
        self._first_chain = first_chain
        self._seed = seed
        constants = greedy_constants(times, shape, device.capabilities)
        value = {"i16": np.int16, "u16": np.uint16, "i32": np.int32}[constants["value"]]
        self._program = device.program("branch_and_bound/flowshop_greedy", **constants)
        padded = np.zeros((self.jobs, shape.stride(machines)), np.int64)
        padded[:, :machines] = times.T
        kind = np.uint16 if int(times.max()) < 1 << 16 else np.int32
        temperature = _TEMPERATURE * float(times.mean()) / 10
        chains, words = shape.chains, shape.tail_words(self.jobs, machines)
        self._tail_words = words
        self._buffers: dict[str, Any] = {
            "times": device.put(padded.astype(kind).ravel()),
            "work": device.empty(2 * chains * self.jobs, np.uint16),
            "removed": device.empty(8 * chains, np.int32),
            "current": device.empty(chains * self.jobs, np.uint16),
            "values": device.empty(chains, np.int32),
            "best": device.empty(chains * self.jobs, np.uint16),
            "best_values": device.empty(chains, np.int32),
            "tails": device.put(np.zeros(chains * words, value)),
            "thresholds": device.put(np.concatenate([_thresholds(temperature), _leaps(self.jobs)])),
        }
        self._sources = device.empty(chains, np.int32)

    def release(self) -> None:
        """Free the device's memory."""
        for buffer in (*self._buffers.values(), self._sources):
            self.device.release(buffer)
        self._buffers = {}

    def build(self, orders: NDArray[np.integer[Any]]) -> None:
        """Have each chain insert the jobs of its row one after another at their best places, in the next steps."""
        self.device.put(orders.astype(np.uint16).ravel(), self._buffers["current"])
        self.device.put(np.full(self.shape.chains, _NONE, np.int32), self._buffers["best_values"])
        self.step, self._building = 0, True

    def start(self, orders: NDArray[np.integer[Any]], values: NDArray[np.integer[Any]]) -> None:
        """Begin from these schedules and their makespans, chain after chain, again and again."""
        source = np.arange(self.shape.chains) % len(orders)
        for name in ("current", "best"):
            self.device.put(orders[source].astype(np.uint16).ravel(), self._buffers[name])
        for name in ("values", "best_values"):
            self.device.put(values[source].astype(np.int32), self._buffers[name])
        self.step, self._building = 0, False

    def adopt(self, order: NDArray[np.integer[Any]], value: int, chain: int) -> None:
        """Let a chain go on from this schedule of this makespan, at the next iteration."""
        for name in ("current", "best"):
            self.device.put(order.astype(np.uint16), self._buffers[name], chain * self.jobs)
        for name in ("values", "best_values"):
            self.device.put(np.array([value], np.int32), self._buffers[name], chain)

    @property
    def at_start(self) -> bool:
        """Whether the next step begins an iteration."""
        return not self._building and self.step % self.period == 0

    @property
    def steps_left(self) -> int:
        """Steps to the end of the present iteration, or of the schedules that are being built."""
        return int(self.jobs - self.step if self._building else self.period - self.step % self.period)

    def advance(self, steps: int) -> NDArray[np.int32]:
        """At most so many steps, none beyond a building; the chains' best makespans, 2^31 - 1 where there is none."""
        shape = self.shape
        steps = min(steps, self.steps_left) if self._building else steps
        self._program.improve_schedules(
            shape.chains // (shape.lanes // shape.width),
            shape.lanes,
            **self._buffers,
            jobs=self.jobs,
            seed=self._seed,
            tail_words=self._tail_words,
            count=_REMOVED,
            first_chain=self._first_chain,
            building=int(self._building),
            first=self.step,
            last=self.step + steps,
        )
        self.step += steps
        if self._building and self.step == self.jobs:
            self.step, self._building = 0, False
        return np.asarray(self.device.get(self._buffers["best_values"]))

    def best_of(self, chain: int) -> NDArray[np.int64]:
        """The best schedule of a chain, shape (jobs,)."""
        return self.device.get(self._buffers["best"], chain * self.jobs, self.jobs).astype(np.int64)

    def follow(self, sources: NDArray[np.int32]) -> None:
        """Chain c goes on from the best schedule of chain ``sources[c]`` at the next iteration, if it is not c."""
        self.device.put(sources, self._sources)
        names = ("current", "values", "best", "best_values")
        shared = {name: self._buffers[name] for name in names}
        chains, jobs = self.shape.chains, self.jobs
        self._program.follow_best(
            -(-chains * jobs // 128), 128, sources=self._sources, chains=chains, jobs=jobs, **shared
        )


def greedy_constants(times: NDArray[np.int64], shape: GreedyShape, capabilities: Capabilities) -> dict[str, Any]:
    """What ``flowshop_greedy.mako`` is rendered with; tails have 16 bits where even a poor makespan leaves room."""
    some = makespan(times, np.arange(times.shape[1]))
    short = ("i16" if 2 * some < 1 << 15 else "i32") if shape.vectors else ("u16" if some < 60_000 else "i32")
    return {
        "machines": len(times),
        "each": shape.each,
        "width": shape.width,
        "lanes": shape.lanes,
        "shuffle": capabilities.shuffle,
        "vectors": shape.vectors,
        "value": short,
        "time": "u16" if int(times.max()) < 1 << 16 else "i32",
    }
