"""Local search on devices flips what the reference flips, which evaluates every neighbour, and finds known optima."""

import contextlib
import dataclasses
import functools
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.devices.pool.slices import SliceLength
from engine.errors import OptionError
from engine.references.boa import anneal, improve
from engine.references.boa_partition import combine, partition_child
from engine.solvers.boa.device.annealing import annealing_arrays, classes_of
from engine.solvers.boa.device.local_search import choose_improvement, gain_arrays, improve_program
from engine.solvers.boa.device.programs import shapes_for
from engine.solvers.boa.device.state import Ending
from engine.solvers.boa.device.worker import DevicePopulation
from engine.solvers.boa.fitness import formulas, landscapes, tables
from engine.solvers.boa.fitness.autocorrelation import Autocorrelation
from engine.solvers.boa.fitness.tables import Decomposable
from engine.solvers.boa.network import individuals
from engine.solvers.boa.options import STREAM_IMPROVE_INITIAL, Improvement, Options, resolve
from engine.solvers.boa.population import permutations
from tests.support.strings import every

pytestmark = pytest.mark.usefixtures("unoptimized")

INDIVIDUALS, IMPROVED, FLIPS = 35, 6, 30


def random_clauses(n, count, seed):
    random = np.random.default_rng(seed)
    chosen = [random.choice(n, 3, replace=False) + 1 for _ in range(count)]
    return [(genes * random.choice([-1, 1], 3)).tolist() for genes in chosen]


def random_graph(n, density, seed):
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
    "sequence": Autocorrelation(37),
}


