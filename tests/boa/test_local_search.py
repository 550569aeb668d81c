"""Local search on devices flips what the reference flips, which evaluates every neighbour, and finds known optima."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.devices import Device, Member
from engine.devices.pool.slices import SliceLength
from engine.errors import OptionError
from engine.references.boa import anneal, improve
from engine.references.boa_partition import combine, partition_child
from engine.solvers.boa.device.annealing import annealing_arrays, classes_of
from engine.solvers.boa.device.local_search import choose_improvement, gain_arrays, improve_program
from engine.solvers.boa.device.programs import Shapes, shapes_for
from engine.solvers.boa.device.state import Ending, Slice
from engine.solvers.boa.device.worker import DevicePopulation
from engine.solvers.boa.fitness import formulas, landscapes, tables
from engine.solvers.boa.fitness.autocorrelation import Autocorrelation
from engine.solvers.boa.fitness.tables import Decomposable
from engine.solvers.boa.network import individuals
from engine.solvers.boa.options import STREAM_IMPROVE_INITIAL, Improvement, Options, Parameters, Rule, resolve
from engine.solvers.boa.population import permutations
from tests.support.examples import examples
from tests.support.strings import every

pytestmark = pytest.mark.usefixtures("unoptimized")

INDIVIDUALS = 35
IMPROVED = 6
FLIPS = 30


def random_clauses(n: int, count: int, seed: int) -> list[list[int]]:
    random = np.random.default_rng(seed)
    chosen = [random.choice(n, 3, replace=False) + 1 for _ in range(count)]
    return [(genes * random.choice([-1, 1], 3)).tolist() for genes in chosen]


def random_graph(n: int, density: float, seed: int) -> list[tuple[int, int, float]]:
    random = np.random.default_rng(seed)
    pairs = itertools.combinations(range(n), 2)
    return [(a, b, float(random.integers(-9, 10))) for a, b in pairs if random.random() < density]


FUNCTIONS = {
    "landscape": landscapes.random_nk(30, 4, 1, seed=2),  # 64-bit gains
    "trap": tables.trap(30, 5),
    "clauses": formulas.max_sat(40, random_clauses(40, 170, 1)),
    "glass": landscapes.random_ising(5, seed=3),  # fewer genes than a group of 32 work-items
    "cut": tables.max_cut(35, random_graph(35, 0.4, 4)),
    "matrix": tables.qubo(33, [(0, 0, -7.5), (3, 3, 2.0), *random_graph(33, 0.5, 5)]),
    "mixed": Decomposable(33, [[0, 32, 5], [7], range(10, 20)], [range(8), [0, 0.25], np.arange(1024) % 7]),
}


def improved(
    device: Device,
    fitness: Decomposable,
    improvement: Improvement,
    shapes: Shapes,
    part: int | None = None,
    mixes: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Individuals before and after the search, their keys by the device, and the flips that it counted.

    ``part``: flips, or sweeps of annealing, in each of several launches.
    """
    parameters = dataclasses.replace(parameters_for(fitness, improvement), mixes=mixes)
    with population_of(device, shapes, parameters, fitness) as population:
        if part is not None:
            assert population._local_search is not None
            population._local_search._part = SliceLength(start=part, least=part, most=part)
        population.draw(np.zeros((0, fitness.n), np.uint8))
        before = bits_of(population)
        assert population.improve_population(0, -(-INDIVIDUALS // 32))
        population.evaluation.evaluate_population()
        flips = int(device.get(population.memory.status)["flips"][0])
        return before, bits_of(population), population.keys(), flips


def population_of(
    device: Device, shapes: Shapes, parameters: Parameters, fitness: Decomposable, history: int = 1, **given: Any
) -> contextlib.closing[DevicePopulation]:
    return contextlib.closing(
        DevicePopulation(device, shapes, parameters, fitness, "popcount", fitness.n, history, **given)
    )


def bits_of(population: DevicePopulation) -> np.ndarray:
    planes, _ = population.population()
    return individuals(planes, INDIVIDUALS)


def shapes_named(device: Member, name: str) -> Shapes:
    """The device's own shapes, those with many work-items a group, and either with its arrays in global memory."""
    own = device.info.capabilities
    shapes = shapes_for(own if "own" in name else dataclasses.replace(own, simt=True, max_block=256))
    return dataclasses.replace(shapes, improve_local_bytes=0) if "global" in name else shapes


RULES: tuple[Rule, ...] = ("steepest", "tabu", "walk")
IMPROVEMENTS = {rule: Improvement(rule, FLIPS, 4, 3, share=IMPROVED / INDIVIDUALS) for rule in RULES}


def parameters_for(fitness: Decomposable, improvement: Improvement) -> Parameters:
    parameters = resolve(Options(population=INDIVIDUALS), fitness.n, INDIVIDUALS, 7)
    return dataclasses.replace(parameters, improvement=improvement)


@functools.cache
def by_reference(function: str, rule: Rule, before: bytes) -> tuple[np.ndarray, int]:
    fitness = FUNCTIONS[function]
    bits = np.frombuffer(before, np.uint8).reshape(INDIVIDUALS, fitness.n)
    parameters = parameters_for(fitness, IMPROVEMENTS[rule])
    return improve(parameters, fitness, bits, STREAM_IMPROVE_INITIAL, 0, IMPROVED)


SHAPED = [(name, shapes) for name in FUNCTIONS for shapes in ("own", "own-global")]
SHAPED += [
    ("landscape", "many"),
    ("clauses", "many"),
    ("cut", "many"),
    ("glass", "many-global"),
    ("mixed", "many-global"),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("function", "shapes"), SHAPED)
def test_every_rule_flips_what_the_reference_flips(device: Member, function: str, shapes: str) -> None:
    fitness = FUNCTIONS[function]
    for rule in RULES if shapes in ("own", "many") else ("tabu", "walk"):
        before, after, keys, flips = device.submit(
            improved, fitness, IMPROVEMENTS[rule], shapes_named(device, shapes)
        ).result()
        expected, expected_flips = by_reference(function, rule, before.tobytes())
        assert np.array_equal(after, expected), rule
        assert np.array_equal(after[IMPROVED:], before[IMPROVED:]), "only a share of the individuals is improved"
        assert (after[:IMPROVED] != before[:IMPROVED]).any()
        assert np.array_equal(keys, fitness.keys(after))
        assert flips == expected_flips


@pytest.mark.parametrize("shapes", ["own", "many"])
def test_flips_pass_while_all_genes_are_tabu(device: Member, shapes: str) -> None:
    fitness = tables.max_cut(33, random_graph(33, 1.0, 9))
    search = Improvement("tabu", 60, 99, 2, share=IMPROVED / INDIVIDUALS)  # a gene is flipped once, or to a new best
    before, after, _, flips = device.submit(improved, fitness, search, shapes_named(device, shapes)).result()
    expected, made = improve(parameters_for(fitness, search), fitness, before, STREAM_IMPROVE_INITIAL, 0, IMPROVED)
    assert made < IMPROVED * 60
    assert np.array_equal(after, expected)
    assert flips == made


@pytest.mark.full
@pytest.mark.parametrize("shapes", ["own", "many-global"])
def test_searches_in_parts_flip_what_the_reference_flips(device: Member, shapes: str) -> None:
    for function, rule in itertools.product(("cut", "clauses", "mixed"), RULES):
        fitness = FUNCTIONS[function]
        before, after, keys, flips = device.submit(
            improved, fitness, IMPROVEMENTS[rule], shapes_named(device, shapes), 7
        ).result()
        expected, expected_flips = by_reference(function, rule, before.tobytes())
        assert np.array_equal(after, expected), (function, rule)
        assert np.array_equal(keys, fitness.keys(after))
        assert flips == expected_flips


ANNEALED = 3
ANNEALING = Improvement("anneal", 8 * 36, 1, 1, share=ANNEALED / INDIVIDUALS)


@functools.cache
def annealed_by_reference(
    function: str, before: bytes, improvement: Improvement = ANNEALING, in_rounds: bool = False
) -> tuple[np.ndarray, int]:
    fitness = FUNCTIONS[function]
    arrays = gain_arrays(fitness, improve_program(fitness, improvement))
    form = (arrays["neighbour_starts"], arrays["neighbours"], arrays["couplings"])
    schedule = annealing_arrays(*form, improvement.flips, in_rounds)
    assert schedule["temperatures"][0] > 0 == schedule["temperatures"][-1]
    bits = np.frombuffer(before, np.uint8).reshape(INDIVIDUALS, fitness.n).copy()
    parameters, flips = parameters_for(fitness, improvement), 0
    for individual in range(ANNEALED):
        bits[individual], own = anneal(
            parameters, fitness, bits[individual], individual, STREAM_IMPROVE_INITIAL, 0, schedule
        )
        flips += own
    return bits, flips


@pytest.mark.few(4)
@pytest.mark.parametrize("shapes", ["own", "own-global", "many", "many-global"])
@pytest.mark.parametrize("function", ["glass", "cut", "matrix"])
def test_annealing_flips_what_the_reference_flips(device: Member, function: str, shapes: str) -> None:
    fitness = FUNCTIONS[function]
    for part in (None, 3):
        before, after, keys, flips = device.submit(
            improved, fitness, ANNEALING, shapes_named(device, shapes), part
        ).result()
        expected, expected_flips = annealed_by_reference(function, before.tobytes())
        assert np.array_equal(after, expected)
        assert flips == expected_flips > 0
        assert np.array_equal(keys, fitness.keys(after))


@pytest.mark.few(1)
@pytest.mark.parametrize("shapes", ["own", "many"])
def test_tabu_search_of_sequences_flips_what_the_reference_flips(device: Member, shapes: str) -> None:
    fitness = Autocorrelation(37)
    improvement = Improvement("tabu", 25, 4, 3, share=4 / INDIVIDUALS)
    before, after, keys, flips = device.submit(improved, fitness, improvement, shapes_named(device, shapes), 7).result()
    parameters = parameters_for(fitness, improvement)
    expected, count = improve(parameters, fitness, before, STREAM_IMPROVE_INITIAL, 0, 4)
    assert np.array_equal(after, expected)
    assert np.array_equal(keys, fitness.keys(after))
    assert flips == count


@pytest.mark.few(1)
@pytest.mark.parametrize("shapes", ["own", "many"])
def test_rounds_of_annealing_keep_the_components_that_were_better_before(device: Member, shapes: str) -> None:
    fitness = FUNCTIONS["glass"]
    improvement = dataclasses.replace(ANNEALING, flips=56 * fitness.n)  # two rounds
    before, after, keys, _ = device.submit(
        improved, fitness, improvement, shapes_named(device, shapes), 3, mixes=True
    ).result()
    expected, _ = annealed_by_reference("glass", before.tobytes(), improvement, True)
    assert np.array_equal(after, expected)
    assert np.array_equal(keys, fitness.keys(after))
    without, _ = annealed_by_reference("glass", before.tobytes(), improvement)
    assert not np.array_equal(without, expected)


@given(n=st.integers(2, 60), density=st.floats(0, 1), seed=st.integers(0, 99))
def test_classes_have_every_gene_once_and_no_neighbours_inside(n: int, density: float, seed: int) -> None:
    joined = np.triu(np.random.default_rng(seed).random((n, n)) < density, 1)
    joined |= joined.T
    starts = np.concatenate([[0], np.cumsum(joined.sum(axis=1))]).astype(np.int32)
    order, classes = classes_of(starts, np.nonzero(joined)[1].astype(np.int32))
    assert sorted(order[order >= 0]) == list(range(n))
    assert not (classes % 4).any()
    assert classes[-1] == len(order)
    for first, last in itertools.pairwise(classes):
        genes = order[first:last][order[first:last] >= 0]
        assert len(genes)
        assert not joined[np.ix_(genes, genes)].any()


@examples(12)
@given(data=st.data())
def test_ascents_of_random_functions_end_in_local_optima(device: Member, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 40), "genes")
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), "seed"))
    widest = data.draw(st.sampled_from([1, 2, 3, 5]), "width")
    scopes = [random.choice(n, random.integers(1, min(n, widest) + 1), replace=False).tolist() for _ in range(3 * n)]
    values = [random.integers(-20, 21, 1 << len(scope)) for scope in scopes]
    fitness = Decomposable(n, scopes, values, minimize=bool(random.integers(0, 2)))
    improvement = Improvement("steepest", 10_000, 1, 1)
    before, after, keys, _ = device.submit(
        improved, fitness, improvement, shapes_for(device.info.capabilities)
    ).result()
    for row, key in zip(after, keys, strict=True):
        assert fitness.keys(row ^ np.eye(n, dtype=np.uint8)).max() <= key
    assert (keys >= fitness.keys(before)).all()


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["matrix", "cut", "formula", "landscape"])
def test_small_problems_are_solved_to_the_optimum_of_brute_force(device: Member, kind: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    diagonal = [(gene, gene, float(random.integers(-50, 50))) for gene in range(16)]
    fitness = {
        "matrix": lambda: tables.qubo(16, [*diagonal, *random_graph(16, 0.6, seed)]),
        "cut": lambda: tables.max_cut(16, random_graph(16, 0.7, seed)),
        "formula": lambda: formulas.max_sat(16, random_clauses(16, 120, seed)),
        "landscape": lambda: landscapes.random_nk(16, 5, 2, seed),
    }[kind]()
    result = engine.solve(engine.BOA(fitness), devices=[device.info.id], seed=seed, restarts=3)
    assert result.objective == fitness.value(int(fitness.keys(every(16)).max()))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("sat/uf100-01.cnf", 430),
        ("maxcut/g05_60.0", 536),
        ("maxcut/pm1s_80.0", 79),
        ("qubo/gka1a.sparse", -3414),
        ("qubo/gka1c.sparse", -5058),
        ("nk/pnk100_4_1_0", None),
        ("ising/IsingSpinGlass_pm_256_0.txt", None),
    ],
)
def test_published_instances_are_solved_with_nothing_but_defaults(
    device: Member, shared_data: Path, name: str, known: int | None
) -> None:
    problem = engine.BOA.read(shared_data / "boa" / name)
    optimum = problem.optimum if known is None else known
    for seed in range(2):
        result = engine.solve(problem, devices=[device.info.id], seed=seed, target=optimum, max_evaluations=20_000)
        assert result.objective == optimum
        assert result.counters["flips"] > 0


