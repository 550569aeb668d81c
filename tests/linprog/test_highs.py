"""HiGHS in threads and child processes, presolve and the way back, vertices and their ranges."""

import numpy as np
import pytest

import engine
from engine.solvers.linprog.highs import presolve
from engine.solvers.linprog.highs.model import model_of
from engine.solvers.linprog.highs.presolve import Presolve
from engine.solvers.linprog.highs.process import ChildError, ChildProcess
from engine.solvers.linprog.verification.audit import audit
from tests.support.races import reference, solved, sparse_program

pytestmark = pytest.mark.host


def test_a_process_that_ends_is_an_error_and_not_a_hang():
    with ChildProcess() as process:
        answer = process.request("solve", {"not": "a program"}, {})
        with pytest.raises(ChildError, match="ended without an answer"):
            answer.result(60)
        with pytest.raises(ChildError):
            process.request("solve", {}, {}).result(60)


def test_without_a_way_back_the_program_is_solved_as_given(owner, monkeypatch):
    def ended(*_):
        raise ChildError("the child process has ended")

    monkeypatch.setattr(Presolve, "restore", ended)
    solved(owner, sparse_program(9), method="mpc")


@pytest.mark.parametrize("apart", [False, True])
def test_presolve_and_its_way_back(monkeypatch, apart):
    monkeypatch.setattr(presolve, "_IN_PROCESS", -1 if apart else 10**9)
    polls, problem = [], sparse_program(9)
    with Presolve(problem, lambda: polls.append(None)) as reduced:
        assert reduced.status == "reduced"
        assert reduced.program.n < problem.n
        result = engine.solve(reduced.program, presolve=False, backend="opencl")
        x, y = reduced.restore(result.solution, result.arrays["row_duals"])
    found = audit(problem, x, y)
    assert found.error < 1e-7
    assert found.primal == pytest.approx(reference(problem), rel=1e-6)
    assert bool(polls) == apart


def test_an_inner_point_is_moved_to_a_vertex_in_a_process_that_has_solved_nothing(owner):
    """In which the crossover of HiGHS 1.16 has crashed."""
    problem = sparse_program(3, 60, 120)
    inner = owner.solve(problem, presolve=False, method="mpc")
    arrays = {name: inner.arrays[name] for name in ("row_duals", "reduced_costs", "activities")}
    with ChildProcess() as process:
        found = process.request("vertex", model_of(problem), {"x": inner.solution, **arrays}, False).result(60)
    assert found["status"] == "optimal"
    assert (found["column_status"] == 1).sum() + (found["row_status"] == 1).sum() == problem.m
    assert found["x"] @ problem.c == pytest.approx(inner.objective, rel=1e-6)


@pytest.mark.parametrize("maximize", [False, True])
def test_a_vertex_stays_optimal_within_its_ranges(owner, maximize):
    random = np.random.default_rng(3)
    a, sign = random.random((5, 8)), -1.0 if maximize else 1.0
    given = {"A": a, "lower": np.zeros(8), "upper": np.full(8, np.inf)}
    given |= {"row_lower": np.full(5, 1.0), "row_upper": np.full(5, np.inf), "maximize": np.array(maximize)}
    c = sign * (random.random(8) + 0.5)
    found = owner.solve(engine.LinearProgram.from_arrays(given | {"c": c}, "ranges"), ranging=True)
    ranges = np.stack([found.arrays["cost_from"], found.arrays["cost_to"]])
    assert ((ranges[0] <= c + 1e-12) & (c <= ranges[1] + 1e-12)).all()

    def vertex(costs):
        problem = engine.LinearProgram.from_arrays(given | {"c": costs}, "moved")
        return np.asarray(owner.solve(problem, basis=True).solution)

    for j in range(8):
        for end, other in ((ranges[0, j], -1.0), (ranges[1, j], 1.0)):
            if not np.isfinite(end):
                continue
            costs = c.copy()
            costs[j] = c[j] + 0.9 * (end - c[j])
            assert np.allclose(vertex(costs), found.solution, atol=1e-7), j
            costs[j] = end + other * 0.05
            if abs(end - c[j]) > 1e-6 and costs[j] * sign > 0.0:
                assert not np.allclose(vertex(costs), found.solution, atol=1e-7), j
    sides = np.stack([found.arrays["side_from"], found.arrays["side_to"]])
    active = found.arrays["row_status"] != 1
    assert ((sides[0] <= 1.0 + 1e-9) & (sides[1] >= 1.0 - 1e-9))[active].all()
