"""Stacks of programs: the standard forms and audits that each program gets alone."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import engine
from engine.devices import Member
from engine.solvers.linprog.batches.stack import Stack
from engine.solvers.linprog.forms.standard import Prepared, prepare
from engine.solvers.linprog.verification.outcome import AuditedPoint


def programs(count: int, odd: bool = False) -> list[engine.LinearProgram]:
    """Programs of one shape with bounds of every kind, rows with two sides, and some maximizations."""
    random = np.random.default_rng(8)
    found = []
    for index in range(count):
        a = random.standard_normal((6, 9))
        if odd and index % 3 == 0:
            a[:, 4] = 0.0
        x = random.random(9) + 1.0
        low, high = np.full(9, 0.0), np.full(9, np.inf)
        low[0], high[1], low[2], high[2] = -np.inf, 5.0, -np.inf, 4.0
        if odd and index % 3 == 1:
            low[5] = high[5] = x[5]
        sides = a @ x
        row_lower, row_upper = sides - 1.0, sides + 1.0
        row_lower[:2], row_upper[2], row_lower[5] = -np.inf, np.inf, sides[5]
        row_upper[5] = sides[5]
        y = np.where(np.isneginf(row_lower), -1.0, np.where(np.isposinf(row_upper), 1.0, 0.3)) * random.random(6)
        c = a.T @ y + np.where(np.isneginf(low), np.where(np.isinf(high), 0.0, -1.0), 1.0) * random.random(9)
        maximize = index % 4 == 3
        arrays = {"A": a, "c": -c if maximize else c, "lower": low, "upper": high}
        arrays |= {"row_lower": row_lower, "row_upper": row_upper}
        arrays |= {"maximize": np.array(maximize), "offset": np.array(2.5)}
        found.append(engine.LinearProgram.from_arrays(arrays, f"program {index}"))
    return found


def test_standard_forms_are_those_of_single_programs() -> None:
    problems = programs(7)
    for found, problem in zip(Stack(problems).prepared(True), problems, strict=True):
        alone = prepare(problem)
        assert isinstance(alone, Prepared)
        if found is None:
            continue
        for name in ("A", "b", "c", "upper", "free", "sign", "slack_upper"):
            ours, theirs = getattr(found.standard, name), getattr(alone.standard, name)
            assert np.allclose(ours, theirs, rtol=1e-13, atol=1e-13), name
        point = np.arange(9.0), np.arange(6.0)
        assert all(
            np.allclose(one, other)
            for one, other in zip(found.from_standard(*point), alone.from_standard(*point), strict=True)
        )
    assert sum(found is not None for found in Stack(problems).prepared(True)) >= 5


def test_unusual_programs_are_left_to_be_prepared_alone() -> None:
    found = Stack(programs(6, odd=True)).prepared(True)
    assert [entry is None for entry in found[:2]] == [True, True]


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-5])
def test_audits_are_never_kinder_than_those_of_single_programs(noise: float) -> None:
    problems = programs(8)
    stack = Stack(problems)
    prepared = stack.prepared(True)
    random = np.random.default_rng(3)
    chosen = np.array([k for k, entry in enumerate(prepared) if entry is not None])
    results = [engine.solve(problems[k], backend="opencl", presolve=False) for k in chosen.tolist()]
    x = np.stack(
        [(r.solution - stack.column_shift[k]) / stack.column_scale[k] for r, k in zip(results, chosen, strict=True)]
    )
    signs = np.array([-1.0 if problems[k].maximize else 1.0 for k in chosen.tolist()])
    y = signs[:, None] * np.stack([r.arrays["row_duals"] for r in results])
    x = x * (1.0 + noise * random.standard_normal(x.shape))
    y = y * (1.0 + noise * random.standard_normal(y.shape))
    for found, k, values, duals in zip(stack.audited(chosen, x, y), chosen.tolist(), x, y, strict=True):
        alone = AuditedPoint.of(problems[k], *prepared[k].from_standard(values, duals))
        assert found.audit.primal == pytest.approx(alone.audit.primal, rel=1e-13)
        assert found.audit.dual == pytest.approx(alone.audit.dual, rel=1e-12)
        assert found.audit.error >= 0.999 * alone.audit.error - 1e-14
        assert found.audit.error <= 1e-8 or found.audit.error == pytest.approx(alone.audit.error, rel=1e-3, abs=1e-12)


def test_many_programs_of_every_kind_are_solved(device: Member) -> None:
    problems = programs(24, odd=True)
    results = engine.solve_many(problems, devices=[device.info.id])
    for problem, result in zip(problems, results, strict=True):
        alone = engine.solve(problem, devices=[device.info.id])
        assert result.status == alone.status
        if alone.status == "optimal":
            assert result.objective == pytest.approx(alone.objective, rel=1e-6)


def test_small_sparse_programs_are_batched(device: Member) -> None:
    random = np.random.default_rng(2)
    problems = []
    for _ in range(9):
        a = sp.random_array((12, 20), density=0.3, rng=random, format="csr")
        x = random.random(20)
        problems.append(engine.LinearProgram(random.random(20), A_ub=-a, b_ub=-(a @ x)))
    results = engine.solve_many(problems, devices=[device.info.id])
    assert all("history" not in result.arrays for result in results)
    for problem, result in zip(problems, results, strict=True):
        expected = linprog(problem.c, problem.A, problem.row_upper).fun
        assert result.objective == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_what_a_batch_cannot_do_is_done_for_each_program(device: Member) -> None:
    problems = programs(9)
    results = engine.solve_many(problems, devices=[device.info.id], basis=True)
    assert all("column_status" in result.arrays for result in results)
