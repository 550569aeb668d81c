"""Normal equations or the augmented system: whichever has the cheaper factor.

The augmented system keeps columns with many entries, S, as unknowns and eliminates the others, N. It has the solution
dy of ``A Theta A^T dy = r``, and a factor L D L^T in every order (Vanderbei, "Symmetric quasidefinite matrices", SIAM
J. Optim. 5 (1995)):

    [ A_N Theta_N A_N^T    A_S        ] [ dy ]   [ r ]
    [ A_S^T               -Theta_S^-1 ] [ v  ] = [ 0 ]
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..problem import sp
from ..sparse.products import DenseColumns, lower_pattern, products_of
from .ordering import EliminationTree, best_tree

Vector = NDArray[np.float64]
Dissect = Callable[[int, NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]
FormChoice = Literal["normal", "augmented", "auto"]

MOST_PRODUCTS = 1_000_000_000
"""Products of two entries of a column for which ``A A^T`` is not formed."""
_WORTH_WHILE = 1.5  # times fewer multiplications,
_WITH_DENSE = 1 / 3  # or up to three times as many, where dense columns make normal equations inexact


@dataclass(frozen=True)
class AugmentedTree:
    """The augmented system of a program and the tree of its factor."""

    long: NDArray[np.bool_]  # (N,): the columns that it keeps
    tree: EliminationTree


def products_in(columns: Any) -> float:
    """Products of two entries of a column of a matrix in compressed columns."""
    return float((np.diff(columns.indptr).astype(np.float64) ** 2).sum())


def augmented_tree(columns: Any, dissect: Dissect) -> AugmentedTree:
    """The augmented system of A in compressed columns."""
    long = long_columns(columns)
    short = columns[:, np.flatnonzero(~long)]
    pattern = augmented_pattern(lower_pattern(short), columns, np.flatnonzero(long))
    return AugmentedTree(long, best_tree(pattern.indices, pattern.indptr, dissect))


def cheaper_form(columns: Any, dense: DenseColumns, dissect: Dissect) -> AugmentedTree | None:
    """The augmented system if its factor takes clearly fewer multiplications than that of the normal equations.

    With dense columns it may take more: the Sherman-Morrison-Woodbury formula loses digits, often all near the end.
    """
    if not (dense.count or fills_in(columns)):
        return None
    augmented = augmented_tree(columns, dissect)
    if products_in(dense.kept) > MOST_PRODUCTS:
        return augmented
    normal, m = lower_pattern(dense.kept), columns.shape[0]
    wanted = (_WITH_DENSE if dense.count else _WORTH_WHILE) * augmented.tree.multiplications
    updates = float(dense.count) ** 2 * m
    least = float(normal.nnz) ** 2 / m + 2.0 * dense.count * normal.nnz + updates  # the factor has no fewer entries
    if least < wanted:
        tree = best_tree(normal.indices, normal.indptr, dissect)
        least = tree.multiplications + 2.0 * dense.count * float(tree.counts.sum()) + updates
    return augmented if least >= wanted else None


_SHORT = 20  # entries of the longest column that is eliminated
_TIMES_FEWER = 2.0  # entries that the augmented system has at most where it may be worth while


def long_columns(columns: Any) -> NDArray[np.bool_]:
    """The columns (N,) that the augmented system keeps, of A in compressed columns."""
    return np.asarray(np.diff(columns.indptr) > _SHORT)


def fills_in(columns: Any) -> bool:
    """Whether ``A A^T`` may have many more entries than the augmented system: whether a closer look is worth while."""
    normal = _pairs(np.diff(columns.indptr), columns.shape[0])
    return bool(normal > _TIMES_FEWER * augmented_entries(columns))


def augmented_entries(columns: Any) -> float:
    """The most entries that the lower triangle of the augmented system has before it fills in."""
    entries = np.diff(columns.indptr)
    short = entries <= _SHORT
    long = float(entries[~short].sum())
    return _pairs(entries[short], columns.shape[0]) + long + float(columns.shape[0])


def _pairs(entries: NDArray[np.integer], m: int) -> float:
    """The most entries of a lower triangle of m rows to which columns of so many entries contribute."""
    return min(0.5 * m * m, 0.5 * float((entries.astype(np.float64) ** 2).sum()))


def augmented_pattern(normal: Any, columns: Any, which: NDArray[np.integer]) -> Any:
    """The lower triangle of the augmented matrix, sorted, with all diagonal entries."""
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
    """The augmented matrix for changing theta."""

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
