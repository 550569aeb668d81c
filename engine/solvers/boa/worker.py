"""One device's part of a run: its population, and the steps of a generation. Everything runs on the device's thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer, Device
from engine.numerics.philox import stream_word
from engine.solvers.boa.fitness import Decomposable, Fitness, Function, Hierarchy
from engine.solvers.boa.kernels import HISTORY_FIELDS, Launcher, Shapes
from engine.solvers.boa.scores import entropy_table, score_tables
from engine.solvers.boa.settings import (
    STREAM_INITIAL,
    STREAM_OFFSPRING,
    STREAM_TOURNAMENT,
    STREAM_WINDOW,
    Counting,
    Settings,
    padded_words,
)

__all__ = ["Ending", "Migrants", "Network", "Worker", "required_bytes"]

_FIELDS = len(HISTORY_FIELDS)
_SAMPLE_WORDS = 2


@dataclass(frozen=True)
class Ending:
    """When the device stops by itself: a key to reach, and how many generations may pass without a better one."""

    target: int | None
    patience: int


@dataclass(frozen=True)
class Network:
    """A network by rank: parents (n, k), their numbers (n,), and counts (n, 2^(k+1)), as the kernels keep them."""

    parents: NDArray[np.int32]
    parent_count: NDArray[np.int32]
    totals: NDArray[np.int32]


@dataclass(frozen=True)
class Migrants:
    """Individuals on their way to another population: bit planes (n, words) and keys (m,)."""

    planes: NDArray[np.uint32]
    keys: NDArray[np.int64]


def required_bytes(settings: Settings, slots: int) -> int:
    """Device memory that a run takes, with ``slots`` nodes learned at a time."""
    n, k = settings.n, max(1, settings.max_parents)
    words = sum(padded_words(count) for count in (settings.population, settings.selected, settings.offspring))
    planes = 4 * n * words
    rows = (1 << k) - k - 1
    network = 4 * n * (k + (3 << k) + 8)
    rtr = 0
    if settings.replacement == "rtr":
        rtr = (settings.population + settings.offspring) * 4 * (-(-n // 32)) + 4 * (
            settings.population + settings.offspring
        )
    keys = 8 * (settings.population + settings.offspring) + 4 * (2 * settings.population + settings.selected)
    tables = (8 * (k + 1) + 4) * (settings.selected + 2)
    return planes + 4 * n * n + node_bytes(settings) * slots * (rows > 0) + network + rtr + keys + tables


def node_bytes(settings: Settings) -> int:
    """Memory for the masks and counts of a node."""
    k = max(1, settings.max_parents)
    return 4 * ((1 << k) - k - 1) * (padded_words(settings.selected) + settings.n)


class Worker:
    """State on one device.

    Parameters
    ----------
    device : Device
    shapes : Shapes
    settings : Settings
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
        settings: Settings,
        fitness: Fitness,
        counting: Counting,
        slots: int,
        history: int,
    ) -> None:
        self.device = device
        self.settings = settings
        self.shapes = shapes
        self._slots = slots
        n, k = settings.n, settings.max_parents
        self._depth = max(1, k)
        self._rows = (1 << self._depth) - self._depth - 1
        self._buffers: list[Buffer] = []
        self._words = padded_words(settings.population)
        self._chosen_words = padded_words(settings.selected)
        self._offspring_words = padded_words(settings.offspring)
        empty = self._empty
        self._population = empty(n * self._words, np.uint32)
        self._chosen = empty(n * self._chosen_words, np.uint32)
        self._offspring = empty(n * self._offspring_words, np.uint32)
        device.zero(self._offspring)
        self._keys = empty(settings.population, np.int64)
        self._offspring_keys = empty(settings.offspring, np.int64)
        self._columns = empty(settings.selected, np.int32)
        self._kept = empty(settings.population, np.int32)
        self._source = empty(settings.population, np.int32)
        self._order = empty(history * n, np.int32)
        self._present_order = empty(n, np.int32)
        self._pairs = empty(n * n, np.int32)
        self._masks = empty(slots * self._rows * self._chosen_words, np.uint32)
        self._counts = empty(slots * self._rows * n, np.int32)
        self._active = empty(slots + 1, np.int32)
        self._parents = empty(n * self._depth, np.int32)
        self._parent_count = empty(n, np.int32)
        self._scores = empty(n, np.uint32)
        self._totals = empty(n << (k + 1), np.int32)
        device.zero(self._parents)
        device.zero(self._parent_count)
        device.zero(self._totals)
        self._thresholds = empty(n << k, np.uint32)
        self._level_of = empty(n, np.int32)
        self._levels = empty(n + 2, np.int32)
        self._schedule = empty(n, np.int32)
        self.status = empty(_FIELDS, np.int64)
        self._history = empty(history * _FIELDS, np.int64)
        self._genes = empty(n, np.uint8)
        self._sample = empty(_SAMPLE_WORDS * n, np.uint32)
        self._entropies = self._put(entropy_table(settings.selected))
        tables = score_tables(settings.score, settings.selected, self._depth, settings.equivalent_sample_size)
        self._tables = self._put(tables.wrapped().ravel())
        self._table_row = settings.selected + 2
        self._prices = tables.prices
        if settings.replacement == "rtr":
            row_words = -(-n // 32)
            self._population_rows = empty(settings.population * row_words, np.uint32)
            self._offspring_rows = empty(settings.offspring * row_words, np.uint32)
            self._heads = empty(settings.population, np.uint32)
            self._next = empty(settings.offspring, np.uint32)
            device.zero(self._heads)
        self._fitness = None if isinstance(fitness, Function) else fitness
        self._fitness_arguments = self._fitness_buffers(fitness)
        self.launcher = Launcher(
            device,
            shapes,
            max_parents=k,
            laplace=settings.probabilities == "laplace",
            tournament=settings.tournament_size,
            counting=counting,
            fitness=self._fitness,
        )

    def _empty(self, count: int, dtype: Any) -> Buffer:
        self._buffers.append(self.device.empty(count, dtype))
        return self._buffers[-1]

    def _put(self, array: NDArray[Any]) -> Buffer:
        self._buffers.append(self.device.put(array))
        return self._buffers[-1]

    def _fitness_buffers(self, fitness: Fitness) -> tuple[Buffer | int, ...]:
        if isinstance(fitness, Decomposable):
            kind = np.int32 if fitness.narrow else np.int64
            return (
                self._put(fitness.genes),
                self._put(fitness.scope_starts),
                self._put(fitness.table_starts),
                self._put(fitness.tables.astype(kind)),
                len(fitness.table_starts),
                fitness.constant,
            )
        return (fitness.n,) if isinstance(fitness, Hierarchy) else ()

    def release(self) -> None:
        """Give the memory back."""
        for buffer in self._buffers:
            self.device.release(buffer)

    # --- the population -----------------------------------------------------------------------------------------

    def draw(self, seeds: NDArray[np.uint8]) -> None:
        """The initial population; ``seeds`` (s, n) become its first s individuals."""
        settings = self.settings
        stream = stream_word(STREAM_INITIAL, settings.chain)
        quads = self._words // 4 * settings.n
        self.launcher.spread(
            "draw_population",
            quads,
            *(self._population, settings.n, self._words, settings.population, settings.seed, stream),
        )
        self.device.zero(self.status)
        if len(seeds):
            words = -(-len(seeds) // 32)
            known = np.zeros((settings.n, 32 * words), np.uint8)
            known[:, : len(seeds)] = seeds.T
            packed = np.packbits(known, axis=1, bitorder="little").view("<u4").astype(np.uint32)
            planes = self.device.get(self._population).reshape(settings.n, self._words)
            mask = np.packbits(np.arange(32 * words) < len(seeds), bitorder="little").view("<u4").astype(np.uint32)
            planes[:, :words] = (planes[:, :words] & ~mask) | packed
            self.device.put(planes.ravel(), self._population)

    def evaluate_population(self) -> None:
        """Keys of the whole population, by the device."""
        self.launcher.evaluate(
            *(self._population, self._words, 0, self.settings.population, self._keys, self.status),
            *self._fitness_arguments,
        )

    def population(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Bit planes (n, words) and keys (N,)."""
        planes = self.device.get(self._population).reshape(self.settings.n, self._words)
        return planes, self.keys()

    def keys(self) -> NDArray[np.int64]:
        """Keys (N,) of the population."""
        return self.device.get(self._keys)

    def load(self, planes: NDArray[np.uint32], keys: NDArray[np.int64], status: NDArray[np.int64]) -> None:
        """Go on from a population and status that were read before."""
        self.device.put(planes.ravel(), self._population)
        self.device.put(keys, self._keys)
        self.device.put(status, self.status)

    def set_keys(self, keys: NDArray[np.int64]) -> None:
        """Keys of the population, from the host."""
        self.device.put(keys, self._keys)

    # --- a generation, in three parts ---------------------------------------------------------------------------

    def put_orders(self, orders: NDArray[np.int32]) -> None:
        """Permutations of the generations to come; shape (generations, n)."""
        self.device.put(orders.ravel(), self._order)

    def select(self, generation: int, place: int) -> None:
        """Choose whom to learn from, and bring their genes into the order of permutation ``place``."""
        settings = self.settings
        count = settings.population
        self.device.copy(self._present_order, self._order, 0, place * settings.n, settings.n)
        if settings.selection == "truncation":
            self._best(settings.selected, self._columns)
        else:
            stream = stream_word(STREAM_TOURNAMENT, settings.chain)
            self.launcher.spread(
                "run_tournaments",
                settings.selected,
                *(self._keys, count, settings.selected, self._columns),
                *(settings.seed, stream, generation, self.status),
            )
        self.launcher.tiles(
            "gather_planes",
            self._chosen_words,
            settings.n,
            *(self._population, self._words, self._columns, settings.selected, self._present_order, settings.n),
            *(self._chosen, self._chosen_words, self.status),
        )

    def _best(self, wanted: int, chosen: Buffer) -> None:
        self.launcher.groups(
            "select_best", 1, self._keys, self.settings.population, wanted, chosen, self._source, self.status
        )

    def learn(self, first: int, last: int) -> None:
        """The parents of nodes first .. last - 1, and their counts."""
        settings = self.settings
        if settings.max_parents == 0:
            self.recount()
            return
        self.count_pairs()
        for start in range(first, last, self._slots):
            slots = min(self._slots, last - start)
            for level in range(settings.max_parents):
                self.launcher.groups(
                    "open_nodes", 1, level, slots, start, self._parent_count, self._active, self.status, level=level
                )
                rows = (1 << level) - 1
                if level:
                    self.launcher.groups(
                        "extend_masks",
                        min(slots * rows * self._chosen_words // 16 // self.shapes.node_block + 1, self.shapes.groups),
                        *(self._chosen, self._chosen_words, self._masks, self._active, self._parents),
                        *(level, self._rows, start, self.status),
                        level=level,
                    )
                    lines = slots if self.launcher.by_node else slots * rows
                    self._count("rows", lines, level, start)
                self._choose(level, slots, start)

    def count_pairs(self) -> None:
        """How many of the selected have both, for all pairs of genes."""
        self._count("pairs", self.settings.n, 0, 0)

    def _count(self, mode: str, lines: int, level: int, start: int) -> None:
        n = self.settings.n
        self.launcher.count(
            mode,
            lines,
            n,
            *(self._chosen, self._chosen_words, n, self._pairs, self._masks, self._counts, self._active),
            *(level, self._rows, start, self.status),
            histogram=(self._parents, self._depth, self.settings.selected),
        )

    def _choose(self, level: int, slots: int, start: int) -> None:
        rows = self._depth + 1
        self.launcher.groups(
            "choose_parents",
            slots,
            *(self._pairs, self._counts, self.settings.n, self._rows, start, self.settings.selected, self._active),
            *(self._parents, self._parent_count, self._scores, self._totals, self._tables),
            *(level * self._table_row, (rows + level) * self._table_row, self._table_row),
            *(self._prices[level], self.status),
            level=level,
        )

    def recount(self) -> None:
        """The counts of the structure that is there, among the individuals selected now."""
        self.launcher.groups(
            "count_configurations",
            self.settings.n,
            *(self._chosen, self._chosen_words, self.settings.selected),
            *(self._parents, self._parent_count, self._totals, self.status),
        )

    def network(self) -> Network:
        """The network learned, as far as this device has it."""
        n = self.settings.n
        return Network(
            self.device.get(self._parents).reshape(n, -1),
            self.device.get(self._parent_count),
            self.device.get(self._totals).reshape(n, -1),
        )

    def set_network(self, network: Network) -> None:
        """A network put together from several devices, or from a checkpoint."""
        self.device.put(network.parents.ravel(), self._parents)
        self.device.put(network.parent_count, self._parent_count)
        self.device.put(network.totals.ravel(), self._totals)

    def sample(self, generation: int, first: int, last: int) -> None:
        """Words first .. last - 1 of the offspring, sampled from the network."""
        settings = self.settings
        self.launcher.spread(
            "make_probabilities",
            settings.n << settings.max_parents,
            *(self._totals, self._parent_count, settings.n, self._thresholds, self.status),
        )
        self.launcher.groups(
            "plan_levels",
            1,
            *(self._parents, self._parent_count, settings.n, self._level_of, self._levels, self._schedule, self.status),
        )
        self.launcher.groups(
            "sample_offspring",
            -(-(last - first) // self.shapes.sample_words),
            *(self._parents, self._parent_count, self._thresholds, self._present_order, self._levels, self._schedule),
            *(first, last, self._offspring, self._offspring_words, settings.offspring),
            *(settings.seed, stream_word(STREAM_OFFSPRING, settings.chain), generation, self.status),
        )

    def evaluate(self, first: int, last: int) -> None:
        """Keys of words first .. last - 1 of the offspring, by the device."""
        count = min(32 * last, self.settings.offspring)
        self.launcher.evaluate(
            *(self._offspring, self._offspring_words, 32 * first, count, self._offspring_keys, self.status),
            *self._fitness_arguments,
        )

    def offspring(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Bit planes (n, words) and keys (M,) of the offspring."""
        planes = self.device.get(self._offspring).reshape(self.settings.n, self._offspring_words)
        return planes, self.device.get(self._offspring_keys)

    def set_offspring(self, planes: NDArray[np.uint32] | None, keys: NDArray[np.int64]) -> None:
        """Offspring put together from several devices, or the keys that the host gives them."""
        if planes is not None:
            self.device.put(planes.ravel(), self._offspring)
        self.device.put(keys, self._offspring_keys)

    def replace(self, generation: int) -> None:
        """Bring the offspring into the population."""
        settings = self.settings
        if settings.replacement == "rtr":
            self._find_nearest(generation)
        elif settings.selection == "tournament" or settings.offspring != settings.population - settings.selected:
            self._best(settings.population - settings.offspring, self._kept)
        self._merge(self._offspring_words)

    def _merge(self, offspring_words: int) -> None:
        settings = self.settings
        self.launcher.tiles(
            "merge_planes",
            self._words,
            settings.n,
            *(self._population, self._words, self._keys, settings.population),
            *(self._offspring, offspring_words, self._offspring_keys, self._source, settings.n, self.status),
        )

    def _find_nearest(self, generation: int) -> None:
        settings = self.settings
        count = settings.population
        row_words = -(-settings.n // 32)
        for planes, words, individuals, rows in (
            (self._population, self._words, count, self._population_rows),
            (self._offspring, self._offspring_words, settings.offspring, self._offspring_rows),
        ):
            self.launcher.spread(
                "turn_planes", individuals * row_words, planes, words, settings.n, individuals, rows, self.status
            )
        self.launcher.groups(
            "find_nearest",
            settings.offspring,
            *(self._population_rows, self._offspring_rows, settings.n, count, self._keys, self._offspring_keys),
            *(settings.window, settings.seed, stream_word(STREAM_WINDOW, settings.chain), generation),
            *(self._heads, self._next, self.status),
        )
        self.launcher.spread(
            "settle", count, self._heads, self._next, self._offspring_keys, count, self._source, self.status
        )

    def summarise(self, generation: int, place: int, ending: Ending) -> None:
        """Note the state after ``generation`` generations as row ``place`` of the history."""
        target = 0 if ending.target is None else ending.target
        self.launcher.groups(
            "summarise",
            1,
            *(self._keys, self.settings.population, self.status, self._history, place),
            *(target, int(ending.target is not None), ending.patience, generation, int(generation > 0)),
            *(self._totals, self._parent_count, self.settings.n, self._entropies),
        )

    # --- migration ----------------------------------------------------------------------------------------------

    def emigrants(self, count: int) -> Migrants:
        """Copies of the ``count`` best individuals, in the order of their numbers; also after the population's end."""
        n, words = self.settings.n, padded_words(count)
        ended = self.device.get(self.status, 0, 1)
        self._set_reason(0)
        self.device.put(np.arange(n, dtype=np.int32), self._present_order)
        self._best(count, self._columns)
        self.launcher.tiles(
            "gather_planes",
            words,
            n,
            *(self._population, self._words, self._columns, count, self._present_order, n),
            *(self._chosen, words, self.status),
        )
        planes = self.device.get(self._chosen, 0, n * words).reshape(n, words)
        keys = self.keys()[self.device.get(self._columns, 0, count)]
        self._set_reason(int(ended[0]))
        return Migrants(planes, keys)

    def immigrate(self, migrants: Migrants) -> None:
        """Let individuals take the places of the worst; a population that had ended goes on."""
        settings = self.settings
        words = migrants.planes.shape[1]
        self._set_reason(0)
        self.device.put(migrants.planes.ravel(), self._offspring)
        self.device.put(migrants.keys, self._offspring_keys)
        self._best(settings.population - len(migrants.keys), self._kept)
        self._merge(words)

    def _set_reason(self, reason: int) -> None:
        self.device.put(np.array([reason], np.int64), self.status)

    # --- reading ------------------------------------------------------------------------------------------------

    def history(self, count: int) -> NDArray[np.int64]:
        """The first ``count`` rows of the history, shape (count, fields); see :data:`HISTORY_FIELDS`."""
        return self.device.get(self._history, 0, count * _FIELDS).reshape(count, _FIELDS)

    def best(self) -> NDArray[np.uint8]:
        """Genes of the best individual."""
        n = self.settings.n
        self.launcher.spread("read_individual", n, self._population, self._words, n, self.status, self._genes)
        return self.device.get(self._genes)

    def first_individuals(self) -> NDArray[np.uint32]:
        """The bit planes (n, words) of the first 64 individuals."""
        n = self.settings.n
        words = min(_SAMPLE_WORDS, -(-self.settings.population // 32))
        self.launcher.spread("read_sample", n * words, self._population, self._words, n, words, self._sample)
        return self.device.get(self._sample, 0, n * words).reshape(n, words)
