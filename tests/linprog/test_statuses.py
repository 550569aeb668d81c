"""Statuses of programs whose numbers differ by up to sixteen powers of ten, by every method; the truth is known."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import engine
from engine.cli import command_line
from engine.solvers.linprog.verification.audit import infeasibility_of_sides
from engine.solvers.linprog.verification.rays import reason_of_infeasibility
from engine.solvers.linprog.verification.verdict import Verdict

METHODS = {
    "auto": (False, {}),
    "mpc": (True, {"method": "mpc"}),
    "dense mpc without presolve": (False, {"method": "mpc", "presolve": False}),
    "mpc without presolve": (True, {"method": "mpc", "presolve": False}),
    "race": (True, {"method": "race"}),
    "race without presolve": (True, {"method": "race", "presolve": False}),
    "pdhg": (True, {"method": "pdhg", "pdhg_iterations": 20_000, "presolve": False}),
    "pdas": (True, {"method": "pdas", "time_limit": 20.0}),
}
STATUS = {0: "optimal", 1: "iteration_limit", 2: "infeasible", 3: "unbounded"}
FREE = (None, None)


def answer(owner, method, given):
    """Status and optimum by a method, or by ``linprog``."""
    if method == "linprog":
        found = engine.linprog(**given, devices=[owner.device_infos[0].id])
        return STATUS[found.status], found.fun
    sparse, options = METHODS[method]
    if sparse:
        given = given | {key: sp.csr_array(np.array(given[key])) for key in ("A_ub", "A_eq") if key in given}
    result = owner.solve(engine.LinearProgram(**given), **options)
    return str(result.status.value), result.objective


def require_optimum(owner, method, given, optimum):
    """The optimum is found; PDHG alone may need more iterations than it has."""
    status, objective = answer(owner, method, given)
    if (method, status) == ("pdhg", "iteration_limit"):
        return
    assert status == "optimal", given
    assert objective == pytest.approx(optimum, rel=2e-6), given


def small_entries(size):
    """Programs whose only bound, or only feasible point, hangs on one small entry; and their optima."""
    for largest in (10.0, 100.0):
        row = [largest, size]
        yield {"c": [-1.0, -1.0], "A_ub": [row], "b_ub": [1.0]}, -1.0 / size
        low = {"A_ub": [[-largest, -size]], "b_ub": [-1.0], "bounds": [(0.0, 0.0), (0.0, None)]}
        yield {"c": [0.0, 1.0], **low}, 1.0 / size
        rows = [[-largest, -size, 0.0], [1.0, 0.0, -1.0], [1.0, 0.0, 1.0]]
        yield {"c": [1.0, 1.0, 0.0], "A_ub": rows, "b_ub": [-1.0, 0.0, 0.0]}, 1.0 / size


def large_entries(size):
    """The same with one large entry."""
    yield {"c": [-1.0, -1.0], "A_ub": [[size, 1.0]], "b_ub": [1.0]}, -1.0
    yield {"c": [0.0, -1.0], "A_ub": [[-size, 1.0]], "b_ub": [0.0], "bounds": [(0.0, 1.0), (0.0, None)]}, -size
    rows = [[-size, 1.0, 0.0], [0.0, 1.0, -1.0], [0.0, 0.0, 1.0]]
    bounds = [(0.0, 1.0), (0.0, None), (0.0, None)]
    yield {"c": [0.0, -1.0, 0.0], "A_ub": rows, "b_ub": [0.0, 0.0, 5.0], "bounds": bounds}, -5.0


def cancelled(size):
    """Two large terms that other rows make equal, and a small third one, which is all that counts."""
    equal = {"A_eq": [[1.0, -1.0, 0.0]], "b_eq": [0.0]}
    for bounds in (FREE, (0.0, None)):
        yield {"c": [0.0, 0.0, -1.0], "A_ub": [[size, -size, 1.0]], "b_ub": [1.0], "bounds": bounds, **equal}, -1.0
    rows = [[-size, -1.0, 1.0], [size, 1.0, -1.0], [-1.0, 0.0, 0.0]]
    yield {"c": [1.0, 0.0, 0.0], "A_ub": rows, "b_ub": [0.0, 0.0, -1.0], "bounds": FREE}, 1.0


@pytest.mark.few(2)
@pytest.mark.parametrize("method", [*METHODS, "linprog"])
@pytest.mark.parametrize("size", [5e-9, 2e-9, 1.2e-9])
def test_a_small_entry_of_a_row_counts(owner, method, size):
    for given, optimum in small_entries(size):
        require_optimum(owner, method, given, optimum)


@pytest.mark.few(6)
@pytest.mark.parametrize("method", [*METHODS, "linprog"])
@pytest.mark.parametrize("size", [1e9, 2e10, 1e12, 1e16])
def test_a_small_entry_beside_a_large_one_counts(owner, method, size):
    for given, optimum in large_entries(size):
        require_optimum(owner, method, given, optimum)


@pytest.mark.few(2)
@pytest.mark.parametrize("method", [*METHODS, "linprog"])
@pytest.mark.parametrize("size", [1e9, 1e10, 1e12, 1e14])
def test_a_small_term_beside_cancelled_ones_counts(owner, method, size):
    for given, optimum in cancelled(size):
        require_optimum(owner, method, given, optimum)


@pytest.mark.few(2)
@pytest.mark.parametrize("method", [*METHODS, "linprog"])
@pytest.mark.parametrize("size", [1e9, 1e12, 1e14])
def test_programs_without_an_optimum_are_known_beside_large_entries(owner, method, size):
    unbounded = {"c": [0.0, -1.0], "A_ub": [[size, -1.0]], "b_ub": [1.0]}
    assert answer(owner, method, unbounded)[0] == "unbounded"
    infeasible = {"c": [1.0, 1.0], "A_ub": [[size, 1.0]], "b_ub": [-1.0]}
    assert answer(owner, method, infeasible)[0] == "infeasible"
    rows = [[size, 1.0, 0.0], [-size, 0.0, 1.0], [0.0, -1.0, -1.0]]
    infeasible = {"c": [1.0, 1.0, 1.0], "A_ub": rows, "b_ub": [1.0, 1.0, -3.0]}
    assert answer(owner, method, infeasible)[0] == "infeasible"


@pytest.mark.few(2)
@pytest.mark.parametrize("method", [*METHODS, "linprog"])
@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1.0, 1e4, 1e8])
def test_empty_rows_and_columns_are_judged_at_every_scale(owner, method, scale):
    empty = {"c": [0.0], "A_ub": [[0.0]], "b_ub": [-1.5 * scale], "bounds": [(-3.0 * scale, None)]}
    assert answer(owner, method, empty)[0] == "infeasible"
    beside = {"c": [1.0, -scale], "A_ub": [[-1.0, 0.0]], "b_ub": [-scale]}  # the second variable is in no row
    assert answer(owner, method, beside)[0] == "unbounded"
    require_optimum(owner, method, beside | {"bounds": [(0.0, None), (0.0, 2.0)]}, -scale)
    rows = {"A_ub": [[-1.0, 0.0], [0.0, 0.0]], "b_ub": [-scale, 0.0]}
    require_optimum(owner, method, {"c": [1.0, 1.0], **rows}, scale)
    assert answer(owner, method, {"c": [1.0, 1.0], **rows, "b_ub": [-scale, -0.1 * scale]})[0] == "infeasible"


@pytest.mark.few(3)
@pytest.mark.parametrize("method", [*METHODS, "linprog"])
def test_a_small_cost_without_a_bound_is_unbounded(owner, method):
    cost, bounds = -5e-7, [(0.0, None), (1.0, None)]
    for rows in ([[-1.0, 1.0]], [[-1.0, 1.0], [-2.0, -1.0]]):
        given = {"c": [cost, 1.0], "A_ub": rows, "b_ub": [1.0, 5.0][: len(rows)], "bounds": bounds}
        assert answer(owner, method, given)[0] == "unbounded"
    assert answer(owner, method, {"c": [cost, 1.0], "bounds": bounds})[0] == "unbounded"


def test_a_point_whose_terms_hide_its_sides_is_not_feasible():  # no point is: the rows contradict each other
    problem = engine.LinearProgram([0.0, -1.0], A_ub=[[1e12, -1e12], [-1e12, 1e12]], b_ub=[1.0, -2.0], bounds=FREE)
    x = np.array([1e6, 1e6])
    verdict = Verdict(problem, 1e-6)
    verdict.consider(x, np.zeros(2))
    assert verdict.best is not None
    assert verdict.best.audit.primal_infeasibility > 1e-6
    assert infeasibility_of_sides(problem, x) >= 0.5
    assert verdict.proof_by_ray(np.array([1.0, 1.0])) is None


CONTRADICTION = "Minimize\n obj: x + y\nSubject To\n c1: x + y >= 10\n c2: x <= 3\n c3: y <= 4\n c4: x - y <= 9\nEnd\n"
ENDLESS = "Maximize\n obj: x + y\nSubject To\n c1: x - y <= 10\nEnd\n"


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


def test_a_reason_names_bounds_and_leaves_out_rows_that_the_proof_does_not_need():
    rows, bounds = {"A_ub": [[-1.0, -1.0, 0.0]], "b_ub": [-10.0]}, [(0, 3), (0, 4), (0, 1)]
    problem = engine.LinearProgram([1.0, 1.0, 1.0], **rows, bounds=bounds)
    assert reason_of_infeasibility(problem, np.array([-1.0])) == "row r0 cannot hold with the bounds of x0, x1"
    problem = engine.LinearProgram([1.0], A_ub=[[1.0], [-1.0], [1.0]], b_ub=[0.0, -1.0, 50.0], bounds=FREE)
    ray = np.array([-1.0, -1.0 - 1e-11, -1e-11])
    assert reason_of_infeasibility(problem, ray) == "these rows cannot hold together: r0, r1"
