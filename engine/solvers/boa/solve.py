"""Solving one problem: populations one after the other, checkpoints, the answer."""

import contextlib
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from ...base.context import RunContext, StopRequested
from ...base.result import Result, Status
from ...devices import DevicePool
from ...errors import InfeasibleWarning, OutOfDeviceMemory, ProblemError
from ...util.text import counted
from .black_box import search_black_box
from .checkpoint import audit, restore, save
from .device.local_search import choose_improvement
from .device.state import Ending, PopulationState
from .fitness import Evaluate, Fitness, Function
from .fitness.reduction import Reduced
from .fitness.tables import Decomposable
from .islands import TARGET, Islands
from .options import MOST_INDIVIDUALS, Migration, Options, Parameters
from .problem import BOA
from .record import Record
from .validate import (
    counting_for,
    first_population,
    initial_individuals,
    migration_for,
    mixes_parts,
    parameters_for,
    reduced_problem,
    shares_population,
    uses_pyramid,
)

_STAGNANT_DOUBLINGS = 2
_PATIENCE_OF_ANNEALING = 15  # generations: with partition crossover it brings most of what it can in few
_TIMES_ALL = 16  # individuals for each bit string there is, beyond which no larger population finds more


def solve(problem: BOA, options: Options, pool: DevicePool, run: RunContext) -> Result:
    """Maximise (or minimise) a function of bit strings by learning what good ones have in common.

    Traces by generation: ``"gene_entropy"`` (bits of each gene), ``"edges"`` (from and to in turn), ``"population"``
    (bit planes of up to 64 individuals, for :func:`engine.population_image`) and, of pairs of genes, ``"solution"``.
    """
    problem, options = reduced_problem(problem, options)
    if uses_pyramid(problem.fitness, options):
        with _mapping(problem.fitness) as mapped:
            return search_black_box(problem, options, run, mapped)
    counting = [counting_for(options, member.info) for member in pool.members]
    with host_evaluation(problem.fitness) as host:

        def make(parameters: Parameters, ending: Ending, migration: Migration) -> Islands:
            return Islands(
                *(pool, parameters, problem.fitness, counting, ending, migration, host),
                on_loss=lambda error: run.notice(f"{error}; the run continues without it", level="warning"),
                interrupted=lambda: run.state == "stopping" or run.time_left <= 0,
                share=shares_population(options, [member.info for member in pool.members], parameters),
            )

        return search(problem, options, run, make, len(pool))


MakeIslands = Callable[[Parameters, Ending, Migration], Islands]


def search(problem: BOA, options: Options, run: RunContext, make: MakeIslands, devices: int) -> Result:
    """As :func:`solve`, with islands that ``make`` makes; ``devices`` is what ``islands = devices`` stands for."""
    additions = [addition for addition, _ in _additions(problem, options)]
    record = Record(problem.fitness, "; with ".join(["Bayesian optimization algorithm", *additions]))
    target = problem.fitness.best_key if options.target is None else problem.fitness.key(options.target)
    run.offer(lambda status: _end(problem, options, run, record, target, status))
    try:
        status = _populations(problem, options, run, record, make, devices, target)
    except StopRequested as stop:
        status = stop.status
    except ProblemError as error:
        if record.best is None:
            raise
        run.notice(f"the run ends with its best so far: {error}", level="warning")
        status = Status.INTERRUPTED
    return _end(problem, options, run, record, target, status)


def _end(problem: BOA, options: Options, run: RunContext, record: Record, target: int | None, status: Status) -> Result:
    """The result, after what the user should know of how the run ended."""
    record.notice_if_surpassed(run)
    reached = None if record.is_surpassed else _reached(record, target)  # also by what was left undone at a limit
    if reached is not None:
        run.notice(reached)
        status = Status.FEASIBLE
    if record.best_key is not None and record.best_key == problem.fitness.best_key:  # also short of the target
        status = Status.OPTIMAL
    if status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT) and record.best is not None:
        advice = _advice(problem, options, status)
        run.notice(f"a limit was reached with the value {record.value}; to go further, try {advice}")
    violated = record.violated()
    if violated is not None and violated[0]:
        least = ", and no solution violates fewer" if status is Status.OPTIMAL else ""
        run.warn(InfeasibleWarning(f"the best solution found violates {counted(violated[0], 'hard clause')}{least}"))
        status = Status.ITERATION_LIMIT if status is Status.FEASIBLE else status
    return problem.answer(record.result(status))


def _additions(problem: BOA, options: Options) -> list[tuple[str, str]]:
    """Where the run differs from the algorithm of the paper, and the option that makes it the same."""
    improvement = choose_improvement(problem.fitness, options)
    found = []
    if isinstance(problem.fitness, Reduced):
        whole = problem.fitness.function.n
        if whole > problem.n:
            found.append((f"{whole - problem.n:,} of {whole:,} genes eliminated exactly", "local_search"))
        if problem.fitness.is_enumerated:
            found.append((f"all strings of {counted(problem.n, 'gene')} evaluated", "local_search"))
    if improvement is not None:
        found.append((f"local search ({improvement.rule}, at most {improvement.flips:,} flips each)", "local_search"))
    if improvement is not None and mixes_parts(problem.fitness, options):
        found.append(("partition crossover of the offspring", "mixing"))
    return found


