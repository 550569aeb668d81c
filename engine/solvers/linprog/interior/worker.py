"""Some columns of a batch of linear programs on one device: the kernels of ``linprog/point`` and ``linprog/matrix``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ....devices import Buffer, Capabilities, Device
from ....numerics.groups import group_size
from ....numerics.linear_algebra import LinearAlgebra
from ..forms.columns import ShardData, with_slacks
from ..problem import sp
from .loading import Launch, Launches, launch_kernel
from .shard import Shard, Target
from .sparse_matrix import SparseMatrix

__all__ = ["EXTENTS", "MEASURES", "MODES", "DeviceShard", "kernel_variants"]

Vector = NDArray[np.float64]
T = TypeVar("T")

MODES: dict[Target, int] = {"affine": 0, "second_order": 1, "centrality": 2}
_VECTORS = ("x", "s", "w", "z", "c", "u", "rd", "ru", "theta", "rxs", "rwz", "g", "weighed", "aty")
_STEPS = ("dx", "ds", "dw", "dz")
MEASURES, EXTENTS = 7, 5  # numbers that `assess` and `direct` write for each part


class DeviceShard(Shard):
    """A :class:`~engine.solvers.linprog.interior.shard.Shard` on a device, made and used on its thread.

    The first shard also factorises and solves. Only methods that return numbers wait for the device.

    Parameters
    ----------
    device : Device
    data : ShardData
    algebra : LinearAlgebra
        Closed with the shard.
    """

    _point_names = ("x", "s", "w", "z", "kind")

    def __init__(self, device: Device, data: ShardData, algebra: LinearAlgebra) -> None:
        self.data = data
        self.device = device
        self.algebra = algebra
        k, n, slacks, m = data.batch, data.n, data.N - data.n, data.m
        self._k, self._n, self._slacks, self._m = k, n, slacks, m
        self._simt = device.capabilities.simt
        self._block = group_size(device.capabilities)
        self._groups = device.capabilities.compute_units * (8 if self._simt else 1)
        self._parts = max(1, min(64, self._groups, -(-data.N // (512 if self._simt else 4096))))
        self._span = -(-max(1, data.N) // self._parts)
        self._point_kernels = device.program("linprog/point", block=self._block)
        self._matrix_kernels = device.program("linprog/matrix", block=self._block)
        self._buffers: dict[str, Buffer] = {name: device.empty(k * data.N, np.float64) for name in _VECTORS}
        for slot in (0, 1):
            for name in _STEPS:
                self._buffers[f"{name}{slot}"] = device.empty(k * data.N, np.float64)
        self._slot = 0
        b = self._buffers
        bounded = np.isfinite(data.upper)
        b["kind"] = device.put(self.flat(np.where(data.free, 2, np.where(bounded, 1, 0))).astype(np.uint8))
        device.put(self.flat(data.c), b["c"])
        device.put(self.flat(np.where(bounded, data.upper, 0.0)), b["u"])
        self._sparse = sp.issparse(data.A)
        self._put_matrix()
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
        b["results"] = device.empty(k * self._parts * MEASURES, np.float64)
        b["scalars"] = device.empty(k * 3, np.float64)
        b["status"] = device.empty(k, np.int32)
        self._heads: dict[str, Buffer] = {}
        self._affine_target_ready = False  # whether `assess` has left the right-hand sides for zero products
        self._launches = Launches(device)
        self.owned: list[Any] = []  # closed with the shard

    def _put_matrix(self) -> None:
        data, device, b = self.data, self.device, self._buffers
        if not self._sparse:
            b["A"] = device.put(np.asarray(data.A, np.float64))
            return
        self._sparse_matrix = SparseMatrix(device, with_slacks(data), b, self._block, self._grid)

    def close(self) -> None:
        """Release everything."""
        for other in self.owned:
            other.close()
        self.owned.clear()
        self.algebra.close()
        self._launches.clear()
        self._heads.clear()
        for buffer in self._buffers.values():
            self.device.release(buffer)
        self._buffers.clear()

    def cancel(self) -> None:
        """End work that takes long, as a failure; called from any thread. Work on the device is short."""

    def call(self, function: Callable[[DeviceShard], T]) -> T:
        """Call a function with the shard, on the device's thread."""
        return function(self)

    # --- the layout of vectors ----------------------------------------------------------------------------------

    def flat(self, values: NDArray[Any]) -> NDArray[Any]:
        """(k, N) as on the device: all columns, then all slacks."""
        return np.concatenate([values[:, : self._n].ravel(), values[:, self._n :].ravel()])

    def _unflat(self, values: NDArray[Any]) -> NDArray[Any]:
        head = values[: self._k * self._n].reshape(self._k, self._n)
        return np.concatenate([head, values[self._k * self._n :].reshape(self._k, self._slacks)], axis=1)

    def _head(self, name: str) -> Buffer:
        """The columns' part of a vector, as (k, n)."""
        head = self._heads.get(name)
        if head is None:
            head = self._heads[name] = replace(self._buffers[name], shape=(self._k, self._n))
        return head

    @override
    def set_point(self, x: Vector, s: Vector, w: Vector, z: Vector) -> None:
        self._affine_target_ready = False
        for name, values in (("x", x), ("s", s), ("w", w), ("z", z)):
            self.device.put(self.flat(values), self._buffers[name])

    @override
    def get_point(self) -> tuple[Vector, Vector, Vector, Vector]:
        x, s, w, z = (self._unflat(self.device.get(self._buffers[name])) for name in ("x", "s", "w", "z"))
        return x, s, w, z

    # --- launching ----------------------------------------------------------------------------------------------

    def _run(self, key: Any, prepare: Callable[[], Launch]) -> None:
        """Launch what ``prepare`` returns, which is called only the first time for a key."""
        self._launches.run(key, prepare)

    def _pass(self, entry: str, *names: str, **others: Buffer | int) -> Launch:
        """One pass of ``point.mako`` with the buffers of these names, and with others."""
        kernel = self._point_kernels.kernel(entry)
        sizes = {"batch": self._k, "n": self._n, "slacks": self._slacks, "parts": self._parts, "span": self._span}
        buffers = {name: self._buffers[name] for name in names}
        bound = kernel.bind(**sizes, **buffers, **others)
        grid, block = self._k * self._parts, self._block
        return lambda: bound(grid, block)

    def _results(self, width: int) -> Vector:
        """What the last pass with results has found in each part, (k, parts, width)."""
        found = self.device.get(self._buffers["results"], 0, self._k * self._parts * width)
        return found.reshape(self._k, self._parts, width)

    def _grid(self, items: int) -> int:
        """Work-groups of a kernel of ``matrix.mako`` over so many items."""
        each = self._block if self._simt else 2048
        return max(1, min(-(-items // each), self._groups * (8 if self._simt else 4)))

    def _over(self, entry: str, items: int, **arguments: Buffer | int | float) -> None:
        """Launch one kernel of ``matrix.mako`` over so many items."""
        launch_kernel(self.device, self._matrix_kernels, entry, self._grid(items), self._block, **arguments)

    def _multiply_sparse(self, side: Literal["row", "column"], items: int, values: Buffer, out: Buffer) -> None:
        """The sparse A by rows, or A^T by its columns, times a vector."""
        self._run((side, values), lambda: self._sparse_matrix.multiplication(side, items, values, out))

    @property
    def _slack_sizes(self) -> dict[str, int]:
        return {"batch": self._k, "m": self._m, "n": self._n, "slacks": self._slacks}

    def _step(self) -> dict[str, Buffer]:
        return {name: self._buffers[f"{name}{self._slot}"] for name in _STEPS}

    def _scalars(self, *values: Vector) -> Buffer:
        """Numbers of each program, side by side."""
        packed = np.empty((self._k, len(values)))
        for place, value in enumerate(values):
            packed[:, place] = value
        return self.device.put(packed.reshape(-1), self._buffers["scalars"])

    # --- products with A ----------------------------------------------------------------------------------------

    def _times(self, name: str) -> Vector:
        """A v, with the slacks."""
        b = self._buffers
        out = b["rows_out"]
        if self._sparse:
            self._multiply_sparse("row", self._k * self._m, b[name], out)
            return self.device.get(out)
        self.algebra.matvec(b["A"], self._head(name), out)
        if self._slacks:
            given = {name: b[name] for name in ("slack_start", "slack_sign")}
            self._over("add_slacks", self._k * self._m, **self._slack_sizes, **given, v=b[name], out=out)
        return self.device.get(out)

    def _transposed(self, y: Vector) -> None:
        """A^T y, with the slacks, into ``aty``."""
        b = self._buffers
        self.device.put(y, b["rows_in"])
        if self._sparse:
            self._multiply_sparse("column", self._k * (self._n + self._slacks), b["rows_in"], b["aty"])
            return
        self.algebra.matvec(b["A"], b["rows_in"], self._head("aty"), transposed=True)
        if self._slacks:
            given = {name: b[name] for name in ("slack_row", "slack_sign")}
            items = self._k * self._slacks
            self._over("slack_columns", items, **self._slack_sizes, **given, y=b["rows_in"], out=b["aty"])

    @override
    def transposed(self, y: Vector) -> Vector:
        self._transposed(y)
        return self._unflat(self.device.get(self._buffers["aty"]))

    @override
    def times(self, v: Vector) -> Vector:
        self._affine_target_ready = False
        self.device.put(self.flat(v), self._buffers["weighed"])
        return self._times("weighed")

    # --- see Shard ----------------------------------------------------------------------------------------------

    @override
    def assess(self, y: Vector, rho: Vector, rho_free: Vector) -> tuple[Vector, Vector]:
        self._transposed(y)
        self._scalars(rho, rho_free)
        names = ("c", "u", "aty", "rd", "ru", "theta", "rxs", "rwz", "g", "weighed", "results")
        self._run("assess", lambda: self._pass("assess", *self._point_names, *names, rho=self._buffers["scalars"]))
        ax = self._times("x")
        parts = self._results(MEASURES)
        self._affine_target_ready = True
        sums, greatest = parts[:, :, :3].sum(axis=1), parts[:, :, 3:5].max(axis=1)
        least, most = parts[:, :, 5:6].min(axis=1), parts[:, :, 6:].max(axis=1)
        return ax, np.concatenate([sums, greatest, least, most], axis=1)

    @override
    def scale(self, rho: Vector, rho_free: Vector) -> Vector:
        self._affine_target_ready = False
        self._scalars(rho, rho_free)
        names = (*self._point_names, "theta", "results")
        self._run("scale", lambda: self._pass("scale", *names, rho=self._buffers["scalars"]))
        parts = self._results(2)
        return np.stack([parts[:, :, 0].min(axis=1), parts[:, :, 1].max(axis=1)], axis=1)

    @override
    def unit_scale(self) -> None:
        self._affine_target_ready = False
        theta = self._buffers["theta"]
        self._over("fill", theta.size, count=theta.size, value=1.0, values=theta)

    @property
    def theta(self) -> Buffer:
        """Where the present theta is; of one program, all columns and then the slacks."""
        return self._buffers["theta"]

    @override
    def get_theta(self) -> Vector:
        return self._unflat(self.device.get(self._buffers["theta"]))

    def _matrix(self, name: str) -> Buffer:
        """M or its factor L, allocated when first needed."""
        if name not in self._buffers:
            self._buffers[name] = self.device.empty((self._k, self._m, self._m), np.float64)
        return self._buffers[name]

    @override
    def form(self) -> None:
        b = self._buffers
        normal = self._matrix("M")
        if self._sparse:
            return self._sparse_matrix.form(b["theta"], normal)
        self.algebra.gram(b["A"], self._head("theta"), normal)
        if self._slacks:
            given = {name: b[name] for name in ("slack_start", "slack_sign", "theta")}
            self._over("add_slack_diagonal", self._k * self._m, **self._slack_sizes, **given, M=normal)
        return None

    def form_lower(self, is_sent: bool) -> Vector | None:
        """Form M; its lower triangle, packed, for :meth:`add_lower` of the first shard."""
        self.form()
        if not is_sent:
            return None
        count = self._k * (self._m * (self._m + 1) // 2)
        if "packed" not in self._buffers:
            self._buffers["packed"] = self.device.empty(count, np.float64)
        packed = self._buffers["packed"]
        self._over("pack_lower", count, batch=self._k, m=self._m, M=self._matrix("M"), packed=packed)
        return self.device.get(packed)

    def add_lower(self, others: list[Vector]) -> None:
        """Add the packed matrices of other shards to M, in their order; they are received in the factor's memory."""
        scratch, normal = self._matrix("L"), self._matrix("M")
        for packed in others:
            self.device.put(packed, scratch)
            self._over("add_lower", packed.size, batch=self._k, m=self._m, packed=scratch, M=normal)
        self.device.sync()

    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        """Factorise ``M + diag(relative M_ii + absolute)``; 0 or the failing pivot, per program (k,).

        Parameters
        ----------
        relative, absolute : ndarray, shape (k,)
        """
        factor = self._matrix("L")
        self.device.copy(factor, self._matrix("M"))
        amounts = self._scalars(relative, absolute)
        self._over("regularise", self._k * self._m, batch=self._k, m=self._m, amounts=amounts, M=factor)
        status = self._buffers["status"]
        self.algebra.cholesky(factor, status)
        return self.device.get(status)

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor for a right-hand side (k, m)."""
        buffer = self.device.put(rhs, self._buffers["rhs"])
        self.algebra.solve(self._buffers["L"], buffer)
        return self.device.get(buffer)

    @override
    def normal(self, p: Vector) -> Vector:
        self._affine_target_ready = False
        self._transposed(p)
        self._run("weigh", lambda: self._pass("weigh", "theta", "aty", out=self._buffers["weighed"]))
        return self._times("weighed")

    @override
    def target(self, kind: Target, sigma_mu: Vector, primal: Vector, dual: Vector) -> Vector:
        if not (self._affine_target_ready and kind == "affine" and not sigma_mu.any()):
            self._affine_target_ready = False
            wanted = self._scalars(sigma_mu, primal, dual)
            names = ("rd", "ru", "theta", "rxs", "rwz", "g", "weighed")
            self._run(
                ("target", kind, self._slot),
                lambda: self._pass(
                    "target", *self._point_names, *names, **self._step(), mode=MODES[kind], wanted=wanted
                ),
            )
        return self._times("weighed")

    @override
    def direction(self, dy: Vector) -> Vector:
        self._transposed(dy)
        names = ("aty", "theta", "g", "rxs", "rwz", "ru", "results")
        self._run(("direct", self._slot), lambda: self._pass("direct", *self._point_names, *names, **self._step()))
        return self._times(f"dx{self._slot}")

    @override
    def complete(self) -> Vector:
        parts = self._results(EXTENTS)
        return np.concatenate([parts[:, :, :2].max(axis=1), parts[:, :, 2:].sum(axis=1)], axis=1)

    @override
    def advance(self, primal: Vector, dual: Vector) -> None:
        self._affine_target_ready = False
        given = {**self._step(), "steps": self._scalars(primal, dual)}
        self._run(("advance", self._slot), lambda: self._pass("advance", *self._point_names, **given))

    def session(self) -> contextlib.AbstractContextManager[None]:
        """A context to hold while many of these methods are called in a row."""
        return contextlib.nullcontext()

    @override
    def swap_slots(self) -> None:
        self._slot = 1 - self._slot


def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template of the interior-point methods with the constants for one device."""
    block = group_size(capabilities)
    yield "linprog/point", {"block": block}
    yield "linprog/matrix", {"block": block}
