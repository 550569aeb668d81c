"""Learning the network: greedy choice of each node's parents by counts of the selected individuals."""

from __future__ import annotations

from collections.abc import Callable

from ..network import Network
from ..options import Parameters
from .memory import PopulationMemory
from .parts import Parts
from .programs import Programs

__all__ = ["Learner"]

_WORDS_A_STEP = 8  # words that are counted in the time of a look-up in a table


class Learner:
    """Learns on one device from the individuals that are selected there.

    Parameters
    ----------
    memory : PopulationMemory
    programs : Programs
    parameters : Parameters
    interrupted : callable
        Whether the run is to end, so that what is left of a generation is not worth doing; from any thread.
    """

    def __init__(
        self,
        memory: PopulationMemory,
        programs: Programs,
        parameters: Parameters,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._memory = memory
        self._programs = programs
        self._parameters = parameters
        steps = max(1, memory.rows) * parameters.n * memory.chosen_words / _WORDS_A_STEP
        self._parts = Parts(memory.device, steps, interrupted, most=memory.slots)

    def learn(self, first: int, last: int) -> bool:
        """The parents of nodes first .. last - 1, and their counts; False if it was interrupted.

        Parameters
        ----------
        first, last : int
            Nodes by rank, in the present order of the genes.
        """
        if self._parameters.max_parents == 0:
            self.recount()
            return True
        self.count_pairs()
        return self._parts.launch(self._choose, first, last) == last

    def _choose(self, first: int, last: int) -> None:
        """The parents of some nodes, as many as are learned at a time."""
        for level in range(self._parameters.max_parents):
            self._add_parents(first, last - first, level)

    def _add_parents(self, first_node: int, slots: int, level: int) -> None:
        """Give each of some nodes with ``level`` parents one more, where that raises its score."""
        memory, program, shapes = self._memory, self._programs.learn[level], self._programs.shapes
        program.open_nodes(
            *(1, shapes.group),
            level=level,
            slots=slots,
            first_node=first_node,
            parent_count=memory.parent_count,
            active=memory.active,
            status=memory.status,
        )
        per, base = self._rows(level)
        if per:
            program.extend_masks(
                min(slots * per * memory.chosen_words // 16 // shapes.node_block + 1, shapes.groups),
                shapes.node_block,
                planes=memory.chosen,
                words=memory.chosen_words,
                masks=memory.masks,
                active=memory.active,
                parents=memory.parents,
                level=level,
                per=per,
                base=base,
                rows=memory.rows,
                first_node=first_node,
                status=memory.status,
            )
            self._count("rows", slots if self._programs.by_node else slots * per, level, first_node)
        depths = memory.depth + 1
        program.choose_parents(
            *(slots, shapes.node_block),
            pairs=memory.pairs,
            counts=memory.counts,
            n=self._parameters.n,
            rows=memory.rows,
            first_node=first_node,
            selected=self._parameters.selected,
            active=memory.active,
            parents=memory.parents,
            parent_count=memory.parent_count,
            scores=memory.scores,
            totals=memory.totals,
            tables=memory.tables,
            leaf_start=level * memory.table_row,
            total_start=(depths + level) * memory.table_row,
            row_length=memory.table_row,
            price=memory.prices[level],
            status=memory.status,
            **memory.link_arguments,
        )

    def _rows(self, level: int) -> tuple[int, int]:
        """How many rows a node has at a level, and which is the first; see rows.mako."""
        if self._memory.has_pair_table:
            return (1 << level) - 1, (1 << level) - 1 - level
        return 1 << level, (1 << level) - 1

    def count_pairs(self) -> None:
        """How many of the selected have both of all pairs of genes; without a table of pairs, each gene at one."""
        memory = self._memory
        if memory.has_pair_table:
            self._count("pairs", self._parameters.n, 0, 0)
            return
        self._programs.learn[0].count_ones(
            *(self._parameters.n, self._programs.shapes.node_block),
            planes=memory.chosen,
            words=memory.chosen_words,
            pairs=memory.pairs,
            status=memory.status,
        )

    def _count(self, mode: str, lines: int, level: int, first_node: int) -> None:
        memory, n = self._memory, self._parameters.n
        arguments = {
            "planes": memory.chosen,
            "words": memory.chosen_words,
            "n": n,
            "pairs": memory.pairs,
            "masks": memory.masks,
            "counts": memory.counts,
            "active": memory.active,
            "level": level,
            "per": self._rows(level)[0],
            "base": self._rows(level)[1],
            "rows": memory.rows,
            "first_node": first_node,
            "status": memory.status,
        }
        histogram = {
            "parents": memory.parents,
            "max_parents": memory.depth,
            "selected": self._parameters.selected,
        }
        self._programs.count(mode, lines, n, arguments, histogram)

    def recount(self) -> None:
        """The counts of the present structure among the individuals selected now."""
        memory = self._memory
        self._programs.network.count_configurations(
            *(self._parameters.n, self._programs.shapes.node_block),
            planes=memory.chosen,
            words=memory.chosen_words,
            selected=self._parameters.selected,
            parents=memory.parents,
            parent_count=memory.parent_count,
            totals=memory.totals,
            status=memory.status,
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
        """A network combined from several devices, or from a checkpoint."""
        memory = self._memory
        memory.device.put(network.parents.ravel(), memory.parents)
        memory.device.put(network.parent_count, memory.parent_count)
        memory.device.put(network.totals.ravel(), memory.totals)
