"""Linear programs in exact integers: doubles, and sums and products of them, are integers times powers of two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
_SECONDS = 20.0


@dataclass(frozen=True)
class Exact:
    """Numbers as integers times ``2**unit``."""

    whole: NDArray[np.object_]
    unit: int

    @classmethod
    def of(cls, values: Vector) -> Exact:
        """Doubles, which must be finite."""
        if not np.isfinite(values).all():
            raise ValueError("a number is not finite")
        mantissas, exponents = np.frexp(np.asarray(values, np.float64))
        there = mantissas != 0.0
        unit = int(exponents[there].min(initial=0)) - 53
        shifts = np.where(there, exponents - 53 - unit, 0)
        return cls((mantissas * 2.0**53).astype(np.int64).astype(object) << shifts.astype(object), unit)

    def __mul__(self, other: Exact) -> Exact:
        return Exact(self.whole * other.whole, self.unit + other.unit)

    def __add__(self, other: Exact) -> Exact:
        unit = min(self.unit, other.unit)
        return Exact((self.whole << (self.unit - unit)) + (other.whole << (other.unit - unit)), unit)

    def __neg__(self) -> Exact:
        return Exact(-self.whole, self.unit)

    def __getitem__(self, chosen: NDArray[Any]) -> Exact:
        return Exact(self.whole[chosen], self.unit)

    def sum(self) -> Fraction:
        """Their sum."""
        return Fraction(sum(self.whole.tolist())) * Fraction(2) ** self.unit

    def floats(self) -> Vector:
        """The nearest doubles."""
        divisor = 1 << max(0, -self.unit)
        return np.array([(whole << max(0, self.unit)) / divisor for whole in self.whole.tolist()], np.float64)


@dataclass(frozen=True)
class Program:
    """Entries of the matrix by row and column, and the other data, as of a minimization."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    entries: Vector
    costs: Vector
    offset: float
    low: Vector
    high: Vector
    row_low: Vector
    row_high: Vector
    sign: int
    kinds: NDArray[Any]

    @classmethod
    def of(cls, data: Mapping[str, NDArray[Any]]) -> Program:
        """The program of a problem's arrays, of which the indices are checked."""
        if "A" in data:
            rows, columns = np.nonzero(data["A"])
            entries = data["A"][rows, columns]
        else:
            rows = np.repeat(np.arange(len(data["indptr"]) - 1), np.diff(data["indptr"]))
            columns, entries = data["indices"], data["data"]
        m, n = len(data["row_lower"]), len(data["c"])
        if len(rows) != len(columns) or len(columns) != len(entries):
            raise ValueError("the arrays of the matrix do not fit")
        if len(rows) and not (0 <= columns.min() <= columns.max() < n and rows.max() < m):
            raise ValueError("an entry of the matrix is outside of it")
        sign = -1 if bool(data["maximize"]) else 1
        kinds = data.get("integrality", np.zeros(len(data["c"]), np.uint8))
        sides = (data[name] for name in ("lower", "upper", "row_lower", "row_upper"))
        low, high, row_low, row_high = (np.asarray(side, np.float64) for side in sides)
        return cls(
            rows,
            columns,
            entries,
            sign * data["c"],
            sign * float(data["offset"]),
            low,
            high,
            row_low,
            row_high,
            sign,
            kinds,
        )

    def relaxed(self) -> Program:
        """The program with semi-continuous variables that may be anything from 0 on."""
        semi = self.kinds >= 2
        low, high = (
            np.where(semi, np.minimum(self.low, 0.0), self.low),
            np.where(semi, np.maximum(self.high, 0.0), self.high),
        )
        return Program(**{**self.__dict__, "low": low, "high": high})

    def times(self, x: Vector) -> tuple[Exact, Vector]:
        """The activities ``A x``, and the sums of the sizes of their terms."""
        return self.product(self.rows, self.columns, x, len(self.row_low))

    def reduced(self, y: Vector) -> tuple[Exact, Vector]:
        """The reduced costs ``c - A^T y``, and the sums of the sizes of their terms."""
        product, sizes = self.product(self.columns, self.rows, -y, len(self.costs))
        return Exact.of(self.costs) + product, sizes + np.abs(self.costs)

    def product(
        self, lines: NDArray[np.int64], others: NDArray[np.int64], v: Vector, size: int
    ) -> tuple[Exact, Vector]:
        """Sums over lines of entries times ``v`` of the other index, and of the sizes of these terms."""
        factors = v[others]
        exact, sums = Exact.of(self.entries) * Exact.of(factors), np.zeros(size, object)
        np.add.at(sums, lines, exact.whole)
        return Exact(sums, exact.unit), np.bincount(lines, np.abs(self.entries * factors), size).astype(np.float64)

    def feasible_point(self) -> Vector | None:
        """A point that satisfies all rows and bounds, by SciPy's HiGHS."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        shape = len(self.row_low), len(self.costs)
        matrix = csr_array((self.entries, (self.rows, self.columns)), shape=shape)
        rows = [LinearConstraint(matrix, self.row_low, self.row_high)] if shape[0] else []
        bounds, limit = Bounds(self.low, self.high), {"time_limit": _SECONDS}
        found = milp(np.zeros(shape[1]), integrality=self.kinds, bounds=bounds, constraints=rows, options=limit)
        return None if found.x is None else np.asarray(found.x, np.float64)


def outside(values: Exact, low: Vector, high: Vector) -> Vector:
    """How far each value is below its lower or above its upper limit, computed exactly, as the nearest double."""
    out = np.zeros(len(low))
    for sign, side in ((1, low), (-1, high)):
        there = np.isfinite(side)
        apart = Exact.of(sign * side[there]) + (-values[there] if sign > 0 else values[there])
        out[there] = np.maximum(out[there], apart.floats())
    return out


def dual_value(
    y: Vector, row_sides: tuple[Vector, Vector], reduced: Exact, sides: tuple[Vector, Vector]
) -> tuple[Fraction, Vector, Vector, float]:
    """Sides times duals plus bounds times reduced costs, exactly; those of a side that is not there are left out.

    Also how much of each reduced cost, and of each dual, is left out, and the sum of the sizes of all terms.
    """
    total, terms, left_out = Fraction(0), 0.0, []
    for values, (low, high) in ((reduced, sides), (Exact.of(y), row_sides)):
        floats = values.floats()
        side = np.where(floats > 0, low, high)
        there = np.isfinite(side)
        total += (values[there] * Exact.of(side[there])).sum()
        terms += float(np.abs(floats[there] * side[there]).sum())
        left_out.append(np.where(there, 0.0, np.abs(floats)))
    return total, left_out[0], left_out[1], terms
