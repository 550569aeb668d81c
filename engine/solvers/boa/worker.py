"""One device's part of a run: its population, and the steps of a generation. Everything runs on the device's thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer, Device
from engine.numerics.philox import stream_word
from engine.solvers.boa.fitness import Fitness, Function
from engine.solvers.boa.learner import Learner
from engine.solvers.boa.memory import FIELDS, SAMPLE_WORDS, PopulationMemory
from engine.solvers.boa.options import (
    STREAM_INITIAL,
    STREAM_OFFSPRING,
    STREAM_TOURNAMENT,
    STREAM_WINDOW,
    Counting,
    Parameters,
    padded_words,
)
from engine.solvers.boa.programs import Launcher, Shapes

__all__ = ["DevicePopulation", "Ending", "Migrants"]


@dataclass(frozen=True)
class Ending:
    """When the device stops by itself: a key to reach, and how many generations may pass without a better one."""

    target: int | None
    patience: int


@dataclass(frozen=True)
class Migrants:
    """Individuals on their way to another population: bit planes (n, words) and keys (m,)."""

    planes: NDArray[np.uint32]
    keys: NDArray[np.int64]


class DevicePopulation:
    """State on one device.

    Parameters
    ----------
    device : Device
    shapes : Shapes
    parameters : Parameters
    fitness : Fitness
    counting : {"popcount", "histogram", "tensor"}
    slots : int
        Nodes learned at a time.
    history : int
        Generations that may pass between two readings.
    """

    def __init__(
        self,
        device: Device,
        shapes: Shapes,
        parameters: Parameters,
        fitness: Fitness,
        counting: Counting,
        slots: int,
        history: int,
    ) -> None:
        self.device = device
        self.parameters = parameters
        self.shapes = shapes
        self.memory = PopulationMemory(device, parameters, fitness, slots, history)
        self.launcher = Launcher(
            device,
            shapes,
            max_parents=parameters.max_parents,
            laplace=parameters.probabilities == "laplace",
            tournament=parameters.tournament_size,
            counting=counting,
            fitness=None if isinstance(fitness, Function) else fitness,
        )
        self.learner = Learner(self.memory, self.launcher, parameters)

    def release(self) -> None:
        """Give the memory back."""
        self.memory.release()

    # --- the population -----------------------------------------------------------------------------------------

    def draw(self, seeds: NDArray[np.uint8]) -> None:
        """The initial population; ``seeds`` (s, n) become its first s individuals."""
        memory, parameters = self.memory, self.parameters
        stream = stream_word(STREAM_INITIAL, parameters.chain)
        quads = memory.words // 4 * parameters.n
        self.launcher.spread(
            "draw_population",
            quads,
            *(memory.population, parameters.n, memory.words, parameters.population, parameters.seed, stream),
        )
        self.device.zero(memory.status)
        if len(seeds):
            words = -(-len(seeds) // 32)
            known = np.zeros((parameters.n, 32 * words), np.uint8)
            known[:, : len(seeds)] = seeds.T
            packed = np.packbits(known, axis=1, bitorder="little").view("<u4").astype(np.uint32)
            planes = self.device.get(memory.population).reshape(parameters.n, memory.words)
            mask = np.packbits(np.arange(32 * words) < len(seeds), bitorder="little").view("<u4").astype(np.uint32)
            planes[:, :words] = (planes[:, :words] & ~mask) | packed
            self.device.put(planes.ravel(), memory.population)

    def evaluate_population(self) -> None:
        """Keys of the whole population, by the device."""
        memory = self.memory
        self.launcher.evaluate(
            *(memory.population, memory.words, 0, self.parameters.population, memory.keys, memory.status),
            *memory.fitness_arguments,
        )

    def population(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Bit planes (n, words) and keys (N,)."""
        memory = self.memory
        planes = self.device.get(memory.population).reshape(self.parameters.n, memory.words)
        return planes, self.keys()

    def keys(self) -> NDArray[np.int64]:
        """Keys (N,) of the population."""
        return self.device.get(self.memory.keys)

    def load(self, planes: NDArray[np.uint32], keys: NDArray[np.int64], status: NDArray[np.int64]) -> None:
        """Go on from a population and status that were read before."""
        memory = self.memory
        self.device.put(planes.ravel(), memory.population)
        self.device.put(keys, memory.keys)
        self.device.put(status, memory.status)

    def set_keys(self, keys: NDArray[np.int64]) -> None:
        """Keys of the population, from the host."""
        self.device.put(keys, self.memory.keys)

    # --- a generation, in three parts ---------------------------------------------------------------------------

    def put_orders(self, orders: NDArray[np.int32]) -> None:
        """Permutations of the generations to come; shape (generations, n)."""
        self.device.put(orders.ravel(), self.memory.order)

    def select(self, generation: int, place: int) -> None:
        """Choose whom to learn from, and bring their genes into the order of permutation ``place``."""
        memory, parameters = self.memory, self.parameters
        count = parameters.population
        self.device.copy(memory.present_order, memory.order, 0, place * parameters.n, parameters.n)
        if parameters.selection == "truncation":
            self._best(parameters.selected, memory.columns)
        else:
            stream = stream_word(STREAM_TOURNAMENT, parameters.chain)
            self.launcher.spread(
                "run_tournaments",
                parameters.selected,
                *(memory.keys, count, parameters.selected, memory.columns),
                *(parameters.seed, stream, generation, memory.status),
            )
        self.launcher.tiles(
            "gather_planes",
            memory.chosen_words,
            parameters.n,
            *(memory.population, memory.words, memory.columns, parameters.selected, memory.present_order, parameters.n),
            *(memory.chosen, memory.chosen_words, memory.status),
        )

    def _best(self, wanted: int, chosen: Buffer) -> None:
        memory = self.memory
        self.launcher.groups(
            "select_best", 1, memory.keys, self.parameters.population, wanted, chosen, memory.source, memory.status
        )

    def sample(self, generation: int, first: int, last: int) -> None:
        """Words first .. last - 1 of the offspring, sampled from the network."""
        memory, parameters = self.memory, self.parameters
        self.launcher.spread(
            "make_probabilities",
            parameters.n << parameters.max_parents,
            *(memory.totals, memory.parent_count, parameters.n, memory.thresholds, memory.status),
        )
        self.launcher.groups(
            "plan_levels",
            1,
            *(memory.parents, memory.parent_count, parameters.n),
            *(memory.level_of, memory.levels, memory.schedule, memory.status),
        )
        self.launcher.groups(
            "sample_offspring",
            -(-(last - first) // self.shapes.sample_words),
            *(memory.parents, memory.parent_count, memory.thresholds),
            *(memory.present_order, memory.levels, memory.schedule),
            *(first, last, memory.offspring, memory.offspring_words, parameters.offspring),
            *(parameters.seed, stream_word(STREAM_OFFSPRING, parameters.chain), generation, memory.status),
        )

    def evaluate(self, first: int, last: int) -> None:
        """Keys of words first .. last - 1 of the offspring, by the device."""
        memory = self.memory
        count = min(32 * last, self.parameters.offspring)
        self.launcher.evaluate(
            *(memory.offspring, memory.offspring_words, 32 * first, count, memory.offspring_keys, memory.status),
            *memory.fitness_arguments,
        )

    def offspring(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Bit planes (n, words) and keys (M,) of the offspring."""
        memory = self.memory
        planes = self.device.get(memory.offspring).reshape(self.parameters.n, memory.offspring_words)
        return planes, self.device.get(memory.offspring_keys)

    def set_offspring(self, planes: NDArray[np.uint32] | None, keys: NDArray[np.int64]) -> None:
        """Offspring put together from several devices, or the keys that the host gives them."""
        memory = self.memory
        if planes is not None:
            self.device.put(planes.ravel(), memory.offspring)
        self.device.put(keys, memory.offspring_keys)

    def replace(self, generation: int) -> None:
        """Bring the offspring into the population."""
        memory, parameters = self.memory, self.parameters
        if parameters.replacement == "rtr":
            self._find_nearest(generation)
        elif (
            parameters.selection == "tournament" or parameters.offspring != parameters.population - parameters.selected
        ):
            self._best(parameters.population - parameters.offspring, memory.kept)
        self._merge(memory.offspring_words)

    def _merge(self, offspring_words: int) -> None:
        memory, parameters = self.memory, self.parameters
        self.launcher.tiles(
            "merge_planes",
            memory.words,
            parameters.n,
            *(memory.population, memory.words, memory.keys, parameters.population),
            *(memory.offspring, offspring_words, memory.offspring_keys, memory.source, parameters.n, memory.status),
        )

    def _find_nearest(self, generation: int) -> None:
        memory, parameters = self.memory, self.parameters
        count = parameters.population
        row_words = -(-parameters.n // 32)
        for planes, words, individuals, rows in (
            (memory.population, memory.words, count, memory.population_rows),
            (memory.offspring, memory.offspring_words, parameters.offspring, memory.offspring_rows),
        ):
            self.launcher.spread(
                "turn_planes", individuals * row_words, planes, words, parameters.n, individuals, rows, memory.status
            )
        self.launcher.groups(
            "find_nearest",
            parameters.offspring,
            *(memory.population_rows, memory.offspring_rows, parameters.n, count, memory.keys, memory.offspring_keys),
            *(parameters.window, parameters.seed, stream_word(STREAM_WINDOW, parameters.chain), generation),
            *(memory.heads, memory.next, memory.status),
        )
        self.launcher.spread(
            "settle", count, memory.heads, memory.next, memory.offspring_keys, count, memory.source, memory.status
        )

    def summarise(self, generation: int, place: int, ending: Ending) -> None:
        """Note the state after ``generation`` generations as row ``place`` of the history."""
        memory = self.memory
        target = 0 if ending.target is None else ending.target
        self.launcher.groups(
            "summarise",
            1,
            *(memory.keys, self.parameters.population, memory.status, memory.history, place),
            *(target, int(ending.target is not None), ending.patience, generation, int(generation > 0)),
            *(memory.totals, memory.parent_count, self.parameters.n, memory.entropies),
        )

    # --- migration ----------------------------------------------------------------------------------------------

    def emigrants(self, count: int) -> Migrants:
        """Copies of the ``count`` best individuals, in the order of their numbers; also after the population's end."""
        memory = self.memory
        n, words = self.parameters.n, padded_words(count)
        ended = self.device.get(memory.status, 0, 1)
        self._set_reason(0)
        self.device.put(np.arange(n, dtype=np.int32), memory.present_order)
        self._best(count, memory.columns)
        self.launcher.tiles(
            "gather_planes",
            words,
            n,
            *(memory.population, memory.words, memory.columns, count, memory.present_order, n),
            *(memory.chosen, words, memory.status),
        )
        planes = self.device.get(memory.chosen, 0, n * words).reshape(n, words)
        keys = self.keys()[self.device.get(memory.columns, 0, count)]
        self._set_reason(int(ended[0]))
        return Migrants(planes, keys)

    def immigrate(self, migrants: Migrants) -> None:
        """Let individuals take the places of the worst; a population that had ended goes on."""
        memory, parameters = self.memory, self.parameters
        words = migrants.planes.shape[1]
        self._set_reason(0)
        self.device.put(migrants.planes.ravel(), memory.offspring)
        self.device.put(migrants.keys, memory.offspring_keys)
        self._best(parameters.population - len(migrants.keys), memory.kept)
        self._merge(words)

    def _set_reason(self, reason: int) -> None:
        self.device.put(np.array([reason], np.int64), self.memory.status)

    # --- reading ------------------------------------------------------------------------------------------------

    def history(self, count: int) -> NDArray[np.int64]:
        """The first ``count`` rows of the history, shape (count, fields); see :data:`HISTORY_FIELDS`."""
        return self.device.get(self.memory.history, 0, count * FIELDS).reshape(count, FIELDS)

    def best(self) -> NDArray[np.uint8]:
        """Genes of the best individual."""
        memory = self.memory
        n = self.parameters.n
        self.launcher.spread("read_individual", n, memory.population, memory.words, n, memory.status, memory.genes)
        return self.device.get(memory.genes)

    def first_individuals(self) -> NDArray[np.uint32]:
        """The bit planes (n, words) of the first 64 individuals."""
        memory = self.memory
        n = self.parameters.n
        words = min(SAMPLE_WORDS, -(-self.parameters.population // 32))
        self.launcher.spread("read_sample", n * words, memory.population, memory.words, n, words, memory.sample)
        return self.device.get(memory.sample, 0, n * words).reshape(n, words)
