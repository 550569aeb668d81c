"""Fill-reducing orders, and the elimination tree, found from a minimum spanning forest.

Counts of columns: Gilbert, Ng and Peyton, "An efficient algorithm to compute row and column counts for sparse Cholesky
factorization", SIAM J. Matrix Anal. Appl. 15 (1994), evaluated for all entries at a time.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from .orders import has_metis, minimum_degree, nested_dissection

sp: Any = sparse
Index = NDArray[np.int64]


@dataclass(frozen=True)
class EliminationTree:
    """An elimination tree, its nodes in postorder."""

    order: Index  # (m,): row of the matrix that is eliminated at each place
    parent: Index  # (m,): parent of each place; -1 for a root. Parents come later than their children
    counts: Index  # (m,): entries of each column of the factor, with the diagonal
    rows: Index  # places of the entries below the diagonal of the matrix, sorted by column, then by row
    columns: Index

    @property
    def multiplications(self) -> float:
        """Multiplications of a factorization."""
        return float((self.counts.astype(np.float64) ** 2).sum())


def best_tree(
    indices: NDArray[np.integer],
    starts: NDArray[np.integer],
    dissect: Callable[[int, Index, Index], Index] = nested_dissection,
) -> EliminationTree:
    """The elimination tree in METIS's nested dissection, else, without pymetis, SuperLU's minimum degree order."""
    rows, columns = below_diagonal(indices, starts)
    order = dissect if has_metis() else minimum_degree
    return elimination_tree(order(starts.size - 1, rows, columns), rows, columns)


def below_diagonal(indices: NDArray[np.integer], starts: NDArray[np.integer]) -> tuple[Index, Index]:
    """Rows and columns of the entries below the diagonal of a lower triangle in compressed columns."""
    columns = np.repeat(np.arange(starts.size - 1, dtype=np.int64), np.diff(starts))
    rows = indices.astype(np.int64)
    below = rows > columns
    return rows[below], columns[below]


def elimination_tree(order: Index, rows: Index, columns: Index) -> EliminationTree:
    """The tree of a symmetric matrix in an order, which is changed to an equivalent postorder."""
    m = order.size
    place = np.empty(m, np.int64)
    place[order] = np.arange(m)
    later, earlier = np.maximum(place[rows], place[columns]), np.minimum(place[rows], place[columns])
    parent = _parents(m, later, earlier)
    post = _postorder(parent)
    moved = np.full(m, -1, np.int64)
    moved[post] = np.where(parent >= 0, post[parent], -1)
    placed = np.empty(m, np.int64)
    placed[post] = order
    later, earlier = post[later], post[earlier]
    keys = np.sort(earlier * m + later)  # by columns
    later, earlier = keys % max(1, m), keys // max(1, m)
    return EliminationTree(placed, moved, _counts(moved, later, earlier), later, earlier)


def _parents(m: int, later: Index, earlier: Index) -> Index:
    """Parents in the elimination tree, by Liu's algorithm on a minimum spanning forest."""
    parent = [-1] * m
    if later.size:
        weights = sp.csr_array((later + 1.0, (later, earlier)), shape=(m, m))
        forest = sp.coo_array(importlib.import_module("scipy.sparse.csgraph").minimum_spanning_tree(weights))
        ends = np.maximum(forest.row, forest.col), np.minimum(forest.row, forest.col)
        by_end = np.argsort(ends[0], kind="stable")
        ancestor = list(range(m))
        for i, k in zip(ends[0][by_end].tolist(), ends[1][by_end].tolist(), strict=True):
            while ancestor[k] != k:
                ancestor[k] = k = ancestor[ancestor[k]]
            if k != i:
                parent[k] = i
                ancestor[k] = i
    return np.array(parent, np.int64).reshape(m)


def _postorder(parent: Index) -> Index:
    """The place of each node in a postorder."""
    m = parent.size
    above = parent.tolist()
    sizes = subtree_sums(parent, np.ones(m, np.int64)).tolist()
    free = [0] * m  # end of the places that are left for a node's children
    end = m
    place = [0] * m
    for v in range(m - 1, -1, -1):
        p = above[v]
        if p < 0:
            last = end - 1
            end -= sizes[v]
        else:
            last = free[p] - 1
            free[p] -= sizes[v]
        place[v] = free[v] = last
    return np.array(place, np.int64).reshape(m)


def subtree_sums(parent: Index, values: Index) -> Index:
    """Sums over the subtree of each node; parents come later than their children."""
    sums = values.tolist()
    for v, p in enumerate(parent.tolist()):
        if p >= 0:
            sums[p] += sums[v]
    return np.array(sums, np.int64).reshape(parent.size)


def _counts(parent: Index, rows: Index, columns: Index) -> Index:
    """Entries of each column of the factor, for a tree in postorder."""
    m = parent.size
    if m == 0:
        return np.zeros(0, np.int64)
    has_parent = parent >= 0
    sizes = subtree_sums(parent, np.ones(m, np.int64))
    first = np.arange(m) - sizes + 1
    delta = (sizes == 1).astype(np.int64)
    np.subtract.at(delta, parent[has_parent], 1)
    by_row = np.argsort(rows, kind="stable")  # and by columns within a row
    rows, columns = rows[by_row], columns[by_row]
    same = np.concatenate([[False], rows[1:] == rows[:-1]]) if rows.size else np.zeros(0, bool)
    before = np.concatenate([[-1], columns[:-1]]) if rows.size else np.zeros(0, np.int64)
    leaves = ~same | (before < first[columns])
    rows, columns = rows[leaves], columns[leaves]
    delta += np.bincount(columns, minlength=m)
    pairs = np.flatnonzero(rows[1:] == rows[:-1])
    delta -= np.bincount(_common_ancestors(parent, columns[pairs], columns[pairs + 1]), minlength=m)
    return subtree_sums(parent, delta)


def _common_ancestors(parent: Index, left: Index, right: Index) -> Index:
    """Least common ancestors of nodes left < right in a postorder: parents of the least deep node between them."""
    m = parent.size
    depth = [0] * m
    above = parent.tolist()
    for v in range(m - 1, -1, -1):
        if above[v] >= 0:
            depth[v] = depth[above[v]] + 1
    least = np.array(depth, np.int64) * m + np.arange(m)  # with the node in the lower digits
    found = np.empty(left.size, np.int64)
    lengths = right - left + 1
    level = np.floor(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    for k in range(int(level.max(initial=-1)) + 1):
        at = np.flatnonzero(level == k)
        if at.size:
            found[at] = np.minimum(least[left[at]], least[right[at] - (1 << k) + 1])
        least = np.minimum(least[: max(1, least.size - (1 << k))], least[min(1 << k, least.size - 1) :])
    return parent[found % max(1, m)]
