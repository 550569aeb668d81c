"""Some columns of a linear program on one device: the kernels of ``linprog/point`` and ``linprog/matrix``."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Capabilities, Device
from ....numerics.groups import group_size
from ....numerics.linear_algebra import LinearAlgebra
from ..forms.standard import ShardData, with_slacks
from ..problem import sp
from .loading import Launch, launch_kernel, launch_new
from .sparse_matrix import SparseMatrix

Vector = NDArray[np.float64]
T = TypeVar("T")
Target = Literal["affine", "second_order", "centrality"]
"""Without or with the second-order terms of the last direction, or corrected for a longer step."""

MODES: dict[Target, int] = {"affine": 0, "second_order": 1, "centrality": 2}
_VECTORS = ("x", "s", "w", "z", "c", "u", "rd", "ru", "theta", "rxs", "rwz", "g", "weighed", "aty")
_STEPS = ("dx", "ds", "dw", "dz")
MEASURES, EXTENTS = 7, 5  # numbers that `assess` and `direct` write for each part


class DeviceShard:
    """Some columns on a device, used on its thread: rows (m,) are on the host, variables and slacks (N,) stay on it.

    Only methods that return numbers wait for the device; those of all shards add up.
    """

    _point_names = ("x", "s", "w", "z", "kind")

    def __init__(self, device: Device, data: ShardData, algebra: LinearAlgebra) -> None:
        self.data = data
        self.device = device
        self.algebra = algebra
        n, slacks, m = data.n, data.N - data.n, data.m
        self._n, self._slacks, self._m = n, slacks, m
        self._simt = device.capabilities.simt
        self._block = group_size(device.capabilities)
        self._groups = device.capabilities.compute_units * (8 if self._simt else 1)
        self._parts = max(1, min(64, self._groups, -(-data.N // (512 if self._simt else 4096))))
        self._span = -(-max(1, data.N) // self._parts)
        self._point_kernels = device.program("linprog/point", block=self._block)
        self._matrix_kernels = device.program("linprog/matrix", block=self._block)
        self._buffers: dict[str, Buffer] = {name: device.empty(data.N, np.float64) for name in _VECTORS}
        for slot in (0, 1):
            for name in _STEPS:
                self._buffers[f"{name}{slot}"] = device.empty(data.N, np.float64)
        self._slot = 0
        b = self._buffers
        bounded = np.isfinite(data.upper)
        b["kind"] = device.put(np.where(data.free, 2, np.where(bounded, 1, 0)).astype(np.uint8))
        device.put(data.c, b["c"])
        device.put(np.where(bounded, data.upper, 0.0), b["u"])
        self._sparse = sp.issparse(data.A)
        if self._sparse:
            self._sparse_matrix = SparseMatrix(device, with_slacks(data), b, self._block, self._grid)
        else:
            b["A"] = device.put(np.asarray(data.A, np.float64)[None])
        order = np.argsort(data.slack_rows, kind="stable")
        if not np.array_equal(order, np.arange(order.size)):
            raise ValueError("slacks must be ordered by their rows")
        starts = np.searchsorted(data.slack_rows, np.arange(m + 1))
        b["slack_start"] = device.put(starts.astype(np.int32))
        b["slack_row"] = device.put(data.slack_rows.astype(np.int32))
        b["slack_sign"] = device.put(data.slack_signs.astype(np.float64))
        b["rows_in"] = device.empty((1, m), np.float64)
        b["rows_out"] = device.empty((1, m), np.float64)
        b["rhs"] = device.empty((1, m), np.float64)
        b["results"] = device.empty(self._parts * MEASURES, np.float64)
        b["status"] = device.empty(1, np.int32)
        self._heads: dict[str, Buffer] = {}
        self._affine_target_ready = False  # whether `assess` has left the right-hand sides for zero products
        self._launches: dict[Any, Launch] = {}
        self.owned: list[Any] = []  # closed with the shard

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

    def _head(self, name: str) -> Buffer:
        """The columns' part of a vector, as (1, n)."""
        head = self._heads.get(name)
        if head is None:
            head = self._heads[name] = replace(self._buffers[name], shape=(1, self._n))
        return head

    def set_point(self, x: Vector, s: Vector, w: Vector, z: Vector) -> None:
        """Take a point: values, duals of the lower bounds, slacks of the upper bounds, and their duals."""
        self._affine_target_ready = False
        for name, values in (("x", x), ("s", s), ("w", w), ("z", z)):
            self.device.put(values, self._buffers[name])

    def get_point(self) -> tuple[Vector, Vector, Vector, Vector]:
        """The present point."""
        x, s, w, z = (self.device.get(self._buffers[name]) for name in ("x", "s", "w", "z"))
        return x, s, w, z

    # --- launching ----------------------------------------------------------------------------------------------

    def _run(self, key: Any, prepare: Callable[[], Launch], **scalars: float) -> None:
        """Launch what ``prepare`` returns, which is called only the first time for a key, with these scalars."""
        launch = self._launches.get(key)
        if launch is None:
            self._launches[key] = launch_new(self.device, prepare, **scalars)
        else:
            launch(**scalars)

    def _pass(self, entry: str, *names: str, **others: Buffer | int) -> Launch:
        """One pass of ``point.mako`` with the buffers of these names, and with others."""
        kernel = self._point_kernels.kernel(entry)
        buffers = {name: self._buffers[name] for name in names}
        bound = kernel.bind(variables=self._n + self._slacks, span=self._span, **buffers, **others)
        return functools.partial(bound, self._parts, self._block)

    def _results(self, width: int) -> Vector:
        """What the last pass with results has found in each part, (parts, width)."""
        return self.device.get(self._buffers["results"], 0, self._parts * width).reshape(self._parts, width)

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

    def _step(self) -> dict[str, Buffer]:
        return {name: self._buffers[f"{name}{self._slot}"] for name in _STEPS}

    # --- products with A ----------------------------------------------------------------------------------------

    def _times(self, name: str) -> Vector:
        """A v, with the slacks."""
        b = self._buffers
        out = b["rows_out"]
        if self._sparse:
            self._multiply_sparse("row", self._m, b[name], out)
            return self._row_values(out)
        self.algebra.matvec(b["A"], self._head(name), out)
        if self._slacks:
            given = {name: b[name] for name in ("slack_start", "slack_sign")}
            self._over("add_slacks", self._m, m=self._m, n=self._n, **given, v=b[name], out=out)
        return self._row_values(out)

    def _row_values(self, buffer: Buffer) -> Vector:
        return self.device.get(buffer).reshape(-1)

    def _transposed(self, y: Vector) -> None:
        """A^T y, with the slacks, into ``aty``."""
        b = self._buffers
        self.device.put(y, b["rows_in"])
        if self._sparse:
            self._multiply_sparse("column", self._n + self._slacks, b["rows_in"], b["aty"])
            return
        self.algebra.matvec(b["A"], b["rows_in"], self._head("aty"), transposed=True)
        if self._slacks:
            given = {name: b[name] for name in ("slack_row", "slack_sign")}
            sizes = {"n": self._n, "slacks": self._slacks}
            self._over("slack_columns", self._slacks, **sizes, **given, y=b["rows_in"], out=b["aty"])

    def transposed(self, y: Vector) -> Vector:
        """``A^T y``."""
        self._transposed(y)
        return self.device.get(self._buffers["aty"])

    def times(self, v: Vector) -> Vector:
        """``A v``."""
        self._affine_target_ready = False
        self.device.put(v, self._buffers["weighed"])
        return self._times("weighed")

    # --- the steps of an iteration --------------------------------------------------------------------------------

    def assess(self, y: Vector, rho: float, rho_free: float) -> tuple[Vector, Vector]:
        """``A x``, and (7,): sum of products, ``c x``, ``u z``, largest dual and bound residuals, range of theta.

        ``rho`` is added to 1 / theta, ``rho_free`` stands for it where there is no bound. Residuals and theta stay for
        what follows.
        """
        self._transposed(y)
        names = ("c", "u", "aty", "rd", "ru", "theta", "rxs", "rwz", "g", "weighed", "results")
        self._run("assess", lambda: self._pass("assess", *self._point_names, *names), rho=rho, rho_free=rho_free)
        ax = self._times("x")
        parts = self._results(MEASURES)
        self._affine_target_ready = True
        return ax, joined_measures(parts)

    def scale(self, rho: float, rho_free: float) -> Vector:
        """Theta of the present point for other ``rho``; its smallest and largest value (2,)."""
        self._affine_target_ready = False
        names = (*self._point_names, "theta", "results")
        self._run("scale", lambda: self._pass("scale", *names), rho=rho, rho_free=rho_free)
        parts = self._results(2)
        return np.array([parts[:, 0].min(), parts[:, 1].max()])

    def unit_scale(self) -> None:
        """Theta = 1."""
        self._affine_target_ready = False
        theta = self._buffers["theta"]
        self._over("fill", theta.size, count=theta.size, value=1.0, values=theta)

    @property
    def theta(self) -> Buffer:
        """Where the present theta is; of one program, all columns and then the slacks."""
        return self._buffers["theta"]

    def get_theta(self) -> Vector:
        """The present theta."""
        return self.device.get(self._buffers["theta"])

    def _matrix(self, name: str) -> Buffer:
        """M or its factor L, allocated when first needed."""
        if name not in self._buffers:
            self._buffers[name] = self.device.empty((1, self._m, self._m), np.float64)
        return self._buffers[name]

    def form(self) -> None:
        """M = A Theta A^T of these columns."""
        b = self._buffers
        normal = self._matrix("M")
        if self._sparse:
            self._sparse_matrix.form(b["theta"], normal)
            return
        self.algebra.gram(b["A"], self._head("theta"), normal)
        if self._slacks:
            given = {name: b[name] for name in ("slack_start", "slack_sign", "theta")}
            self._over("add_slack_diagonal", self._m, m=self._m, n=self._n, **given, M=normal)

    def form_lower(self, is_sent: bool) -> Vector | None:
        """Form M; its lower triangle, packed, for :meth:`add_lower` of the first shard."""
        self.form()
        if not is_sent:
            return None
        count = self._m * (self._m + 1) // 2
        if "packed" not in self._buffers:
            self._buffers["packed"] = self.device.empty(count, np.float64)
        packed = self._buffers["packed"]
        self._over("pack_lower", count, m=self._m, M=self._matrix("M"), packed=packed)
        return self.device.get(packed)

    def add_lower(self, others: list[Vector]) -> None:
        """Add the packed matrices of other shards to M, in their order; they are received in the factor's memory."""
        scratch, normal = self._matrix("L"), self._matrix("M")
        for packed in others:
            self.device.put(packed, scratch)
            self._over("add_lower", packed.size, m=self._m, packed=scratch, M=normal)
        self.device.sync()

    def factor(self, relative: float, absolute: float) -> int:
        """Factorise ``M + diag(relative M_ii + absolute)``; 0 or the failing pivot."""
        factor = self._matrix("L")
        self.device.copy(factor, self._matrix("M"))
        self._over("regularise", self._m, m=self._m, relative=relative, absolute=absolute, M=factor)
        status = self._buffers["status"]
        self.algebra.cholesky(factor, status)
        return int(self.device.get(status)[0])

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor for a right-hand side (m,)."""
        buffer = self.device.put(rhs, self._buffers["rhs"])
        self.algebra.solve(self._buffers["L"], buffer)
        return self._row_values(buffer)

    def normal(self, p: Vector) -> Vector:
        """``A Theta A^T p``."""
        self._affine_target_ready = False
        self._transposed(p)
        self._run("weigh", lambda: self._pass("weigh", "theta", "aty", out=self._buffers["weighed"]))
        return self._times("weighed")

    def target(self, kind: Target, sigma_mu: float, primal: float, dual: float) -> Vector:
        """Right-hand sides of complementarity for products ``sigma_mu`` and longer steps; ``A Theta g``."""
        if not (self._affine_target_ready and kind == "affine" and sigma_mu == 0.0):
            self._affine_target_ready = False
            names = ("rd", "ru", "theta", "rxs", "rwz", "g", "weighed")
            self._run(
                ("target", kind, self._slot),
                lambda: self._pass("target", *self._point_names, *names, **self._step(), mode=MODES[kind]),
                m=sigma_mu,
                a=primal,
                b=dual,
            )
        return self._times("weighed")

    def direction(self, dy: Vector) -> Vector:
        """The direction from dy, into the present slot; ``A dx``."""
        self._transposed(dy)
        names = ("aty", "theta", "g", "rxs", "rwz", "ru", "results")
        self._run(("direct", self._slot), lambda: self._pass("direct", *self._point_names, *names, **self._step()))
        return self._times(f"dx{self._slot}")

    def complete(self) -> Vector:
        """Of the last direction (5,): largest ``-dx / x`` and ``-ds / s``, sums of ``s dx``, ``x ds``, ``dx ds``."""
        return joined_extents(self._results(EXTENTS))

    def advance(self, primal: float, dual: float) -> None:
        """Take steps of these lengths."""
        self._affine_target_ready = False
        key = "advance", self._slot
        self._run(key, lambda: self._pass("advance", *self._point_names, **self._step()), a=primal, b=dual)

    def session(self) -> contextlib.AbstractContextManager[None]:
        """A context to hold while many of these methods are called in a row."""
        return contextlib.nullcontext()

    def swap_slots(self) -> None:
        """Keep the present direction; the next one is written to the other slot."""
        self._slot = 1 - self._slot


def joined_measures(parts: NDArray[np.float64]) -> Vector:
    """What `assess` has found in each part (parts, 7), of all: sums, largest residuals, the range of theta."""
    each = parts[:, :3].sum(axis=0), parts[:, 3:5].max(axis=0), parts[:, 5:6].min(axis=0), parts[:, 6:].max(axis=0)
    return np.concatenate(each)


def joined_extents(parts: NDArray[np.float64]) -> Vector:
    """What `direct` has found in each part (parts, 5), of all: largest ratios, sums."""
    return np.concatenate([parts[:, :2].max(axis=0), parts[:, 2:].sum(axis=0)])


def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template of the interior-point methods with the constants for one device."""
    block = group_size(capabilities)
    yield "linprog/point", {"block": block}
    yield "linprog/matrix", {"block": block}
