"""Models of PuLP, Pyomo and linopy: values, prices and statuses are those of each package's own HiGHS."""

import numpy as np
import pytest

import engine
from tests.support.needs import Later

pulp = Later("pulp")
pyo = Later("pyomo.environ")
linopy = Later("linopy")


def pulp_blend():
    model = pulp.LpProblem("blend", pulp.LpMaximize)
    x, y, z = (model.add_variable(*bounds) for bounds in (("x", 0, 3), ("y", 0), ("z", None, 5)))
    model += x + 2 * y + 0.5 * z + 7
    model += x + y + z <= 6, "total"
    model += x + 3 * y >= 1, "least"
    model += y - z == 0.5, "balance"
    return model


def pulp_chosen():
    model = pulp.LpProblem("chosen", pulp.LpMaximize)
    taken = [model.add_variable(f"taken{i}", cat="Binary") for i in range(5)]
    model += pulp.lpSum(v * taken[i] for i, v in enumerate((10, 13, 7, 8, 4)))
    model += pulp.lpSum(w * taken[i] for i, w in enumerate((5, 7, 3, 4, 2))) <= 11
    return model


@pytest.mark.parametrize("make", [pulp_blend, pulp_chosen])
def test_pulp_gets_what_its_own_solver_gives(make):
    ours, theirs = make(), make()
    assert ours.solve(engine.PulpSolver()) == theirs.solve(pulp.HiGHS(msg=False)) == pulp.LpStatusOptimal
    assert ours.objective.value() == pytest.approx(theirs.objective.value())
    assert [v.value() for v in ours.variables()] == pytest.approx([v.value() for v in theirs.variables()])
    if make is not pulp_chosen:  # continuous
        sign = -1 if ours.sense == pulp.LpMaximize else 1  # its HiGHS gives the prices of the negated costs
        pairs = list(zip(ours.constraints(), theirs.constraints(), strict=True))
        assert [a.pi for a, _ in pairs] == pytest.approx([sign * b.pi for _, b in pairs])
        assert [v.dj for v in ours.variables()] == pytest.approx([sign * v.dj for v in theirs.variables()])


def test_pulp_is_reported_of_an_infeasible_and_an_unbounded_model():
    for rows, status in (((3,), pulp.LpStatusInfeasible), ((), pulp.LpStatusUnbounded)):
        model = pulp.LpProblem("m", pulp.LpMaximize)
        x = model.add_variable("x", 0, 2 if rows else None)
        model += x
        for least in rows:
            model += x >= least
        assert model.solve(engine.PulpSolver()) == status


def pyomo_blend():
    model = pyo.ConcreteModel()
    model.x, model.y, model.z = pyo.Var(bounds=(0, 3)), pyo.Var(bounds=(0, None)), pyo.Var(bounds=(None, 5))
    model.value = pyo.Objective(expr=model.x + 2 * model.y + 0.5 * model.z + 7, sense=pyo.maximize)
    model.total = pyo.Constraint(expr=model.x + model.y + model.z <= 6)
    model.both = pyo.Constraint(expr=(1, model.x + 3 * model.y, 4))
    model.balance = pyo.Constraint(expr=model.y - model.z == 0.5)
    return model


def pyomo_opened():
    model = pyo.ConcreteModel()
    model.opened, model.share = pyo.Var(range(3), within=pyo.Binary), pyo.Var(range(3), bounds=(0, 1))
    model.cost = pyo.Objective(expr=sum((5 + i) * model.opened[i] + (4 - 3 * i) * model.share[i] for i in range(3)))
    model.all = pyo.Constraint(expr=sum(model.share[i] for i in range(3)) == 1.5)
    model.only = pyo.Constraint(range(3), rule=lambda m, i: m.share[i] <= m.opened[i])
    return model


