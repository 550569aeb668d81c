"""Normal equations or the augmented system: whichever has the cheaper factor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..sparse.augmented import augmented_pattern, fills_in, long_columns
from ..sparse.dense_columns import DenseColumns
from ..sparse.products import lower_pattern
from .ordering import EliminationTree, best_tree

__all__ = ["MOST_PRODUCTS", "AugmentedTree", "FormChoice", "augmented_tree", "cheaper_form", "products_in"]

Dissect = Callable[[int, NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]
FormChoice = Literal["normal", "augmented", "auto"]

MOST_PRODUCTS = 1_000_000_000
"""Products of two entries of a column for which ``A A^T`` is not formed."""
_WORTH_WHILE = 1.5  # times fewer multiplications,
_WITH_DENSE = 1 / 3  # or up to three times as many, where dense columns make normal equations inexact


@dataclass(frozen=True)
class AugmentedTree:
    """The augmented system of a program and the tree of its factor.

    Attributes
    ----------
    long : ndarray of bool, shape (N,)
        The columns that it keeps.
    tree : EliminationTree
    """

    long: NDArray[np.bool_]
    tree: EliminationTree


def products_in(columns: Any) -> float:
    """Products of two entries of a column of a matrix in compressed columns."""
    return float((np.diff(columns.indptr).astype(np.float64) ** 2).sum())


def augmented_tree(columns: Any, dissect: Dissect) -> AugmentedTree:
    """The augmented system of A in compressed columns.

    Parameters
    ----------
    columns : sparse array, shape (m, N)
    dissect : callable
        Orders a graph; see :func:`~engine.solvers.linprog.multifrontal.ordering.best_tree`.
    """
    long = long_columns(columns)
    short = columns[:, np.flatnonzero(~long)]
    pattern = augmented_pattern(lower_pattern(short), columns, np.flatnonzero(long))
    return AugmentedTree(long, best_tree(pattern.indices, pattern.indptr, dissect))


def cheaper_form(columns: Any, dense: DenseColumns, dissect: Dissect) -> AugmentedTree | None:
    """The augmented system if its factor takes clearly fewer multiplications than that of the normal equations.

    With dense columns it may take more: the Sherman-Morrison-Woodbury formula loses digits, often all near the end.

    Parameters
    ----------
    columns : sparse array, shape (m, N)
        A in compressed columns.
    dense : DenseColumns
        Those of A; each takes a solution for every factor of the normal equations, and a product with the others.
    dissect : callable
        As for :func:`augmented_tree`.
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
