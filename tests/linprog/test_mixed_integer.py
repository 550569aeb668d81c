"""Integer and semi-continuous variables: HiGHS's branch and bound, audited, through every door."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.optimize

import engine
from engine.errors import OptionError, ProblemError, RelaxationWarning
from engine.events import Incumbent
from engine.solvers.linprog.highs import child
from tests.support.needs import package

pytestmark = pytest.mark.host

LP = "Minimize\n cost: - x - y\nSubject To\n row: 2 x + 4 y <= 7\nBounds\n x <= 9\n y <= 0.5\nGeneral\n x\nEnd\n"


def random_program(seed):
    random = np.random.default_rng(seed)
    m, n = random.integers(1, 5), random.integers(2, 6)
    return {
        "c": random.integers(-9, 6, n).astype(float),
        "A_ub": random.integers(-4, 9, (m, n)).astype(float),
        "b_ub": random.integers(-3, 25, m).astype(float),
        "bounds": [(0, int(high)) for high in random.integers(1, 5, n)],
    }


def by_enumeration(given):
    points = np.array(list(itertools.product(*(range(high + 1) for _, high in given["bounds"]))))
    feasible = points[(points @ given["A_ub"].T <= given["b_ub"]).all(axis=1)]
    return float((feasible @ given["c"]).min()) if len(feasible) else None


def test_optima_are_those_of_enumeration_and_integers_are_exact():
    found = 0
    for seed in range(25):
        given = random_program(seed)
        optimum = by_enumeration(given)
        result = engine.solve(engine.LinearProgram(**given, integrality=1))
        assert result.texts["method"] == "HiGHS branch and bound"
        assert result.status == ("infeasible" if optimum is None else "optimal")
        if optimum is not None:
            found += 1
            assert result.objective == pytest.approx(optimum, abs=1e-9)
            assert result.bound == pytest.approx(optimum, abs=1e-6)
            assert (result.solution == np.round(result.solution)).all()
            assert (given["A_ub"] @ result.solution <= given["b_ub"] + 1e-9).all()
    assert 10 < found < 25


def test_mixed_and_semi_continuous_programs_agree_with_scipy():
    for seed in range(25):
        given = random_program(seed)
        given["integrality"] = np.random.default_rng(seed).integers(0, 4, given["c"].size)
        semi = given["integrality"] >= 2
        given["bounds"] = [(1.5 * own, high + 2) for (_, high), own in zip(given["bounds"], semi, strict=True)]
        expected, found = scipy.optimize.linprog(**given), engine.linprog(**given)
        assert found.status == expected.status, given
        if expected.status == 0:
            assert found.fun == pytest.approx(expected.fun, rel=1e-6, abs=1e-9)
            assert (found.ineqlin.marginals is None) == given["integrality"].any()
            assert found.mip_gap <= 1e-6


def test_programs_without_an_optimum_are_known():
    def status(*arguments, **keywords):
        return engine.solve(engine.LinearProgram(*arguments, integrality=[1, 0], **keywords))

    half = status([1.0, 1.0], A_eq=[[2.0, 0.0]], b_eq=[1.0])  # x = 1/2
    assert half.status == "infeasible"
    assert "no certificate" in half.reason
    empty = status([1.0, 1.0], A_ub=[[1.0, 1.0]], b_ub=[-1.0])
    assert empty.status == "infeasible"
    assert "farkas" in empty.arrays
    down = status([-1.0, 0.0], A_ub=[[1.0, -1.0]], b_ub=[0.5])
    assert down.status == "unbounded"
    assert "ray" in down.arrays
    both = status([-1.0, -1.0], A_eq=[[2.0, 0.0]], b_eq=[1.0])  # unbounded without integers, infeasible with them
    assert both.status == "infeasible"


def hard_program():
    """One that takes HiGHS minutes."""
    random = np.random.default_rng(1)
    rows = random.integers(1, 100, (30, 200)).astype(float)
    costs = -(rows.sum(axis=0) + random.integers(0, 50, 200))
    return engine.LinearProgram(costs, A_ub=rows, b_ub=rows.sum(axis=1) / 2, bounds=(0, 1), integrality=1)


def test_a_limit_and_a_stop_end_with_the_best_solution_and_the_bound(device):
    problem, events = hard_program(), []
    result = engine.solve(problem, devices=[device.info.id], time_limit=0.5, on_event=events.append)
    assert result.status == "time_limit"
    assert (problem.A @ result.solution <= problem.row_upper).all()
    assert result.objective == pytest.approx(problem.objective(result.solution))
    assert result.bound is None or result.bound <= result.objective
    assert any(isinstance(event, Incumbent) and event.objective is not None for event in events)
    with engine.Engine(devices=[device.info.id]) as owner:
        run = owner.start(problem, on_event=lambda event: isinstance(event, Incumbent) and run.stop())
        assert run.wait(60).status == "interrupted"


def test_a_start_is_used_and_a_gap_is_enough():
    given = random_program(3)
    problem = engine.LinearProgram(**given, integrality=1)
    best = engine.solve(problem)
    again = engine.solve(problem, initial=best.solution.tolist())
    assert again.objective == best.objective
    rough = engine.solve(hard_program(), mip_gap=0.05, time_limit=60)
    assert rough.status == "optimal"
    assert abs(rough.objective - rough.bound) <= 0.05 * abs(rough.objective)


def test_what_is_not_feasible_on_the_host_is_not_taken(monkeypatch):
    run = child.MixedInteger.run
    monkeypatch.setattr(child.MixedInteger, "run", lambda self: run(self) | {"x": np.array([3.6, 1.0])})
    problem = engine.LinearProgram([-1.0, -1.0], A_ub=[[1.0, 1.0]], b_ub=[3.5], bounds=(0, 3), integrality=[1, 1])
    result = engine.solve(problem)
    assert result.status == "iteration_limit"
    assert result.solution is None


def test_options_for_continuous_variables_are_refused(device):
    problem = engine.LinearProgram([1.0, 1.0], integrality=[0, 1])
    for options in ({"method": "mpc"}, {"basis": True}, {"linear_solver": "cholesky"}):
        for settings in ({}, {"devices": [device.info.id]}):
            with pytest.raises(OptionError, match=f"{next(iter(options))} = .* is for continuous variables"):
                engine.solve(problem, **options, **settings)
    for wrong, message in (
        ([0, 4], "entry 1 of integrality must be 0, 1, 2 or 3; got 4"),
        ([0, 1, 1], "each of 2 variables"),
    ):
        with pytest.raises(ProblemError, match=message):
            engine.LinearProgram([1.0, 1.0], integrality=wrong)
    with pytest.raises(ProblemError, match="lower bounds of semi-continuous variables must be at least 0"):
        engine.solve(engine.LinearProgram([1.0], bounds=(-1.0, 5.0), integrality=2))


def test_a_file_means_the_same_by_every_door(tmp_path, device):
    path = tmp_path / "one.lp"
    path.write_text(LP)
    problem = engine.LinearProgram.read(path)
    assert problem.integrality.tolist() == [1, 0]
    assert "1 integer one" in problem.describe()
    assert engine.solve(problem).objective == pytest.approx(-3.25)
    with pytest.warns(RelaxationWarning, match="1 variable is declared integer and is relaxed"):
        assert engine.solve(engine.LinearProgram.read(path, relax=True)).objective == pytest.approx(-3.5)
    for options, objective in (([], -3.25), (["--relax"], -3.5)):
        command = [sys.executable, "-m", "engine", "solve", str(path), "--json", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        assert json.loads(done.stdout)["objective"] == pytest.approx(objective)


@pytest.mark.parametrize("kinds", [[1, 0, 2], [3, 1, 1], [0, 2, 1]])
def test_files_and_folders_keep_what_each_variable_is(tmp_path, device, kinds):
    bounds = [(1.5, 4.0) if kind >= 2 else (0.0, None) for kind in kinds]
    given = {"A_ub": [[1.0, 1.0, 2.0]], "b_ub": [7.5], "bounds": bounds, "integrality": kinds}
    problem = engine.LinearProgram([-1.0, -2.0, -3.0], **given)
    problem.write(tmp_path / "kinds.mps")
    again = engine.LinearProgram.read(tmp_path / "kinds.mps")
    assert again.integrality.tolist() == kinds
    assert (again.upper == problem.upper).all()
    folder = tmp_path / "run"
    result = engine.solve(problem, run_folder=folder, devices=[device.info.id])
    assert result.status == "optimal"
    assert engine.solve(again).objective == pytest.approx(result.objective)
    assert engine.load(folder) == result
    assert engine.resume(folder).objective == result.objective


def test_lists_of_programs_and_models_of_highs_keep_integers(device):
    integer = engine.LinearProgram([-1.0], A_ub=[[2.0]], b_ub=[5.0], integrality=1)
    continuous = engine.LinearProgram([-1.0], A_ub=[[2.0]], b_ub=[5.0])
    found = engine.solve_many([integer, *[continuous] * 9, integer], devices=[device.info.id])
    assert [round(result.objective, 6) for result in found] == [-2.0, *[-2.5] * 9, -2.0]
    with pytest.raises(ProblemError, match="arrays vary programs of continuous variables"):
        engine.solve_many(integer, c=[[1.0], [2.0]])
    highspy = package("highspy")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.addConstr(2.0 * highs.addIntegral(lb=0.0, obj=-1.0) <= 5.0)
    assert engine.solve(engine.LinearProgram.from_highspy(highs)).objective == -2.0
    assert engine.LinearProgram.from_highspy(highs, relax=True).relaxed == 1


def test_cvxpy_solves_integer_and_boolean_variables():
    cp = package("cvxpy")
    x, flag, y = cp.Variable(3, integer=True), cp.Variable(2, boolean=True), cp.Variable()
    rows = [x >= -1.5, cp.sum(x) + 2.5 * cp.sum(flag) + y <= 7.3, y <= 0.4, x <= 3.7]
    model = cp.Problem(cp.Maximize(cp.sum(x) + 4 * flag[0] + 2 * flag[1] + y), rows)
    found, mine = model.solve(solver=engine.QUINTET), x.value
    assert model.status == "optimal"
    assert (mine == np.round(mine)).all()
    assert found == pytest.approx(model.solve(solver="HIGHS"), rel=1e-9)
