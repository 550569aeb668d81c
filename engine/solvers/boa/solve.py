"""Solving one problem: populations one after the other, events, checkpoints, the answer."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import DevicePool
from engine.errors import AuditError, OptionError, OutOfDeviceMemory, ProblemError
from engine.results import Result, Status
from engine.run import Run, StopRequested
from engine.solvers.boa.fitness import Fitness, Function, Snippet
from engine.solvers.boa.kernels import offers_tensor
from engine.solvers.boa.network import edge_list
from engine.solvers.boa.options import MOST_INDIVIDUALS, Options
from engine.solvers.boa.problem import BOA
from engine.solvers.boa.search import HostEvaluation, Search, Slice, Snapshot
from engine.solvers.boa.settings import Counting, Settings
from engine.solvers.boa.worker import HISTORY_FIELDS, Ending, Network

__all__ = ["HISTORY_COLUMNS", "settings_for", "solve"]

HISTORY_COLUMNS = ("population", "generation", "evaluations", "best", "mean", "worst", "edges", "open_genes")
"""Columns of ``result.arrays["history"]``; values in the user's unit."""

_REASON, _BEST, _EDGES = HISTORY_FIELDS.index("reason"), HISTORY_FIELDS.index("best"), HISTORY_FIELDS.index("edges")
_SMALLEST = 64
_TARGET, _CONVERGED, _STALLED = 1, 2, 3
_BARREN_DOUBLINGS = 2
_TRACED_GENES = 1000
_PICTURED_GENES, _PICTURED_ROWS, _PICTURED_BYTES = 512, 64, 1 << 22
_MOST_TRACED_EDGES = 2000
_PICTURE_SECONDS = 1.0


@dataclass
class _State:
    """What is known so far, over all populations."""

    fitness: Fitness
    best_key: int | None = None
    best: NDArray[np.uint8] | None = None
    evaluations: int = 0
    generations: int = 0
    populations: int = 0
    barren: int = 0
    before: int | None = None
    rows: list[list[float]] = field(default_factory=list)
    population: int = 0
    order: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    network: Network | None = None
    pictured: float = -math.inf

    @property
    def value(self) -> int | float | None:
        """The best value so far."""
        return None if self.best_key is None else self.fitness.value(self.best_key)


