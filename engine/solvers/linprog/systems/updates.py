"""The paper's linear system: updates of ``(A A^T)^-1`` by one column after another, or in blocks.

In the paper's order the updates lose all accuracy where the entries of D differ widely, as they do near an optimum.
Here columns are taken by descending d, D is divided by its geometric mean, and solutions are refined and checked.
After N. Egidi, P. Maponi, "A Sherman-Morrison approach to the solution of linear systems", J. Comput. Appl. Math. 189
(2006) 703-718.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ....devices import Capabilities, Device
from ....numerics.groups import group_size
from ....numerics.linear_algebra import LinearAlgebra
from ....numerics.memory import Memory
from .base import DenseSystem, FactorStatistics, LinearSystem

if TYPE_CHECKING:
    from ..interior.system import System

Vector = NDArray[np.float64]
_RESIDUAL = 1e-6  # largest relative residual of the updates at which a direction is used
_REFINEMENTS = 2  # of a solution by updates, before its residual is judged


class UpdateSystem(LinearSystem):
    """Sherman-Morrison updates while they are accurate, then Cholesky factors; theta = 1 needs no update."""

    def __init__(self, shards: System, block: int, warn: Callable[[str], None]) -> None:
        self._shards, self._block, self._warn = shards, block, warn
        self._dense = DenseSystem(shards)
        self._updates: ShermanMorrison | None = None
        self._is_given_up = self._is_dense = False
        self._theta: Vector = np.zeros(0)
        self._regularisation = 0.0, 0.0
        self._solves, self._residual = 0, 0.0

    @override
    def form(self) -> None:
        self._theta = self._shards.get_theta()
        self._is_dense = self._is_given_up or bool((self._theta == 1.0).all())
        if self._is_dense:
            self._dense.form()

    @override
    def factor(self, relative: float, absolute: float) -> int:
        self._regularisation = relative, absolute
        if self._is_dense:
            return self._dense.factor(relative, absolute)
        if self._updates is None:
            self._updates = self._shards.on_first(self._begin)
            if not self._updates.sound:
                return self._give_up("A A^T is not positive definite")
        updates = self._updates
        self._shards.on_first(lambda _: updates.update(self._theta))
        return 0

    def _begin(self, shard: Any) -> ShermanMorrison:
        data = shard.data
        dense = np.asarray(data.A) if isinstance(data.A, np.ndarray) else data.A.toarray()
        slacks = np.zeros((data.slack_rows.size, data.m))
        slacks[np.arange(data.slack_rows.size), data.slack_rows] = data.slack_signs
        updates = ShermanMorrison(shard.device, shard.algebra, np.concatenate([dense.T, slacks]), self._block)
        shard.owned.append(updates)
        return updates

    def _give_up(self, reason: str) -> int:
        self._is_given_up = True
        self._warn(f"{reason}: Cholesky factors are used from here on")
        self.form()
        return self._dense.factor(*self._regularisation)

    @override
    def solve(self, rhs: Vector) -> Vector:
        if self._is_dense:
            return self._dense.solve(rhs)
        updates = self._updates
        assert updates is not None

        def by_updates(values: Vector) -> Vector:
            found: Vector = self._shards.on_first(lambda _: updates.solve(values))
            return found

        size = max(float(np.abs(rhs).max(initial=0.0)), 1e-300)
        found = by_updates(rhs)
        best, least = found, np.inf
        for step in range(_REFINEMENTS + 1):
            residual = rhs - self._shards.normal(found)
            error = float(np.abs(residual).max(initial=0.0)) / size
            if not np.isfinite(error) or error >= least:
                break
            best, least = found, error
            if error < 1e-12 or step == _REFINEMENTS:
                break
            found = found + by_updates(residual)
        self._solves += 1
        if least <= _RESIDUAL:
            self._residual = max(self._residual, least)
            return best
        self._give_up(f"the updates left a relative residual of {least:.1e} after {_REFINEMENTS} refinements")
        return self._dense.solve(rhs)

    @override
    def statistics(self) -> FactorStatistics:
        return FactorStatistics(update_solves=self._solves, update_residual=self._residual)

    @override
    def close(self) -> None:
        """The shard owns everything."""


_ITEMS = (4, 8, 16)
_ROWS = 4


def updates_bytes(m: int, columns: int) -> int:
    """Bytes that :class:`ShermanMorrison` takes on its device in addition to the shard."""
    return 4 * 8 * m * columns + 8 * columns * 256 + 8 * m * m


class ShermanMorrison:
    """The inverse of A D A^T for changing D; used on the device's thread."""

    def __init__(self, device: Device, algebra: LinearAlgebra, columns: Vector, block: int) -> None:
        self.device = device
        self.algebra = algebra
        self._count, self._m = columns.shape
        self._k = min(block, self._count)
        self._group_size = group_size(device.capabilities)
        fits = [items for items in _ITEMS if self._m <= items * self._group_size]
        self._items = fits[0] if fits else _ITEMS[-1]
        n, m, k = self._count, self._m, self._k
        constants = {"block": self._group_size, "items": self._items, "rows": _ROWS}
        self._kernels = device.program("linprog/sherman_morrison", **constants)
        self._memory = memory = Memory(device)
        self._columns = memory.put(np.ascontiguousarray(columns))
        self._first = memory.put(np.ascontiguousarray(columns))  # becomes (A A^T)^-1 A
        self._v = memory.empty((n, m))
        self._w = memory.empty((n, m))
        self._block_v, self._block_w = memory.empty((k, m)), memory.empty((k, m))
        self._block_inverse = memory.empty((k, k))
        self._inverses = memory.empty((n, k))  # of each block, from its first row on
        self._s, self._t = memory.empty((k, k)), memory.empty((n, k))
        self._u = memory.empty((n, k))
        self._order, self._scale = memory.empty(n, np.int32), memory.empty((n,))
        self._small, self._x = memory.empty((k,)), memory.empty((m,))
        self._factor = memory.empty((m, m))
        status = memory.empty(1, np.int32)
        algebra.gram_columns(self._columns, None, self._factor)
        diagonal = float(np.einsum("ij,ij->j", columns, columns).max(initial=1.0))
        self._regularise(1e-14 * diagonal)
        algebra.cholesky(self._factor, status)
        self.sound = not device.get(status).any()
        algebra.solve(self._factor, self._first)
        self._gamma = 1.0

    def close(self) -> None:
        """Release everything."""
        self._memory.release()

    def _regularise(self, amount: float) -> None:
        matrix = self.device.program("linprog/matrix", block=self._group_size)
        grid = -(-self._m // 256)
        matrix.regularise(grid, self._group_size, m=self._m, relative=0.0, absolute=amount, M=self._factor)

    def update(self, d: Vector) -> None:
        """Take D (N,), above zero: all updates, by descending d, which is from the last row stored to the first."""
        self._gamma = float(np.exp(np.log(d).mean()))
        relative = d / self._gamma
        order = np.argsort(relative, kind="stable").astype(np.int32)
        n, m, k = self._count, self._m, self._k
        self.device.put(order, self._order)
        self.device.put(relative[order] - 1.0, self._scale)
        gather = self._kernels.gather_rows.bind(m=m, order=self._order, scale=self._scale)
        gather(n, self._group_size, rows=self._first, scaled=0, W=self._w)
        gather(n, self._group_size, rows=self._columns, scaled=1, W=self._v)
        if k == 1:
            rank_one = self._kernels.update_rows.bind(m=m, V=self._v, W=self._w, inverses=self._inverses)
            for row in range(n - 1, -1, -1):
                rank_one(max(1, -(-row // _ROWS)), self._group_size, l=row)
            return
        for first, count in self._blocks():
            self._block(first, count)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """(first row, rows) of each block, from the last stored on."""
        end = self._count
        while end > 0:
            first = max(0, end - self._k)
            yield first, end - first
            end = first

    def _block(self, first: int, count: int) -> None:
        """S^-1 of a block, and the update of the columns before it."""
        m = self._m
        v, w = replace(self._block_v, shape=(count, m)), replace(self._block_w, shape=(count, m))
        self.device.copy(v, self._v, 0, first * m, count * m)
        self.device.copy(w, self._w, 0, first * m, count * m)
        s = replace(self._s, shape=(count, count))
        self.algebra.matmul(v, w, s, transpose_b=True)
        at = first * self._k
        self._kernels.invert_block(1, self._group_size, k=count, S=s, at=at, inverses=self._inverses)
        if first:
            inverse = replace(self._block_inverse, shape=(count, count))
            self.device.copy(inverse, self._inverses, 0, first * self._k, count * count)
            rest = replace(self._w, shape=(first, m))
            t, u = replace(self._t, shape=(first, count)), replace(self._u, shape=(first, count))
            self.algebra.matmul(rest, v, t, transpose_b=True)
            self.algebra.matmul(t, inverse, u, transpose_b=True)
            self.algebra.matmul(u, w, rest, alpha=-1.0, beta=1.0)

    def solve(self, rhs: Vector) -> Vector:
        """Solve by the updates for a right-hand side (m,)."""
        m = self._m
        x = self.device.put(rhs, self._x)
        self.algebra.solve(self._factor, x)
        products = self._kernels.block_products.bind(m=m, V=self._v, x=x, t=self._small)
        take = self._kernels.take_block.bind(m=m, W=self._w, inverses=self._inverses, t=self._small, x=x)
        groups = max(1, -(-m // 256))
        for first, count in self._blocks():
            products(count, self._group_size, first=first)
            take(groups, self._group_size, first=first, k=count, at=first * self._k)
        return self.device.get(x) / self._gamma


def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every set of constants used here on one device."""
    block = group_size(capabilities)
    for items in _ITEMS if block > 1 else _ITEMS[-1:]:
        yield "linprog/sherman_morrison", {"block": block, "items": items, "rows": _ROWS}
