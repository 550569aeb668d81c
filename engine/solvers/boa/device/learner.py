"""Learning the network: greedy choice of each node's parents by counts of the selected individuals."""

from collections.abc import Callable

from ....devices import Launcher
from ..network import Network
from ..options import Parameters
from .memory import PopulationMemory
from .parts import Parts
from .programs import Programs

_WORDS_A_STEP = 8  # words that are counted in the time of a look-up in a table


class Learner:
    """Learns on one device from the individuals that are selected there; ``interrupted``: whether the run is to end."""

    def __init__(
        self, memory: PopulationMemory, programs: Programs, parameters: Parameters, interrupted: Callable[[], bool]
    ) -> None:
        self._memory, self._programs, self._parameters = memory, programs, parameters
        steps = max(1, memory.rows) * parameters.n * memory.chosen_words / _WORDS_A_STEP
        self._parts = Parts(memory.device, steps, interrupted, most=memory.slots)
        self._launch = Launcher(
            **memory.arguments | {"planes": memory.chosen},
            words=memory.chosen_words,
            n=parameters.n,
            selected=parameters.selected,
            max_parents=memory.depth,
            rows=memory.rows,
        )

    def learn(self, first: int, last: int) -> bool:
        """The parents of nodes first .. last - 1 (by rank), and their counts; False if it was interrupted."""
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
        memory, programs, shapes = self._memory, self._programs, self._programs.shapes
        self._launch(programs.nodes.open_nodes, 1, shapes.group, level=level, slots=slots, first_node=first_node)
        per, base = self._rows(level)
        if per:
            groups = min(slots * per * memory.chosen_words // 16 // shapes.node_block + 1, shapes.groups)
            place = {"level": level, "per": per, "base": base, "first_node": first_node}
            self._launch(programs.nodes.extend_masks, groups, shapes.node_block, **place)
            lines = slots if programs.by_node else slots * per
            self._launch(*programs.count("rows", lines, self._parameters.n), **place)
        self._launch(programs.learn[level].choose_parents, slots, shapes.node_block, first_node=first_node)

    def _rows(self, level: int) -> tuple[int, int]:
        """How many rows a node has at a level, and which is the first; see rows.mako."""
        if self._memory.has_pair_table:
            return (1 << level) - 1, (1 << level) - 1 - level
        return 1 << level, (1 << level) - 1

    def count_pairs(self) -> None:
        """How many of the selected have both of all pairs of genes; without a table of pairs, each gene at one."""
        programs, n = self._programs, self._parameters.n
        if self._memory.has_pair_table:
            per, base = self._rows(0)
            self._launch(*programs.count("pairs", n, n), level=0, per=per, base=base, first_node=0)
        else:
            self._launch(programs.nodes.count_ones, n, programs.shapes.node_block)

    def recount(self) -> None:
        """The counts of the present structure among the individuals selected now."""
        self._launch(self._programs.network.count_configurations, self._parameters.n, self._programs.shapes.node_block)

    def network(self) -> Network:
        """The network learned, as far as this device has it."""
        memory, n = self._memory, self._parameters.n
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
