"""Dense linear programs of equal shape as stacked arrays: standard forms and audits of all of them at once.

A batch of thousands of small programs takes less time on a device than one NumPy call after another for each of them.
What is computed here is that of :mod:`engine.solvers.linprog.forms.standard` and
:mod:`engine.solvers.linprog.verification.audit`; programs with anything unusual are left to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..forms.standard import Prepared, Standard
from ..problem import LinearProgram
from ..verification.audit import Audit
from ..verification.outcome import AuditedPoint
from .audits import audit_family
from .family import Family

__all__ = ["Stack"]

Vector = NDArray[np.float64]
_CHUNK = 1 << 22  # elements of the matrices that are worked on at a time
_CLEAR = 1e-8  # relative violations up to which a program need not be audited alone


@dataclass
class Stack:
    """k programs of m rows and n variables, as minimizations.

    Attributes
    ----------
    problems : sequence of LinearProgram
    A : ndarray, shape (k, m, n)
    c, lower, upper : ndarray, shape (k, n)
    row_lower, row_upper : ndarray, shape (k, m)
    column_scale, column_shift : ndarray, shape (k, n)
        Of the standard forms; see :class:`~engine.solvers.linprog.forms.standard.Prepared`.
    row_scale : ndarray, shape (k, m)
    """

    problems: Sequence[LinearProgram]

    def __post_init__(self) -> None:
        family = self._family = Family.of(self.problems)
        self.A, self.c = np.broadcast_to(family.A, (len(family), *family.A.shape[1:])), family.c
        self.lower, self.upper = family.lower, family.upper
        self.row_lower, self.row_upper = family.row_lower, family.row_upper
        self.row_scale, self.column_scale = np.ones(self.row_lower.shape), np.ones(self.c.shape)
        self.column_shift = np.zeros(self.c.shape)

    def _chunks(self, count: int) -> Iterator[slice]:
        step = max(1, _CHUNK // max(1, self.A[0].size))
        for begin in range(0, count, step):
            yield slice(begin, min(begin + step, count))

    # --- standard forms -----------------------------------------------------------------------------------------

    def prepared(self, scale: bool) -> list[Prepared | None]:
        """The standard form of each program; None for one of which rows or variables have to be removed."""
        found: list[Prepared | None] = []
        for chunk in self._chunks(len(self.problems)):
            found += self._prepared(chunk, scale)
        return found

    def _prepared(self, chunk: slice, scale: bool) -> list[Prepared | None]:
        a, lower, upper = self.A[chunk], self.lower[chunk], self.upper[chunk]
        low, high = self.row_lower[chunk], self.row_upper[chunk]
        sizes = np.abs(a)
        in_rows, in_columns = sizes.max(axis=2), sizes.max(axis=1)
        usual = (in_rows > 0.0).all(axis=1) & (in_columns > 0.0).all(axis=1) & (lower < upper).all(axis=1)
        usual &= ~(np.isneginf(low) & np.isposinf(high)).any(axis=1)
        if scale:
            near = (in_rows.min(axis=1) > 0.25) & (in_columns.min(axis=1) > 0.25)
            usual &= near & (in_rows.max(axis=1) < 64.0) & (in_columns.max(axis=1) < 64.0)
        mirrored = np.isneginf(lower) & np.isfinite(upper)
        free = np.isneginf(lower) & np.isposinf(upper)
        shift = self.column_shift[chunk] = np.where(free, 0.0, np.where(mirrored, upper, lower))
        signs = self.column_scale[chunk] = np.where(mirrored, -1.0, 1.0)
        shifted = np.matmul(a, shift[:, :, None])[:, :, 0]
        low, high = low - shifted, high - shifted
        from_above, equal = np.isfinite(high), low == high
        b = np.where(from_above, high, low)
        sign = np.where(equal, 0.0, np.where(from_above, 1.0, -1.0))
        with np.errstate(invalid="ignore"):
            slack_upper = np.where(equal, np.inf, np.where(from_above, high - low, np.inf))
            top = np.where(free | mirrored, np.inf, upper - lower)
        matrices = a * signs[:, None, :] if mirrored.any() else a
        costs = self.c[chunk] * signs
        rows, columns = np.arange(a.shape[1]), np.arange(a.shape[2])
        nothing = np.zeros(a.shape[2])
        return [
            Prepared(
                problem=self.problems[chunk.start + k],
                standard=Standard(matrices[k], b[k], costs[k], top[k], free[k], sign[k], slack_upper[k]),
                rows=rows,
                columns=columns,
                values=nothing,
                column_scale=signs[k],
                column_shift=shift[k],
                row_scale=self.row_scale[chunk.start + k],
            )
            if usual[k]
            else None
            for k in range(a.shape[0])
        ]

    # --- audits -------------------------------------------------------------------------------------------------

    def audited(self, chosen: NDArray[np.int64], x: Vector, y: Vector) -> list[AuditedPoint]:
        """Audits of points of the standard forms of some programs.

        Parameters
        ----------
        chosen : ndarray of int, shape (count,)
            Places of the programs in the stack.
        x : ndarray, shape (count, n)
            Values of the standard forms.
        y : ndarray, shape (count, m)
        """
        found: list[AuditedPoint] = []
        for chunk in self._chunks(chosen.size):
            found += self._audited(chosen[chunk], x[chunk], y[chunk])
        return found

    def _audited(self, chosen: NDArray[np.int64], x: Vector, y: Vector) -> list[AuditedPoint]:
        x = self.column_shift[chosen] + self.column_scale[chosen] * x
        found = audit_family(self._family, chosen, x, self.row_scale[chosen] * y)
        clear = (np.maximum(found.primal_infeasibility, found.dual_infeasibility) <= _CLEAR) & np.isfinite(found.error)
        points = []
        for k, position in enumerate(chosen.tolist()):
            if not clear[k]:
                points.append(AuditedPoint.of(self.problems[position], found.x[k], found.y[k]))
                continue
            audit = Audit(
                primal=float(found.primal[k]),
                dual=float(found.dual[k]),
                objective_error=float(found.objective_error[k]),
                primal_infeasibility=float(found.primal_infeasibility[k]),
                dual_infeasibility=float(found.dual_infeasibility[k]),
                activities=found.activities[k],
                reduced_costs=found.reduced_costs[k],
                size=float(found.size[k]),
            )
            points.append(AuditedPoint(found.x[k], found.y[k], audit))
        return points
