"""Linear programs from modelling layers: CVXPY and HiGHS's own models."""

import numpy as np
import pytest

import engine
from tests.support.needs import package

pytestmark = pytest.mark.smoke


def test_cvxpy_gets_values_and_duals_of_its_own_solvers(device):
    cp = package("cvxpy")
    random = np.random.default_rng(4)
    for _ in range(3):
        a, b, c = random.random((6, 9)), random.random(6) + 1.0, -random.random(9)
        x, t = cp.Variable(9, nonneg=True), cp.Variable()
        rows = [a @ x <= b, cp.sum(x) == 1.0, t >= x[0], t <= 2.0]
        model = cp.Problem(cp.Minimize(c @ x + 0.5 * t + 3.0), rows)
        found = model.solve(solver=engine.QUINTET, devices=[device.info.id])
        duals = [row.dual_value for row in rows]
        assert model.status == "optimal"
        expected = model.solve(solver="HIGHS")
        assert found == pytest.approx(expected, rel=1e-7)
        for row, dual in zip(rows, duals, strict=True):
            assert np.allclose(dual, row.dual_value, atol=1e-5)
        assert float(rows[0].dual_value.min()) >= -1e-9


def test_cvxpy_is_reported_of_infeasible_and_unbounded_problems(device):
    cp = package("cvxpy")
    x = cp.Variable(2)
    model = cp.Problem(cp.Minimize(x[0]), [x >= 1.0, cp.sum(x) <= 1.0])
    assert model.solve(solver=engine.QUINTET, devices=[device.info.id]) == np.inf
    assert model.status == "infeasible"
    model = cp.Problem(cp.Maximize(x[0]), [x >= 1.0])
    assert model.solve(solver=engine.QUINTET, devices=[device.info.id]) == np.inf
    assert model.status == "unbounded"


def test_cvxpy_refuses_what_is_no_linear_program():
    cp = package("cvxpy")
    x = cp.Variable(2)
    with pytest.raises(cp.error.SolverError, match="QUINTET"):
        cp.Problem(cp.Minimize(cp.norm(x)), [x >= 1.0]).solve(solver=engine.QUINTET)


@pytest.mark.parametrize("maximize", [False, True])
def test_a_model_of_highs_is_taken_as_it_is(device, maximize):
    highspy = package("highspy")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    x = [highs.addVariable(lb=0.0, ub=4.0, name=f"x{j}") for j in range(3)]
    y = highs.addVariable(lb=-highspy.kHighsInf, name="y")
    highs.addConstr(x[0] + 2 * x[1] + y >= 2.0)
    highs.addConstr(1.0 <= x[1] + x[2] <= 3.0)
    highs.addConstr(x[0] + y == 1.5)
    objective = 2 * x[0] + x[1] - 0.5 * x[2] + y + 7.0
    (highs.maximize if maximize else highs.minimize)(objective)
    problem = engine.LinearProgram.from_highspy(highs)
    assert (problem.m, problem.n, problem.nonzeros) == (3, 4, 7)
    assert problem.names == ("x0", "x1", "x2", "y")
    assert problem.maximize == maximize
    result = engine.solve(problem, devices=[device.info.id])
    assert result.status == "optimal"
    assert result.objective == pytest.approx(highs.getObjectiveValue(), rel=1e-7)
