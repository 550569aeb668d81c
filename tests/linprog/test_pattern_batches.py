"""Sparse programs of one pattern that are solved together: one analysis for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import engine
from engine.devices import Member
from engine.references.linprog import HostShard
from engine.solvers.linprog.batches import solve as batch_solve
from engine.solvers.linprog.batches.equations import PatternEquations, repeated
from engine.solvers.linprog.forms.standard import Prepared, prepare, shard_data
from engine.solvers.linprog.interior import driver
from engine.solvers.linprog.interior.host_memory import make_shard
from engine.solvers.linprog.interior.method import InteriorPoint, Settings
from engine.solvers.linprog.interior.shard import with_slacks
from engine.solvers.linprog.interior.system import System
from engine.solvers.linprog.multifrontal.symbolic import analyse
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.problem import LinearProgram
from tests.support.matrices import MATRICES, tree_of

FOLLOWING = {"row_lower", "row_upper", "c", "lower", "upper"}


def family(count: int, m: int = 260, n: int = 500, own: bool = False, band: bool = True) -> list[LinearProgram]:
    """Feasible, bounded programs with rows of each kind, and two-sided and free variables; of one sparse pattern."""
    random = np.random.default_rng(m)
    columns = np.arange(n)
    pattern = sp.coo_array((np.ones(2 * n), (np.append(columns, columns + 1) % m, np.append(columns, columns))), (m, n))
    pattern = sp.csr_array(pattern if band else pattern + sp.random_array((m, n), density=3 / m, rng=random))
    kind, side = random.integers(0, 4, n), random.integers(0, 4, m)
    found = []
    for index in range(count):
        a = pattern.copy()
        if own or index == 0:
            a.data = random.uniform(0.5, 1.5, a.nnz) * random.choice([-1.0, 1.0], a.nnz)
            first = a
        a = a if own else first
        x, y = random.random(n), random.random(m)
        lower = np.where(kind == 3, -np.inf, 0.0)
        upper = np.where(kind == 1, x + random.random(n), np.inf)
        activity = a @ x
        row_lower = np.where(side == 0, -np.inf, activity - np.where(side == 3, 0.0, random.random(m)))
        row_upper = np.where(side == 1, np.inf, activity + np.where(side == 3, 0.0, random.random(m)))
        y = np.where(side == 0, -y, y)
        c = a.T @ y + np.where(kind == 3, 0.0, random.random(n))
        arrays = {"c": c, "lower": lower, "upper": upper, "row_lower": row_lower, "row_upper": row_upper}
        arrays |= {"data": a.data, "indices": a.indices, "indptr": a.indptr, "maximize": np.array(index % 5 == 4)}
        arrays["c"] = -c if index % 5 == 4 else c
        found.append(LinearProgram.from_arrays(arrays, f"program {index}"))
    return found


def optimum(problem: LinearProgram) -> float:
    rows, sides = [], []
    for side, sign in ((problem.row_upper, 1.0), (problem.row_lower, -1.0)):
        rows.append(problem.A[np.isfinite(side)] * sign)
        sides.append(side[np.isfinite(side)] * sign)
    sign = -1.0 if problem.maximize else 1.0
    bounds = np.column_stack([problem.lower, problem.upper])
    return sign * float(linprog(sign * problem.c, sp.vstack(rows), np.concatenate(sides), bounds=bounds).fun)


@pytest.mark.full
@pytest.mark.parametrize("solver", ["sparse_cholesky", "multifrontal"])
@pytest.mark.parametrize("own", [False, True])
def test_programs_of_one_pattern_have_the_optima_of_highs(
    device: Member, monkeypatch: pytest.MonkeyPatch, solver: str, own: bool
) -> None:
    solved: list[int] = []
    inner = batch_solve._solve_share
    monkeypatch.setattr(batch_solve, "_solve_share", lambda *given: solved.append(len(given[1])) or inner(*given))
    problems = family(6, own=own, band=False)
    with engine.Engine(devices=[device.info.id]) as owner:
        results = engine.solve_many(problems, engine=owner, linear_solver=solver, method="mpc")
    assert solved == [6]
    for problem, result in zip(problems, results, strict=True):
        assert result.status == "optimal"
        assert "history" not in result.arrays  # not solved alone
        assert result.objective == pytest.approx(optimum(problem), rel=1e-7)
        assert bool(result.counters.get("fronts")) == (solver == "multifrontal")


def test_one_sparse_program_with_vectors_that_vary(device: Member) -> None:
    problems = family(11)[:4]
    base = problems[0]
    given = {name: np.stack([getattr(problem, name) for problem in problems]) for name in FOLLOWING}
    with engine.Engine(devices=[device.info.id]) as owner:
        found = engine.solve_many(base, **given, engine=owner)
    assert found.status.tolist() == ["optimal"] * 4
    for problem, objective in zip(problems, found.objective, strict=True):
        assert objective == pytest.approx(optimum(problem), rel=1e-6)
    assert all("history" not in result.arrays for result in found)


def test_what_a_batch_leaves_is_solved_by_highs(device: Member) -> None:
    problems = family(6)
    arrays = problems[2].to_arrays()
    arrays["row_lower"], arrays["row_upper"] = arrays["row_lower"].copy(), arrays["row_upper"].copy()
    arrays["lower"], arrays["upper"] = np.zeros(500), np.ones(500)
    equality = int(np.flatnonzero(problems[2].row_lower == problems[2].row_upper)[0])
    arrays["row_lower"][equality] = arrays["row_upper"][equality] = 1e4
    problems[2] = LinearProgram.from_arrays(arrays, "no point")
    with engine.Engine(devices=[device.info.id]) as owner:
        results = engine.solve_many(problems, engine=owner)
    assert [str(result.status) for result in results] == ["optimal"] * 2 + ["infeasible"] + ["optimal"] * 3
    assert "farkas" in results[2].arrays


def standards(count: int) -> Any:
    found = [prepare(problem) for problem in family(count, band=False)]
    assert all(isinstance(entry, Prepared) for entry in found)
    return [entry.standard for entry in found if isinstance(entry, Prepared)]


@pytest.mark.parametrize("solver", ["sparse_cholesky", "multifrontal"])
def test_each_program_has_its_own_factor(device: Member, solver: str) -> None:
    data = shard_data(standards(3))
    random = np.random.default_rng(1)
    rhs = random.standard_normal((3, data.m))

    def work(running: Any) -> Any:
        shard = make_shard(running, data, None)
        equations = PatternEquations(data, shard, solver)
        try:
            found = []
            for idle in (np.zeros(3, bool), np.array([False, True, False])):
                shard.set_point(*(random.random((3, data.N)) + 0.5 for _ in range(4)))
                shard.assess(np.zeros((3, data.m)), np.full(3, 1e-10), np.full(3, 1e-7))
                equations.is_idle = lambda idle=idle: idle
                equations.form(None)
                assert not equations.factor(np.full(3, 1e-13), np.full(3, 1e-10)).any()
                found.append((shard.get_theta(), equations.solve(rhs)))
            return found
        finally:
            equations.close()
            shard.close()

    first, second = device.submit(work).result()
    for (theta, solution), idle in ((first, []), (second, [1])):
        for k in range(3):
            full = with_slacks(shard_data([standards(3)[k]]))
            matrix = (full * theta[k]) @ full.T.toarray()
            matrix += np.diag(1e-13 * np.diag(matrix) + 1e-10)
            expected = np.linalg.solve(matrix, rhs[k])
            if k in idle:
                assert not solution[k].any()
            else:
                assert np.allclose(solution[k], expected, rtol=0.0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["grid", "disconnected", "scattered", "one row"])
def test_fronts_of_several_matrices_are_those_of_their_diagonal(name: str) -> None:
    columns = MATRICES[name]
    fronts = repeated(analyse(tree_of(columns)), 3)
    m = columns.shape[0]
    assert sorted(fronts.order.tolist()) == list(range(3 * m))
    assert (fronts.parent[fronts.parent >= 0] > np.flatnonzero(fronts.parent >= 0)).all()
    assert fronts.first.tolist() == (np.cumsum(fronts.widths) - fronts.widths).tolist()
    for front in range(fronts.count):
        rows = fronts.below[fronts.starts[front] : fronts.starts[front + 1]]
        assert fronts.sizes[front] == fronts.widths[front] + rows.size
        assert (rows // m == fronts.first[front] // m).all()


def test_a_program_whose_factor_fails_does_not_hold_the_others() -> None:
    data = shard_data([prepare(problem).standard for problem in dense(3)])  # type: ignore[union-attr]
    system = System(data, [HostShard(data)])
    factor = system.factor

    def failing(relative: Any, absolute: Any) -> Any:
        status = factor(relative, absolute)
        status[1] = 1
        return status

    method = InteriorPoint(system, np.stack([prepare(p).standard.b for p in dense(3)]), Settings())  # type: ignore[union-attr]
    method.start()
    system.factor = failing  # type: ignore[method-assign]
    for _ in range(40):
        driver.iterate(method, 100)
        if (method.done | method.stuck).all():
            break
    assert method.done.tolist() == [True, False, True]
    assert method.stuck[1]


def dense(count: int) -> list[LinearProgram]:
    random = np.random.default_rng(2)
    matrices = random.random((count, 5, 9)) + 0.1
    return [LinearProgram(random.random(9) + 1.0, A_eq=a, b_eq=a @ random.random(9)) for a in matrices]


def test_programs_are_divided_by_what_they_share(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = family(9) + family(3, m=250)
    monkeypatch.setattr(batch_solve, "_TOGETHER", 5 * problems[0].nonzeros)
    found = list(batch_solve.batches(problems, Options()))
    assert [[entry.index for entry in batch] for batch in found] == [[0, 1, 2, 3, 4], [5, 6, 7, 8]]
    assert not list(batch_solve.batches(problems, Options(linear_solver="cholesky")))
    monkeypatch.setattr(batch_solve, "_HOST_WORK", 1000)
    assert not list(batch_solve.batches(problems, Options()))
    assert len(list(batch_solve.batches(problems, Options(), gpu=True))) == 2
    assert len(list(batch_solve.batches(problems, Options(linear_solver="sparse_cholesky")))) == 2
