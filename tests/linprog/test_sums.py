"""Products with matrices that threads share, against exact sums of rows."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.verification.outcome import AuditedPoint
from engine.solvers.linprog.verification.sums import product, term_sizes


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
def test_sizes_of_terms_whose_squares_overflow_are_finite(kind):
    matrix = kind([[3e200, 4e200], [0.0, 1.0]])
    assert term_sizes(matrix, np.array([1e50, 1e50])) == pytest.approx([5e250, 1e50])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_violated_row_of_huge_entries_fails_the_audit(kind):
    problem = LinearProgram([0.0, 0.0], A_ub=kind([[-1e200, 1e200]]), b_ub=[-1e19])
    assert AuditedPoint.of(problem, np.array([0.5, 0.6]), np.zeros(1)).audit.error > 0.1
    assert AuditedPoint.of(problem, np.array([1.0, 0.0]), np.zeros(1)).audit.error < 1e-9
