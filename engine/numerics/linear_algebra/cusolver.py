"""The provider ``"cusolver"``: cuBLAS and cuSOLVER through CuPy's bindings, on the device's own memory and stream.

``cupy`` is imported here and nowhere else, when a CUDA device is listed or first asked for it. The libraries are
column-major: a row-major matrix is the transpose of theirs, and its lower triangle their upper one.
"""

import contextlib
import functools
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...devices import Buffer, Device
from ...errors import DeviceError
from .base import LinearAlgebra, Product, Provider, Side

_STRIP_BYTES = 1 << 29
_ALONE_FROM = 1024
"""Order from which a batch of matrices is factorised, and solved with, one after the other."""
_N, _T = 0, 1  # cublasOperation_t
_LOWER, _UPPER = 0, 1  # cublasFillMode_t
_LEFT = 0  # cublasSideMode_t
_NON_UNIT = 0  # cublasDiagType_t


@functools.cache
def _libraries() -> SimpleNamespace:
    import cupy
    from cupy_backends.cuda.libs import cublas, cusolver

    return SimpleNamespace(cupy=cupy, cublas=cublas, cusolver=cusolver)


@functools.cache
def missing() -> str | None:
    """Why cuSOLVER cannot be used here; None if it can."""
    if importlib.util.find_spec("cupy") is None:
        return "cuSOLVER needs the package cupy, which is not installed (Quintet's extra cusolver has it)"
    try:
        _libraries()
    except Exception as error:  # a CUDA library that it needs is missing, or of another version
        return f"cuSOLVER is unavailable: cupy does not load ({error})"
    return None


_CONSTANTS = np.array([0.0, 1.0, -1.0])


@dataclass(frozen=True)
class _Foreign:
    """A stream that is not CuPy's own, given by the CUDA stream protocol."""

    handle: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


