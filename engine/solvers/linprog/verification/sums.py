"""Products of a matrix and a vector by compensated sums, and exact sums.

Ogita, Rump, Oishi, *Accurate sum and dot product*, SIAM J. Sci. Comput. 26 (2005); dense blocks have 32 columns.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices.host import host_cores
from ..problem import Matrix, sp

Vector = NDArray[np.float64]

_LARGE = 1 << 16
_SHARED = 1 << 22  # entries from which threads share a matrix
_ROWS_ENTRIES = 1 << 20  # of the rows that a thread takes at a time
_MOST_THREADS = 8
_BLOCK = 32
_SPLIT = 134217729.0  # 2^27 + 1
_SPLITS = 1e150  # the largest number that is split


def transposed(matrix: Any) -> Any:
    """The transposed matrix, or matrices (k, m, n); a sparse one by rows again."""
    return sp.csr_array(matrix.T) if isinstance(matrix, sp.csr_array) else matrix.swapaxes(-1, -2)


def term_sizes(matrix: Any, vector: Vector) -> Vector:
    """``sqrt(sum_j (a_ij v_j)^2)``: the size of what is added up in each row.

    For vectors (k, n) and one dense matrix, or k, it is (k, m); 0, which excuses nothing, where squares overflow.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if len(vector) == 1 and vector.ndim == 2:
            return term_sizes(matrix if matrix.ndim == 2 else matrix[0], vector[0])[None]
        if vector.ndim == 2:
            found = np.sqrt(_times(matrix * matrix, vector * vector))
            return np.where(np.isfinite(found), found, 0.0)
        found = _root_of_squares(matrix, vector)
        if np.isfinite(found).all():
            return found
        entries = matrix.data if isinstance(matrix, sp.csr_array) else matrix
        unit, length = _power_of_two(entries), _power_of_two(vector)
        scaled = _root_of_squares(matrix / unit, vector / length) * unit * length
        return np.where(np.isfinite(found), found, scaled)  # where squares have overflowed


def smallest_terms(matrix: Matrix, vector: Vector) -> Vector:
    """The smallest ``|a_ij v_j|`` of each row that is not zero; inf for a row without any."""
    if isinstance(matrix, sp.csr_array):
        terms = np.abs(matrix.data * vector[matrix.indices])
        found = np.full(matrix.shape[0], np.inf)
        lines = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        np.minimum.at(found, lines[terms > 0.0], terms[terms > 0.0])
        return found

    def smallest(part: NDArray[np.float64]) -> Vector:
        terms = np.abs(part * vector)
        return np.asarray(np.where(terms > 0.0, terms, np.inf).min(axis=1, initial=np.inf))

    return _by_rows(np.asarray(matrix), smallest)


def _root_of_squares(matrix: Matrix, vector: Vector) -> Vector:
    squares = vector * vector
    if isinstance(matrix, sp.csr_array):
        return np.asarray(np.sqrt(matrix.power(2) @ squares))
    return _by_rows(matrix, lambda part: np.sqrt(np.einsum("ij,ij,j->i", part, part, squares)))


def _power_of_two(values: NDArray[np.float64]) -> float:
    """The power of two below the largest size, for finite numbers that are not all zero; 1 for others."""
    largest = float(np.abs(values).max(initial=0.0))
    return float(np.exp2(np.floor(np.log2(largest)))) if 0.0 < largest < math.inf else 1.0


def greatest(*values: float) -> float:
    """The greatest of some errors; inf if one is NaN."""
    return math.inf if any(math.isnan(value) for value in values) else float(max(values))


def exact_sum(terms: Vector) -> float:
    """The sum, rounded once; NaN if a term is not finite."""
    return math.fsum(terms.tolist()) if np.isfinite(terms).all() else math.nan


def exact_sums(terms: Vector) -> Vector:
    """The sum of each row: of one rounded once, of many in more digits where the machine has them."""
    if len(terms) == 1:
        return np.array([exact_sum(terms[0])])
    return np.asarray(terms.sum(axis=1, dtype=np.longdouble), np.float64)


def product(matrix: Matrix, vector: Vector) -> Vector:
    """``A v`` by compensated sums, rounded once."""
    rows, columns = matrix.shape
    if not rows or not columns:
        return np.zeros(rows)
    if isinstance(matrix, sp.csr_array):
        factors = vector[matrix.indices]
        there = factors != 0.0
        if 2 * np.count_nonzero(there) > there.size:
            return _segment_sums(*_two_products(matrix.data, factors), matrix.indptr)
        starts = np.concatenate([[0], np.cumsum(there)])[matrix.indptr]  # of what is left, as at most vertices
        return _segment_sums(*_two_products(matrix.data[there], factors[there]), starts)
    if matrix.size >= _SHARED and matrix.flags.c_contiguous:
        return _by_rows(matrix, lambda part: _tree_sum(_block_sums(part, vector)))
    if matrix.size > _LARGE:
        return _block_products(matrix, vector)
    return _tree_sum(*_two_products(np.ascontiguousarray(matrix.T), vector[:, None]))


