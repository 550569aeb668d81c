"""One device's part of a run: its population, and the steps of a generation. Everything runs on the device's thread."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ....devices import Device, Launcher
from ....numerics.philox import stream_word
from ..fitness import Fitness
from ..fitness.autocorrelation import Autocorrelation
from ..fitness.tables import Decomposable
from ..network import Network, bit_planes
from ..options import PHASES, STREAM_INITIAL, STREAM_OFFSPRING, Counting, Parameters
from .evaluation import Evaluation
from .learner import Learner
from .local_search import LocalSearch, improve_program
from .memory import SAMPLE_WORDS, PopulationMemory
from .parts import Parts
from .programs import Programs, Shapes
from .selection import Selection
from .state import Ending, PopulationState, Slice


class DevicePopulation:
    """The population on one device; ``interrupted``, from any thread: the rest of a generation is left undone."""

    def __init__(
        self,
        device: Device,
        shapes: Shapes,
        parameters: Parameters,
        fitness: Fitness,
        counting: Counting,
        slots: int,
        history: int,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        self.device, self.parameters, self.shapes = device, parameters, shapes
        self.memory = PopulationMemory(device, parameters, fitness, slots, history)
        improvement = parameters.improvement
        search = None
        if improvement is not None and isinstance(fitness, (Autocorrelation, Decomposable)):
            search = improve_program(fitness, improvement)
        self.programs = Programs(device, shapes, parameters, counting, fitness, search, self.memory.has_pair_table)
        self._interrupted = interrupted
        self.learner = Learner(self.memory, self.programs, parameters, interrupted)
        self.selection = Selection(self.memory, self.programs, parameters)
        self.evaluation = Evaluation(self.memory, self.programs, parameters, fitness, interrupted)
        self._launch = Launcher(
            **self.memory.arguments,
            n=parameters.n,
            planes=self.memory.population,
            stride=self.memory.words,
            count=parameters.population,
            seed=parameters.seed,
        )
        self._sampling = Parts(device, 32 * parameters.n, interrupted, unit=shapes.sample_words)
        self._local_search = None
        if search is not None and isinstance(fitness, (Autocorrelation, Decomposable)):
            self._local_search = LocalSearch(*(self.memory, self.programs, parameters, fitness, search), interrupted)

    def close(self) -> None:
        """Give the memory back."""
        self.memory.release()

    # --- the population -----------------------------------------------------------------------------------------

    def draw(self, seeds: NDArray[np.uint8]) -> None:
        """The initial population; ``seeds`` (s, n) become its first s individuals."""
        memory, parameters = self.memory, self.parameters
        groups = self.shapes.spread(memory.words // 4 * parameters.n, self.shapes.block)
        stream = stream_word(STREAM_INITIAL, parameters.chain)
        self._launch(self.programs.initialise.draw_population, groups, self.shapes.block, stream=stream)
        self.device.zero(memory.status)
        if len(seeds):
            words = -(-len(seeds) // 32)
            packed = bit_planes(seeds, words)
            planes = self.device.get(memory.population).reshape(parameters.n, memory.words)
            mask = np.packbits(np.arange(32 * words) < len(seeds), bitorder="little").view("<u4").astype(np.uint32)
            planes[:, :words] = (planes[:, :words] & ~mask) | packed
            self.device.put(planes.ravel(), memory.population)

    def begin(self, seeds: NDArray[np.uint8], ending: Ending) -> Slice:
        """Draw, improve and evaluate the initial population; ``seeds`` (s, n) become its first s individuals."""
        self.draw(seeds)
        finished = self.improve_population(0, -(-self.parameters.population // 32))
        finished &= self.evaluation.evaluate_population()
        return Slice(self.summarise(0, 0, ending), is_interrupted=not finished, missing=self.evaluation.missing)

    def improve_population(self, first: int, last: int) -> bool:
        """Local search of words first .. last - 1 of the population; False if it was interrupted."""
        return self._local_search is None or self._local_search.improve_population(first, last)

    def population(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Bit planes (n, words) and keys (N,)."""
        memory = self.memory
        planes = self.device.get(memory.population).reshape(self.parameters.n, memory.words)
        return planes, self.keys()

    def keys(self) -> NDArray[np.int64]:
        """Keys (N,) of the population."""
        return self.device.get(self.memory.keys)

    def restore(self, state: PopulationState, flips: int) -> None:
        """Continue from a state, with so many flips counted."""
        memory = self.memory
        self.device.put(state.planes.ravel(), memory.population)
        self.device.put(state.keys, memory.keys)
        status = state.status.copy()
        status["flips"] = flips
        self.device.put(status.reshape(1), memory.status)
        self.learner.set_network(state.network)

    def state(self) -> PopulationState:
        """Everything needed to continue from here."""
        planes, keys = self.population()
        return PopulationState(planes, keys, self.device.get(self.memory.status).reshape(()), self.learner.network())

    # --- a generation in one task, for a device that does all of it -------------------------------------------

    def run_slice(self, first: int, orders: NDArray[np.int32], ending: Ending) -> Slice:
        """The generations from ``first`` on that ``orders`` (generations, n) has, the first one timed by phase."""
        seconds: dict[str, float] = {}
        words = -(-self.parameters.offspring // 32)
        self.put_orders(orders)
        for place in range(len(orders)):
            if place and self._interrupted():
                return Slice(self._rows_to_end(place)[0], seconds=seconds)
            steps = self._steps(first + place, place, words)
            for phase, step in zip(PHASES, steps, strict=True):
                began = time.perf_counter()
                if step() is False:
                    rows, ended = self._rows_to_end(place)
                    if ended:
                        return Slice(rows, seconds=seconds)
                    best = self._best_undone(phase, words)
                    return Slice(rows, seconds=seconds, is_interrupted=True, best=best)
                if place == 0:
                    self.device.sync()
                    seconds[phase] = time.perf_counter() - began
            self._summarise(first + place + 1, place, ending)
        return Slice(self._rows_to_end(len(orders))[0], seconds=seconds)

    def _rows_to_end(self, count: int) -> tuple[NDArray[np.void], bool]:
        """Up to ``count`` rows of the history, and whether the population ended with the last: old ones follow it."""
        rows = self.history(count)
        ended = np.flatnonzero(rows["reason"])
        return (rows[: ended[0] + 1], True) if ended.size else (rows, False)

    def _steps(self, generation: int, place: int, words: int) -> tuple[Callable[[], bool | None], ...]:
        """What is done for each of :data:`PHASES`; a phase that was interrupted returns False."""
        return (
            lambda: self.selection.select(place),
            lambda: self.learner.learn(0, self.parameters.n),
            lambda: self.sample(generation, 0, words),
            lambda: self.improve(generation, 0, words),
            lambda: self.evaluation.evaluate_offspring(0, words),
            self.selection.replace,
        )

    # --- a generation in parts, for devices that share it -----------------------------------------------------

    def select_by(self, order: NDArray[np.int32]) -> None:
        """Select individuals to learn from, with the order of the genes in this generation, shape (1, n)."""
        self.put_orders(order)
        self.selection.select(0)
        self.device.sync()

    def timed(self, phase: Callable[[DevicePopulation, int, int], bool], first: int, last: int) -> float | None:
        """The seconds that a phase took for items first .. last - 1, or None if it was interrupted."""
        began = time.perf_counter()
        if not phase(self, first, last):
            return None
        self.device.sync()
        return time.perf_counter() - began

    def finish(self, generation: int, ending: Ending) -> NDArray[np.void]:
        """Replace, and return the row of the history."""
        self.selection.replace()
        return self.summarise(generation + 1, 0, ending)

    # --- the phases of a generation ---------------------------------------------------------------------------

    def put_orders(self, orders: NDArray[np.int32]) -> None:
        """Permutations of the generations to come; shape (generations, n)."""
        self.device.put(orders.ravel(), self.memory.order)

    def sample(self, generation: int, first: int, last: int) -> bool:
        """Words first .. last - 1 of the offspring, sampled from the network; False if it was interrupted."""
        parameters, network, shapes = self.parameters, self.programs.network, self.shapes
        groups = shapes.spread(parameters.n << parameters.max_parents, shapes.node_block)
        self._launch(network.make_probabilities, groups, shapes.node_block)
        self._launch(network.plan_levels, 1, shapes.group)
        varying = {
            "stride": self.memory.offspring_words,
            "count": parameters.offspring,
            "stream": stream_word(STREAM_OFFSPRING, parameters.chain),
            "step": generation,
        }

        def launch(begin: int, end: int) -> None:
            kernel, groups = self.programs.sample.sample_offspring, -(-(end - begin) // shapes.sample_words)
            self._launch(kernel, groups, shapes.sample_block, first_word=begin, last_word=end, **varying)

        return self._sampling.launch(launch, first, last) == last

    def improve(self, generation: int, first: int, last: int) -> bool:
        """Local search of words first .. last - 1 of the offspring; False if it was interrupted."""
        return self._local_search is None or self._local_search.improve_offspring(generation, first, last)

    def offspring(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Bit planes (n, words) and keys (M,) of the offspring."""
        memory = self.memory
        planes = self.device.get(memory.offspring).reshape(self.parameters.n, memory.offspring_words)
        return planes, self.device.get(memory.offspring_keys)

    def set_offspring(self, planes: NDArray[np.uint32] | None, keys: NDArray[np.int64]) -> None:
        """Offspring combined from several devices (None: its own stay), and their keys."""
        memory = self.memory
        if planes is not None:
            self.device.put(planes.ravel(), memory.offspring)
        self.device.put(keys, memory.offspring_keys)

    def summarise(self, generation: int, place: int, ending: Ending) -> NDArray[np.void]:
        """Note the state after ``generation`` generations as row ``place`` of the history; the rows so far."""
        self._summarise(generation, place, ending)
        return self.history(place + 1)

    def _summarise(self, generation: int, place: int, ending: Ending) -> None:
        self._launch(
            *(self.programs.summarise.summarise_generation, 1, self.shapes.group),
            slot=place,
            target=0 if ending.target is None else ending.target,
            has_target=int(ending.target is not None),
            patience=ending.patience,
            generation=generation,
            learned=int(generation > 0),
        )

    def _best_undone(self, phase: str, words: int) -> NDArray[np.uint8] | None:
        """Genes of the best offspring, if known, of a generation left undone in this phase; some are as sampled."""
        if phase == "improvement":
            self.evaluation.evaluate_offspring(0, words)
        elif phase != "evaluation":
            return None
        planes, keys = self.offspring()
        place = int(keys[: self.evaluation.known].argmax())
        return ((planes[:, place // 32] >> np.uint32(place % 32)) & 1).astype(np.uint8)

    # --- reading ------------------------------------------------------------------------------------------------

    def history(self, count: int) -> NDArray[np.void]:
        """The first ``count`` rows of the history, of :data:`STATUS`."""
        return self.device.get(self.memory.history, 0, count)

    def best(self) -> NDArray[np.uint8]:
        """Genes of the best individual."""
        groups = self.shapes.spread(self.parameters.n, self.shapes.group)
        self._launch(self.programs.summarise.read_individual, groups, self.shapes.group)
        return self.device.get(self.memory.genes)

    def snapshot(self) -> tuple[Network, NDArray[np.uint32]]:
        """The network, and the bit planes (n, words) of the first 64 individuals."""
        n, words = self.parameters.n, min(SAMPLE_WORDS, -(-self.parameters.population // 32))
        groups = self.shapes.spread(n * words, self.shapes.group)
        self._launch(self.programs.summarise.read_sample, groups, self.shapes.group, words=words)
        return self.learner.network(), self.device.get(self.memory.sample, 0, n * words).reshape(n, words)
