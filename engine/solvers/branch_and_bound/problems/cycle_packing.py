"""Packings of cycles of three items: an order goes against an arc of each; the best is a linear program's dual."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arc_program import ArcProgram

_ROUNDS = 40
_ITERATIONS = 50_000
_BETWEEN_POLLS = 1000
_SHORT = 0.999  # a cycle of which less is taken is added to the program


def cycles_of(arcs: NDArray[np.int64]) -> NDArray[np.int64]:
    """All cycles of three items, those with the largest least arc first; shape (cycles, 3). An arc of 0 is none."""
    found = [np.zeros((0, 3), np.int64)]
    for first in range(len(arcs)):
        seconds = first + 1 + np.flatnonzero(arcs[first, first + 1 :])
        thirds = first + 1 + np.flatnonzero(arcs[first + 1 :, first])
        at, to = np.nonzero(arcs[np.ix_(seconds, thirds)])
        found.append(np.column_stack([np.full(len(at), first), seconds[at], thirds[to]]))
    cycles = np.concatenate(found)
    return cycles[np.argsort(-_over_cycles(arcs, cycles).min(axis=1), kind="stable")]


def greedy_packing(arcs: NDArray[np.int64], cycles: NDArray[np.int64]) -> NDArray[np.int64]:
    """As much of each cycle, one after the other, as its arcs have left; shape (cycles,)."""
    left = arcs.tolist()
    weights = np.zeros(len(cycles), np.int64)
    for at, (a, b, c) in enumerate(cycles.tolist()):
        weight = min(left[a][b], left[b][c], left[c][a])
        if weight > 0:
            weights[at] = weight
            left[a][b] -= weight
            left[b][c] -= weight
            left[c][a] -= weight
    return weights


def best_packing(
    arcs: NDArray[np.int64], cycles: NDArray[np.int64], expired: Callable[[], bool] = lambda: False
) -> NDArray[np.int64] | None:
    """The packing of the linear program, rounded down, and what can be added to it; None if time is up."""
    greedy = greedy_packing(arcs, cycles)
    program = _Program(arcs)
    weights = np.zeros(len(cycles), np.int64)
    used = np.zeros(0, np.int64)
    chosen = np.flatnonzero(greedy)
    for _ in range(_ROUNDS):
        program.add(cycles[chosen])
        used = np.concatenate([used, chosen])
        solved = program.solve(expired)
        if expired():
            return None
        if solved is None:
            break
        taken, duals = solved
        weights[used] = np.floor(duals + 1e-6)
        chosen = _short(taken, cycles)
        if not len(chosen):
            break
    if not is_packing(arcs, cycles, weights):
        return greedy
    for a, b in ((0, 1), (1, 2), (2, 0)):
        arcs = _less(arcs, cycles[:, a], cycles[:, b], weights)
    weights = weights + greedy_packing(arcs, cycles)
    return weights if weights.sum() > greedy.sum() else greedy


def is_packing(arcs: NDArray[np.int64], cycles: NDArray[np.int64], weights: NDArray[np.int64]) -> bool:
    """Whether no arc is part of more cycles than its weight holds."""
    left = arcs
    for a, b in ((0, 1), (1, 2), (2, 0)):
        left = _less(left, cycles[:, a], cycles[:, b], weights)
    return bool((weights >= 0).all() and (left >= 0).all())


def _less(
    arcs: NDArray[np.int64], tails: NDArray[np.int64], heads: NDArray[np.int64], weights: NDArray[np.int64]
) -> NDArray[np.int64]:
    left = arcs.copy()
    np.subtract.at(left, (tails, heads), weights)
    return left


def _over_cycles(values: NDArray[Any], cycles: NDArray[np.int64]) -> NDArray[Any]:
    """The values of the three arcs of each cycle, shape (cycles, 3)."""
    a, b, c = cycles.T
    return np.column_stack([values[a, b], values[b, c], values[c, a]])


def _short(taken: NDArray[np.float64], cycles: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cycles of which too little is taken, the least first; not all of them where there are many."""
    total = _over_cycles(taken, cycles).sum(axis=1)
    short = np.flatnonzero(total < _SHORT)
    short = short[np.argsort(total[short], kind="stable")]
    return short[: 8 * len(taken)]


class _Program:
    """The linear program, to which cycles are added."""

    def __init__(self, arcs: NDArray[np.int64]) -> None:
        self._arcs = ArcProgram(arcs > 0, arcs, np.inf, simplex_iteration_limit=_BETWEEN_POLLS)
        self._index = np.zeros(arcs.shape, np.int32)
        self._index[self._arcs.tails, self._arcs.heads] = np.arange(len(self._arcs.tails))
        self._left = _ITERATIONS

    def add(self, cycles: NDArray[np.int64]) -> None:
        """Require that of each of these cycles one arc's worth be taken."""
        for arcs in _over_cycles(self._index, cycles):
            self._arcs.require(arcs)

    def solve(self, expired: Callable[[], bool]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """How much is taken of each arc, shape (n, n), and the duals; None if time is up or HiGHS has failed."""
        program, limited = self._arcs, True
        while limited and self._left > 0 and not expired():
            program.run()
            self._left -= max(1, program.highs.getInfo().simplex_iteration_count)
            limited = program.is_limited
        if limited or not program.is_solved:
            return None
        solution = program.highs.getSolution()
        taken = np.zeros(self._index.shape)
        taken[program.tails, program.heads] = solution.col_value
        return taken, np.maximum(np.array(solution.row_dual), 0.0)