def products(matrix: Any, vectors: Vector) -> Vector:
    """``A v`` for vectors (k, n) and one matrix, or k: (k, m). Compensated for one; of many, sums of blocks are."""
    if len(vectors) == 1:
        return product(matrix if matrix.ndim == 2 else matrix[0], vectors[0])[None]
    return _block_products(matrix, vectors)


def _block_products(matrix: Any, vectors: Vector) -> Vector:
    """Products by blocks of columns, whose sums are added with their rounding errors."""
    total = error = np.zeros((*vectors.shape[:-1], matrix.shape[-2]))
    for first in range(0, matrix.shape[-1], _BLOCK):
        here = slice(first, first + _BLOCK)
        total, more = _two_sums(total, _times(matrix[..., here], vectors[..., here]))
        error = error + more
    return np.asarray(total + error)


def _times(matrix: Any, vectors: Vector) -> Vector:
    if matrix.ndim == 2:
        return np.asarray(vectors @ matrix.T)
    return np.asarray(np.matmul(matrix, vectors[:, :, None])[:, :, 0])


def _by_rows(matrix: NDArray[np.float64], function: Callable[[NDArray[np.float64]], Vector]) -> Vector:
    """A function of the rows of a matrix, a number for each, by several threads where the matrix is very large."""
    if matrix.size < _SHARED:
        return np.asarray(function(matrix))
    rows = max(1, _ROWS_ENTRIES // matrix.shape[1])
    parts = [matrix[first : first + rows] for first in range(0, len(matrix), rows)]
    with ThreadPoolExecutor(min(_MOST_THREADS, host_cores(), len(parts))) as threads:
        return np.concatenate(list(threads.map(function, parts)))


def _block_sums(matrix: NDArray[np.float64], vector: Vector) -> NDArray[np.float64]:
    """The products of each row with the vector, block by block: shape (blocks, rows)."""
    rows, columns = matrix.shape
    whole = columns - columns % _BLOCK
    left, right = matrix[:, :whole].reshape(rows, -1, _BLOCK), vector[:whole].reshape(-1, _BLOCK)
    sums = np.einsum("rbk,bk->br", left, right)
    return sums if whole == columns else np.concatenate([sums, (matrix[:, whole:] @ vector[whole:])[None]])


def _tree_sum(high: NDArray[np.float64], low: NDArray[np.float64] | None = None) -> Vector:
    """Compensated sums over the first axis, by a tree; ``low`` are the errors of the terms."""
    if low is None:
        low = np.zeros_like(high)
    while len(high) > 1:
        half = len(high) // 2
        total, error = _two_sums(high[:half], high[half : 2 * half])
        error += low[:half]
        error += low[half : 2 * half]
        if len(high) > 2 * half:
            total[0], more = _two_sums(total[0], high[-1])
            error[0] += low[-1] + more
        high, low = total, error
    return np.asarray(high[0] + low[0])


def _segment_sums(high: Vector, low: Vector, starts: NDArray[np.integer]) -> Vector:
    """Compensated sums of the segments ``starts[i] .. starts[i + 1] - 1``, by trees."""
    counts = np.diff(starts).astype(np.int64)
    out, left = np.zeros(counts.size), np.flatnonzero(counts)
    counts = counts[left]
    while left.size:
        one = counts == 1
        if one.any():
            ends, rest = np.cumsum(counts)[one] - 1, np.repeat(~one, counts)
            out[left[one]] = high[ends] + low[ends]
            high, low, left, counts = high[rest], low[rest], left[~one], counts[~one]
        odd = counts % 2
        ends = np.cumsum(counts)[odd > 0]  # where a zero makes a segment even
        high, low = np.insert(high, ends, 0.0), np.insert(low, ends, 0.0)
        high, error = _two_sums(high[::2], high[1::2])
        low = low[::2] + (low[1::2] + error)
        counts = (counts + odd) // 2
    return out


def _two_sums(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _two_products(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """Rounded products and their errors; the error is left out where splitting would overflow."""
    product = a * b
    with np.errstate(over="ignore", invalid="ignore"):
        (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
        error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    if max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0))) > _SPLITS:
        error = np.where(np.maximum(np.abs(a), np.abs(b)) > _SPLITS, 0.0, error)
    return product, error


def _halves(a: Vector) -> tuple[Vector, Vector]:
    """Each number as the sum of two with half its digits (Dekker's splitting)."""
    part = _SPLIT * a
    high = part - (part - a)
    return high, a - high
