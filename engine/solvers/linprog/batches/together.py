"""Many small dense linear programs on a device, each solved by one work-group: the kernel ``linprog/together``."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Capabilities, Device
from ....devices.pool.slices import SliceLength
from ....numerics.memory import Memory
from .family import Family, places

Vector = NDArray[np.float64]
Points = tuple[Vector, Vector, NDArray[np.int32]]

_ROWS = 64, 128, 256  # variants of the kernel, by the most rows they take
LARGEST_ROWS = _ROWS[-1]
_LARGEST_COLUMNS = 4096
_FEW_ROWS, _OPERATIONS = 128, 1 << 25  # of programs of more rows, m m n at most: others take longer so than one by one
_VECTORS, _ROW_VECTORS = 19, 6  # that a group keeps; see the kernel
_BLOCK = 64
_CHUNK_BYTES = 1 << 28  # of matrices and vectors on the device at a time
_PATIENCE = 12  # iterations without a better point
_CLOSER = 1e-4  # part of the tolerance that the iterations go on to: a point is audited once


def fits(m: int, n: int) -> bool:
    """Whether the kernel takes programs of this shape."""
    return 0 < m <= LARGEST_ROWS and n <= _LARGEST_COLUMNS and (m <= _FEW_ROWS or m * m * n <= _OPERATIONS)


def _block(capabilities: Capabilities) -> int:
    return _BLOCK if capabilities.simt and capabilities.max_block >= _BLOCK else 1


def _rows(m: int, block: int) -> int:
    """The variant of the kernel for so many rows; where groups are single work-items there is only one."""
    return next(rows for rows in _ROWS if m <= rows and (block > 1 or rows == _ROWS[-1]))


def _groups(capabilities: Capabilities, count: int) -> int:
    return min(count, capabilities.compute_units * (16 if capabilities.simt else 1))


def _scratch(m: int, n: int) -> int:
    """Numbers that a group works with in global memory."""
    return _VECTORS * (n + m) + _ROW_VECTORS * m + m * (_rows(m, 2) + 1)


def _chunk(m: int, n: int, shared: bool) -> int:
    """Programs that are on the device at a time."""
    each = 8 * (3 * n + 3 * m + 2 + (0 if shared else 2 * m * n))
    return max(256, _CHUNK_BYTES // each)


def together_bytes(capabilities: Capabilities, count: int, m: int, n: int, shared: bool) -> int:
    """Bytes that :class:`TogetherWorker` takes on its device for so many programs."""
    count = min(count, _chunk(m, n, shared))
    matrices = 2 * 8 * m * n * (1 if shared else count)
    return matrices + 8 * count * (4 * n + 3 * m + 2) + 8 * _groups(capabilities, count) * _scratch(m, n) + (1 << 20)


class TogetherWorker:
    """The method on one device; made and used on its thread."""

    def __init__(
        self, device: Device, family: Family, scales: tuple[Vector, Vector], tolerance: float, most: int
    ) -> None:
        self.device = device
        self._family, self._scales = family, scales
        self._goal, self._most = _CLOSER * tolerance, most
        self._m, self._n = family.A.shape[1:]
        self._block = _block(device.capabilities)
        self._memory = Memory(device)
        self._slice = SliceLength(start=4 * device.capabilities.compute_units, growth=8.0)

    def close(self) -> None:
        """Release the device memory."""
        self._memory.release()

    def solve(self, chosen: NDArray[np.int64], progress: Callable[[int], None]) -> Points:
        """Points (count, n), row duals (count, m), and iterations of the programs as given; not audited."""
        step = _chunk(self._m, self._n, self._family.shared)
        parts = [self._chunk(chosen[begin : begin + step], progress) for begin in range(0, chosen.size, step)]
        x, y, iterations = (np.concatenate([part[place] for part in parts]) for place in range(3))
        return x, y, iterations

    def _chunk(self, chosen: NDArray[np.int64], progress: Callable[[int], None]) -> Points:
        family, memory, m, n = self._family, self._memory, self._m, self._n
        row_scale, column_scale = (scale if scale.shape[0] == 1 else scale[chosen] for scale in self._scales)
        count = chosen.size
        kernels = self.device.program("linprog/together", block=self._block, rows=_rows(m, self._block))
        matrices, stride = self._matrices(chosen, row_scale, column_scale, kernels)
        groups = _groups(self.device.capabilities, count)
        x, y = memory.empty((count, n)), memory.empty((count, m))
        iterations = memory.empty(count, np.int32)
        launch = kernels.solve_programs.bind(
            m=m,
            n=n,
            matrix_stride=stride,
            **matrices,
            c=memory.put(family.c[chosen] * column_scale),
            lower=memory.put(family.lower[chosen] / column_scale),
            upper=memory.put(family.upper[chosen] / column_scale),
            row_lower=memory.put(family.row_lower[chosen] * row_scale),
            row_upper=memory.put(family.row_upper[chosen] * row_scale),
            most=self._most,
            patience=_PATIENCE,
            goal=self._goal,
            scratch_stride=_scratch(m, n),
            scratch=memory.empty(groups * _scratch(m, n)),
            x_out=x,
            y_out=y,
            error_out=memory.empty(count),
            iterations_out=iterations,
        )
        first = 0
        while first < count:
            began = time.perf_counter()
            now = min(count - first, self._slice.amount)
            launch(min(groups, now), self._block, first=first, count=now)
            self.device.get(iterations, first, 1)  # waits for the launch
            self._slice.took(time.perf_counter() - began, now)
            progress(now)
            first += now
        found = self.device.get(x) * column_scale, self.device.get(y) * row_scale, self.device.get(iterations)
        memory.release()
        return found

    def _matrices(
        self, chosen: NDArray[np.int64], row_scale: Vector, column_scale: Vector, kernels: Any
    ) -> tuple[dict[str, Any], int]:
        """The matrices by rows and, where work-items run side by side, by columns; and how far apart they are."""
        family, memory, m, n = self._family, self._memory, self._m, self._n
        given = family.A if family.A.shape[0] == 1 else family.A[places(chosen)]
        if (row_scale != 1.0).any() or (column_scale != 1.0).any():
            given = given * row_scale[:, :, None] * column_scale[:, None, :]
        by_rows = memory.put(np.ascontiguousarray(given))
        by_columns = by_rows
        if self._block > 1:
            by_columns = memory.empty(by_rows.shape)
            sizes = {"count": given.shape[0], "m": m, "n": n}
            groups = self.device.capabilities.compute_units * 8
            kernels.transpose(groups, self._block, **sizes, A=by_rows, out=by_columns)
        return {"A": by_rows, "At": by_columns}, 0 if given.shape[0] == 1 else m * n


def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """The template with its constants for one device."""
    block = _block(capabilities)
    for rows in _ROWS if block > 1 else _ROWS[-1:]:
        yield "linprog/together", {"block": block, "rows": rows}
