"""What users of other solvers of linear programs complain of, each as a test; the issue is named in its docstring."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

import engine
from engine.devices import Device
from engine.errors import OutOfDeviceMemory
from tests.support.needs import package
from tests.support.races import reference, sparse_program

METHODS = ("auto", "mpc", "pdhg", "race")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bound", [1e12, 9e19, 1e20, 1e25, np.inf])
def test_huge_bounds_lead_to_no_optimum_that_is_infeasible(owner, method, bound):
    """NVIDIA/cuopt 1806: "optimal" at an infeasible point where bounds are 1e20."""
    rows, sides, bounds = sp.csr_array([[1.0, -1.0, 0.0], [0.0, 1.0, 1.0]]), np.array([2.0, 4.0]), [(-5.0, bound)] * 3
    problem = engine.LinearProgram([1.0, 1.0, 1.0], A_eq=rows, b_eq=sides, bounds=bounds)
    result = owner.solve(problem, method=method, pdhg_iterations=20_000)
    assert result.status == "optimal" or (method == "pdhg" and result.status == "iteration_limit")
    if result.status == "optimal":
        assert result.objective == pytest.approx(1.0, abs=1e-5)
        assert np.abs(problem.A @ result.solution - sides).max() <= 1e-5
        assert ((result.solution >= -5.0) & (result.solution <= bound)).all()


@pytest.mark.parametrize("method", METHODS)
def test_an_optimum_keeps_the_tolerance_that_was_asked_for(owner, method):
    """NVIDIA/cuopt 1046: "optimal" beyond the tolerance. The infeasibilities are with the result."""
    for seed in range(3):
        problem = sparse_program(seed)
        result = owner.solve(problem, method=method, tolerance=1e-9, acceptable=1e-9, presolve=bool(seed % 2))
        worst = max(result.counters[name] for name in ("primal_infeasibility", "dual_infeasibility", "relative_gap"))
        assert (result.status == "optimal") == (worst <= 1e-9), seed
        activities = problem.A @ result.solution
        outside = np.maximum(problem.row_lower - activities, activities - problem.row_upper)
        assert result.status != "optimal" or outside.max() <= 1e-8, seed


@pytest.mark.parametrize("iterations", [0, 64, 640])
def test_programs_that_have_an_optimum_are_never_called_infeasible_or_unbounded(owner, iterations):
    """MIT-Lu-Lab/cuPDLPx 18: feasible programs that are called infeasible."""
    for seed in range(3):
        problem = sparse_program(seed)
        for presolve in (True, False):
            result = owner.solve(problem, method="pdhg", pdhg_iterations=iterations, presolve=presolve)
            assert result.status in ("optimal", "iteration_limit"), seed


@pytest.mark.few(1)
@pytest.mark.parametrize("method", ["auto", "mpc", "race"])
def test_programs_of_more_than_a_thousand_variables_are_solved_on_fresh_threads(device, method):
    """NVIDIA/cuopt 1768 and PyPSA/linopy 909: ends of the process where each solving has a thread of its own."""
    problem = sparse_program(5, 150, 1100)
    wanted, found = reference(problem), []

    def solve():
        found.append(engine.solve(problem, method=method, devices=[device.info.id]).objective)

    for _ in range(2):
        threads = [threading.Thread(target=solve) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == pytest.approx([wanted] * 6, rel=1e-6)


@pytest.mark.parametrize("method", ["auto", "mpc", "pdhg"])
def test_a_far_warm_start_gives_numbers(owner, method):
    """NVIDIA/cuopt 1860: NaN after a warm start, and nobody says so."""
    problem = sparse_program(1)
    for point in (np.zeros(problem.n), np.full(problem.n, 1e8)):
        result = owner.solve(problem, method=method, initial=point, pdhg_iterations=20_000)
        assert np.isfinite(result.solution).all()
        assert np.isfinite(result.arrays["row_duals"]).all()
        assert method == "pdhg" or result.objective == pytest.approx(reference(problem), rel=1e-6)


@pytest.mark.parametrize("method", ["mpc", "pdhg"])
def test_memory_that_is_not_there_is_called_so(owner, monkeypatch, method):
    """NVIDIA/cuopt 1076: out of memory is called a numerical error."""

    def full(*_, **__):
        raise OutOfDeviceMemory("no memory is free")

    monkeypatch.setattr(Device, "empty", full)
    monkeypatch.setattr(Device, "put", full)
    with pytest.raises(OutOfDeviceMemory, match="no memory is free"):
        owner.solve(sparse_program(2), method=method, presolve=False)


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


@pytest.mark.parametrize(
    ("given", "methods"),
    [
        ({"c": [-1e200, 1e-200], "A_ub": [[1.0, 2.0]], "b_ub": [4.0]}, ("auto", "pdhg", "mpc", "pdas")),
        (
            {"c": [-1e100, -1e300], "A_ub": [[3e300, 1], [2e-301, 5e199]], "b_ub": [1e10, 3.0], "bounds": (0.0, 1.0)},
            ("auto", "mpc"),
        ),
        ({"c": [-2.7e-301], "A_ub": [[-2.7e-200], [2.6e199]], "b_ub": [8e-300, 5.8]}, ("pdas",)),
    ],
)
def test_numbers_of_any_size_are_no_warnings(device, given, methods):
    for method in methods:
        program = engine.LinearProgram(**given)
        found = engine.solve(program, method=method, max_iterations=200, devices=[device.info.id])
        assert found.status in ("optimal", "iteration_limit")
        assert given["c"][0] != -1e200 or method == "pdhg" or found.objective == pytest.approx(-4e200, rel=1e-6)
