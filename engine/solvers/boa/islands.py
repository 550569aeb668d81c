"""Populations side by side: all the devices of a pool share one, or each island has a population and a device.

Islands go on in lockstep, a generation each at a time. Every few generations the best of each replace the worst of the
next in a ring. An island that has ended, because it is uniform or comes to nothing better, goes on once it is sent a
better individual than its best. All this depends on the number of islands and not on that of devices.

Source: E. Cantu-Paz, "Efficient and accurate parallel genetic algorithms", Kluwer 2000 (multiple-deme algorithms).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.devices import DevicePool, Member
from engine.run import SLICE_SECONDS
from engine.solvers.boa.fitness import Fitness, Function
from engine.solvers.boa.memory import node_bytes, required_bytes
from engine.solvers.boa.options import Counting, Parameters
from engine.solvers.boa.population import MOST_GENERATIONS, HostEvaluation, Population, PopulationState, Slice, Snapshot
from engine.solvers.boa.programs import HISTORY_FIELDS
from engine.solvers.boa.worker import Ending

__all__ = ["CONVERGED", "ISLAND_STRIDE", "STALLED", "TARGET", "Islands", "Migration", "Round"]

TARGET, CONVERGED, STALLED = 1, 2, 3
"""Why a population ends; 0 while it does not."""

ISLAND_STRIDE = 32
"""Island i of the population with chain c has the chain ``c + i * ISLAND_STRIDE``."""

_HOST_MEMORY = 512e6
_REASON, _BEST = HISTORY_FIELDS.index("reason"), HISTORY_FIELDS.index("best")

T = TypeVar("T")


@dataclass(frozen=True)
class Migration:
    """Every ``interval`` generations ``migrants`` individuals leave each of ``islands`` populations."""

    islands: int
    interval: int
    migrants: int


@dataclass
class Round:
    """What a slice did: rows of history by generation and island, the island and mean of each, seconds by phase."""

    history: NDArray[np.int64]
    islands: NDArray[np.int64]
    means: NDArray[np.float64] | None
    seconds: dict[str, float] = field(default_factory=dict)


class Islands:
    """Populations being evolved. A context manager: leaving it gives the device memory back.

    Parameters
    ----------
    pool : DevicePool
    parameters : Parameters
        Of the first island; the others differ in their chain.
    fitness : Fitness
    counting : sequence of {"popcount", "histogram", "tensor"}
        One for each device.
    ending : Ending
    migration : Migration
    host : callable, optional
        Keys of individuals for a fitness that devices cannot evaluate.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If the populations do not fit.
    """

    def __init__(
        self,
        pool: DevicePool,
        parameters: Parameters,
        fitness: Fitness,
        counting: Sequence[Counting],
        ending: Ending,
        migration: Migration,
        host: HostEvaluation | None = None,
    ) -> None:
        self.parameters = parameters
        self.step = 0
        self.migration = migration
        self._length = 1
        self._best_keys = np.full(migration.islands, np.iinfo(np.int64).min)
        count = migration.islands
        crews = [[pool.members[i % len(pool)]] for i in range(count)] if count > 1 else [pool.members]
        slots = _slots(pool, parameters, crews)
        ways = {member.label: way for member, way in zip(pool.members, counting, strict=True)}
        with contextlib.ExitStack() as stack:
            self._populations = [
                stack.enter_context(
                    Population(
                        crew,
                        replace(parameters, chain=parameters.chain + island * ISLAND_STRIDE),
                        fitness,
                        ways,
                        slots,
                        ending,
                        host,
                    )
                )
                for island, crew in enumerate(crews)
            ]
            # A user's function is called by one thread only; as it may fail, what came before is told at once.
            by_host = isinstance(fitness, Function)
            self._threads = 1 if by_host else min(count, len(pool))
            self._most = 1 if by_host else MOST_GENERATIONS
            self._workers = stack.enter_context(ThreadPoolExecutor(self._threads, "quintet-islands"))
            self._stack = stack.pop_all()

    def __enter__(self) -> Islands:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _all(self, task: Callable[[Population], T], populations: Sequence[Population] = ()) -> list[T]:
        """Do something with some islands or all, those on different devices at once."""
        chosen = populations or self._populations
        return (
            list(self._workers.map(task, chosen)) if self._threads > 1 else [task(population) for population in chosen]
        )

    @property
    def active(self) -> int:
        """How many islands go on."""
        return sum(population.reason == 0 for population in self._populations)

    @property
    def reason(self) -> int:
        """Why all have ended; 0 while one goes on and the target is not reached."""
        reasons = [population.reason for population in self._populations]
        return TARGET if TARGET in reasons else 0 if 0 in reasons else max(reasons)

    # --- beginning and going on ---------------------------------------------------------------------------------

    def begin(self, seeds: NDArray[np.uint8]) -> Round:
        """Draw and evaluate the initial populations; ``seeds`` (s, n) belong to the first."""
        first = self._populations[0]
        drawn = self._all(lambda population: population.begin(seeds if population is first else seeds[:0]))
        return self._merged(drawn, self._populations)

    def restore(self, step: int, states: Sequence[PopulationState]) -> None:
        """Go on from states, one an island."""
        self.step = step
        for population, state in zip(self._populations, states, strict=True):
            population.restore(state)
        self._best_keys[:] = [population.best_key for population in self._populations]

    def states(self) -> list[PopulationState]:
        """Everything needed to go on from here."""
        return self._all(Population.state)

    @property
    def _leader(self) -> Population:
        """The island with the best individual."""
        return self._populations[int(np.argmax(self._best_keys))]

    def best(self) -> NDArray[np.uint8]:
        """Genes of the best individual of all."""
        return self._leader.best()

    def snapshot(self) -> Snapshot:
        """The network and some individuals of the island with the best one."""
        return self._leader.snapshot()

    def advance(self, most: int) -> Round:
        """About a slice's worth of generations, ``most`` at most and up to the next migration."""
        interval = self.migration.interval
        count = max(1, min(self._length, most, self._most))
        if len(self._populations) > 1:
            count = min(count, interval - self.step % interval)
        going = [population for population in self._populations if population.reason == 0]
        began = time.perf_counter()
        done = self._merged(self._all(lambda population: population.advance(count), going), going)
        spent = time.perf_counter() - began
        self._length = max(1, min(2 * count, int(SLICE_SECONDS * count / max(spent, 1e-9))))
        self.step += count
        if len(self._populations) > 1 and self.reason != TARGET:
            if self.active == 0:
                self.step = -(-self.step // interval) * interval  # when they ended, does not depend on slices
            if self.step % interval == 0:
                self._migrate()
        return done

    def _merged(self, parts: Sequence[Slice], populations: Sequence[Population]) -> Round:
        """Rows by generation, then island; without what came after an island had reached the target."""
        numbers = [self._populations.index(population) for population in populations]
        islands = np.repeat(numbers, [len(part.history) for part in parts])
        steps = np.concatenate([np.arange(len(part.history)) for part in parts])
        history = np.concatenate([part.history for part in parts])
        reached = steps[history[:, _REASON] == TARGET]
        kept = steps <= (reached.min() if reached.size else len(steps))
        order = np.lexsort((islands, steps))
        order = order[kept[order]]
        means = np.concatenate([part.means for part in parts])
        np.maximum.at(self._best_keys, islands[order], history[order, _BEST])
        seconds: dict[str, float] = {}
        for part in parts:
            for phase, spent in part.seconds.items():
                seconds[phase] = max(spent, seconds.get(phase, 0.0))
        return Round(history[order], islands[order], means[order] if means.size else None, seconds)

    def _migrate(self) -> None:
        """The best of each replace the worst of the next."""
        leaving = self._all(lambda population: population.emigrants(self.migration.migrants))

        def receive(population: Population) -> None:
            migrants = leaving[self._populations.index(population) - 1]
            if population.reason == 0 or migrants.keys.max() > population.best_key:
                population.immigrate(migrants)

        self._all(receive)


def _slots(pool: DevicePool, parameters: Parameters, crews: Sequence[Sequence[Member]]) -> dict[str, int]:
    """How many nodes each device learns at a time, in at most half of its free memory; refuses what does not fit."""
    populations = {member.label: sum(member in crew for crew in crews) for member in pool.members}
    sharing = {
        member.info.id: sum(populations[other.label] for other in pool.members if other.info.id == member.info.id)
        for member in pool.members
    }
    slots, needed = {}, {}
    each = node_bytes(parameters)
    for member in pool.members:
        room = member.memory().free / 2 / max(1, sharing[member.info.id])
        if member.info.capabilities.host_visible_memory:
            room = min(room, _HOST_MEMORY)
        slots[member.label] = max(1, min(parameters.n, int(room // each))) if each else parameters.n
        needed[member.label] = populations[member.label] * required_bytes(parameters, slots[member.label])
    islands = f"{len(crews)} populations of" if len(crews) > 1 else "the population"
    size = f"{parameters.population:,} x {parameters.n:,} genes"
    pool.require_memory(
        needed, f"{islands} {size}" if len(crews) > 1 else f"{islands} ({size})", "lower population or max_parents"
    )
    return slots
