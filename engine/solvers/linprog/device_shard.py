"""Some columns of a batch of linear programs on one device: the kernels of ``linprog/point`` and ``linprog/matrix``."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer, Device
from engine.numerics.groups import GROUP_SIZES, group_size
from engine.numerics.linear_algebra import LinearAlgebra
from engine.solvers.linprog.passage import Passage
from engine.solvers.linprog.shard import ShardData, Target
from engine.solvers.linprog.sparse import sp
from engine.solvers.linprog.updates import Updates
from engine.solvers.linprog.updates import kernel_variants as update_variants

__all__ = ["EXTENTS", "MEASURES", "MODES", "DeviceShard", "kernel_variants"]

Vector = NDArray[np.float64]

MODES: dict[Target, int] = {"affine": 0, "second_order": 1, "centrality": 2}
_VECTORS = ("x", "s", "w", "z", "c", "u", "rd", "ru", "theta", "rxs", "rwz", "g", "work", "aty")
_STEPS = ("dx", "ds", "dw", "dz")
_SIZES = ("int32", "int64", "int64", "int64", "int64")
_PACKED = ("int64", "int64", "buffer", "buffer")
MEASURES, EXTENTS = 7, 5  # numbers that `assess` and `direct` tell


class DeviceShard:
    """A :class:`~engine.solvers.linprog.shard.Shard` on a device, made and used on its thread.

    The root also factorises and solves. Nothing waits for the device but what returns numbers.
    """

    def __init__(self, device: Device, data: ShardData, algebra: LinearAlgebra) -> None:
        self.data = data
        self.device = device
        self.algebra = algebra
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
        self._slot = 0
        b = self._buffers
        bounded = np.isfinite(data.upper)
        b["kind"] = device.put(self._flat(np.where(data.free, 2, np.where(bounded, 1, 0))).astype(np.uint8))
        device.put(self._flat(data.c), b["c"])
        device.put(self._flat(np.where(bounded, data.upper, 0.0)), b["u"])
        self._sparse = sp.issparse(data.A)
        if self._sparse:
            matrix = sp.csr_array(data.A)
            if slacks:
                places = data.slack_rows, np.arange(slacks)
                matrix = sp.hstack([matrix, sp.csr_array((data.slack_signs, places), shape=(m, slacks))])
            rows, columns = sp.csr_array(matrix), sp.csc_array(matrix)
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
        b["results"] = device.empty(k * self._parts * MEASURES, np.float64)
        b["scalars"] = device.empty(k * 3, np.float64)
        b["status"] = device.empty(k, np.int32)
        self._heads: dict[str, Buffer] = {}
        self._aimed = False
        self._kernels: dict[tuple[str, str], Any] = {}
        self._launches: dict[Any, tuple[Any, ...]] = {}
        self._updates: Updates | None = None
        self._places: list[NDArray[Any]] = []  # staging memory

    def close(self) -> None:
        """Give everything back."""
        if self._updates is not None:
            self._updates.close()
        self.algebra.close()
        self._launches.clear()
        self._heads.clear()
        for place in self._places:
            self.device.release_staging(place)
        self._places.clear()
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

    def _head(self, name: str) -> Buffer:
        """The columns' part of a vector, as (k, n)."""
        head = self._heads.get(name)
        if head is None:
            head = self._heads[name] = replace(self._buffers[name], shape=(self._k, self._n))
        return head

    def set_point(self, x: Vector, s: Vector, w: Vector, z: Vector) -> None:
        """See :class:`Shard`."""
        self._aimed = False
        for name, values in (("x", x), ("s", s), ("w", w), ("z", z)):
            self.device.put(self._flat(values), self._buffers[name])

    def get_point(self) -> tuple[Vector, Vector, Vector, Vector]:
        """See :class:`Shard`."""
        x, s, w, z = (self._unflat(self.device.get(self._buffers[name])) for name in ("x", "s", "w", "z"))
        return x, s, w, z

    # --- launching ----------------------------------------------------------------------------------------------

    def _kernel(self, template: str, entry: str, types: tuple[str, ...]) -> Any:
        kernel = self._kernels.get((template, entry))
        if kernel is None:
            kernel = self._kernels[template, entry] = self.device.kernel(
                f"linprog/{template}", entry, types, block=self._block
            )
        return kernel

    def _again(self, key: Any, make: Callable[[], tuple[Any, ...]]) -> None:
        """Launch what ``make`` gives, which is asked only the first time for a key."""
        launch = self._launches.get(key)
        if launch is None:
            launch = self._launches[key] = make()
        self.device.launch(*launch)

    def _pass(self, entry: str, types: tuple[str, ...], *arguments: Any) -> tuple[Any, ...]:
        """One pass of ``point.mako``, ready to launch."""
        kernel = self._kernel("point", entry, (*_SIZES, *types))
        sizes = (self._k, self._n, self._slacks, self._parts, self._span)
        return (kernel, self._k * self._parts, self._block, *sizes, *arguments)

    def _results(self, width: int) -> Vector:
        """What the last pass that tells anything has found in each part, (k, parts, width)."""
        found = self.device.get(self._buffers["results"], 0, self._k * self._parts * width)
        return found.reshape(self._k, self._parts, width)

    def _wide(self, entry: str, types: tuple[str, ...], items: int, *arguments: Any) -> tuple[Any, ...]:
        """One kernel of ``matrix.mako`` over so many items, ready to launch."""
        each = 2048 if self._block == 1 else self._block
        grid = max(1, min(-(-items // each), self._groups * (4 if self._block == 1 else 8)))
        return (self._kernel("matrix", entry, types), grid, self._block, *arguments)

    def _over(self, entry: str, types: tuple[str, ...], items: int, *arguments: Any) -> None:
        """One kernel of ``matrix.mako`` over so many items."""
        self.device.launch(*self._wide(entry, types, items, *arguments))

    def _multiply_sparse(self, side: Literal["row", "column"], items: int, values: Buffer, out: Buffer) -> None:
        """The sparse A by rows, or A^T by its columns, times a vector."""
        parts = (self._buffers[f"{side}_{part}"] for part in ("starts", "indices", "values"))
        types = ("int64", *("buffer",) * 5)
        self._again((side, values), lambda: self._wide("multiply_sparse", types, items, items, *parts, values, out))

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
            self._multiply_sparse("row", self._m, b[name], out)
        else:
            self.algebra.matvec(b["A"], self._head(name), out)
            self._over_slacks("add_slacks", b[name], out)
        return self.device.get(out)

    def _transposed(self, y: Vector) -> None:
        """A^T y, with the slacks, into ``aty``."""
        b = self._buffers
        self.device.put(y, b["rows_in"])
        if self._sparse:
            self._multiply_sparse("column", self._n + self._slacks, b["rows_in"], b["aty"])
            return
        self.algebra.matvec(b["A"], b["rows_in"], self._head("aty"), transposed=True)
        if self._slacks:
            types = (*("int64",) * 4, *("buffer",) * 4)
            sizes = (self._k, self._m, self._n, self._slacks)
            given = (b["slack_row"], b["slack_sign"], b["rows_in"], b["aty"])
            self._over("slack_columns", types, self._k * self._slacks, *sizes, *given)

    def transposed(self, y: Vector) -> Vector:
        """See :class:`Shard`."""
        self._transposed(y)
        return self._unflat(self.device.get(self._buffers["aty"]))

    def times(self, v: Vector) -> Vector:
        """``A v`` (k, m) of a vector (k, N)."""
        self._aimed = False
        self.device.put(self._flat(v), self._buffers["work"])
        return self._times("work")

    # --- see Shard ----------------------------------------------------------------------------------------------

    def assess(self, y: Vector, rho: Vector, rho_free: Vector) -> tuple[Vector, Vector]:
        """See :class:`Shard`."""
        b = self._buffers
        self._transposed(y)
        self._scalars(rho, rho_free)
        names = ("c", "u", "aty", "scalars", "rd", "ru", "theta", "rxs", "rwz", "g", "work", "results")
        self._again(
            "assess", lambda: self._pass("assess", ("buffer",) * 17, *self._point(), *(b[name] for name in names))
        )
        ax = self._times("x")
        parts = self._results(MEASURES)
        self._aimed = True
        sums, greatest = parts[:, :, :3].sum(axis=1), parts[:, :, 3:5].max(axis=1)
        least, most = parts[:, :, 5:6].min(axis=1), parts[:, :, 6:].max(axis=1)
        return ax, np.concatenate([sums, greatest, least, most], axis=1)

    def scale(self, rho: Vector, rho_free: Vector) -> Vector:
        """See :class:`Shard`."""
        b = self._buffers
        self._aimed = False
        self._scalars(rho, rho_free)
        given = (*self._point(), b["scalars"], b["theta"], b["results"])
        self._again("scale", lambda: self._pass("scale", ("buffer",) * 8, *given))
        parts = self._results(2)
        return np.stack([parts[:, :, 0].min(axis=1), parts[:, :, 1].max(axis=1)], axis=1)

    def unit_scale(self) -> None:
        """See :class:`Shard`."""
        self._aimed = False
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
            kernel = self._kernel("matrix", "form_sparse", ("int64", *("buffer",) * 8))
            names = [f"{side}_{part}" for side in ("row", "column") for part in ("starts", "indices", "values")]
            given = (*(b[name] for name in names), b["theta"], normal)
            self.device.launch(kernel, self._m, self._block, self._m, *given)
            return
        self.algebra.gram(b["A"], self._head("theta"), normal)
        self._over_slacks("add_slack_diagonal", b["theta"], normal)

    def send_normal(self, passage: Passage | None) -> Buffer:
        """Form M, for the root to :meth:`collect_normal`: by a passage, or from what is returned when all is there."""
        try:
            self.form()
            count = self._k * (self._m * (self._m + 1) // 2)
            if "packed" not in self._buffers:
                self._buffers["packed"] = self.device.empty(count, np.float64)
            packed = self._buffers["packed"]
            self._over("pack_lower", _PACKED, count, self._k, self._m, self._matrix("M"), packed)
            if passage is None:
                self.device.sync()
            else:
                if not self._places:
                    self._places = passage.places(self.device, count)
                passage.send(self.device, packed, self._places)
            return packed
        finally:
            if passage is not None:
                passage.end()

    def collect_normal(self, others: list[tuple[Future[Buffer], Passage | None]]) -> None:
        """Form M and add those of the others, in this order; they are not read any more when this returns or raises.

        The factor's place takes each of them up.
        """
        try:
            scratch, normal = self._matrix("L"), self._matrix("M")
            count = self._k * (self._m * (self._m + 1) // 2)
            free = self.device.record_event()
            self.form()
            for sent, passage in others:
                with self.device.stream(1):  # while this device is still at its own
                    self.device.wait_for_event(free)
                    if passage is None:
                        self.device.copy_from_peer(scratch, sent.result(), 0, 0, count)
                    else:
                        passage.receive(self.device, scratch, count)
                    here = self.device.record_event()
                self.device.wait_for_event(here)
                self._over("add_lower", _PACKED, count, self._k, self._m, scratch, normal)
                free = self.device.record_event()
        finally:
            for _, passage in others:
                if passage is not None:
                    passage.end()
            self.device.sync()

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

    def aim(
        self, kind: Target, sigma_mu: Vector, primal: Vector, dual: Vector, rp: Vector, others: list[Future[Vector]]
    ) -> tuple[Vector, float]:
        """:meth:`target` with what the others' is to be, the solution dy (k, m), and the seconds that solving took."""
        total = self.target(kind, sigma_mu, primal, dual)
        for other in others:
            total = total + other.result()
        began = time.perf_counter()
        dy = self.solve(rp - total)
        return dy, time.perf_counter() - began

    def follow(self, aimed: Future[tuple[Vector, float]], aside: bool) -> tuple[Vector, Vector]:
        """:meth:`direction` from what :meth:`aim` finds, into the other slot if ``aside``, and :meth:`complete`."""
        dy, _ = aimed.result()
        if aside:
            self.other_slot()
        return self.direction(dy), self.complete()

    def begin_updates(self, block: int, constant_memory: bool) -> bool:
        """Make ready for :meth:`update` (one program, all its columns here); False if A A^T cannot be factorised."""
        dense = self.data.A.toarray() if self._sparse else np.asarray(self.data.A)[0]
        slacks = np.zeros((self._slacks, self._m))
        slacks[np.arange(self._slacks), self.data.slack_rows] = self.data.slack_signs
        columns = np.concatenate([dense.T, slacks])
        self._updates = Updates(self.device, self.algebra, columns, block, constant_memory)
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
        self._aimed = False
        self._transposed(p)
        self._again("weigh", lambda: self._pass("weigh", ("buffer",) * 3, b["theta"], b["aty"], b["work"]))
        return self._times("work")

    def target(self, kind: Target, sigma_mu: Vector, primal: Vector, dual: Vector) -> Vector:
        """See :class:`Shard`."""
        b = self._buffers
        if not (self._aimed and kind == "affine" and not sigma_mu.any()):  # else assess has set it
            self._aimed = False
            self._scalars(sigma_mu, primal, dual)
            types = (*("buffer",) * 9, "int32", *("buffer",) * 8)
            given = [b[name] for name in ("scalars", "rd", "ru", "theta", "rxs", "rwz", "g", "work")]
            self._again(
                ("target", kind, self._slot),
                lambda: self._pass("target", types, *self._point(), *self._step(), MODES[kind], *given),
            )
        return self._times("work")

    def direction(self, dy: Vector) -> Vector:
        """See :class:`Shard`."""
        b = self._buffers
        self._transposed(dy)
        given = [b[name] for name in ("aty", "theta", "g", "rxs", "rwz", "ru")]
        self._again(
            ("direct", self._slot),
            lambda: self._pass("direct", ("buffer",) * 16, *self._point(), *given, *self._step(), b["results"]),
        )
        return self._times(f"dx{self._slot}")

    def complete(self) -> Vector:
        """See :class:`Shard`."""
        parts = self._results(EXTENTS)
        return np.concatenate([parts[:, :, :2].max(axis=1), parts[:, :, 2:].sum(axis=1)], axis=1)

    def advance(self, primal: Vector, dual: Vector) -> None:
        """See :class:`Shard`."""
        self._aimed = False
        self._scalars(primal, dual)
        given = (*self._point(), *self._step(), self._buffers["scalars"])
        self._again(("advance", self._slot), lambda: self._pass("advance", ("buffer",) * 10, *given))

    def together(self) -> contextlib.AbstractContextManager[None]:
        """To be held while many of these methods are called in a row."""
        return contextlib.nullcontext()

    def other_slot(self) -> None:
        """See :class:`Shard`."""
        self._slot = 1 - self._slot


def kernel_variants() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template of this solver with every set of constants."""
    for block in GROUP_SIZES:
        yield "linprog/point", {"block": block}
        yield "linprog/matrix", {"block": block}
    yield from update_variants()
