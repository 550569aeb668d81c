"""A sparse Cholesky factor of ``A diag(theta) A^T`` on a device: the kernels of ``linprog/fronts``."""

import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Capabilities, Device
from ....devices.graph import Recordings
from ....devices.kernels.program import BoundKernel
from ....numerics.linear_algebra.kernels import Kernels
from ..problem import sp
from ..sparse.long_lines import Chunks, chunks_of
from .plan import BLOCK, Level, Plan, Tasks
from .symbolic import Fronts

Vector = NDArray[np.float64]

GROUP = 256  # work-items of a group of most kernels
_ROW_GROUP = 32  # and of those for one row or column
_UNINTERRUPTED = 3e11  # multiplications after which the device is waited for
_RECORDED = _UNINTERRUPTED / 8  # multiplications of a factorization in which it is not
_MOST_SUMS = 1 << 22  # of the chunks of long rows of A: 32 MiB
_OUTER = 256  # pivots after which the rest of a large front's columns are updated


def matrix_bytes(nonzeros: int, m: int, count: int) -> int:
    """Bytes on the device of a matrix A, and of vectors."""
    return 32 * nonzeros + 8 * count + 40 * m + 8 * (m + count) + 8 * min(_MOST_SUMS, nonzeros * m)


class Multifrontal:
    """The matrix ``A diag(theta) A^T`` and its factor on one device, used on the device's thread."""

    def __init__(self, device: Device, columns: Any, fronts: Fronts, plan: Plan) -> None:
        self._device, self._plan, self._fronts = device, plan, fronts
        self._m, self._columns = columns.shape
        self._b: dict[str, Buffer] = {}
        self._kernels: dict[str, BoundKernel] = {}
        self._algebra = Kernels(device)
        self._cancelled = threading.Event()
        self._simt, self._recordings = device.capabilities.simt, Recordings(device)
        self._chunks: Chunks
        try:
            self._allocate(columns)
        except BaseException:
            self.close()
            raise

    def _allocate(self, columns: Any) -> None:
        device, fronts, plan = self._device, self._fronts, self._plan
        self._put("order", fronts.order, np.int32)
        self._put_matrix(columns)
        self._put("front_of", np.repeat(np.arange(fronts.count), fronts.widths), np.int32)
        for name in ("first", "widths", "sizes", "below", "relative"):
            self._put(name, getattr(fronts, name), np.int32)
        for name in ("has_children", "contribution_starts", "contribution_front", "contribution_row"):
            self._put(name, getattr(plan, name), np.int32)
        self._put("tasks", plan.tasks.reshape(-1), np.int32)
        self._put("starts", fronts.starts, np.int64)
        for name in ("panel_at", "update_at", "rows_at"):
            self._put(name, getattr(plan, name), np.int64)
        lengths = {"panel": plan.panel_size, "update": plan.update_size, "work": plan.rows_size}
        lengths |= {"theta": self._columns, **dict.fromkeys(("r", "x", "ys", "xs", "diagonal"), self._m)}
        for name, length in lengths.items():
            self._b[name] = device.empty(length, np.float64)
        self._b["status"] = device.empty(1, np.int32)
        numbers = device.program("linprog/fronts", **_constants(device.capabilities))
        solution = device.program("linprog/fronts_solve")
        self._kernels = {
            name: self._bound(program.kernel(name), free)
            for program, names in ((numbers, _NUMERIC), (solution, _SOLUTION))
            for name, free in names.items()
        }

    def _put(self, name: str, values: NDArray[Any], dtype: Any) -> None:
        self._b[name] = self._device.put(np.ascontiguousarray(values, dtype))

    def _put_matrix(self, columns: Any) -> None:
        """A with its rows in the order of the elimination, by rows and by columns."""
        place = np.empty(self._m, np.int64)
        place[self._fronts.order] = np.arange(self._m)
        parts = columns.data.copy(), place[columns.indices], columns.indptr
        by_columns = sp.csc_array(parts, shape=columns.shape)
        by_columns.sort_indices()
        entry = np.arange(by_columns.nnz, dtype=np.int64)
        column = np.repeat(np.arange(self._columns), np.diff(by_columns.indptr))
        by_row = np.argsort(by_columns.indices, kind="stable")
        starts = np.searchsorted(by_columns.indices[by_row], np.arange(self._m + 1))
        self._put("a_starts", starts, np.int32)
        self._put("a_column", column[by_row], np.int32)
        self._put("a_place", entry[by_row], np.int32)
        self._put("a_value", by_columns.data[by_row], np.float64)
        self._put("b_ends", by_columns.indptr[1:], np.int32)
        self._put("b_row", by_columns.indices, np.int32)
        self._put("b_value", by_columns.data, np.float64)
        sizes = np.repeat(self._fronts.sizes, self._fronts.widths)
        chunks = self._chunks = chunks_of(starts, sizes, _MOST_SUMS, self._device.capabilities.simt)
        for name in ("rows", "first", "row", "begin", "end", "at"):
            self._put(f"chunk_{name}", getattr(chunks, name), np.int32)
        self._b["sums"] = self._device.empty(chunks.size, np.float64)

    def _bound(self, kernel: Any, free: tuple[str, ...]) -> BoundKernel:
        fixed = [parameter.name for parameter in kernel.signature.parameters if parameter.name not in free]
        bound: BoundKernel = kernel.bind(**{name: self._b[name] for name in fixed})
        return bound

    def _launch(self, name: str, tasks: Tasks, **others: int) -> None:
        if tasks.count and not self._cancelled.is_set():
            group = _ROW_GROUP if name == "assemble" else GROUP
            self._kernels[name](tasks.count, group, task=tasks.first, **others)
            if not self._simt:
                self._device.sync()  # it takes long there, and may be cancelled

    def _repeat(self, key: Hashable, work: Callable[[], None]) -> None:
        """Give the device work that it is given often, recorded where the host does not wait meanwhile."""
        if self._simt and self._fronts.multiplications < _RECORDED and not self._cancelled.is_set():
            self._recordings.run(key, work)
        else:
            work()

    def cancel(self) -> None:
        """End a factorization that is at work soon, as a failure; called from any thread."""
        self._cancelled.set()

    def close(self) -> None:
        """Release everything."""
        self._recordings.forget()
        self._kernels.clear()
        self._algebra.close()
        for buffer in self._b.values():
            self._device.release(buffer)
        self._b.clear()

    @property
    def theta(self) -> Vector:
        """What :meth:`form` was given."""
        return self._device.get(self._b["theta"])

    def form(self, theta: Vector | Buffer) -> None:
        """Take theta (N,) for the factorizations that follow."""
        if isinstance(theta, Buffer):
            self._device.copy(self._b["theta"], theta)
        else:
            self._device.put(theta, self._b["theta"])

    def factor(self, relative: float, absolute: float) -> bool:
        """Factorise the matrix of the last :meth:`form`; whether it is positive definite."""
        self._repeat(("factor", relative, absolute), lambda: self._factorise(relative, absolute))
        return not int(self._device.get(self._b["status"])[0]) and not self._cancelled.is_set()

    def _factorise(self, relative: float, absolute: float) -> None:
        device, b = self._device, self._b
        device.zero(b["panel"])
        device.zero(b["status"])
        chunks, larger = self._chunks, {"relative": float(relative), "absolute": float(absolute)}
        self._kernels["form_columns"](self._m, _ROW_GROUP, longest=chunks.longest, **larger)
        if chunks.rows.size:
            self._kernels["form_chunks"](chunks.row.size, _ROW_GROUP)
            self._kernels["add_chunks"](chunks.rows.size, GROUP, **larger)
        self._given = 0.0
        for level in self._plan.levels:
            self._factor_level(level)

    def _give(self, multiplications: float) -> bool:
        """Count work that the device is given, wait for it where it is much; False if the factorization is to end."""
        self._given += multiplications
        if self._given > _UNINTERRUPTED:
            self._device.sync()
            self._given = 0.0
        return not self._cancelled.is_set()

    def _factor_level(self, level: Level) -> None:
        if not self._give(level.multiplications):
            return
        self._launch("assemble", level.assemble)
        self._launch("assemble_long", level.assemble_long)
        for update, diagonal, rows in level.steps:
            self._launch("update_block", update, step=update.step)
            self._launch("factor_block", diagonal, step=diagonal.step)
            self._launch("solve_rows", rows, step=rows.step)
        self._launch("update_rest", level.update_rest)
        for front, (diagonals, rows_of) in zip(level.large, level.large_steps, strict=True):
            self._factor_large(front, diagonals, rows_of)

    def _factor_large(self, front: int, diagonals: list[Tasks], rows_of: list[Tasks]) -> None:
        """One front by products over the whole device: the rest of the panel is updated after every few blocks."""
        w, n = int(self._fronts.widths[front]), int(self._fronts.sizes[front])
        at, panel = int(self._plan.panel_at[front]), self._b["panel"]
        for since in range(0, w, _OUTER):
            end = min(since + _OUTER, w)
            if not self._give(float((n - since) ** 2 * _OUTER)):
                return
            for first in range(since, end, BLOCK):
                if first > since:
                    source, target = (panel, at + first * w + since, w), (panel, at + first * w + first, w)
                    self._subtract(source, source, target, n - first, min(BLOCK, w - first), first - since)
                self._launch("factor_block", diagonals[first // BLOCK], step=first // BLOCK)
                self._launch("solve_rows", rows_of[first // BLOCK], step=first // BLOCK)
            if end < w:
                source = (panel, at + end * w + since, w)
                self._subtract(source, source, (panel, at + end * w + end, w), n - end, w - end, end - since)
        if n > w:
            source = (panel, at + w * w, w)
            target = self._b["update"], int(self._plan.update_at[front]), n - w
            adds = bool(self._plan.has_children[front])
            self._subtract(source, source, target, n - w, n - w, w, lower=True, adds=adds)

    def _subtract(
        self,
        a: tuple[Buffer, int, int],
        b: tuple[Buffer, int, int],
        c: tuple[Buffer, int, int],
        rows: int,
        columns: int,
        depth: int,
        lower: bool = False,
        adds: bool = True,
    ) -> None:
        """``C -= A B^T``, or ``C = -A B^T``; matrices are (buffer, start, row length)."""
        self._algebra.product(
            (*a, 0), None, 0, (*b, 0), (*c, 0), (1, rows, columns, depth), lower=lower, transpose_b=True, alpha=-1.0,
            beta=1.0 if adds else 0.0,
        )  # fmt: skip

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor for one right-hand side (m,) or several (m, k)."""
        if rhs.ndim == 2:
            solved = [self.solve(np.ascontiguousarray(column)) for column in rhs.T]
            return np.stack(solved, axis=1) if solved else rhs
        self._device.put(rhs, self._b["r"])
        self._repeat("solve", self._solve)
        return self._device.get(self._b["x"])

    def _solve(self) -> None:
        for level in self._plan.levels:
            self._launch("forward", level.forward)
            self._launch("gather", level.gather)
            for tasks in level.forward_spans:
                self._launch("forward_span", tasks, step=tasks.step)
        for level in reversed(self._plan.levels):
            self._launch("backward", level.backward)
            for tasks in reversed(level.backward_spans):
                self._launch("backward_span", tasks, step=tasks.step)


_NUMERIC: dict[str, tuple[str, ...]] = {
    "form_columns": ("longest", "relative", "absolute"),
    "form_chunks": (),
    "add_chunks": ("relative", "absolute"),
    "assemble": ("task",),
    "assemble_long": ("task",),
    "factor_block": ("task", "step"),
    "solve_rows": ("task", "step"),
    "update_block": ("task", "step"),
    "update_rest": ("task",),
}
_SOLUTION: dict[str, tuple[str, ...]] = {
    "forward": ("task",),
    "gather": ("task",),
    "forward_span": ("task", "step"),
    "backward": ("task",),
    "backward_span": ("task", "step"),
}


def multifrontal_runs_on(device: Capabilities) -> bool:
    """Whether a device is a GPU whose groups are large enough."""
    return device.simt and device.max_block >= GROUP


def _constants(capabilities: Capabilities) -> dict[str, Any]:
    return {"registers": int(capabilities.simt)}


def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template of the multifrontal factor with the constants for one device."""
    yield "linprog/fronts", _constants(capabilities)
    yield "linprog/fronts_solve", {}
