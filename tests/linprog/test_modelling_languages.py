"""Models of PuLP, Pyomo and linopy: values, prices and statuses are those of each package's own HiGHS."""

import numpy as np
import pytest

import engine
from tests.support.needs import Later

pulp = Later("pulp")
pyo = Later("pyomo.environ")
linopy = Later("linopy")
xarray = Later("xarray")


def test_pulp_is_reported_of_an_infeasible_and_an_unbounded_model():
    for rows, status in (((3,), pulp.LpStatusInfeasible), ((), pulp.LpStatusUnbounded)):
        model = pulp.LpProblem("m", pulp.LpMaximize)
        x = model.add_variable("x", 0, 2 if rows else None)
        model += x
        for least in rows:
            model += x >= least
        assert model.solve(engine.PulpSolver()) == status


def test_pyomo_is_reported_why_there_is_nothing_to_load():
    from pyomo.contrib.solver.common.util import NoOptimalSolutionError

    model, _ = pyomo_blend()
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


# Dantzig's cases: two plants, three markets, thousands of miles at 90 a case
PLANTS, MARKETS = {"Seattle": 350.0, "San Diego": 600.0}, {"New York": 325.0, "Chicago": 300.0, "Topeka": 275.0}
MILES = [[2.5, 1.7, 1.8], [2.5, 1.8, 1.4]]


def whiskas():
    """PuLP's blending problem: of six ingredients a can of 100 g, with the least of costs."""
    costs = {"chicken": 0.013, "beef": 0.008, "mutton": 0.010, "rice": 0.002, "wheat": 0.005, "gel": 0.001}
    needs = {"protein": (0.1, 0.2, 0.15, 0.0, 0.04, 0.0), "fat": (0.08, 0.1, 0.11, 0.01, 0.01, 0.0)}
    most = {"fibre": (0.001, 0.005, 0.003, 0.1, 0.15, 0.0), "salt": (0.002, 0.005, 0.007, 0.002, 0.008, 0.0)}
    model = pulp.LpProblem("whiskas", pulp.LpMinimize)
    grams = [model.add_variable(name, 0) for name in costs]
    model += pulp.lpSum(cost * own for cost, own in zip(costs.values(), grams, strict=True))
    model += pulp.lpSum(grams) == 100
    for limits, sides, sign in ((needs, (8.0, 6.0), 1), (most, (2.0, 0.4), -1)):
        for parts, side in zip(limits.values(), sides, strict=True):
            model += sign * pulp.lpSum(part * own for part, own in zip(parts, grams, strict=True)) >= sign * side
    return model, 0.52, {"beef": 60.0, "gel": 40.0, "rice": 0.0}


def beer():
    """PuLP's distribution of beer from two warehouses to five bars, in whole crates."""
    costs = [[2, 4, 5, 2, 1], [3, 1, 3, 2, 3]]
    model = pulp.LpProblem("beer", pulp.LpMinimize)
    sent = [[model.add_variable(f"sent{i}{j}", 0, None, pulp.LpInteger) for j in range(5)] for i in range(2)]
    model += pulp.lpSum(costs[i][j] * sent[i][j] for i in range(2) for j in range(5))
    for i, supply in enumerate((1000, 4000)):
        model += pulp.lpSum(sent[i]) <= supply
    for j, demand in enumerate((500, 900, 1800, 200, 700)):
        model += pulp.lpSum(sent[i][j] for i in range(2)) >= demand
    return model, 8600.0, {"sent04": 700.0, "sent11": 900.0, "sent12": 1800.0}


def two_meats():
    """PuLP's first form of the blending problem, with chicken and beef alone."""
    model = pulp.LpProblem("meats", pulp.LpMinimize)
    chicken, beef = (model.add_variable(name, 0) for name in ("chicken", "beef"))
    model += 0.013 * chicken + 0.008 * beef
    model += chicken + beef == 100
    for row, side in (((0.1, 0.2), 8.0), ((0.08, 0.1), 6.0), ((-0.001, -0.005), -2.0), ((-0.002, -0.005), -0.4)):
        model += row[0] * chicken + row[1] * beef >= side
    return model, 0.9666667, {"chicken": 33.3333333, "beef": 66.6666667}


def pulp_blend():
    """A maximum with a free variable and rows of all kinds."""
    model = pulp.LpProblem("blend", pulp.LpMaximize)
    x, y, z = (model.add_variable(*bounds) for bounds in (("x", 0, 3), ("y", 0), ("z", None, 5)))
    model += x + 2 * y + 0.5 * z + 7
    model += x + y + z <= 6, "total"
    model += x + 3 * y >= 1, "least"
    model += y - z == 0.5, "balance"
    return model, 14.875, {"x": 0.0}


@pytest.mark.parametrize("make", [whiskas, beer, two_meats, pulp_blend])
def test_models_of_pulp_get_what_its_own_solver_gives(make):
    (ours, objective, values), (theirs, *_) = make(), make()
    assert ours.solve(engine.PulpSolver()) == theirs.solve(pulp.HiGHS(msg=False)) == pulp.LpStatusOptimal
    assert ours.objective.value() == pytest.approx(objective, rel=1e-6)
    found = {variable.name: variable.value() for variable in ours.variables()}
    assert {name: found[name] for name in values} == pytest.approx(values, abs=1e-5)
    if make is pulp_blend:
        assert list(found.values()) == pytest.approx([variable.value() for variable in theirs.variables()])
        pairs = list(zip(ours.constraints(), theirs.constraints(), strict=True))
        assert [a.pi for a, _ in pairs] == pytest.approx([-b.pi for _, b in pairs])  # its HiGHS has negated costs
        assert [v.dj for v in ours.variables()] == pytest.approx([-v.dj for v in theirs.variables()])


