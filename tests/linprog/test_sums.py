"""Products with matrices that threads share, against exact sums of rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from engine.solvers.linprog.verification.sums import product, term_sizes


@pytest.mark.parametrize("columns", [2048, 2051])
def test_very_large_matrices_are_multiplied_to_the_last_digits(columns: int) -> None:
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
