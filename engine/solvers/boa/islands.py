"""Islands: all the devices of a pool share one population, or each island has a population and a device.

Islands advance in lockstep; every few generations the best individuals of each replace the worst of the next in a ring,
which revives one that has ended if they are better than its best. The trajectory depends on the number of islands, not
on that of devices. Source: E. Cantu-Paz, "Efficient and accurate parallel genetic algorithms", Kluwer 2000.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...devices import DevicePool, Member
from ...devices.pool.slices import SLICE_SECONDS, SliceLength
from ...errors import DeviceError, DeviceLost
from .device.memory import required_bytes
from .device.state import MOST_GENERATIONS, STATUS, TARGET, Ending, PopulationState, Slice, longest
from .fitness import Evaluate, Fitness
from .options import Counting, Migration, Parameters
from .population import Population, Snapshot
from .validate import nodes_at_once

__all__ = ["ISLAND_STRIDE", "TARGET", "Islands", "Round"]

ISLAND_STRIDE = 32
"""Island i of the population with chain c has the chain ``c + i * ISLAND_STRIDE``."""

T = TypeVar("T")


@dataclass
class Round(Slice):
    """What a slice did on all islands: rows of history by generation and island, and the island of each."""

    islands: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


class Islands:
    """Populations being evolved. A context manager: leaving it gives the device memory back.

    ``parameters`` are those of the first island; the others differ in their chain. A single population has all devices,
    or (``share`` false) the first alone. ``interrupted``, from any thread: the run is to end, so a generation may be
    left undone; of several islands none is, as they would no longer be in lockstep.
    """

    def __init__(
        self,
        pool: DevicePool,
        parameters: Parameters,
        fitness: Fitness,
        counting: Sequence[Counting],
        ending: Ending,
        migration: Migration,
        host: Evaluate | None = None,
        on_loss: Callable[[DeviceLost], None] = lambda error: None,
        interrupted: Callable[[], bool] = lambda: False,
        share: bool = True,
    ) -> None:
        self.parameters = parameters
        self.step = 0
        self.migration = migration
        self._length = SliceLength(most=MOST_GENERATIONS, seconds=SLICE_SECONDS)
        self._on_loss = on_loss
        self._best_keys = np.full(migration.islands, np.iinfo(np.int64).min)
        count = migration.islands
        one = pool.members if share else pool.members[:1]
        device_groups = [[pool.members[i % len(pool)]] for i in range(count)] if count > 1 else [one]
        slots = _slots(pool, parameters, device_groups)
        counting_of = {member.label: kind for member, kind in zip(pool.members, counting, strict=True)}
        # A user's function may fail, so that what came before is reported at once.
        self._most = MOST_GENERATIONS if host is None else 1
        stops = interrupted if count == 1 else (lambda: False)
        peers = count == 1 and len(one) > 1 and pool.enable_peers()
        self._populations: dict[int, Population] = {}
        with contextlib.ExitStack() as stack:
            for island, group in enumerate(device_groups):
                own = replace(parameters, chain=parameters.chain + island * ISLAND_STRIDE)
                population = Population(group, own, fitness, counting_of, slots, ending, host, on_loss, stops, peers)
                self._populations[island] = stack.enter_context(population)
            self._stack = stack.pop_all()

    def __enter__(self) -> Islands:
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.__exit__(*exception)

    def _finished(self, pending: Mapping[int, Callable[[], T]]) -> dict[int, T]:
        """Wait for what the islands have begun; islands whose devices failed are given up, if there is another."""
        done: dict[int, T] = {}
        errors: list[BaseException] = []
        for island, finish in pending.items():
            try:
                done[island] = finish()
            except DeviceLost as error:  # of an island's only device
                self._give_up(island, error)
            except DeviceError as error:
                self._give_up(island, DeviceLost(self._populations[island].members[0].label, 0, error))
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return done

    def _give_up(self, island: int, error: DeviceLost) -> None:
        if len(self._populations) == 1:
            raise error.error
        del self._populations[island]
        self._best_keys[island] = np.iinfo(np.int64).min
        self._on_loss(error)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the islands; those given up are missing."""
        return list(self._populations)

    @property
    def active(self) -> int:
        """How many islands have not ended."""
        return sum(population.reason == 0 for population in self._populations.values())

    @property
    def reason(self) -> int:
        """Why all have ended; 0 while one has not and the target is not reached."""
        reasons = [population.reason for population in self._populations.values()]
        return TARGET if TARGET in reasons else 0 if 0 in reasons else max(reasons)

    # --- the beginning, and generations ---------------------------------------------------------------------------

    def begin(self, seeds: NDArray[np.uint8]) -> Round:
        """Draw and evaluate the initial populations; ``seeds`` (s, n) belong to the first."""
        pending = {
            island: population.begin(seeds if island == 0 else seeds[:0])
            for island, population in self._populations.items()
        }
        return self._merged(self._finished(pending))

    def restore(self, step: int, states: Mapping[int, PopulationState]) -> None:
        """Continue after ``step`` generations from the states of islands by number; the others had been given up."""
        self.step = step
        for island in list(self._populations):
            if island in states:
                self._populations[island].restore(states[island])
                self._best_keys[island] = self._populations[island].best_key
            else:
                del self._populations[island]

    def states(self) -> dict[int, PopulationState]:
        """Everything needed to continue from here, by island."""
        return {island: population.state() for island, population in self._populations.items()}

    @property
    def _leader(self) -> Population:
        """The island with the best individual."""
        return self._populations[max(self._populations, key=lambda island: (self._best_keys[island], -island))]

    def best(self) -> NDArray[np.uint8]:
        """Genes of the best individual of all."""
        return self._leader.best()

    def snapshot(self) -> Snapshot:
        """The network and some individuals of the island with the best one."""
        return self._leader.snapshot()

    def advance(self, most: int) -> Round:
        """About a slice's worth of generations, ``most`` at most and up to the next migration."""
        interval = self.migration.interval
        count = max(1, min(self._length.amount, most, self._most))
        if self.migration.islands > 1:
            count = min(count, interval - self.step % interval)
        began = time.perf_counter()
        pending = {
            i: population.advance(count) for i, population in self._populations.items() if population.reason == 0
        }
        done = self._merged(self._finished(pending))
        if done.is_interrupted:
            self.step += len(done.history)
            return done
        self._length.took(time.perf_counter() - began, count)
        self.step += count
        if self.migration.islands > 1 and self.reason != TARGET:
            if self.active == 0:
                self.step = -(-self.step // interval) * interval  # when they ended, does not depend on slices
            if self.step % interval == 0:
                self._migrate()
        return done

    def _merged(self, parts: Mapping[int, Slice]) -> Round:
        """Rows by generation, then island; without what came after an island had reached the target."""
        if not parts:  # the devices of all that went on have failed
            return Round(np.zeros(0, STATUS.dtype))
        lengths = [len(part.history) for part in parts.values()]
        islands = np.repeat(list(parts), lengths)
        steps = np.concatenate([np.arange(length) for length in lengths])
        history = np.concatenate([part.history for part in parts.values()])
        reached = steps[history["reason"] == TARGET]
        kept = steps <= (reached.min() if reached.size else len(steps))
        order = np.lexsort((islands, steps))
        order = order[kept[order]]
        means = np.concatenate([part.means for part in parts.values()])
        np.maximum.at(self._best_keys, islands[order], history["best"][order])
        left = next((part for part in parts.values() if part.best is not None), None)
        return Round(
            history[order],
            means=means[order].tolist() if means.size else [],
            seconds=longest(parts.values()),
            is_interrupted=any(part.is_interrupted for part in parts.values()),
            best=None if left is None else left.best,
            missing=sum(part.missing for part in parts.values()),
            islands=islands[order],
        )

    def _migrate(self) -> None:
        """The best of each island replace the worst of the next one."""
        pending = {i: population.emigrants(self.migration.migrants) for i, population in self._populations.items()}
        leaving = self._finished(pending)
        numbers = self.numbers
        arriving: dict[int, Callable[[], None]] = {}
        for place, island in enumerate(numbers):
            population, migrants = self._populations[island], leaving[numbers[place - 1]]
            if population.reason == 0 or migrants.keys.max() > population.best_key:
                arriving[island] = population.immigrate(migrants)
        self._finished(arriving)


def _slots(pool: DevicePool, parameters: Parameters, device_groups: Sequence[Sequence[Member]]) -> dict[str, int]:
    """How many nodes each device learns at a time; refuses populations that do not fit."""
    populations = {member.label: sum(member in group for group in device_groups) for member in pool.members}
    slots = {}
    for member in pool.members:
        sharing = sum(populations[other.label] for other in pool.members if other.info.id == member.info.id)
        slots[member.label] = nodes_at_once(parameters, member.info, member.memory().free, sharing)
    size = f"{parameters.population:,} x {parameters.n:,} genes"
    what = f"{len(device_groups)} populations of {size}" if len(device_groups) > 1 else f"the population ({size})"
    needed = {label: populations[label] * required_bytes(parameters, slots[label]) for label in slots}
    pool.require_memory(needed, what, "lower population or max_parents")
    return slots
