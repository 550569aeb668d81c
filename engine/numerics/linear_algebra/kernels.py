"""The provider ``"kernels"``: blocked products, Cholesky factors and triangular solves in the common dialect.

Cholesky by blocks of 64 columns (Golub and Van Loan, *Matrix Computations*, 4th ed., section 4.2.9). Where groups have
many work-items a launch updates and finishes a block of columns, and what is to the right of them is updated after each
second block; inverses of the blocks on the diagonal are kept above it, so that the triangular solves, by spans of 256
unknowns, are products. Products are tiles in local memory, cut along the inner dimension too where there are too few
tiles for the device.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

from ...devices import Buffer, Capabilities, Device
from ...devices.kernels.variants import unique_variants
from ..groups import group_size
from .base import LinearAlgebra, Product, Provider, Side

_SIZE = 64
_ADDED = 80.0  # about as many products take as long as writing a partial sum and reading it again
_OUTER = 128  # columns after which what is to the right of them is updated, by kernels of many work-items a group
_ROWS = 16
_TYPES = {"float64": "f64", "float32": "f32"}
_LARGE: dict[str, int] = {"tile": 128, "each": 8, "depth": 8, "block": 256, "tensor": 0}
_SMALL: dict[str, int] = {"tile": 64, "each": 4, "depth": 16, "block": 256, "tensor": 0}
_SERIAL: dict[str, int] = {"tile": 64, "each": 64, "depth": 128, "block": 1, "tensor": 0}
_TENSOR = ((1, (8, 0), (99, 0)), (2, (9, 0), (12, 0)))  # kinds of the tensor cores' product; from, below


class Kernels(LinearAlgebra):
    """Our own kernels; on NVIDIA's devices from compute capability 8.0 on with the tensor cores' float64 units."""

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
        self.product(a, scale, n, a, (out, 0, m, m * m), (batch, m, m, n), lower=True, transpose_b=True)

    def _gram_columns(self, matrix: Buffer, scale: Buffer | None, out: Buffer, batch: int, rows: int, p: int) -> None:
        a = (matrix, 0, p, rows * p)
        self.product(a, scale, rows, a, (out, 0, p, p * p), (batch, p, p, rows), lower=True, transpose_a=True)

    def _matmul(self, a: Buffer, b: Buffer, out: Buffer, p: Product) -> None:
        self.product(
            (a, 0, p.m if p.transpose_a else p.k, p.m * p.k),
            None,
            0,
            (b, 0, p.k if p.transpose_b else p.n, p.n * p.k),
            (out, 0, p.n, p.m * p.n),
            (p.batch, p.m, p.n, p.k),
            transpose_a=p.transpose_a,
            transpose_b=p.transpose_b,
            alpha=p.alpha,
            beta=p.beta,
        )

    def product(
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
        """``C = alpha op(A) diag(scale) op(B) + beta C`` for parts of matrices in row-major buffers.

        ``a``, ``b``, ``c``: buffer, first element, row length, and the distance of one matrix of the batch from the
        next; ``scale``: factors of the inner dimension, ``scale_batch`` of them a matrix; they are not used if it is
        None; ``sizes``: matrices of the batch, rows and columns of C, and the inner dimension; ``lower``: whether only
        the lower triangle of a square C is written; ``alpha``, ``beta``: C is not read if beta is 0.
        """
        batch, m, n, k = sizes
        shape = self._shape(batch, m, n, lower)
        tiles = _tiles(m, n, shape["tile"], lower)
        splits, part = self._splits(tiles * batch, k, batch * m * n, shape["depth"])
        partial = self._scratch_of("partial", batch * splits * m * n) if splits > 1 else c[0]
        program = self.device.program("numerics/product", **shape, value=_TYPES[a[0].dtype.name])
        program.multiply(
            tiles * splits * batch,
            shape["block"],
            **_operand("A", a),
            s=scale if scale is not None else c[0],
            s_start=0,
            s_batch=scale_batch,
            **_operand("B", b),
            **_operand("C", c),
            M=m,
            N=n,
            K=k,
            lower=int(lower),
            scaled=int(scale is not None),
            turned=int(transpose_a) + 2 * int(transpose_b),
            tiles=tiles,
            splits=splits,
            part=part,
            alpha=alpha,
            beta=beta,
            partial=partial,
        )
        if splits > 1:
            program.add_parts(
                batch * m,
                shape["block"],
                partial=partial,
                splits=splits,
                alpha=alpha,
                beta=beta,
                **_operand("C", c),
                M=m,
                N=n,
                lower=int(lower),
            )

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

    def begin_gram(self, columns: int) -> None:
        """Begin to compile what :meth:`gram_columns` takes for so many columns of float64."""
        self.device.program("numerics/product", **self._shape(1, columns, columns, True), value="f64")

    def begin_factor(self) -> None:
        """Begin to compile what factorisations and solutions take."""
        for name in ("cholesky", "triangular"):
            self.device.program(f"numerics/{name}", size=_SIZE, block=self._block)

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
                self.product(left, None, 0, left, target, sizes, lower=True, transpose_b=True, alpha=-1.0, beta=1.0)

    def _panel(self, matrix: Buffer, status: Buffer, batch: int, n: int) -> Callable[[int, int], None]:
        """What finishes the columns from ``first`` on, where those from ``since`` on are not yet taken out of them."""
        program = self.device.program("numerics/cholesky", size=_SIZE, block=self._block)
        if self._block == 1:
            self.device.zero(status)

            def in_turn(first: int, since: int) -> None:
                count = min(_SIZE, n - first)
                program.factor_diagonal(batch, 1, A=matrix, n=n, first=first, count=count, status=status)
                if first + count < n:
                    groups = -(-(n - first - count) // _ROWS)
                    program.solve_panel(batch * groups, 1, A=matrix, n=n, first=first, groups=groups)

            return in_turn

        diagonal = self._scratch_of("diagonal", batch * 2 * _SIZE**2)
        factor = program.factor_panel.bind(A=matrix, n=n, diagonal=diagonal, status=status)

        def at_once(first: int, since: int) -> None:
            tiles = max(0, -(-(n - first) // _SIZE) - 1)
            groups = tiles + 1 + (first > 0)
            factor(batch * groups, 2 * _SIZE, first=first, since=since, groups=groups)

        return at_once

    def _solve(self, factor: Buffer, rhs: Buffer, rows: int, per_factor: int, n: int, side: Side) -> None:
        program = self.device.program("numerics/triangular", size=_SIZE, block=self._block)
        names = {
            "lower": ("solve_lower",),
            "transposed": ("solve_lower_transposed",),
            "both": ("solve_lower", "solve_lower_transposed"),
        }[side]
        for name in names:
            solve = program.kernel(name).bind(L=factor, R=rhs, n=n, rows_per_factor=per_factor)
            if self._block == 1:
                solve(rows, 1, done=0, groups=1)
                continue
            blocks = -(-n // self._block)
            order = range(blocks) if name == "solve_lower" else range(blocks - 1, -1, -1)
            for step, block in enumerate(order):
                done = -1 if step == 0 else (block - 1 if name == "solve_lower" else block + 1)
                groups = 1 if step == 0 else blocks - step
                solve(rows * groups, self._block, done=done, groups=groups)

    def _matvec(self, matrix: Buffer, vector: Buffer, out: Buffer, p: Product) -> None:
        value = _TYPES[matrix.dtype.name]
        program = self.device.program("numerics/vector", value=value, block=self._block)
        common: dict[str, Any] = {"A": matrix, "m": p.m, "n": p.n, "x": vector, "y": out}
        common |= {"alpha": p.alpha, "beta": p.beta}
        if not p.transpose_a:
            grid = p.batch * p.m if self._block > 1 else p.batch * -(-p.m // 16)
            program.multiply_rows(grid, self._block, **common)
            return
        if self._block == 1:
            program.multiply_columns(p.batch * -(-p.n // 256), 1, parts=1, span=p.m, partial=out, **common)
            return
        strips = -(-p.n // 64)
        parts = max(1, min(8 * self._units // max(1, strips * p.batch), p.m // 32))
        span = -(-p.m // parts)
        parts = max(1, -(-p.m // max(1, span)))
        partial = self._scratch_of("columns", p.batch * parts * p.n) if parts > 1 else out
        grid = p.batch * strips * parts
        program.multiply_columns(grid, self._block, parts=parts, span=span, partial=partial, **common)
        if parts > 1:
            groups = -(-p.batch * p.n // self._block)
            sums: dict[str, Any] = {"parts": parts, "n": p.n, "total": p.batch * p.n, "alpha": p.alpha, "beta": p.beta}
            program.add_columns(groups, self._block, partial=partial, y=out, **sums)


def _operand(name: str, matrix: tuple[Buffer, int, int, int]) -> dict[str, Any]:
    """A matrix (buffer, start, row length, batch stride) as arguments of the product."""
    buffer, start, row, batch = matrix
    low = name.lower()
    return {name: buffer, f"{low}_start": start, f"{low}_row": row, f"{low}_batch": batch}


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


@unique_variants
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template and set of constants used here."""
    block = group_size(capabilities)
    tensor = (0, 1, 2) if capabilities.inline_ptx else (0,)
    shapes = [{**shape, "tensor": kind} for shape in (_LARGE, _SMALL) for kind in tensor] if block > 1 else [_SERIAL]
    for value in ("f64", "f32"):
        for shape in shapes:
            yield "numerics/product", {**shape, "value": value}
        yield "numerics/vector", {"value": value, "block": block}
    yield "numerics/cholesky", {"size": _SIZE, "block": block}
    yield "numerics/triangular", {"size": _SIZE, "block": block}
    if block > 1:
        yield "numerics/triangle", {}
