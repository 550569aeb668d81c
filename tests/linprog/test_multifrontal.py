"""Factors of sparse systems against dense elimination: fronts on devices, libraries on the host, augmented systems."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

import engine
from engine.errors import OutOfDeviceMemory
from engine.generators.linprog import GeneratorOptions, generate
from engine.solvers.linprog import solve
from engine.solvers.linprog.forms.standard import with_slacks
from engine.solvers.linprog.highs.process import ChildError
from engine.solvers.linprog.interior import driver
from engine.solvers.linprog.multifrontal import dissection, ordering, orders, plan, symbolic
from engine.solvers.linprog.multifrontal import factor as multifrontal
from engine.solvers.linprog.multifrontal.factor import Multifrontal
from engine.solvers.linprog.sparse import long_lines, products
from engine.solvers.linprog.systems import fronts, host, pending
from engine.solvers.linprog.systems.fronts import FrontSystem
from engine.solvers.linprog.systems.host import HostSystem
from tests.support.linear_systems import GivenTheta, shard_data
from tests.support.matrices import MATRICES, lower_pattern, tree_of
from tests.support.needs import package
from tests.support.races import reference, sparse_program


def factorised(device, columns, theta, added):
    fronts = symbolic.analyse(tree_of(columns))
    found = Multifrontal(device, columns, fronts, plan.make_plan(fronts))
    found.form(theta)
    assert found.factor(0.0, added)
    return found


@pytest.mark.few(4)
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("name", list(MATRICES))
def test_solutions_leave_no_residual(device, monkeypatch, name, large):
    if large:
        monkeypatch.setattr(plan, "LARGE_FRONT", 1000.0)
    columns = MATRICES[name]
    m, count = columns.shape
    random = np.random.default_rng(1)
    theta, rhs = 10.0 ** random.uniform(-1, 1, count), random.standard_normal((m, 2))
    matrix = (columns * theta) @ columns.T + 0.01 * sp.eye_array(m)

    def solve(opened):
        factor = factorised(opened, columns, np.ones(count), 1.0)  # factorised again below
        factor.form(theta)
        assert factor.factor(0.0, 0.01)
        found, again = factor.solve(rhs), factor.solve(rhs)
        assert (found == again).all()
        factor.close()
        return found

    found = device.submit(solve).result()
    norm = abs(matrix).sum(axis=0).max()
    assert np.abs(matrix @ found - rhs).max() <= 1e-12 * max(1.0, norm * np.abs(found).max())
    expected = np.linalg.solve(matrix.toarray(), rhs)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["arrow", "dense", "scattered and dense"])
def test_long_rows_are_formed_in_chunks(device, monkeypatch, name):
    columns = MATRICES[name]
    theta, rhs = np.linspace(0.5, 2.0, columns.shape[1]), np.arange(columns.shape[0]) - 7.0

    def solve(opened):
        factor = factorised(opened, columns, theta, 1.0)
        assert factor.factor(0.25, 0.5)
        found = factor.solve(rhs), factor._chunks.row.size
        factor.close()
        return found

    expected, none = device.submit(solve).result()
    with monkeypatch.context() as patched:
        patched.setattr(long_lines, "_LONG_FORMED", 40)
        patched.setattr(long_lines, "_CHUNK", 16)
        patched.setattr(multifrontal, "chunks_of", lambda *given: long_lines.chunks_of(*given[:3], True))
        found, chunks = device.submit(solve).result()
    assert none == 0
    assert chunks > 10
    matrix = ((columns * theta) @ columns.T).toarray()
    matrix += np.diag(0.25 * np.diagonal(matrix) + 0.5)
    for one in (found, expected):
        assert np.allclose(one, np.linalg.solve(matrix, rhs), rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def on(device, given, warnings):
    shards = GivenTheta(device)
    return pending.PendingSystem(shards, given, device.info, "device", False, warnings.append), shards


def test_dense_columns_are_taken_into_account(device):
    random = np.random.default_rng(5)
    columns = sp.csc_array(sp.hstack([MATRICES["scattered"], sp.csc_array(random.standard_normal((400, 3)))]))
    theta = 10.0 ** random.uniform(-2, 2, columns.shape[1])
    found, shards = on(device, shard_data(columns), [])
    shards.form(found, theta)
    assert not found.factor(0.0, 0.1)
    assert isinstance(found._present, FrontSystem)
    full = columns.toarray()
    matrix, rhs = (full * theta) @ full.T + 0.1 * np.eye(400), random.standard_normal(400)
    expected = np.linalg.solve(matrix, rhs)
    assert np.allclose(found.solve(rhs), expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    assert (found.statistics().nonzeros or 0) < 400 * 401 // 2
    found.close()


def test_a_matrix_that_is_not_definite_is_reported(device):
    found, shards = on(device, shard_data(MATRICES["grid"]), [])
    for theta in (-1.0, np.nan):
        shards.form(found, np.full(MATRICES["grid"].shape[1], theta))
        assert found.factor(0.0, 0.0)
    found.close()


@pytest.mark.parametrize("known", [False, True])
def test_the_host_factorises_what_does_not_fit(device, monkeypatch, known):
    def full(self, *_):
        raise OutOfDeviceMemory("no memory is free")

    if known:
        monkeypatch.setattr(fronts, "matrix_bytes", lambda *_: 1 << 62)
    else:
        monkeypatch.setattr(Multifrontal, "_put_matrix", full)
    warnings = []
    found, shards = on(device, shard_data(MATRICES["grid"]), warnings)
    shards.form(found, np.ones(MATRICES["grid"].shape[1]))
    assert not found.factor(0.0, 0.0)
    assert isinstance(found._present, HostSystem)
    assert (found.statistics().nonzeros or 0) > 0
    assert ["on the host" in text and "free" in text for text in warnings] == [True]
    found.close()


def test_the_order_of_metis_is_made_by_a_child_process(device, monkeypatch):
    package("pymetis")
    monkeypatch.setattr(dissection, "_ORDERED_HERE", 0)
    monkeypatch.setattr(dissection, "_ORDERED_UNLESS_READY", 0)
    pattern = lower_pattern(MATRICES["grid"])
    rows, columns = ordering.below_diagonal(pattern.indices, pattern.indptr)
    here = orders.nested_dissection(pattern.shape[0], rows, columns)
    found, shards = on(device, shard_data(MATRICES["grid"]), [])
    shards.form(found, np.ones(MATRICES["grid"].shape[1]))  # its own analysis has ended
    with monkeypatch.context() as patched:
        patched.setattr(orders, "nested_dissection", lambda *_: pytest.fail("ordered in this process"))
        assert np.array_equal(found._dissection(pattern.shape[0], rows, columns), here)
    monkeypatch.setattr(dissection, "new_child", lambda _: (_ for _ in ()).throw(ChildError("no process")))
    assert np.array_equal(found._dissection(pattern.shape[0], rows, columns), here)
    found.close()


@pytest.mark.few(3)
@pytest.mark.parametrize("racing", [False, True])
@pytest.mark.parametrize("who", ["device", "host", "dense"])
def test_the_optimum_does_not_depend_on_who_factorises(device, monkeypatch, who, racing):
    if racing:  # the first iterations have a dense factor
        monkeypatch.setattr(solve, "open_system", lambda *given: driver.open_system(*given[:-1], True))
    monkeypatch.setattr(driver, "multifrontal_runs_on", lambda _: True)
    monkeypatch.setattr(driver, "is_surely_dense", lambda *_: False)
    monkeypatch.setattr(pending, "fastest", lambda *_: who)
    problem = sparse_program(7, 300, 520)
    with engine.Engine(devices=[device.info.id]) as owner:
        result = owner.solve(problem, method="mpc", presolve=False)
        expected = owner.solve(problem, method="mpc", presolve=False, linear_solver="cholesky")
    assert result.status == "optimal"
    assert result.objective == pytest.approx(expected.objective, rel=1e-8)
    if not racing:
        assert ("fronts" in result.counters) == (who == "device")
        assert ("factor_nonzeros" in result.counters) == (who != "dense")


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", ["multifrontal", "sparse_cholesky", "cholesky"])
def test_a_run_with_a_folder_keeps_the_picture_of_its_factor(device, solver, tmp_path):
    arguments = {"method": "mpc", "linear_solver": solver, "presolve": False}
    problem = generate(GeneratorOptions(type="transport", m=12, n=30, seed=1))
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
