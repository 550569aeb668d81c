"""From 1e20 on a bound or a side is infinite, by every door, as for HiGHS."""

import numpy as np
import pytest
import scipy.sparse as sp

import engine
from engine.errors import ProblemError
from tests.support.needs import package

pytestmark = pytest.mark.host

HUGE = 1e30
GIVEN = {"c": [-1.0, -1.0], "A_ub": [[1.0, -1.0]], "b_ub": [1.0], "bounds": (0.0, HUGE)}


@pytest.mark.parametrize("options", [{}, {"method": "mpc"}, {"method": "race"}], ids=["auto", "mpc", "race"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_huge_bound_does_not_hide_that_a_program_is_unbounded(device, options, sparse):
    given = GIVEN | ({"A_ub": sp.csr_array(GIVEN["A_ub"])} if sparse else {})
    result = engine.solve(engine.LinearProgram(**given), devices=[device.info.id], **options)
    assert result.status == "unbounded"
    assert result.arrays["ray"].min() > 0.0


@pytest.mark.full
def test_linprog_cvxpy_and_highspy_have_the_same_infinity(device):
    assert engine.linprog(**GIVEN, devices=[device.info.id]).status == 3
    cp = package("cvxpy")
    x = cp.Variable(2, bounds=[0.0, HUGE])
    model = cp.Problem(cp.Maximize(cp.sum(x)), [x[0] - x[1] <= 1.0])
    model.solve(solver=engine.QUINTET, devices=[device.info.id])
    assert model.status == "unbounded"
    highspy = package("highspy")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("infinite_bound", 1e31)  # otherwise HiGHS itself makes them infinite
    highs.addVariable(lb=-HUGE, ub=HUGE)
    highs.addVariable(lb=0.0, ub=0.99e20)
    problem = engine.LinearProgram.from_highspy(highs)
    assert problem.lower.tolist() == [-np.inf, 0.0]
    assert problem.upper.tolist() == [np.inf, 0.99e20]


def test_families_have_the_same_infinity(device):
    problem = engine.LinearProgram(**(GIVEN | {"bounds": (0.0, 10.0)}))
    found = engine.solve_many(problem, upper=[[10.0, 10.0], [HUGE, HUGE]], devices=[device.info.id])
    assert [str(result.status) for result in found] == ["optimal", "unbounded"]
    with pytest.raises(ProblemError, match="program 1 breaks this for variable 0"):
        engine.solve_many(problem, lower=[[0.0, 0.0], [HUGE, 0.0]], upper=[[10.0, 10.0], [HUGE, 10.0]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"A_ub": [[1.0]], "b_ub": [-HUGE]}, r"entry 0 of b_ub must not be minus infinity; got -1e\+30"),
        ({"A_eq": [[1.0]], "b_eq": [1e20]}, r"entry 0 of b_eq must be finite; got 1e\+20"),
        ({"bounds": (HUGE, None)}, "the lower bound of variable 0 must be at most its upper bound; got inf"),
    ],
)
def test_a_huge_side_that_leaves_nothing_is_refused(given, message):
    with pytest.raises(ProblemError, match=message):
        engine.LinearProgram([1.0], **given)
