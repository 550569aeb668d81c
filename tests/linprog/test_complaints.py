"""What users of other solvers of linear programs complain of, each as a test; the issue is named in its docstring."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

import engine
from engine.devices import Device
from engine.errors import OptionError, OutOfDeviceMemory
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
def test_a_warm_start_is_refused_or_gives_numbers(owner, method):
    """NVIDIA/cuopt 1860: NaN after a warm start, and nobody says so."""
    problem = sparse_program(1)
    for wrong in (np.full(problem.n, np.nan), np.full(problem.n, np.inf)):
        with pytest.raises(OptionError, match="must be 90 finite numbers"):
            owner.solve(problem, method=method, initial=wrong)
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
