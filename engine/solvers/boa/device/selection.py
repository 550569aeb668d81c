"""Which individuals are learned from, which are replaced, and which migrate."""

from __future__ import annotations

import numpy as np

from ....devices import Buffer
from ....numerics.philox import stream_word
from ..options import STREAM_TOURNAMENT, STREAM_WINDOW, Parameters, padded_words
from .memory import PopulationMemory
from .programs import Programs
from .state import Migrants

__all__ = ["Selection"]


class Selection:
    """Selection, replacement and migration of the population on one device.

    Parameters
    ----------
    memory : PopulationMemory
    programs : Programs
    parameters : Parameters
    """

    def __init__(self, memory: PopulationMemory, programs: Programs, parameters: Parameters) -> None:
        self._memory = memory
        self._programs = programs
        self._parameters = parameters
        self._shapes = programs.shapes

    def select(self, generation: int, place: int) -> None:
        """Select individuals to learn from, their genes in the order of permutation ``place``.

        Parameters
        ----------
        generation : int
        place : int
            Which of the permutations that the device was given.
        """
        self.choose(generation, place)
        self.gather_chosen(0, self.chosen_tiles)

    def choose(self, generation: int, place: int) -> None:
        """Choose individuals to learn from, and the permutation ``place`` of the genes.

        Parameters
        ----------
        generation, place : int
            As for :meth:`select`.
        """
        memory, parameters = self._memory, self._parameters
        memory.device.copy(memory.present_order, memory.order, 0, place * parameters.n, parameters.n)
        if parameters.selection == "truncation":
            self._best(parameters.selected, memory.columns)
        else:
            block = self._shapes.tournament_block
            self._programs.tournaments.run_tournaments(
                self._shapes.spread(parameters.selected, block),
                block,
                keys=memory.keys,
                count=parameters.population,
                wanted=parameters.selected,
                chosen=memory.columns,
                seed=parameters.seed,
                stream=stream_word(STREAM_TOURNAMENT, parameters.chain),
                step=generation,
                status=memory.status,
            )

    @property
    def chosen_tiles(self) -> int:
        """Tiles of words that the chosen individuals have."""
        return -(-self._memory.chosen_words // self._shapes.tile_words)

    @property
    def population_tiles(self) -> int:
        """Tiles of words that the population has."""
        return -(-self._memory.words // self._shapes.tile_words)

    def gather_chosen(self, first: int, last: int) -> None:
        """Tiles first .. last - 1 of the planes of those chosen, their genes in the present order.

        Parameters
        ----------
        first, last : int
            Tiles of words.
        """
        self._gather(self._parameters.selected, self._memory.chosen_words, first, last)

    def _gather(self, count: int, words: int, first: int, last: int) -> None:
        """The first ``count`` individuals of ``columns`` as planes of ``words``: tiles first .. last - 1."""
        memory, n = self._memory, self._parameters.n
        self._programs.gather.gather_planes(
            self._shapes.tiles((last - first) * self._shapes.tile_words, n),
            self._shapes.node_block,
            planes=memory.population,
            stride=memory.words,
            columns=memory.columns,
            count=count,
            order=memory.present_order,
            n=n,
            out=memory.chosen,
            out_stride=words,
            first_tile=first,
            tiles=max(1, last - first),
            status=memory.status,
        )

    def _best(self, wanted: int, chosen: Buffer) -> None:
        """The numbers of the ``wanted`` best; of the others, which offspring take their places."""
        memory = self._memory
        self._programs.select.select_best(
            *(1, self._shapes.group),
            keys=memory.keys,
            count=self._parameters.population,
            wanted=wanted,
            chosen=chosen,
            source=memory.source,
            status=memory.status,
        )

    def replace(self, generation: int) -> None:
        """Bring the offspring into the population."""
        self.find_places(generation)
        self.merge_offspring(0, self.population_tiles)

    def find_places(self, generation: int) -> None:
        """Which offspring takes whose place."""
        memory, parameters = self._memory, self._parameters
        if parameters.replacement == "rtr":
            self._find_nearest(generation)
        elif (
            parameters.selection == "tournament" or parameters.offspring != parameters.population - parameters.selected
        ):
            self._best(parameters.population - parameters.offspring, memory.kept)

    def merge_offspring(self, first: int, last: int) -> None:
        """Bring the offspring into tiles first .. last - 1 of the population; to do so twice changes nothing.

        Parameters
        ----------
        first, last : int
            Tiles of words.
        """
        self._merge(self._memory.offspring_words, first, last)

    def _merge(self, offspring_words: int, first: int, last: int) -> None:
        memory, n = self._memory, self._parameters.n
        self._programs.gather.merge_planes(
            self._shapes.tiles((last - first) * self._shapes.tile_words, n),
            self._shapes.node_block,
            population=memory.population,
            stride=memory.words,
            keys=memory.keys,
            count=self._parameters.population,
            offspring=memory.offspring,
            offspring_stride=offspring_words,
            offspring_keys=memory.offspring_keys,
            source=memory.source,
            n=n,
            first_tile=first,
            tiles=max(1, last - first),
            status=memory.status,
        )

    def _find_nearest(self, generation: int) -> None:
        """Which offspring takes whose place by restricted tournaments."""
        memory, parameters, shapes = self._memory, self._parameters, self._shapes
        count = parameters.population
        row_words = -(-parameters.n // 32)
        for planes, words, individuals, rows in (
            (memory.population, memory.words, count, memory.population_rows),
            (memory.offspring, memory.offspring_words, parameters.offspring, memory.offspring_rows),
        ):
            self._programs.transpose.turn_planes(
                shapes.spread(individuals * row_words, shapes.block),
                shapes.block,
                planes=planes,
                stride=words,
                n=parameters.n,
                first=0,
                last=individuals,
                rows=rows,
                status=memory.status,
            )
        self._programs.nearest.find_nearest(
            *(parameters.offspring, shapes.rival_block),
            rows=memory.population_rows,
            offspring_rows=memory.offspring_rows,
            n=parameters.n,
            count=count,
            keys=memory.keys,
            offspring_keys=memory.offspring_keys,
            window=parameters.window,
            seed=parameters.seed,
            stream=stream_word(STREAM_WINDOW, parameters.chain),
            step=generation,
            heads=memory.heads,
            next=memory.next,
            status=memory.status,
        )
        self._programs.nearest.settle(
            shapes.spread(count, shapes.block),
            shapes.block,
            heads=memory.heads,
            next=memory.next,
            offspring_keys=memory.offspring_keys,
            count=count,
            source=memory.source,
            status=memory.status,
        )

    def emigrants(self, count: int) -> Migrants:
        """Copies of the ``count`` best individuals, in the order of their numbers; also after the population's end."""
        memory = self._memory
        n, words = self._parameters.n, padded_words(count)
        ended = memory.device.get(memory.status, 0, 1)
        self._set_reason(0)
        memory.device.put(np.arange(n, dtype=np.int32), memory.present_order)
        self._best(count, memory.columns)
        self._gather(count, words, 0, -(-words // self._shapes.tile_words))
        planes = memory.device.get(memory.chosen, 0, n * words).reshape(n, words)
        keys = memory.device.get(memory.keys)[memory.device.get(memory.columns, 0, count)]
        self._set_reason(int(ended[0]))
        return Migrants(planes, keys)

    def immigrate(self, migrants: Migrants) -> None:
        """Replace the worst individuals; a population that had ended is revived."""
        memory, parameters = self._memory, self._parameters
        words = migrants.planes.shape[1]
        self._set_reason(0)
        memory.device.put(migrants.planes.ravel(), memory.offspring)
        memory.device.put(migrants.keys, memory.offspring_keys)
        self._best(parameters.population - len(migrants.keys), memory.kept)
        self._merge(words, 0, self.population_tiles)

    def _set_reason(self, reason: int) -> None:
        self._memory.device.put(np.array([reason], np.int64), self._memory.status)
