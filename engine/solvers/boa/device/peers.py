"""A generation of devices that read each other's memory: every device makes a part of it, and takes the others' parts.

Before an exchange each device waits for its own work, so a failure shows before another device reads what it has left.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Communicator
from ....errors import PeerFailed
from ..balance import Share
from .memory import PopulationMemory
from .state import Ending
from .worker import DevicePopulation


@dataclass(frozen=True)
class Rank:
    """How devices exchange, which of them this one is, and what each of them does."""

    communicator: Communicator
    rank: int
    shares: tuple[Share, ...]

    @property
    def share(self) -> Share:
        """What this device does."""
        return self.shares[self.rank]

    def part(self, tiles: int, rank: int) -> tuple[int, int]:
        """A device's part of so many tiles: the first, and the one after the last."""
        return tiles * rank // self.communicator.size, tiles * (rank + 1) // self.communicator.size


@dataclass
class PeerOffspring:
    """What came of a generation up to its evaluated offspring: seconds by phase, and whether it was finished."""

    seconds: dict[str, float] = field(default_factory=dict)
    finished: bool = True
    _began: float = field(default_factory=time.perf_counter)

    def lap(self, phase: str) -> None:
        """Since the last lap there was this phase."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._began
        self._began = now


def _others(worker: DevicePopulation, place: Rank, finished: bool = True) -> Iterator[tuple[int, PopulationMemory]]:
    """Wait for this device's work and the others'; number and memory of each, or nothing if one has not finished."""
    worker.device.sync()
    found = place.communicator.all_gather(place.rank, (worker.memory, finished))
    if all(each for _, each in found):
        yield from ((rank, memory) for rank, (memory, _) in enumerate(found) if rank != place.rank)


def _take_words(worker: DevicePopulation, target: Buffer, source: Buffer, stride: int, words: tuple[int, int]) -> None:
    """Words first .. last - 1 of every plane, from planes in another device's memory."""
    first, last = words[0], min(words[1], stride)
    n, shapes = worker.parameters.n, worker.shapes
    grid = shapes.spread(max(0, last - first) * n, shapes.node_block)
    worker.programs.gather.take_words(
        grid, shapes.node_block, source=source, planes=target, stride=stride, n=n, first=first, last=last
    )


def _take_range(worker: DevicePopulation, target: Buffer, source: Buffer, first: int, last: int) -> None:
    last = min(last, target.size)
    if first < last:
        worker.device.copy_from_peer(target, source, first, first, last - first)


def offspring_by_peers(
    worker: DevicePopulation, order: NDArray[np.int32], generation: int, place: Rank
) -> PeerOffspring:
    """Select, learn, sample, improve and evaluate parts; ``PeerFailed``, with nothing changed, if another failed."""
    done = PeerOffspring()
    worker.put_orders(order)
    _select(worker, place)
    done.lap("selection")
    if worker.parameters.max_parents:
        done.finished &= worker.learner.learn(place.share.first_node, place.share.last_node)
        worker.device.sync()
        done.lap("learning")
        _take_network(worker, place)
    else:
        worker.learner.recount()
    first, last = place.share.first_word, place.share.last_word
    done.finished &= worker.sample(generation, first, last)
    worker.device.sync()
    done.lap("sampling")
    done.finished = done.finished and worker.improve(generation, first, last)
    if worker.parameters.improvement is not None:
        worker.device.sync()
        done.lap("improvement")
    if done.finished:
        done.finished = worker.evaluation.evaluate_offspring(first, last)
    memory = worker.memory
    for rank, other in _others(worker, place, done.finished):
        share = place.shares[rank]
        words = share.first_word, share.last_word
        _take_words(worker, memory.offspring, other.offspring, memory.offspring_words, words)
        _take_range(worker, memory.offspring_keys, other.offspring_keys, 32 * words[0], 32 * words[1])
    worker.device.sync()
    done.lap("evaluation")
    return done


def _select(worker: DevicePopulation, place: Rank) -> None:
    selection, memory, tile = worker.selection, worker.memory, worker.shapes.tile_words
    selection.choose(0)
    selection.gather_chosen(*place.part(selection.chosen_tiles, place.rank))
    for rank, other in _others(worker, place):
        first, last = place.part(selection.chosen_tiles, rank)
        _take_words(worker, memory.chosen, other.chosen, memory.chosen_words, (tile * first, tile * last))


def _take_network(worker: DevicePopulation, place: Rank) -> None:
    memory, n = worker.memory, worker.parameters.n
    for rank, other in _others(worker, place):
        share = place.shares[rank]
        for target, source in (
            (memory.parents, other.parents),
            (memory.parent_count, other.parent_count),
            (memory.totals, other.totals),
        ):
            row = target.size // n
            _take_range(worker, target, source, row * share.first_node, row * share.last_node)


def finish_by_peers(worker: DevicePopulation, generation: int, ending: Ending, place: Rank) -> NDArray[np.void]:
    """Replace, and return the row of the history; if another device fails, this one makes the parts of all."""
    selection, memory, tile = worker.selection, worker.memory, worker.shapes.tile_words
    tiles = selection.population_tiles
    selection.merge_offspring(*place.part(tiles, place.rank))
    try:
        for rank, other in _others(worker, place):
            first, last = (tile * end for end in place.part(tiles, rank))
            _take_words(worker, memory.population, other.population, memory.words, (first, last))
            _take_range(worker, memory.keys, other.keys, 32 * first, 32 * last)
    except PeerFailed:
        selection.merge_offspring(0, tiles)
    return worker.summarise(generation + 1, 0, ending)
