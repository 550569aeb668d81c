"""Islands on the workers of a cluster: each task is some generations of one island, up to the next migration.

The state of an island travels with each task, so that any worker can continue it, with the trajectory of one machine.
"""

import contextlib
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext
from ...base.division import ClusterInfo, Rounds, TaskControl, TaskRunner
from ...base.result import Result
from ...devices import DevicePool
from ...devices.pool.slices import SliceLength
from .device.memory import SAMPLE_WORDS
from .device.state import MOST_GENERATIONS, Ending, Migrants, PopulationState, Slice
from .islands import ISLAND_STRIDE, Islands
from .options import Migration, Options, Parameters
from .population import Population, Snapshot, permutations
from .problem import BOA
from .solve import host_evaluation, search
from .validate import counting_for, nodes_at_once, reduced_problem

__all__ = ["IslandTasks", "one_island", "refusal", "solve_divided"]

T = TypeVar("T")

_KNOWN = ("generation", "reason", "best")
_ROUND_SECONDS = 30.0


def refusal(problem: BOA, options: Options) -> str | None:
    """Why a run is not divided among workers; None if it is."""
    if options.islands == 1:
        return (
            "one population is not divided among the workers of a cluster, because each generation would wait for "
            "all; set islands to a number or to devices (one for each worker), or use engine.map with several seeds"
        )
    return None


def one_island(options: Options) -> Options:
    """Options of what one worker has at a time."""
    return options.model_copy(update={"islands": 1})


# --- the side of the run --------------------------------------------------------------------------------------------


