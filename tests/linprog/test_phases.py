"""Seconds of phases: what builds kernels is apart."""

import numpy as np

import engine


def test_a_first_solve_has_its_kernels_apart(device):
    random = np.random.default_rng(0)
    a = random.random((20, 40))
    program = engine.LinearProgram(-random.random(40), A_ub=a, b_ub=a.sum(axis=1))
    with engine.Engine(devices=[device.info.id]) as owner:
        first, second = (owner.solve(program, method="mpc").counters for _ in range(2))
    assert first["seconds_kernels"] > 0.0 == second["seconds_kernels"]
    assert second["seconds_products"] > 0.0
