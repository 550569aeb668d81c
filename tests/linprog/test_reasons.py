"""Why a program has no optimum is said in a sentence: in Python, in events, on the command line, in run folders."""

import json

import numpy as np
import pytest

import engine
from engine.cli import command_line
from engine.solvers.linprog.verification.rays import proves_infeasible, reason_of_infeasibility, reason_of_unboundedness

pytestmark = pytest.mark.host

CONTRADICTION = "Minimize\n obj: x + y\nSubject To\n c1: x + y >= 10\n c2: x <= 3\n c3: y <= 4\n c4: x - y <= 9\nEnd\n"
ENDLESS = "Maximize\n obj: x + y\nSubject To\n c1: x - y <= 10\nEnd\n"


def test_the_result_and_the_last_event_name_the_rows_that_contradict_each_other(device, tmp_path):
    path, folder = tmp_path / "contradiction.lp", tmp_path / "run"
    path.write_text(CONTRADICTION)
    events = []
    given = {"devices": [device.info.id], "run_folder": folder, "on_event": events.append}
    result = engine.solve(engine.LinearProgram.read(path), **given)
    assert result.status == "infeasible"
    assert result.reason == "these rows cannot hold together: c1, c2, c3"
    assert events[-1].reason == engine.load(folder).reason == result.reason


def test_the_command_line_says_why(tmp_path, device, capsys):
    for text, reason in (
        (CONTRADICTION, "these rows cannot hold together: c1, c2, c3"),
        (ENDLESS, "the objective has no bound: x and y can grow together without limit"),
    ):
        (tmp_path / "program.lp").write_text(text)
        words = ["solve", str(tmp_path / "program.lp"), "--devices", device.info.id]
        command_line(words)
        assert reason in " ".join(capsys.readouterr().out.split())
        command_line([*words, "--json"])
        assert json.loads(capsys.readouterr().out)["reason"] == reason


def test_a_single_row_contradicts_the_bounds_of_its_variables():
    problem = engine.LinearProgram(
        [1.0, 1.0, 1.0], A_ub=[[-1.0, -1.0, 0.0]], b_ub=[-10.0], bounds=[(0, 3), (0, 4), (0, 1)]
    )
    ray = np.array([-1.0])
    assert proves_infeasible(problem, ray) > 1e8
    assert reason_of_infeasibility(problem, ray) == "row r0 cannot hold with the bounds of x0, x1"


def test_rows_that_the_proof_does_not_need_are_left_out():
    problem = engine.LinearProgram([1.0], A_ub=[[1.0], [-1.0], [1.0]], b_ub=[0.0, -1.0, 50.0], bounds=[(None, None)])
    ray = np.array([-1.0, -1.0 - 1e-11, -1e-11])
    assert reason_of_infeasibility(problem, ray) == "these rows cannot hold together: r0, r1"


def test_of_many_rows_those_with_the_largest_multipliers_are_named():
    count = 20
    problem = engine.LinearProgram(
        np.ones(count), A_ub=np.vstack([np.eye(count), -np.ones(count)]), b_ub=[1.0] * count + [-99.0]
    )
    ray = -np.append(np.ones(count), 1.0)
    named = ", ".join(f"r{i}" for i in range(8))
    assert reason_of_infeasibility(problem, ray) == f"these rows cannot hold together: {named} and 13 more rows"


def test_variables_of_a_ray_grow_or_fall():
    free = engine.LinearProgram([-1.0, 1.0, 0.0], bounds=[(0, None), (None, None), (0, 1)])
    assert (
        reason_of_unboundedness(free, np.array([1.0, -1.0, 1e-12]))
        == "the objective has no bound: x0 can grow and x1 can fall together without limit"
    )
    assert (
        reason_of_unboundedness(free, np.array([1.0, 0.0, 0.0]))
        == "the objective has no bound: x0 can grow without limit"
    )
