"""Partition crossover on a device: local optima exchange the parts in which they differ, where that is better."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....devices import Buffer
from ....numerics.philox import stream_word
from ..fitness.tables import Decomposable
from ..options import STREAM_MIX, STREAM_PAIRS, Parameters
from .memory import PopulationMemory
from .programs import Programs

__all__ = ["PartitionCrossover"]

_TABLES = ("genes", "scope_starts", "table_starts", "tables", "functions")


class PartitionCrossover:
    """Combines pairs of individuals; made and used on the device's thread.

    Parameters
    ----------
    memory : PopulationMemory
        Its ``population_rows`` hold the individuals.
    programs : Programs
    parameters : Parameters
    fitness : Decomposable
    """

    def __init__(
        self, memory: PopulationMemory, programs: Programs, parameters: Parameters, fitness: Decomposable
    ) -> None:
        assert programs.partition is not None
        self._memory = memory
        self._program = programs.partition
        self._block = programs.shapes.partition_block
        self._groups = min(programs.shapes.partition_groups, -(-parameters.population // 32) * 16)
        self._parameters = parameters
        tables = {name: memory.fitness_arguments[name] for name in _TABLES}
        self._arguments: dict[str, Any] = {
            **tables,
            "all_labels": memory.empty(self._groups * fitness.n, np.int32),
            "all_partners": memory.empty(self._groups * -(-fitness.n // 32), np.uint32),
            "all_gains": memory.empty(self._groups * fitness.n, np.int64),
        }

    def combine_own(self, before: Buffer, first: int, last: int) -> None:
        """Give rows first .. last - 1 back the components that were better in ``before``, where they are from row 0 on.

        Parameters
        ----------
        before : Buffer
        first, last : int
            Individuals, by number.
        """
        memory = self._memory
        self._program.combine_own(
            min(self._groups, last - first),
            self._block,
            rows=memory.population_rows,
            n=self._parameters.n,
            first=first,
            last=last,
            before=before,
            status=memory.status,
            **self._arguments,
        )

    def combine(self, first: int, last: int, generation: int) -> None:
        """Combine rows first (a multiple of 32) .. last - 1 with selected individuals, then with each other.

        Parameters
        ----------
        first, last : int
            Individuals, by number.
        generation : int
            Part of the key of every draw.
        """
        memory, parameters = self._memory, self._parameters
        common: dict[str, Any] = {
            "rows": memory.population_rows,
            "n": parameters.n,
            "first": first,
            "last": last,
            "seed": parameters.seed,
            "step": generation,
            "status": memory.status,
            **self._arguments,
        }
        self._program.combine_selected(
            min(self._groups, last - first),
            self._block,
            stream=stream_word(STREAM_MIX, parameters.chain),
            planes=memory.population,
            stride=memory.words,
            columns=memory.columns,
            selected=parameters.selected,
            **common,
        )
        self._program.combine_pairs(
            min(self._groups, -(-(last - first) // 32) * 16),
            self._block,
            stream=stream_word(STREAM_PAIRS, parameters.chain),
            **common,
        )
