"""Pictures of sparse factors: entries in blocks of rows and columns against elimination, and what a run keeps."""

import numpy as np
import pytest
import scipy.sparse as sp

import engine
from engine.solvers.linprog.multifrontal import symbolic
from engine.solvers.linprog.multifrontal.symbolic import analyse
from engine.solvers.linprog.sparse import factors
from tests.support.matrices import MATRICES, filled, lower_pattern, tree_of


def in_blocks(pattern, k):
    """Entries of each of k x k blocks."""
    counts = np.zeros((k, k), int)
    rows, columns = np.nonzero(pattern)
    np.add.at(counts, (rows * k // len(pattern), columns * k // len(pattern)), 1)
    return counts


def by_fronts(columns):
    """The fronts, the pattern of what they store, and that of elimination."""
    fronts = analyse(tree_of(columns))
    m = fronts.order.size
    stored = np.zeros((m, m), bool)
    for f in range(fronts.count):
        rows = [*range(fronts.first[f], fronts.first[f] + fronts.widths[f])]
        stored[np.ix_([*rows, *fronts.below[fronts.starts[f] : fronts.starts[f + 1]]], rows)] = True
    return fronts, np.tril(stored), filled(columns, fronts.order)


@pytest.mark.few(4)
@pytest.mark.parametrize("blocks", [7, 64, 256])
@pytest.mark.parametrize("name", MATRICES)
def test_blocks_of_fronts_have_the_entries_that_are_stored(name, blocks, monkeypatch):
    monkeypatch.setattr(symbolic, "PICTURED", blocks)
    fronts, stored, exact = by_fronts(MATRICES[name])
    counts, table = symbolic.picture_of_fronts(fronts)
    k = min(blocks, len(stored))
    assert (exact <= stored).all()
    assert counts.tolist() == in_blocks(stored, k).tolist()
    assert counts.sum() == fronts.nonzeros
    assert table[:, 1].sum() == len(stored)
    assert (table[1:, 0] == table[:-1, 0] + table[:-1, 1]).all()


@pytest.mark.parametrize("blocks", [7, 1000])
@pytest.mark.parametrize("name", ["grid", "tree", "disconnected", "scattered"])
def test_blocks_of_superlu_are_those_of_elimination(name, blocks, monkeypatch):
    monkeypatch.setattr(factors, "PICTURED", blocks)
    pattern = lower_pattern(MATRICES[name])
    found = factors.SuperLU(pattern.indices, pattern.indptr)
    matrix = sp.csc_array(MATRICES[name] @ MATRICES[name].T)
    values = sp.tril(matrix, format="csc")
    values.sort_indices()
    assert found.factor(values.data)
    counts, fronts = found.picture()
    exact = filled(MATRICES[name], np.argsort(found._numeric.perm_c))
    assert not len(fronts)
    assert (in_blocks(exact, len(counts)) >= counts).all()  # an entry may be 0
    assert counts.sum() == found.nonzeros >= 0.99 * exact.sum()
    assert not np.triu(counts, 1).any()


def transport(m, n):
    random = np.random.default_rng(1)
    rows = [sp.kron(sp.eye_array(m), np.ones((1, n))), sp.kron(np.ones((1, m)), sp.eye_array(n))]
    costs, supplies, demands = random.random(m * n), np.full(m, float(n)), np.full(n, float(m))
    return engine.LinearProgram(costs, A_eq=sp.vstack(rows, format="csr"), b_eq=np.concatenate([supplies, demands]))


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", ["multifrontal", "sparse_cholesky", "cholesky"])
def test_a_run_with_a_folder_keeps_the_picture_of_its_factor(device, solver, tmp_path):
    arguments = {"method": "mpc", "linear_solver": solver, "presolve": False}
    problem = transport(12, 30)
    with engine.Engine(devices=[device.info.id]) as owner:
        plain = owner.solve(problem, **arguments)
        result = owner.solve(problem, run_folder=tmp_path / "run", **arguments)
    assert "factor_entries" not in plain.arrays
    assert engine.load(tmp_path / "run") == result
    if solver == "cholesky":
        assert "factor_entries" not in result.arrays
        return
    m = result.counters["rows"]
    if result.arrays["factor_entries"].size:  # rslab tells its fronts only
        assert result.arrays["factor_entries"].shape == (m, m)
        assert result.arrays["factor_entries"].sum() == result.counters["factor_nonzeros"]
    if solver == "multifrontal":
        assert len(result.arrays["factor_fronts"]) == result.counters["fronts"]
