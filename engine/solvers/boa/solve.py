"""Solving one problem: populations one after the other, checkpoints, the answer."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

from engine.devices import DevicePool
from engine.errors import OptionError, OutOfDeviceMemory, ProblemError
from engine.results import Result, Status
from engine.run import Run, StopRequested
from engine.solvers.boa.fitness import Fitness, Function
from engine.solvers.boa.islands import TARGET, Islands, Migration
from engine.solvers.boa.learner import Network
from engine.solvers.boa.options import MOST_INDIVIDUALS, Counting, Options, Parameters, resolve
from engine.solvers.boa.population import HostEvaluation, PopulationState
from engine.solvers.boa.problem import BOA
from engine.solvers.boa.programs import offers_tensor
from engine.solvers.boa.record import Record
from engine.solvers.boa.worker import Ending

__all__ = ["migration_for", "solve"]

_SMALLEST = 64
_BARREN_DOUBLINGS = 2
_STATE = ("planes", "keys", "status")
_NETWORK = ("parents", "parent_count", "totals")


def migration_for(options: Options, parameters: Parameters, devices: int) -> Migration:
    """How many populations there are, and what passes between them."""
    islands = devices if isinstance(options.islands, str) else options.islands
    migrants = max(1, math.floor(options.migration_fraction * parameters.population))
    return Migration(islands, options.migration_interval, min(migrants, parameters.selected, parameters.offspring))


def solve(problem: BOA, options: Options, pool: DevicePool, run: Run) -> Result:
    """Maximise (or minimise) a function of bit strings by learning what good ones have in common.

    Parameters
    ----------
    problem : BOA
    options : Options
    pool : DevicePool
    run : Run

    Returns
    -------
    Result
        ``solution``: the best bit string, uint8 of shape (n,). ``arrays``: ``"edges"`` (e, 2) and ``"order"`` (n,) of
        the last network, ``"population"`` (up to 64, n) with some of the last individuals, ``"history"`` with the
        columns of :data:`engine.solvers.boa.record.HISTORY_COLUMNS`. Counters: ``"evaluations"``, ``"generations"``,
        ``"population"``, ``"populations"``, ``"islands"``, ``"edges"``. Status ``optimal`` only if the optimum is known
        and was found.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If the (first) population does not fit the devices.
    engine.errors.ProblemError
        If a user's fitness fails on the initial population; later, the run ends with its best so far and a warning.
    engine.errors.AuditError
        If the host finds another value for the best string than the devices did.

    Notes
    -----
    Besides the metrics, the run tells now and then, as traces whose iteration is the generation: ``"gene_entropy"``,
    bits for each gene; ``"edges"`` of the network, from and to in turn; and ``"population"``, the bit planes of up to
    64 individuals, from which :func:`engine.population_image` makes rows of genes.
    """
    record = Record(problem.fitness)
    status = Status.FEASIBLE
    with _host_evaluation(problem.fitness) as host:
        try:
            status = _populations(problem, options, pool, run, record, host)
        except StopRequested as stop:
            status = stop.status
        except ProblemError as error:
            if record.best is None:
                raise
            run.notice(f"the run ends with its best so far: {error}", level="warning")
            status = Status.INTERRUPTED
    return record.result(status)


@contextlib.contextmanager
def _host_evaluation(fitness: Fitness) -> Iterator[HostEvaluation | None]:
    """How the host evaluates, where it has to; with the processes that takes."""
    if not isinstance(fitness, Function):
        yield None
    elif fitness.processes == 1:
        yield fitness.keys
    else:
        with ProcessPoolExecutor(fitness.processes, mp_context=get_context("spawn")) as processes:

            def mapped(function: Any, individuals: list[Any]) -> Any:
                return processes.map(function, individuals, chunksize=-(-len(individuals) // (4 * fitness.processes)))

            yield lambda bits: fitness.keys(bits, mapped)


def _counting(options: Options, pool: DevicePool) -> list[Counting]:
    """How each device counts."""
    chosen: list[Counting] = []
    for member in pool.members:
        tensor = offers_tensor(member.info.capabilities)
        if options.counting == "tensor" and not tensor:
            raise OptionError(
                "counting = tensor needs an NVIDIA GPU of compute capability 8.0 or more, which "
                f"{member.info.id} ({member.info.name}) is not: use popcount or auto"
            )
        if options.counting == "auto":
            chosen.append("tensor" if tensor else "popcount")
        else:
            chosen.append(options.counting)
    return chosen


def _first_size(problem: BOA, options: Options) -> int:
    """Individuals of the first population; the known ones must be among them."""
    known = len(problem.seeds)
    if isinstance(options.population, str):
        return min(max(_SMALLEST, 4 * problem.n, 2 * known), MOST_INDIVIDUALS)
    if options.population < known:
        raise OptionError(
            f"population must be at least the number of known individuals, {known}; got {options.population}"
        )
    return options.population


def _populations(
    problem: BOA, options: Options, pool: DevicePool, run: Run, record: Record, host: HostEvaluation | None
) -> Status:
    """One population (or one an island), or ever larger ones, until the target or a limit."""
    fitness, n = problem.fitness, problem.n
    target = fitness.best_key if options.target is None else fitness.key(options.target)
    patience = options.patience or max(10, math.isqrt(n)) * (3 if options.niching == "rtr" else 1)
    auto = options.population == "auto"
    size = _first_size(problem, options)
    counting = _counting(options, pool)
    restored = _restored(run, record)
    for chain in range(record.populations, options.restarts if auto else 1):
        size_now = min(size << chain, MOST_INDIVIDUALS)
        parameters = resolve(options, n, size_now, run.seed, chain)
        migration = migration_for(options, parameters, len(restored[1]) if restored else len(pool))
        try:
            islands = Islands(pool, parameters, fitness, counting, Ending(target, patience), migration, host)
        except OutOfDeviceMemory as error:
            if record.best is None:
                raise
            run.notice(f"no larger population: {error}", level="warning")
            return Status.ITERATION_LIMIT
        with islands:
            record.begin(parameters, migration.islands)
            reason = _evolve(problem, options, run, record, islands, restored)
            restored = None
        record.end()
        if reason == TARGET:
            return Status.OPTIMAL if record.best_key == fitness.best_key else Status.FEASIBLE
        if reason == 0:
            return Status.ITERATION_LIMIT
        if not auto:
            return Status.FEASIBLE
        if target is None and record.barren >= _BARREN_DOUBLINGS:
            return Status.FEASIBLE
        if size_now == MOST_INDIVIDUALS:
            break
        run.notice(f"{size_now:,} individuals came to {record.value}; doubling the population")
    return Status.ITERATION_LIMIT


def _evolve(
    problem: BOA,
    options: Options,
    run: Run,
    record: Record,
    islands: Islands,
    restored: tuple[int, list[PopulationState]] | None,
) -> int:
    """One population to its end; why it ended, 0 for a limit of generations or evaluations."""
    if restored is not None:
        islands.restore(*restored)
    else:
        run.poll()
        record.take(run, islands, islands.begin(problem.seeds))
    try:
        reason = _generations(options, run, record, islands)
    except (StopRequested, ProblemError):
        record.take_snapshot(run, islands)
        raise
    record.take_snapshot(run, islands)
    return reason


def _generations(options: Options, run: Run, record: Record, islands: Islands) -> int:
    while islands.reason == 0:
        try:
            run.poll()
        except StopRequested:
            _checkpoint(run, record, islands)
            raise
        if run.checkpoint_due():
            _checkpoint(run, record, islands)
        left = options.max_generations - islands.step
        if options.max_evaluations is not None:
            each = islands.parameters.offspring * islands.active
            left = min(left, (options.max_evaluations - record.evaluations) // each)
        if left <= 0:
            return 0
        run.progress("generations", islands.step, options.max_generations, "generations")
        record.take(run, islands, islands.advance(left))
    return islands.reason


# --- checkpoints ------------------------------------------------------------------------------------------------


def _checkpoint(run: Run, record: Record, islands: Islands) -> None:
    """Keep the record, and the states of all islands in arrays whose first axis is the island."""
    states = islands.states()
    arrays = {name: np.stack([getattr(state, name) for state in states]) for name in _STATE}
    networks = {name: np.stack([getattr(state.network, name) for state in states]) for name in _NETWORK}
    run.save_checkpoint(arrays | networks | record.arrays(), record.state() | {"step": islands.step})


def _restored(run: Run, record: Record) -> tuple[int, list[PopulationState]] | None:
    """Step and states of a checkpoint, if there is one; its record is taken over."""
    if run.restored is None:
        return None
    arrays = run.restored.arrays
    state = dict(run.restored.state)
    step = int(state.pop("step"))
    record.restore(arrays, state)
    states = []
    for island in range(len(arrays["status"])):
        planes, keys, status = (arrays[name][island] for name in _STATE)
        parents, parent_count, totals = (arrays[name][island] for name in _NETWORK)
        states.append(PopulationState(planes, keys, status, Network(parents, parent_count, totals)))
    return step, states