def settings_for(options: Options, n: int, population: int, seed: int, chain: int = 0) -> Settings:
    """Sizes and rules of a run with a given population.

    Raises
    ------
    OptionError
        If the fractions leave nobody to learn from, or nobody to replace.
    """
    truncation = options.selection == "truncation"
    fraction = options.selection_fraction or (0.3 if truncation else 1.0)
    selected = max(1, math.floor(fraction * population + 0.5))
    rest = options.offspring_fraction
    if rest is None and truncation and options.niching == "worst":
        offspring = population - selected
    else:
        offspring = math.floor((rest or (1.0 if options.niching == "rtr" else 0.5)) * population + 0.5)
    if options.niching == "worst":
        offspring = min(offspring, population - 1)
    if selected >= population and truncation:
        raise OptionError(f"selection_fraction {fraction:g} of {population} individuals selects all of them")
    if offspring < 1:
        raise OptionError(f"offspring_fraction {rest:g} of {population} individuals makes none")
    window = options.window or max(1, min(n, population // 20))
    return Settings(
        n=n,
        population=population,
        selected=selected,
        offspring=offspring,
        max_parents=options.max_parents,
        selection=options.selection,
        tournament_size=options.tournament_size,
        replacement=options.niching,
        window=min(window, population),
        score=options.score,
        equivalent_sample_size=options.equivalent_sample_size,
        probabilities=options.probabilities,
        permutation=options.permutation,
        structure_generations=options.structure_generations,
        seed=seed,
        chain=chain,
    )


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
        the last network, ``"history"`` with the columns of :data:`HISTORY_COLUMNS`. Counters: ``"evaluations"``,
        ``"generations"``, ``"population"``, ``"populations"``, ``"edges"``. Status ``optimal`` only if the optimum is
        known and was found.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If the (first) population does not fit the devices.
    engine.errors.ProblemError
        If a user's fitness fails on the initial population; later, the run ends with its best so far and a warning.
    engine.errors.AuditError
        If the host finds another value for the best string than the devices did.
    """
    state = _State(problem.fitness)
    status = Status.FEASIBLE
    with _host_evaluation(problem.fitness) as host:
        try:
            status = _populations(problem, options, pool, run, state, host)
        except StopRequested as stop:
            status = stop.status
        except ProblemError as error:
            if state.best is None:
                raise
            run.notice(f"the run ends with its best so far: {error}", level="warning")
            status = Status.INTERRUPTED
    return _result(problem, state, status)


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
        tensor = offers_tensor(member.info.language, member.info.capabilities)
        if options.counting == "tensor" and not tensor:
            raise OptionError(
                f"counting = tensor needs CUDA and compute capability 8.0; {member.info.id} ({member.info.name}) "
                "has none: use popcount or auto"
            )
        if options.counting == "auto":
            chosen.append("tensor" if tensor else "popcount")
        else:
            chosen.append(options.counting)
    return chosen


def _populations(
    problem: BOA, options: Options, pool: DevicePool, run: Run, state: _State, host: HostEvaluation | None
) -> Status:
    """One population, or ever larger ones, until the target or a limit."""
    fitness, n = problem.fitness, problem.n
    target = fitness.best_key if options.target is None else fitness.key(options.target)
    patience = options.patience or max(10, math.isqrt(n)) * (3 if options.niching == "rtr" else 1)
    auto = options.population == "auto"
    size = max(_SMALLEST, 4 * n) if isinstance(options.population, str) else options.population
    size = min(size, MOST_INDIVIDUALS)
    counting = _counting(options, pool)
    snapshot = _restored(run, state)
    for chain in range(state.populations, options.restarts if auto else 1):
        size_now = min(size << chain, MOST_INDIVIDUALS)
        settings = settings_for(options, n, size_now, run.seed, chain)
        if snapshot is None:
            state.before = state.best_key
        try:
            search = Search(pool, settings, fitness, counting, Ending(target, patience), host)
        except OutOfDeviceMemory as error:
            if state.best is None:
                raise
            run.notice(f"no larger population: {error}", level="warning")
            return Status.ITERATION_LIMIT
        with search:
            state.population = size_now
            reason = _evolve(problem, options, run, state, search, snapshot)
            _picture(run, state, search, search.generation)
            snapshot = None
        state.populations = chain + 1
        if reason == _TARGET:
            return Status.OPTIMAL if state.best_key == fitness.best_key else Status.FEASIBLE
        if reason == 0:
            return Status.ITERATION_LIMIT
        if not auto:
            return Status.FEASIBLE
        improved = state.before is None or (state.best_key is not None and state.best_key > state.before)
        state.barren = 0 if improved else state.barren + 1
        if target is None and state.barren >= _BARREN_DOUBLINGS:
            return Status.FEASIBLE
        if size_now == MOST_INDIVIDUALS:
            break
        run.notice(f"{size_now:,} individuals came to {state.value}; doubling the population")
    return Status.ITERATION_LIMIT


def _evolve(problem: BOA, options: Options, run: Run, state: _State, search: Search, snapshot: Snapshot | None) -> int:
    """One population to its end; why it ended, 0 for a limit of generations or evaluations."""
    settings = search.settings
    if snapshot is not None:
        search.restore(snapshot)
        reason = int(snapshot.status[_REASON])
    else:
        run.poll()
        state.evaluations += settings.population
        state.network = None
        reason = _note(problem, run, state, search, search.begin(problem.seeds))
    while reason == 0:
        try:
            run.poll()
        except StopRequested:
            _checkpoint(run, state, search)
            raise
        if run.checkpoint_due():
            _checkpoint(run, state, search)
        left = options.max_generations - search.generation
        if options.max_evaluations is not None:
            left = min(left, (options.max_evaluations - state.evaluations) // settings.offspring)
        if left <= 0:
            return 0
        run.progress("generations", search.generation, options.max_generations, "generations")
        reason = _note(problem, run, state, search, search.advance(left))
    return reason


def _note(problem: BOA, run: Run, state: _State, search: Search, done: Slice) -> int:
    """Take over what a slice did, and tell it; the reason to end, if there is one."""
    settings, fitness = search.settings, state.fitness
    for row in done.history.tolist():
        values = dict(zip(HISTORY_FIELDS, row, strict=True))
        if values["generation"]:
            state.evaluations += settings.offspring
            state.generations += 1
        mean = _mean(fitness, values["sum"], settings.population)
        best, worst = fitness.value(values["best"]), fitness.value(values["worst"])
        state.rows.append(
            [
                *(settings.population, values["generation"], state.evaluations, best, mean, worst),
                *(values["edges"], values["open"]),
            ]
        )
    last = done.history[-1]
    if state.best_key is None or int(last[_BEST]) > state.best_key:
        state.best_key, state.best = int(last[_BEST]), search.best()
        optimum = None if fitness.best_key is None else fitness.value(fitness.best_key)
        run.incumbent(state.value, optimum)
    if search.generation:
        state.network, state.order = search.network(), search.order()
    _tell(run, state, search, done)
    return int(last[_REASON])


def _mean(fitness: Fitness, total: int, count: int) -> float:
    """Mean value of the population; not known where keys are not proportional to values."""
    if isinstance(fitness, Function):
        return math.nan
    return (-total if fitness.minimize else total) / count / fitness.scale


def _tell(run: Run, state: _State, search: Search, done: Slice) -> None:
    size, generation, evaluations, best, mean, worst, edges, open_genes = state.rows[-1]
    told = {
        "population": size,
        "generation": generation,
        "evaluations": evaluations,
        "best": best,
        "worst": worst,
        "edges": edges,
        "open_genes": open_genes,
    }
    if not math.isnan(mean):
        told["mean"] = mean
    for name, value in told.items():
        run.metric(name, value)
    for phase, seconds in done.seconds.items():
        run.metric(f"{phase}_seconds", seconds)
    if run.elapsed - state.pictured >= _PICTURE_SECONDS:
        state.pictured = run.elapsed
        _picture(run, state, search, int(generation))
    if state.network is not None:
        entropy = _entropies(state.network, state.order)
        run.metric("entropy", float(entropy.mean()))
        if search.settings.n <= _TRACED_GENES:
            run.trace("gene_entropy", int(generation), entropy.round(4).tolist())


def _picture(run: Run, state: _State, search: Search, generation: int) -> None:
    """About once a second, for those who watch: the network, and individuals from the best to the worst.

    The trace ``network`` lists edges as from, to, from, to; ``individuals`` has a number of genes and then, row by row,
    their bits in whole numbers of 32, the first gene in the lowest bit.
    """
    if state.network is not None and int(state.network.parent_count.sum()) <= _MOST_TRACED_EDGES:
        edges = edge_list(state.order, state.network.parents, state.network.parent_count)
        run.trace("network", generation, [float(gene) for gene in edges.ravel()])
    n, population = search.settings.n, search.settings.population
    if n > _PICTURED_GENES or n * population > 8 * _PICTURED_BYTES:
        return
    snapshot = search.snapshot()
    rows = np.linspace(0, population - 1, min(population, _PICTURED_ROWS)).astype(np.int64)
    chosen = np.argsort(-snapshot.keys[:population], kind="stable")[rows]
    bits = (snapshot.planes[:, chosen >> 5] >> (chosen & 31).astype(np.uint32)).T & 1
    packed = np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")
    words = np.zeros((len(rows), 4 * -(-n // 32)), np.uint8)
    words[:, : packed.shape[1]] = packed
    run.trace("individuals", generation, [float(n), *map(float, words.view("<u4").ravel())])


def _entropies(network: Network, order: NDArray[np.int32]) -> NDArray[np.float64]:
    """Entropy in bits of each gene among the selected."""
    used = np.arange(network.totals.shape[1]) < (2 << network.parent_count)[:, None]
    ones = (network.totals * (used & (np.arange(network.totals.shape[1]) % 2 == 1))).sum(axis=1)
    share = ones / np.maximum(1, (network.totals * used).sum(axis=1))
    inside = np.clip(share, 1e-12, 1 - 1e-12)
    entropy = np.zeros(len(order))
    entropy[order] = -(inside * np.log2(inside) + (1 - inside) * np.log2(1 - inside))
    return np.where(entropy < 1e-9, 0.0, entropy)


# --- checkpoints ------------------------------------------------------------------------------------------------


def _checkpoint(run: Run, state: _State, search: Search) -> None:
    snapshot = search.snapshot()
    assert state.best is not None
    run.save_checkpoint(
        {
            "planes": snapshot.planes,
            "keys": snapshot.keys,
            "status": snapshot.status,
            "parents": snapshot.network.parents,
            "parent_count": snapshot.network.parent_count,
            "totals": snapshot.network.totals,
            "order": search.order(),
            "best": state.best,
            "rows": np.array(state.rows),
        },
        {
            name: getattr(state, name)
            for name in ("best_key", "evaluations", "generations", "populations", "barren", "before", "population")
        },
    )


def _restored(run: Run, state: _State) -> Snapshot | None:
    """Take over a checkpoint, if there is one."""
    if run.restored is None:
        return None
    arrays = run.restored.arrays
    for name, value in run.restored.state.items():
        setattr(state, name, value)
    state.best, state.order, state.rows = arrays["best"], arrays["order"], arrays["rows"].tolist()
    network = Network(arrays["parents"], arrays["parent_count"], arrays["totals"])
    state.network = network
    return Snapshot(arrays["planes"], arrays["keys"], arrays["status"], network)


# --- the answer -------------------------------------------------------------------------------------------------


def _result(problem: BOA, state: _State, status: Status) -> Result:
    fitness = state.fitness
    if state.best is None or state.best_key is None:
        return Result(status=status, objective=None, bound=None, solution=None)
    if not isinstance(fitness, Function) and not (isinstance(fitness, Snippet) and fitness.host is None):
        again = int(fitness.keys(state.best[None])[0])
        if again != state.best_key:
            raise AuditError(
                f"the best string has the value {fitness.value(again)}, but the devices found {state.value}"
            )
    edges = np.zeros((0, 2), np.int32)
    if state.network is not None:
        edges = edge_list(state.order, state.network.parents, state.network.parent_count)
    return Result(
        status=status,
        objective=state.value,
        bound=None if fitness.best_key is None else fitness.value(fitness.best_key),
        solution=state.best,
        counters={
            "evaluations": state.evaluations,
            "generations": state.generations,
            "population": state.population,
            "populations": max(1, state.populations),
            "edges": len(edges),
        },
        arrays={"edges": edges, "order": state.order, "history": np.array(state.rows)},
    )