def _advice(problem: BOA, options: Options, status: Status) -> str:
    """What may find a better value than a run that has ended at a limit."""
    if options.local_search == "none" and isinstance(problem.fitness, Decomposable):
        return "local_search = auto"
    if options.population != "auto":
        return "population = auto, or a larger population"
    if status is Status.TIME_LIMIT:
        return "a longer time_limit"
    return "higher values of max_evaluations, max_generations and restarts"


def _reached(record: Record, target: int | None) -> str | None:
    """What a run has reached: the optimum, a bound, or another target; None if it has not reached its target."""
    fitness, value = record.fitness, record.value
    if target is None or record.best_key is None or record.best_key < target:
        return None
    if record.best_key == fitness.best_key:
        if fitness.best_is_bound:
            return f"the value {value} is that of the bound, and thus optimal"
        return f"the value {value} is the known optimum"
    return f"the value {value} reaches the target {fitness.value(target)}"


@contextlib.contextmanager
def host_evaluation(fitness: Fitness) -> Iterator[Evaluate | None]:
    """How the host evaluates, where it has to, with the processes that takes."""
    if not isinstance(fitness, Function):
        yield None
        return
    with _mapping(fitness) as mapped:
        yield lambda bits: fitness.keys(bits, mapped)


@contextlib.contextmanager
def _mapping(fitness: Fitness) -> Iterator[Callable[..., Any]]:
    """How a function is called for individuals one by one: here, or in processes."""
    if not isinstance(fitness, Function) or fitness.processes == 1:
        yield map
        return
    with ProcessPoolExecutor(fitness.processes, mp_context=get_context("spawn")) as processes:

        def mapped(function: Any, individuals: list[Any]) -> Any:
            return processes.map(function, individuals, chunksize=-(-len(individuals) // (4 * fitness.processes)))

        yield mapped


def _populations(
    problem: BOA, options: Options, run: RunContext, record: Record, make: MakeIslands, devices: int, target: int | None
) -> Status:
    """One population (or one an island), or ever larger ones, until the target or a limit."""
    fitness, n = problem.fitness, problem.n
    improvement = choose_improvement(fitness, options)
    anneals = improvement is not None and improvement.rule == "anneal" and mixes_parts(fitness, options)
    patience = options.patience or (_PATIENCE_OF_ANNEALING if anneals else max(10, math.isqrt(n)))
    auto = options.population == "auto"
    may_be_out_of_reach = options.target is None and (fitness.best_key is None or fitness.best_is_bound)
    size = first_population(problem, options)
    most = options.restarts if auto else 1
    restored = restore(run, record, most)
    if restored is None:
        for addition, option in _additions(problem, options):
            run.notice(f"added to the algorithm of the paper: {addition} ({option} = none: without)")
    for chain in range(record.populations, most):
        size_now = min(size << chain, MOST_INDIVIDUALS)
        parameters = parameters_for(problem, options, size_now, run.seed, chain)
        if restored is not None:
            audit(parameters, restored[1], restored[0])
        migration = migration_for(options, parameters, max(restored[1]) + 1 if restored else devices)
        try:
            islands = make(parameters, Ending(target, patience), migration)
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
            return Status.FEASIBLE
        if reason == 0:
            return Status.ITERATION_LIMIT
        if not auto:
            return Status.FEASIBLE
        if may_be_out_of_reach and record.stagnant >= _STAGNANT_DOUBLINGS:
            if fitness.best_is_bound:
                run.notice(
                    f"{_STAGNANT_DOUBLINGS} doublings of the population did not improve on {record.value}; the "
                    f"bound {problem.bound} may be out of reach"
                )
            return Status.FEASIBLE
        if size_now >= min(MOST_INDIVIDUALS, _TIMES_ALL << min(n, 30)) or (
            options.max_evaluations is not None
            and record.evaluations + 2 * size_now * migration.islands > options.max_evaluations
        ):
            break
        run.notice(f"{size_now:,} individuals reached {record.value}; doubling the population")
    return Status.ITERATION_LIMIT


def _evolve(
    problem: BOA,
    options: Options,
    run: RunContext,
    record: Record,
    islands: Islands,
    restored: tuple[int, dict[int, PopulationState]] | None,
) -> int:
    """One population to its end; why it ended, 0 for a limit of generations or evaluations."""
    if restored is not None:
        islands.restore(*restored)
        record.continue_from(restored[1])
    else:
        run.poll()
        begun = islands.begin(initial_individuals(problem, options))
        record.take(run, islands, begun)
        if begun.is_interrupted:  # the population is not the one that a resumed run would begin with
            run.poll()
    try:
        reason = _generations(options, run, record, islands)
    except (StopRequested, ProblemError):
        record.take_snapshot(run, islands)
        raise
    record.take_snapshot(run, islands)
    return reason


def _generations(options: Options, run: RunContext, record: Record, islands: Islands) -> int:
    while islands.reason == 0:
        try:
            run.poll()
        except StopRequested:
            save(run, record, islands)
            raise
        if run.checkpoint_due():
            save(run, record, islands)
        left = options.max_generations - islands.step
        if options.max_evaluations is not None:
            each = islands.parameters.offspring * islands.active
            left = min(left, (options.max_evaluations - record.evaluations) // each)
        if left <= 0:
            return 0
        run.progress("generations", islands.step, options.max_generations, "generations", limit=True)
        record.take(run, islands, islands.advance(left))
    return islands.reason
