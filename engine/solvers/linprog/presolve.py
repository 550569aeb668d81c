"""What need not be solved: rows and variables that are taken out of a linear program before it becomes standard.

Removed: rows that say nothing, empty columns, fixed variables, rows of one variable (they become bounds), duplicate
rows, and equalities that depend on others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.solvers.linprog.problem import LinearProgram, Matrix
from engine.solvers.linprog.sparse import sp
from engine.solvers.linprog.standard import BoundRow, Settled, with_bound_rows

__all__ = ["Shrinking"]

Vector = NDArray[np.float64]
_FEASIBLE = 1e-9


class Shrinking:
    """The program while it shrinks: bounds, sides, and which rows and columns are left."""

    def __init__(self, problem: LinearProgram) -> None:
        self.problem = problem
        self.sparse = problem.is_sparse
        self.A: Matrix = problem.A
        self.c = -problem.c if problem.maximize else problem.c.copy()
        self.lower, self.upper = problem.lower.copy(), problem.upper.copy()
        self.row_lower, self.row_upper = problem.row_lower.copy(), problem.row_upper.copy()
        self.rows = np.ones(problem.m, bool)
        self.columns = np.ones(problem.n, bool)
        self.values = np.zeros(problem.n)
        self.bound_rows: list[BoundRow] = []
        self.removed: dict[str, int] = {}

    def _count(self, what: str, count: int) -> None:
        if count:
            self.removed[what] = self.removed.get(what, 0) + int(count)

    # --- what is removed ----------------------------------------------------------------------------------------

    def reduce(self, presolve: bool) -> Settled | None:
        """Remove what can be removed; only what must be without ``presolve``."""
        nothing = np.isneginf(self.row_lower) & np.isposinf(self.row_upper)
        self.rows &= ~nothing
        self._count("rows without sides", int(nothing.sum()))
        structure = sp.csr_array(self.A) if self.sparse else None
        pattern = None if structure is not None else np.asarray(self.A) != 0.0
        for _ in range(10 if presolve else 1):
            before = int(self.rows.sum()) + int(self.columns.sum())
            found = self._pass(structure, pattern, presolve)
            if found is not None:
                return found
            if int(self.rows.sum()) + int(self.columns.sum()) == before:
                break
        if presolve:
            found = self._duplicates()
            if found is not None:
                return found
            return self._dependent()
        return None

    def _pass(
        self, structure: sp.csr_array | None, pattern: NDArray[np.bool_] | None, presolve: bool
    ) -> Settled | None:
        crossed = self.lower > self.upper + _FEASIBLE * (1.0 + np.abs(self.upper))
        if crossed.any():
            return self._crossed(int(np.argmax(crossed)))
        fixed = self.columns & (self.lower >= self.upper)
        self.values[fixed] = 0.5 * (self.lower[fixed] + self.upper[fixed])
        self.columns &= ~fixed
        self._count("fixed variables", int(fixed.sum()))
        if structure is not None:
            per_row = np.bincount(
                np.repeat(np.arange(structure.shape[0]), np.diff(structure.indptr))[self.columns[structure.indices]],
                minlength=structure.shape[0],
            )
        else:
            assert pattern is not None
            every = bool(self.columns.all())
            per_row = np.count_nonzero(pattern if every else pattern[:, self.columns], axis=1)
        found = self._empty_rows(per_row)
        if found is not None:
            return found
        if presolve:
            self._single_rows(per_row)
        return self._empty_columns(structure, pattern)

    def activity_of_fixed(self) -> Vector:
        """What the variables that are gone add up to in each row (m,)."""
        values = np.where(self.columns, 0.0, self.values)
        return np.asarray(self.A @ values) if values.any() else np.zeros(self.rows.size)

    def _empty_rows(self, per_row: NDArray[np.int64]) -> Settled | None:
        empty = self.rows & (per_row == 0)
        if not empty.any():
            return None
        activity = self.activity_of_fixed()
        room = _FEASIBLE * (1.0 + np.abs(activity))
        broken = empty & ((activity < self.row_lower - room) | (activity > self.row_upper + room))
        if broken.any():
            row = int(np.argmax(broken))
            farkas = np.zeros(self.rows.size)
            farkas[row] = 1.0 if activity[row] < self.row_lower[row] else -1.0
            return self._infeasible(f"row {row} cannot be met within the bounds", farkas)
        self.rows &= ~empty
        self._count("empty rows", int(empty.sum()))
        return None

    def _infeasible(self, reason: str, farkas: Vector) -> Settled:
        proof = with_bound_rows(self.problem, farkas, np.zeros(self.columns.size), self.bound_rows)
        return Settled("infeasible", reason, farkas=proof)

    def _crossed(self, column: int) -> Settled:
        farkas = np.zeros(self.rows.size)
        kept = []
        for bound in self.bound_rows:
            if bound.column == column and bound.low:
                farkas[bound.row] += 1.0 / bound.entry
            elif bound.column == column and bound.high:
                farkas[bound.row] -= 1.0 / bound.entry
            else:
                kept.append(bound)
        proof = with_bound_rows(self.problem, farkas, np.zeros(self.columns.size), kept)
        return Settled("infeasible", f"the bounds of variable {column} exclude each other", farkas=proof)

    def _single_rows(self, per_row: NDArray[np.int64]) -> None:
        """Rows of one variable become its bounds."""
        single = np.flatnonzero(self.rows & (per_row == 1))
        if not single.size:
            return
        activity = self.activity_of_fixed()
        matrix = self.A
        for row in single.tolist():
            if isinstance(matrix, sp.csr_array):
                begin, end = matrix.indptr[row], matrix.indptr[row + 1]
                where = np.flatnonzero(self.columns[matrix.indices[begin:end]])
                column, entry = int(matrix.indices[begin + where[0]]), float(matrix.data[begin + where[0]])
            else:
                column = int(np.flatnonzero((matrix[row] != 0.0) & self.columns)[0])
                entry = float(matrix[row, column])
            if abs(entry) < 1e-6:
                continue
            ends = ((self.row_lower[row] - activity[row]) / entry, (self.row_upper[row] - activity[row]) / entry)
            new = BoundRow(row, column, entry, min(ends) > self.lower[column], max(ends) < self.upper[column])
            if new.low or new.high:
                for old in self.bound_rows:
                    if old.column == column:
                        old.low &= not new.low
                        old.high &= not new.high
                self.bound_rows.append(new)
            self.lower[column] = max(self.lower[column], min(ends))
            self.upper[column] = min(self.upper[column], max(ends))
            self.rows[row] = False
            self._count("rows of one variable", 1)

    def _empty_columns(self, structure: sp.csr_array | None, pattern: NDArray[np.bool_] | None) -> Settled | None:
        if structure is not None:
            of_rows = np.repeat(self.rows, np.diff(structure.indptr))
            used = np.asarray(np.bincount(structure.indices[of_rows], minlength=self.columns.size) > 0)
        else:
            assert pattern is not None
            used = np.asarray((pattern if self.rows.all() else pattern[self.rows]).any(axis=0))
        empty = np.flatnonzero(self.columns & ~used)
        for j in empty.tolist():
            target = self.lower[j] if self.c[j] > 0 else self.upper[j] if self.c[j] < 0 else 0.0
            if self.c[j] == 0.0:
                target = min(max(0.0, self.lower[j]), self.upper[j])
            if not np.isfinite(target):
                if not self.rows.any():
                    ray = np.zeros(self.columns.size)
                    ray[j] = -np.sign(self.c[j])
                    return Settled("unbounded", f"variable {j} is in no row and improves without end", ray=ray)
                continue  # the others have to be feasible first
            self.values[j] = target
            self.columns[j] = False
            self._count("empty columns", 1)
        return None

    def _duplicates(self) -> Settled | None:
        """Rows that are multiples of others: the tighter of the sides stay with one of them."""
        rows = np.flatnonzero(self.rows)
        columns = np.flatnonzero(self.columns)
        if rows.size < 2 or not columns.size:
            return None
        activity = self.activity_of_fixed()
        matrix = self.left(rows, columns)
        weights = np.random.default_rng(0).standard_normal(columns.size)
        if self.sparse:
            size = np.asarray(abs(matrix).max(axis=1).todense()).ravel()
        else:
            size = np.maximum(matrix.max(axis=1), -matrix.min(axis=1))
        keys = np.abs(np.asarray(matrix @ weights)) / np.where(size > 0.0, size, 1.0)
        order = np.argsort(keys, kind="stable")
        close = np.flatnonzero(np.abs(np.diff(keys[order])) <= 1e-12 * (1.0 + keys[order][1:]))
        for k in close.tolist():
            one, other = rows[order[k]], rows[order[k + 1]]
            if not (self.rows[one] and self.rows[other]):
                continue
            a, b = self._dense_row(int(one)), self._dense_row(int(other))
            a[~self.columns] = 0.0
            b[~self.columns] = 0.0
            pivot = int(np.argmax(np.abs(a)))
            if b[pivot] == 0.0:
                continue
            ratio = a[pivot] / b[pivot]
            if not np.array_equal(a, b * ratio):
                continue
            if activity[one] != 0.0 or activity[other] != 0.0:
                continue
            ends = sorted((self.row_lower[other] * ratio, self.row_upper[other] * ratio))
            low, high = max(self.row_lower[one], ends[0]), min(self.row_upper[one], ends[1])
            if low > high + _FEASIBLE * (1.0 + abs(high)):
                farkas = np.zeros(self.rows.size)
                positive = 1.0 if self.row_lower[one] > ends[1] else -1.0
                farkas[one], farkas[other] = positive, -positive * ratio
                return self._infeasible(f"rows {one} and {other} exclude each other", farkas)
            if ends[0] <= self.row_lower[one] and ends[1] >= self.row_upper[one]:
                self.rows[other] = False
                self._count("duplicate rows", 1)
            elif low >= ends[0] and high <= ends[1] and low == ends[0] and high == ends[1]:
                self.rows[one] = False
                self._count("duplicate rows", 1)
        return None

    def left(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Matrix:
        """The matrix of what is left; the whole one is not copied."""
        if rows.size == self.rows.size and columns.size == self.columns.size:
            return self.A
        return sp.csr_array(self.A)[rows][:, columns] if self.sparse else np.asarray(self.A)[np.ix_(rows, columns)]

    def _dense_row(self, row: int) -> Vector:
        matrix = self.A
        if isinstance(matrix, sp.csr_array):
            out = np.zeros(matrix.shape[1])
            begin, end = matrix.indptr[row], matrix.indptr[row + 1]
            out[matrix.indices[begin:end]] = matrix.data[begin:end]
            return out
        return np.array(matrix[row])

    def _dependent(self) -> Settled | None:
        """Equalities that combine others, by pivoted elimination of those that have no column of their own."""
        equal = np.flatnonzero(self.rows & (self.row_lower == self.row_upper))
        columns = np.flatnonzero(self.columns)
        if not self.sparse or equal.size < 2 or not columns.size:
            return None
        matrix = sp.csc_array(sp.csr_array(self.A)[equal][:, columns])
        matrix.eliminate_zeros()
        left = _without_column_singletons(matrix)
        if left.size < 2 or left.size > 4000:
            return None
        block = sp.csr_array(matrix)[left].toarray()
        block = block[:, np.any(block != 0.0, axis=0)]
        norms = np.linalg.norm(block, axis=1)
        scaled = block / np.where(norms > 0.0, norms, 1.0)[:, None]
        dependent = _dependent_rows(scaled)
        if not dependent.size:
            return None
        keep = np.setdiff1d(np.arange(left.size), dependent)
        sides = (self.row_lower[equal[left]] - self.activity_of_fixed()[equal[left]]) / np.where(norms > 0, norms, 1.0)
        factors = np.linalg.lstsq(scaled[keep].T, scaled[dependent].T, rcond=None)[0]
        exact = np.abs(scaled[dependent] - factors.T @ scaled[keep]).max(axis=1) < 1e-10
        off = np.abs(sides[dependent] - factors.T @ sides[keep])
        sure = exact & (off <= 1e-8 * (1.0 + np.abs(sides).max()))
        self.rows[equal[left[dependent[sure]]]] = False
        self._count("dependent equalities", int(sure.sum()))
        return None


def _without_column_singletons(matrix: sp.csc_array) -> NDArray[np.int64]:
    """Rows left after taking out, again and again, those with a column of their own: these depend on no others."""
    rows = sp.csr_array(matrix)
    per_column = np.diff(matrix.indptr).copy()
    alive = np.ones(matrix.shape[0], bool)
    queue = np.flatnonzero(per_column == 1).tolist()
    while queue:
        column = queue.pop()
        if per_column[column] != 1:
            continue
        members = matrix.indices[matrix.indptr[column] : matrix.indptr[column + 1]]
        row = int(members[alive[members]][0])
        alive[row] = False
        others = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        per_column[others] -= 1
        queue += others[per_column[others] == 1].tolist()
    return np.flatnonzero(alive)


def _dependent_rows(scaled: Vector) -> NDArray[np.int64]:
    """Rows that a pivoted QR finds to be combinations of the others."""
    import scipy.linalg

    if scaled.shape[1] > 4 * scaled.shape[0] + 50:  # a random projection has the same row rank, surely enough
        random = np.random.default_rng(1).standard_normal((scaled.shape[1], scaled.shape[0] + 20))
        scaled = scaled @ random
    r, pivots = scipy.linalg.qr(scaled.T, mode="r", pivoting=True)
    diagonal = np.abs(np.diagonal(r))
    rank = int((diagonal > 1e-10 * max(diagonal[0], 1e-300)).sum()) if diagonal.size else 0
    return np.sort(pivots[rank:]).astype(np.int64)