def test_local_search_suits_the_function() -> None:
    chosen = {name: choose_improvement(fitness, Options()) for name, fitness in FUNCTIONS.items()}
    rules = {name: improvement.rule for name, improvement in chosen.items() if improvement is not None}
    assert rules == {
        "landscape": "steepest",
        "trap": "steepest",
        "clauses": "walk",
        "glass": "tabu",
        "cut": "tabu",
        "matrix": "tabu",
        "mixed": "steepest",
    }
    alone = choose_improvement(FUNCTIONS["trap"], Options(mixing="none"))
    assert alone is not None
    assert alone.rule == "tabu"
    sparse = tables.max_cut(600, [(gene, (gene + 1) % 600, 1.0) for gene in range(600)])
    improvement = choose_improvement(sparse, Options())
    assert improvement is not None
    assert improvement.rule == "anneal"
    assert choose_improvement(FUNCTIONS["cut"], Options(local_search="none")) is None
    assert choose_improvement(engine.BOA("hiff", 16).fitness, Options()) is None


SPARSE = {
    "landscape": FUNCTIONS["landscape"],
    "clauses": formulas.max_sat(60, random_clauses(60, 90, 5)),
    "glass": landscapes.random_ising(8, seed=5),  # symmetric
    "cut": tables.max_cut(70, random_graph(70, 0.04, 6)),
    "mixed": FUNCTIONS["mixed"],
}