class _Mailbox:
    """Works that are posted one by one, and computed together when the first answer is needed."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._numbers = itertools.count()
        self._posted: dict[int, Any] = {}
        self._answers: dict[int, Any] = {}

    def post(self, work: Any) -> Callable[[], Any]:
        """Post a work; what is returned waits for the answer."""
        number = next(self._numbers)
        self._posted[number] = work
        return lambda: self._answer(number)

    def _answer(self, number: int) -> Any:
        if number not in self._answers:
            posted, self._posted = self._posted, {}
            self._answers.update(zip(posted, self._rounds(list(posted.values())), strict=True))
        return self._answers.pop(number)


@dataclass
class _Moved:
    """What a task did to an island."""

    done: Slice | None
    state: PopulationState
    emigrants: Migrants


class RemotePopulation:
    """An island whose generations are computed by workers; used like :class:`Population`."""

    def __init__(self, island: int, parameters: Parameters, ending: Ending, migrants: int, mailbox: _Mailbox) -> None:
        self.parameters = parameters
        self.members = [SimpleNamespace(label=f"island {island}")]
        self.generation = self.reason = self.best_key = 0
        self._island, self._ending, self._migrants, self._mailbox = island, ending, migrants, mailbox
        self._state: PopulationState | None = None
        self._emigrants: Migrants | None = None
        self._version = 0

    def _ask(self, what: str, argument: Any) -> Callable[[], _Moved]:
        work = {
            "do": what,
            "argument": argument,
            "island": self._island,
            "parameters": self.parameters,
            "ending": self._ending,
            "migrants": self._migrants,
            "state": self._state,
            "version": self._version,
        }
        pending = self._mailbox.post(work)

        def finish() -> _Moved:
            moved: _Moved = pending()
            self._state, self._emigrants = moved.state, moved.emigrants
            self._version += 1
            return moved

        return finish

    def _slice(self, what: str, argument: Any) -> Callable[[], Slice]:
        pending = self._ask(what, argument)

        def finish() -> Slice:
            done = pending().done
            assert done is not None
            if len(done.history):
                last = done.history[-1]
                self.generation, self.reason, self.best_key = (int(last[name]) for name in _KNOWN)
            return done

        return finish

    def begin(self, seeds: NDArray[np.uint8]) -> Callable[[], Slice]:
        return self._slice("begin", seeds)

    def advance(self, count: int) -> Callable[[], Slice]:
        return self._slice("advance", count)

    def immigrate(self, migrants: Migrants) -> Callable[[], None]:
        self.reason = 0
        pending = self._ask("immigrate", migrants)

        def finish() -> None:
            pending()

        return finish

    def emigrants(self, count: int) -> Callable[[], Migrants]:
        """The emigrants; they have come with the last task."""
        if self._emigrants is None:  # restored, and ended before
            pending = self._ask("look", None)
            return lambda: pending().emigrants
        found = self._emigrants
        return lambda: found

    def restore(self, state: PopulationState) -> None:
        self._state, self._emigrants = state, None
        self.generation, self.reason, self.best_key = (int(state.status[name]) for name in _KNOWN)

    def state(self) -> PopulationState:
        assert self._state is not None
        return self._state

    def best(self) -> NDArray[np.uint8]:
        state = self.state()
        place = int(state.status["individual"])
        return ((state.planes[:, place // 32] >> np.uint32(place % 32)) & 1).astype(np.uint8)

    def snapshot(self) -> Snapshot:
        state = self.state()
        order = permutations(self.parameters, max(0, self.generation - 1), 1)[0]
        words = min(SAMPLE_WORDS, -(-self.parameters.population // 32))
        return Snapshot(self.generation, order, state.network, np.ascontiguousarray(state.planes[:, :words]))


class RemoteIslands(Islands):
    """Islands whose populations are :class:`RemotePopulation`; a round takes them to the next migration."""

    def __init__(self, parameters: Parameters, ending: Ending, migration: Migration, rounds: Rounds) -> None:
        self.parameters, self.migration, self.step = parameters, migration, 0
        most = max(1, migration.interval)
        self._length = SliceLength(start=most, most=most, seconds=_ROUND_SECONDS)
        self._most = most
        self._best_keys = np.full(migration.islands, np.iinfo(np.int64).min)
        self._stack = contextlib.ExitStack()
        mailbox = _Mailbox(rounds)
        populations: dict[int, Any] = {}
        for island in range(migration.islands):
            own = replace(parameters, chain=parameters.chain + island * ISLAND_STRIDE)
            populations[island] = RemotePopulation(island, own, ending, migration.migrants, mailbox)
        self._populations = populations


def solve_divided(problem: BOA, options: Options, run: RunContext, cluster: ClusterInfo, rounds: Rounds) -> Result:
    """Solve the problem with the workers of a division."""
    problem, options = reduced_problem(problem, options)

    def make(parameters: Parameters, ending: Ending, migration: Migration) -> Islands:
        return RemoteIslands(parameters, ending, migration, rounds)

    return search(problem, options, run, make, cluster.count)


# --- the side of a worker -------------------------------------------------------------------------------------------


class IslandTasks(TaskRunner):
    """Computes generations of islands on the devices of a worker; the last population of each device is kept."""

    def __init__(self, problem: BOA, options: Options, seed: int, pool: DevicePool) -> None:
        problem, options = reduced_problem(problem, options)
        self._problem, self._options, self._pool = problem, options, pool
        self._closing = contextlib.ExitStack()
        self._host = self._closing.enter_context(host_evaluation(problem.fitness))
        self._kept: dict[int, tuple[int, int, Parameters, Population]] = {}

    def close(self) -> None:
        """Free the populations' memory."""
        for place in list(self._kept):
            self._drop(place)
        self._closing.close()

    def _drop(self, place: int) -> None:
        found = self._kept.pop(place, None)
        if found is not None:
            found[3].__exit__(None, None, None)

    def compute(self, work: Mapping[str, Any], control: TaskControl) -> _Moved:
        """Begin an island, advance it, or let individuals immigrate, as a :class:`RemotePopulation` asks."""
        population, place = self._population(work)
        done: Slice | None = None
        try:
            if work["do"] == "begin":
                done = population.begin(work["argument"])()
            elif work["do"] == "advance":
                done = _advanced(population, int(work["argument"]))
            elif work["do"] == "immigrate":
                population.immigrate(work["argument"])()
            moved = _Moved(done, population.state(), population.emigrants(work["migrants"])())
        except BaseException:
            self._drop(place)
            raise
        self._kept[place] = (work["island"], work["version"] + 1, work["parameters"], population)
        return moved

    def _population(self, work: Mapping[str, Any]) -> tuple[Population, int]:
        """The population of a task, and the place of its device."""
        parameters: Parameters = work["parameters"]
        wanted = (work["island"], work["version"], parameters)
        for place, (*found, population) in self._kept.items():
            if tuple(found) == wanted:
                return population, place
        place = work["island"] % len(self._pool)
        self._drop(place)
        member = self._pool.members[place]
        counting = {member.label: counting_for(self._options, member.info)}
        slots = {member.label: nodes_at_once(parameters, member.info, member.memory().free, 1)}
        population = Population(
            [member], parameters, self._problem.fitness, counting, slots, work["ending"], self._host
        ).__enter__()
        if work["state"] is not None:
            population.restore(work["state"])
        return population, place


def _advanced(population: Population, count: int) -> Slice:
    """So many generations, or fewer if the population ends."""
    total = population.advance(min(count, MOST_GENERATIONS))()
    while population.reason == 0 and len(total.history) < count:
        part = population.advance(min(count - len(total.history), MOST_GENERATIONS))()
        if not len(part.history):
            break
        total.extend(part)
    return total
