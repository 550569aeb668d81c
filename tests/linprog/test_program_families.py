"""Many programs solved by one work-group each: families that share a matrix, and lists of programs of one shape."""

import numpy as np
import pytest
from scipy.optimize import linprog

import engine
from engine.errors import OptionError, ProblemError
from engine.solvers.linprog.batches import family as families
from engine.solvers.linprog.batches.family import Family
from engine.solvers.linprog.batches.solve import solve_family
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.verification.audit import audit
from tests.support.races import reference


def family(seed, k, m, n, own=False):
    """Programs with an optimum, with bounds and rows of every kind; with a matrix each, or one for all."""
    random = np.random.default_rng(seed)
    a = random.standard_normal((k if own else 1, m, n)) * np.exp2(random.integers(-2, 3, n))
    a[:, -1] = a[:, 0]  # two dependent rows
    x = random.random((k, n)) + 0.5
    lower, upper = np.zeros((k, n)), np.full((k, n), np.inf)
    lower[:, 0], lower[:, 1], upper[:, 1], upper[:, 2] = -np.inf, -np.inf, 3.0, 2.0
    lower[:, 3] = upper[:, 3] = x[:, 3]
    activity = np.einsum("kmn,kn->km", np.broadcast_to(a, (k, m, n)), x)
    low, high = activity - random.random((k, m)), activity + random.random((k, m))
    low[:, 0::4], high[:, 1::4] = -np.inf, np.inf
    low[:, 2] = high[:, 2] = activity[:, 2]
    y = np.where(np.isneginf(low), -1.0, np.where(np.isposinf(high), 1.0, random.choice([-1.0, 1.0], m)))
    y *= random.random((k, m))
    reduced = np.where(np.isneginf(lower), np.where(np.isposinf(upper), 0.0, -1.0), 1.0) * random.random((k, n))
    c = np.einsum("kmn,km->kn", np.broadcast_to(a, (k, m, n)), y) + reduced
    sign = np.where(np.arange(k) % 3 == 0, -1.0, 1.0)
    return Family(a, c, lower, upper, low, high, random.random(k), sign)


@pytest.mark.parametrize(("m", "n", "own"), [(5, 9, False), (5, 9, True), (40, 33, False), (150, 90, True)])
def test_families_have_the_optima_of_highs(owner, m, n, own):
    programs = family(m, 9, m, n, own)
    solved = solve_family(owner._open(), programs, Options(), "", lambda _: None)
    assert solved.good.all()
    places = np.arange(0, 9, 2)
    for place, result in zip(places.tolist(), solved.results(places), strict=True):
        problem = programs.program(place)
        assert result.objective == pytest.approx(reference(problem), rel=1e-7, abs=1e-7)
        sign = -1.0 if problem.maximize else 1.0
        assert audit(problem, result.solution, sign * result.arrays["row_duals"]).error <= 1e-8


def test_one_program_with_vectors_that_vary(device):
    random = np.random.default_rng(3)
    a = random.random((4, 6))
    base = engine.LinearProgram(-np.ones(6), A_ub=a[:3], b_ub=[9.0, 9.0, 9.0], A_eq=a[3:], b_eq=[2.0], bounds=(0, 5))
    b_ub, b_eq = 1.0 + random.random((12, 3)), 0.5 + random.random((12, 1))
    c, lower, upper = -random.random((12, 6)), np.zeros((12, 6)), 1.0 + random.random((12, 6))
    events = []
    given = {"c": c, "b_ub": b_ub, "b_eq": b_eq, "lower": lower, "upper": upper}
    found = engine.solve_many(base, **given, devices=[device.info.id], on_event=events.append)
    assert len(found) == 12
    for k in range(12):
        expected = linprog(c[k], a[:3], b_ub[k], a[3:], b_eq[k], list(zip(lower[k], upper[k], strict=True)))
        assert found.status[k] == ("optimal" if expected.status == 0 else "infeasible")
        if expected.status == 0:
            assert found.objective[k] == pytest.approx(expected.fun, rel=1e-7)
            assert np.array_equal(found[k].solution, found.solution[k])
            assert np.array_equal(found[k].arrays["row_duals"], found.row_duals[k])
    assert events[0].done == 0
    assert events[-1].done == events[-1].total == 12
    assert [result.objective for result in found[-2:]] == found.objective[-2:].tolist()
    assert "optimal" in repr(found)


def test_maxima_of_a_family_count_the_constant(device, tmp_path):
    path = tmp_path / "most.lp"
    path.write_text("maximize\n gain: 3 x + 2 y + 10\nsubject to\n a: x + y <= 4\n b: x <= 3\nend\n")
    found = engine.solve_many(engine.LinearProgram.read(path), c=[[3, 2], [1, 5], [0, 1]], devices=[device.info.id])
    assert found.objective == pytest.approx([21.0, 30.0, 14.0])


