"""What every provider of linear algebra offers: the public methods, which check shapes and types once for all."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...devices import Buffer, Device
from ..closing import Closing

Provider = Literal["cusolver", "lapack", "kernels"]

Side = Literal["lower", "transposed", "both"]

_F64 = np.dtype(np.float64)


@dataclass(frozen=True)
class Product:
    """``C = alpha op(A) op(B) + beta C`` for ``batch`` matrices C of m x n, k the inner dimension.

    Where B is a vector, A is m x n and k is not used.
    """

    batch: int
    m: int
    n: int
    k: int
    transpose_a: bool
    transpose_b: bool
    alpha: float
    beta: float


class LinearAlgebra(Closing):
    """Linear algebra of one provider on one device; see :func:`engine.numerics.linear_algebra.linear_algebra`.

    Use it on the device's thread. It is a context manager; the device gives its scratch memory back too, when it
    closes. Every method takes its place in the device's present stream and returns without waiting (LAPACK: when it is
    done). All raise ``ValueError`` or ``TypeError`` for buffers whose shapes or types do not fit, before any work is
    given.
    """

    provider: Provider

    between: Callable[[], None] | None = None
    """Called before each block of large products and factors on the host; may raise, which leaves them unfinished."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._scratch: dict[str, Buffer] = {}

    def close(self) -> None:
        for buffer in self._scratch.values():
            self.device.release(buffer)
        self._scratch.clear()

    def _scratch_of(self, name: str, count: int, dtype: type = np.float64) -> Buffer:
        """Scratch memory of at least ``count`` elements; what it held is lost if it has to grow."""
        found = self._scratch.get(name)
        if found is None or found.size < count:
            if found is not None:
                self.device.release(found)
            found = self._scratch[name] = self.device.empty(count, dtype)
        return found

    # --- the interface ------------------------------------------------------------------------------------------

    def begin_factor(self) -> None:
        """Begin to compile what factorisations and solutions take."""

    def begin_gram(self, columns: int) -> None:
        """Begin to compile what :meth:`gram_columns` takes."""

    def gram(self, matrix: Buffer, scale: Buffer | None, out: Buffer) -> None:
        """``out = A diag(scale) A^T``, lower triangle."""
        batch, m, n = _matrices("matrix", matrix)
        _require_float("matrix", matrix)
        _require("out", out, (*matrix.shape[:-2], m, m))
        if scale is not None:
            _require("scale", scale, (*matrix.shape[:-2], n))
        if m:
            self._gram(matrix, scale, out, batch, m, n)

    def gram_columns(self, matrix: Buffer, scale: Buffer | None, out: Buffer) -> None:
        """``out = X^T diag(scale) X``, lower triangle.

        float32 input is widened before it is multiplied, and products are added in float64, so the result is as good as
        that of a float64 copy of the matrix; no float64 copy larger than a strip is made.
        """
        batch, rows, p = _matrices("matrix", matrix)
        _require_float("matrix", matrix)
        _require("out", out, (*matrix.shape[:-2], p, p))
        if scale is not None:
            _require("scale", scale, (*matrix.shape[:-2], rows))
        if p:
            self._gram_columns(matrix, scale, out, batch, rows, p)

    def cholesky(self, matrix: Buffer, status: Buffer) -> None:
        """``A = L L^T`` in place. What is above the diagonal is not read, and afterwards is the provider's own.

        ``matrix``, shape (n, n); ``status``, shape (k,): set to 0, or to the first pivot, counted from 1, that is not
        above zero (or is NaN). What that matrix holds then has no meaning. Read it when it suits.
        """
        batch, n, columns = _matrices("matrix", matrix)
        _require("matrix", matrix, (*matrix.shape[:-2], n, n))
        if columns != n:
            raise ValueError(f"matrix must be square; got shape {matrix.shape}")
        if status.dtype != np.int32 or status.size != batch:
            raise ValueError(f"status must hold {batch} int32; got {status.size} {status.dtype}")
        if n:
            self._cholesky(matrix, status, batch, n)
        else:
            self.device.zero(status)

    def solve_lower(self, factor: Buffer, rhs: Buffer) -> None:
        """``L y = r``, in place of ``r``."""
        rows, per_factor, n = self._rows(factor, rhs)
        if rows and n:
            self._solve(factor, rhs, rows, per_factor, n, "lower")

    def solve_lower_transposed(self, factor: Buffer, rhs: Buffer) -> None:
        """``L^T y = r``, in place of ``r``; see :meth:`solve_lower`."""
        rows, per_factor, n = self._rows(factor, rhs)
        if rows and n:
            self._solve(factor, rhs, rows, per_factor, n, "transposed")

    def solve(self, factor: Buffer, rhs: Buffer) -> None:
        """``L L^T y = r``, in place of ``r``; see :meth:`solve_lower`."""
        rows, per_factor, n = self._rows(factor, rhs)
        if rows and n:
            self._solve(factor, rhs, rows, per_factor, n, "both")

    def matvec(
        self,
        matrix: Buffer,
        vector: Buffer,
        out: Buffer,
        *,
        transposed: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        """``out = alpha A x + beta out``, or with A^T if ``transposed``."""
        batch, m, n = _matrices("matrix", matrix)
        if matrix.dtype != _F64:
            raise TypeError(f"matrix must be float64; got {matrix.dtype}")
        lead = matrix.shape[:-2]
        _require("vector", vector, (*lead, m if transposed else n))
        _require("out", out, (*lead, n if transposed else m))
        if out.size:
            self._matvec(matrix, vector, out, Product(batch, m, n, 1, transposed, False, alpha, beta))

    def matmul(
        self,
        a: Buffer,
        b: Buffer,
        out: Buffer,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        """``out = alpha op(A) op(B) + beta out``, where op transposes if asked.

        ``a``, ``b``, ``out``: ``out`` is neither of the others. With ``beta = 0`` what it held does not matter.
        """
        batch, a_rows, a_columns = _matrices("a", a)
        _, b_rows, b_columns = _matrices("b", b)
        m, k = (a_columns, a_rows) if transpose_a else (a_rows, a_columns)
        inner, n = (b_columns, b_rows) if transpose_b else (b_rows, b_columns)
        if inner != k or a.shape[:-2] != b.shape[:-2]:
            raise ValueError(
                f"matmul: shapes {a.shape} and {b.shape} do not fit (transpose {transpose_a, transpose_b})"
            )
        for name, buffer in (("a", a), ("b", b)):
            if buffer.dtype != _F64:
                raise TypeError(f"{name} must be float64; got {buffer.dtype}")
        _require("out", out, (*a.shape[:-2], m, n))
        if out.size:
            self._matmul(a, b, out, Product(batch, m, n, k, transpose_a, transpose_b, alpha, beta))

    @staticmethod
    def _rows(factor: Buffer, rhs: Buffer) -> tuple[int, int, int]:
        """Right-hand sides, those for each factor, and unknowns."""
        batch, n, _ = _matrices("factor", factor)
        _require("factor", factor, (*factor.shape[:-2], n, n))
        if rhs.dtype != _F64:
            raise TypeError(f"rhs must be float64; got {rhs.dtype}")
        if len(factor.shape) == 3:
            _require("rhs", rhs, (batch, n))
            return batch, 1, n
        if len(rhs.shape) not in (1, 2) or rhs.shape[-1] != n:
            raise ValueError(f"rhs must have shape ({n},) or (rows, {n}); got {rhs.shape}")
        rows = rhs.shape[0] if len(rhs.shape) == 2 else 1
        return rows, max(1, rows), n

    # --- what a provider does -----------------------------------------------------------------------------------

    @abstractmethod
    def _gram(self, matrix: Buffer, scale: Buffer | None, out: Buffer, batch: int, m: int, n: int) -> None: ...

    @abstractmethod
    def _gram_columns(
        self, matrix: Buffer, scale: Buffer | None, out: Buffer, batch: int, rows: int, p: int
    ) -> None: ...

    @abstractmethod
    def _cholesky(self, matrix: Buffer, status: Buffer, batch: int, n: int) -> None: ...

    @abstractmethod
    def _solve(self, factor: Buffer, rhs: Buffer, rows: int, per_factor: int, n: int, side: Side) -> None: ...

    @abstractmethod
    def _matvec(self, matrix: Buffer, vector: Buffer, out: Buffer, p: Product) -> None: ...

    @abstractmethod
    def _matmul(self, a: Buffer, b: Buffer, out: Buffer, p: Product) -> None: ...


def _matrices(name: str, buffer: Buffer) -> tuple[int, int, int]:
    """The batch (1 for a single matrix), rows and columns."""
    if len(buffer.shape) not in (2, 3):
        raise ValueError(f"{name} must be a matrix or a batch of matrices; got shape {buffer.shape}")
    batch = buffer.shape[0] if len(buffer.shape) == 3 else 1
    return batch, buffer.shape[-2], buffer.shape[-1]


def _require(name: str, buffer: Buffer, shape: tuple[int, ...]) -> None:
    if buffer.shape != shape:
        raise ValueError(f"{name} must have shape {shape}; got {buffer.shape}")
    if buffer.dtype != _F64:
        raise TypeError(f"{name} must be float64; got {buffer.dtype}")


def _require_float(name: str, buffer: Buffer) -> None:
    if buffer.dtype.name not in ("float64", "float32"):
        raise TypeError(f"{name} must be float64 or float32; got {buffer.dtype}")
