"""One device's part of a run: its population, and the steps of a generation. Everything runs on the device's thread."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ....devices import Device
from ....numerics.philox import stream_word
from ..fitness import Fitness, Function
from ..fitness.autocorrelation import Autocorrelation
from ..fitness.tables import Decomposable
from ..network import Network, bit_planes
from ..options import PHASES, STREAM_INITIAL, STREAM_OFFSPRING, Counting, Parameters
from .evaluation import Evaluation
from .learner import Learner
from .local_search import LocalSearch, improve_program
from .memory import FIELDS, SAMPLE_WORDS, PopulationMemory
from .parts import Parts
from .programs import HISTORY_FIELDS, Programs, Shapes
from .selection import Selection
from .state import Ending, Migrants, PopulationState, Slice

__all__ = ["DevicePopulation"]

_REASON, _FLIPS = HISTORY_FIELDS.index("reason"), HISTORY_FIELDS.index("flips")


class DevicePopulation:
    """The population on one device.

    Parameters
    ----------
    device : Device
    shapes : Shapes
    parameters : Parameters
    fitness : Fitness
    counting : {"popcount", "histogram", "tensor"}
    slots : int
        Nodes learned at a time.
    history : int
        Generations that may pass between two readings.
    interrupted : callable
        Whether the run is to end, from any thread: a local search then leaves the rest of a generation undone.
    """

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
        self.device = device
        self.parameters = parameters
        self.shapes = shapes
        self.memory = PopulationMemory(device, parameters, fitness, slots, history)
        improvement = parameters.improvement
        search = None
        if improvement is not None and isinstance(fitness, (Autocorrelation, Decomposable)):
            search = improve_program(fitness, improvement)
        self.programs = Programs(
            device,
            shapes,
            max_parents=parameters.max_parents,
            laplace=parameters.probabilities == "laplace",
            tournament=parameters.tournament_size,
            counting=counting,
            fitness=None if isinstance(fitness, Function) else fitness,
            local_search=search,
            linked=parameters.linked,
            mixes=parameters.mixes,
            pair_table=self.memory.has_pair_table,
        )
        self._interrupted = interrupted
        self.learner = Learner(self.memory, self.programs, parameters, interrupted)
        self.selection = Selection(self.memory, self.programs, parameters)
        self.evaluation = Evaluation(self.memory, self.programs, parameters, fitness, interrupted)
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
        self.programs.initialise.draw_population(
            self.shapes.spread(memory.words // 4 * parameters.n, self.shapes.block),
            self.shapes.block,
            planes=memory.population,
            n=parameters.n,
            stride=memory.words,
            count=parameters.population,
            seed=parameters.seed,
            stream=stream_word(STREAM_INITIAL, parameters.chain),
        )
        self.device.zero(memory.status)
        if len(seeds):
            words = -(-len(seeds) // 32)
            packed = bit_planes(seeds, words)
            planes = self.device.get(memory.population).reshape(parameters.n, memory.words)
            mask = np.packbits(np.arange(32 * words) < len(seeds), bitorder="little").view("<u4").astype(np.uint32)
            planes[:, :words] = (planes[:, :words] & ~mask) | packed
            self.device.put(planes.ravel(), memory.population)

    def begin(self, seeds: NDArray[np.uint8], ending: Ending) -> Slice:
        """Draw and evaluate the initial population; see :meth:`draw` and :meth:`summarise`."""
        self.draw(seeds)
        finished = self.improve_population(0, -(-self.parameters.population // 32))
        finished &= self.evaluate_population()
        return Slice(self.summarise(0, 0, ending), is_interrupted=not finished, undone=-self.evaluation.missing)

    def improve_population(self, first: int, last: int) -> bool:
        """See :meth:`LocalSearch.improve_population`; True where there is no local search."""
        return self._local_search is None or self._local_search.improve_population(first, last)

    def set_planes(self, planes: NDArray[np.uint32]) -> None:
        """The population's bit planes (n, words)."""
        self.device.put(planes.ravel(), self.memory.population)

    def evaluate_population(self) -> bool:
        """See :meth:`engine.solvers.boa.device.evaluation.Evaluation.evaluate_population`."""
        return self.evaluation.evaluate_population()

    def flipped_keys(self, bits: NDArray[np.uint8], genes: NDArray[np.int64]) -> NDArray[np.int64]:
        """See :meth:`engine.solvers.boa.device.evaluation.Evaluation.flipped_keys`."""
        return self.evaluation.flipped_keys(bits, genes)

    def population(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Bit planes (n, words) and keys (N,)."""
        memory = self.memory
        planes = self.device.get(memory.population).reshape(self.parameters.n, memory.words)
        return planes, self.keys()

    def keys(self) -> NDArray[np.int64]:
        """Keys (N,) of the population."""
        return self.device.get(self.memory.keys)

    def restore(self, state: PopulationState, flips: int) -> None:
        """Continue from a state, with so many flips counted.

        Parameters
        ----------
        state : PopulationState
        flips : int
            Genes that local search has flipped so far.
        """
        memory = self.memory
        self.device.put(state.planes.ravel(), memory.population)
        self.device.put(state.keys, memory.keys)
        status = state.status.copy()
        status[_FLIPS] = flips
        self.device.put(status, memory.status)
        self.set_network(state.network)

    def state(self) -> PopulationState:
        """Everything needed to continue from here."""
        planes, keys = self.population()
        return PopulationState(planes, keys, self.device.get(self.memory.status), self.network())

    def set_keys(self, keys: NDArray[np.int64]) -> None:
        """Keys of the population, from the host."""
        self.device.put(keys, self.memory.keys)

    # --- a generation in one task, for a device that does all of it -------------------------------------------

    def run_slice(self, first: int, orders: NDArray[np.int32], ending: Ending) -> Slice:
        """The generations from ``first`` on that ``orders`` has permutations for, the first one timed by phase.

        Parameters
        ----------
        first : int
            Number of the first generation.
        orders : ndarray of int32, shape (generations, n)
        ending : Ending

        Returns
        -------
        Slice
            Its history ends where the population does, or after a whole generation if the run is to end.
        """
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

    def _rows_to_end(self, count: int) -> tuple[NDArray[np.int64], bool]:
        """Up to ``count`` rows of the history, and whether the population has ended with the last of them.

        Nothing is written after the end: what is behind it in the buffer is of an earlier slice.
        """
        rows = self.history(count)
        ended = np.flatnonzero(rows[:, _REASON])
        return (rows[: ended[0] + 1], True) if ended.size else (rows, False)

    def _steps(self, generation: int, place: int, words: int) -> tuple[Callable[[], bool | None], ...]:
        """What is done for each of :data:`PHASES`; a phase that was interrupted returns False."""
        return (
            lambda: self.select(generation, place),
            lambda: self.learn(generation, 0, self.parameters.n),
            lambda: self.sample(generation, 0, words),
            lambda: self.improve(generation, 0, words),
            lambda: self.evaluate(0, words),
            lambda: self.replace(generation),
        )

    # --- a generation in parts, for devices that share it -----------------------------------------------------

    def select_by(self, order: NDArray[np.int32], generation: int) -> None:
        """As :meth:`select`, with the order of the genes in this generation, shape (1, n); until it is done."""
        self.put_orders(order)
        self.select(generation, 0)
        self.device.sync()

    def learn_share(self, generation: int, first: int, last: int) -> float | None:
        """As :meth:`learn`, until it is done; the seconds it took, or None if it was interrupted."""
        began = time.perf_counter()
        finished = self.learn(generation, first, last)
        return self._finished(began) if finished else None

    def sample_share(self, generation: int, first: int, last: int) -> float | None:
        """As :meth:`sample`, until it is done; the seconds it took, or None if it was interrupted."""
        began = time.perf_counter()
        finished = self.sample(generation, first, last)
        return self._finished(began) if finished else None

    def improve_share(self, generation: int, first: int, last: int) -> float | None:
        """As :meth:`improve`, until it is done; the seconds it took, or None if it was interrupted."""
        began = time.perf_counter()
        finished = self.improve(generation, first, last)
        return self._finished(began) if finished else None

    def evaluate_share(self, generation: int, first: int, last: int) -> float | None:
        """As :meth:`evaluate`, until it is done; the seconds, or None. The generation makes no difference."""
        began = time.perf_counter()
        finished = self.evaluate(first, last)
        return self._finished(began) if finished else None

    def _finished(self, began: float) -> float:
        self.device.sync()
        return time.perf_counter() - began

    def finish(self, generation: int, ending: Ending) -> NDArray[np.int64]:
        """Replace, and return the row of the history; see :meth:`summarise`."""
        self.replace(generation)
        return self.summarise(generation + 1, 0, ending)

    # --- the phases of a generation ---------------------------------------------------------------------------

    def put_orders(self, orders: NDArray[np.int32]) -> None:
        """Permutations of the generations to come; shape (generations, n)."""
        self.device.put(orders.ravel(), self.memory.order)

    def select(self, generation: int, place: int) -> None:
        """See :meth:`engine.solvers.boa.device.selection.Selection.select`."""
        self.selection.select(generation, place)

    def learn(self, generation: int, first: int, last: int) -> bool:
        """As :meth:`Learner.learn`; the counts only, if the structure is kept in this generation."""
        if self.parameters.learns(generation):
            return self.learner.learn(first, last)
        self.learner.recount()
        return True

    def recount(self) -> None:
        """The counts of the present structure among the individuals selected now."""
        self.learner.recount()

    def network(self) -> Network:
        """The network, as far as this device has learned it."""
        return self.learner.network()

    def set_network(self, network: Network) -> None:
        """A network combined from several devices, or from a checkpoint."""
        self.learner.set_network(network)

    def sample(self, generation: int, first: int, last: int) -> bool:
        """Words first .. last - 1 of the offspring, sampled from the network; False if it was interrupted.

        Parameters
        ----------
        generation : int
        first, last : int
            Words of 32 individuals.
        """
        memory, parameters, network = self.memory, self.parameters, self.programs.network
        network.make_probabilities(
            self.shapes.spread(parameters.n << parameters.max_parents, self.shapes.node_block),
            self.shapes.node_block,
            totals=memory.totals,
            parent_count=memory.parent_count,
            n=parameters.n,
            thresholds=memory.thresholds,
            status=memory.status,
        )
        network.plan_levels(
            *(1, self.shapes.group),
            parents=memory.parents,
            parent_count=memory.parent_count,
            n=parameters.n,
            depth=memory.level_of,
            levels=memory.levels,
            schedule=memory.schedule,
            status=memory.status,
        )

        def launch(begin: int, end: int) -> None:
            self._launch_sampling(generation, begin, end)

        return self._sampling.launch(launch, first, last) == last

    def _launch_sampling(self, generation: int, first: int, last: int) -> None:
        memory, parameters = self.memory, self.parameters
        self.programs.sample.sample_offspring(
            -(-(last - first) // self.shapes.sample_words),
            self.shapes.sample_block,
            parents=memory.parents,
            parent_count=memory.parent_count,
            thresholds=memory.thresholds,
            order=memory.present_order,
            levels=memory.levels,
            schedule=memory.schedule,
            first_word=first,
            last_word=last,
            offspring=memory.offspring,
            stride=memory.offspring_words,
            count=parameters.offspring,
            seed=parameters.seed,
            stream=stream_word(STREAM_OFFSPRING, parameters.chain),
            step=generation,
            status=memory.status,
        )

    def improve(self, generation: int, first: int, last: int) -> bool:
        """See :meth:`LocalSearch.improve_offspring`; True where there is no local search."""
        return self._local_search is None or self._local_search.improve_offspring(generation, first, last)

    def evaluate(self, first: int, last: int) -> bool:
        """Keys of words first .. last - 1 of the offspring, by the device; False if it was interrupted.

        Parameters
        ----------
        first, last : int
            Words of 32 individuals.
        """
        return self.evaluation.evaluate_offspring(first, last)

    def offspring(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Bit planes (n, words) and keys (M,) of the offspring."""
        memory = self.memory
        planes = self.device.get(memory.offspring).reshape(self.parameters.n, memory.offspring_words)
        return planes, self.device.get(memory.offspring_keys)

    def set_offspring(self, planes: NDArray[np.uint32] | None, keys: NDArray[np.int64]) -> None:
        """Offspring combined from several devices, or the keys that the host gives them.

        Parameters
        ----------
        planes : ndarray of uint32, shape (n, words), or None
            None where the device's own stay.
        keys : ndarray of int64, shape (M,)
        """
        memory = self.memory
        if planes is not None:
            self.device.put(planes.ravel(), memory.offspring)
        self.device.put(keys, memory.offspring_keys)

    def replace(self, generation: int) -> None:
        """Bring the offspring into the population."""
        self.selection.replace(generation)

    def summarise(self, generation: int, place: int, ending: Ending) -> NDArray[np.int64]:
        """Note the state after ``generation`` generations as row ``place`` of the history; the rows so far.

        Parameters
        ----------
        generation, place : int
        ending : Ending

        Returns
        -------
        ndarray of int64, shape (place + 1, fields)
        """
        self._summarise(generation, place, ending)
        return self.history(place + 1)

    def _summarise(self, generation: int, place: int, ending: Ending) -> None:
        """Note the state after ``generation`` generations as row ``place`` of the history."""
        memory = self.memory
        self.programs.summarise.summarise(
            *(1, self.shapes.group),
            keys=memory.keys,
            count=self.parameters.population,
            status=memory.status,
            history=memory.history,
            slot=place,
            target=0 if ending.target is None else ending.target,
            has_target=int(ending.target is not None),
            patience=ending.patience,
            generation=generation,
            learned=int(generation > 0),
            totals=memory.totals,
            parent_count=memory.parent_count,
            n=self.parameters.n,
            entropies=memory.entropies,
        )

    def _best_undone(self, phase: str, words: int) -> NDArray[np.uint8] | None:
        """Genes of the best offspring of a generation that is left undone in this phase, where some are known.

        Some of them may still be as they were sampled.
        """
        if phase == "improvement":
            self.evaluate(0, words)
        elif phase != "evaluation":
            return None
        planes, keys = self.offspring()
        place = int(keys[: self.evaluation.known].argmax())
        return ((planes[:, place // 32] >> np.uint32(place % 32)) & 1).astype(np.uint8)

    # --- migration ----------------------------------------------------------------------------------------------

    def emigrants(self, count: int) -> Migrants:
        """Copies of the ``count`` best individuals, in the order of their numbers; also after the population's end."""
        return self.selection.emigrants(count)

    def immigrate(self, migrants: Migrants) -> None:
        """Replace the worst individuals; a population that had ended is revived."""
        self.selection.immigrate(migrants)

    # --- reading ------------------------------------------------------------------------------------------------

    def history(self, count: int) -> NDArray[np.int64]:
        """The first ``count`` rows of the history, shape (count, fields); see :data:`HISTORY_FIELDS`."""
        return self.device.get(self.memory.history, 0, count * FIELDS).reshape(count, FIELDS)

    def best(self) -> NDArray[np.uint8]:
        """Genes of the best individual."""
        memory = self.memory
        n = self.parameters.n
        self.programs.summarise.read_individual(
            self.shapes.spread(n, self.shapes.group),
            self.shapes.group,
            planes=memory.population,
            stride=memory.words,
            n=n,
            status=memory.status,
            genes=memory.genes,
        )
        return self.device.get(memory.genes)

    def snapshot(self) -> tuple[Network, NDArray[np.uint32]]:
        """The network, and the bit planes of some individuals."""
        return self.network(), self.first_individuals()

    def first_individuals(self) -> NDArray[np.uint32]:
        """The bit planes (n, words) of the first 64 individuals."""
        memory = self.memory
        n = self.parameters.n
        words = min(SAMPLE_WORDS, -(-self.parameters.population // 32))
        self.programs.summarise.read_sample(
            self.shapes.spread(n * words, self.shapes.group),
            self.shapes.group,
            planes=memory.population,
            stride=memory.words,
            n=n,
            words=words,
            sample=memory.sample,
        )
        return self.device.get(memory.sample, 0, n * words).reshape(n, words)
