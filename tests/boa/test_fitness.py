"""Fitness functions on the host: against their definitions, brute force and each other."""

import itertools
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

import engine
from engine.errors import ProblemError
from engine.solvers.boa.fitness import Function, Hierarchy, landscapes, reduction, tables
from engine.solvers.boa.fitness.autocorrelation import Autocorrelation
from engine.solvers.boa.fitness.tables import Decomposable, deceptive3, onemax, trap
from tests.support.strings import every

pytestmark = pytest.mark.smoke


def values(fitness, bits):
    return [fitness.value(int(key)) for key in fitness.keys(bits)]


def test_traps_follow_their_definition():
    bits = every(10)
    blocks = bits.reshape(len(bits), 2, 5).sum(axis=2)
    assert values(trap(10, 5), bits) == np.where(blocks == 5, 5, 4 - blocks).sum(axis=1).tolist()
    assert values(deceptive3(3), every(3)) == [0.9, 0.8, 0.8, 0.0, 0.8, 0.0, 0.0, 1.0]
    assert values(onemax(4), every(4)) == every(4).sum(axis=1).tolist()


@pytest.mark.parametrize(
    "fitness",
    [
        trap(15, 5),
        trap(12, 4),
        deceptive3(12),
        onemax(11),
        Hierarchy("hiff", 16),
        Hierarchy("htrap", 9),
        *(Autocorrelation(n) for n in (2, 3, 7, 11)),
        landscapes.random_nk(14, 4, 1, seed=1),
        landscapes.random_nk(13, 3, 2, seed=2),
        landscapes.random_nk(12, 2, 3, seed=3),
        landscapes.random_nk(10, 0, 1, seed=4),
        landscapes.random_ising(3, seed=5),
        landscapes.random_ising(4, seed=6),
    ],
)
def test_known_optima_are_those_of_brute_force(fitness):
    assert fitness.best_key == fitness.keys(every(fitness.n)).max()


def test_tables_with_decimals_are_exact():
    fitness = Decomposable(2, [[0], [1]], [[0.1, 0.123456789], [0, 1e-7]])
    assert fitness.scale == 10**9
    assert values(fitness, every(2)) == [0.1, 0.1000001, 0.123456789, 0.123456889]
    rough = Decomposable(1, [[0]], [[0, np.pi]])
    assert values(rough, every(1))[1] == pytest.approx(np.pi, abs=2**-30)
    large = Decomposable(1, [[0]], [[0, 1e9 + 0.123456789]])
    assert values(large, every(1))[1] == pytest.approx(1e9 + 0.123456789, abs=2**-9)
    assert large.keys(every(1)).max() < 2**41


def test_a_process_that_has_ended_is_reported_and_its_function_is_not_called_here():
    calls = []

    def broken(function, individuals):
        raise BrokenProcessPool("a process was terminated abruptly")

    with pytest.raises(ProblemError, match="has ended: a process was terminated abruptly"):
        Function(calls.append, 3, each=True, processes=2).keys(np.zeros((4, 3), np.uint8), broken)
    assert calls == []


def test_keys_of_functions_are_ordered_as_their_values():
    numbers = np.array([-1e300, -2.5, -0.0, 0.0, 1e-300, 3.0, 1e300])
    ascending = Function(lambda bits: numbers, 3)
    keys = ascending.keys(np.zeros((7, 3), np.uint8))
    assert (np.diff(keys) >= 0).all()
    assert keys[2] == keys[3]
    assert [ascending.value(int(key)) for key in keys] == numbers.tolist()
    falling = Function(lambda bits: numbers, 3, minimize=True)
    assert (np.diff(falling.keys(np.zeros((7, 3), np.uint8))) <= 0).all()
    assert falling.value(falling.key(2.5)) == 2.5
    assert str(falling.value(falling.key(0.0))) == "0.0"  # without a sign


def sparse_pairs(n, count, seed):
    """Random pairs of different genes with small weights, each once."""
    random = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(n), 2))
    return [(*pairs[place], int(random.integers(-3, 4))) for place in random.permutation(len(pairs))[:count]]


def functions():
    cuts = [tables.max_cut(13, sparse_pairs(13, 22, seed)) for seed in range(4)]
    fields = [(gene, gene, gene - 6.5) for gene in range(13)]
    matrices = [tables.qubo(13, [*sparse_pairs(13, 20, seed), *fields]) for seed in range(4)]
    return [*cuts, *matrices, tables.ising(13, sparse_pairs(13, 24, 9))]


@pytest.mark.parametrize("place", range(9))
def test_every_string_of_what_is_left_is_worth_the_best_of_all_strings_that_it_is_part_of(monkeypatch, place):
    monkeypatch.setattr(reduction, "_LEAST_GENES", 2)
    monkeypatch.setattr(reduction, "_ENUMERATED", 0)
    fitness = functions()[place]
    small = reduction.reduced(fitness)
    assert small is not None
    assert 1 <= small.n < fitness.n
    whole = every(fitness.n)
    best = {}
    for part, key in zip(whole[:, small.kept], fitness.keys(whole).tolist(), strict=True):
        best[part.tobytes()] = max(key, best.get(part.tobytes(), key))
    some = np.array([np.frombuffer(part, np.uint8) for part in best])
    assert [small.value(key) for key in small.keys(some).tolist()] == [fitness.value(key) for key in best.values()]
    assert np.array_equal(fitness.keys(small.whole(some)), list(best.values()))
    assert np.array_equal(small.whole(some)[:, small.kept], some)
    assert small.is_symmetric == fitness.is_symmetric


def test_a_cut_of_a_tree_with_triangles_is_found_to_be_optimal_and_checked(device, tmp_path):
    random = np.random.default_rng(3)
    edges = {(int(random.integers(0, gene)), gene): int(random.integers(1, 9)) for gene in range(1, 600)}
    edges |= {(gene, gene + 1): 5 for gene in range(0, 600, 40)}
    problem = engine.MaxCut([(a, b, w) for (a, b), w in edges.items()], 600)
    result = engine.solve(problem, devices=[device.info.id], run_folder=tmp_path / "run")
    assert result.status is engine.Status.OPTIMAL
    assert result.objective == result.bound == problem.evaluate([result.solution])[0]
    checked = engine.verify(tmp_path / "run")
    assert not checked.refuted
    assert checked.exit_code == 0
    assert "eliminated exactly" in str(result.arrays["algorithm"])
