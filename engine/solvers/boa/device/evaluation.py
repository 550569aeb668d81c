"""Evaluation of individuals on one device."""

from collections.abc import Callable

from ....devices import Buffer, Launcher
from ..fitness import Fitness
from ..fitness.tables import Decomposable
from ..options import Parameters
from .memory import PopulationMemory
from .parts import Parts
from .programs import Programs


class Evaluation:
    """Evaluates a population and its offspring, ``known`` of them last; ``missing`` of the initial one were left."""

    def __init__(
        self,
        memory: PopulationMemory,
        programs: Programs,
        parameters: Parameters,
        fitness: Fitness,
        interrupted: Callable[[], bool],
    ) -> None:
        self._memory, self._programs, self._parameters = memory, programs, parameters
        self._launch = Launcher(status=memory.status, **memory.fitness_arguments)
        self.known = self.missing = 0
        steps = 2 * len(fitness.genes) if isinstance(fitness, Decomposable) else parameters.n
        unit = 32 if programs.fitness is None else max(32, programs.fitness_individuals)
        self._parts = Parts(memory.device, steps, interrupted, unit)

    def evaluate_population(self) -> bool:
        """Keys of the whole population; False if interrupted, the others then having the key of the worst."""
        memory, count = self._memory, self._parameters.population
        self.known = self._evaluate(memory.population, memory.words, 0, count, memory.keys)
        self.missing = count - self.known
        if self.missing:
            keys = memory.device.get(memory.keys)
            keys[self.known :] = keys[: self.known].min()
            memory.device.put(keys, memory.keys)
        return not self.missing

    def evaluate_offspring(self, first: int, last: int) -> bool:
        """Keys of words first .. last - 1 of the offspring; False if it was interrupted."""
        memory, count = self._memory, min(32 * last, self._parameters.offspring)
        self.known = self._evaluate(memory.offspring, memory.offspring_words, 32 * first, count, memory.offspring_keys)
        return self.known == count

    def _evaluate(self, planes: Buffer, stride: int, first: int, last: int, keys: Buffer) -> int:
        """Keys of the individuals ``first`` (a multiple of 32) to ``last - 1``; up to which one, if interrupted."""
        programs = self._programs
        evaluate = programs.fitness
        assert evaluate is not None

        def launch(begin: int, end: int) -> None:
            groups = -(-(end - begin) // programs.fitness_individuals)
            part = {"planes": planes, "stride": stride, "first": begin, "count": end, "keys": keys}
            self._launch(evaluate.evaluate, groups, programs.fitness_block, **part)

        return self._parts.launch(launch, first, last)
