"""Programs with other numbers and the same matrix, each solved from the last one's basis."""

import pickle
import threading

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.errors import ProblemError
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


@pytest.mark.full
@pytest.mark.host
def test_a_thousand_solvings_on_fresh_threads_have_one_answer(owner):
    problem, found = engine.LinearProgram(**PLAIN), []
    for turn in range(1000):
        changed = problem.with_changes(b_ub=[4.0 + turn % 5, 6.0])
        thread = threading.Thread(target=lambda given=changed: found.append(owner.solve(given).objective))
        thread.start()
        thread.join()
    assert found == pytest.approx([-4.5] * 1000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"c": [1.0]}, "c must have 2 entries; got 1"),
        ({"b_ub": [1.0]}, "b_ub must have 2 entries; got 1"),
        ({"b_eq": [1.0, 2.0]}, "b_eq must have 1 entry; got 2"),
        ({"row_lower": [5.0, 0.0, 0.0]}, "lower bound of row 0"),
        ({"c": [np.nan, 1.0]}, "entry 0 of c is NaN"),
        ({"bounds": (2, 1)}, "lower bound of variable 0"),
    ],
)
def test_changes_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ProblemError, match=message):
        engine.LinearProgram(**PLAIN).with_changes(**changes)


def test_sizes_are_those_of_the_changed_numbers():
    problem = engine.LinearProgram(**PLAIN)
    assert problem.units == (1.0, 1.0)
    changed = problem.with_changes(c=[1e-3, 0.0], b_ub=[1e-4, 1e-4], name="small")
    assert changed.units == engine.LinearProgram(**PLAIN | {"c": [1e-3, 0.0], "b_ub": [1e-4, 1e-4]}).units
    assert (changed.name, problem.row_upper[0]) == ("small", 4.0)
