"""Random linear programs of every kind against HiGHS, as SciPy calls it."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

import engine
from tests.support.examples import examples
from tests.support.random_programs import KINDS, program


@examples(40)
@given(
    kind=st.sampled_from(KINDS),
    m=st.integers(1, 12),
    n=st.integers(1, 16),
    seed=st.integers(0, 2**32 - 1),
    sparse=st.booleans(),
)
@example(kind="unbounded", m=11, n=11, seed=11, sparse=False)
def test_the_answer_is_that_of_highs(owner, kind, m, n, seed, sparse):
    arguments = program(kind, m, n, seed)
    reference = scipy.optimize.linprog(**arguments, method="highs")
    if sparse:
        arguments |= {name: sp.csr_array(arguments[name]) for name in ("A_ub", "A_eq")}
    problem = engine.LinearProgram(**arguments)
    result = owner.solve(problem)
    if reference.status == 0:
        assert result.status == "optimal"
        assert result.objective == pytest.approx(reference.fun, rel=1e-6, abs=1e-6)
    else:  # HiGHS may say "unbounded" of a program that is both, or cannot tell
        assert reference.status in (2, 3, 4)
        assert result.status in ("infeasible", "unbounded")
    found = engine.verify(result, problem)
    assert not found.refuted
    assert found.verified, found


def scaled(kind, seed):
    """A planted program, some rows twice and some empty, rows and columns scaled from 1e-9 to 1e9 without rounding."""
    random = np.random.default_rng([seed, 7])
    given = program(kind, int(random.integers(2, 12)), int(random.integers(2, 16)), seed)
    a, b = given["A_ub"], given["b_ub"]
    some = random.integers(0, 2, len(b)).astype(bool)
    a, b = np.vstack([a, a[some], 0.0 * a[:1]]), np.concatenate([b, b[some], np.zeros(len(b[:1]))])
    rows, columns = 2.0 ** random.integers(-30, 31, len(b)), 2.0 ** random.integers(-15, 16, a.shape[1])
    bounds = [
        [None if end is None else end / scale for end in pair]
        for pair, scale in zip(given["bounds"], columns, strict=False)
    ]
    matrices = {"A_ub": sp.csr_array(a * rows[:, None] * columns), "A_eq": sp.csr_array(given["A_eq"] * columns)}
    return given | matrices | {"b_ub": b * rows, "c": given["c"] * columns, "bounds": bounds}


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_of_ten_thousand_scaled_programs_none_has_a_wrong_status(owner, kind):
    found = [owner.solve(engine.LinearProgram(**scaled(kind, seed))).status for seed in range(10_000 // len(KINDS))]
    right = kind if kind in ("infeasible", "unbounded") else "optimal"
    assert set(found) <= {right, "iteration_limit"}
    assert found.count("iteration_limit") <= 2
