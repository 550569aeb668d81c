"""Learning the network: greedy choice of each node's parents by counts of the selected individuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.solvers.boa.memory import PopulationMemory
from engine.solvers.boa.options import Parameters
from engine.solvers.boa.programs import Launcher

__all__ = ["Learner", "Network"]


@dataclass(frozen=True)
class Network:
    """A network by rank: parents (n, k), their numbers (n,), and counts (n, 2^(k+1)), as the kernels keep them."""

    parents: NDArray[np.int32]
    parent_count: NDArray[np.int32]
    totals: NDArray[np.int32]


class Learner:
    """Learns on one device from the individuals that are selected there.

    Parameters
    ----------
    memory : PopulationMemory
    launcher : Launcher
    parameters : Parameters
    """

    def __init__(self, memory: PopulationMemory, launcher: Launcher, parameters: Parameters) -> None:
        self._memory = memory
        self._launcher = launcher
        self._parameters = parameters

    def learn(self, first: int, last: int) -> None:
        """The parents of nodes first .. last - 1, and their counts."""
        memory = self._memory
        parameters, shapes = self._parameters, self._launcher.shapes
        if parameters.max_parents == 0:
            self.recount()
            return
        self.count_pairs()
        for start in range(first, last, memory.slots):
            slots = min(memory.slots, last - start)
            for level in range(parameters.max_parents):
                self._launcher.groups(
                    "open_nodes", 1, level, slots, start, memory.parent_count, memory.active, memory.status, level=level
                )
                rows = (1 << level) - 1
                if level:
                    self._launcher.groups(
                        "extend_masks",
                        min(slots * rows * memory.chosen_words // 16 // shapes.node_block + 1, shapes.groups),
                        *(memory.chosen, memory.chosen_words, memory.masks, memory.active, memory.parents),
                        *(level, memory.rows, start, memory.status),
                        level=level,
                    )
                    lines = slots if self._launcher.by_node else slots * rows
                    self._count("rows", lines, level, start)
                self._choose(level, slots, start)

    def count_pairs(self) -> None:
        """How many of the selected have both, for all pairs of genes."""
        self._count("pairs", self._parameters.n, 0, 0)

    def _count(self, mode: str, lines: int, level: int, start: int) -> None:
        memory = self._memory
        n = self._parameters.n
        self._launcher.count(
            mode,
            lines,
            n,
            *(memory.chosen, memory.chosen_words, n, memory.pairs, memory.masks, memory.counts, memory.active),
            *(level, memory.rows, start, memory.status),
            histogram=(memory.parents, memory.depth, self._parameters.selected),
        )

    def _choose(self, level: int, slots: int, start: int) -> None:
        memory = self._memory
        rows = memory.depth + 1
        self._launcher.groups(
            "choose_parents",
            slots,
            *(memory.pairs, memory.counts, self._parameters.n, memory.rows),
            *(start, self._parameters.selected, memory.active),
            *(memory.parents, memory.parent_count, memory.scores, memory.totals, memory.tables),
            *(level * memory.table_row, (rows + level) * memory.table_row, memory.table_row),
            *(memory.prices[level], memory.status),
            level=level,
        )

    def recount(self) -> None:
        """The counts of the structure that is there, among the individuals selected now."""
        memory = self._memory
        self._launcher.groups(
            "count_configurations",
            self._parameters.n,
            *(memory.chosen, memory.chosen_words, self._parameters.selected),
            *(memory.parents, memory.parent_count, memory.totals, memory.status),
        )

    def network(self) -> Network:
        """The network learned, as far as this device has it."""
        memory = self._memory
        n = self._parameters.n
        return Network(
            memory.device.get(memory.parents).reshape(n, -1),
            memory.device.get(memory.parent_count),
            memory.device.get(memory.totals).reshape(n, -1),
        )

    def set_network(self, network: Network) -> None:
        """A network put together from several devices, or from a checkpoint."""
        memory = self._memory
        memory.device.put(network.parents.ravel(), memory.parents)
        memory.device.put(network.parent_count, memory.parent_count)
        memory.device.put(network.totals.ravel(), memory.totals)
