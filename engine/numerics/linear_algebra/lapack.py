"""The provider ``"lapack"``: SciPy's BLAS and LAPACK on the memory of a CPU device, which is the host's own.

A row-major matrix is the transpose of a column-major one, so the lower triangle here is the upper one there.
"""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...devices import Buffer, Device
from ...errors import DeviceError
from ..blas_threads import all_threads, one_thread
from .base import LinearAlgebra, Product, Provider, Side
from .kernels import Kernels

_STRIP_BYTES = 16 << 20  # a scaled copy stays within caches shared by cores, and memory is bounded
_ONE_THREAD = 4e8  # operations up to here go to one thread: others take longer to wake, far longer on a busy machine
_INDEXABLE_BYTES = 1 << 31
_OPERATIONS, _LEAST_ROWS = 4_000_000_000, 128  # of a product that is not interrupted, and rows that are the least
_IN_BLOCKS = 1500  # rows from which a factor that may be left unfinished is made in blocks
_SMALL_GRAM = 1e8  # products up to which NumPy makes a Gram matrix: SciPy takes longer to import than it saves
_SMALL = 96  # matrices of a batch up to here are left to kernels: Python takes longer to call than they to run


class Lapack(LinearAlgebra):
    """SciPy's BLAS and LAPACK; see :class:`LinearAlgebra`. Batches of small matrices are left to the kernels."""

    provider: Provider = "lapack"

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._kernels = Kernels(device)

    @functools.cached_property
    def _blas(self) -> Any:
        from scipy.linalg import blas  # slow to import, and small problems need none of it

        return blas

    @functools.cached_property
    def _lapack(self) -> Any:
        from scipy.linalg import lapack

        return lapack

    def close(self) -> None:
        self._kernels.close()
        super().close()

    def _gram(self, matrix: Buffer, scale: Buffer | None, out: Buffer, batch: int, m: int, n: int) -> None:
        if batch > 1 and m <= _SMALL:
            self._kernels._gram(matrix, scale, out, batch, m, n)
            return
        strip = max(1, min(n, _STRIP_BYTES // (8 * max(1, m))))
        with self._arrays(m * m * n, matrix, out, scale) as (a, c, s):
            for a_k, c_k, s_k in _each(a, c, s, 2):
                if n == 0:
                    c_k[:] = 0.0
                for first in range(0, n, strip):
                    part = slice(first, min(first + strip, n))
                    scaled = a_k[:, part].astype(np.float64) if s_k is None else a_k[:, part] * np.sqrt(s_k[part])
                    self._symmetric(scaled.T, c_k, trans=1, first=first == 0)

    def _gram_columns(self, matrix: Buffer, scale: Buffer | None, out: Buffer, batch: int, rows: int, p: int) -> None:
        if batch > 1 and p <= _SMALL:
            self._kernels._gram_columns(matrix, scale, out, batch, rows, p)
            return
        strip = max(1, min(rows, _STRIP_BYTES // (8 * max(1, p)), max(_LEAST_ROWS, _OPERATIONS // (p * p))))
        with self._arrays(p * p * rows, matrix, out, scale) as (x, c, s):
            for x_k, c_k, s_k in _each(x, c, s, 2):
                if rows == 0:
                    c_k[:] = 0.0
                for first in range(0, rows, strip):
                    if self.between is not None:
                        self.between()
                    part = slice(first, min(first + strip, rows))
                    scaled = x_k[part].astype(np.float64, copy=False)
                    if s_k is not None:
                        scaled = scaled * np.sqrt(s_k[part])[:, None]
                    self._symmetric(scaled.T, c_k, trans=0, first=first == 0)

    def _symmetric(self, columns: NDArray[Any], c: NDArray[Any], trans: int, first: bool) -> None:
        """``C (+)= B B^T`` (``trans = 0``) or ``B^T B`` for column-major B, in the lower triangle of row-major C."""
        beta = 0.0 if first else 1.0
        if first:
            c[:] = 0.0  # beta = 0 would keep NaN in some libraries
        _require_indexable(len(c))
        if columns.size * len(c) <= _SMALL_GRAM:
            c += columns.T @ columns if trans else columns @ columns.T
            return
        self._blas.dsyrk(1.0, columns, beta=beta, c=c.T, trans=trans, lower=0, overwrite_c=1)

    def _cholesky(self, matrix: Buffer, status: Buffer, batch: int, n: int) -> None:
        if batch > 1 and n <= _SMALL:
            self._kernels._cholesky(matrix, status, batch, n)
            return
        _require_indexable(n)
        with self._arrays(n**3 / 3, matrix, status) as (a, info):
            for k, a_k in enumerate(a.reshape(batch, n, n)):
                if self.between is not None and n >= _IN_BLOCKS:
                    from .blocked import cholesky_in_blocks  # SciPy is slow to import

                    info[k] = cholesky_in_blocks(a_k, self.between, self.threads)
                    continue
                found = self._lapack.dpotrf(a_k.T, lower=0, clean=0, overwrite_a=1)[1]
                info[k] = found if found else _first_nan(a_k)

    def _solve(self, factor: Buffer, rhs: Buffer, rows: int, per_factor: int, n: int, side: Side) -> None:
        if rows > 1 and per_factor == 1 and n <= _SMALL:
            self._kernels._solve(factor, rhs, rows, per_factor, n, side)
            return
        _require_indexable(n)
        with self._arrays(rows * n * n if per_factor > 1 else 0, factor, rhs) as (f, r):
            factors = f.reshape(-1, n, n)
            sides = r.reshape(rows, n)
            for k in range(0, rows, per_factor):
                upper = factors[k // per_factor].T
                columns = sides[k : k + per_factor].T
                for trans in {"lower": (1,), "transposed": (0,), "both": (1, 0)}[side]:
                    if per_factor == 1:
                        self._blas.dtrsv(upper, columns[:, 0], lower=0, trans=trans, overwrite_x=1)
                    else:
                        self._blas.dtrsm(1.0, upper, columns, side=0, lower=0, trans_a=trans, overwrite_b=1)

    def _matvec(self, matrix: Buffer, vector: Buffer, out: Buffer, p: Product) -> None:
        with self._arrays(p.batch * p.m * p.n, matrix, vector, out) as (a, x, y):
            if p.batch == 1:
                one, values = a.reshape(p.m, p.n), x.reshape(-1)
                product = (values @ one if p.transpose_a else one @ values).reshape(y.shape)
            else:
                product = (x[..., None, :] @ a)[..., 0, :] if p.transpose_a else (a @ x[..., None])[..., 0]
            _store(product, y, p.alpha, p.beta)

    def _matmul(self, a: Buffer, b: Buffer, out: Buffer, p: Product) -> None:
        with self._arrays(2 * p.m * p.n * p.k, a, b, out) as (left, right, c):
            left = left.swapaxes(-1, -2) if p.transpose_a else left
            right = right.swapaxes(-1, -2) if p.transpose_b else right
            if p.k and len(out.shape) == 2:
                if p.beta == 0.0:
                    np.matmul(left, right, out=c)
                    if p.alpha != 1.0:
                        c *= p.alpha
                else:  # out^T = alpha right^T left^T + beta out^T, column-major and in place
                    self._blas.dgemm(p.alpha, right.T, left.T, beta=p.beta, c=c.T, overwrite_c=1)
            else:
                _store(left @ right, c, p.alpha, p.beta)

    @contextlib.contextmanager
    def _arrays(self, operations: float, *buffers: Buffer | None) -> Iterator[Any]:
        """The buffers as arrays, and as many threads as so many floating-point operations are worth."""
        with self.device.host_views(*buffers) as views, self.threads(operations):
            yield views

    def threads(self, operations: float) -> contextlib.AbstractContextManager[None]:
        """BLAS with one thread for few operations, with all it has for many."""
        return one_thread() if operations < _ONE_THREAD else all_threads()

    def one_thread(self) -> contextlib.AbstractContextManager[None]:
        """One thread for all the small calls within the context, so that each need not ask for it."""
        return one_thread()


def _require_indexable(n: int) -> None:
    """Refuse square matrices of 2^31 bytes and more, whose 32-bit indices BLAS or LAPACK may exceed: it would crash."""
    if 8 * n * n >= _INDEXABLE_BYTES:
        raise DeviceError(f"a matrix of {n} x {n} is too large for LAPACK on this device")


def _store(product: NDArray[Any], out: NDArray[Any], alpha: float, beta: float) -> None:
    """``out = alpha product + beta out``, never reading ``out`` if ``beta`` is 0."""
    if alpha != 1.0:
        product *= alpha
    if beta == 0.0:
        out[...] = product
    else:
        out *= beta
        out += product


def _each(a: NDArray[Any], c: NDArray[Any], s: NDArray[Any] | None, dimensions: int) -> Any:
    """The matrices of a batch, with their results and scales."""
    if a.ndim == dimensions:
        return [(a, c, s)]
    return zip(a, c, [None] * len(a) if s is None else s, strict=True)


def _first_nan(factor: NDArray[Any]) -> int:
    """The pivot, from 1, of a factor that has become NaN, which LAPACK may not report; 0 if there is none."""
    bad = np.isnan(np.diagonal(factor))
    return int(np.argmax(bad)) + 1 if bad.any() else 0