def concrete():
    """The first model of Pyomo's documentation."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var([1, 2], domain=pyo.NonNegativeReals)
    model.total = pyo.Objective(expr=2 * model.x[1] + 3 * model.x[2])
    model.least = pyo.Constraint(expr=3 * model.x[1] + 4 * model.x[2] >= 1)
    return model, 2.0 / 3.0


def tools():
    """Pyomo's knapsack: hammer, wrench, screwdriver and towel in a bag for 14."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(4), domain=pyo.Binary)
    model.total = pyo.Objective(expr=sum(v * model.x[i] for i, v in enumerate((8, 3, 6, 11))), sense=pyo.maximize)
    model.most = pyo.Constraint(expr=sum(w * model.x[i] for i, w in enumerate((5, 7, 4, 3))) <= 14)
    return model, 25.0


def cases():
    """Dantzig's transport, as in Pyomo's gallery."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), range(3), domain=pyo.NonNegativeReals)
    model.total = pyo.Objective(expr=sum(0.09 * MILES[i][j] * model.x[i, j] for i in range(2) for j in range(3)))
    model.supply = pyo.Constraint(
        range(2), rule=lambda m, i: sum(m.x[i, j] for j in range(3)) <= list(PLANTS.values())[i]
    )
    model.demand = pyo.Constraint(
        range(3), rule=lambda m, j: sum(m.x[i, j] for i in range(2)) >= list(MARKETS.values())[j]
    )
    return model, 153.675


def pyomo_blend():
    """A maximum with a free variable and rows of all kinds."""
    model = pyo.ConcreteModel()
    model.x, model.y, model.z = pyo.Var(bounds=(0, 3)), pyo.Var(bounds=(0, None)), pyo.Var(bounds=(None, 5))
    model.total = pyo.Objective(expr=model.x + 2 * model.y + 0.5 * model.z + 7, sense=pyo.maximize)
    model.most = pyo.Constraint(expr=model.x + model.y + model.z <= 6)
    model.both = pyo.Constraint(expr=(1, model.x + 3 * model.y, 4))
    model.balance = pyo.Constraint(expr=model.y - model.z == 0.5)
    return model, 10.5833333


@pytest.mark.parametrize("make", [concrete, tools, cases, pyomo_blend])
def test_models_of_pyomo_get_what_its_own_solver_gives(make):
    assert engine.PyomoSolver().available()  # which registers it
    answers = []
    for name in ("quintet", "highs"):
        model, objective = make()
        if make is pyomo_blend:
            model.dual, model.rc = (pyo.Suffix(direction=pyo.Suffix.IMPORT) for _ in range(2))
        result = pyo.SolverFactory(name).solve(model)
        assert result.solver.termination_condition == pyo.TerminationCondition.optimal
        assert pyo.value(model.total) == pytest.approx(objective, rel=1e-6)
        if make is pyomo_blend:
            variables = list(model.component_data_objects(pyo.Var))
            answers.append([variable.value for variable in variables])
            answers[-1] += [model.dual[row] for row in model.component_data_objects(pyo.Constraint)]
            answers[-1] += [model.rc[variable] for variable in variables]
    assert answers[:1] == [pytest.approx(other, abs=1e-9) for other in answers[1:]]


@pytest.mark.parametrize(("times", "objective"), [(None, 2.8620690), (10, 128.7931034)])
def test_the_first_models_of_linopy(times, objective):
    """Two variables, and the same for ten times whose demands grow."""
    model = linopy.Model()
    coordinates = {} if times is None else {"coords": [np.arange(times)], "dims": ["time"]}
    factor = 1.0 if times is None else xarray.DataArray(np.arange(times, dtype=float), dims=["time"])
    x, y = (model.add_variables(lower=0, name=name, **coordinates) for name in ("x", "y"))
    model.add_constraints(3 * x + 7 * y >= 10 * factor, name="first")
    model.add_constraints(5 * x + 2 * y >= 3 * factor, name="second")
    model.add_objective((x + 2 * y) if times is None else (x + 2 * y).sum())
    assert engine.solve_linopy(model) == ("ok", "optimal")
    assert float(model.objective.value) == pytest.approx(objective, rel=1e-7)
    assert float(x.solution.max()) == pytest.approx(0.0344828 * (1 if times is None else 9), abs=1e-6)


def test_the_transport_of_linopy():
    model = linopy.Model()
    sides = [xarray.DataArray(list(part.values()), coords={name: list(part)}) for name, part in
             (("plant", PLANTS), ("market", MARKETS))]  # fmt: skip
    sent = model.add_variables(lower=0, coords=[list(PLANTS), list(MARKETS)], dims=["plant", "market"], name="sent")
    model.add_constraints(sent.sum("market") <= sides[0], name="supply")
    model.add_constraints(sent.sum("plant") >= sides[1], name="demand")
    miles = xarray.DataArray(MILES, coords={"plant": list(PLANTS), "market": list(MARKETS)}, dims=["plant", "market"])
    model.add_objective((0.09 * miles * sent).sum())
    assert engine.solve_linopy(model) == ("ok", "optimal")
    assert float(model.objective.value) == pytest.approx(153.675)