class CuSolver(LinearAlgebra):
    """cuBLAS and cuSOLVER; see :class:`LinearAlgebra`."""

    provider: Provider = "cusolver"

    device: Device

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        found = _libraries()
        self._cupy = found.cupy
        self._cublas = found.cublas
        self._cusolver = found.cusolver
        with self._reporting():
            self._blas = self._cublas.create()
            self._solver = self._cusolver.create()
        self._open = True
        self._streams: dict[int, Any] = {}
        self._work_sizes: dict[int, int] = {}
        self._pointers: dict[tuple[int, int, int], Buffer] = {}
        device._owned.stack.callback(self.close)

    def close(self) -> None:
        if self._open:
            self._open = False
            for buffer in self._pointers.values():
                self.device.release(buffer)
            self._pointers.clear()
            super().close()
            self._cublas.destroy(self._blas)
            self._cusolver.destroy(self._solver)

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise DeviceError(f"{self.device.info.id}: {error}") from error

    @contextlib.contextmanager
    def _on_stream(self) -> Iterator[None]:
        """CuPy's bindings work on CuPy's current stream, so it is made the device's own for the calls within."""
        with self.device.queue.library_stream() as handle:
            stream = self._streams.get(handle)
            if stream is None:
                stream = self._streams[handle] = self._foreign(handle)
            with self._reporting(), stream:
                yield

    def _foreign(self, handle: int) -> Any:
        """The device's stream as CuPy's: by the stream protocol where CuPy knows it (from 14 on)."""
        cuda = self._cupy.cuda
        if hasattr(cuda.Stream, "from_external"):
            return cuda.Stream.from_external(_Foreign(handle))
        return cuda.ExternalStream(handle, self.device.info.index)

    def _scaled(
        self,
        matrix: Buffer,
        scale: Buffer | None,
        rows: tuple[int, int],
        columns: tuple[int, int],
        batch_rows: int,
        *,
        root: bool,
        by_row: bool,
    ) -> Buffer:
        """A strip of the matrix in float64, times ``scale`` or its square root."""
        width, height = columns[1] - columns[0], rows[1] - rows[0]
        target = self._scratch_of("strip", width * height)
        value = "f64" if matrix.dtype == np.float64 else "f32"
        self.device.program("numerics/vector", value=value, block=256).scale_copy(
            min(-(-width * height // 1024), 16 * self.device.capabilities.compute_units),
            256,
            A=matrix,
            row0=rows[0],
            columns=matrix.shape[-1],
            first=columns[0],
            width=width,
            rows=height,
            batch_rows=batch_rows,
            s=scale if scale is not None else target,
            s_batch=batch_rows if by_row else matrix.shape[-1],
            mode=0 if scale is None else 2 if root else 1,
            by_row=int(by_row),
            target=target,
        )
        return target

    def _gram(self, matrix: Buffer, scale: Buffer | None, out: Buffer, batch: int, m: int, n: int) -> None:
        if n == 0:
            self.device.zero(out)
            return
        strip = max(1, min(n, _STRIP_BYTES // (8 * m * batch)))
        for first in range(0, n, strip):
            width = min(strip, n - first)
            if scale is None and matrix.dtype == np.float64 and width == n:
                pointer = matrix.argument
            else:
                pointer = self._scaled(
                    matrix, scale, (0, batch * m), (first, first + width), m, root=True, by_row=False
                ).argument
            self._add_gram(pointer, out, batch, m, width, _T, width, first > 0)

    def _gram_columns(self, matrix: Buffer, scale: Buffer | None, out: Buffer, batch: int, rows: int, p: int) -> None:
        if rows == 0:
            self.device.zero(out)
            return
        if batch > 1:  # whole matrices: strips of rows of a batch would not be evenly apart
            pointer = matrix.argument
            if scale is not None or matrix.dtype != np.float64:
                pointer = self._scaled(matrix, scale, (0, batch * rows), (0, p), rows, root=True, by_row=True).argument
            self._add_gram(pointer, out, batch, p, rows, _N, p, False)
            return
        strip = max(1, min(rows, _STRIP_BYTES // (8 * p)))
        for first in range(0, rows, strip):
            height = min(strip, rows - first)
            if scale is None and matrix.dtype == np.float64:
                pointer = matrix.argument + 8 * first * p
            else:
                pointer = self._scaled(
                    matrix, scale, (first, first + height), (0, p), rows, root=True, by_row=True
                ).argument
            self._add_gram(pointer, out, 1, p, height, _N, p, first > 0)

    def _add_gram(
        self, pointer: int, out: Buffer, batch: int, order: int, inner: int, trans: int, ld: int, more: bool
    ) -> None:
        """``out (+)= op(B) op(B)^T`` for column-major B; the upper triangle there is the lower one here."""
        one, beta = _constant(1.0), _constant(1.0 if more else 0.0)
        with self._on_stream():
            if batch == 1:
                self._cublas.dsyrk(self._blas, _UPPER, trans, order, inner, one, pointer, ld, beta, out.argument, order)
            else:
                other = _N if trans == _T else _T
                stride = order * inner
                self._cublas.dgemmStridedBatched(
                    self._blas,
                    trans,
                    other,
                    order,
                    order,
                    inner,
                    one,
                    pointer,
                    ld,
                    stride,
                    pointer,
                    ld,
                    stride,
                    beta,
                    out.argument,
                    order,
                    order * order,
                    batch,
                )

    def _cholesky(self, matrix: Buffer, status: Buffer, batch: int, n: int) -> None:
        if batch > 1 and n < _ALONE_FROM:
            pointers = self._matrix_pointers(matrix, batch, n * n)
            with self._on_stream():
                self._cusolver.dpotrfBatched(self._solver, _UPPER, n, pointers.argument, n, status.argument, batch)
        else:
            self._mirror(matrix, batch, n, upper_to_lower=False)
            with self._on_stream():
                size = self._work_sizes.get(n)
                if size is None:
                    size = self._cusolver.dpotrf_bufferSize(self._solver, _LOWER, n, matrix.argument, n)
                    self._work_sizes[n] = size
            work = self._scratch_of("work", max(1, size))
            with self._on_stream():  # from its lower triangle, our upper one, in less than half the time
                for k in range(batch):
                    own, found = matrix.argument + 8 * k * n * n, status.argument + 4 * k
                    self._cusolver.dpotrf(self._solver, _LOWER, n, own, n, work.argument, work.size, found)
            self._mirror(matrix, batch, n, upper_to_lower=True)
        # the library takes NaN for a good pivot
        self.device.program("numerics/triangle").check_diagonal(batch, 256, A=matrix, n=n, status=status)

    def _mirror(self, matrix: Buffer, batch: int, n: int, *, upper_to_lower: bool) -> None:
        rows = -(-n // 32)
        tiles = rows * (rows + 1) // 2
        mirror = self.device.program("numerics/triangle").mirror
        mirror(batch * tiles, 256, A=matrix, n=n, tiles=tiles, upper_to_lower=int(upper_to_lower))

    def _matrix_pointers(self, buffer: Buffer, batch: int, stride: int) -> Buffer:
        """The addresses of a batch's matrices, on the device."""
        key = (buffer.argument, batch, stride)
        if key not in self._pointers:
            addresses = buffer.argument + 8 * stride * np.arange(batch, dtype=np.int64)
            self._pointers[key] = self.device.put(addresses)
        return self._pointers[key]

    def _solve(self, factor: Buffer, rhs: Buffer, rows: int, per_factor: int, n: int, side: Side) -> None:
        one = _constant(1.0)
        steps = {"lower": (_T,), "transposed": (_N,), "both": (_T, _N)}[side]
        if per_factor == 1 and rows > 1 and n < _ALONE_FROM:
            factors = self._matrix_pointers(factor, rows, n * n)
            sides = self._matrix_pointers(rhs, rows, n)
            with self._on_stream():
                for trans in steps:
                    self._cublas.dtrsmBatched(
                        self._blas,
                        _LEFT,
                        _UPPER,
                        trans,
                        _NON_UNIT,
                        n,
                        1,
                        one,
                        factors.argument,
                        n,
                        sides.argument,
                        n,
                        rows,
                    )
            return
        with self._on_stream():
            for first in range(0, rows, per_factor):
                own, sides = factor.argument + 8 * (first // per_factor) * n * n, rhs.argument + 8 * first * n
                for trans in steps:
                    shape = _LEFT, _UPPER, trans, _NON_UNIT, n, per_factor
                    self._cublas.dtrsm(self._blas, *shape, one, own, n, sides, n)

    def _matvec(self, matrix: Buffer, vector: Buffer, out: Buffer, p: Product) -> None:
        if p.m == 0 or p.n == 0:
            raise ValueError(f"matvec needs a matrix with elements; got {matrix.shape}")
        a, b = np.array([p.alpha]), np.array([p.beta])
        trans = _N if p.transpose_a else _T
        with self._on_stream():
            if p.batch == 1:
                self._cublas.dgemv(
                    self._blas,
                    trans,
                    p.n,
                    p.m,
                    a.ctypes.data,
                    matrix.argument,
                    p.n,
                    vector.argument,
                    1,
                    b.ctypes.data,
                    out.argument,
                    1,
                )
            else:
                rows, inner = (p.n, p.m) if p.transpose_a else (p.m, p.n)
                self._cublas.dgemmStridedBatched(
                    self._blas,
                    trans,
                    _N,
                    rows,
                    1,
                    inner,
                    a.ctypes.data,
                    matrix.argument,
                    p.n,
                    p.m * p.n,
                    vector.argument,
                    inner,
                    inner,
                    b.ctypes.data,
                    out.argument,
                    rows,
                    rows,
                    p.batch,
                )

    def _matmul(self, a: Buffer, b: Buffer, out: Buffer, p: Product) -> None:
        factors = np.array([p.alpha, p.beta])
        first = factors.ctypes.data
        with self._on_stream():
            self._cublas.dgemmStridedBatched(  # out^T = op(B)^T op(A)^T
                self._blas,
                _T if p.transpose_b else _N,
                _T if p.transpose_a else _N,
                p.n,
                p.m,
                p.k,
                first,
                b.argument,
                p.k if p.transpose_b else p.n,
                p.n * p.k,
                a.argument,
                p.m if p.transpose_a else p.k,
                p.m * p.k,
                first + 8,
                out.argument,
                p.n,
                p.m * p.n,
                p.batch,
            )


def _constant(value: float) -> int:
    """Where on the host the libraries find 0, 1 or -1."""
    return int(_CONSTANTS.ctypes.data) + 8 * {0.0: 0, 1.0: 1, -1.0: 2}[value]
