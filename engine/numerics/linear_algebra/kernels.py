"""The provider ``"kernels"``: blocked products, Cholesky factors and triangular solves in the common dialect.

Cholesky by blocks of 64 columns (Golub and Van Loan, *Matrix Computations*, 4th ed., section 4.2.9). Where groups have
many work-items a launch updates and finishes a block of columns, and what is to the right of them is updated after each
second block; inverses of the blocks on the diagonal are kept above it, so that the triangular solves, by spans of 256
unknowns, are products. Products are tiles in local memory, cut along the inner dimension too where there are too few
tiles for the device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Literal

from engine.devices import Buffer, Device
from engine.numerics.groups import group_size
from engine.numerics.linear_algebra.base import LinearAlgebra, Provider

__all__ = ["Kernels", "kernel_variants"]

_SIZE = 64
_ADDED = 80.0  # about as many products take as long as writing a partial sum and reading it again
_OUTER = 128  # columns after which what is to the right of them is updated, by kernels of many work-items a group
_ROWS = 16
_PANEL = ("buffer", "int64", "int64", "int64", "int32", "buffer", "buffer")
_PRODUCT = (
    *("buffer", "int64", "int64", "int64"),
    *("buffer", "int64", "int64"),
    *("buffer", "int64", "int64", "int64"),
    *("buffer", "int64", "int64", "int64"),
    *("int64", "int64", "int64", "int32", "int32", "int32"),
    *("int64", "int32", "int64", "float64", "float64", "buffer"),
)
_TYPES = {"float64": "f64", "float32": "f32"}
_LARGE: dict[str, int] = {"tile": 128, "each": 8, "depth": 8, "block": 256, "tensor": 0}
_SMALL: dict[str, int] = {"tile": 64, "each": 4, "depth": 16, "block": 256, "tensor": 0}
_SERIAL: dict[str, int] = {"tile": 64, "each": 64, "depth": 128, "block": 1, "tensor": 0}
_TENSOR = ((1, (8, 0), (99, 0)), (2, (9, 0), (12, 0)))  # kinds of the tensor cores' product; from, below


class Kernels(LinearAlgebra):
    """Our own kernels; see :class:`LinearAlgebra`.

    On NVIDIA's devices of compute capability 8.0 on, products go through the tensor cores' float64 units, in both
    backends.
    ``block`` is 1 for kernels of one work-item a group, made for CPUs, or 256; the device's own choice by default.
    """

    provider: Provider = "kernels"

    def __init__(self, device: Device, block: int | None = None) -> None:
        super().__init__(device)
        self._block = block or group_size(device.capabilities)
        self._units = device.capabilities.compute_units
        architecture = device.capabilities.compute_capability
        self._tensor = 0
        if self._block == 256 and architecture is not None:
            self._tensor = max((kind for kind, first, end in _TENSOR if first <= architecture < end), default=0)

    def _gram(self, matrix: Buffer, scale: Buffer | None, out: Buffer, batch: int, m: int, n: int) -> None:
        a = (matrix, 0, n, m * n)
        self._product(a, scale, n, a, (out, 0, m, m * m), (batch, m, m, n), lower=True, transpose_b=True)

    def _gram_columns(self, matrix: Buffer, scale: Buffer | None, out: Buffer, batch: int, rows: int, p: int) -> None:
        a = (matrix, 0, p, rows * p)
        self._product(a, scale, rows, a, (out, 0, p, p * p), (batch, p, p, rows), lower=True, transpose_a=True)

    def _matmul(
        self,
        a: Buffer,
        b: Buffer,
        out: Buffer,
        batch: int,
        m: int,
        n: int,
        k: int,
        transpose_a: bool,
        transpose_b: bool,
        alpha: float,
        beta: float,
    ) -> None:
        self._product(
            (a, 0, m if transpose_a else k, m * k),
            None,
            0,
            (b, 0, k if transpose_b else n, n * k),
            (out, 0, n, m * n),
            (batch, m, n, k),
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            alpha=alpha,
            beta=beta,
        )

    def _product(
        self,
        a: tuple[Buffer, int, int, int],
        scale: Buffer | None,
        scale_batch: int,
        b: tuple[Buffer, int, int, int],
        c: tuple[Buffer, int, int, int],
        sizes: tuple[int, int, int, int],
        *,
        lower: bool = False,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        """``C = alpha op(A) diag(scale) op(B) + beta C``; matrices are (buffer, start, row length, batch stride)."""
        batch, m, n, k = sizes
        shape = self._shape(batch, m, n, lower)
        constants: dict[str, Any] = {**shape, "value": _TYPES[a[0].dtype.name]}
        tiles = _tiles(m, n, shape["tile"], lower)
        splits, part = self._splits(tiles * batch, k, batch * m * n, shape["depth"])
        partial = self._scratch_of("partial", batch * splits * m * n) if splits > 1 else c[0]
        kernel = self.device.kernel("numerics/product", "multiply", _PRODUCT, **constants)
        self.device.launch(
            kernel,
            tiles * splits * batch,
            shape["block"],
            *a,
            scale if scale is not None else c[0],
            0,
            scale_batch,
            *b,
            *c,
            m,
            n,
            k,
            int(lower),
            int(scale is not None),
            int(transpose_a) + 2 * int(transpose_b),
            tiles,
            splits,
            part,
            alpha,
            beta,
            partial,
        )
        if splits > 1:
            types = (
                *("buffer", "int32", "float64", "float64"),
                *("buffer", "int64", "int64", "int64", "int64", "int64", "int32"),
            )
            add = self.device.kernel("numerics/product", "add_parts", types, **constants)
            self.device.launch(add, batch * m, shape["block"], partial, splits, alpha, beta, *c, m, n, int(lower))

    def _shape(self, batch: int, m: int, n: int, lower: bool) -> dict[str, int]:
        if self._block == 1:
            return _SERIAL
        enough = batch * _tiles(m, n, _LARGE["tile"], lower) >= self._units
        return {**(_LARGE if enough else _SMALL), "tensor": self._tensor}

    def _splits(self, tiles: int, k: int, elements: int, depth: int) -> tuple[int, int]:
        """How many parts the inner dimension is cut into, and its length in one."""
        most = max(1, min(k // (8 * depth), 64, (1 << 27) // max(1, elements)))
        if self._block == 1:
            splits = min(most, max(1, 2 * self._units // max(1, tiles)))
        else:
            splits = _parts(max(1, tiles), k, most, self._units)
        part = -(-k // splits)
        part = max(depth, -(-part // depth) * depth)
        return max(1, -(-k // part)), part

    def _cholesky(self, matrix: Buffer, status: Buffer, batch: int, n: int) -> None:
        outer = _SIZE if self._block == 1 else _OUTER
        launch = self._panel(matrix, status, batch, n)
        for since in range(0, n, outer):
            end = min(since + outer, n)
            for first in range(since, end, _SIZE):
                launch(first, since)
            if end < n:
                left = (matrix, end * n + since, n, n * n)
                target = (matrix, end * n + end, n, n * n)
                sizes = (batch, n - end, n - end, end - since)
                self._product(left, None, 0, left, target, sizes, lower=True, transpose_b=True, alpha=-1.0, beta=1.0)

    def _panel(self, matrix: Buffer, status: Buffer, batch: int, n: int) -> Callable[[int, int], None]:
        """What finishes the columns from ``first`` on, where those from ``since`` on are not yet taken out of them."""
        kernel, launch = self.device.kernel, self.device.launch
        if self._block == 1:
            self.device.zero(status)
            types = ("buffer", "int64", "int64", "int32")
            factor = kernel("numerics/cholesky", "factor_diagonal", (*types, "buffer"), size=_SIZE, block=1)
            panel = kernel("numerics/cholesky", "solve_panel", types, size=_SIZE, block=1)

            def in_turn(first: int, since: int) -> None:
                count = min(_SIZE, n - first)
                launch(factor, batch, 1, matrix, n, first, count, status)
                if first + count < n:
                    groups = -(-(n - first - count) // _ROWS)
                    launch(panel, batch * groups, 1, matrix, n, first, groups)

            return in_turn

        both = kernel("numerics/cholesky", "factor_panel", _PANEL, size=_SIZE, block=self._block)
        diagonal = self._scratch_of("diagonal", batch * 2 * _SIZE**2)

        def at_once(first: int, since: int) -> None:
            tiles = max(0, -(-(n - first) // _SIZE) - 1)
            groups = tiles + 1 + (first > 0)
            launch(both, batch * groups, 2 * _SIZE, matrix, n, first, since, groups, diagonal, status)

        return at_once

    def _solve(
        self,
        factor: Buffer,
        rhs: Buffer,
        rows: int,
        per_factor: int,
        n: int,
        which: Literal["lower", "transposed", "both"],
    ) -> None:
        types = ("buffer", "buffer", "int64", "int64", "int32", "int32")
        entries = {
            "lower": ("solve_lower",),
            "transposed": ("solve_lower_transposed",),
            "both": ("solve_lower", "solve_lower_transposed"),
        }[which]
        for entry in entries:
            kernel = self.device.kernel("numerics/triangular", entry, types, size=_SIZE, block=self._block)
            if self._block == 1:
                self.device.launch(kernel, rows, 1, factor, rhs, n, per_factor, 0, 1)
                continue
            blocks = -(-n // self._block)
            order = range(blocks) if entry == "solve_lower" else range(blocks - 1, -1, -1)
            for step, block in enumerate(order):
                done = -1 if step == 0 else (block - 1 if entry == "solve_lower" else block + 1)
                groups = 1 if step == 0 else blocks - step
                self.device.launch(kernel, rows * groups, self._block, factor, rhs, n, per_factor, done, groups)

    def _matvec(
        self,
        matrix: Buffer,
        vector: Buffer,
        out: Buffer,
        batch: int,
        m: int,
        n: int,
        transposed: bool,
        alpha: float,
        beta: float,
    ) -> None:
        constants: dict[str, Any] = {"value": _TYPES[matrix.dtype.name], "block": self._block, "strands": self._block}
        if not transposed:
            row_types = ("buffer", "int64", "int64", "buffer", "float64", "float64", "buffer")
            kernel = self.device.kernel("numerics/vector", "multiply_rows", row_types, **constants)
            grid = batch * m if self._block > 1 else batch * -(-m // 16)
            self.device.launch(kernel, grid, self._block, matrix, m, n, vector, alpha, beta, out)
            return
        types = ("buffer", "int64", "int64", "buffer", "int64", "int64", "float64", "float64", "buffer", "buffer")
        kernel = self.device.kernel("numerics/vector", "multiply_columns", types, **constants)
        if self._block == 1:
            grid = batch * -(-n // 256)
            self.device.launch(kernel, grid, 1, matrix, m, n, vector, 1, m, alpha, beta, out, out)
            return
        strips = -(-n // 64)
        parts = max(1, min(8 * self._units // max(1, strips * batch), m // 32))
        span = -(-m // parts)
        parts = max(1, -(-m // max(1, span)))
        partial = self._scratch_of("columns", batch * parts * n) if parts > 1 else out
        self.device.launch(
            kernel, batch * strips * parts, self._block, matrix, m, n, vector, parts, span, alpha, beta, partial, out
        )
        if parts > 1:
            add_types = ("buffer", "int64", "int64", "int64", "float64", "float64", "buffer")
            add = self.device.kernel("numerics/vector", "add_columns", add_types, **constants)
            groups = -(-batch * n // self._block)
            self.device.launch(add, groups, self._block, partial, parts, n, batch * n, alpha, beta, out)


@functools.lru_cache(maxsize=256)
def _parts(tiles: int, k: int, most: int, units: int) -> int:
    """Into how many parts, ``most`` at most, sums of ``k`` products are cut; as many tiles as units go at a time."""

    def cost(parts: int) -> float:
        """Time, where 1 is that of the products alone with every unit at work."""
        turns = -(-tiles * parts // units)
        return turns * units / (tiles * parts) + (_ADDED * parts / k if parts > 1 else 0.0)

    best = min(range(1, most + 1), key=cost)
    return best if cost(best) < 0.9 * cost(1) else 1


def _tiles(m: int, n: int, tile: int, lower: bool) -> int:
    rows = -(-m // tile)
    return rows * (rows + 1) // 2 if lower else rows * -(-n // tile)


def kernel_variants() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template and set of constants used here."""
    shapes = [{**shape, "tensor": tensor} for shape in (_LARGE, _SMALL) for tensor in (0, 1, 2)]
    for shape in (*shapes, _SERIAL):
        for value in ("f64", "f32"):
            yield "numerics/product", {**shape, "value": value}
    yield "numerics/triangle", {}
    for block in (1, 256):
        yield "numerics/cholesky", {"size": _SIZE, "block": block}
        yield "numerics/triangular", {"size": _SIZE, "block": block}
        for value in ("f64", "f32"):
            yield "numerics/vector", {"value": value, "block": block, "strands": block}