@pytest.mark.parametrize("make", [pyomo_blend, pyomo_opened])
def test_pyomo_gets_what_its_own_solver_gives(make):
    assert engine.PyomoSolver().available()
    answers = []
    for name in ("quintet", "highs"):
        model = make()
        model.dual, model.rc = (pyo.Suffix(direction=pyo.Suffix.IMPORT) for _ in range(2))
        if make is pyomo_opened:
            model.del_component(model.dual)
            model.del_component(model.rc)
        result = pyo.SolverFactory(name).solve(model)
        assert result.solver.termination_condition == pyo.TerminationCondition.optimal
        values = [pyo.value(model.component_data_objects(pyo.Objective).__next__())]
        values += [variable.value for variable in model.component_data_objects(pyo.Var)]
        if make is not pyomo_opened:
            values += [model.dual[row] for row in model.component_data_objects(pyo.Constraint)]
            values += [model.rc[variable] for variable in model.component_data_objects(pyo.Var)]
        answers.append(values)
    assert answers[0] == pytest.approx(answers[1], abs=1e-9)


def test_pyomo_is_reported_why_there_is_nothing_to_load():
    from pyomo.contrib.solver.common.util import NoOptimalSolutionError

    model = pyomo_blend()
    model.more = pyo.Constraint(expr=model.x >= 4)
    with pytest.raises(NoOptimalSolutionError):
        engine.PyomoSolver().solve(model)
    result = engine.PyomoSolver().solve(model, raise_exception_on_nonoptimal_result=False, load_solutions=False)
    assert (result.termination_condition.name, result.solution_status.name) == ("provenInfeasible", "noSolution")


def linopy_dispatch(sense):
    model = linopy.Model()
    power = model.add_variables(lower=0, upper=np.array([[3.0, 2.0, 9.0]] * 2), name="power")
    stored = model.add_variables(lower=-5, name="stored", mask=None)
    model.add_constraints(power.sum("dim_1") + stored <= np.array([6.0, 7.0]), name="demand")
    model.add_constraints(power.sum() + 2 * stored >= 1, name="least")
    model.add_objective((1 if sense == "max" else -1) * (power * np.array([[1.0, 2.0, 0.5]] * 2)).sum(), sense=sense)
    return model


def linopy_integer(sense):
    model = linopy_dispatch(sense)
    on = model.add_variables(binary=True, name="on")
    model.add_constraints(model["power"].sum() <= 7 * on, name="switch")
    return model


@pytest.mark.parametrize(
    ("make", "sense"), [(linopy_dispatch, "min"), (linopy_dispatch, "max"), (linopy_integer, "max")]
)
def test_linopy_gets_what_its_own_solver_gives(make, sense):
    ours, theirs = make(sense), make(sense)
    assert engine.solve_linopy(ours) == theirs.solve("highs", output_flag=False) == ("ok", "optimal")
    assert float(ours.objective.value) == pytest.approx(float(theirs.objective.value))
    for name in ours.variables:
        assert ours[name].solution.to_numpy() == pytest.approx(theirs[name].solution.to_numpy(), abs=1e-7)
    if make is linopy_dispatch:
        for name in ours.constraints:
            assert ours.dual[name].to_numpy() == pytest.approx(theirs.dual[name].to_numpy(), abs=1e-7)


def test_linopy_says_what_it_cannot_have():
    model = linopy.Model()
    x = model.add_variables(lower=0, upper=1, name="x")
    model.add_constraints(x >= 2, name="c")
    model.add_objective(1 * x)
    assert engine.solve_linopy(model) == ("warning", "infeasible")
    model.add_objective(x * x, overwrite=True)
    with pytest.raises(engine.ProblemError, match="quadratic"):
        engine.solve_linopy(model)


def test_another_pulp_is_refused_with_the_version_that_is_needed(monkeypatch):
    monkeypatch.delattr(pulp.constants, "LpStatusOptimal")
    with pytest.raises(ImportError, match="needs PuLP 3"):
        engine.PulpSolver()
