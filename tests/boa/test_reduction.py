"""What is left of a function of pairs of genes has the same best values, and gives strings that have them."""

import itertools

import numpy as np
import pytest

import engine
from engine.solvers.boa.fitness import reduction, tables


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
    every = np.array(list(itertools.product((0, 1), repeat=fitness.n)), np.uint8)
    best = {}
    for part, key in zip(every[:, small.kept], fitness.keys(every).tolist(), strict=True):
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
