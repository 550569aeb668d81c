"""The augmented system of sparse programs against dense linear algebra, HiGHS and the normal equations."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.solvers.linprog.forms.standard import with_slacks
from engine.solvers.linprog.highs.process import ChildError
from engine.solvers.linprog.sparse import products
from engine.solvers.linprog.systems import host, pending
from engine.solvers.linprog.systems.host import HostSystem
from tests.support.examples import examples
from tests.support.linear_systems import GivenTheta, shard_data
from tests.support.needs import package
from tests.support.races import reference
from tests.support.random_programs import KINDS, program


@pytest.fixture(params=["qdldl", "SuperLU", "SuperLU in a child", "rslab in a child"])
def library(request, monkeypatch):
    """Every library that is installed, where it may run."""
    name, _, where = request.param.partition(" ")
    if name != "SuperLU":
        package(name)
    monkeypatch.setattr(host, "has_qdldl", lambda: name == "qdldl")
    monkeypatch.setattr(host, "has_rslab", lambda: name == "rslab")
    monkeypatch.setattr(host, "IN_PROCESS", 0 if where else 10**9)
    return str(request.param)


def regression(rows, parameters, density=0.1):
    """Least absolute deviations: each parameter is free, and in many rows; X beta + u - v = y."""
    random = np.random.default_rng([rows, parameters])
    x = sp.random_array((rows, parameters), density=density, rng=random, data_sampler=random.standard_normal)
    a = sp.csr_array(sp.hstack([x, sp.eye_array(rows), -sp.eye_array(rows)]))
    c = np.concatenate([np.zeros(parameters), np.ones(2 * rows)])
    bounds = [(None, None)] * parameters + [(0, None)] * (2 * rows)
    return engine.LinearProgram(c, A_eq=a, b_eq=random.standard_normal(rows), bounds=bounds)


def data(m, n, long):
    """Short columns, some slacks, and columns with about half of all rows."""
    random = np.random.default_rng([m, n, long])
    a = sp.random_array((m, n), density=min(1.0, 2.0 / m), rng=random)
    wide = sp.random_array((m, long), density=0.5, rng=random)
    return shard_data(sp.hstack([a, wide]), random)


@pytest.mark.few(4)
@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("kind", ["augmented", "normal"])
@pytest.mark.parametrize(("m", "n", "long"), [(1, 1, 0), (60, 90, 12), (600, 900, 40), (900, 2000, 2)])
def test_solutions_are_those_of_dense_normal_equations(library, monkeypatch, mapped, kind, m, n, long):
    monkeypatch.setattr(products, "MAPPED_PRODUCTS", 10**9 if mapped else 0)
    given = data(m, n, long)
    random = np.random.default_rng(0)
    shards = GivenTheta()
    found = HostSystem(given, kind, shards.get_theta)
    full = with_slacks(given).toarray()
    for _ in range(2):  # the pattern is analysed once
        theta = 10.0 ** random.uniform(-2, 2, given.N)
        rhs = random.standard_normal(m)
        shards.form(found, theta)
        assert not found.factor(0.0, 0.1)
        expected = np.linalg.solve((full * theta) @ full.T + 0.1 * np.eye(m), rhs)
        size = np.abs(expected).max()
        assert np.allclose(found.solve(rhs), expected, rtol=1e-8, atol=1e-8 * size)
    assert (found._augmented is not None) == (kind == "augmented")
    assert found._dense is None or (found._dense.count > 0) == (m == 900)  # by the formula of Sherman and Morrison
    found.close()


@pytest.mark.parametrize("kind", ["augmented", "normal"])
def test_pivots_of_the_wrong_sign_are_reported(library, kind):
    given = data(60, 90, 12)
    shards = GivenTheta()
    found = HostSystem(given, kind, shards.get_theta)
    for theta in (-1.0, np.nan):
        shards.form(found, np.full(given.N, theta))
        assert found.factor(0.0, 0.0)
    found.close()


@pytest.mark.few(2)
def test_normal_equations_follow_factors_that_fail(library):
    given = data(300, 400, 60)
    shards = GivenTheta()
    found = HostSystem(given, "auto", shards.get_theta)
    shards.form(found, np.full(given.N, -1.0))
    assert found._augmented is not None
    for _ in range(host._FAILURES):
        assert found.factor(0.0, 0.0)
    assert found._augmented is None  # from here on
    shards.form(found, np.ones(given.N))
    assert not found.factor(0.0, 0.1)
    full = with_slacks(given).toarray()
    rhs = np.random.default_rng(1).standard_normal(300)
    expected = np.linalg.solve(full @ full.T + 0.1 * np.eye(300), rhs)
    assert np.allclose(found.solve(rhs), expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    found.close()


def test_a_process_that_ends_is_a_failed_factor(monkeypatch):
    monkeypatch.setattr(host, "IN_PROCESS", 0)
    given, shards = data(60, 90, 12), GivenTheta()
    found = HostSystem(given, "normal", shards.get_theta)
    shards.form(found, np.ones(given.N))
    assert not found.factor(0.0, 1.0)
    found._child._process._process.kill()
    found._child._process._process.wait()
    assert found.factor(0.0, 1.0)
    assert np.isnan(found.solve(np.ones(60))).all()
    found.close()


def test_the_host_takes_the_augmented_system_where_a_device_would_not_be_exact(device, monkeypatch):
    monkeypatch.setattr(pending, "_MOST_DENSE_COLUMNS", -1)
    given = data(300, 400, 60)
    shards, rhs = GivenTheta(), np.ones(given.m)
    found = pending.PendingSystem(shards, given, device.info, "auto", False, pytest.fail)
    shards.form(found, np.ones(given.N))
    assert not found.factor(0.0, 0.1)
    full = with_slacks(given).toarray()
    assert np.allclose(found.solve(rhs), np.linalg.solve(full @ full.T + 0.1 * np.eye(300), rhs), rtol=1e-7)
    assert found._present._augmented is not None
    found.close()


def test_auto_takes_the_augmented_system_where_normal_equations_fill_in(device, monkeypatch):
    problem = regression(900, 30)
    expected, entries = reference(problem), {}
    with engine.Engine(devices=[device.info.id]) as owner:
        for solver in ("sparse_cholesky", "augmented", "auto"):
            result = owner.solve(problem, method="mpc", linear_solver=solver)
            assert (result.status, result.objective) == ("optimal", pytest.approx(expected, rel=1e-6))
            entries[solver] = result.counters.get("factor_nonzeros")
    assert entries["augmented"] < 0.2 * entries["sparse_cholesky"]
    assert device.info.capabilities.simt or entries["auto"] == entries["augmented"]


@pytest.fixture(scope="module")
def owner():
    with engine.Engine() as made:
        yield made


@examples(60)
@given(
    kind=st.sampled_from([kind for kind in KINDS if kind not in ("infeasible", "unbounded")]),
    seed=st.integers(0, 2**32 - 1),
    m=st.integers(3, 60),
    n=st.integers(3, 80),
)
def test_optima_are_those_of_highs(owner, kind, seed, m, n):
    arguments = program(kind, m, n, seed)
    arguments |= {name: sp.csr_array(arguments[name]) for name in ("A_ub", "A_eq")}
    problem = engine.LinearProgram(**arguments)
    result = owner.solve(problem, method="mpc", linear_solver="augmented", presolve=False)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(reference(problem), rel=1e-6, abs=1e-6)


def test_a_time_limit_ends_an_analysis(device, monkeypatch):
    begun, ended = threading.Event(), threading.Event()

    def slow(*_):
        begun.set()
        ended.wait(60)
        raise ChildError("the run has ended")

    monkeypatch.setattr(host, "augmented_tree", slow)
    with engine.Engine(devices=[device.info.id]) as owner:
        result = owner.solve(regression(300, 12), method="mpc", linear_solver="augmented", time_limit=1.0)
        assert begun.is_set()
        assert not ended.is_set()
        ended.set()
    assert result.status == "time_limit"


@pytest.mark.parametrize("linear_solver", ["sparse_cholesky", "multifrontal", "augmented"])
def test_sparse_systems_are_kept_where_presolve_leaves_few_zeros(owner, linear_solver):
    arguments = program("boxed", 60, 120, 103)
    arguments |= {name: sp.csr_array(arguments[name]) for name in ("A_ub", "A_eq")}
    problem = engine.LinearProgram(**arguments)
    expected = owner.solve(problem).objective
    assert owner.solve(problem, method="mpc", linear_solver=linear_solver).objective == pytest.approx(expected)
