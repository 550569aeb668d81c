"""The reference search on the host, which the tests and the benchmark compare every kernel and strategy with."""

import math
from dataclasses import dataclass
from typing import Any

from ..solvers.branch_and_bound.tree import INFINITY, Tree


@dataclass
class HostSearch:
    """What a reference search found: counts, and the best leaf below the bound it started with."""

    nodes: int = 0
    leaves: int = 0
    pushed: int = 0
    solutions: int = 0
    best: int = INFINITY
    path: tuple[int, ...] | None = None
    sides: tuple[int, ...] = ()
    explored: int = 0


def search(tree: Tree, upper: int = INFINITY, share_best: bool = True) -> HostSearch:
    """Search a whole tree, depth first, for leaves below ``upper``, or, with ``share_best``, below the best."""
    found = HostSearch(best=upper)
    stack: list[tuple[Any, tuple[int, ...], tuple[int, ...]]] = [(tree.root(), (), ())]
    while stack:
        state, path, sides = stack.pop()
        depth = len(path)
        left = [item for item in range(tree.items) if item not in path]
        if depth == tree.leaf_depth:
            found.leaves += 1
            found.explored += math.factorial(tree.items - depth)
            value = tree.leaf(state, left)
            if tree.counts:
                found.solutions += value
            elif value < found.best:
                found.best, found.path, found.sides = value, path, sides
            continue
        found.nodes += 1
        side, survivors = tree.bound(state, depth, left, found.best if share_best else upper, upper)
        found.pushed += len(survivors)
        found.explored += (len(left) - len(survivors)) * math.factorial(len(left) - 1)
        for item in reversed(survivors):
            stack.append((tree.place(state, depth, item, side), (*path, item), (*sides, side)))
    return found
