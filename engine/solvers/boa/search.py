"""One population on one or several devices: slices of generations, and what passes between devices.

Every device holds the whole population and does selection and replacement for itself, so they agree without a word.
Nodes are shared out for learning and offspring for sampling; networks and offspring then pass through the host.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Device, DevicePool, Member, gather
from engine.run import SLICE_SECONDS
from engine.solvers.boa.fitness import Fitness, Function
from engine.solvers.boa.kernels import shapes_for
from engine.solvers.boa.settings import Counting, Settings
from engine.solvers.boa.twin import permutation, permutations
from engine.solvers.boa.worker import Ending, Network, Share, Worker, node_bytes, required_bytes

__all__ = ["PHASES", "Search", "Snapshot", "shares"]

PHASES = ("selection", "learning", "sampling", "evaluation", "replacement")
"""The parts of a generation whose seconds are told."""

_MOST_GENERATIONS = 64
_HOST_MEMORY = 512e6

HostEvaluation = Callable[[NDArray[np.uint8]], NDArray[np.int64]]


@dataclass(frozen=True)
class Snapshot:
    """Where a population is, as a checkpoint keeps it."""

    planes: NDArray[np.uint32]
    keys: NDArray[np.int64]
    status: NDArray[np.int64]
    network: Network


@dataclass
class Slice:
    """What some generations did: their rows of history, and seconds by phase of one of them."""

    history: NDArray[np.int64]
    seconds: dict[str, float] = field(default_factory=dict)


def shares(settings: Settings, count: int) -> list[Share]:
    """Nodes and offspring of each of ``count`` devices; node r has r candidates, so later devices get fewer nodes."""
    words = -(-settings.offspring // 32)
    nodes = [round(settings.n * math.sqrt(part / count)) for part in range(count + 1)]
    columns = [words * part // count for part in range(count + 1)]
    return [Share(nodes[part], nodes[part + 1], columns[part], columns[part + 1]) for part in range(count)]


class Search:
    """A population being evolved. A context manager: leaving it gives the device memory back.

    Parameters
    ----------
    pool : DevicePool
    settings : Settings
    fitness : Fitness
    counting : {"popcount", "histogram", "tensor"}
    ending : Ending
    host : callable, optional
        Keys of individuals for a fitness that devices cannot evaluate.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If the population does not fit.
    """

    def __init__(
        self,
        pool: DevicePool,
        settings: Settings,
        fitness: Fitness,
        counting: Sequence[Counting],
        ending: Ending,
        host: HostEvaluation | None = None,
    ) -> None:
        self.settings = settings
        self.generation = 0
        self._ending = ending
        self._fitness = fitness
        self._host = host
        self._members = pool.members
        self._shares = shares(settings, len(pool.members))
        self._together = len(pool.members) == 1 and not isinstance(fitness, Function)
        self._length = 1
        slots = [self._slots(member) for member in pool.members]
        pool.require_memory(
            {member.label: required_bytes(settings, slot) for member, slot in zip(pool.members, slots, strict=True)},
            f"the population ({settings.population:,} x {settings.n:,} genes)",
            "lower population or max_parents",
        )
        made = [
            member.submit(_make, settings, fitness, member_counting, slot, _MOST_GENERATIONS if self._together else 1)
            for member, slot, member_counting in zip(pool.members, slots, counting, strict=True)
        ]
        self._workers: list[Worker] = gather(made)

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *exception: object) -> None:
        self._all(lambda worker: worker.release())

    def _slots(self, member: Member) -> int:
        """How many nodes a device learns at a time, in at most half of its free memory."""
        each = node_bytes(self.settings)
        if each == 0:
            return self.settings.n
        room = member.memory().free / 2 / sum(other.info.id == member.info.id for other in self._members)
        if member.info.capabilities.unified_host_memory:
            room = min(room, _HOST_MEMORY)
        return max(1, min(self.settings.n, int(room // each)))

    def _all(self, task: Callable[[Worker], Any]) -> list[Any]:
        """Do something with every worker, on its own thread."""
        return gather(
            [member.submit(_with, worker, task) for member, worker in zip(self._members, self._workers, strict=True)]
        )

    def _each(self, task: Callable[[Worker, Share], Any]) -> list[Any]:
        return gather(
            [
                member.submit(_with_share, worker, task, share)
                for member, worker, share in zip(self._members, self._workers, self._shares, strict=True)
            ]
        )

    # --- beginning ----------------------------------------------------------------------------------------------

    def begin(self, seeds: NDArray[np.uint8]) -> Slice:
        """Draw and evaluate the initial population, ``seeds`` (s, n) among it."""
        self._all(lambda worker: worker.draw(seeds))
        if self._host is None:
            self._all(lambda worker: worker.evaluate_population())
        else:
            planes, _ = self._all(lambda worker: worker.population())[0]
            keys = self._host(_individuals(planes, self.settings.population))
            self._all(lambda worker: worker.set_keys(keys))
        self._all(lambda worker: worker.summarise(0, 0, self._ending))
        return Slice(self._all(lambda worker: worker.history(1))[0])

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot."""

        def load(worker: Worker) -> None:
            worker.load(snapshot.planes, snapshot.keys, snapshot.status)
            worker.set_network(snapshot.network)

        self._all(load)
        self.generation = int(snapshot.status[1])

    def snapshot(self) -> Snapshot:
        """Everything needed to go on from here."""

        def read(worker: Worker) -> Snapshot:
            planes, keys = worker.population()
            return Snapshot(planes, keys, worker.device.get(worker.status), worker.network())

        snapshot: Snapshot = self._members[0].submit(_with, self._workers[0], read).result()
        return snapshot

    def best(self) -> NDArray[np.uint8]:
        """Genes of the best individual."""
        genes: NDArray[np.uint8] = self._members[0].submit(_with, self._workers[0], Worker.best).result()
        return genes

    def network(self) -> Network:
        """The last network learned, by rank; see :func:`order`."""
        network: Network = self._members[0].submit(_with, self._workers[0], Worker.network).result()
        return network

    def order(self) -> NDArray[np.int32]:
        """Gene of each rank in the last network."""
        return permutation(self.settings, max(0, self.generation - 1))

    # --- generations --------------------------------------------------------------------------------------------

    def advance(self, most: int) -> Slice:
        """About a slice's worth of generations, ``most`` at most; fewer if the search ends by itself."""
        if not self._together:
            return self._one_by_one()
        count = max(1, min(self._length, most))
        first = self.generation
        orders = permutations(self.settings, first, count)
        began = time.perf_counter()
        done: Slice = (
            self._members[0].submit(_run_slice, self._workers[0], first, orders, self._ending, self.settings).result()
        )
        spent = time.perf_counter() - began
        self.generation = first + len(done.history)
        self._length = max(1, min(_MOST_GENERATIONS, 2 * count, int(SLICE_SECONDS * count / max(spent, 1e-9))))
        return done

    def _one_by_one(self) -> Slice:
        """One generation on several devices, or with evaluation by the host."""
        settings, generation, ending = self.settings, self.generation, self._ending
        order = permutation(settings, generation)[None]
        seconds = dict.fromkeys(PHASES, 0.0)
        clock = time.perf_counter()

        def lap(phase: str) -> None:
            nonlocal clock
            now = time.perf_counter()
            seconds[phase] += now - clock
            clock = now

        def select(worker: Worker) -> None:
            worker.put_orders(order)
            worker.select(generation, 0)
            worker.device.sync()

        self._all(select)
        lap("selection")
        self._learn(generation)
        lap("learning")

        def sample(worker: Worker, share: Share) -> None:
            worker.sample(generation, share.first_word, share.last_word)
            worker.device.sync()

        self._each(sample)
        lap("sampling")
        self._evaluate()
        lap("evaluation")

        def finish(worker: Worker) -> NDArray[np.int64]:
            worker.replace(generation)
            worker.summarise(generation + 1, 0, ending)
            return worker.history(1)

        rows: NDArray[np.int64] = self._all(finish)[0]
        lap("replacement")
        self.generation += 1
        return Slice(rows, seconds)

    def _learn(self, generation: int) -> None:
        if not self.settings.learns(generation):
            self._all(lambda worker: worker.recount())
            return
        self._each(lambda worker, share: worker.learn(share.first_node, share.last_node))
        if len(self._members) > 1 and self.settings.max_parents > 0:
            parts: list[Network] = self._all(lambda worker: worker.network())
            whole = Network(
                *(
                    np.concatenate(
                        [
                            getattr(part, name)[share.first_node : share.last_node]
                            for part, share in zip(parts, self._shares, strict=True)
                        ]
                    )
                    for name in ("parents", "parent_count", "totals")
                )
            )
            self._all(lambda worker: worker.set_network(whole))
        else:
            self._all(lambda worker: worker.device.sync())

    def _evaluate(self) -> None:
        if self._host is None:
            self._each(lambda worker, share: worker.evaluate(share.first_word, share.last_word))
        parts: list[tuple[NDArray[np.uint32], NDArray[np.int64]]] = self._all(lambda worker: worker.offspring())
        planes, keys = parts[0]
        for (other_planes, other_keys), share in zip(parts[1:], self._shares[1:], strict=True):
            planes[:, share.first_word : share.last_word] = other_planes[:, share.first_word : share.last_word]
            keys[32 * share.first_word : 32 * share.last_word] = other_keys[
                32 * share.first_word : 32 * share.last_word
            ]
        if self._host is not None:
            keys = self._host(_individuals(planes, self.settings.offspring))
        several = len(self._members) > 1
        if several or self._host is not None:
            self._all(lambda worker: worker.set_offspring(planes if several else None, keys))


