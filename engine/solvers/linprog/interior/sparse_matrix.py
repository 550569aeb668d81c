"""A sparse A on a device, by rows and by columns: its products, and A D A^T as a dense matrix."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ....devices import Buffer, Device
from ..problem import sp
from ..sparse.long_lines import chunks_of, long_lines, longest_line
from .loading import Launch, launch_kernel

_MOST_SUMS = 1 << 20  # of the chunks of long rows: 8 MiB


class SparseMatrix:
    """A sparse matrix with its slacks on a device."""

    def __init__(
        self, device: Device, matrix: Any, buffers: dict[str, Buffer], block: int, grid: Callable[[int], int]
    ) -> None:
        self._device, self._b, self._block, self._grid = device, buffers, block, grid
        self._m = matrix.shape[0]
        self._kernels = device.program("linprog/matrix", block=block)
        self._simt = device.capabilities.simt
        rows, columns = sp.csr_array(matrix), sp.csc_array(matrix)
        rows.sort_indices()
        columns.sort_indices()
        for name, part in (("row", rows), ("column", columns)):
            self._put(f"{name}_starts", part.indptr)
            self._put(f"{name}_indices", part.indices)
            buffers[f"{name}_values"] = device.put(part.data.astype(np.float64))
            lines = long_lines(part.indptr, self._simt)
            if lines.size:
                self._put(f"{name}_long", lines)
        self._chunks = chunks_of(rows.indptr, np.full(self._m, self._m), _MOST_SUMS, self._simt)

    def _put(self, name: str, values: Any) -> None:
        self._b[name] = self._device.put(np.ascontiguousarray(values, np.int32))

    def multiplication(self, side: Literal["row", "column"], items: int, values: Buffer, out: Buffer) -> Launch:
        """The launch of A by rows, or of A^T by its columns, times a vector."""
        b, block, grid = self._b, self._block, self._grid(items)
        given = {part: b[f"{side}_{part}"] for part in ("starts", "indices", "values")} | {"v": values, "out": out}
        bound = self._kernels.multiply_sparse.bind(lines=items, longest=longest_line(self._simt), **given)
        lines = b.get(f"{side}_long")
        if lines is None:
            return lambda: bound(grid, block)
        count, rest = lines.size, self._kernels.multiply_long.bind(long_lines=lines, **given)

        def launch() -> None:
            bound(grid, block)
            rest(count, block)

        return launch

    def form(self, theta: Buffer, normal: Buffer) -> None:
        """The lower triangle of A D A^T, by rows."""
        b, chunks = self._b, self._chunks
        names = {"columns": "row_indices", "rows": "column_indices"}
        names |= {name: name for name in ("row_values", "column_starts", "column_values")}
        given = {name: b[own] for name, own in names.items()} | {"m": self._m, "theta": theta}
        starts = {"row_starts": b["row_starts"], "longest": chunks.longest}
        self._launch("form_sparse", self._m, **given, **starts, M=normal)
        if not chunks.rows.size:
            return
        if "chunk_row" not in b:
            for name in ("row", "begin", "end", "rows", "first"):
                self._put(f"chunk_{name}", getattr(chunks, name))
            b["chunk_sums"] = self._device.empty(chunks.size, np.float64)
        own = {name: b[f"chunk_{name}"] for name in ("row", "begin", "end", "sums")}
        self._launch("form_chunks", chunks.row.size, **given, **own)
        of_rows = {"long_rows": b["chunk_rows"], "first": b["chunk_first"], "sums": b["chunk_sums"]}
        self._launch("add_chunks", chunks.rows.size, **of_rows, m=self._m, M=normal)

    def _launch(self, entry: str, groups: int, **arguments: Any) -> None:
        launch_kernel(self._device, self._kernels, entry, groups, self._block, **arguments)
