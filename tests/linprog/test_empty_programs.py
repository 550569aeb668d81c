"""Programs without variables or without rows are answered as HiGHS answers them, by every door."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import engine
from engine.cli import command_line
from tests.support.needs import package

pytestmark = pytest.mark.host

HEAD = "NAME none\nROWS\n N cost\n"


@pytest.mark.few(3)
@pytest.mark.parametrize("options", [{}, {"method": "mpc"}, {"method": "race"}, {"method": "pdhg"}, {"basis": True}])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_programs_without_variables_are_feasible_or_not(device, options, kind):
    for sides, status in (([], "optimal"), ([1.0, 0.0], "optimal"), ([1.0, -1.0], "infeasible")):
        problem = engine.LinearProgram([], A_ub=kind(np.zeros((len(sides), 0))), b_ub=sides)
        result = engine.solve(problem, devices=[device.info.id], **options)
        assert result.status == status
        if status == "optimal":
            assert (result.objective, result.bound, result.solution.size) == (0.0, 0.0, 0)
        else:
            assert result.arrays["farkas"][1] < 0.0
    assert engine.solve(engine.LinearProgram([])).status == "optimal"
    assert engine.linprog([]).fun == 0.0


@pytest.mark.parametrize("options", [{}, {"method": "mpc"}, {"method": "race"}, {"method": "pdhg"}])
def test_programs_without_rows_end_at_their_bounds(device, options):
    given = {"c": [1.0, -2.0, 0.0], "bounds": [(-1.0, None), (None, 3.0), (None, None)]}
    result = engine.solve(engine.LinearProgram(**given), devices=[device.info.id], **options)
    assert (result.status, result.objective) == ("optimal", -7.0)
    result = engine.solve(engine.LinearProgram([-1.0]), devices=[device.info.id], **options)
    assert result.status == "unbounded"


@pytest.mark.full
def test_files_folders_and_models_without_variables(tmp_path, device, capsys):
    (tmp_path / "empty.mps").write_text(f"{HEAD}COLUMNS\nRHS\n    RHS cost -2.5\nENDATA\n")
    (tmp_path / "norows.mps").write_text(f"{HEAD}COLUMNS\n    x cost 2.0\nRHS\nBOUNDS\n LO BND x 1.5\nENDATA\n")
    for name, objective in (("empty.mps", 2.5), ("norows.mps", 3.0)):
        assert command_line(["solve", str(tmp_path / name), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["objective"] == objective
    problem = engine.LinearProgram.read(tmp_path / "empty.mps")
    engine.solve(problem, devices=[device.info.id], run_folder=tmp_path / "run")
    assert engine.resume(tmp_path / "run").objective == 2.5
    highspy = package("highspy")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert engine.solve(engine.LinearProgram.from_highspy(highs)).objective == 0.0
