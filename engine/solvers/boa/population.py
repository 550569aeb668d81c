"""One population on one or several devices: generations, and what passes between devices.

Every device holds the whole population and does selection and replacement for itself, so they agree without a word.
Nodes are shared out for learning and offspring for sampling; networks and offspring then pass through the host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Device, Member, gather
from engine.solvers.boa.balance import Balance, Share
from engine.solvers.boa.fitness import Fitness, Function
from engine.solvers.boa.learner import Network
from engine.solvers.boa.network import individuals
from engine.solvers.boa.options import Counting, Parameters
from engine.solvers.boa.programs import HISTORY_FIELDS, shapes_for
from engine.solvers.boa.reference import permutation, permutations
from engine.solvers.boa.worker import DevicePopulation, Ending, Migrants

__all__ = ["MOST_GENERATIONS", "PHASES", "HostEvaluation", "Population", "PopulationState", "Slice", "Snapshot"]

PHASES = ("selection", "learning", "sampling", "evaluation", "replacement")
"""The parts of a generation whose seconds are told."""

MOST_GENERATIONS = 64
"""Generations of a slice, at most."""

_REASON, _BEST = HISTORY_FIELDS.index("reason"), HISTORY_FIELDS.index("best")

HostEvaluation = Callable[[NDArray[np.uint8]], NDArray[np.int64]]


@dataclass(frozen=True)
class PopulationState:
    """Where a population is, as a checkpoint keeps it."""

    planes: NDArray[np.uint32]
    keys: NDArray[np.int64]
    status: NDArray[np.int64]
    network: Network


@dataclass(frozen=True)
class Snapshot:
    """What a population looks like: its last network with the gene of each rank, and the first of its individuals.

    ``planes`` are bit planes, shape (n, 2), or (n, 1) for populations up to 32.
    """

    generation: int
    order: NDArray[np.int32]
    network: Network
    planes: NDArray[np.uint32]


@dataclass
class Slice:
    """What some generations did: rows of history, mean values where rows do not tell them, and seconds by phase."""

    history: NDArray[np.int64]
    means: list[float] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


class Population:
    """A population being evolved. A context manager: leaving it gives the device memory back.

    Parameters
    ----------
    members : sequence of Member
        The devices that share the population.
    parameters : Parameters
    fitness : Fitness
    counting : mapping of label to {"popcount", "histogram", "tensor"}
    slots : mapping of label to int
        Nodes that a device learns at a time.
    ending : Ending
    host : callable, optional
        Keys of individuals for a fitness that devices cannot evaluate.
    """

    def __init__(
        self,
        members: Sequence[Member],
        parameters: Parameters,
        fitness: Fitness,
        counting: Mapping[str, Counting],
        slots: Mapping[str, int],
        ending: Ending,
        host: HostEvaluation | None = None,
    ) -> None:
        self.parameters = parameters
        self.generation = 0
        self.reason = 0
        self.best_key = 0
        self._ending = ending
        self._fitness = fitness
        self._host = host
        self._members = list(members)
        self._balance = Balance(parameters, len(members))
        self._together = len(members) == 1 and not isinstance(fitness, Function)
        rows = MOST_GENERATIONS if self._together else 1
        self._workers: list[DevicePopulation] = gather(
            [
                member.submit(_make, parameters, fitness, counting[member.label], slots[member.label], rows)
                for member in members
            ]
        )

    def __enter__(self) -> Population:
        return self

    def __exit__(self, *exception: object) -> None:
        self._all(lambda worker: worker.release())

    def _all(self, task: Callable[[DevicePopulation], Any]) -> list[Any]:
        """Do something with every worker, on its own thread."""
        return gather(
            [member.submit(_with, worker, task) for member, worker in zip(self._members, self._workers, strict=True)]
        )

    def _each(self, task: Callable[[DevicePopulation, Share], object]) -> list[float]:
        """Let every device do its share; the seconds each took."""
        return gather(
            [
                member.submit(_timed, worker, task, share)
                for member, worker, share in zip(self._members, self._workers, self._balance.shares, strict=True)
            ]
        )

    def _first(self, task: Callable[[DevicePopulation], Any]) -> Any:
        """Do something with the first worker, on its thread."""
        return self._members[0].submit(_with, self._workers[0], task).result()

    # --- beginning ----------------------------------------------------------------------------------------------

    def begin(self, seeds: NDArray[np.uint8]) -> Slice:
        """Draw and evaluate the initial population, ``seeds`` (s, n) among it."""
        self._all(lambda worker: worker.draw(seeds))
        if self._host is None:
            self._all(lambda worker: worker.evaluate_population())
        else:
            planes, _ = self._first(DevicePopulation.population)
            keys = self._host(individuals(planes, self.parameters.population))
            self._all(lambda worker: worker.set_keys(keys))
        self._all(lambda worker: worker.summarise(0, 0, self._ending))
        return self._noted(Slice(self._first(lambda worker: worker.history(1)), self._means()))

    def restore(self, state: PopulationState) -> None:
        """Go on from a state."""

        def load(worker: DevicePopulation) -> None:
            worker.load(state.planes, state.keys, state.status)
            worker.learner.set_network(state.network)

        self._all(load)
        status = dict(zip(HISTORY_FIELDS, state.status.tolist(), strict=True))
        self.reason, self.generation, self.best_key = status["reason"], status["generation"], status["best"]

    def state(self) -> PopulationState:
        """Everything needed to go on from here."""

        def read(worker: DevicePopulation) -> PopulationState:
            planes, keys = worker.population()
            return PopulationState(planes, keys, worker.device.get(worker.memory.status), worker.learner.network())

        state: PopulationState = self._first(read)
        return state

    def best(self) -> NDArray[np.uint8]:
        """Genes of the best individual."""
        genes: NDArray[np.uint8] = self._first(DevicePopulation.best)
        return genes

    def snapshot(self) -> Snapshot:
        """The last network, and some individuals."""
        network, planes = self._first(lambda worker: (worker.learner.network(), worker.first_individuals()))
        order = permutation(self.parameters, max(0, self.generation - 1))
        return Snapshot(self.generation, order, network, planes)

    # --- migration ----------------------------------------------------------------------------------------------

    def emigrants(self, count: int) -> Migrants:
        """Copies of the best individuals."""
        migrants: Migrants = self._first(lambda worker: worker.emigrants(count))
        return migrants

    def immigrate(self, migrants: Migrants) -> None:
        """Let individuals take the places of the worst; a population that had ended goes on."""
        self._all(lambda worker: worker.immigrate(migrants))
        self.reason = 0

    # --- generations --------------------------------------------------------------------------------------------

    def advance(self, count: int) -> Slice:
        """So many generations, from 1 to :data:`MOST_GENERATIONS`; fewer if the population ends by itself."""
        if self._together:
            orders = permutations(self.parameters, self.generation, count)
            done: Slice = self._first(
                lambda worker: _run_slice(worker, self.generation, orders, self._ending, self.parameters)
            )
            return self._noted(done)
        done = self._noted(self._one_by_one())
        while self.reason == 0 and len(done.history) < count:
            one = self._noted(self._one_by_one())
            done.history, done.means = np.concatenate([done.history, one.history]), done.means + one.means
        return done

    def _noted(self, done: Slice) -> Slice:
        last = done.history[-1]
        self.generation = int(last[HISTORY_FIELDS.index("generation")])
        self.reason, self.best_key = int(last[_REASON]), int(last[_BEST])
        return done

    def _means(self) -> list[float]:
        """The mean value, if rows of the history cannot tell it."""
        if not isinstance(self._fitness, Function):
            return []
        keys: NDArray[np.int64] = self._first(DevicePopulation.keys)
        return [float(self._fitness.values(keys).mean())]

    def _one_by_one(self) -> Slice:
        """One generation on several devices, or with evaluation by the host."""
        parameters, generation, ending = self.parameters, self.generation, self._ending
        order = permutation(parameters, generation)[None]
        seconds = dict.fromkeys(PHASES, 0.0)
        clock = time.perf_counter()

        def lap(phase: str) -> None:
            nonlocal clock
            now = time.perf_counter()
            seconds[phase] += now - clock
            clock = now

        def select(worker: DevicePopulation) -> None:
            worker.put_orders(order)
            worker.select(generation, 0)
            worker.device.sync()

        self._all(select)
        lap("selection")
        learned = self._learn(generation)
        lap("learning")
        sampled = self._each(lambda worker, share: worker.sample(generation, share.first_word, share.last_word))
        lap("sampling")
        if self._host is None:
            evaluated = self._each(lambda worker, share: worker.evaluate(share.first_word, share.last_word))
            sampled = [sum(pair) for pair in zip(sampled, evaluated, strict=True)]
        self._exchange_offspring()
        lap("evaluation")

        def finish(worker: DevicePopulation) -> NDArray[np.int64]:
            worker.replace(generation)
            worker.summarise(generation + 1, 0, ending)
            return worker.history(1)

        rows: NDArray[np.int64] = self._all(finish)[0]
        lap("replacement")
        if len(self._members) > 1:
            self._balance.note(learned, sampled)
        return Slice(rows, self._means(), seconds)

    def _learn(self, generation: int) -> list[float]:
        """The network, on every device; the seconds each took for its nodes, 0 where nodes are not shared."""
        nothing = [0.0] * len(self._members)
        if not self.parameters.learns(generation) or self.parameters.max_parents == 0:
            self._each(lambda worker, share: worker.learner.recount())
            return nothing
        seconds = self._each(lambda worker, share: worker.learner.learn(share.first_node, share.last_node))
        if len(self._members) > 1:
            parts: list[Network] = self._all(lambda worker: worker.learner.network())
            whole = Network(
                *(
                    np.concatenate(
                        [
                            getattr(part, name)[share.first_node : share.last_node]
                            for part, share in zip(parts, self._balance.shares, strict=True)
                        ]
                    )
                    for name in ("parents", "parent_count", "totals")
                )
            )
            self._all(lambda worker: worker.learner.set_network(whole))
        return seconds

    def _exchange_offspring(self) -> None:
        """Put the shares of the offspring together, with the host's keys where it evaluates, and give them to all."""
        several = len(self._members) > 1
        parts: list[tuple[NDArray[np.uint32], NDArray[np.int64]]] = self._all(DevicePopulation.offspring)
        planes, keys = parts[0]
        for (other_planes, other_keys), share in zip(parts[1:], self._balance.shares[1:], strict=True):
            planes[:, share.first_word : share.last_word] = other_planes[:, share.first_word : share.last_word]
            keys[32 * share.first_word : 32 * share.last_word] = other_keys[
                32 * share.first_word : 32 * share.last_word
            ]
        if self._host is not None:
            keys = self._host(individuals(planes, self.parameters.offspring))
        if several or self._host is not None:
            self._all(lambda worker: worker.set_offspring(planes if several else None, keys))


