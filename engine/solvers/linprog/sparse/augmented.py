"""The augmented system of a sparse program whose normal equations fill in.

Columns with many entries, S, are kept as unknowns; the others, N, are eliminated:

    [ A_N Theta_N A_N^T    A_S        ] [ dy ]   [ r ]
    [ A_S^T               -Theta_S^-1 ] [ v  ] = [ 0 ]

has the solution dy of ``A Theta A^T dy = r``. The matrix is quasi-definite: with a positive definite block above and a
negative one below it has a factor L D L^T in every order (Vanderbei, "Symmetric quasidefinite matrices", SIAM J. Optim.
5 (1995)).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem import sp
from .products import products_of

__all__ = ["Augmented", "augmented_entries", "augmented_pattern", "fills_in", "long_columns"]

Vector = NDArray[np.float64]

_SHORT = 20  # entries of the longest column that is eliminated
_TIMES_FEWER = 2.0  # entries that the augmented system has at most where it may be worth while


def long_columns(columns: Any) -> NDArray[np.bool_]:
    """The columns (N,) that the augmented system keeps, of A in compressed columns."""
    return np.asarray(np.diff(columns.indptr) > _SHORT)


def fills_in(columns: Any) -> bool:
    """Whether ``A A^T`` may have many more entries than the augmented system: whether a closer look is worth while.

    Parameters
    ----------
    columns : sparse array, shape (m, N)
        A in compressed columns.
    """
    normal = _pairs(np.diff(columns.indptr), columns.shape[0])
    return bool(normal > _TIMES_FEWER * augmented_entries(columns))


def augmented_entries(columns: Any) -> float:
    """The most entries that the lower triangle of the augmented system has before it fills in.

    Parameters
    ----------
    columns : sparse array, shape (m, N)
        A in compressed columns.
    """
    entries = np.diff(columns.indptr)
    short = entries <= _SHORT
    long = float(entries[~short].sum())
    return _pairs(entries[short], columns.shape[0]) + long + float(columns.shape[0])


def _pairs(entries: NDArray[np.integer], m: int) -> float:
    """The most entries of a lower triangle of m rows to which columns of so many entries contribute."""
    return min(0.5 * m * m, 0.5 * float((entries.astype(np.float64) ** 2).sum()))


def augmented_pattern(normal: Any, columns: Any, which: NDArray[np.integer]) -> Any:
    """The lower triangle of the augmented matrix, sorted, with all diagonal entries.

    Parameters
    ----------
    normal : sparse array, shape (m, m)
        The sorted lower triangle of ``A_N A_N^T``.
    columns : sparse array, shape (m, N)
        A in compressed columns.
    which : ndarray of int, shape (k,)
        The columns that are kept.

    Returns
    -------
    sparse array, shape (m + k, m + k)
        The values of ``normal`` and of A_S in their places, and -1 on the rest of the diagonal.
    """
    m, k = columns.shape[0], which.size
    border = sp.csc_array(columns[:, which].T)
    border.sort_indices()
    starts = np.concatenate([normal.indptr + border.indptr, normal.nnz + border.nnz + np.arange(1, k + 1)])
    indices, data = np.empty(int(starts[-1]), np.int64), np.full(int(starts[-1]), -1.0)
    of_normal, of_border = _places(normal, border)
    indices[of_normal], data[of_normal] = normal.indices, normal.data
    indices[of_border], data[of_border] = border.indices + m, border.data
    indices[indices.size - k :] = np.arange(m, m + k)
    return sp.csc_array((data, indices, starts), shape=(m + k, m + k))


def _places(normal: Any, border: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the entries of both parts are: in each column the first part's come first."""
    rows = np.arange(normal.shape[0])
    of_normal = np.arange(normal.nnz) + border.indptr[np.repeat(rows, np.diff(normal.indptr))]
    of_border = np.arange(border.nnz) + normal.indptr[np.repeat(rows, np.diff(border.indptr)) + 1]
    return of_normal, of_border


class Augmented:
    """The augmented matrix for changing theta.

    Parameters
    ----------
    columns : sparse array, shape (m, N)
        A in compressed columns.
    long : ndarray of bool, shape (N,)
        The columns that are kept.

    Attributes
    ----------
    pattern : scipy.sparse.csc_array
        The lower triangle that :meth:`values` belong to, with all diagonal entries; see :func:`augmented_pattern`.
    count : int
        Columns that are kept, which is the number of negative pivots.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If the other columns have too many products of two entries.
    """

    def __init__(self, columns: Any, long: NDArray[np.bool_]) -> None:
        self._which = np.flatnonzero(long)
        self.count = self._which.size
        short = columns.copy()
        short.data[np.repeat(long, np.diff(columns.indptr))] = 0.0
        short.eliminate_zeros()
        self._products = products_of(short)
        normal = self._products.pattern
        self.pattern = augmented_pattern(normal, columns, self._which)
        self._of_normal, _ = _places(normal, sp.csc_array(columns[:, self._which].T))

    def values(self, theta: Vector) -> Vector:
        """The values of the lower triangle for theta (N,)."""
        found = self.pattern.data.copy()
        found[self._of_normal] = self._products.values(theta)
        found[found.size - self.count :] = -1.0 / theta[self._which]
        return np.asarray(found)