def improved(device, fitness, improvement, shapes, part=None, mixes=False):
    """Individuals before and after the search, their keys by the device, and the flips that it counted.

    ``part``: flips, or sweeps of annealing, in each of several launches.
    """
    parameters = dataclasses.replace(parameters_for(fitness, improvement), mixes=mixes)
    with population_of(device, shapes, parameters, fitness) as population:
        if part is not None:
            population._local_search._part = SliceLength(start=part, least=part, most=part)
        population.draw(np.zeros((0, fitness.n), np.uint8))
        before = individuals(population.population()[0], INDIVIDUALS)
        assert population.improve_population(0, -(-INDIVIDUALS // 32))
        population.evaluation.evaluate_population()
        flips = int(device.get(population.memory.status)["flips"][0])
        return before, individuals(population.population()[0], INDIVIDUALS), population.keys(), flips


def population_of(device, shapes, parameters, fitness, history=1, **given):
    return contextlib.closing(
        DevicePopulation(device, shapes, parameters, fitness, "popcount", fitness.n, history, **given)
    )


def shapes_named(device, name):
    """The device's own shapes, those with many work-items a group, and either with its arrays in global memory."""
    own = device.info.capabilities
    shapes = shapes_for(own if "own" in name else dataclasses.replace(own, simt=True, max_block=256))
    return dataclasses.replace(shapes, improve_local_bytes=0) if "global" in name else shapes


def parameters_for(fitness, improvement):
    parameters = resolve(Options(population=INDIVIDUALS), fitness.n, INDIVIDUALS, 7)
    return dataclasses.replace(parameters, improvement=improvement)


def same_as_reference(device, fitness, improvement, shapes, reference, part=None, mixes=False):
    """Run a search, and compare it with ``reference``: individuals and flips of those given."""
    before, after, keys, flips = device.submit(
        improved, fitness, improvement, shapes_named(device, shapes), part, mixes
    ).result()
    expected, expected_flips = reference(fitness, improvement, before)
    assert np.array_equal(after, expected)
    assert np.array_equal(after[IMPROVED:], before[IMPROVED:]), "only a share of the individuals is improved"
    assert (after[:IMPROVED] != before[:IMPROVED]).any()
    assert np.array_equal(keys, fitness.keys(after))
    assert flips == expected_flips
    return before, flips


def by_reference(fitness, improvement, before):
    parameters = parameters_for(fitness, improvement)
    return improve(parameters, fitness, before, STREAM_IMPROVE_INITIAL, 0, IMPROVED)


RULES = ("steepest", "tabu", "walk")
SHAPED = [(name, "own") for name in FUNCTIONS] + [(name, "own-global") for name in FUNCTIONS if name != "sequence"]
SHAPED += [("landscape", "many"), ("clauses", "many"), ("cut", "many"), ("sequence", "many")]
SHAPED += [("glass", "many-global"), ("mixed", "many-global")]


@pytest.mark.few(3)
@pytest.mark.parametrize(("function", "shapes"), SHAPED)
def test_every_rule_flips_what_the_reference_flips(device, function, shapes):
    for rule in RULES if function != "sequence" else ("tabu",):
        improvement = Improvement(rule, FLIPS, 4, 3, share=IMPROVED / INDIVIDUALS)
        part = 7 if shapes in ("own-global", "many") else None  # in several launches
        same_as_reference(device, FUNCTIONS[function], improvement, shapes, by_reference, part)


@pytest.mark.parametrize("shapes", ["own", "many"])
def test_flips_pass_while_all_genes_are_tabu(device, shapes):
    fitness = tables.max_cut(33, random_graph(33, 1.0, 9))
    search = Improvement("tabu", 60, 99, 2, share=IMPROVED / INDIVIDUALS)  # a gene is flipped once, or to a new best
    _, made = same_as_reference(device, fitness, search, shapes, by_reference)
    assert made < IMPROVED * 60


ANNEALED = 3
ANNEALING = Improvement("anneal", 8 * 36, 1, 1, share=ANNEALED / INDIVIDUALS)


def annealed_by_reference(fitness, improvement, before, in_rounds=False):
    arrays = gain_arrays(fitness, improve_program(fitness, improvement))
    form = (arrays["neighbour_starts"], arrays["neighbours"], arrays["couplings"])
    schedule = annealing_arrays(*form, improvement.flips, in_rounds)
    assert schedule["temperatures"][0] > 0 == schedule["temperatures"][-1]
    bits, parameters, flips = before.copy(), parameters_for(fitness, improvement), 0
    for own in range(ANNEALED):
        bits[own], made = anneal(parameters, fitness, bits[own], own, STREAM_IMPROVE_INITIAL, 0, schedule)
        flips += made
    return bits, flips


@pytest.mark.few(4)
@pytest.mark.parametrize("shapes", ["own", "own-global", "many", "many-global"])
@pytest.mark.parametrize("function", ["glass", "cut", "matrix"])
def test_annealing_flips_what_the_reference_flips(device, function, shapes):
    part = 3 if shapes in ("own", "many-global") else None
    same_as_reference(device, FUNCTIONS[function], ANNEALING, shapes, annealed_by_reference, part)


@pytest.mark.few(1)
@pytest.mark.parametrize("shapes", ["own", "many"])
def test_rounds_of_annealing_keep_the_components_that_were_better_before(device, shapes):
    fitness = FUNCTIONS["glass"]
    improvement = dataclasses.replace(ANNEALING, flips=56 * fitness.n)  # two rounds
    in_rounds = functools.partial(annealed_by_reference, in_rounds=True)
    before, _ = same_as_reference(device, fitness, improvement, shapes, in_rounds, 3, True)
    with_rounds, without = (annealed_by_reference(fitness, improvement, before, rounds)[0] for rounds in (True, False))
    assert not np.array_equal(without, with_rounds)


@given(n=st.integers(2, 60), density=st.floats(0, 1), seed=st.integers(0, 99))
def test_classes_have_every_gene_once_and_no_neighbours_inside(n, density, seed):
    joined = np.triu(np.random.default_rng(seed).random((n, n)) < density, 1)
    joined |= joined.T
    starts = np.concatenate([[0], np.cumsum(joined.sum(axis=1))]).astype(np.int32)
    order, classes = classes_of(starts, np.nonzero(joined)[1].astype(np.int32))
    assert sorted(order[order >= 0]) == list(range(n))
    assert classes[-1] == len(order)
    for first, last in itertools.pairwise(classes):
        genes = order[first:last][order[first:last] >= 0]
        assert not joined[np.ix_(genes, genes)].any()
        assert (first % 4, len(genes) > 0) == (0, True)


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["matrix", "cut", "formula", "landscape"])
def test_small_problems_are_solved_to_the_optimum_of_brute_force(device, kind, seed):
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
def test_published_instances_are_solved_with_nothing_but_defaults(device, shared_data, name, known):
    problem = engine.BOA.read(shared_data / "boa" / name)
    optimum = problem.optimum if known is None else known
    for seed in range(2):
        result = engine.solve(problem, devices=[device.info.id], seed=seed, target=optimum, max_evaluations=20_000)
        assert result.objective == optimum
        assert result.counters["flips"] > 0


def test_local_search_suits_the_function():
    rules = {name: choose_improvement(fitness, Options()).rule for name, fitness in FUNCTIONS.items()}
    assert rules == dict.fromkeys(("landscape", "trap", "mixed"), "steepest") | {"clauses": "walk"} | dict.fromkeys(
        ("glass", "cut", "matrix", "sequence"), "tabu"
    )
    assert choose_improvement(FUNCTIONS["trap"], Options(mixing="none")).rule == "tabu"
    sparse = tables.max_cut(600, [(gene, (gene + 1) % 600, 1.0) for gene in range(600)])
    assert choose_improvement(sparse, Options()).rule == "anneal"
    assert choose_improvement(FUNCTIONS["cut"], Options(local_search="none")) is None
    assert choose_improvement(engine.BOA("hiff", 16).fitness, Options()) is None


SPARSE = {
    "landscape": FUNCTIONS["landscape"],
    "clauses": formulas.max_sat(60, random_clauses(60, 90, 5)),
    "glass": landscapes.random_ising(8, seed=5),  # symmetric
    "cut": tables.max_cut(70, random_graph(70, 0.04, 6)),
    "mixed": FUNCTIONS["mixed"],
}


def mixed(device, fitness, parameters, shapes):
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
def test_partition_crossover_takes_what_the_reference_takes(device, shapes):
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


def test_children_of_partition_crossover_are_the_best_of_all_combinations_of_components():
    random = np.random.default_rng(4)
    scopes = [[2 * pair, 2 * pair + 1] for pair in range(5)]  # five components
    fitness = Decomposable(10, scopes, [random.integers(0, 50, 4) for _ in scopes])
    for _ in range(20):
        own, partner = random.integers(0, 2, (2, 10)).astype(np.uint8)
        combinations = np.where(every(5).repeat(2, axis=1), partner, own)
        child = partition_child(fitness, own, partner)
        assert fitness.keys(child[None])[0] == fitness.keys(combinations).max() or np.array_equal(child, own)


def test_mixing_is_reported_and_can_be_turned_off(device):
    problem = engine.BOA.nk(60, 4, 1, seed=2)
    given = {"devices": [device.info.id], "population": 100, "max_generations": 3, "target": 1e6}
    mixing, none = (engine.solve(problem, mixing=mixing, **given) for mixing in ("auto", "none"))
    assert "partition crossover" in str(mixing.arrays["algorithm"])
    assert "partition crossover" not in str(none.arrays["algorithm"])
    assert mixing.objective >= none.objective
    with pytest.raises(OptionError, match="mixing = partition needs a function given by tables, and local search"):
        engine.solve(problem, local_search="none", mixing="partition")


@contextlib.contextmanager
def begun(device, fitness, **given):
    """A population after its begin, and the ending that it goes on with."""
    parameters, ending = parameters_for(fitness, Improvement("tabu", 6, 4, 3)), Ending(None, 1000)
    with population_of(device, shapes_for(device.capabilities), parameters, fitness, 4, **given) as worker:
        assert not worker.begin(np.zeros((0, fitness.n), np.uint8), ending).is_interrupted
        yield worker, ending


def test_the_best_of_a_generation_that_is_left_undone_is_kept(device):
    fitness, ends = FUNCTIONS["landscape"], []

    def work(own):
        with begun(own, fitness, interrupted=lambda: bool(ends)) as (worker, ending):
            ends.append(True)
            worker._local_search._part = SliceLength(start=3, least=3, most=3)
            done = worker.run_slice(0, permutations(worker.parameters, 0, 1), ending)
            return done, fitness.keys(individuals(worker.offspring()[0], worker.parameters.offspring))

    done, keys = device.submit(work).result()
    assert (done.is_interrupted, len(done.history)) == (True, 0)
    assert fitness.keys(done.best[None])[0] == keys.max() > np.median(keys)