def test_programs_without_an_optimum_end_with_certificates(device):
    base = engine.LinearProgram([1.0, 1.0], A_ub=[[1.0, 1.0], [-1.0, -1.0]], b_ub=[2.0, -1.0])
    sides = np.tile([2.0, -1.0], (9, 1))
    sides[4] = 1.0, -2.0
    costs = np.ones((9, 2))
    found = engine.solve_many(base, b_ub=sides, c=costs, devices=[device.info.id])
    assert found.status.tolist() == ["optimal"] * 4 + ["infeasible"] + ["optimal"] * 4
    assert "farkas" in found[4].arrays
    assert np.isnan(found.solution[4]).all()
    free = engine.LinearProgram([-1.0, 0.0], A_ub=[[1.0, -1.0]], b_ub=[1.0])
    costs = np.tile([1.0, 0.0], (9, 1))
    costs[7] = -1.0, 0.0
    assert engine.solve_many(free, c=costs, devices=[device.info.id]).status[7] == "unbounded"


def test_arrays_that_do_not_fit_are_refused():
    base = engine.LinearProgram([1.0, 1.0], A_ub=[[1.0, 1.0]], b_ub=[2.0])
    as_read = LinearProgram.from_arrays({**base.to_arrays(), "m_ub": np.array(0)}, "as read from a file")
    for given, arrays, message in (
        (base, {"b_ub": np.ones((3, 2))}, r"b_ub must have the shape \(programs, 1\)"),
        (base, {"b_ub": np.ones((3, 1)), "c": np.ones((4, 2))}, r"shape \(programs, 2\), with as many"),
        (base, {"c": [[1, 1], [1, 1], [1, np.nan]]}, "program 2 has one"),
        (base, {"upper": [[1, 1], [1, -1]]}, "program 1 breaks this for variable 1"),
        (base, {"c": np.zeros((0, 2))}, "at least one row"),
        (base, {}, "at least one of c, b_ub"),
        ([base], {"c": np.ones((3, 2))}, "vary one program"),
        (as_read, {"b_eq": np.full((3, 1), -1.0)}, "row_lower and row_upper"),
        (base, {"c": np.ones((3, 2)), "colour": 1}, "colour"),
    ):
        with pytest.raises((OptionError, ProblemError), match=message):
            engine.solve_many(given, **arrays)


@pytest.mark.parametrize("threads", [1, 3])
def test_audits_of_a_family_are_those_of_its_programs(monkeypatch, threads):
    monkeypatch.setattr(families, "_CHUNK", 26)
    monkeypatch.setattr(families, "host_cores", lambda: threads)
    programs = family(1, 6, 5, 8, own=True)
    random = np.random.default_rng(0)
    x, y = random.random((6, 8)), random.standard_normal((6, 5))
    x, y, found = programs.audit(x, y)
    for k in range(6):
        problem = programs.program(k)
        alone = audit(problem, x[k], y[k])
        assert found.primal[k] == pytest.approx(alone.primal, rel=1e-13)
        assert found.dual[k] == pytest.approx(alone.dual, rel=1e-13)
        assert found.size[k] == pytest.approx(alone.size, rel=1e-13)
        assert found.objective_error[k] == pytest.approx(alone.objective_error, rel=1e-12)
        assert found.error[k] >= alone.error * (1.0 - 1e-12)
    x[2, 3] = np.nan
    assert np.isinf(programs.audit(x, y)[2].error).tolist() == [k == 2 for k in range(6)]


def test_programs_that_the_kernel_leaves_are_solved_by_highs_on_the_host(owner):
    random = np.random.default_rng(4)
    a = random.random((3, 8))
    sides = random.uniform(0.5, 1.5, (12, 8)) @ a.T
    base = LinearProgram(np.ones(8), A_eq=a, b_eq=sides[0], bounds=(0, 2))
    sides[3] = 90.0
    found = engine.solve_many(base, b_eq=sides, engine=owner)
    assert found.status.tolist() == ["optimal"] * 3 + ["infeasible"] + ["optimal"] * 8
    assert found[3].arrays["racers"].tolist() == ["HiGHS simplex"]
    assert "farkas" in found[3].arrays
    assert "racers" not in found[4].arrays
    programs = [LinearProgram(base.c, A_eq=base.A, b_eq=side, bounds=(0, 2)) for side in sides]
    assert engine.solve_many(programs, engine=owner)[3].arrays["racers"].tolist() == ["HiGHS simplex"]
    assert "racers" not in engine.solve_many(programs, engine=owner, method="mpc")[3].arrays
