"""Fronts of a multifrontal factorization: supernodes of an elimination tree, merged where that adds few zeros.

See Liu, "The multifrontal method for sparse matrix solution: theory and practice", SIAM Review 34 (1992), and Ashcraft
and Grimes, "The influence of relaxed supernode partitions on the multifrontal method", ACM TOMS 15 (1989).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..sparse.factors import PICTURED, Picture
from .ordering import EliminationTree

Index = NDArray[np.int64]

_RELAX = ((8, 0.9), (16, 0.7), (32, 0.4), (64, 0.2), (1 << 62, 0.08))  # pivots of a merged front, and its zeros


@dataclass(frozen=True)
class Fronts:
    """The fronts of a factorization, children before their parents."""

    order: Index  # (m,): row of the matrix at each place of the elimination order
    parent: Index  # (count,): parent of each front; -1 for a root
    first: Index  # (count,): first of the places that a front eliminates
    widths: Index  # (count,): pivots, and all rows, of each front
    sizes: Index
    starts: Index  # (count + 1,): where the rows below a front's pivots begin in `below`
    below: Index  # places of the rows below the pivots, ascending within a front
    relative: Index  # their row numbers in the parent front

    @property
    def count(self) -> int:
        """Fronts."""
        return self.parent.size

    @property
    def multiplications(self) -> float:
        """Multiplications of a factorization, of zeros too."""
        n, w = self.sizes.astype(np.float64), self.widths.astype(np.float64)
        return float((w * n * n - n * w * (w - 1) + w * (w - 1) * (2 * w - 1) / 6).sum())

    @property
    def nonzeros(self) -> int:
        """Entries of the factor, zeros of merged fronts included."""
        return int((self.widths * self.sizes - self.widths * (self.widths - 1) // 2).sum())


def analyse(tree: EliminationTree) -> Fronts:
    """The fronts of a sparse symmetric matrix with this elimination tree."""
    group, parent = _merged(tree)
    m = tree.order.size
    # places by fronts, and in the tree's order within each
    by_front = np.argsort(group, kind="stable")
    moved = np.empty(m, np.int64)
    moved[by_front] = np.arange(m)
    widths = np.bincount(group, minlength=parent.size)
    first = np.cumsum(widths) - widths
    starts, below = _rows_below(parent, group[by_front], first + widths, moved[tree.rows], moved[tree.columns])
    return Fronts(
        order=tree.order[by_front],
        parent=parent,
        first=first,
        widths=widths,
        sizes=widths + np.diff(starts),
        starts=starts,
        below=below,
        relative=_relative(m, parent, first, widths, starts, below),
    )


def _merged(tree: EliminationTree) -> tuple[Index, Index]:
    """The front of each place, and each front's parent; fronts are numbered in postorder."""
    m = tree.order.size
    if m == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    joined = (tree.parent[:-1] == np.arange(1, m)) & (tree.counts[:-1] == tree.counts[1:] + 1)
    begins = np.concatenate([[True], ~joined])
    node = np.cumsum(begins) - 1
    heads = np.flatnonzero(begins)
    ends = np.concatenate([heads[1:], [m]]) - 1
    above = tree.parent[ends]
    parent = np.where(above >= 0, node[above], -1).tolist()
    widths = (ends - heads + 1).tolist()
    sizes = tree.counts[heads].tolist()
    entries = np.add.reduceat(tree.counts, heads).tolist()
    into = list(range(len(parent)))  # the front that a node has become a part of
    children: list[list[int]] = [[] for _ in parent]
    for p in range(len(parent)):
        waiting = sorted(children[p], key=sizes.__getitem__, reverse=True)
        kept = []
        for c in waiting:
            w, n, nonzeros = widths[p] + widths[c], sizes[p] + widths[c], entries[p] + entries[c]
            total = w * n - w * (w - 1) // 2
            limit = next(part for most, part in _RELAX if w <= most)
            if total - nonzeros <= limit * total:
                widths[p], sizes[p], entries[p] = w, n, nonzeros
                into[c] = p
                kept.extend(children[c])
            else:
                kept.append(c)
        children[p] = kept
        if parent[p] >= 0:
            children[parent[p]].append(p)
    for v in range(len(into) - 1, -1, -1):
        into[v] = into[into[v]]
    return _numbered(np.array(into, np.int64), children, node)


def _numbered(into: Index, children: list[list[int]], node: Index) -> tuple[Index, Index]:
    """Postorder numbers of the fronts that are left."""
    alive = np.flatnonzero(into == np.arange(into.size))
    above = np.full(into.size, -1, np.int64)
    for p in alive.tolist():
        above[children[p]] = p
    parent = np.full(alive.size, -1, np.int64)
    number = np.full(into.size, -1, np.int64)
    number[alive] = np.arange(alive.size)  # a front has the number of its last node, and children come before
    parent = np.where(above[alive] >= 0, number[above[alive]], -1)
    return number[into][node], parent


