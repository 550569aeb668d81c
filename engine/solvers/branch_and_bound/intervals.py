"""Work units as intervals of the factorial number system.

The n! leaves of a permutation tree are numbered from left to right. A number has one digit per level, the rank of the
chosen item among those still open (ascending), so digit l is 0 to n - 1 - l and weighs (n - 1 - l)!. A work unit is an
interval [begin, end) of leaves; ``end`` may be n! itself, written as the digit n at level 0.

Units are *aligned*: behind the first level where ``end`` differs from ``begin``, ``end`` is zero. Every split made
while searching keeps that, which is what lets one bit mask per level stand for an interval. Any other interval is a
few aligned ones.

``fresh`` of a unit is the level of its first node that has not been decomposed: nodes of the path to ``begin`` above
that level were counted by another unit. Thus a node is counted once however the tree is cut.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .masks import Masks, digit_type, index_of_lowest

_AT_ONCE = 1024  # intervals that are read together

Digits = NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False)
class Units:
    """Several work units: ``begin`` and ``end``, shape (units, n), ``fresh``, shape (units,), of ``digit_type``."""

    begin: Digits
    end: Digits
    fresh: Digits

    def __len__(self) -> int:
        return len(self.begin)

    def __getitem__(self, index: slice | NDArray[np.intp]) -> Units:
        return Units(self.begin[index], self.end[index], self.fresh[index])

    @classmethod
    def none(cls, n: int) -> Units:
        """No units of a problem of ``n`` items."""
        digit = digit_type(n)
        return cls(np.zeros((0, n), digit), np.zeros((0, n), digit), np.zeros(0, digit))

    @classmethod
    def joined(cls, parts: Sequence[Units]) -> Units:
        """All units of the parts, in order."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("begin", "end", "fresh")))

    @classmethod
    def unpacked(cls, packed: Digits, n: int) -> Units:
        """Units from rows of begin, end and fresh, shape (units * (2 n + 1),); the inverse of :meth:`packed`."""
        rows = packed.reshape(-1, 2 * n + 1)
        return cls(*(np.ascontiguousarray(part) for part in (rows[:, :n], rows[:, n:-1], rows[:, -1])))

    def packed(self) -> Digits:
        """The units as rows of begin, end and fresh, as kernels take them."""
        return np.concatenate([self.begin, self.end, self.fresh[:, None]], axis=1).ravel()

    def length(self) -> int:
        """Leaves in all units together, exactly."""
        levels = self.end.sum(axis=0, dtype=np.int64) - self.begin.sum(axis=0, dtype=np.int64)
        return length_of_levels(levels)


def length_of_levels(levels: NDArray[np.int64]) -> int:
    """The number whose digit sums by level are ``levels``, which may be negative and larger than digits."""
    number = 0
    for radix, level in zip(range(len(levels), 0, -1), levels.tolist(), strict=True):
        number = number * radix + level
    return number


def digits_of(number: int, n: int) -> Digits:
    """The digit vector, shape (n,), of a leaf number from 0 to n!; ValueError outside that range."""
    if not 0 <= number <= math.factorial(n):
        raise ValueError(f"a leaf number must be 0 to {n}!; got {number}")
    digits = [0] * n
    for radix in range(1, n):  # of the last level first
        number, digits[n - radix] = divmod(number, radix)
    if n:
        digits[0] = number
    return np.array(digits, digit_type(n))


def cut(n: int, depth: int) -> Units:
    """All n!/(n - depth)! subtrees at a level, left to right; together they count every node once."""
    pieces = math.perm(n, depth)
    digit = digit_type(n)
    begin = np.zeros((pieces, n), digit)
    if depth:
        sizes = [n - level for level in range(depth)]
        begin[:, :depth] = np.indices(sizes, dtype=digit).reshape(depth, -1).T
    end = begin.copy()
    if depth:
        end[:, depth - 1] += 1
    else:
        end[0, 0] = n
    # fresh: the shallowest level whose node has `begin` for its first leaf, the one behind its last digit above 0
    return Units(begin, end, ((begin > 0) * np.arange(1, n + 1)).max(axis=1, initial=0).astype(digit))


def positions(rows: Masks, depths: NDArray[np.int32]) -> Digits:
    """Where searches stand, as digit vectors of shape (units, n).

    ``rows``, shape (n, units, words), are a set per level: the open items there, of which the first is the chosen one.
    ``depths``, shape (units,), are the levels of the nodes to decompose next; the rows above them count.
    """
    item = digit_type(8 * rows.dtype.itemsize * rows.shape[-1] - 1)
    digits = np.zeros(rows.shape[1::-1], item)
    by_depth = np.argsort(depths)
    for begin in range(0, len(digits), _AT_ONCE):  # what a cache holds
        part = by_depth[begin : begin + _AT_ONCE]
        chosen = index_of_lowest(np.ascontiguousarray(rows[: depths[part[-1]], part])).astype(item)
        for level, items in enumerate(chosen):
            below = (chosen[:level] < items).sum(axis=0, dtype=item)
            digits[part, level] = np.where(level < depths[part], items - below, 0)
    return digits
