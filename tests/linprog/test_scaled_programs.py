"""Programs whose parts have very different sizes: the optimum is known from the parts, solved one by one by HiGHS."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import engine
from engine.solvers.linprog.forms.balance import balanced
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.verification.audit import Programs, audit, audit_programs
from engine.solvers.linprog.verification.outcome import AuditedPoint
from engine.solvers.linprog.verification.sums import product, term_sizes
from engine.solvers.linprog.verification.verdict import Verdict, judge_balanced_by_highs
from tests.support.random_programs import program

FEASIBLE = ("plain", "degenerate", "free", "boxed", "equalities")


def in_blocks(seed):
    """Two or three programs side by side, values scaled by 1e-8 to 1e8 and costs by the inverse; and the optimum."""
    random = np.random.default_rng(seed)
    parts, optimum = [], 0.0
    for _ in range(int(random.integers(2, 4))):
        kind = FEASIBLE[random.integers(len(FEASIBLE))]
        given = program(kind, int(random.integers(1, 7)), int(random.integers(1, 9)), int(random.integers(1 << 30)))
        found = scipy.optimize.linprog(**given, method="highs-ds", options={"primal_feasibility_tolerance": 1e-10})
        if found.status != 0:
            continue
        size = 10.0 ** random.integers(-8, 9)
        low, high = np.array(given["bounds"], np.float64).T
        bounds = size * np.where(np.isnan(low), -np.inf, low), size * np.where(np.isnan(high), np.inf, high)
        parts.append((given["A_ub"], size * given["b_ub"], given["A_eq"], size * given["b_eq"], *bounds))
        parts[-1] = (given["c"] / size, *parts[-1])
        optimum += found.fun
    c, b_ub, b_eq, low, high = (np.concatenate([part[i] for part in parts]) for i in (0, 2, 4, 5, 6))
    a_ub, a_eq = (sp.block_diag([sp.csr_array(part[i]) for part in parts], format="csr") for i in (1, 3))
    if seed % 2:
        a_ub, a_eq = a_ub.toarray(), a_eq.toarray()
    return engine.LinearProgram(c, a_ub, b_ub, a_eq, b_eq, np.column_stack([low, high])), optimum


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_parts_of_all_sizes_are_solved_exactly(owner, first):
    for seed in range(first, first + 10):
        problem, optimum = in_blocks(seed)
        result = owner.solve(problem)
        assert result.status == "optimal", seed
        assert result.objective == pytest.approx(optimum, rel=1e-6, abs=1e-9), seed


@pytest.mark.parametrize("size", [1e-8, 1e-4, 1e4, 1e8])
def test_the_audit_does_not_depend_on_the_scale(size):
    """A part that is left out is found, however small its numbers are beside those of the rest."""
    problem = engine.LinearProgram([1.0, 1.0 / size], A_ub=np.array([[-1.0, 0.0], [0.0, -1.0]]), b_ub=[-1.0, -size])
    right = audit(problem, np.array([1.0, size]), np.array([-1.0, -1.0 / size]))
    assert right.error <= 1e-15
    assert right.primal == pytest.approx(2.0)
    assert audit(problem, np.array([1.0, 0.0]), np.array([-1.0, 0.0])).error > 0.1
    for value, dual in ((0.96, 1.0), (1.04, 1.0), (1.0, 0.96), (1.0, 1.04)):
        assert audit(problem, np.array([1.0, value * size]), np.array([-1.0, -dual / size])).error > 0.01


def test_a_point_outside_its_bounds_is_not_taken_for_the_best():
    problem = engine.LinearProgram([1.0, 1.0], A_ub=np.array([[-1.0, -1.0]]), b_ub=[-1.0])
    verdict = Verdict(problem, 1e-6)
    assert verdict.consider(np.array([1.0, 0.0]), np.array([-1.0])) <= 1e-15
    assert audit(problem, np.array([1.5, -0.5]), np.array([-1.0])).primal_infeasibility > 0.1
    assert verdict.consider(np.array([1.5, -0.5]), np.array([-1.0])) > 0.1
    assert verdict.best_is(1e-15)


@pytest.mark.parametrize("kind", ["infeasible", "unbounded"])
def test_rays_of_a_program_scaled_for_highs_are_rays_of_the_program_given(kind):
    sums = np.array([[1.0, 1.0], [-1.0, -1.0]]) if kind == "infeasible" else np.array([[-1.0, -1.0], [-1.0, 0.0]])
    scale = 2.0 ** np.array([-30, 30])
    problem = engine.LinearProgram([-1.0, -1.0], A_ub=sums * scale[:, None], b_ub=np.array([5.0, -6.0]) * scale)
    verdict = Verdict(problem, 1e-6)
    verdict.consider(np.array([7.0, 7.0]), np.zeros(2))
    judge_balanced_by_highs(balanced(problem), verdict, lambda: None)
    assert verdict.proof is not None
    assert verdict.proof.status == kind


@pytest.mark.parametrize("columns", [2048, 2051])
def test_very_large_matrices_are_multiplied_to_the_last_digits(columns):
    random = np.random.default_rng(columns)
    matrix = random.standard_normal((2100, columns)) * 10.0 ** random.integers(-3, 4, (2100, 1))
    vector = random.standard_normal(columns)
    found, sizes = product(matrix, vector), term_sizes(matrix, vector)
    assert found.shape == sizes.shape == (2100,)
    for row in (0, 511, 512, 1023, 2099):
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(matrix[row].tolist(), vector.tolist(), strict=True))
        size = float(np.sqrt(((matrix[row] * vector) ** 2).sum()))
        assert abs(Fraction(float(found[row])) - exact) <= 1e-15 * size
        assert sizes[row] == pytest.approx(size, rel=1e-12)
    other = product(matrix.T, found)
    expected = (matrix.T.astype(np.longdouble) @ found.astype(np.longdouble)).astype(np.float64)
    assert np.allclose(other, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_violated_row_of_huge_entries_fails_the_audit(kind):
    problem = LinearProgram([0.0, 0.0], A_ub=kind([[-1e200, 1e200]]), b_ub=[-1e19])
    assert AuditedPoint.of(problem, np.array([0.5, 0.6]), np.zeros(1)).audit.error > 0.1
    assert AuditedPoint.of(problem, np.array([1.0, 0.0]), np.zeros(1)).audit.error < 1e-9


def test_rounding_errors_of_huge_values_excuse_nothing_beside_small_sides():
    sizes, sides, free = np.array([[1e22], [1e9], [1e19]]), np.array([[1.0], [1.0], [1e19]]), np.full((3, 3), np.inf)
    row, eps = np.array([[1.0, -1.0, 1.0]]), np.finfo(float).eps
    for costs, off in (([0.0, 0.0, 0.0], eps), ([1.0, -1.0 - eps, 1.0], 0.0)):  # in the row; in the objective
        programs = Programs(row, np.tile(costs, (3, 1)), -free, free, sides, sides, np.zeros(3))
        points, duals = np.hstack([sizes * (1.0 + off), sizes, sides]), np.full((3, 1), costs[0])
        alone = [engine.LinearProgram(costs, A_eq=row, b_eq=side, bounds=(None, None)) for side in sides]
        errors = [audit(*of).error for of in zip(alone, points, duals, strict=True)]
        errors = np.array([errors, audit_programs(programs, points, duals).error])
        assert (errors <= 1e-6).tolist() == [[False, True, True]] * 2