def heights(parent: Index) -> Index:
    """The height of each front: 0 for one without children."""
    found = [0] * parent.size
    for v, p in enumerate(parent.tolist()):
        if p >= 0 and found[p] <= found[v]:
            found[p] = found[v] + 1
    return np.array(found, np.int64).reshape(parent.size)


def _rows_below(parent: Index, group: Index, ends: Index, rows: Index, columns: Index) -> tuple[Index, Index]:
    """The rows below the pivots of each front: those of its columns and of its children."""
    m = group.size
    rows, columns = np.maximum(rows, columns), np.minimum(rows, columns)
    front = group[columns]
    outside = rows >= ends[front]
    keys = np.unique(front[outside] * m + rows[outside])
    level = heights(parent)
    count = int(level.max(initial=-1)) + 1
    by_level = np.argsort(level[keys // max(1, m)], kind="stable")
    cuts = np.searchsorted(level[keys // max(1, m)][by_level], np.arange(count + 1))
    given: list[list[Index]] = [[keys[by_level[cuts[h] : cuts[h + 1]]]] for h in range(count)]
    found = []
    for h in range(count):
        own = np.unique(np.concatenate(given[h]))
        given[h] = []
        found.append(own)
        above, row = parent[own // max(1, m)], own % max(1, m)
        passed = (above >= 0) & (row >= ends[above])
        above, row = above[passed], row[passed]
        order = np.argsort(level[above], kind="stable")
        above, row = above[order], row[order]
        heads = np.flatnonzero(np.concatenate([[True], np.diff(level[above]) > 0])) if above.size else np.zeros(0, int)
        for head, tail in zip(heads.tolist(), [*heads[1:].tolist(), above.size], strict=False):
            given[int(level[above[head]])].append(above[head:tail] * m + row[head:tail])
    everything = np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)
    starts = np.searchsorted(everything, np.arange(parent.size + 1) * m)
    return starts.astype(np.int64), everything % max(1, m)


def _relative(m: int, parent: Index, first: Index, widths: Index, starts: Index, below: Index) -> Index:
    """Row numbers in the parent front of all rows below pivots."""
    front = np.repeat(np.arange(parent.size), np.diff(starts))
    keys = front * m + below
    above = parent[front]
    inside = below < first[above] + widths[above]
    found = np.searchsorted(keys, above * m + below) - starts[above] + widths[above]
    return np.where(inside, below - first[above], found)


def picture_of_fronts(fronts: Fronts) -> Picture:
    """The picture of a factor by fronts, zeros of merged fronts included."""
    m, count = fronts.order.size, fronts.count
    k = min(PICTURED, m)
    cuts = -(-np.arange(k + 1) * m // max(1, k))  # where blocks begin: place p is in block p k // m
    table = np.column_stack([fronts.first, fronts.widths, fronts.sizes])
    if not m:
        return np.zeros((0, 0), np.int32), table
    # the rows below pivots, those of a front in one block of rows together; each has the front's pivots as columns
    front = np.repeat(np.arange(count), np.diff(fronts.starts))
    keys, rows = np.unique(front * k + fronts.below * k // m, return_counts=True)
    front, block = np.divmod(keys, k)
    # and the rows of pivots, each with the columns up to its own
    place = np.arange(m)
    own = np.repeat(fronts.first, fronts.widths)
    begins = np.concatenate([fronts.first[front], own])
    ends = np.concatenate([fronts.first[front] + fronts.widths[front], place + 1])
    blocks = np.concatenate([block, place * k // m])
    return _counted(begins, ends, blocks, np.concatenate([rows, np.ones(m, np.int64)]), cuts), table


def _counted(begins: Index, ends: Index, blocks: Index, rows: Index, cuts: Index) -> NDArray[np.int32]:
    """Entries in each block, from intervals of columns of so many rows in a block of rows."""
    k, m = cuts.size - 1, int(cuts[-1])
    counts = np.zeros(k * k)
    first, last = begins * k // m, (ends - 1) * k // m
    while first.size:
        columns = np.minimum(ends, cuts[first + 1]) - np.maximum(begins, cuts[first])
        counts += np.bincount(blocks * k + first, weights=columns * rows, minlength=k * k)
        first = first + 1
        going = first <= last
        first, last, begins, ends, blocks, rows = (a[going] for a in (first, last, begins, ends, blocks, rows))
    return counts.reshape(k, k).astype(np.int32)
