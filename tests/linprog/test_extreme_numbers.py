"""Numbers whose products overflow: the answer is what the audit leaves, and NumPy says nothing to the user."""

import numpy as np
import pytest

import engine


@pytest.mark.parametrize("method", ["auto", "pdhg", "mpc", "pdas"])
def test_costs_of_any_size_are_no_warnings(device, method):
    found = engine.solve(
        engine.LinearProgram([-1e200, 1e-200], A_ub=[[1.0, 2.0]], b_ub=[4.0]), method=method, devices=[device.info.id]
    )
    assert found.status == ("iteration_limit" if method == "pdhg" else "optimal")
    assert method == "pdhg" or found.objective == pytest.approx(-4e200, rel=1e-6)


@pytest.mark.parametrize("method", ["auto", "mpc"])
def test_entries_of_any_size_are_no_warnings(device, method):
    A = np.array([[3e300, 1.0], [2e-301, 5e199]])
    program = engine.LinearProgram([-1e100, -1e300], A_ub=A, b_ub=[1e10, 3.0], bounds=(0.0, 1.0))
    found = engine.solve(program, method=method, max_iterations=200, devices=[device.info.id])
    assert found.status in ("optimal", "iteration_limit")


def test_an_objective_that_underflows_is_audited(device):
    program = engine.LinearProgram([-2.7e-301], A_ub=[[-2.7e-200], [2.6e199]], b_ub=[8e-300, 5.8])
    assert engine.solve(program, method="pdas", devices=[device.info.id]).status in ("optimal", "iteration_limit")
