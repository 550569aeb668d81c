"""Scaling of a whole program so that the logarithms of all its numbers are small in the sense of least squares.

For sides that differ by many powers of ten. After Curtis and Reid, *On the automatic scaling of matrices for Gaussian
elimination*, J. Inst. Maths Applics 10 (1972), with the sides, bounds and costs as further entries.
"""

import importlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..problem import LinearProgram, sp

Vector = NDArray[np.float64]
_STEPS = 60  # of the least-squares method


@dataclass(frozen=True)
class Balanced:
    """A scaled program, a minimization, and the way back from its points."""

    program: LinearProgram
    row_scale: Vector  # powers of two: a row of the scaled program is so many times that of the given one,
    column_scale: Vector  # and a value of the given program so many times that of the scaled one
    cost_scale: float

    def restore(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """Values (n,) and row duals (m,) of the given program, as a minimization."""
        return self.column_scale * x, self.row_scale * y / self.cost_scale


def balanced(problem: LinearProgram) -> Balanced:
    """Scale all numbers of a program; see the module."""
    matrix = sp.coo_array(problem.A)
    matrix.eliminate_zeros()
    sign = -1.0 if problem.maximize else 1.0
    m, n = problem.m, problem.n
    # numbers, and the unknowns whose logarithms are added to theirs, or taken from them: of rows, columns, all costs
    terms = [(matrix.data, [(matrix.coords[0], 1.0), (m + matrix.coords[1], 1.0)])]
    for values, first, factor in (
        (problem.row_lower, 0, 1.0),
        (problem.row_upper, 0, 1.0),
        (problem.lower, m, -1.0),
        (problem.upper, m, -1.0),
    ):
        found = np.flatnonzero(np.isfinite(values) & (values != 0.0))
        terms.append((values[found], [(first + found, factor)]))
    priced = np.flatnonzero(problem.c)
    terms.append((problem.c[priced], [(m + priced, 1.0), (np.full(priced.size, m + n), 1.0)]))
    logs = np.concatenate([np.log2(np.abs(values)) for values, _ in terms])
    begins = np.cumsum([0, *(values.size for values, _ in terms)])
    entries = [
        (np.full(values.size, factor), begin + np.arange(values.size), unknown)
        for (values, unknowns), begin in zip(terms, begins[:-1], strict=True)
        for unknown, factor in unknowns
    ]
    factors, places, unknown = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    system = sp.csr_array((factors, (places, unknown)), shape=(logs.size, m + n + 1))
    lsqr = importlib.import_module("scipy.sparse.linalg").lsqr
    exponents = np.round(lsqr(system, -logs, iter_lim=_STEPS, atol=1e-3, btol=1e-3)[0])
    with np.errstate(over="ignore", under="ignore"):
        row, column, cost = np.exp2(exponents[:m]), np.exp2(exponents[m:-1]), float(np.exp2(exponents[-1]))
        scaled = sp.csr_array(sp.diags_array(row) @ sp.csr_array(problem.A) @ sp.diags_array(column))
        arrays = {
            "c": sign * cost * problem.c * column,
            "lower": problem.lower / column,
            "upper": problem.upper / column,
            "row_lower": problem.row_lower * row,
            "row_upper": problem.row_upper * row,
            "data": scaled.data,
            "indices": scaled.indices,
            "indptr": scaled.indptr,
            "offset": np.array(sign * cost * problem.offset),
        }
    program = LinearProgram.from_arrays(arrays, problem.name)
    return Balanced(program if problem.is_sparse else program.to_dense(), row, column, cost)
