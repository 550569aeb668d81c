"""The bound that a search has proved so far: the least bound of open nodes, refined best first from the root."""

import heapq
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..intervals import Units
from ..masks import Masks, bits_of, empty, index_of_lowest, lowest_of
from ..tree import INFINITY, Tree

LEVELS = 12
"""Levels of the tree that a snapshot contains."""

_BATCH = 64
_LEVELS_OF_UNITS = 2


@dataclass(frozen=True)
class FrontierSnapshot:
    """The open nodes of one device near the root."""

    rows: Masks  # shape (levels, ivms, words): the open items of a level, of which the first is the chosen one
    sides: Masks  # shape (ivms, words); bit l: on which side level l's items are placed
    depths: NDArray[np.int32]  # level of the node that an IVM decomposes next; -1 while it is idle


@dataclass(frozen=True)
class _Node:
    """A node with open work below it: how it is reached, and the IVMs (indices) whose paths pass it."""

    path: NDArray[np.int64]
    sides: NDArray[np.int64]
    ivms: NDArray[np.intp]


def proven_bound(tree: Tree, snapshot: FrontierSnapshot, seconds: float) -> int | None:
    """A lower bound on every leaf open on a device: INFINITY if none is, None if the tree has no bounds for this."""
    deadline = time.perf_counter() + seconds
    ivms = np.flatnonzero(snapshot.depths >= 0)
    if not len(ivms):
        return INFINITY
    nowhere = np.zeros(0, np.int64)
    root = tree.bounds(nowhere[None, :], nowhere[None, :])
    if root is None:
        return None
    heap: list[tuple[int, int, int, Any]] = [(int(root[0]), 0, 0, _Node(nowhere, nowhere, ivms))]
    made = 1
    closed = int(root[0]) if (snapshot.depths[ivms] == 0).any() else INFINITY
    while heap and heap[0][0] < closed and time.perf_counter() < deadline:
        bound, depth, _, node = heapq.heappop(heap)
        nodes: list[_Node] = [node]
        while heap and heap[0][:2] == (bound, depth) and len(nodes) < _BATCH:
            nodes.append(heapq.heappop(heap)[3])
        values, children = _children(tree, snapshot, nodes, depth)
        for value, child in zip(np.maximum(values, bound).tolist(), children, strict=True):
            if child is None:
                closed = min(closed, value)
            else:
                heapq.heappush(heap, (value, depth + 1, made, child))
                made += 1
    return min(closed, heap[0][0]) if heap else closed


def _children(
    tree: Tree, snapshot: FrontierSnapshot, nodes: list[_Node], depth: int
) -> tuple[NDArray[np.int64], list[_Node | None]]:
    """The children of some nodes at one depth that have open work: their bounds, and those that can be refined."""
    ivms = np.concatenate([node.ivms for node in nodes])
    owner = np.repeat(np.arange(len(nodes)), [len(node.ivms) for node in nodes])
    rows = snapshot.rows[depth, ivms]
    chosen = lowest_of(rows)
    open_items, untouched = empty((2, len(nodes)), tree.items)
    np.bitwise_or.at(open_items, owner, rows)
    np.bitwise_or.at(untouched, owner, rows ^ chosen)
    parents, items = np.nonzero(bits_of(open_items))
    whole = bits_of(untouched)[parents, items]
    first = np.array([node.ivms[0] for node in nodes])
    side = bits_of(snapshot.sides[first])[:, depth].astype(np.int64)
    paths = np.column_stack([np.array([node.path for node in nodes])[parents], items])
    sides = np.column_stack([np.array([node.sides for node in nodes])[parents], side[parents]])
    values = tree.bounds(paths, sides)
    assert values is not None
    number = np.full((len(nodes), tree.items), -1)
    number[parents, items] = np.arange(len(parents))
    passed = number[owner, index_of_lowest(rows)]
    order = np.argsort(passed, kind="stable")
    starts = np.searchsorted(passed[order], np.arange(len(parents) + 1))
    children: list[_Node | None] = []
    for index in range(len(parents)):
        passing = ivms[order[starts[index] : starts[index + 1]]]
        final = whole[index] or depth + 1 >= len(snapshot.rows) or (snapshot.depths[passing] == depth + 1).any()
        children.append(None if final else _Node(paths[index], sides[index], passing))
    return values, children


class IntervalBounds:
    """Lower bounds of intervals that no device has at present, from the reference's nodes at the first levels."""

    def __init__(self, tree: Tree, initial: int) -> None:
        self._tree = tree
        self._initial = initial
        self._sides: dict[tuple[int, ...], int] = {}

    def proven_bound(self, units: Units, seconds: float) -> int | None:
        """A lower bound on every leaf in some units; None if the tree has none, or time is up: a later call goes on."""
        deadline = time.perf_counter() + seconds
        if not len(units):
            return INFINITY
        nowhere = np.zeros((1, 0), np.int64)
        if self._tree.bounds(nowhere, nowhere) is None:
            return None
        depth = min(_LEVELS_OF_UNITS, self._tree.leaf_depth)
        paths = sorted(self._paths(units, depth))
        sides = []
        for path in paths:
            if time.perf_counter() > deadline:
                return None
            sides.append([self._side(path[:level]) for level in range(depth)])
        shape = (len(paths), depth)
        bounds = self._tree.bounds(np.array(paths, np.int64).reshape(shape), np.array(sides, np.int64).reshape(shape))
        assert bounds is not None
        return int(bounds.min())

    def _paths(self, units: Units, depth: int) -> set[tuple[int, ...]]:
        """All nodes at a depth that have leaves of a unit below them."""
        n = self._tree.items
        weights = [int(np.prod(np.arange(n - depth + 1, n - level))) for level in range(depth)]
        values = np.array(weights, np.int64)
        begins = units.begin[:, :depth].astype(np.int64) @ values
        ends = units.end[:, :depth].astype(np.int64) @ values + units.end[:, depth:].any(axis=1)
        ranges = set(zip(begins.tolist(), ends.tolist(), strict=True))
        numbers = {number for begin, end in ranges for number in range(begin, end)}
        found = set()
        for number in numbers:
            left, path = list(range(n)), []
            for weight in weights:
                digit, number = divmod(number, weight)
                path.append(left.pop(digit))
            found.add(tuple(path))
        return found

    def _side(self, path: tuple[int, ...]) -> int:
        """On which side a node of the first levels is branched."""
        if path not in self._sides:
            tree, state = self._tree, self._tree.root()
            for level, item in enumerate(path):
                state = tree.place(state, level, item, self._side(path[:level]))
            left = [item for item in range(tree.items) if item not in path]
            self._sides[path] = tree.bound(state, len(path), left, self._initial, self._initial)[0]
        return self._sides[path]
