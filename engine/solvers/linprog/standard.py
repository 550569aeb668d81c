"""The standard form of a linear program, and the way back from a point of it to the program as given."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.solvers.linprog.problem import LinearProgram, Matrix
from engine.solvers.linprog.sparse import sp

__all__ = ["BoundRow", "Prepared", "Settled", "Standard", "with_bound_rows"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Standard:
    """minimize c x subject to A x + diag(sign) t = b, x >= 0 or free, x <= upper, 0 <= t <= slack_upper.

    ``sign`` (m,) is 1 or -1 where a row has a slack, which then enters that row alone, and 0 where it has none.
    """

    A: Matrix
    b: Vector
    c: Vector
    upper: Vector
    free: NDArray[np.bool_]
    sign: Vector
    slack_upper: Vector

    @property
    def m(self) -> int:
        """Rows."""
        return int(self.b.size)

    @property
    def n(self) -> int:
        """Variables without slacks."""
        return int(self.c.size)


@dataclass(frozen=True)
class Settled:
    """A program that preparation alone decides: ``status`` is "infeasible" or "unbounded", with its certificate."""

    status: str
    reason: str
    farkas: Vector | None = None
    ray: Vector | None = None


@dataclass
class BoundRow:
    """A row of one variable that became its bounds: whether the lower and the upper one are (still) this row's."""

    row: int
    column: int
    entry: float
    low: bool
    high: bool


@dataclass
class Prepared:
    """The standard form, and what leads back from it."""

    problem: LinearProgram
    standard: Standard
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Vector
    column_scale: Vector
    column_shift: Vector
    row_scale: Vector
    bound_rows: list[BoundRow] = field(default_factory=list)
    removed: dict[str, int] = field(default_factory=dict)

    def back(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """Values (n,) and row duals (m,) of the original program."""
        values = self.values.copy()
        values[self.columns] = self.column_shift + self.column_scale * x
        values = np.clip(values, self.problem.lower, self.problem.upper)
        return values, self.duals(y)

    def duals(self, y: Vector, costs: Vector | None = None) -> Vector:
        """Row duals of the original program (m,), for minimization; for a Farkas ray, with zero ``costs``."""
        duals = np.zeros(self.problem.m)
        duals[self.rows] = self.row_scale * y
        nothing = (duals > 0) & np.isneginf(self.problem.row_lower) | (duals < 0) & np.isposinf(self.problem.row_upper)
        duals[nothing] = 0.0  # a side that is not there has no price: what rounding left goes to the variables
        if costs is None:
            costs = -self.problem.c if self.problem.maximize else self.problem.c
        return with_bound_rows(self.problem, duals, costs, self.bound_rows)

    def ray(self, x: Vector) -> Vector:
        """A direction of the original program (n,)."""
        direction = np.zeros(self.problem.n)
        direction[self.columns] = self.column_scale * x
        return direction


def with_bound_rows(problem: LinearProgram, duals: Vector, costs: Vector, bound_rows: list[BoundRow]) -> Vector:
    """Let rows that became bounds have the reduced costs that those bounds have; the last made is the first undone."""
    if not bound_rows:
        return duals
    duals = duals.copy()
    matrix = problem.A
    reduced = costs - matrix.T @ duals
    for bound in reversed(bound_rows):
        z = float(reduced[bound.column])
        if not (bound.low if z > 0 else bound.high and z < 0):
            continue
        price = z / bound.entry
        duals[bound.row] += price
        if isinstance(matrix, sp.csr_array):
            begin, end = matrix.indptr[bound.row], matrix.indptr[bound.row + 1]
            reduced[matrix.indices[begin:end]] -= price * matrix.data[begin:end]
        else:
            reduced -= price * matrix[bound.row]
        reduced[bound.column] = 0.0
    return duals
