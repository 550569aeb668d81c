"""Points to begin with: ``initial``, ``initial_duals``, and SciPy's ``x0``."""

import numpy as np
import pytest

import engine
from engine.errors import OptionError
from engine.events import Incumbent
from engine.generators.linprog import GeneratorOptions, generate

pytestmark = pytest.mark.host


def similar(problem, size, seed):
    """The same program with other costs."""
    random = np.random.default_rng(seed)
    arrays = dict(problem.to_arrays())
    arrays["c"] = arrays["c"] * (1.0 + size * random.standard_normal(problem.n))
    return engine.LinearProgram.from_arrays(arrays, "similar")


@pytest.mark.parametrize("kind", ["dense", "inequalities", "transport"])
def test_the_optimum_of_a_similar_program_saves_iterations(owner, kind):
    m, n = (6, 8) if kind == "transport" else (40, 90)
    problem = generate(GeneratorOptions(type=kind, m=m, n=n, seed=2))
    first = owner.solve(problem)
    other = similar(problem, 1e-3, 3)
    point = {"initial": first.solution, "initial_duals": first.arrays["row_duals"]}
    cold = owner.solve(other, method="mpc", presolve=False)
    warm = owner.solve(other, method="mpc", **point)
    assert cold.status == warm.status == "optimal"
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)
    assert warm.counters["iterations"] < cold.counters["iterations"]
    by_pdhg = owner.solve(other, method="pdhg", **point)
    assert by_pdhg.status == "optimal"
    assert by_pdhg.objective == pytest.approx(cold.objective, rel=1e-6)


@pytest.mark.parametrize("method", ["auto", "race", "pdhg"])
def test_an_optimum_is_recognised_at_once(owner, method):
    problem = generate(GeneratorOptions(type="transport", m=5, n=7, seed=1))
    first = owner.solve(problem, basis=True)
    seen = []
    again = owner.solve(
        problem, method=method, initial=first.solution, initial_duals=first.arrays["row_duals"], on_event=seen.append
    )
    assert again.status == "optimal"
    assert again.counters["iterations"] == 0
    assert np.array_equal(again.solution, first.solution)
    incumbent = next(event for event in seen if isinstance(event, Incumbent))
    assert incumbent.objective == pytest.approx(first.objective)


def test_a_useless_point_does_no_harm(owner):
    problem = generate(GeneratorOptions(type="inequalities", m=20, n=30, seed=4))
    expected = owner.solve(problem).objective
    for point in (np.zeros(30), np.full(30, 1e9), -np.ones(30)):
        result = owner.solve(problem, initial=point)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(expected, rel=1e-6)


def test_scipys_x0_is_where_mpc_begins(owner, device):
    problem = generate(GeneratorOptions(type="inequalities", m=20, n=30, seed=5))
    given = {"c": problem.c, "A_ub": problem.A, "b_ub": problem.row_upper, "method": "mpc"}
    cold = engine.linprog(**given, devices=[device.info.id])
    warm = engine.linprog(**given, x0=cold.x, devices=[device.info.id])
    assert warm.fun == pytest.approx(cold.fun, rel=1e-6)
    same = owner.solve(problem, method="mpc", initial=cold.x)
    assert warm.nit == same.counters["iterations"]
    assert np.array_equal(warm.x, same.solution)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"initial": [1.0]}, "initial must be 2 finite numbers, one for each variable; got 1"),
        ({"initial": [1.0, np.nan]}, "initial must be 2 finite numbers"),
        ({"initial": [1.0, 1.0], "initial_duals": [1.0, 2.0]}, "initial_duals must be 1 finite numbers"),
        ({"initial_duals": [1.0]}, "without initial"),
    ],
)
def test_what_is_no_point_is_refused(options, message):
    problem = engine.LinearProgram([1.0, 2.0], A_ub=[[-1.0, -1.0]], b_ub=[-1.0])
    with pytest.raises(OptionError, match=message):
        engine.solve(problem, **options)