def _make(
    device: Device, parameters: Parameters, fitness: Fitness, counting: Counting, slots: int, history: int
) -> DevicePopulation:
    return DevicePopulation(device, shapes_for(device.capabilities), parameters, fitness, counting, slots, history)


def _with(device: Device, worker: DevicePopulation, task: Callable[[DevicePopulation], Any]) -> Any:
    return task(worker)


def _timed(
    device: Device, worker: DevicePopulation, task: Callable[[DevicePopulation, Share], object], share: Share
) -> float:
    began = time.perf_counter()
    task(worker, share)
    device.sync()
    return time.perf_counter() - began


def _steps(
    worker: DevicePopulation, parameters: Parameters, generation: int, place: int
) -> tuple[Callable[[], object], ...]:
    """What a device does for each of :data:`PHASES` when it does all of it."""
    words = -(-parameters.offspring // 32)
    return (
        lambda: worker.select(generation, place),
        lambda: worker.learner.learn(0, parameters.n) if parameters.learns(generation) else worker.learner.recount(),
        lambda: worker.sample(generation, 0, words),
        lambda: worker.evaluate(0, words),
        lambda: worker.replace(generation),
    )


def _run_slice(
    worker: DevicePopulation, first: int, orders: NDArray[np.int32], ending: Ending, parameters: Parameters
) -> Slice:
    """Give the device all the generations of a slice, the first of them timed phase by phase."""
    seconds: dict[str, float] = {}
    worker.put_orders(orders)
    for place in range(len(orders)):
        for phase, step in zip(PHASES, _steps(worker, parameters, first + place, place), strict=True):
            began = time.perf_counter()
            step()
            if place == 0:
                worker.device.sync()
                seconds[phase] = time.perf_counter() - began
        worker.summarise(first + place + 1, place, ending)
    rows = worker.history(len(orders))
    ended = np.flatnonzero(rows[:, _REASON])
    return Slice(rows[: ended[0] + 1] if ended.size else rows, seconds=seconds)
