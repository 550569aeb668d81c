"""Large products and factors on the host in blocks, between which a run can be stopped.

SciPy's BLAS and LAPACK functions hold the interpreter's lock; between the blocks other threads go on.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg.blas
import scipy.linalg.lapack
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Threads = Callable[[float], contextlib.AbstractContextManager[None]]
_ROWS = 384  # of a block
_OPERATIONS, _COLUMNS = 4_000_000_000, 128  # of a product that is not interrupted, and columns of A that are the least
_BLAS: Any = scipy.linalg.blas
_LAPACK: Any = scipy.linalg.lapack


def gram_in_blocks(matrix: Vector, theta: Vector, out: Vector, cancelled: Callable[[], object]) -> None:
    """The lower triangle of ``A diag(theta) A^T`` into ``out``; unfinished if ``cancelled()`` before a block."""
    m, n = matrix.shape
    out[:] = 0.0
    step = max(_COLUMNS, _OPERATIONS // (m * m))
    for first in range(0, n, step):
        if cancelled():
            return
        scaled = matrix[:, first : first + step] * np.sqrt(theta[first : first + step])
        _BLAS.dsyrk(1.0, scaled.T, beta=1.0, c=out.T, trans=1, lower=0, overwrite_c=1)


def cholesky_in_blocks(matrix: Vector, cancelled: Callable[[], object], threads: Threads | None = None) -> int:
    """Factorise the lower triangle of a matrix in place.

    ``matrix``, shape (m, m): the lower triangle becomes its factor; ``cancelled``: asked before each block;
    ``threads``: ``threads(operations)`` gives a context with as many threads of BLAS as so many operations are worth;
    the factor of one block is worth one. Returns: 0, the failing pivot from 1, or 1 if it was cancelled.
    """
    m = matrix.shape[0]
    for begin in range(0, m, _ROWS):
        if cancelled():
            return 1
        end = min(begin + _ROWS, m)
        if begin:
            with contextlib.nullcontext() if threads is None else threads(2.0 * (m - begin) * begin * _ROWS):
                matrix[begin:, begin:end] -= matrix[begin:, :begin] @ matrix[begin:end, :begin].T
        block, status = _LAPACK.dpotrf(matrix[begin:end, begin:end].T, lower=0, clean=1)
        if status or np.isnan(np.diagonal(block)).any():  # which LAPACK may not report
            return begin + max(1, int(status))
        matrix[begin:end, begin:end] = block.T
        if end < m:  # X L^T = P, as L X^T = P^T in columns
            below = np.ascontiguousarray(matrix[end:, begin:end])
            _BLAS.dtrsm(1.0, block, below.T, side=0, lower=0, trans_a=1, overwrite_b=1)
            matrix[end:, begin:end] = below
    return 0
