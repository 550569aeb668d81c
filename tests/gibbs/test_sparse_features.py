"""A sparse design: the same passes, gradients and draws as the dense one, on any number of devices."""

import numpy as np
import pytest
from scipy import sparse

from engine.errors import ProblemError
from engine.solvers.gibbs.design.lines import find_lines
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.device import sparse_programs
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.problem import HorseshoeProbit
from tests.support.samplers import sampling, state_of

KINDS = ("one-hot", "numbers", "full column")


def sparse_data(kind, rows=700, columns=40, seed=5):
    """A sparse matrix with an empty row and a common column; entries of one value a column, or of many."""
    random = np.random.default_rng(seed)
    dense = (random.random((rows, columns)) < np.geomspace(0.4, 0.01, columns)).astype(np.float64)
    dense[3] = 0.0
    if kind != "one-hot":
        dense *= random.normal(2.0, 1.0, dense.shape)
    if kind == "full column":
        dense[:, 7] = 1000.0 + random.standard_normal(rows)
    y = dense[:, :3].sum(axis=1) + random.standard_normal(rows) > 0.7
    return sparse.csr_array(dense), y


@pytest.mark.few(1)
@pytest.mark.parametrize("kernel", ["hmc", "px", "gibbs"])
@pytest.mark.parametrize("kind", KINDS)
def test_first_draws_are_those_of_the_dense_design(device, kernel, kind):
    X, y = sparse_data(kind)
    draws = []
    for storage, devices in (("float32", 1), ("sparse", 1), ("sparse", 2)):
        options = {"kernel": kernel, "storage": storage, "chains": 3}
        with sampling(device, X, y, seed=9, devices=devices, **options) as sampler:
            if kernel == "hmc":
                sampler.workers.first(lambda worker: worker.matrices.factorise_fixed(np.ones(worker.layout.columns)))
            sampler.set_state(state_of(np.zeros((3, sampler.design.layout.columns)), tau=0.3))
            sampler.advance(0, 3, 0)
            draws.append(sampler.collect()[1])
    assert np.allclose(draws[1], draws[0], rtol=1e-4, atol=1e-4 * np.abs(draws[0][:, :, :41]).max())
    assert np.array_equal(draws[1], draws[2])


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["one-hot", "numbers"])
def test_rows_shared_by_work_items_give_the_same_draws(device, kind, monkeypatch):
    X, y = sparse_data(kind)
    draws = []
    for shared in (False, True):
        monkeypatch.setattr(sparse_programs, "shares_rows", lambda capabilities, shared=shared: shared)
        with sampling(device, X, y, seed=9, kernel="px", storage="sparse", chains=3) as sampler:
            sampler.set_state(state_of(np.zeros((3, sampler.design.layout.columns)), tau=0.3))
            sampler.advance(0, 3, 0)
            draws.append(sampler.collect()[1])
    assert np.allclose(draws[1], draws[0], rtol=1e-4, atol=1e-5 * np.abs(draws[0][:, :, :41]).max())


@pytest.mark.few(2)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_lines_of_slow_movement_are_those_of_the_dense_design(kind, intercept):
    random = np.random.default_rng(3)
    X, y = sparse_data(kind, rows=400, columns=24)
    dense = X.toarray()
    groups = np.eye(3)[random.integers(0, 3, len(y))]
    nested = dense[:, [0]] * (random.random((len(y), 1)) < 0.8)
    separable = (random.random((len(y), 1)) < 0.03) * y[:, None]
    problem = HorseshoeProbit(sparse.csr_array(np.column_stack([dense, groups, nested, separable, dense[:, 5]])), y)
    found = []
    for storage in ("float32", "sparse"):
        design = Design.of(problem, Options(storage=storage, intercept=intercept))
        x = design.rows(0, len(y))[:, : design.layout.columns].astype(np.float64)
        found.append(vars(find_lines(design, x.T @ x, np.full(len(y), 0.4))))
    expected, same = found
    assert min(expected["nulls"], expected["pairs"], expected["tails"]) > 0
    for name in ("nulls", "pairs", "tails", "separable", "member_start", "member_column", "row_start", "row_index"):
        assert np.array_equal(same[name], expected[name]), name
    for name in ("member_weight", "intercept", "row_value"):
        assert np.allclose(same[name], expected[name], rtol=1e-4, atol=1e-4), name


def test_a_sparse_problem_stays_sparse_and_says_where_a_value_is_not_finite(tmp_path):
    X, y = sparse_data("numbers", rows=50, columns=6)
    X.data[0] = 0.0
    problem = HorseshoeProbit(X.astype(np.float32), y)
    assert problem.X.nnz == X.nnz - 1
    assert problem.X.dtype == np.float32
    again = HorseshoeProbit.from_arrays(problem.to_arrays(), "again")
    assert np.array_equal(again.X.toarray(), problem.X.toarray())
    X.data[7] = np.nan
    row, column = (int(found[7]) for found in X.tocoo().coords)
    with pytest.raises(ProblemError, match=f"column 'x{column}' has nan in row {row}"):
        HorseshoeProbit(X, y)
    with pytest.raises(ProblemError, match="got complex128"):
        HorseshoeProbit(X.astype(complex), y)
