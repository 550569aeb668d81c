"""Multifrontal factors on devices against dense elimination and SciPy."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import engine
from engine.devices.kernels.variants import CUDA_GPU
from engine.errors import OutOfDeviceMemory
from engine.solvers.linprog import solve
from engine.solvers.linprog.highs.process import ChildError, keep_children, release_children
from engine.solvers.linprog.interior import driver
from engine.solvers.linprog.multifrontal import dissection, ordering, orders, plan, symbolic
from engine.solvers.linprog.multifrontal import factor as multifrontal
from engine.solvers.linprog.multifrontal.factor import Multifrontal
from engine.solvers.linprog.sparse import long_lines
from engine.solvers.linprog.systems import choose, costs, fronts, pending
from engine.solvers.linprog.systems.fronts import FrontSystem
from engine.solvers.linprog.systems.host import HostSystem
from tests.support.linear_systems import GivenTheta, shard_data
from tests.support.matrices import MATRICES, filled, grid, lower_pattern, tree_of, with_identity
from tests.support.needs import package


@pytest.fixture(params=["minimum degree", "nested dissection"])
def order_kind(request, monkeypatch):
    if request.param == "nested dissection":
        package("pymetis")
    else:
        monkeypatch.setattr(ordering, "has_metis", lambda: False)
    return str(request.param)


def test_elimination_trees_and_column_counts_are_those_of_elimination(order_kind):
    random = np.random.default_rng(0)
    for trial in range(40):
        m = int(random.integers(1, 40))
        columns = with_identity(sp.random_array((m, m), density=0.2 * random.random(), rng=random))
        tree = tree_of(columns)
        factor = filled(columns, tree.order)
        assert sorted(tree.order) == list(range(m)), trial
        assert (tree.counts == factor.sum(axis=0)).all(), trial
        for k in range(m):
            below = np.flatnonzero(factor[k + 1 :, k]) + k + 1
            assert tree.parent[k] == (below[0] if below.size else -1), trial


@pytest.mark.parametrize("name", [name for name in MATRICES if MATRICES[name].shape[0] <= 400])
def test_fronts_hold_the_filled_matrix(name, order_kind):
    fronts = symbolic.analyse(tree_of(MATRICES[name]))
    factor = filled(MATRICES[name], fronts.order)
    held = np.zeros_like(factor)
    rows = [
        np.concatenate([np.arange(a, a + w), fronts.below[b:c]])
        for a, w, b, c in zip(fronts.first, fronts.widths, fronts.starts[:-1], fronts.starts[1:], strict=True)
    ]
    for f, parent in enumerate(fronts.parent):
        for k in range(fronts.widths[f]):
            held[rows[f][k:], rows[f][k]] = True
        relative = fronts.relative[fronts.starts[f] : fronts.starts[f + 1]]
        if parent < 0:
            assert relative.size == 0
        else:
            assert parent > f
            assert (rows[parent][relative] == rows[f][fronts.widths[f] :]).all()
    assert not (factor & ~held).any()
    assert held.sum() == fronts.nonzeros


@pytest.mark.parametrize("name", ["grid", "path", "tree", "disconnected", "scattered and dense"])
def test_updates_do_not_overlap_while_they_are_needed(name):
    fronts = symbolic.analyse(tree_of(MATRICES[name]))
    planned = plan.make_plan(fronts)
    level = symbolic.heights(fronts.parent)
    sizes = (fronts.sizes - fronts.widths) ** 2
    for now in range(level.max() + 1):
        alive = np.flatnonzero((sizes > 0) & (level <= now) & (level[fronts.parent] >= now) & (fronts.parent >= 0))
        begins = planned.update_at[alive]
        order = np.argsort(begins)
        ends = (begins + sizes[alive])[order]
        assert (ends[:-1] <= begins[order][1:]).all()
        assert ends.max(initial=0) <= planned.update_size


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


@pytest.mark.full
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("name", ["two cliques", "scattered and dense"])
def test_recorded_work_is_that_done_the_first_time(device, monkeypatch, name, large):
    if large:
        monkeypatch.setattr(plan, "LARGE_FRONT", 1000.0)
    columns, rhs = MATRICES[name], np.arange(MATRICES[name].shape[0]) - 7.0

    def work(opened):
        factor = factorised(opened, columns, np.ones(columns.shape[1]), 0.5)
        factor._simt = True  # on any device: nothing takes long here
        expected = []
        for _ in range(4):
            found = []
            for scale, added in ((1.0, 0.5), (2.0, 0.25)):
                factor.form(np.full(columns.shape[1], scale))
                assert factor.factor(0.0, added)
                found += [factor.solve(rhs), factor.solve(2.0 * rhs)]
            expected = expected or found
            assert all((one == other).all() for one, other in zip(found, expected, strict=True))
        assert len(factor._recordings._found) == 3
        assert not factor._recordings.refused
        factor.form(np.full(columns.shape[1], np.nan))
        assert not factor.factor(0.0, 0.5)
        factor.cancel()
        assert not factor.factor(0.0, 0.5)
        factor.close()

    device.submit(work).result()


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
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_the_diagonal_grows_by_a_part_and_an_amount(device):
    columns = MATRICES["scattered"]
    matrix = (columns @ columns.T).toarray()
    matrix += np.diag(0.25 * np.diagonal(matrix) + 0.5)
    rhs = np.arange(400.0)

    def solve(opened):
        factor = factorised(opened, columns, np.ones(columns.shape[1]), 0.0)
        assert factor.factor(0.25, 0.5)
        return factor.solve(rhs)

    assert np.allclose(device.submit(solve).result(), np.linalg.solve(matrix, rhs), rtol=1e-9)


def test_rows_that_depend_on_others_have_no_part_in_solutions(device):
    random = np.random.default_rng(2)
    own = MATRICES["scattered"]
    columns = sp.csc_array(sp.vstack([own, own[:7], own[:20:2] + own[1:20:2], sp.csc_array((3, own.shape[1]))]))
    theta = 10.0 ** random.uniform(-3, 3, columns.shape[1])
    matrix = (columns * theta) @ columns.T
    rhs = matrix @ random.standard_normal(columns.shape[0])

    def solve(opened):
        return factorised(opened, columns, theta, 0.0).solve(rhs)

    found = device.submit(solve).result()
    assert np.abs(matrix @ found - rhs).max() <= 1e-9 * np.abs(rhs).max()
    assert (found == 0.0).sum() >= 3  # but for rounding errors there are 20 of them


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


def test_an_analysis_is_abandoned_when_the_run_ends(device, monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(pending, "best_tree", lambda *_: ended.wait(60))
    found, shards = on(device, shard_data(MATRICES["grid"]), [])
    threading.Timer(0.1, found.close).start()
    shards.form(found, np.ones(MATRICES["grid"].shape[1]))
    assert not ended.is_set()
    assert found.factor(0.0, 0.0)
    ended.set()


@pytest.fixture
def ordered_elsewhere(monkeypatch):
    """Patterns of any size are ordered by a child process."""
    package("pymetis")
    monkeypatch.setattr(dissection, "_ORDERED_HERE", 0)
    monkeypatch.setattr(dissection, "_ORDERED_UNLESS_READY", 0)


@pytest.mark.usefixtures("ordered_elsewhere")
def test_the_order_of_metis_is_made_by_a_child_process(device, monkeypatch):
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


@pytest.mark.usefixtures("ordered_elsewhere")
def test_the_process_of_orders_is_kept_for_the_next_run(device, monkeypatch):
    used = []
    take = dissection.new_child
    monkeypatch.setattr(dissection, "new_child", lambda module: (used.append(take(module)), used[-1])[1])
    keep_children(1, orders.__file__)
    try:
        for _ in range(2):
            found, shards = on(device, shard_data(MATRICES["grid"]), [])
            shards.form(found, np.ones(MATRICES["grid"].shape[1]))
            found.close()
        assert used[0] is used[1]
        assert used[0].is_alive
    finally:
        release_children()
    assert not used[0].is_alive
    found, shards = on(device, shard_data(MATRICES["grid"]), [])  # none is kept from here on
    shards.form(found, np.ones(MATRICES["grid"].shape[1]))
    found.close()
    assert not used[2].is_alive


@pytest.mark.usefixtures("ordered_elsewhere")
def test_an_order_that_takes_long_ends_with_the_run(device, monkeypatch, tmp_path):
    slow = tmp_path / "slow.py"
    slow.write_text("import time\n\ndef nested_dissection(*_):\n    time.sleep(600)\n")
    monkeypatch.setattr(dissection.orders, "__file__", str(slow))
    found, shards = on(device, shard_data(MATRICES["grid"]), [])
    analysis = found._analysis
    assert analysis is not None
    while found._dissection.process is None:
        time.sleep(0.01)
    found.close()
    assert isinstance(analysis.exception(timeout=60), ChildError)
    shards.form(found, np.ones(MATRICES["grid"].shape[1]))
    assert found.factor(0.0, 0.0)


def test_a_cancelled_factorization_is_a_failed_one(device):
    found, shards = on(device, shard_data(MATRICES["grid"]), [])
    theta = np.ones(MATRICES["grid"].shape[1])
    shards.form(found, theta)
    assert not found.factor(0.0, 1.0)
    found.close()
    assert found.factor(0.0, 1.0)


def sparse_problem(rows):
    random = np.random.default_rng(7)
    a = sp.random_array((rows, 2 * rows), density=6 / rows, rng=random, format="csr")
    x = random.random(2 * rows)
    return engine.LinearProgram(random.random(2 * rows), A_ub=a, b_ub=a @ x + 1.0, A_eq=a[:40], b_eq=a[:40] @ x)


@pytest.mark.few(1)
@pytest.mark.parametrize("count", [1, 2])
def test_the_method_reaches_the_optimum_of_the_host_s_factor(device, count):
    problem = sparse_problem(150)
    with engine.Engine(devices=[device.info.id] * count) as owner:
        results = [owner.solve(problem, linear_solver=solver) for solver in ("sparse_cholesky", "multifrontal")]
    assert [result.status for result in results] == ["optimal"] * 2
    assert results[0].objective == pytest.approx(results[1].objective, rel=1e-8)
    assert results[1].counters["factor_nonzeros"] > 0


def predicted(columns, dense_fits, **traits):
    fronts = symbolic.analyse(tree_of(columns))
    return costs.fastest(fronts, plan.make_plan(fronts), replace(CUDA_GPU, **traits), dense_fits)


def test_devices_factorise_what_they_are_fast_at():
    few, many = MATRICES["scattered"], grid(120)
    assert predicted(few, dense_fits=True) == "dense"
    assert predicted(many, dense_fits=True) == "device"
    assert predicted(many, dense_fits=False) == "device"
    assert predicted(many, dense_fits=True, simt=False) == "host"
    assert predicted(many, dense_fits=False, launch_cost=1.0) == "host"
    assert costs.is_surely_dense(400, CUDA_GPU)
    assert costs.dense_for_a_while(400, CUDA_GPU)
    assert not costs.is_surely_dense(120**2, CUDA_GPU)
    assert not costs.dense_for_a_while(120**2, CUDA_GPU)


def solve_where(device, who):
    """Solve a program; the optimum is that of a dense factor, and the counters name who has factorised."""
    problem = sparse_problem(260)
    with engine.Engine(devices=[device.info.id]) as owner:
        result = owner.solve(problem, method="mpc", presolve=False)
        expected = owner.solve(problem, method="mpc", presolve=False, linear_solver="cholesky")
    assert result.status == "optimal"
    assert result.objective == pytest.approx(expected.objective, rel=1e-8)
    assert ("fronts" in result.counters) == (who == "device")
    assert ("factor_nonzeros" in result.counters) == (who != "dense")


@pytest.mark.few(1)
@pytest.mark.parametrize("who", ["device", "host", "dense"])
def test_the_optimum_does_not_depend_on_who_factorises(device, monkeypatch, who):
    monkeypatch.setattr(choose, "multifrontal_runs_on", lambda _: True)
    monkeypatch.setattr(choose, "is_surely_dense", lambda *_: False)
    monkeypatch.setattr(pending, "fastest", lambda *_: who)
    solve_where(device, who)


@pytest.mark.few(1)
@pytest.mark.parametrize("who", ["device", "host", "dense"])
def test_the_first_iterations_of_a_race_have_a_dense_factor(device, monkeypatch, who):
    analysed, formed = threading.Event(), []

    def held(*arguments):
        analysed.wait(60)
        return best_tree(*arguments)

    def form(self):
        analysis = self._analysis
        if len(formed) == 4 and analysis is not None:
            analysed.set()
            analysis.result(60)
        real_form(self)
        formed.append(self._analysis is not None)

    best_tree, real_form = pending.best_tree, pending.PendingSystem.form
    monkeypatch.setattr(pending, "best_tree", held)
    monkeypatch.setattr(pending.PendingSystem, "form", form)
    monkeypatch.setattr(solve, "open_system", lambda *given: driver.open_system(*given[:-1], True))
    monkeypatch.setattr(choose, "multifrontal_runs_on", lambda _: True)
    monkeypatch.setattr(choose, "is_surely_dense", lambda *_: False)
    monkeypatch.setattr(pending, "fastest", lambda *_: who)
    solve_where(device, who)
    assert formed[:5] == [True] * 4 + [False]


def test_a_race_may_end_before_the_analysis(device, monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(pending, "best_tree", lambda *_: ended.wait(60))
    monkeypatch.setattr(solve, "open_system", lambda *given: driver.open_system(*given[:-1], True))
    monkeypatch.setattr(choose, "multifrontal_runs_on", lambda _: True)
    monkeypatch.setattr(choose, "is_surely_dense", lambda *_: False)
    with engine.Engine(devices=[device.info.id]) as owner:
        result = owner.solve(sparse_problem(260), method="mpc", presolve=False)
    assert not ended.is_set()
    assert result.status == "optimal"
    assert not {"fronts", "factor_nonzeros"} & set(result.counters)
    ended.set()


def test_a_matrix_without_zeros_is_not_analysed(device, monkeypatch):
    monkeypatch.setattr(pending, "best_tree", lambda *_: pytest.fail("analysed"))
    shards = GivenTheta()
    found = pending.PendingSystem(shards, shard_data(MATRICES["dense"]), device.info, "auto", True, pytest.fail)
    found.form()
    assert shards.dense_forms == 1
    found.close()
