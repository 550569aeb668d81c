"""Which individuals are learned from, which are replaced, and which migrate."""

import numpy as np

from ....devices import Buffer, Launcher
from ..options import Parameters, padded_words
from .memory import PopulationMemory
from .programs import Programs
from .state import Migrants


class Selection:
    """Selection, replacement and migration of the population on one device."""

    def __init__(self, memory: PopulationMemory, programs: Programs, parameters: Parameters) -> None:
        self._memory, self._programs, self._parameters = memory, programs, parameters
        self._shapes = programs.shapes
        self.chosen_tiles = -(-memory.chosen_words // self._shapes.tile_words)  # of words that those chosen have
        self.population_tiles = -(-memory.words // self._shapes.tile_words)
        self._launch = Launcher(
            **memory.arguments,
            n=parameters.n,
            count=parameters.population,
            planes=memory.population,
            stride=memory.words,
            out=memory.chosen,
        )

    def select(self, place: int) -> None:
        """Select individuals to learn from, their genes in the order of the permutation ``place`` of those given."""
        self.choose(place)
        self.gather_chosen(0, self.chosen_tiles)

    def choose(self, place: int) -> None:
        """Choose individuals to learn from, and the permutation ``place`` of the genes."""
        memory, n = self._memory, self._parameters.n
        memory.device.copy(memory.present_order, memory.order, 0, place * n, n)
        self._best(self._parameters.selected, memory.columns)

    def gather_chosen(self, first: int, last: int) -> None:
        """Tiles first .. last - 1 of the planes of those chosen, their genes in the present order."""
        self._gather(self._parameters.selected, self._memory.chosen_words, first, last)

    def _gather(self, count: int, words: int, first: int, last: int) -> None:
        """The first ``count`` individuals of ``columns`` as planes of ``words``: tiles first .. last - 1."""
        groups = self._shapes.tiles((last - first) * self._shapes.tile_words, self._parameters.n)
        part = {"count": count, "out_stride": words, "first_tile": first, "tiles": max(1, last - first)}
        self._launch(self._programs.gather.gather_planes, groups, self._shapes.node_block, **part)

    def _best(self, wanted: int, chosen: Buffer) -> None:
        """The numbers of the ``wanted`` best; of the others, which offspring take their places."""
        self._launch(self._programs.select.select_best, 1, self._shapes.group, wanted=wanted, chosen=chosen)

    def replace(self) -> None:
        """Bring the offspring into the population, in place of all that were not selected."""
        self.merge_offspring(0, self.population_tiles)

    def merge_offspring(self, first: int, last: int) -> None:
        """Bring the offspring into tiles first .. last - 1 of the population; to do so twice changes nothing."""
        self._merge(self._memory.offspring_words, first, last)

    def _merge(self, offspring_words: int, first: int, last: int) -> None:
        groups = self._shapes.tiles((last - first) * self._shapes.tile_words, self._parameters.n)
        part = {"offspring_stride": offspring_words, "first_tile": first, "tiles": max(1, last - first)}
        self._launch(self._programs.gather.merge_planes, groups, self._shapes.node_block, **part)

    def emigrants(self, count: int) -> Migrants:
        """Copies of the ``count`` best individuals, in the order of their numbers; also after the population's end."""
        memory = self._memory
        n, words = self._parameters.n, padded_words(count)
        ended = memory.device.get(memory.status)
        self._revive()
        memory.device.put(np.arange(n, dtype=np.int32), memory.present_order)
        self._best(count, memory.columns)
        self._gather(count, words, 0, -(-words // self._shapes.tile_words))
        planes = memory.device.get(memory.chosen, 0, n * words).reshape(n, words)
        keys = memory.device.get(memory.keys)[memory.device.get(memory.columns, 0, count)]
        memory.device.put(ended, memory.status)
        return Migrants(planes, keys)

    def immigrate(self, migrants: Migrants) -> None:
        """Replace the worst individuals; a population that had ended is revived."""
        memory, parameters = self._memory, self._parameters
        words = migrants.planes.shape[1]
        self._revive()
        memory.device.put(migrants.planes.ravel(), memory.offspring)
        memory.device.put(migrants.keys, memory.offspring_keys)
        self._best(parameters.population - len(migrants.keys), memory.kept)
        self._merge(words, 0, self.population_tiles)

    def _revive(self) -> None:
        status = self._memory.device.get(self._memory.status)
        status["reason"] = 0
        self._memory.device.put(status, self._memory.status)
