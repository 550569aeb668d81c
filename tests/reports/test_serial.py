"""The serial programs in C find what the engine's references, brute force and SciPy find."""

from itertools import product
from typing import get_args

import numpy as np
import pytest
from scipy.optimize import linprog

from engine.references.boa import learn
from engine.references.knapsack import optimal_value
from engine.reproductions import serial
from engine.solvers.knapsack.problem import Knapsack

pytestmark = pytest.mark.skipif(serial.compiler() is None, reason="this machine has no C compiler")


def dependent(count, n, seed):
    """Individuals with noisy copies of a few bits."""
    random = np.random.default_rng(seed)
    bits = random.integers(0, 2, (count, n // 3 + 1)).repeat(3, axis=1)[:, :n]
    return (bits ^ (random.random((count, n)) < 0.15)).astype(np.uint8)


def test_a_network_under_a_permutation_is_that_of_the_reference():
    for seed in (1, 2, 3):
        chosen = dependent(300, 12, seed)
        order = np.random.default_rng(seed).permutation(12).astype(np.int32)
        expected, (parents, _) = learn(chosen, order, 3), serial.learn_network(chosen, 3, order)
        for rank, gene in enumerate(order):
            assert parents[gene] == [order[parent] for parent in expected.parents[rank]]


@pytest.mark.parametrize("edges", get_args(serial.Edges))
def test_the_serial_algorithms_solve_a_trap(edges):
    run = serial.run_boa(10, 500, 20, edges)
    assert run.best == 10
    assert 0 < run.learning <= run.seconds
    assert serial.run_boa(10, 8, 0, edges).best < 10


def test_the_serial_table_has_the_optimum_and_a_limit_gives_an_estimate():
    random = np.random.default_rng(4)
    for _ in range(10):
        weights, profits = random.integers(1, 60, (2, 40))
        problem = Knapsack(profits, weights, int(weights.sum() // 2))
        assert serial.knapsack_rows(weights, profits, problem.capacity)[0] == optimal_value(problem)
    weights = random.integers(1, 1000, 4000)
    value, seconds = serial.knapsack_rows(weights, weights + 50, int(weights.sum() // 2), 0.0)
    assert (value, seconds > 0) == (None, True)


def test_serial_queens_find_all_solutions_and_the_nodes_of_the_paper():
    """The solutions as published (OEIS A000170)."""
    published = [1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200]
    assert [serial.queens(n)[0] for n in range(1, 13)] == published
    assert [serial.queens(n)[1] for n in (8, 9, 10, 11, 12)] == [983, 4501, 17408, 89878, 420995]


@pytest.mark.parametrize(("m", "n", "seed"), [*product((3, 12), (40,), (1, 2))])
def test_serial_linear_programs_reach_the_optimum(m, n, seed):
    random = np.random.default_rng(seed)
    A = random.standard_normal((m, n))
    x, s, y = np.ones(n), np.ones(n), random.standard_normal(m)
    program, start = (A, A @ x, A.T @ y + s), (x, y, s)
    optimum = linprog(program[2], A_eq=A, b_eq=program[1]).fun
    solved = (
        serial.affine_scaling(program, start, 0.7, "cholesky"),
        serial.affine_scaling(program, start, 0.7, "updates", tolerance=1e-6),
        serial.predictor_corrector(program, start),
        serial.simplex(program),
    )
    for found, limit in zip(solved, (1e-7, 1e-5, 1e-7, 1e-9), strict=True):
        assert found.objective == pytest.approx(optimum, rel=limit, abs=limit)
        assert 0 < found.iterations < 200
    assert (x == 1).all()
