"""What the search for lines asks of the columns of a sparse design, from their entries alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .features import sparse_rows
from .matrix import Design

__all__ = ["SparseColumns"]

Floats = NDArray[np.float64]


class SparseColumns:
    """The active columns of a design, and their usual values in the units of X."""

    def __init__(self, design: Design, usual: Floats) -> None:
        self._design, self._usual = design, usual
        self.rows = design.layout.rows
        self._entries = sparse_rows(design.problem.X, 0, self.rows).tocsc()[:, design.active]
        self._sign = design.signs(0, self.rows)

    def _column(self, j: int) -> tuple[NDArray[np.int64], Floats]:
        """Rows with an entry, and the entries."""
        entries = self._entries
        own = slice(int(entries.indptr[j]), int(entries.indptr[j + 1]))
        return entries.indices[own].astype(np.int64), entries.data[own].astype(np.float64)

    def informative_rows(self, weights: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """(sum w z^2)^2 / sum w z^4, z the distance from the usual value; whether only one class is not at that."""
        entries, count, scale = self._entries, len(self._usual), self._design.scale
        column = np.repeat(np.arange(count), np.diff(entries.indptr))
        w = weights[: self.rows]
        own = w[entries.indices]
        z = (entries.data - self._usual[column]) / scale[column]
        elsewhere = -self._usual / scale  # of the rows without an entry
        rest = w.sum() - np.bincount(column, own, minlength=count)

        def moment(power: int) -> Floats:
            found = np.bincount(column, own * z**power, minlength=count) + rest * elsewhere**power
            return np.asarray(found)

        if self._design.family.targeted:
            return moment(2) ** 2 / np.maximum(moment(4), 1e-300), np.zeros(count, bool)
        seen = []
        for value in (-1.0, 1.0):
            of_class = self._sign[entries.indices] == value
            zeros = int((self._sign == value).sum()) - np.bincount(column, of_class, minlength=count)
            away = np.bincount(column, of_class & (z != 0), minlength=count) > 0
            seen.append(away | ((zeros > 0.5) & (elsewhere != 0)))
        return moment(2) ** 2 / np.maximum(moment(4), 1e-300), np.logical_not(seen[0] & seen[1])

    def _combined(self, columns: NDArray[np.int64], factors: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Rows that have an entry in one of the columns, and the sum of entries times factors."""
        parts = [self._column(int(j)) for j in columns]
        rows, place = np.unique(np.concatenate([rows for rows, _ in parts]), return_inverse=True)
        values = np.concatenate([factor * data for factor, (_, data) in zip(factors, parts, strict=True)])
        return rows, np.bincount(place, values, minlength=len(rows)).astype(np.float64)

    def along(
        self, columns: NDArray[np.int64], weight: Floats, anchored: bool, flat: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows whose margin a line changes by more than ``flat`` times its largest weight, and by how much."""
        factors = weight / self._design.scale[columns]
        usual = self._usual[columns] if anchored else np.zeros(len(columns))
        rows, values = self._combined(columns, factors)
        base = float(factors @ usual)
        limit = flat * float(np.abs(weight).max())
        if abs(base) > limit:  # the rows without an entry change too
            full = np.full(self.rows, -base)
            full[rows] += values
            rows, values = np.arange(self.rows), full
        else:
            values = values - base
        kept = np.abs(values) > limit
        return rows[kept], (values[kept] * self._sign[rows[kept]]).astype(np.float32)

    def changes(self, columns: NDArray[np.int64], weight: Floats) -> tuple[float, float]:
        """The largest change of a margin along a line, the intercept's share included, and of a term of it."""
        factors = weight / self._design.scale[columns]
        rows, values = self._combined(columns, factors)
        base = float(factors @ self._design.mean[columns])
        worst = float(np.abs(values - base).max(initial=abs(base) if len(rows) < self.rows else 0.0))
        largest = 1e-300
        for j, factor in zip(columns.tolist(), factors, strict=True):
            ends = np.array([self._design.entries.low[j], self._design.entries.high[j], 0.0]) - self._design.mean[j]
            largest = max(largest, float(np.abs(factor * ends).max()))
        return worst, largest