def _make(device: Device, settings: Settings, fitness: Fitness, counting: Counting, slots: int, history: int) -> Worker:
    return Worker(device, shapes_for(device.capabilities), settings, fitness, counting, slots, history)


def _with(device: Device, worker: Worker, task: Callable[[Worker], Any]) -> Any:
    return task(worker)


def _with_share(device: Device, worker: Worker, task: Callable[[Worker, Share], Any], share: Share) -> Any:
    return task(worker, share)


def _run_slice(
    device: Device, worker: Worker, first: int, orders: NDArray[np.int32], ending: Ending, settings: Settings
) -> Slice:
    """Give the device all the generations of a slice, the first of them timed phase by phase."""
    seconds: dict[str, float] = {}
    words = -(-settings.offspring // 32)
    worker.put_orders(orders)
    for place in range(len(orders)):
        generation = first + place
        steps: tuple[Callable[[], object], ...] = (
            lambda: worker.select(generation, place),  # noqa: B023 - called at once
            lambda: worker.learn(0, settings.n) if settings.learns(generation) else worker.recount(),  # noqa: B023
            lambda: worker.sample(generation, 0, words),  # noqa: B023
            lambda: worker.evaluate(0, words),
            lambda: worker.replace(generation),  # noqa: B023
        )
        for phase, step in zip(PHASES, steps, strict=True):
            began = time.perf_counter()
            step()
            if place == 0:
                device.sync()
                seconds[phase] = time.perf_counter() - began
        worker.summarise(generation + 1, place, ending)
    rows = worker.history(len(orders))
    ended = np.flatnonzero(rows[:, 0])
    return Slice(rows[: ended[0] + 1] if ended.size else rows, seconds)


def _individuals(planes: NDArray[np.uint32], count: int) -> NDArray[np.uint8]:
    bits = np.unpackbits(planes.astype("<u4", copy=False).view(np.uint8), axis=1, count=None, bitorder="little")
    return np.ascontiguousarray(bits[:, :count].T)
