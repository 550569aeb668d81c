"""Some columns of a batch of linear programs on one device, and what an interior-point method asks of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer, Device
from engine.numerics.groups import GROUP_SIZES, group_size
from engine.numerics.linear_algebra import LinearAlgebra, Provider, linear_algebra
from engine.solvers.linprog.sparse import sp
from engine.solvers.linprog.twin import ShardData
from engine.solvers.linprog.updates import Updates
from engine.solvers.linprog.updates import kernel_variants as update_variants

__all__ = ["DeviceShard", "Shard", "Target", "kernel_variants", "shard_bytes"]

Vector = NDArray[np.float64]
Target = Literal["affine", "second_order", "centrality"]

_MODES: dict[Target, int] = {"affine": 0, "second_order": 1, "centrality": 2}
_VECTORS = ("x", "s", "w", "z", "c", "u", "rd", "ru", "theta", "rxs", "rwz", "g", "work", "aty")
_STEPS = ("dx", "ds", "dw", "dz")
_SIZES = ("int32", "int64", "int64", "int64", "int64")


class Shard(Protocol):
    """What a method asks of the columns of one device.

    Vectors over rows have shape (k, m) and live on the host; those over variables, (k, N), stay where the shard is.
    With several shards the sum of what they return over rows, and of sums over variables, is that of the whole program.
    """

    def set_point(self, x: Vector, s: Vector, w: Vector, z: Vector) -> None:
        """Take a point: values, duals of the lower bounds, room below the upper bounds, their duals; (k, N) each."""

    def get_point(self) -> tuple[Vector, Vector, Vector, Vector]:
        """The present point, as for :meth:`set_point`."""

    def transposed(self, y: Vector) -> Vector:
        """``A^T y`` (k, N)."""

    def residuals(self, y: Vector) -> tuple[Vector, Vector]:
        """``A x`` (k, m), and (k, 5): sum of products, ``c x``, ``u z``, greatest dual and bound residuals.

        The residuals stay for :meth:`target`.
        """

    def scale(self, rho: Vector, rho_free: Vector) -> Vector:
        """Theta of the present point; its least and greatest value (k, 2)."""

    def unit_scale(self) -> None:
        """Theta = 1."""

    def form(self) -> None:
        """M = A Theta A^T of these columns."""

    def normal(self, p: Vector) -> Vector:
        """``A Theta A^T p`` (k, m)."""

    def target(self, kind: Target, sigma_mu: Vector, primal: Vector, dual: Vector) -> Vector:
        """Right-hand sides for the products to become ``sigma_mu``; ``A Theta g`` (k, m)."""

    def direction(self, dy: Vector) -> Vector:
        """``dx`` of the present slot, from dy; ``A dx`` (k, m)."""

    def complete(self) -> Vector:
        """The rest of the direction; the greatest ``-dx / x`` and ``-ds / s``, with w and z (k, 2)."""

    def trial(self, primal: Vector, dual: Vector) -> Vector:
        """Sum of the products after such a step (k,)."""

    def advance(self, primal: Vector, dual: Vector) -> None:
        """Take the step."""

    def other_slot(self) -> None:
        """Keep the present direction aside, and let the next one go to the other place."""


def shard_bytes(batch: int, m: int, n: int, slacks: int, nonzeros: int | None) -> tuple[int, int]:
    """Bytes that a shard takes on its device, and those of its largest buffer; ``nonzeros`` is None for a dense A."""
    vectors = (len(_VECTORS) + 2 * len(_STEPS)) * 8 * batch * (n + slacks)
    matrix = 8 * batch * m * n if nonzeros is None else 24 * nonzeros + 8 * (m + n)
    normal = 8 * batch * m * m
    strip = min(8 * batch * m * n, 1 << 29) if nonzeros is None else 0
    return vectors + matrix + 2 * normal + strip + (16 << 20), max(8 * batch * m * n if nonzeros is None else 0, normal)


class DeviceShard:
    """A :class:`Shard` on a device, made and used on its thread; the root also factorises and solves."""

    def __init__(self, device: Device, data: ShardData, provider: Provider | None, notice: Any = None) -> None:
        self.data = data
        self.device = device
        self.algebra: LinearAlgebra = linear_algebra(device, provider, notice)
        k, n, slacks, m = data.batch, data.n, data.N - data.n, data.m
        self._k, self._n, self._slacks, self._m = k, n, slacks, m
        self._block = group_size(device.capabilities)
        self._groups = device.capabilities.compute_units * (1 if self._block == 1 else 8)
        self._parts = max(1, min(64, self._groups, -(-data.N // (4096 if self._block == 1 else 512))))
        self._span = -(-max(1, data.N) // self._parts)
        self._buffers: dict[str, Buffer] = {name: device.empty(k * data.N, np.float64) for name in _VECTORS}
        for slot in (0, 1):
            for name in _STEPS:
                self._buffers[f"{name}{slot}"] = device.empty(k * data.N, np.float64)
                device.zero(self._buffers[f"{name}{slot}"])
        self._slot = 0
        b = self._buffers
        bounded = np.isfinite(data.upper)
        b["kind"] = device.put(self._flat(np.where(data.free, 2, np.where(bounded, 1, 0))).astype(np.uint8))
        device.put(self._flat(data.c), b["c"])
        device.put(self._flat(np.where(bounded, data.upper, 0.0)), b["u"])
        device.zero(b["ru"])
        self._sparse = sp.issparse(data.A)
        if self._sparse:
            rows, columns = sp.csr_array(data.A), sp.csc_array(data.A)
            rows.sort_indices()
            columns.sort_indices()
            for name, part in (("row", rows), ("column", columns)):
                b[f"{name}_starts"] = device.put(part.indptr.astype(np.int32))
                b[f"{name}_indices"] = device.put(part.indices.astype(np.int32))
                b[f"{name}_values"] = device.put(part.data.astype(np.float64))
        else:
            b["A"] = device.put(np.asarray(data.A, np.float64))
        order = np.argsort(data.slack_rows, kind="stable")
        if not np.array_equal(order, np.arange(order.size)):
            raise ValueError("slacks must be ordered by their rows")
        starts = np.searchsorted(data.slack_rows, np.arange(m + 1))
        b["slack_start"] = device.put(starts.astype(np.int32))
        b["slack_row"] = device.put(data.slack_rows.astype(np.int32))
        b["slack_sign"] = device.put(data.slack_signs.astype(np.float64))
        b["rows_in"] = device.empty((k, m), np.float64)
        b["rows_out"] = device.empty((k, m), np.float64)
        b["rhs"] = device.empty((k, m), np.float64)
        b["results"] = device.empty(k * self._parts * 5, np.float64)
        b["scalars"] = device.empty(k * 3, np.float64)
        b["status"] = device.empty(k, np.int32)
        self._kernels: dict[tuple[str, str], Any] = {}
        self._updates: Updates | None = None

    def close(self) -> None:
        """Give everything back."""
        if self._updates is not None:
            self._updates.close()
        self.algebra.close()
        for buffer in self._buffers.values():
            self.device.release(buffer)
        self._buffers.clear()

    # --- the layout of vectors ----------------------------------------------------------------------------------

    def _flat(self, values: NDArray[Any]) -> NDArray[Any]:
        """(k, N) as on the device: all columns, then all slacks."""
        return np.concatenate([values[:, : self._n].ravel(), values[:, self._n :].ravel()])

    def _unflat(self, values: NDArray[Any]) -> NDArray[Any]:
        head = values[: self._k * self._n].reshape(self._k, self._n)
        return np.concatenate([head, values[self._k * self._n :].reshape(self._k, self._slacks)], axis=1)

    def _columns(self, name: str) -> Buffer:
        """The columns' part of a vector, as (k, n)."""
        return replace(self._buffers[name], shape=(*self._lead, self._n))

    @property
    def _lead(self) -> tuple[int, ...]:
        return (self._k,)

    def set_point(self, x: Vector, s: Vector, w: Vector, z: Vector) -> None:
        """See :class:`Shard`."""
        for name, values in (("x", x), ("s", s), ("w", w), ("z", z)):
            self.device.put(self._flat(values), self._buffers[name])

    def get_point(self) -> tuple[Vector, Vector, Vector, Vector]:
        """See :class:`Shard`."""
        x, s, w, z = (self._unflat(self.device.get(self._buffers[name])) for name in ("x", "s", "w", "z"))
        return x, s, w, z

    # --- launching ----------------------------------------------------------------------------------------------

    def _pass(self, entry: str, types: tuple[str, ...], *arguments: Any, results: int = 0) -> Vector:
        """One pass of ``point.mako``; the results of each part, (k, parts, results)."""
        kernel = self._kernels.get(("point", entry))
        if kernel is None:
            kernel = self._kernels["point", entry] = self.device.kernel(
                "linprog/point", entry, (*_SIZES, *types), block=self._block
            )
        sizes = (self._k, self._n, self._slacks, self._parts, self._span)
        self.device.launch(kernel, self._k * self._parts, self._block, *sizes, *arguments)
        if not results:
            return np.zeros(0)
        count = self._k * self._parts * results
        return self.device.get(self._buffers["results"], 0, count).reshape(self._k, self._parts, results)

    def _over(self, entry: str, types: tuple[str, ...], items: int, *arguments: Any) -> None:
        """One kernel of ``matrix.mako`` over so many items."""
        kernel = self._kernels.get(("matrix", entry))
        if kernel is None:
            kernel = self._kernels["matrix", entry] = self.device.kernel(
                "linprog/matrix", entry, types, block=self._block
            )
        each = 2048 if self._block == 1 else self._block
        grid = max(1, min(-(-items // each), self._groups * (4 if self._block == 1 else 8)))
        self.device.launch(kernel, grid, self._block, *arguments)

    def _multiply_sparse(self, side: Literal["row", "column"], items: int, values: Buffer, out: Buffer) -> None:
        """The sparse A by rows, or A^T by its columns, times a vector."""
        parts = (self._buffers[f"{side}_{part}"] for part in ("starts", "indices", "values"))
        self._over("multiply_sparse", ("int64", *("buffer",) * 5), items, items, *parts, values, out)

    def _over_slacks(self, entry: str, values: Buffer, out: Buffer) -> None:
        """What the slacks, which are not in A, add to every row of ``out``."""
        if self._slacks:
            sizes = (self._k, self._m, self._n, self._slacks)
            starts, signs = self._buffers["slack_start"], self._buffers["slack_sign"]
            types = (*("int64",) * 4, *("buffer",) * 4)
            self._over(entry, types, self._k * self._m, *sizes, starts, signs, values, out)

    def _point(self) -> tuple[Buffer, ...]:
        return tuple(self._buffers[name] for name in ("x", "s", "w", "z", "kind"))

    def _step(self) -> tuple[Buffer, ...]:
        return tuple(self._buffers[f"{name}{self._slot}"] for name in _STEPS)

    def _scalars(self, *values: Vector) -> Buffer:
        """Numbers of each program, side by side."""
        packed = np.stack([np.broadcast_to(np.asarray(v, np.float64), (self._k,)) for v in values], axis=1)
        return self.device.put(packed.ravel(), self._buffers["scalars"])

    # --- products with A ----------------------------------------------------------------------------------------

    def _times(self, name: str) -> Vector:
        """A v, with the slacks."""
        b = self._buffers
        out = b["rows_out"]
        if self._sparse:
            self._multiply_sparse("row", self._m, b[name], out)
        else:
            self.algebra.matvec(b["A"], self._columns(name), out)
        self._over_slacks("add_slacks", b[name], out)
        return self.device.get(out)

    def _transposed(self, y: Vector) -> None:
        """A^T y, with the slacks, into ``aty``."""
        b = self._buffers
        self.device.put(y, b["rows_in"])
        if self._sparse:
            self._multiply_sparse("column", self._n, b["rows_in"], b["aty"])
        else:
            self.algebra.matvec(b["A"], b["rows_in"], self._columns("aty"), transposed=True)
        if self._slacks:
            types = (*("int64",) * 4, *("buffer",) * 4)
            self._over(
                "slack_columns",
                types,
                self._k * self._slacks,
                self._k,
                self._m,
                self._n,
                self._slacks,
                b["slack_row"],
                b["slack_sign"],
                b["rows_in"],
                b["aty"],
            )

    def transposed(self, y: Vector) -> Vector:
        """See :class:`Shard`."""
        self._transposed(y)
        return self._unflat(self.device.get(self._buffers["aty"]))

    def times(self, v: Vector) -> Vector:
        """``A v`` (k, m) of a vector (k, N)."""
        self.device.put(self._flat(v), self._buffers["work"])
        return self._times("work")

    # --- see Shard ----------------------------------------------------------------------------------------------

    def residuals(self, y: Vector) -> tuple[Vector, Vector]:
        """See :class:`Shard`."""
        b = self._buffers
        self._transposed(y)
        parts = self._pass(
            "residuals",
            ("buffer",) * 11,
            *self._point(),
            b["c"],
            b["u"],
            b["aty"],
            b["rd"],
            b["ru"],
            b["results"],
            results=5,
        )
        found = np.concatenate([parts[:, :, :3].sum(axis=1), parts[:, :, 3:].max(axis=1)], axis=1)
        return self._times("x"), found

    def scale(self, rho: Vector, rho_free: Vector) -> Vector:
        """See :class:`Shard`."""
        b = self._buffers
        parts = self._pass(
            "scale", ("buffer",) * 8, *self._point(), self._scalars(rho, rho_free), b["theta"], b["results"], results=2
        )
        return np.stack([parts[:, :, 0].min(axis=1), parts[:, :, 1].max(axis=1)], axis=1)

    def unit_scale(self) -> None:
        """See :class:`Shard`."""
        theta = self._buffers["theta"]
        self._over("fill", ("int64", "float64", "buffer"), theta.size, theta.size, 1.0, theta)

    def _matrix(self, name: str) -> Buffer:
        """M or its factor, taken when it is first needed."""
        if name not in self._buffers:
            self._buffers[name] = self.device.empty((self._k, self._m, self._m), np.float64)
        return self._buffers[name]

    def form(self) -> None:
        """See :class:`Shard`."""
        b = self._buffers
        normal = self._matrix("M")
        if self._sparse:
            kernel = self._kernels.get(("matrix", "form_sparse"))
            if kernel is None:
                types: tuple[str, ...] = ("int64", *("buffer",) * 8)
                kernel = self._kernels["matrix", "form_sparse"] = self.device.kernel(
                    "linprog/matrix", "form_sparse", types, block=self._block
                )
            self.device.launch(
                kernel,
                self._m,
                self._block,
                self._m,
                b["row_starts"],
                b["row_indices"],
                b["row_values"],
                b["column_starts"],
                b["column_indices"],
                b["column_values"],
                b["theta"],
                normal,
            )
        else:
            self.algebra.gram(b["A"], self._columns("theta"), normal)
        self._over_slacks("add_slack_diagonal", b["theta"], normal)

    def normal_matrix(self) -> Vector:
        """M of these columns (k, m, m), for the root."""
        return self.device.get(self._matrix("M"))

    def add_normal(self, other: Vector) -> None:
        """Add another shard's M to this one's."""
        scratch = self.device.put(other, self._matrix("L"))
        types: tuple[str, ...] = ("int64", "buffer", "buffer")
        self._over("add_matrix", types, scratch.size, scratch.size, scratch, self._matrix("M"))

    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        """Factorise ``M + diag(relative M_ii + absolute)``; 0 or the failing pivot, per program (k,)."""
        factor = self._matrix("L")
        self.device.copy(factor, self._matrix("M"))
        types = ("int64", "int64", "buffer", "buffer")
        self._over("regularise", types, self._k * self._m, self._k, self._m, self._scalars(relative, absolute), factor)
        status = self._buffers["status"]
        self.algebra.cholesky(factor, status)
        return self.device.get(status)

    def solve(self, rhs: Vector) -> Vector:
        """What the factor makes of a right-hand side (k, m)."""
        buffer = self.device.put(rhs, self._buffers["rhs"])
        self.algebra.solve(self._buffers["L"], buffer)
        return self.device.get(buffer)

    def begin_updates(self, block: int) -> bool:
        """Make ready for :meth:`update` (one program, all its columns here); False if A A^T cannot be factorised."""
        dense = self.data.A.toarray() if self._sparse else np.asarray(self.data.A)[0]
        slacks = np.zeros((self._slacks, self._m))
        slacks[np.arange(self._slacks), self.data.slack_rows] = self.data.slack_signs
        columns = np.concatenate([dense.T, slacks])
        self._updates = Updates(self.device, self.algebra, columns, block)
        return self._updates.sound

    def update(self) -> None:
        """All updates for the present theta."""
        assert self._updates is not None
        self._updates.update(self.device.get(self._buffers["theta"]))

    def solve_by_updates(self, rhs: Vector) -> Vector:
        """What the updates make of a right-hand side (1, m)."""
        assert self._updates is not None
        return self._updates.solve(rhs[0])[None]

    def normal(self, p: Vector) -> Vector:
        """See :class:`Shard`."""
        b = self._buffers
        self._transposed(p)
        types = ("buffer", "buffer", "int32", "buffer", "buffer")
        self._pass("direction", types, b["theta"], b["aty"], 0, b["g"], b["work"])
        return self._times("work")

    def target(self, kind: Target, sigma_mu: Vector, primal: Vector, dual: Vector) -> Vector:
        """See :class:`Shard`."""
        b = self._buffers
        types = (*("buffer",) * 9, "int32", *("buffer",) * 8)
        self._pass(
            "target",
            types,
            *self._point(),
            *self._step(),
            _MODES[kind],
            self._scalars(sigma_mu, primal, dual),
            b["rd"],
            b["ru"],
            b["theta"],
            b["rxs"],
            b["rwz"],
            b["g"],
            b["work"],
        )
        return self._times("work")

    def direction(self, dy: Vector) -> Vector:
        """See :class:`Shard`."""
        b = self._buffers
        self._transposed(dy)
        types = ("buffer", "buffer", "int32", "buffer", "buffer")
        name = f"dx{self._slot}"
        self._pass("direction", types, b["theta"], b["aty"], 1, b["g"], b[name])
        return self._times(name)

    def complete(self) -> Vector:
        """See :class:`Shard`."""
        b = self._buffers
        dx, ds, dw, dz = self._step()
        parts = self._pass(
            "complete",
            ("buffer",) * 13,
            *self._point(),
            b["rxs"],
            b["rwz"],
            b["ru"],
            dx,
            ds,
            dw,
            dz,
            b["results"],
            results=2,
        )
        return np.asarray(parts.max(axis=1))

    def trial(self, primal: Vector, dual: Vector) -> Vector:
        """See :class:`Shard`."""
        parts = self._pass(
            "trial",
            ("buffer",) * 11,
            *self._point(),
            *self._step(),
            self._scalars(primal, dual),
            self._buffers["results"],
            results=1,
        )
        return np.asarray(parts[:, :, 0].sum(axis=1))

    def advance(self, primal: Vector, dual: Vector) -> None:
        """See :class:`Shard`."""
        self._pass("advance", ("buffer",) * 10, *self._point(), *self._step(), self._scalars(primal, dual))

    def other_slot(self) -> None:
        """See :class:`Shard`."""
        self._slot = 1 - self._slot


def kernel_variants() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template of this solver with every set of constants."""
    for block in GROUP_SIZES:
        yield "linprog/point", {"block": block}
        yield "linprog/matrix", {"block": block}
    yield from update_variants()
