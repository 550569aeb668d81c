"""Programs with other numbers and the same matrix, each solved from the last one's basis."""

import pickle

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.errors import OptionError, ProblemError
from engine.events import Incumbent
from engine.generators.linprog import GeneratorOptions, generate
from tests.support.examples import examples
from tests.support.random_programs import KINDS, program

PLAIN = {"c": [-1.0, -2.0], "A_ub": [[1.0, 1.0], [1.0, 3.0]], "b_ub": [4.0, 6.0], "A_eq": [[1.0, -1.0]], "b_eq": [0.0]}


@examples(30)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1), sparse=st.booleans())
def test_changed_programs_have_the_optima_of_new_ones(owner, kind, seed, sparse):
    arguments, random = program(kind, 12, 16, seed), np.random.default_rng(seed)
    if sparse:
        arguments |= {name: sp.csr_array(arguments[name]) for name in ("A_ub", "A_eq")}
    problem = engine.LinearProgram(**arguments)
    for turn in range(3):
        low = np.array([-np.inf if low is None else low for low, _ in arguments["bounds"]])
        changes = {
            "c": arguments["c"] * random.uniform(0.8, 1.2, 16),
            "b_ub": arguments["b_ub"] + random.random(len(arguments["b_ub"])),
            "bounds": list(zip(low, low + 5.0 if turn == 1 else np.full(16, np.inf), strict=True)),
        }
        changes["bounds"] = [(-9.0, 9.0) if np.isinf(pair[0]) else pair for pair in changes["bounds"]]
        result = owner.solve(problem.with_changes(**changes))
        reference = scipy.optimize.linprog(**arguments | changes, method="highs")
        expected = {0: "optimal", 2: "infeasible", 3: "unbounded"}.get(reference.status)
        if expected is not None:
            assert result.status == expected or "optimal" not in (result.status, expected)
        if reference.status == 0:
            assert result.objective == pytest.approx(reference.fun, rel=1e-6, abs=1e-6)


def test_the_basis_is_shared_and_shortens_the_next_solving(owner):
    random = np.random.default_rng(1)
    matrix = sp.random_array((80, 160), density=0.1, rng=random, format="csr")
    x, sides = random.uniform(0.5, 1.5, 160), random.uniform(0.5, 1.5, 80)
    base = engine.LinearProgram(random.random(160) - matrix.T @ sides, A_ub=matrix, b_ub=matrix @ x + sides)
    first, second = (base.with_changes(b_ub=base.row_upper * factor) for factor in (1.0, 1.01))
    assert first.A is base.A
    assert first.kept_basis is second.kept_basis is base.kept_basis
    assert pickle.loads(pickle.dumps(first)).kept_basis.basis is None
    cold, warm = (owner.solve(problem).counters["highs_iterations"] for problem in (first, second))
    assert warm < cold / 4
    many = engine.solve_many(base, b_ub=[base.row_upper, 1.01 * base.row_upper], engine=owner, method="mpc")
    assert many.objective == pytest.approx([owner.solve(problem).objective for problem in (first, second)])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"c": [1.0]}, "c must have 2 entries; got 1"),
        ({"b_ub": [1.0]}, "b_ub must have 2 entries; got 1"),
        ({"row_lower": [5.0, 0.0, 0.0]}, "lower bound of row 0"),
        ({"c": [np.nan, 1.0]}, "entry 0 of c is NaN"),
        ({"bounds": (2, 1)}, "lower bound of variable 0"),
    ],
)
def test_changes_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ProblemError, match=message):
        engine.LinearProgram(**PLAIN).with_changes(**changes)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("kind", ["dense", "transport"])
def test_the_optimum_of_a_similar_program_saves_iterations(owner, kind, maximize):
    m, n = (6, 8) if kind == "transport" else (40, 90)
    arrays = generate(GeneratorOptions(type=kind, m=m, n=n, seed=2)).to_arrays() | {"maximize": np.array(maximize)}
    costs = (-1.0 if maximize else 1.0) * arrays["c"]
    others = costs * (1.0 + 1e-3 * np.random.default_rng(3).standard_normal(costs.size))
    problem, other = (engine.LinearProgram.from_arrays(arrays | {"c": c}, "similar") for c in (costs, others))
    first = owner.solve(problem)
    point = {"initial": first.solution, "initial_duals": first.arrays["row_duals"]}
    cold = owner.solve(other, method="mpc", presolve=False)
    warm = owner.solve(other, method="mpc", **point)
    assert cold.status == warm.status == "optimal"
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)
    assert 1.7 * warm.counters["iterations"] <= cold.counters["iterations"]
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
