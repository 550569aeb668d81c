"""Partition crossover on a device: local optima exchange the parts in which they differ, where that is better."""

import numpy as np

from ....devices import Buffer, Launcher
from ....numerics.philox import stream_word
from ..fitness.tables import Decomposable
from ..options import STREAM_MIX, STREAM_PAIRS, Parameters
from .memory import PopulationMemory
from .programs import Programs


class PartitionCrossover:
    """Combines pairs of the individuals in ``population_rows``; made and used on the device's thread."""

    def __init__(
        self, memory: PopulationMemory, programs: Programs, parameters: Parameters, fitness: Decomposable
    ) -> None:
        assert programs.partition is not None
        self._program, self._block = programs.partition, programs.shapes.partition_block
        self._groups = min(2 * programs.shapes.units, -(-parameters.population // 32) * 16)  # each has all labels
        self._chain = parameters.chain
        self._launch = Launcher(
            rows=memory.population_rows,
            n=parameters.n,
            seed=parameters.seed,
            planes=memory.population,
            stride=memory.words,
            columns=memory.columns,
            selected=parameters.selected,
            all_labels=memory.empty(self._groups * fitness.n, np.int32),
            all_partners=memory.empty(self._groups * -(-fitness.n // 32), np.uint32),
            all_gains=memory.empty(self._groups * fitness.n, np.int64),
            status=memory.status,
            **memory.fitness_arguments,
        )

    def combine_own(self, before: Buffer, first: int, last: int) -> None:
        """Give rows first .. last - 1 back the components that were better in rows 0 .. of ``before``."""
        groups = min(self._groups, last - first)
        self._launch(self._program.combine_own, groups, self._block, first=first, last=last, before=before)

    def combine(self, first: int, last: int, generation: int) -> None:
        """Combine rows first (a multiple of 32) .. last - 1 with selected individuals, then with each other."""
        chain, program = self._chain, self._program
        part = {"first": first, "last": last, "step": generation}
        groups = min(self._groups, last - first)
        stream = stream_word(STREAM_MIX, chain)
        self._launch(program.combine_selected, groups, self._block, stream=stream, **part)
        groups = min(self._groups, -(-(last - first) // 32) * 16)
        stream = stream_word(STREAM_PAIRS, chain)
        self._launch(program.combine_pairs, groups, self._block, stream=stream, **part)
