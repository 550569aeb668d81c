"""One population on one or several devices: generations, and what passes between devices.

Every device holds the whole population, so that it continues when one fails; nodes are shared out for learning and
offspring for sampling. Networks and offspring pass through the host, or between peers (``device/peers.py``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...devices import Communicator, Member, WorkerGroup
from ...errors import DeviceLost
from ...numerics.philox import philox4x32, stream_word
from .balance import Balance, Share
from .device.peers import Rank, finish_by_peers, offspring_by_peers
from .device.programs import shapes_for
from .device.state import MOST_GENERATIONS, STATUS, Ending, Migrants, PopulationState, Slice, Snapshot
from .device.worker import DevicePopulation
from .fitness import Evaluate, Fitness, Function
from .network import Network, individuals
from .options import PHASES, STREAM_PERMUTATION, Counting, Parameters

__all__ = ["Population", "Snapshot", "permutations"]

P = ParamSpec("P")
T = TypeVar("T")


def permutations(parameters: Parameters, first: int, count: int) -> NDArray[np.int32]:
    """Orders (count, n) of the genes in generations from ``first`` on; edges go from earlier to later genes."""
    counters = np.zeros((count, parameters.n, 4), np.uint32)
    counters[:, :, 0] = np.arange(parameters.n)
    counters[:, :, 2] = np.arange(first, first + count)[:, None]
    counters[:, :, 3] = stream_word(STREAM_PERMUTATION, parameters.chain)
    words = philox4x32(counters, (parameters.seed & 0xFFFFFFFF, parameters.seed >> 32))
    return np.asarray(np.lexsort((words[..., 1], words[..., 0])), np.int32)


class Population:
    """A population being evolved. A context manager: leaving it gives the device memory back.

    ``counting`` and ``slots`` (nodes learned at a time) are by the label of a device. ``on_loss`` is called for a
    failed device. ``interrupted``, from any thread: the run is to end. ``peers``: the devices read each other's memory.
    """

    def __init__(
        self,
        members: Sequence[Member],
        parameters: Parameters,
        fitness: Fitness,
        counting: Mapping[str, Counting],
        slots: Mapping[str, int],
        ending: Ending,
        host: Evaluate | None = None,
        on_loss: Callable[[DeviceLost], None] = lambda error: None,
        interrupted: Callable[[], bool] = lambda: False,
        peers: bool = False,
    ) -> None:
        self.parameters, self.members = parameters, list(members)
        self.generation = self.reason = self.best_key = 0
        self._ending, self._fitness, self._host = ending, fitness, host
        self._on_loss, self._interrupted = on_loss, interrupted
        self._balance = Balance(parameters, len(members))
        self._flips: dict[int, int] = {}
        self._is_alone = len(members) == 1 and host is None
        rows = MOST_GENERATIONS if self._is_alone else 1
        arguments = [
            (parameters, fitness, counting[member.label], slots[member.label], rows, interrupted) for member in members
        ]
        self._group: WorkerGroup[DevicePopulation] = WorkerGroup(
            self.members,
            lambda device, *given: DevicePopulation(device, shapes_for(device.capabilities), *given),
            arguments,
            tolerant=True,
        )
        self._orders: tuple[int, NDArray[np.int32]] = (0, np.zeros((0, parameters.n), np.int32))
        self._peers = peers and host is None
        self._communicator = Communicator(len(members))
        self._group.on_failure(lambda: self._communicator.abort())

    def __enter__(self) -> Population:
        return self

    def __exit__(self, *exception: Any) -> None:
        self._group.__exit__(*exception)

    def start(
        self, method: Callable[Concatenate[DevicePopulation, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[], T]:
        """Begin something on the first device; what is returned waits for it."""
        index = self._group.alive[0]
        future = self._group.submit(index, method, *args, **kwargs)
        return lambda: self._group.gather({index: future})[index]

    def _shared(
        self, phase: Callable[[DevicePopulation, int, int], bool], *, nodes: bool = False
    ) -> list[float] | None:
        """A phase on every device, for its share of nodes or offspring: the seconds of each; None if interrupted."""
        arguments = {
            index: (phase, *((share.first_node, share.last_node) if nodes else (share.first_word, share.last_word)))
            for index, share in self._shares()
        }
        seconds = [taken for taken in self._map(DevicePopulation.timed, arguments) if taken is not None]
        return seconds if len(seconds) == len(self._group) else None

    def _map(self, method: Callable[..., T], arguments: Mapping[int, tuple[Any, ...]]) -> list[T]:
        """Call a method of some devices, each with arguments of its own; the results in order."""
        return self._results(self._begun(method, arguments))

    def _begun(self, method: Callable[..., T], arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Future[T]]:
        return {index: self._group.submit(index, method, *given) for index, given in arguments.items()}

    def _results(self, futures: dict[int, Future[T]]) -> list[T]:
        return [result for _, result in sorted(self._group.gather(futures).items())]

    def _shares(self) -> list[tuple[int, Share]]:
        return list(zip(self._group.alive, self._balance.shares, strict=True))

    def _drop_device(self, error: DeviceLost) -> None:
        """Go on without a device, if there is another."""
        if len(self._group.alive) == 1:
            raise error.error
        self._group.drop_member(error.index)
        self._balance = Balance(self.parameters, len(self._group.alive))
        self._communicator = Communicator(len(self._group.alive))
        self._on_loss(error)

    # --- the beginning ------------------------------------------------------------------------------------------

    def begin(self, seeds: NDArray[np.uint8]) -> Callable[[], Slice]:
        """Draw and evaluate the initial population, ``seeds`` (s, n) among it; what is returned waits for it."""
        if self._is_alone:
            done = self.start(DevicePopulation.begin, seeds, self._ending)
            return lambda: self._noted(done())
        return lambda: self._noted(self._repeated(lambda: self._begin_shared(seeds)))

    def _begin_shared(self, seeds: NDArray[np.uint8]) -> Slice:
        self._group.each(DevicePopulation.draw, seeds)
        finished = self.parameters.improvement is None or self._improve_shared()
        if self._host is None:
            finished &= all(self._group.each(lambda worker: worker.evaluation.evaluate_population()))
        else:
            planes, _ = self._group.first(DevicePopulation.population)
            keys = self._host(individuals(planes, self.parameters.population))
            self._group.each(lambda worker: worker.device.put(keys, worker.memory.keys))
        rows = self._group.each(DevicePopulation.summarise, 0, 0, self._ending)
        return Slice(self._with_all_flips(rows), self._means(), is_interrupted=not finished)

    def _parts(self, count: int) -> list[tuple[int, int, int]]:
        """Of so many items the same share for every device: its index, the first, and the one after the last."""
        alive = self._group.alive
        ends = [count * place // len(alive) for place in range(len(alive) + 1)]
        return list(zip(alive, ends, ends[1:], strict=False))

    def _improve_shared(self) -> bool:
        """Local search of the initial population, of which every device does a part; False if it was interrupted."""
        parts = self._parts(-(-self.parameters.population // 32))
        finished = self._map(DevicePopulation.improve_population, {i: (first, last) for i, first, last in parts})
        populations = self._group.each(DevicePopulation.population)
        planes = populations[0][0]
        for (other, _), (_, first, last) in zip(populations[1:], parts[1:], strict=True):
            planes[:, first:last] = other[:, first:last]
        self._group.each(lambda worker: worker.device.put(planes.ravel(), worker.memory.population))
        return all(finished)

    def _with_all_flips(self, rows: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
        """The first device's row of the history, with the flips of all devices, also of those that have failed."""
        for index, row in zip(self._group.alive, rows, strict=True):
            self._flips[index] = int(row["flips"][-1])
        row = rows[0].copy()
        row["flips"][-1] = sum(self._flips.values())
        return row

    def _repeated(self, step: Callable[[], T]) -> T:
        """Do something that may be repeated, with fewer devices each time that one fails."""
        while True:
            try:
                return step()
            except DeviceLost as error:
                self._drop_device(error)

    def restore(self, state: PopulationState) -> None:
        """Continue from a state."""
        total = int(state.status["flips"])
        self._repeated(lambda: self._restore_shared(state, total))
        self._note(state.status)

    def _restore_shared(self, state: PopulationState, flips: int) -> None:
        """Give the state to all devices; the flips so far count as the first one's."""
        self._flips = dict.fromkeys(self._group.alive, 0) | {self._group.alive[0]: flips}
        self._map(DevicePopulation.restore, {index: (state, own) for index, own in self._flips.items()})

    def state(self) -> PopulationState:
        """Everything needed to continue from here."""
        state = self._repeated(lambda: self._group.first(DevicePopulation.state))
        if not self._is_alone:
            state.status["flips"] = sum(self._flips.values())
        return state

    def best(self) -> NDArray[np.uint8]:
        """Genes of the best individual."""
        return self._repeated(lambda: self._group.first(DevicePopulation.best))

    def snapshot(self) -> Snapshot:
        """The last network, and some individuals."""
        network, planes = self._repeated(lambda: self._group.first(DevicePopulation.snapshot))
        order = permutations(self.parameters, max(0, self.generation - 1), 1)[0]
        return Snapshot(self.generation, order, network, planes)

    # --- migration ----------------------------------------------------------------------------------------------

    def emigrants(self, count: int) -> Callable[[], Migrants]:
        """Copies of the best individuals; what is returned waits for them."""
        return self.start(lambda worker: worker.selection.emigrants(count))

    def immigrate(self, migrants: Migrants) -> Callable[[], None]:
        """Replace the worst individuals; a population that had ended is revived."""
        self.reason = 0
        return self.start(lambda worker: worker.selection.immigrate(migrants))

    # --- generations --------------------------------------------------------------------------------------------

    def advance(self, count: int) -> Callable[[], Slice]:
        """So many generations, up to :data:`MOST_GENERATIONS`, or fewer if it ends; what is returned waits for them."""
        if self._is_alone:
            done = self.start(DevicePopulation.run_slice, self.generation, self._next_orders(count), self._ending)
            self._prepare_orders(self.generation + count, count)
            return lambda: self._noted(done())
        return lambda: self._advance_shared(count)

    def _next_orders(self, count: int) -> NDArray[np.int32]:
        """:func:`permutations` of the next generations; those that were prepared are not computed again."""
        first, orders = self._orders
        ready = orders[self.generation - first :][:count] if first <= self.generation else orders[:0]
        if len(ready) == count:
            return ready
        more = permutations(self.parameters, self.generation + len(ready), count - len(ready))
        return np.concatenate([ready, more])

    def _prepare_orders(self, first: int, count: int) -> None:
        self._orders = first, permutations(self.parameters, first, count)

    def _advance_shared(self, count: int) -> Slice:
        done = self._noted(self._generation())
        while self.reason == 0 and len(done.history) < count and not (done.is_interrupted or self._interrupted()):
            done.extend(self._noted(self._generation()))
        return done

    def _noted(self, done: Slice) -> Slice:
        if len(done.history):
            self._note(done.history[-1])
        return done

    def _note(self, status: NDArray[np.void]) -> None:
        self.reason, self.generation = int(status["reason"]), int(status["generation"])
        self.best_key = int(status["best"])

    def _means(self) -> list[float]:
        """The mean value, if rows of the history do not have it."""
        if not isinstance(self._fitness, Function):
            return []
        return [float(self._fitness.values(self._group.first(DevicePopulation.keys)).mean())]

    def _generation(self) -> Slice:
        """One generation on several devices, or with evaluation by the host.

        Up to the replacement nothing of the population is changed, so that it can be repeated when a device fails.
        """
        offspring = self._repeated(self._offspring_by_peers if self._peers else self._offspring)
        if offspring is None:
            return Slice(np.zeros(0, STATUS.dtype), is_interrupted=True)
        seconds, learned, sampled = offspring
        began = time.perf_counter()
        try:
            rows = self._finished_rows()
        except DeviceLost as error:
            for index in [index for index in self._group.alive if index not in error.results]:
                self._drop_device(DeviceLost(self.members[index].label, index, error.error))
            rows = [error.results[index] for index in sorted(error.results)]
        else:
            if len(rows) > 1:
                self._balance.note(learned, sampled)
        seconds["replacement"] = time.perf_counter() - began
        return Slice(self._with_all_flips(rows), self._means(), seconds)

    def _finished_rows(self) -> list[NDArray[np.void]]:
        """Replacement on every device, and its row of the history."""
        if not self._peers:
            return self._group.each(DevicePopulation.finish, self.generation, self._ending)
        return self._map(finish_by_peers, self._ranked(self.generation, self._ending))

    def _ranked(self, *arguments: Any) -> dict[int, tuple[Any, ...]]:
        """Arguments of a function of :mod:`engine.solvers.boa.device.peers`, by device."""
        shares = tuple(self._balance.shares)
        return {i: (*arguments, Rank(self._communicator, rank, shares)) for rank, i in enumerate(self._group.alive)}

    def _offspring_by_peers(self) -> tuple[dict[str, float], list[float], list[float]] | None:
        """As :meth:`_offspring`, for devices that read each other's memory."""
        futures = self._begun(offspring_by_peers, self._ranked(self._next_orders(1), self.generation))
        self._prepare_orders(self.generation + 1, 1)
        done = self._results(futures)
        if not all(one.finished for one in done):
            return None
        sampled = [one.seconds["sampling"] + one.seconds.get("improvement", 0.0) for one in done]
        seconds = dict.fromkeys(PHASES, 0.0) | done[0].seconds
        return seconds, [one.seconds.get("learning", 0.0) for one in done], sampled

    def _offspring(self) -> tuple[dict[str, float], list[float], list[float]] | None:
        """Seconds by phase up to the evaluated offspring, and each device's for learning and sampling, or None."""
        generation = self.generation
        order = permutations(self.parameters, generation, 1)
        seconds = dict.fromkeys(PHASES, 0.0)
        clock = time.perf_counter()

        def lap(phase: str) -> None:
            nonlocal clock
            now = time.perf_counter()
            seconds[phase] += now - clock
            clock = now

        self._group.each(DevicePopulation.select_by, order)
        lap("selection")
        learned = self._learn()
        if learned is None:
            return None
        lap("learning")
        phases: dict[str, Callable[[DevicePopulation, int, int], bool]] = {
            "sampling": lambda worker, first, last: worker.sample(generation, first, last)
        }
        if self._host is None:
            if self.parameters.improvement is not None:
                phases["improvement"] = lambda worker, first, last: worker.improve(generation, first, last)
            phases["evaluation"] = lambda worker, first, last: worker.evaluation.evaluate_offspring(first, last)
        sampled = [0.0] * len(self._group)
        for phase, step in phases.items():
            taken = self._shared(step)
            if taken is None:
                return None
            sampled = [sum(pair) for pair in zip(sampled, taken, strict=True)]
            lap(phase)
        self._exchange_offspring()
        lap("evaluation")
        return seconds, learned, sampled

    def _learn(self) -> list[float] | None:
        """The network, on every device; the seconds each took for its nodes (0: all of them); None if interrupted."""
        if self.parameters.max_parents == 0:
            self._group.each(lambda worker: worker.learner.recount())
            return [0.0] * len(self._group)
        seconds = self._shared(lambda worker, first, last: worker.learner.learn(first, last), nodes=True)
        if seconds is not None and len(self._group) > 1:
            parts = self._group.each(lambda worker: worker.learner.network())
            shares = [slice(share.first_node, share.last_node) for _, share in self._shares()]
            joined = Network.joined(parts, shares)
            self._group.each(lambda worker: worker.learner.set_network(joined))
        return seconds

    def _exchange_offspring(self) -> None:
        """Combine the shares of the offspring for all devices; the host evaluates them, if it does."""
        several = len(self._group) > 1
        if not several and self._host is None:
            return
        parts = self._group.each(DevicePopulation.offspring)
        planes, keys = parts[0]
        for (other_planes, other_keys), (_, share) in zip(parts[1:], self._shares()[1:], strict=True):
            planes[:, share.first_word : share.last_word] = other_planes[:, share.first_word : share.last_word]
            own = slice(32 * share.first_word, 32 * share.last_word)
            keys[own] = other_keys[own]
        if self._host is not None:
            keys = self._host(individuals(planes, self.parameters.offspring))
        self._group.each(DevicePopulation.set_offspring, planes if several else None, keys)