def mixed(device: Device, fitness: Decomposable, parameters: Parameters, shapes: Shapes) -> list[np.ndarray]:
    """The selected individuals, and the offspring of one generation after local search."""
    with population_of(device, shapes, parameters, fitness) as worker:
        worker.begin(np.zeros((0, fitness.n), np.uint8), Ending(None, 1000))
        worker.select_by(permutations(parameters, 0, 1))
        worker.learner.learn(0, fitness.n)
        words = -(-parameters.offspring // 32)
        worker.sample(0, 0, words)
        for first in range(words):  # as devices that share the offspring
            assert worker.improve(0, first, first + 1)
        columns = device.get(worker.memory.columns)
        population = individuals(worker.population()[0], parameters.population)
        return [population[columns], individuals(worker.offspring()[0], parameters.offspring)]


@pytest.mark.few(1)
@pytest.mark.parametrize("shapes", ["own", "many"])
def test_partition_crossover_takes_what_the_reference_takes(device: Member, shapes: str) -> None:
    taken = 0
    for function, fitness in SPARSE.items():
        improvement = Improvement("steepest", 1000, 1, 1)
        plain = dataclasses.replace(resolve(Options(population=60), fitness.n, 60, 9), improvement=improvement)
        own = shapes_named(device, shapes)
        chosen, before = device.submit(mixed, fitness, plain, own).result()
        again, after = device.submit(mixed, fitness, dataclasses.replace(plain, mixes=True), own).result()
        assert np.array_equal(chosen, again)
        assert np.array_equal(after, combine(plain, fitness, before, chosen, 0)), function
        assert (fitness.keys(after) >= fitness.keys(before)).all()
        taken += int((fitness.keys(after) > fitness.keys(before)).sum())
    assert taken > 20


def test_children_of_partition_crossover_are_the_best_of_all_combinations_of_components() -> None:
    random = np.random.default_rng(4)
    scopes = [[2 * pair, 2 * pair + 1] for pair in range(5)]  # five components
    fitness = Decomposable(10, scopes, [random.integers(0, 50, 4) for _ in scopes])
    for _ in range(20):
        own, partner = random.integers(0, 2, (2, 10)).astype(np.uint8)
        choices = every(5).repeat(2, axis=1)
        combinations = np.where(choices, partner, own)
        child = partition_child(fitness, own, partner)
        assert fitness.keys(child[None])[0] == fitness.keys(combinations).max() or np.array_equal(child, own)


def test_mixing_is_reported_and_can_be_turned_off(device: Member) -> None:
    problem = engine.BOA.nk(60, 4, 1, seed=2)
    given = {"devices": [device.info.id], "population": 100, "max_generations": 3, "target": 1e6}
    mixing, none = (engine.solve(problem, mixing=mixing, **given) for mixing in ("auto", "none"))
    assert "partition crossover" in str(mixing.arrays["algorithm"])
    assert "partition crossover" not in str(none.arrays["algorithm"])
    assert mixing.objective >= none.objective
    paper = engine.solve(problem, local_search="none", **given)
    assert str(paper.arrays["algorithm"]) == "Bayesian optimization algorithm"
    with pytest.raises(OptionError, match="mixing = partition needs a function given by tables, and local search"):
        engine.solve(problem, local_search="none", mixing="partition")


def test_annealing_finds_the_ground_state_of_a_spin_glass(device: Member) -> None:
    problem = engine.BOA.ising(10, seed=3)
    result = engine.solve(problem, devices=[device.info.id], local_search="anneal", max_evaluations=4000)
    assert (result.status, result.objective) == (engine.Status.OPTIMAL, problem.optimum)


def interrupted_generation(device: Device, fitness: Decomposable, shapes: Shapes) -> tuple[Slice, np.ndarray]:
    """A generation that is left undone in its local search, and all keys of its offspring by then."""
    parameters = parameters_for(fitness, Improvement("tabu", 6, 4, 3))
    ends = False
    with population_of(device, shapes, parameters, fitness, interrupted=lambda: ends) as worker:
        ending = Ending(None, 1000)
        assert not worker.begin(np.zeros((0, fitness.n), np.uint8), ending).is_interrupted
        ends = True
        assert worker._local_search is not None
        worker._local_search._part = SliceLength(start=3, least=3, most=3)
        done = worker.run_slice(0, permutations(parameters, 0, 1), ending)
        return done, fitness.keys(individuals(worker.offspring()[0], parameters.offspring))


def test_the_best_of_a_generation_that_is_left_undone_is_kept(device: Member) -> None:
    fitness = FUNCTIONS["landscape"]
    done, keys = device.submit(interrupted_generation, fitness, shapes_for(device.info.capabilities)).result()
    assert done.is_interrupted
    assert len(done.history) == 0
    assert done.best is not None
    assert fitness.keys(done.best[None])[0] == keys.max() > np.median(keys)


def ended_and_interrupted(device: Device, fitness: Decomposable, shapes: Shapes) -> Slice:
    """Generations of which the first ends the population and the second is left undone."""
    parameters = parameters_for(fitness, Improvement("tabu", 6, 4, 3))
    with population_of(device, shapes, parameters, fitness, history=4) as worker:
        worker.begin(np.zeros((0, fitness.n), np.uint8), Ending(None, 1000))
        worker.run_slice(0, permutations(parameters, 0, 4), Ending(None, 1000))  # rows that are not to come back
        asked = iter([True, True, False])
        worker.improve = lambda *_: next(asked)  # type: ignore[method-assign]
        return worker.run_slice(4, permutations(parameters, 4, 3), Ending(-(1 << 62), 1000))


def test_a_population_that_ended_before_an_undone_generation_has_no_more_history(device: Member) -> None:
    done = device.submit(ended_and_interrupted, FUNCTIONS["glass"], shapes_for(device.info.capabilities)).result()
    assert done.history[["reason", "generation"]].tolist() == [(1, 5)]
    assert not done.is_interrupted


@pytest.mark.full
def test_time_limit_holds_within_a_long_local_search(device: Member) -> None:
    problem = engine.MaxCut(random_graph(400, 0.2, 1), 400)
    options: dict[str, Any] = {"population": 4000, "target": 1e9}
    with engine.Engine(devices=[device.info.id]) as running:
        running.solve(problem, flips=1, max_generations=1, **options)  # compiles
        result = running.solve(problem, flips=200_000, time_limit=3, **options)  # would take half an hour
    assert result.status is engine.Status.TIME_LIMIT
    assert result.objective == problem.evaluate(result.solution[None])[0]
    if not device.info.capabilities.simt:  # a GPU does more than one generation
        assert 0 < result.counters["evaluations"] <= 4000
    assert result.seconds < 30
