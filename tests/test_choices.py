"""Results name what the machine decided, so that two runs can be compared."""

import numpy as np

import engine
from engine.devices.host import host_cores
from engine.util.text import counted


def test_a_result_names_what_auto_chose_on_this_machine():
    X = np.random.default_rng(1).normal(size=(30, 2))
    posterior = engine.solve(engine.HorseshoeProbit(X, X[:, 0] > 0), draws=20, warmup=20, seed=1)
    assert posterior.texts["kernel"] == "hmc, X as float32"
    small = engine.LinearProgram([-1, -1], A_ub=[[1, 2]], b_ub=[4])
    assert engine.solve(small).texts["method"] == "HiGHS simplex alone, as the program is small"
    assert engine.solve(small, linear_solver="cholesky").texts["method"] == "mpc"
    raced = engine.solve(small, method="race", presolve=False, linear_solver="cholesky").texts["method"]
    assert raced == f"race on {counted(host_cores(), 'core')} of the host"
    searched = engine.solve(engine.Queens(8), ivms=16)
    assert searched.texts["search"] == "; ".join(f"{label}: pte with 16 IVMs" for label in searched.devices)
    assert "bounds" in engine.solve(engine.Knapsack([60, 100, 120], [10, 20, 30], 50)).texts["route"]
