"""What a population and its learning take of a device's memory."""

import numpy as np

from ....devices import Buffer, Device
from ....numerics.memory import Memory
from ..fitness import Fitness, Hierarchy
from ..fitness.tables import Decomposable
from ..options import Parameters, padded_words
from ..scores import entropy_table, log_factorials
from .state import STATUS

SAMPLE_WORDS = 2
"""Words of individuals that are shown of a population."""

_MOST_PAIR_BYTES = 1 << 30


def has_pair_table(parameters: Parameters) -> bool:
    """Whether the counts of all pairs of genes are kept, which takes 4 n^2 bytes; else of some nodes at a time."""
    return parameters.max_parents > 0 and 4 * parameters.n**2 <= _MOST_PAIR_BYTES


def _pair_counts(parameters: Parameters) -> int:
    return parameters.n**2 if has_pair_table(parameters) else parameters.n


def _node_rows(parameters: Parameters) -> int:
    """Rows of masks and counts of a node; see rows.mako."""
    k = parameters.max_parents
    if k == 0:
        return 0
    return (1 << k) - 1 - (k if has_pair_table(parameters) else 0)


def required_bytes(parameters: Parameters, slots: int) -> int:
    """Device memory that a run takes, with ``slots`` nodes learned at a time."""
    n, k = parameters.n, max(1, parameters.max_parents)
    words = sum(padded_words(count) for count in (parameters.population, parameters.selected, parameters.offspring))
    planes = 4 * n * words
    counts = 4 * _pair_counts(parameters) + node_bytes(parameters) * slots
    network = 4 * n * (k + (3 << k) + 8)
    rows_of_genes = parameters.population * 4 * -(-n // 32) if parameters.improvement is not None else 0
    keys = 8 * (parameters.population + parameters.offspring) + 4 * (2 * parameters.population + parameters.selected)
    tables = 8 * (parameters.selected + 2)
    return planes + counts + network + rows_of_genes + keys + tables


def largest_buffer(parameters: Parameters) -> int:
    """Bytes of the largest single buffer, with one node learned at a time."""
    words = max(padded_words(parameters.population), padded_words(parameters.selected))
    return 4 * max(parameters.n * words, _pair_counts(parameters))


def node_bytes(parameters: Parameters) -> int:
    """Memory for the masks and counts of a node."""
    return 4 * _node_rows(parameters) * (padded_words(parameters.selected) + parameters.n)


class PopulationMemory(Memory):
    """A population's buffers by their names in kernels: of ``slots`` nodes at a time, ``history`` generations."""

    def __init__(self, device: Device, parameters: Parameters, fitness: Fitness, slots: int, history: int) -> None:
        super().__init__(device)
        self.slots = slots
        n, k = parameters.n, parameters.max_parents
        self.depth = max(1, k)
        self.has_pair_table = has_pair_table(parameters)
        self.rows = _node_rows(parameters)
        self.words = padded_words(parameters.population)
        self.chosen_words = padded_words(parameters.selected)
        self.offspring_words = padded_words(parameters.offspring)
        empty = self.empty
        self.population = empty(n * self.words, np.uint32)
        self.chosen = empty(n * self.chosen_words, np.uint32)
        self.offspring = empty(n * self.offspring_words, np.uint32)
        device.zero(self.offspring)
        self.keys = empty(parameters.population, np.int64)
        self.offspring_keys = empty(parameters.offspring, np.int64)
        self.columns = empty(parameters.selected, np.int32)
        self.kept = empty(parameters.population, np.int32)
        self.source = empty(parameters.population, np.int32)
        self.order = empty(history * n, np.int32)
        self.present_order = empty(n, np.int32)
        self.pairs = empty(_pair_counts(parameters), np.int32)
        self.masks = empty(slots * self.rows * self.chosen_words, np.uint32)
        self.counts = empty(slots * self.rows * n, np.int32)
        self.active = empty(slots + 1, np.int32)
        self.parents = empty(n * self.depth, np.int32)
        self.parent_count = empty(n, np.int32)
        self.scores = empty(n, np.uint32)
        self.totals = empty(n << (k + 1), np.int32)
        device.zero(self.parents)
        device.zero(self.parent_count)
        device.zero(self.totals)
        self.thresholds = empty(n << k, np.uint32)
        self.level_of = empty(n, np.int32)
        self.levels = empty(n + 2, np.int32)
        self.schedule = empty(n, np.int32)
        self.status = empty(1, STATUS.dtype)
        self.history = empty(history, STATUS.dtype)
        self.genes = empty(n, np.uint8)
        self.sample = empty(SAMPLE_WORDS * n, np.uint32)
        self.entropies = self.put(entropy_table(parameters.selected))
        self.log_factorials = self.put(log_factorials(parameters.selected))
        if parameters.improvement is not None:
            self.population_rows = empty(parameters.population * -(-n // 32), np.uint32)
        self.arguments = {name: value for name, value in vars(self).items() if isinstance(value, Buffer)}
        self.arguments |= {"order": self.present_order, "depth": self.level_of}
        self.fitness_arguments = self._fitness_buffers(fitness)

    def _fitness_buffers(self, fitness: Fitness) -> dict[str, Buffer | int]:
        """What the fitness kernel takes besides individuals and keys, by name."""
        if isinstance(fitness, Decomposable):
            kind = np.int32 if fitness.fits_i32 else np.int64
            return {
                "genes": self.put(fitness.genes),
                "scope_starts": self.put(fitness.scope_starts),
                "table_starts": self.put(fitness.table_starts),
                "tables": self.put(fitness.tables.astype(kind)),
                "functions": len(fitness.table_starts),
                "base_key": fitness.constant,
            }
        return {"n": fitness.n} if isinstance(fitness, Hierarchy) else {}
